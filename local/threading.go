package local

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// messageIDHash gives the key of a Message-ID in the table message_ids.
func messageIDHash(id string) int64 {
	sum := sha256.Sum256([]byte(bareID(id)))
	return int64(binary.LittleEndian.Uint64(sum[:8])) // any 64 bits will do
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
