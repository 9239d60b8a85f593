package local

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// ExportReport is the outcome of an export.
type ExportReport struct {
	Messages int
	Drafts   int
	Bytes    int64
	// Waiting counts the messages that are to be sent later. They are no mail yet: a backup holds them, an export
	// does not.
	Waiting int
}

// Export writes all messages and drafts to w as an mbox file with "From " lines quoted (mboxrd). Header lines before
// each message tell other programs its flags and labels, and Import everything: importing the file into an
// empty mailbox gives the same messages, threads, folders, labels, flags, stars, snoozes and drafts. The state of
// the mailbox is that of one instant. Progress is called a few times a second with the number of
// messages; it may be nil.
func (s *Server) Export(ctx context.Context, w io.Writer, progress func(done, total int)) (ExportReport, error) {
	rtx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return ExportReport{}, s.storeError(err)
	}
	defer func() { _ = rtx.Rollback() }()
	e := &exporter{ctx: ctx, tx: rtx, w: bufio.NewWriterSize(w, 1<<20), progress: progress, statements: map[string]*sql.Stmt{}}
	err = e.run()
	return e.report, s.storeError(err)
}

type exporter struct {
	ctx        context.Context
	tx         *sql.Tx
	w          *bufio.Writer
	statements map[string]*sql.Stmt
	report     ExportReport
	progress   func(done, total int)
	total      int
	last       time.Time
}

func (e *exporter) prepared(query string) (*sql.Stmt, error) {
	if st, ok := e.statements[query]; ok {
		return st, nil
	}
	st, err := e.tx.PrepareContext(e.ctx, query) // closed with the transaction
	if err == nil {
		e.statements[query] = st
	}
	return st, err
}

func (e *exporter) row(query string, args []any, into ...any) error {
	st, err := e.prepared(query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(e.ctx, args...).Scan(into...)
}

func (e *exporter) run() error {
	err := e.row(`SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM drafts),
		(SELECT count(*) FROM emails WHERE status IN ('queued', 'scheduled', 'sending'))`, nil, &e.total, &e.report.Waiting)
	if err != nil {
		return err
	}
	rows, err := e.tx.QueryContext(e.ctx, `SELECT m.id, m.thread_id, m.hash, m.received_at, m.dated_at, m.from_email, m.unread, m.answered,
		m.outgoing, m.incoming, m.delivered_to, r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id ORDER BY m.id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var m exportMessage
		if err := rows.Scan(&m.id, &m.thread, &m.hash, &m.state.ReceivedAt, &m.dated, &m.from, &m.state.Unread, &m.state.Answered,
			&m.state.Outgoing, &m.state.Incoming, &m.delivered, &m.encoding, &m.data); err != nil {
			return err
		}
		if err := e.message(&m); err != nil {
			return err
		}
		e.report.Messages++
		e.tell(false)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := e.drafts(); err != nil {
		return err
	}
	e.tell(true)
	return e.w.Flush()
}

func (e *exporter) tell(always bool) {
	if e.progress == nil || !always && time.Since(e.last) < progressEvery {
		return
	}
	e.last = time.Now()
	e.progress(e.report.Messages+e.report.Drafts, e.total)
}

type exportMessage struct {
	id, thread int64
	hash       []byte
	dated      sql.NullInt64
	from       string
	delivered  sql.NullString
	encoding   int
	data       []byte
	state      mailState
}

func (e *exporter) message(m *exportMessage) error {
	raw, err := unpack(m.encoding, m.data)
	if err != nil {
		return fmt.Errorf("message %d: %w", m.id, err)
	}
	m.state.Version, m.state.DatedAt, m.state.DeliveredTo = stateVersion, m.dated.Int64, m.delivered.String
	th, err := e.thread(m.thread)
	if err != nil {
		return err
	}
	var first int64
	var firstHash []byte
	err = e.row("SELECT id, hash FROM messages WHERE thread_id = ? ORDER BY id LIMIT 1", []any{m.thread}, &first, &firstHash)
	if err != nil {
		return err
	}
	if first == m.id {
		m.state.First = th
	} else {
		m.state.Thread = hex.EncodeToString(firstHash)
	}
	return e.write(fromLine(m.from, m.state.ReceivedAt), &m.state, m.state.gmailLabels(th), raw)
}

func (e *exporter) thread(id int64) (*threadState, error) {
	th := &threadState{}
	var snoozed sql.NullInt64
	var delivered sql.NullString
	err := e.row("SELECT inbox, starred, spam, trashed, muted, snoozed_until, woke_at, delivered_to FROM threads WHERE id = ?", []any{id},
		&th.Inbox, &th.Starred, &th.Spam, &th.Trashed, &th.Muted, &snoozed, &th.WokeAt, &delivered)
	if err != nil {
		return nil, err
	}
	th.SnoozedUntil, th.DeliveredTo = snoozed.Int64, delivered.String
	st, err := e.prepared(`SELECT l.name, coalesce(l.background, ''), coalesce(l.foreground, '') FROM thread_labels x
		JOIN labels l ON l.id = x.label_id WHERE x.thread_id = ? ORDER BY l.id`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(e.ctx, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l labelState
		if err := rows.Scan(&l.Name, &l.Background, &l.Foreground); err != nil {
			return nil, err
		}
		th.Labels = append(th.Labels, l)
	}
	return th, rows.Err()
}

// write writes one message of the file.
func (e *exporter) write(from string, st *mailState, labels []string, raw []byte) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	raw = st.plainFile(withoutMailboxFields(raw))
	var head bytes.Buffer
	head.WriteString(from)
	if err := st.writeHeader(&head, labels); err != nil {
		return err
	}
	// bufio.Writer keeps the first error for Flush.
	n, _ := e.w.Write(head.Bytes())
	e.report.Bytes += int64(n)
	for line := range bytes.Lines(raw) {
		if quoted := bytes.TrimLeft(line, ">"); bytes.HasPrefix(quoted, []byte("From ")) {
			_ = e.w.WriteByte('>')
			e.report.Bytes++
		}
		n, _ := e.w.Write(line)
		e.report.Bytes += int64(n)
	}
	e.report.Bytes++
	return e.w.WriteByte('\n')
}

func (e *exporter) drafts() error {
	ids, err := e.tx.QueryContext(e.ctx, "SELECT id FROM drafts ORDER BY id")
	if err != nil {
		return err
	}
	all, err := scanIDs(ids)
	if err != nil {
		return err
	}
	for _, id := range all {
		if err := e.draft(id); err != nil {
			return err
		}
		e.report.Drafts++
		e.tell(false)
	}
	return nil
}

func (e *exporter) draft(id int64) error {
	d, err := loadDraft(e.ctx, e.tx, id)
	if err != nil {
		return err
	}
	ds := &draftState{To: d.to, Cc: d.cc, Bcc: d.bcc, Subject: d.subject, HTML: d.html, From: d.from.String}
	if err := e.row("SELECT created_at, updated_at FROM drafts WHERE id = ?", []any{id}, &ds.CreatedAt, &ds.UpdatedAt); err != nil {
		return err
	}
	st := &mailState{Version: stateVersion, ReceivedAt: ds.UpdatedAt, Outgoing: true, Draft: ds}
	hashOf := func(query string, id sql.NullInt64) (string, error) {
		var hash []byte
		if !id.Valid {
			return "", nil
		}
		err := e.row(query, []any{id.Int64}, &hash)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return hex.EncodeToString(hash), err
	}
	if st.Thread, err = hashOf("SELECT hash FROM messages WHERE thread_id = ? ORDER BY id LIMIT 1", d.threadID); err != nil {
		return err
	}
	if ds.ForwardOf, err = hashOf("SELECT hash FROM messages WHERE id = ?", d.forwardOf); err != nil {
		return err
	}
	return e.write(fromLine(ds.From, ds.UpdatedAt), st, st.gmailLabels(nil), d.message(id, ds))
}

// message writes a draft as a message, for programs that know nothing of stateField.
func (d *draft) message(id int64, ds *draftState) []byte {
	from := mailparse.ParseAddressList(ds.From)
	o := mailparse.Outgoing{
		From: mailparse.Address{Email: DefaultAddress}, Subject: d.subject, HTML: d.html, Text: htmlText(d.html),
		Date: time.UnixMilli(ds.UpdatedAt).UTC(), MessageID: fmt.Sprintf("draft-%d.%d@localhost", id, ds.CreatedAt),
	}
	if len(from) > 0 {
		o.From = from[0]
	}
	for _, list := range []struct {
		from []string
		into *[]mailparse.Address
	}{{d.to, &o.To}, {d.cc, &o.Cc}} {
		for _, a := range mailparse.ParseAddressList(strings.Join(list.from, ", ")) {
			if validAddress(a.Email) {
				*list.into = append(*list.into, a)
			}
		}
	}
	raw, err := mailparse.Build(o)
	if err != nil { // an address that no header can hold
		o.From, o.To, o.Cc = mailparse.Address{Email: DefaultAddress}, nil, nil
		raw, _ = mailparse.Build(o)
	}
	return raw
}

// importedDraft takes in a draft of an export, or a message that its mailbox calls a draft.
func (s *Server) importedDraft(t *tx, p *parsed, o IngestOptions) (in Ingested, err error) {
	if n, err := t.result("INSERT OR IGNORE INTO imported_drafts(hash) VALUES(?)", p.hash[:]); err != nil {
		return in, err
	} else if n, err := n.RowsAffected(); err != nil || n == 0 {
		return Ingested{Duplicate: true}, err
	}
	m := p.msg
	d := &draft{to: addressTexts(m.To), cc: addressTexts(m.Cc), bcc: addressTexts(m.Bcc), subject: oneLine(m.Subject), html: m.HTML}
	if d.html == "" {
		d.html = paragraphs(m.Text)
	}
	if len(m.From) > 0 && s.own[strings.ToLower(m.From[0].Email)] {
		d.from = sql.NullString{String: m.From[0].Email, Valid: true}
	}
	created := p.receivedAt(o, t.now)
	updated := created
	var thread int64
	if st := o.exact; st != nil && st.Draft != nil {
		ds := st.Draft
		d.to, d.cc, d.bcc, d.subject, d.html = ds.To, ds.Cc, ds.Bcc, ds.Subject, ds.HTML
		d.from = sql.NullString{String: ds.From, Valid: ds.From != ""}
		created, updated = min(ds.CreatedAt, t.now), min(ds.UpdatedAt, t.now)
		if thread, err = t.threadOfHash(st.Thread); err != nil {
			return in, err
		}
		message, _, err := t.messageOfHash(ds.ForwardOf)
		if err != nil {
			return in, err
		}
		d.forwardOf = sql.NullInt64{Int64: message, Valid: message != 0}
	} else {
		for _, id := range append([]string{m.InReplyTo}, m.References...) {
			err := t.row("SELECT thread_id FROM message_ids WHERE hash = ?", []any{messageIDHash(id)}, &thread)
			if err == nil {
				break
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return in, err
			}
		}
	}
	d.threadID = sql.NullInt64{Int64: thread, Valid: thread != 0}
	if thread != 0 {
		t.dirty[thread] = true
	}
	recipients, err := d.recipients()
	if err != nil {
		return in, err
	}
	_, err = t.insert(`INSERT INTO drafts(recipients, subject, html, from_address, thread_id, forward_of, folded, created_at, updated_at)
		VALUES(?,?,?,?,?,?,?,?,?)`, recipients, d.subject, d.html, d.from, d.threadID, d.forwardOf, d.folded(), created, updated)
	return in, err
}

func addressTexts(list []mailparse.Address) []string {
	out := make([]string, 0, len(list))
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

// ExportFile exports to a new file that only its owner can read. It does not overwrite: the error is then
// fs.ErrExist. The file has its name only when it is complete.
func (s *Server) ExportFile(ctx context.Context, path string, progress func(done, total int)) (report ExportReport, err error) {
	err = newFile(path, func(f *os.File) error {
		report, err = s.Export(ctx, f, progress)
		return err
	})
	return report, err
}

// ExportContacts writes the contacts to a new vCard file, as ExportFile does with the mail, and returns how many there are.
func (s *Server) ExportContacts(ctx context.Context, path string) (n int, err error) {
	w := &icalWriter{now: s.now()}
	if err := s.writeCards(ctx, w); err != nil {
		return 0, s.storeError(err)
	}
	text := w.b.String()
	return strings.Count(text, "BEGIN:VCARD\r\n"), newText(path, text)
}

// ExportCalendar writes the events of the calendar to a new iCalendar file, as ExportFile does with the mail, and returns
// how many there are; a single changed date of a series counts as one.
func (s *Server) ExportCalendar(ctx context.Context, path string) (n int, err error) {
	events, err := s.feedEvents(ctx, false)
	if err != nil {
		return 0, s.storeError(err)
	}
	return len(events), newText(path, string(writeCalendar(events, "", "", s.now(), nil)))
}

func newText(path, text string) error {
	return newFile(path, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}

// Backup writes a complete copy of the mailbox to a new file that only its owner can read, while the mailbox is in
// use. The copy is a mailbox file itself. It does not overwrite: the error is then fs.ErrExist. The file has its
// name only when it is complete and was checked.
func (s *Server) Backup(ctx context.Context, path string) error {
	return newFile(path, func(f *os.File) error {
		if err := s.copyTo(ctx, f.Name()); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.storeError(err)
		}
		return checkCopy(ctx, f.Name())
	})
}

func (s *Server) copyTo(ctx context.Context, path string) (err error) {
	// The readers may not even write elsewhere, and the writer must stay free.
	db, err := sql.Open("sqlite", dsn(s.path, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// SQLite writes into an empty file, which has its mode already.
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	return err
}

func checkCopy(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(path, true))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return &DamagedError{Path: path, Cause: strings.ReplaceAll(verdict, "\n", " ")}
	}
	return nil
}

// newFile has fill write a file beside path and gives it its name when it is on the disk.
func newFile(path string, fill func(*os.File) error) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removed(f.Name())) }()
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	// Unlike a rename, a link never takes the place of another file. Some file systems have none.
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(f.Name(), path)
}

func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
