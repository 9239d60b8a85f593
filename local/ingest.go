package local

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
	} else {
		s.direct(&o, m, from)
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
	searchID, err := t.addToSearch(received, p.search)
	if err != nil {
		return Ingested{}, err
	}
	id, err := t.insert(`INSERT INTO messages(thread_id, message_id, hash, received_at, subject, from_name, from_email,
		snippet, unread, outgoing, incoming, size, attachments, delivered_to, dated_at, answered, search_id)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		thread, bareID(m.MessageID), p.hash[:], received, oneLine(m.Subject), from.Name, from.Email,
		p.snippet, o.Unread, o.outgoing, o.incoming, p.size, len(m.Attachments), nullText(delivered), dated, o.Answered, searchID)
	if err != nil {
		return Ingested{}, err
	}
	if err := t.saveParts(id, p); err != nil {
		return Ingested{}, err
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

// direct says whether a message came or went, and which folder it lies in when nobody named one.
func (s *Server) direct(o *IngestOptions, m *mailparse.Message, from mailparse.Address) {
	if o.outgoing || (s.own[strings.ToLower(from.Email)] && !o.Arrival && (o.Folder == "" || o.Folder == "sent" || o.Folder == "archive")) {
		o.outgoing = true
		if o.Folder == "" {
			o.Folder = "sent"
			o.note = s.deliveredTo(m) != "" && !o.incoming
			o.incoming = o.incoming || o.note
		}
		return
	}
	o.incoming = true
	if o.Folder == "" {
		o.Folder = "inbox"
	}
	if o.Folder == "sent" {
		o.outgoing, o.incoming = true, false
	}
}

// saveParts stores the bytes of a message, its body where that lies aside, and what is known of its attachments.
func (t *tx) saveParts(id int64, p *parsed) error {
	if err := t.exec("INSERT INTO raws(message_id, encoding, data) VALUES(?,?,?)", id, p.encoding, p.data); err != nil {
		return err
	}
	if p.body != nil {
		if err := t.exec("INSERT INTO bodies(message_id, parsed) VALUES(?,?)", id, p.body); err != nil {
			return err
		}
	}
	for _, a := range p.msg.Attachments {
		err := t.exec(`INSERT INTO attachments(message_id, position, filename, content_type, size, inline, content_id)
			VALUES(?,?,?,?,?,?,?)`, id, a.Index, a.Filename, a.ContentType, a.Size, a.Inline, a.ContentID)
		if err != nil {
			return err
		}
	}
	return nil
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
