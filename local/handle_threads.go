package local

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

func (s *Server) listThreads(c *call) (any, error) {
	p, err := c.pagingBy("pageToken", "nextPageToken")
	if err != nil {
		return nil, err
	}
	q, err := s.threadQuery(c)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return p.page(nil), nil
	}
	rows, err := s.findThreads(c.ctx, q, p.cur, p.after, p.limit+1)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, r := range rows {
		entries = append(entries, entry{r, map[string]any{"object": "thread", "id": wireID("thr", r.ID)}})
	}
	return p.page(entries), nil
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
		q.without, q.few, q.indexed = found.without, found.few, found.indexed
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
		if at, given, err := c.queryInstant(name); err != nil {
			return nil, err
		} else if given {
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
