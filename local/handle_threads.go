package local

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

func (s *Server) listThreads(c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, after, err := c.cursor("pageToken")
	if err != nil {
		return nil, err
	}
	q, err := s.threadQuery(c)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return page(nil, false, "nextPageToken", cursor{}), nil
	}
	rows, err := s.findThreads(c.ctx, q, cur, after, limit+1)
	if err != nil {
		return nil, err
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	data := make([]any, 0, len(rows))
	for _, r := range rows {
		data = append(data, map[string]any{"object": "thread", "id": wireID("thr", r.ID)})
	}
	next := cursor{}
	if more {
		next = rows[len(rows)-1]
	}
	return page(data, more, "nextPageToken", next), nil
}

// threadQuery reads the query values of a list; nil without an error says that nothing can match.
func (s *Server) threadQuery(c *call) (*threadQuery, error) {
	q := &threadQuery{sort: c.query.Get("sort")}
	switch q.sort {
	case "":
		q.sort = "newest"
	case "newest", "oldest", "sender", "subject":
	default:
		return nil, invalidField("sort", "sort must be newest, oldest, sender or subject.")
	}
	folder, ok := folderPlace(strings.TrimSpace(c.query.Get("folder")))
	if !ok {
		return nil, invalidField("folder", "There is no such folder; inbox, archive, starred, snoozed, sent, draft, spam, bin and all are known.")
	}
	q.place = folder
	if folder == placeDraft {
		q.place = 0
		q.threads = append(q.threads, cond{"EXISTS(SELECT 1 FROM drafts d WHERE d.thread_id = t.id)", nil})
	}
	if text := strings.TrimSpace(c.query.Get("query")); text != "" {
		found, err := s.parseQuery(c.ctx, text)
		if err != nil {
			return nil, err
		}
		if found.nothing {
			return nil, nil
		}
		switch {
		case found.place != 0:
			q.place = found.place
		case found.any:
			q.place = 0
		}
		q.threads = append(q.threads, found.threads...)
		q.message, q.match, q.from, q.until = found.message, found.match, found.from, found.until
		q.without, q.few = found.without, found.few
	}
	for id := range strings.SplitSeq(c.query.Get("labelIds"), ",") {
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		if id == labelDraft {
			q.threads = append(q.threads, cond{"EXISTS(SELECT 1 FROM drafts d WHERE d.thread_id = t.id)", nil})
			continue
		}
		place, ok := systemPlace(id)
		if !ok {
			n, isLabel := parseID("lbl", id)
			if !isLabel {
				return nil, notFound("label", "labelIds")
			}
			place = placeLabel + n
		}
		if c.query.Get("folder") == "" && (q.place == placeAll) {
			q.place = place
			continue
		}
		q.threads = append(q.threads, cond{"EXISTS(SELECT 1 FROM places x WHERE x.thread_id = t.id AND x.place = ?)", []any{place}})
	}
	for name, sqlText := range map[string]string{"dateFrom": "t.last_at >= ?", "dateTo": "t.last_at < ?"} {
		if v := c.query.Get(name); v != "" {
			at, ok := parseInstant(v)
			if !ok {
				return nil, invalidField(name, "%s must be an instant.", name)
			}
			q.threads = append(q.threads, cond{sqlText, []any{at.UnixMilli()}})
		}
	}
	if v := c.query.Get("address"); v != "" {
		q.threads = append(q.threads, cond{"t.delivered_to = ?", []any{strings.ToLower(v)}})
	}
	switch c.query.Get("fromContacts") {
	case "", "false":
	case "true":
		q.threads = append(q.threads, cond{"EXISTS(SELECT 1 FROM messages m JOIN contacts k ON k.email = lower(m.from_email) WHERE m.thread_id = t.id)", nil})
	default:
		return nil, invalidField("fromContacts", "fromContacts must be true or false.")
	}
	if v := c.query.Get("category"); slices.Contains(inboxCategories, v) {
		q.threads = append(q.threads, inCategory(v))
	} else if v != "" {
		return nil, invalidField("category", "category must be one of %s.", strings.Join(inboxCategories, ", "))
	}
	return q, nil
}

func (s *Server) ids(ctx context.Context, query string, args ...any) ([]int64, error) {
	rows, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

// threadID reads the id of the path and follows the joining of threads.
func (s *Server) threadID(c *call) (int64, error) { return s.lookupThread(c.ctx, c.params[0], "") }

func (s *Server) lookupThread(ctx context.Context, wire, param string) (int64, error) {
	id, ok := parseID("thr", wire)
	if !ok {
		return 0, notFound("thread", param)
	}
	var real int64
	err := s.reader.QueryRowContext(ctx, `SELECT t.id FROM threads t
		WHERE t.id = coalesce((SELECT a.id FROM thread_aliases a WHERE a.old_id = ?1), ?1)`, id).Scan(&real)
	return real, found(err, "thread", param)
}

// changeThread runs fn on the thread of the path in a transaction.
func (s *Server) changeThread(c *call, fn func(*tx, *thread) error) error {
	id, ok := parseID("thr", c.params[0])
	if !ok {
		return notFound("thread", "")
	}
	return s.write(c.ctx, func(t *tx) error {
		id, err := t.resolve(id)
		if err != nil {
			return err
		}
		th, err := t.thread(id)
		if err != nil {
			return found(err, "thread", "")
		}
		return fn(t, th)
	})
}

func (s *Server) getThread(c *call) (any, error) {
	id, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	// One transaction, so that the parts of the answer belong together.
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	th := &thread{}
	if err := rtx.QueryRowContext(c.ctx, "SELECT "+threadColumns+" FROM threads WHERE id = ?", id).Scan(th.scan()...); err != nil {
		return nil, found(err, "thread", "")
	}
	labels, err := threadLabels(c.ctx, rtx, th)
	if err != nil {
		return nil, err
	}
	messages, err := s.threadMessages(c.ctx, rtx, th, labels)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"object":       "thread",
		"id":           c.params[0],
		"messages":     messages,
		"labels":       labels,
		"messageCount": len(messages),
		"hasUnread":    th.unread > 0,
		"totalReplies": max(0, len(messages)-1),
		"deliveredTo":  nullString(th.deliveredTo),
		"muted":        th.muted,
		"snoozedUntil": instantOrNull(th.snoozedUntil),
	}, nil
}

func nullString(s sql.NullString) any {
	if !s.Valid {
		return nil
	}
	return s.String
}

type wireLabel struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Color string `json:"color"`
}

func systemName(id string) string { return id[:1] + strings.ToLower(id[1:]) }

func threadLabels(ctx context.Context, rtx *sql.Tx, th *thread) ([]wireLabel, error) {
	out := []wireLabel{}
	add := func(on bool, id string) {
		if on {
			out = append(out, wireLabel{ID: id, Name: systemName(id)})
		}
	}
	var drafted bool
	if err := rtx.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM drafts WHERE thread_id = ?)", th.id).Scan(&drafted); err != nil {
		return nil, err
	}
	add(th.inbox && th.shown(), labelInbox)
	add(th.starred, labelStarred)
	add(th.snoozedUntil.Valid && !th.trashed && !th.spam, labelSnoozed)
	add(th.outgoing > 0, labelSent)
	add(drafted, labelDraft)
	add(th.spam && !th.trashed, labelSpam)
	add(th.trashed, labelTrash)
	rows, err := rtx.QueryContext(ctx, `SELECT l.id, l.name, coalesce(l.background, '') FROM thread_labels x
		JOIN labels l ON l.id = x.label_id WHERE x.thread_id = ? ORDER BY l.folded`, th.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var l wireLabel
		if err := rows.Scan(&id, &l.Name, &l.Color); err != nil {
			return nil, err
		}
		l.ID = wireID("lbl", id)
		out = append(out, l)
	}
	return out, rows.Err()
}

type wireAddress struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func wireAddresses(list []mailparse.Address) []wireAddress {
	out := make([]wireAddress, 0, len(list))
	for _, a := range list {
		out = append(out, wireAddress{a.Name, a.Email})
	}
	return out
}

type wireAttachment struct {
	AttachmentID string  `json:"attachmentId"`
	Filename     string  `json:"filename"`
	ContentType  string  `json:"contentType"`
	Size         int64   `json:"size"`
	Inline       bool    `json:"inline"`
	ContentID    *string `json:"contentId"`
}

// wireMessage is a message in the canonical form of the contract's section 9.
type wireMessage struct {
	ID               string              `json:"id"`
	ThreadID         string              `json:"threadId"`
	Subject          string              `json:"subject"`
	From             wireAddress         `json:"from"`
	To               []wireAddress       `json:"to"`
	Cc               []wireAddress       `json:"cc"`
	Bcc              []wireAddress       `json:"bcc"`
	ReplyTo          []wireAddress       `json:"replyTo"`
	ReceivedAt       string              `json:"receivedAt"`
	Unread           bool                `json:"unread"`
	Snippet          string              `json:"snippet"`
	Text             string              `json:"text"`
	HTML             string              `json:"html"`
	Attachments      []wireAttachment    `json:"attachments"`
	MessageID        string              `json:"messageId"`
	InReplyTo        string              `json:"inReplyTo"`
	References       []string            `json:"references"`
	Labels           []map[string]string `json:"labels"`
	ListUnsubscribe  *string             `json:"listUnsubscribe"`
	Encryption       any                 `json:"encryption"`
	DeliveredTo      *string             `json:"deliveredTo"`
	VerificationCode *string             `json:"verificationCode"`
	SentWith         *string             `json:"sentWith"`
	ForwardedFrom    *string             `json:"forwardedFrom"`
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// storedMessage is a row of messages with its raw bytes.
type storedMessage struct {
	id          int64
	threadID    int64
	receivedAt  int64
	datedAt     sql.NullInt64
	unread      bool
	outgoing    bool
	snippet     string
	deliveredTo sql.NullString
	encoding    int
	data        []byte
	body        []byte
}

// parse reads the message itself.
func (m *storedMessage) parse(ctx context.Context) (*mailparse.Message, error) {
	if m.body != nil {
		raw, err := unpack(rawDeflate, m.body)
		if err != nil {
			return nil, err
		}
		var msg mailparse.Message
		return &msg, json.Unmarshal(raw, &msg)
	}
	raw, err := unpack(m.encoding, m.data)
	if err != nil {
		return nil, err
	}
	return mailparse.Parse(ctx, raw, mailparse.Limits{})
}

func (s *Server) threadMessages(ctx context.Context, rtx *sql.Tx, th *thread, labels []wireLabel) ([]wireMessage, error) {
	short := make([]map[string]string, 0, len(labels))
	for _, l := range labels {
		short = append(short, map[string]string{"id": l.ID, "name": l.Name})
	}
	rows, err := rtx.QueryContext(ctx, `SELECT m.id, m.received_at, m.dated_at, m.unread, m.outgoing, m.snippet, m.delivered_to,
		CASE WHEN b.message_id IS NULL THEN r.encoding ELSE 0 END, CASE WHEN b.message_id IS NULL THEN r.data END, b.parsed
		FROM messages m JOIN raws r ON r.message_id = m.id LEFT JOIN bodies b ON b.message_id = m.id
		WHERE m.thread_id = ? ORDER BY m.received_at, m.id`, th.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []wireMessage{}
	for rows.Next() {
		m := storedMessage{threadID: th.id}
		if err := rows.Scan(&m.id, &m.receivedAt, &m.datedAt, &m.unread, &m.outgoing, &m.snippet, &m.deliveredTo, &m.encoding, &m.data, &m.body); err != nil {
			return nil, err
		}
		msg, err := m.parse(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, toWire(&m, msg, short))
	}
	return out, rows.Err()
}

func toWire(m *storedMessage, msg *mailparse.Message, labels []map[string]string) wireMessage {
	w := wireMessage{
		ID:              wireID("msg", m.id),
		ThreadID:        wireID("thr", m.threadID),
		Subject:         msg.Subject,
		To:              wireAddresses(msg.To),
		Cc:              wireAddresses(msg.Cc),
		Bcc:             wireAddresses(msg.Bcc),
		ReplyTo:         wireAddresses(msg.ReplyTo),
		ReceivedAt:      instant(m.receivedAt),
		Unread:          m.unread,
		Snippet:         m.snippet,
		Text:            msg.Text,
		HTML:            msg.HTML,
		Attachments:     []wireAttachment{},
		MessageID:       msg.MessageID,
		InReplyTo:       msg.InReplyTo,
		References:      msg.References,
		Labels:          labels,
		ListUnsubscribe: textOrNull(msg.ListUnsubscribe),
		ForwardedFrom:   textOrNull(msg.ForwardedFrom),
	}
	if m.datedAt.Valid {
		w.ReceivedAt = instant(m.datedAt.Int64)
	}
	if m.deliveredTo.Valid {
		w.DeliveredTo = &m.deliveredTo.String
	}
	if w.References == nil {
		w.References = []string{}
	}
	if len(msg.From) > 0 {
		w.From = wireAddress{msg.From[0].Name, msg.From[0].Email}
	} else if len(msg.Sender) > 0 {
		w.From = wireAddress{msg.Sender[0].Name, msg.Sender[0].Email}
	}
	for _, a := range msg.Attachments {
		w.Attachments = append(w.Attachments, wireAttachment{
			attachmentID(m.id, a.Index), a.Filename, a.ContentType, a.Size, a.Inline, textOrNull(a.ContentID),
		})
	}
	if msg.Encryption != "" {
		parts := []map[string]any{}
		for _, p := range msg.EncryptionParts {
			parts = append(parts, map[string]any{"index": p.Index, "attachmentId": attachmentID(m.id, p.Index), "role": p.Role})
		}
		w.Encryption = map[string]any{
			"format": msg.Encryption, "detectedAt": instant(m.receivedAt), "rawRetained": true, "parts": parts,
		}
	}
	return w
}

func attachmentID(message int64, index int) string {
	return fmt.Sprintf("att_%d_%d", message, index)
}

func (s *Server) listAttachments(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	message, ok := parseID("msg", c.params[1])
	if !ok {
		return nil, notFound("message", "")
	}
	var encoding int
	var data []byte
	err = s.reader.QueryRowContext(c.ctx, `SELECT r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id
		WHERE m.id = ? AND m.thread_id = ?`, message, thread).Scan(&encoding, &data)
	if err != nil {
		return nil, found(err, "message", "")
	}
	raw, err := unpack(encoding, data)
	if err != nil {
		return nil, err
	}
	msg, err := mailparse.Parse(c.ctx, raw, mailparse.Limits{})
	if err != nil {
		return nil, err
	}
	list := []any{}
	total := int64(0)
	for _, a := range msg.Attachments {
		var content any
		// The whole answer stays below what a client reads.
		if total += a.Size; total <= 45<<20 {
			_, bytes, err := mailparse.OpenAttachment(raw, a.Index)
			if err != nil && !errors.Is(err, mailparse.ErrNoAttachment) {
				return nil, err
			}
			content = base64.StdEncoding.EncodeToString(bytes)
		} else {
			total -= a.Size
		}
		list = append(list, map[string]any{
			"object": "attachment", "attachmentId": attachmentID(message, a.Index), "filename": a.Filename,
			"contentType": a.ContentType, "size": a.Size, "content": content,
		})
	}
	return map[string]any{"object": "list", "data": list}, nil
}

func (s *Server) updateThread(c *call) (any, error) {
	read, setRead, err := c.body.boolean("read")
	if err != nil {
		return nil, err
	}
	add, err := c.body.texts("addLabelIds")
	if err != nil {
		return nil, err
	}
	remove, err := c.body.texts("removeLabelIds")
	if err != nil {
		return nil, err
	}
	add, remove = unique(add), unique(remove)
	for _, id := range add {
		if slices.Contains(remove, id) {
			return nil, invalidField("removeLabelIds", "One label cannot be added and removed at once.")
		}
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		if setRead {
			if err := t.markRead(th, read); err != nil {
				return err
			}
		}
		// What is removed goes first: "not spam, to the inbox" ends in the inbox.
		for _, id := range remove {
			if err := t.setLabel(th, id, false); err != nil {
				return err
			}
		}
		for _, id := range add {
			if err := t.setLabel(th, id, true); err != nil {
				return err
			}
		}
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "addedLabelIds": add, "removedLabelIds": remove}, nil
}

func unique(list []string) []string {
	out := []string{}
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func (t *tx) markRead(th *thread, read bool) error {
	if err := t.exec("UPDATE messages SET unread = ? WHERE thread_id = ? AND unread <> ?", !read, th.id, !read); err != nil {
		return err
	}
	th.unread = th.messages
	if read {
		th.unread = 0
	}
	return nil
}

func (t *tx) setLabel(th *thread, id string, on bool) error {
	param := "removeLabelIds"
	if on {
		param = "addLabelIds"
	}
	switch id {
	case labelInbox:
		th.inbox = on
		if on {
			th.spam, th.trashed, th.snoozedUntil = false, false, sql.NullInt64{}
		}
	case labelStarred:
		th.starred = on
	case labelSpam:
		if th.spam != on {
			th.spam = on
			th.inbox = !on
		}
		if on {
			th.trashed = false
		}
	case labelTrash:
		th.trashed = on
	case labelSnoozed:
		if on {
			return invalidField(param, "A thread is snoozed with POST /threads/{id}/snooze, which says until when.")
		}
		t.unsnooze(th)
	case labelSent, labelDraft:
		return invalidField(param, "The label %s says what a thread holds; it cannot be set.", id)
	default:
		n, ok := parseID("lbl", id)
		if !ok {
			return notFound("label", param)
		}
		var exists int
		if err := t.row("SELECT 1 FROM labels WHERE id = ?", []any{n}, &exists); err != nil {
			return found(err, "label", param)
		}
		if on {
			return t.exec("INSERT OR IGNORE INTO thread_labels(thread_id, label_id) VALUES(?,?)", th.id, n)
		}
		return t.exec("DELETE FROM thread_labels WHERE thread_id = ? AND label_id = ?", th.id, n)
	}
	return nil
}

func (s *Server) trashThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.trashed = true
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "trashed": true}, nil
}

// restoreThread takes a thread out of the trash. Being in the trash hides where it was; it never forgets it.
func (s *Server) restoreThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.trashed = false
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "restored": true}, nil
}

func (s *Server) deleteThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error { return t.deleteThread(th.id) })
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "deleted": true}, nil
}

func (s *Server) snoozeThread(c *call) (any, error) {
	at, given, err := c.body.when("wakeAt")
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, invalidField("wakeAt", "wakeAt is missing.")
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		if at <= t.now {
			return invalidField("wakeAt", "wakeAt has passed.")
		}
		th.snoozedUntil = sql.NullInt64{Int64: at, Valid: true}
		th.trashed, th.spam = false, false
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "snoozedUntil": instant(at)}, nil
}

func (t *tx) unsnooze(th *thread) {
	if th.snoozedUntil.Valid {
		th.snoozedUntil = sql.NullInt64{}
		th.inbox = true
	}
}

func (s *Server) unsnoozeThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		t.unsnooze(th)
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "snoozedUntil": nil}, nil
}

func (s *Server) muteThread(c *call) (any, error)   { return s.setMuted(c, true) }
func (s *Server) unmuteThread(c *call) (any, error) { return s.setMuted(c, false) }

func (s *Server) setMuted(c *call, muted bool) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.muted = muted
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "muted": muted}, nil
}

// countedFolders are the folders of the answer, in the order in which a side bar shows them.
var countedFolders = []struct {
	label string
	place int64
}{
	{"inbox", placeInbox},
	{"starred", placeStarred},
	{"snoozed", placeSnoozed},
	{"draft", placeDraft},
	{"sent", placeSent},
	{"archive", placeArchive},
	{"spam", placeSpam},
	{"bin", placeBin},
	{"all", placeAll},
}

func (s *Server) counts(c *call) (any, error) {
	type count struct{ count, unread int64 }
	counts := map[int64]count{}
	query, args := "SELECT place, count, unread FROM place_counts", []any(nil)
	if address := c.query.Get("address"); address != "" {
		query = `SELECT p.place, count(*), sum(p.unread) FROM places p JOIN threads t ON t.id = p.thread_id
			WHERE t.delivered_to = ? GROUP BY p.place`
		args = []any{strings.ToLower(address)}
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	rows, err := rtx.QueryContext(c.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var place int64
		var n count
		if err := rows.Scan(&place, &n.count, &n.unread); err != nil {
			return nil, err
		}
		counts[place] = n
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var drafts int64
	if err := rtx.QueryRowContext(c.ctx, "SELECT count(*) FROM drafts").Scan(&drafts); err != nil {
		return nil, err
	}
	counts[placeDraft] = count{count: drafts}
	folders := []any{}
	for _, f := range countedFolders {
		n := counts[f.place]
		folders = append(folders, map[string]any{"label": f.label, "count": n.count, "unread": n.unread})
	}
	labels := []any{}
	ids, err := rtx.QueryContext(c.ctx, "SELECT id FROM labels ORDER BY folded")
	if err != nil {
		return nil, err
	}
	all, err := scanIDs(ids)
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		n := counts[placeLabel+id]
		labels = append(labels, map[string]any{"id": wireID("lbl", id), "folder": "all", "count": n.count, "unread": n.unread})
	}
	addresses := []any{}
	byAddress, err := rtx.QueryContext(c.ctx, "SELECT delivered_to, count(*) FROM threads WHERE inbox = 1 GROUP BY delivered_to")
	if err != nil {
		return nil, err
	}
	defer byAddress.Close()
	for byAddress.Next() {
		var a sql.NullString
		var n int64
		if err := byAddress.Scan(&a, &n); err != nil {
			return nil, err
		}
		addresses = append(addresses, map[string]any{"address": nullString(a), "count": n})
	}
	if err := byAddress.Err(); err != nil {
		return nil, err
	}
	categories, err := categoryCounts(c.ctx, rtx, counts[placeInbox].count, counts[placeInbox].unread)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"object": "mailbox_counts", "folders": folders, "addresses": addresses, "labels": labels, "categories": categories,
	}, nil
}
