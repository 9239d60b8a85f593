package local

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/mailparse"
)

// IngestOptions says where a message belongs. The zero value is for mail that was found somewhere: read,
// in the inbox, or in sent when it is from an own address.
type IngestOptions struct {
	// ReceivedAt is when the message came. Zero takes it from the message, or is the present for an arrival;
	// an instant after the present counts as the present.
	ReceivedAt time.Time
	// Folder is "inbox", "archive", "sent", "spam" or "trash"; empty decides by the sender.
	Folder string
	// Labels are names of user labels, made when they are missing.
	Labels  []string
	Unread  bool
	Starred bool
	Muted   bool
	// Answered keeps the flag with which other programs mark what was answered.
	Answered bool
	// SnoozedUntil snoozes the thread of the message; zero does not.
	SnoozedUntil time.Time
	// Arrival says that the message comes just now: it wakes a snoozed thread, brings one back from the
	// archive or the trash, and skips the inbox when the thread is muted. Otherwise it is old mail, which
	// never moves a thread that is in the trash or snoozed.
	Arrival bool

	threadID    int64 // join this thread whatever the headers say
	outgoing    bool  // sent from here
	incoming    bool  // also delivered here
	note        bool  // written to oneself: in the inbox too
	deliveredTo string
	undated     time.Time // when the message came, if it bears no date that can be right
	draft       bool      // becomes a draft when it has no files, which drafts cannot hold
	firstID     int64     // messages from this id on came with the same import
	exact       *mailState
}

// Item is one message of a batch.
type Item struct {
	Raw []byte
	IngestOptions
}

// Ingested says what became of one message.
type Ingested struct {
	MessageID string // id on the wire, "msg_…"
	ThreadID  string
	Duplicate bool     // the same message was there already; nothing was added but labels
	Problems  []string // what could not be read as it should, in plain words

	message int64
}

// Ingest adds one message. See IngestBatch.
func (s *Server) Ingest(ctx context.Context, raw []byte, o IngestOptions) (Ingested, error) {
	out, err := s.IngestBatch(ctx, []Item{{Raw: raw, IngestOptions: o}})
	if err != nil {
		return Ingested{}, err
	}
	return out[0], nil
}

// IngestBatch adds messages in one transaction: all of them, or none when it returns an error. It parses
// outside the transaction. Messages with the same bytes (line ends aside) are there once; different bytes
// under one Message-ID are kept both.
func (s *Server) IngestBatch(ctx context.Context, items []Item) ([]Ingested, error) {
	prepared := make([]*parsed, len(items))
	work, ctxWork := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, it := range items {
		work.Go(func() (err error) {
			prepared[i], err = prepare(ctxWork, it.Raw)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	out := make([]Ingested, len(items))
	err := s.write(ctx, func(t *tx) error {
		for i, p := range prepared {
			got, err := s.ingest(t, p, items[i].IngestOptions)
			if err != nil {
				return err
			}
			out[i] = got
		}
		return nil
	})
	if err != nil {
		return nil, s.storeError(err)
	}
	s.poke(s.changes)
	return out, nil
}

// parsed is a message made ready for the transaction that stores it.
type parsed struct {
	msg      *mailparse.Message
	size     int
	hash     [sha256.Size]byte
	encoding int
	data     []byte // the raw message as stored
	body     []byte // for the table bodies, or nil
	snippet  string
	search   searchText
}

const (
	rawPlain   = 0
	rawDeflate = 1

	// A larger message keeps its texts beside it, so that opening it does not decode its attachments.
	bodyAside = 256 << 10
)

func prepare(ctx context.Context, raw []byte) (*parsed, error) {
	return prepareKnown(ctx, raw, identity(raw))
}

func prepareKnown(ctx context.Context, raw []byte, hash [sha256.Size]byte) (*parsed, error) {
	msg, err := mailparse.Parse(ctx, raw, mailparse.Limits{})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the message cannot be read: %w", err)
	}
	p := &parsed{msg: msg, size: len(raw), hash: hash}
	p.encoding, p.data = pack(raw)
	if len(raw) > bodyAside {
		var err error
		if p.body, err = json.Marshal(msg); err != nil {
			return nil, err
		}
		_, p.body = packAlways(p.body)
	}
	text := readable(msg)
	p.snippet = snippet(text)
	p.search = searchTextOf(msg, text)
	return p, nil
}

func pack(raw []byte) (int, []byte) {
	if len(raw) < 512 {
		return rawPlain, raw
	}
	if enc, data := packAlways(raw); len(data) < len(raw)*9/10 {
		return enc, data
	}
	return rawPlain, raw
}

// A new compressor costs more than packing a short message.
var compressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is valid
	return w
}}

func packAlways(raw []byte) (int, []byte) {
	var b bytes.Buffer
	w, _ := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&b)
	// Writing to a buffer cannot fail.
	_, _ = w.Write(raw)
	_ = w.Close()
	return rawDeflate, b.Bytes()
}

func unpack(encoding int, data []byte) ([]byte, error) {
	if encoding == rawPlain {
		return data, nil
	}
	r := flate.NewReader(bytes.NewReader(data))
	out, err := io.ReadAll(r)
	return out, errors.Join(err, r.Close())
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func addressText(list []mailparse.Address) string {
	var b strings.Builder
	for i, a := range list {
		if i == 2000 {
			break
		}
		b.WriteString(a.Name + " " + a.Email + "\n")
	}
	return b.String()
}

// readable gives the text of a message as a person reads it: the plain text, or the text of its HTML when
// there is no plain text or only a stub of it.
func readable(m *mailparse.Message) string {
	if m.HTML == "" {
		return m.Text
	}
	plain := strings.TrimSpace(m.Text)
	if len(plain) > 400 {
		return m.Text
	}
	fromHTML := htmlText(m.HTML)
	if plain == "" || len(fromHTML) > 3*len(plain) || saysUseHTML(plain) {
		return fromHTML
	}
	return m.Text
}

func saysUseHTML(plain string) bool {
	l := strings.ToLower(plain)
	return len(l) < 400 && strings.Contains(l, "html") && (strings.Contains(l, "view") || strings.Contains(l, "display") || strings.Contains(l, "support"))
}

const snippetRunes = 200

// snippet gives the beginning of a text in one line, without quoted text, control characters and sequences.
func snippet(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(clean.Text(clip(text, 64<<10))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, ">") {
			continue
		}
		if line == "--" {
			break
		}
		for field := range strings.FieldsSeq(line) {
			if n > 0 {
				b.WriteByte(' ')
				n++
			}
			for _, r := range field {
				if n >= snippetRunes {
					return strings.TrimSpace(b.String())
				}
				b.WriteRune(r)
				n++
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// messageIDHash gives the key of a Message-ID in the table message_ids.
func messageIDHash(id string) int64 {
	sum := sha256.Sum256([]byte(bareID(id)))
	return int64(binary.LittleEndian.Uint64(sum[:8])) //nolint:gosec // any 64 bits will do
}

func bareID(id string) string { return strings.Trim(strings.TrimSpace(id), "<>") }

// maxReferences bounds how many ids of one message take part in threading.
const maxReferences = 200

// threadKeys lists the ids that tie a message to its thread.
func threadKeys(m *mailparse.Message) []int64 {
	refs := m.References
	if len(refs) > maxReferences {
		// The root and the latest say most.
		refs = append([]string{refs[0]}, refs[len(refs)-maxReferences+1:]...)
	}
	seen := map[int64]bool{}
	var out []int64
	for _, id := range append(append([]string{m.MessageID}, refs...), m.InReplyTo) {
		if bareID(id) == "" {
			continue
		}
		if h := messageIDHash(id); !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out
}

// duplicate looks for a message that is here already. Of a further copy in the same import counts what its
// folder and its flags say; otherwise only labels are added.
func (t *tx) duplicate(hash [sha256.Size]byte, o IngestOptions) (in Ingested, found bool, err error) {
	var message, thread int64
	err = t.row("SELECT id, thread_id FROM messages WHERE hash = ?", []any{hash[:]}, &message, &thread)
	if errors.Is(err, sql.ErrNoRows) {
		return in, false, nil
	}
	if err != nil {
		return in, false, err
	}
	if err := t.addLabels(thread, o.Labels); err != nil {
		return in, false, err
	}
	if o.firstID > 0 && message >= o.firstID && (o.Folder == "inbox" || o.Starred) {
		th, err := t.thread(thread)
		if err != nil {
			return in, false, err
		}
		inbox, starred := th.inbox || o.Folder == "inbox" && !th.spam && !th.trashed, th.starred || o.Starred
		if inbox != th.inbox || starred != th.starred {
			th.inbox, th.starred = inbox, starred
			if err := t.saveThread(th); err != nil {
				return in, false, err
			}
		}
	}
	return Ingested{MessageID: wireID("msg", message), ThreadID: wireID("thr", thread), Duplicate: true, message: message}, true, nil
}

func (s *Server) ingest(t *tx, p *parsed, o IngestOptions) (Ingested, error) {
	m := p.msg
	in, there, err := t.duplicate(p.hash, o)
	if err != nil || there {
		return in, err
	}
	answers := o.outgoing && m.InReplyTo != ""
	from := mailparse.Address{}
	if len(m.From) > 0 {
		from = m.From[0]
	} else if len(m.Sender) > 0 {
		from = m.Sender[0]
	}
	if o.exact != nil {
		o.outgoing, o.incoming, o.deliveredTo = o.exact.Outgoing, o.exact.Incoming, o.exact.DeliveredTo
		o.Unread, o.Answered = o.exact.Unread, o.exact.Answered
		if o.threadID, err = t.threadOfHash(o.exact.Thread); err != nil {
			return Ingested{}, err
		}
	} else if o.outgoing || (s.own[strings.ToLower(from.Email)] && !o.Arrival && (o.Folder == "" || o.Folder == "sent" || o.Folder == "archive")) {
		o.outgoing = true
		if o.Folder == "" {
			o.Folder = "sent"
			o.note = s.deliveredTo(m) != "" && !o.incoming
			o.incoming = o.incoming || o.note
		}
	} else {
		o.incoming = true
		if o.Folder == "" {
			o.Folder = "inbox"
		}
		if o.Folder == "sent" {
			o.outgoing, o.incoming = true, false
		}
	}
	received := p.receivedAt(o, t.now)
	dated := p.datedAt(o, t.now)
	if o.Arrival && o.ReceivedAt.IsZero() {
		received = t.now
	}
	if o.exact != nil {
		received, dated = min(o.exact.ReceivedAt, t.now), nil
		if o.exact.DatedAt != 0 {
			dated = o.exact.DatedAt
		}
	}
	delivered := o.deliveredTo
	if delivered == "" && o.incoming && o.exact == nil {
		delivered = s.deliveredTo(m)
	}

	thread, created, err := t.findThread(m, o.threadID, received, from)
	if err != nil {
		return Ingested{}, err
	}
	messageID := bareID(m.MessageID)
	searchID, err := t.addToSearch(received, p.search)
	if err != nil {
		return Ingested{}, err
	}
	id, err := t.insert(`INSERT INTO messages(thread_id, message_id, hash, received_at, subject, from_name, from_email,
		snippet, unread, outgoing, incoming, size, attachments, delivered_to, dated_at, answered, search_id)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		thread, messageID, p.hash[:], received, oneLine(m.Subject), from.Name, from.Email,
		p.snippet, o.Unread, o.outgoing, o.incoming, p.size, len(m.Attachments), nullText(delivered), dated, o.Answered, searchID)
	if err != nil {
		return Ingested{}, err
	}
	if err := t.exec("INSERT INTO raws(message_id, encoding, data) VALUES(?,?,?)", id, p.encoding, p.data); err != nil {
		return Ingested{}, err
	}
	if p.body != nil {
		if err := t.exec("INSERT INTO bodies(message_id, parsed) VALUES(?,?)", id, p.body); err != nil {
			return Ingested{}, err
		}
	}
	for _, a := range m.Attachments {
		err := t.exec(`INSERT INTO attachments(message_id, position, filename, content_type, size, inline, content_id)
			VALUES(?,?,?,?,?,?,?)`, id, a.Index, a.Filename, a.ContentType, a.Size, a.Inline, a.ContentID)
		if err != nil {
			return Ingested{}, err
		}
	}
	if answers {
		if err := t.exec("UPDATE messages SET answered = 1 WHERE message_id = ? AND id <> ?", bareID(m.InReplyTo), id); err != nil {
			return Ingested{}, err
		}
	}
	if err := t.placeMessage(thread, created, received, delivered, o); err != nil {
		return Ingested{}, err
	}
	if o.exact != nil && o.exact.First != nil {
		err = t.stateLabels(thread, o.exact.First.Labels)
	} else {
		err = t.addLabels(thread, o.Labels)
	}
	if err != nil {
		return Ingested{}, err
	}
	if err := s.rememberPeople(t, thread, received, m); err != nil {
		return Ingested{}, err
	}
	in = Ingested{MessageID: wireID("msg", id), ThreadID: wireID("thr", thread), Problems: m.Problems, message: id}
	return in, s.received(t, p, in, o, received, delivered)
}

func (p *parsed) receivedAt(o IngestOptions, now int64) int64 {
	at := o.ReceivedAt
	if at.IsZero() {
		at = p.msg.When(time.UnixMilli(now), o.undated)
	}
	// A date in the future would stay on top of the list for ever.
	return min(at.UnixMilli(), now)
}

// datedAt is the date that an old message bears, when it lies in the future: it is shown, and orders nothing.
func (p *parsed) datedAt(o IngestOptions, now int64) any {
	const lastYear = 9999 // that RFC 3339 can write
	d := p.msg.Date
	if o.Arrival || !o.ReceivedAt.IsZero() || !p.msg.DateKnown || d.UnixMilli() <= now || d.Year() > lastYear {
		return nil
	}
	return d.UnixMilli()
}

func (s *Server) deliveredTo(m *mailparse.Message) string {
	for _, list := range [][]mailparse.Address{{{Email: m.DeliveredTo}}, m.To, m.Cc, m.Bcc} {
		for _, a := range list {
			if e := strings.ToLower(a.Email); s.own[e] {
				return e
			}
		}
	}
	return ""
}

// findThread finds the thread of a message, joining threads that the message shows to be one, or makes it.
func (t *tx) findThread(m *mailparse.Message, forced, received int64, from mailparse.Address) (id int64, created bool, err error) {
	keys := threadKeys(m)
	var found []int64
	add := func(n int64) {
		for _, f := range found {
			if f == n {
				return
			}
		}
		found = append(found, n)
	}
	if forced != 0 {
		add(forced)
	}
	var fresh []int64
	for _, k := range keys {
		var n int64
		err := t.row("SELECT thread_id FROM message_ids WHERE hash = ?", []any{k}, &n)
		switch {
		case err == nil:
			add(n)
		case errors.Is(err, sql.ErrNoRows):
			fresh = append(fresh, k)
		default:
			return 0, false, err
		}
	}
	if len(found) == 0 {
		subject := oneLine(m.Subject)
		id, err = t.insert(`INSERT INTO threads(subject, sort_subject, sort_sender, first_at, last_at) VALUES(?,?,?,?,?)`,
			subject, sortSubject(subject), sortSender(from), received, received)
		if err != nil {
			return 0, false, err
		}
		created = true
	} else {
		id = found[0]
		for _, n := range found[1:] {
			if id, err = t.mergeThreads(id, n); err != nil {
				return 0, false, err
			}
		}
	}
	for _, k := range fresh {
		if err := t.exec("INSERT INTO message_ids(hash, thread_id) VALUES(?,?)", k, id); err != nil {
			return 0, false, err
		}
	}
	return id, created, nil
}

func sortSubject(subject string) string {
	f := strings.TrimSpace(fold(subject))
	for {
		rest, ok := "", false
		for _, p := range []string{"re:", "fwd:", "fw:", "aw:", "sv:", "wg:"} {
			if r, found := strings.CutPrefix(f, p); found {
				rest, ok = strings.TrimSpace(r), true
				break
			}
		}
		if !ok {
			return clip(f, 200)
		}
		f = rest
	}
}

func sortSender(a mailparse.Address) string {
	if a.Name != "" {
		return clip(fold(a.Name), 200)
	}
	return clip(fold(a.Email), 200)
}

func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// placeMessage counts a new message into its thread and moves the thread where the message belongs.
func (t *tx) placeMessage(thread int64, created bool, received int64, delivered string, o IngestOptions) error {
	th, err := t.thread(thread)
	if err != nil {
		return err
	}
	th.messages++
	if o.Unread {
		th.unread++
	}
	if o.incoming {
		th.incoming++
	}
	if o.outgoing {
		th.outgoing++
	}
	th.lastAt = max(th.lastAt, received)
	th.firstAt = min(th.firstAt, received)
	if o.exact != nil {
		o.exact.place(th, created)
		return t.saveThread(th)
	}
	if delivered != "" {
		th.deliveredTo = sql.NullString{String: delivered, Valid: true}
	}
	th.starred = th.starred || o.Starred
	th.muted = th.muted || o.Muted
	switch {
	case o.Arrival && !created:
		if th.spam {
			break
		}
		th.trashed = false
		if th.muted {
			th.inbox = false
			break
		}
		th.inbox = true
		if th.snoozedUntil.Valid {
			th.snoozedUntil = sql.NullInt64{}
			th.wokeAt = t.now
		}
	case created:
		th.inbox = o.Folder == "inbox" || o.note
		th.spam = o.Folder == "spam"
		th.trashed = o.Folder == "trash" || o.Folder == "bin"
	case o.Folder == "inbox":
		th.inbox, th.spam, th.trashed = true, false, false
	case o.outgoing:
		// An own answer does not move its thread.
	case o.Folder == "archive":
		th.spam, th.trashed = false, false
	}
	if !o.SnoozedUntil.IsZero() {
		th.inbox = true
		th.snoozedUntil = sql.NullInt64{Int64: o.SnoozedUntil.UnixMilli(), Valid: true}
	}
	return t.saveThread(th)
}

// addLabels puts user labels on a thread, making those that are missing.
func (t *tx) addLabels(thread int64, names []string) error {
	for _, name := range names {
		name = oneLine(strings.TrimSpace(name))
		if name == "" {
			continue
		}
		id, err := t.labelByName(name)
		if err != nil {
			return err
		}
		res, err := t.result("INSERT OR IGNORE INTO thread_labels(thread_id, label_id) VALUES(?,?)", thread, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			t.dirty[thread] = true
		}
	}
	return nil
}

func (t *tx) labelByName(name string) (int64, error) {
	var id int64
	err := t.row("SELECT id FROM labels WHERE folded = ?", []any{fold(name)}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return t.insert("INSERT INTO labels(name, folded, created_at, updated_at) VALUES(?,?,?,?)", name, fold(name), t.now, t.now)
	}
	return id, err
}

// maxPeople bounds how many addresses of one message are remembered.
const maxPeople = 100

func (s *Server) rememberPeople(t *tx, thread, at int64, m *mailparse.Message) error {
	n := 0
	seen := map[string]bool{}
	for _, list := range [][]mailparse.Address{m.From, m.ReplyTo, m.To, m.Cc, m.Bcc} {
		for _, a := range list {
			email := strings.ToLower(a.Email)
			if n == maxPeople || seen[email] || s.own[email] || !validAddress(a.Email) {
				continue
			}
			seen[email] = true
			n++
			if err := t.rememberPerson(thread, at, email, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) rememberPerson(thread, at int64, email string, a mailparse.Address) error {
	var id, nameAt, lastAt int64
	var name string
	given := strings.TrimSpace(oneLine(a.Name))
	err := t.row("SELECT id, name, name_at, last_at FROM people WHERE email = ?", []any{email}, &id, &name, &nameAt, &lastAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		id, err = t.insert(`INSERT INTO people(email, display, name, name_at, folded, last_at, created_at) VALUES(?,?,?,?,?,?,?)`,
			email, a.Email, given, at, fold(given+" "+email), at, t.now)
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if given != "" && (name == "" || at > nameAt) {
			name, nameAt = given, at
		}
		err := t.exec("UPDATE people SET name = ?, name_at = ?, folded = ?, last_at = ? WHERE id = ?",
			name, nameAt, fold(name+" "+email), max(lastAt, at), id)
		if err != nil {
			return err
		}
	}
	return t.exec("INSERT OR IGNORE INTO participants(person_id, thread_id) VALUES(?,?)", id, thread)
}
