package local

import (
	"database/sql"
	"errors"
)

// The places in which threads are listed. A label's place is placeLabel plus its id.
const (
	placeInbox = iota + 1
	placeArchive
	placeSent
	placeSpam
	placeBin
	placeSnoozed
	placeAll
	placeStarred

	placeLabel = 1000
)

// thread is one row of the table threads.
type thread struct {
	id           int64
	subject      string
	firstAt      int64
	lastAt       int64
	wokeAt       int64
	messages     int64
	unread       int64
	incoming     int64
	outgoing     int64
	inbox        bool
	starred      bool
	spam         bool
	trashed      bool
	muted        bool
	snoozedUntil sql.NullInt64
	deliveredTo  sql.NullString
}

const threadColumns = `id, subject, first_at, last_at, woke_at, messages, unread, incoming, outgoing,
	inbox, starred, spam, trashed, muted, snoozed_until, delivered_to`

func (th *thread) scan() []any {
	return []any{
		&th.id, &th.subject, &th.firstAt, &th.lastAt, &th.wokeAt, &th.messages, &th.unread, &th.incoming, &th.outgoing,
		&th.inbox, &th.starred, &th.spam, &th.trashed, &th.muted, &th.snoozedUntil, &th.deliveredTo,
	}
}

// thread reads one thread; sql.ErrNoRows says that there is none.
func (t *tx) thread(id int64) (*thread, error) {
	th := &thread{}
	if err := t.row("SELECT "+threadColumns+" FROM threads WHERE id = ?", []any{id}, th.scan()...); err != nil {
		return nil, err
	}
	return th, nil
}

func (t *tx) saveThread(th *thread) error {
	t.dirty[th.id] = true
	return t.exec(`UPDATE threads SET first_at = ?, last_at = ?, woke_at = ?, messages = ?, unread = ?, incoming = ?, outgoing = ?,
		inbox = ?, starred = ?, spam = ?, trashed = ?, muted = ?, snoozed_until = ?, delivered_to = ? WHERE id = ?`,
		th.firstAt, th.lastAt, th.wokeAt, th.messages, th.unread, th.incoming, th.outgoing,
		th.inbox, th.starred, th.spam, th.trashed, th.muted, th.snoozedUntil, th.deliveredTo, th.id)
}

// resolve follows the joining of threads, so that an id given out earlier stays good.
func (t *tx) resolve(id int64) (int64, error) {
	var to int64
	err := t.row("SELECT id FROM thread_aliases WHERE old_id = ?", []any{id}, &to)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	return to, err
}

// places lists where a thread is shown, beside its labels. A snoozed thread is nowhere else.
func (th *thread) places() []int64 {
	switch {
	case th.messages == 0:
		return nil
	case th.trashed:
		return []int64{placeBin}
	case th.spam:
		return []int64{placeSpam}
	case th.snoozedUntil.Valid:
		return []int64{placeSnoozed}
	}
	out := []int64{placeAll}
	if th.inbox {
		out = append(out, placeInbox)
	} else if th.incoming > 0 {
		out = append(out, placeArchive)
	}
	if th.outgoing > 0 {
		out = append(out, placeSent)
	}
	if th.starred {
		out = append(out, placeStarred)
	}
	return out
}

// shown reports whether the thread is listed under its labels.
func (th *thread) shown() bool {
	return th.messages > 0 && !th.trashed && !th.spam && !th.snoozedUntil.Valid
}

type placeRow struct {
	sortAt int64
	unread bool
}

// refreshPlaces brings the rows of a thread in places, and their counts, up to date.
func (t *tx) refreshPlaces(id int64) error {
	want := map[int64]placeRow{}
	th, err := t.thread(id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		row := placeRow{sortAt: max(th.lastAt, th.wokeAt), unread: th.unread > 0}
		for _, p := range th.places() {
			want[p] = row
		}
		if th.shown() {
			labels, err := t.ids("SELECT label_id FROM thread_labels WHERE thread_id = ?", id)
			if err != nil {
				return err
			}
			for _, l := range labels {
				want[placeLabel+l] = row
			}
		}
	}
	st, err := t.prepare("SELECT place, sort_at, unread FROM places WHERE thread_id = ?")
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(t.ctx, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	have := map[int64]placeRow{}
	for rows.Next() {
		var place int64
		var r placeRow
		if err := rows.Scan(&place, &r.sortAt, &r.unread); err != nil {
			return err
		}
		have[place] = r
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for place, h := range have {
		w, keep := want[place]
		if keep && w == h {
			continue
		}
		if err := t.exec("DELETE FROM places WHERE place = ? AND sort_at = ? AND thread_id = ?", place, h.sortAt, id); err != nil {
			return err
		}
		if err := t.count(place, -1, h.unread); err != nil {
			return err
		}
	}
	for place, w := range want {
		h, kept := have[place]
		if kept && w == h {
			continue
		}
		if err := t.exec("INSERT INTO places(place, sort_at, thread_id, unread) VALUES(?,?,?,?)", place, w.sortAt, id, w.unread); err != nil {
			return err
		}
		if err := t.count(place, 1, w.unread); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) count(place, by int64, unread bool) error {
	u := int64(0)
	if unread {
		u = by
	}
	return t.exec(`INSERT INTO place_counts(place, count, unread) VALUES(?,?,?)
		ON CONFLICT(place) DO UPDATE SET count = count + excluded.count, unread = unread + excluded.unread`, place, by, u)
}

func (t *tx) ids(query string, args ...any) ([]int64, error) {
	st, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(t.ctx, args...)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

func scanIDs(rows *sql.Rows) ([]int64, error) {
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// mergeThreads joins two threads that turned out to be one and returns the id that stays, the older one.
func (t *tx) mergeThreads(a, b int64) (int64, error) {
	keep, gone := min(a, b), max(a, b)
	k, err := t.thread(keep)
	if err != nil {
		return 0, err
	}
	g, err := t.thread(gone)
	if err != nil {
		return 0, err
	}
	k.firstAt, k.lastAt = min(k.firstAt, g.firstAt), max(k.lastAt, g.lastAt)
	k.wokeAt = max(k.wokeAt, g.wokeAt)
	k.messages += g.messages
	k.unread += g.unread
	k.incoming += g.incoming
	k.outgoing += g.outgoing
	k.inbox = k.inbox || g.inbox
	k.starred = k.starred || g.starred
	k.muted = k.muted || g.muted
	k.spam = k.spam && g.spam
	k.trashed = k.trashed && g.trashed
	if !g.snoozedUntil.Valid || k.snoozedUntil.Valid && g.snoozedUntil.Int64 < k.snoozedUntil.Int64 {
		k.snoozedUntil = g.snoozedUntil
	}
	if !k.deliveredTo.Valid {
		k.deliveredTo = g.deliveredTo
	}
	for _, q := range []string{
		"UPDATE messages SET thread_id = ?1 WHERE thread_id = ?2",
		"UPDATE message_ids SET thread_id = ?1 WHERE thread_id = ?2",
		"INSERT OR IGNORE INTO thread_labels(thread_id, label_id) SELECT ?1, label_id FROM thread_labels WHERE thread_id = ?2",
		"INSERT OR IGNORE INTO participants(person_id, thread_id) SELECT person_id, ?1 FROM participants WHERE thread_id = ?2",
		"UPDATE drafts SET thread_id = ?1 WHERE thread_id = ?2",
		"UPDATE notes SET thread_id = ?1, position = position + 1000 WHERE thread_id = ?2",
		"UPDATE follow_ups SET thread_id = ?1 WHERE thread_id = ?2",
		"UPDATE rule_runs SET thread_id = ?1 WHERE thread_id = ?2",
		"UPDATE emails SET thread_id = ?1 WHERE thread_id = ?2",
		"UPDATE thread_aliases SET id = ?1 WHERE id = ?2",
		"INSERT INTO thread_aliases(old_id, id) VALUES(?2, ?1)",
	} {
		if err := t.exec(q, keep, gone); err != nil {
			return 0, err
		}
	}
	for _, q := range []string{
		"DELETE FROM thread_labels WHERE thread_id = ?",
		"DELETE FROM participants WHERE thread_id = ?",
		"DELETE FROM threads WHERE id = ?",
	} {
		if err := t.exec(q, gone); err != nil {
			return 0, err
		}
	}
	t.dirty[gone] = true
	return keep, t.saveThread(k)
}

// deleteThread removes a thread and all that belongs to it, for good.
func (t *tx) deleteThread(id int64) error {
	messages, err := t.ids("SELECT id FROM messages WHERE thread_id = ?", id)
	if err != nil {
		return err
	}
	for _, m := range messages {
		for _, q := range []string{
			"DELETE FROM raws WHERE message_id = ?",
			"DELETE FROM bodies WHERE message_id = ?",
			"DELETE FROM attachments WHERE message_id = ?",
			"DELETE FROM mail_search WHERE rowid = (SELECT search_id FROM messages WHERE id = ?)",
			"UPDATE drafts SET forward_of = NULL WHERE forward_of = ?",
			// What somebody has accepted stays in the calendar.
			`DELETE FROM calendar_events WHERE message_id = ? AND NOT EXISTS(SELECT 1 FROM event_answers a
				WHERE a.uid = calendar_events.uid AND a.partstat IN ('ACCEPTED', 'TENTATIVE'))`,
			"UPDATE calendar_events SET message_id = NULL WHERE message_id = ?",
		} {
			if err := t.exec(q, m); err != nil {
				return err
			}
		}
	}
	for _, q := range []string{
		"DELETE FROM messages WHERE thread_id = ?",
		"DELETE FROM message_ids WHERE thread_id = ?",
		"DELETE FROM thread_labels WHERE thread_id = ?",
		"DELETE FROM participants WHERE thread_id = ?",
		"DELETE FROM thread_aliases WHERE id = ?",
		"DELETE FROM notes WHERE thread_id = ?",
		"DELETE FROM follow_ups WHERE thread_id = ?",
		"UPDATE drafts SET thread_id = NULL WHERE thread_id = ?",
		"UPDATE emails SET thread_id = NULL WHERE thread_id = ?",
		"DELETE FROM threads WHERE id = ?",
	} {
		if err := t.exec(q, id); err != nil {
			return err
		}
	}
	t.dirty[id] = true
	return nil
}
