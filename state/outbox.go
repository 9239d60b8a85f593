package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

const (
	// askAfter is how long after a first attempt of unknown outcome a message is sent again without asking: nobody
	// says how long the API remembers a key.
	askAfter = 24 * time.Hour
	// keepSettled is how long a message that left stays listed.
	keepSettled = 24 * time.Hour
	// tagName is the tag of a send under which it can be looked up.
	tagName = "teapost"
)

// entry is a message in the outbox. Its body, the exact bytes that are sent, is a column of its own in state.db and is
// never changed; neither is its key.
type entry struct {
	ID           EntryID    `json:"id"`
	State        EntryState `json:"state"`
	Key          string     `json:"key"`
	Subject      string     `json:"subject"`
	To           []Address  `json:"to"`
	Thread       ThreadID   `json:"thread,omitempty"`
	CreatedAt    time.Time  `json:"created"`
	ScheduledAt  time.Time  `json:"scheduled"`
	Window       bool       `json:"window"` // the bytes hold a cancel window
	Origin       string     `json:"origin"`
	FirstAttempt time.Time  `json:"first"` // zero: no attempt was begun
	LastTry      time.Time  `json:"last"`
	Attempts     int        `json:"attempts"`
	Tries        int        `json:"tries"` // calls that failed since the last person's wish, for the growing wait
	NextAt       time.Time  `json:"next"`
	NetWait      bool       `json:"netWait"` // waits for a connection: any success lets it go
	SignIn       bool       `json:"signIn"`  // held until the credential is mended
	Stopped      bool       `json:"stopped"` // the person stopped it: it does not go by itself
	CancelWanted bool       `json:"cancelWanted"`
	AgainWanted  bool       `json:"againWanted,omitempty"` // the person answered AskSendAgain with yes
	TooLate      bool       `json:"tooLate"`               // it was to be taken back, and the server said no, or nothing
	Why          string     `json:"why,omitempty"`
	Status       int        `json:"status,omitempty"`
	Code         string     `json:"code,omitempty"`
	Request      string     `json:"request,omitempty"`
	EmailID      string     `json:"email,omitempty"`
	CancelUntil  time.Time  `json:"cancelUntil"`
	Replayed     bool       `json:"replayed"`
	TestMode     bool       `json:"testMode"`
	Ask          Ask        `json:"ask,omitempty"`
	SettledAt    time.Time  `json:"settled"`
	LeftDraft    string     `json:"leftDraft,omitempty"` // the server's draft of it, which is to be deleted
	Draft        Draft      `json:"draft"`
	Rev          int64      `json:"rev"` // another one with every write of any process

	entryRun
}

// entryRun is what of an entry this process alone knows.
type entryRun struct {
	call, follow, look string // ids of calls that run for it
	claiming           bool   // a write runs that decides what becomes of it: an attempt, or that it leaves the outbox
	followAt           time.Time
	followTries        int
	unsaved            bool   // never reached the disk
	mine               bool   // this process made it, or has it taken back: what becomes of it is told here
	disk               *int64 // the revision on the disk; the writer's to use while saving is not 0
	saving             int    // writes that have not ended
	taken              bool   // another process changed it, and what it made of it is not read yet
	fresh              bool   // no attempt was begun before the one that runs
	kept               bool   // held by this process, for editing
	holdWanted         bool   // to be held, while claiming
	leaving            bool   // the server's draft of it is being deleted
	poked              int    // tries that were made because another call succeeded, in a row
}

// live reports that the message has not left yet, or needs the person.
func (e *entry) live() bool {
	return !e.unsaved && e.State != EntrySent && e.State != EntryCancelled
}

// attempted reports that an attempt was begun whose outcome is not known to be a refusal.
func (e *entry) attempted() bool { return !e.FirstAttempt.IsZero() }

func (e *entry) busy() bool { return e.call != "" || e.claiming }

// free reports that it may be edited or dropped without any doubt.
func (e *entry) free() bool {
	if e.busy() || e.look != "" || e.taken {
		return false
	}
	switch e.State {
	case EntryQueued, EntryHeld:
		return !e.attempted()
	case EntryFailed, EntryCancelled:
		return true
	}
	return e.Ask == AskEditAsNew
}

func (e *entry) canTakeBack(now time.Time) bool {
	if e.CancelWanted || e.Ask == AskSendAgain {
		return false
	}
	switch e.State {
	case EntrySaving, EntryQueued:
		return true
	case EntryHeld:
		return !e.attempted()
	case EntrySending, EntryWaiting, EntryUnknown:
		return e.Window || !e.ScheduledAt.IsZero()
	case EntryAccepted:
		return now.Before(e.CancelUntil) || now.Before(e.ScheduledAt)
	}
	return false
}

// stuck reports that the server has the message, could not deliver it and waits before it tries again.
func (e *entry) stuck(now time.Time) bool {
	return e.State == EntryAccepted && e.Why != "" && !now.Before(e.CancelUntil) && !now.Before(e.ScheduledAt)
}

func (m *Mail) entry(id EntryID) *entry {
	for _, e := range m.outbox {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (m *Mail) showEntry(e *entry) Entry {
	now := m.now()
	s := Entry{
		ID: e.ID, State: e.State, Subject: e.Subject, To: e.To, ThreadID: e.Thread, CreatedAt: e.CreatedAt, ScheduledAt: e.ScheduledAt,
		Why: e.Why, Status: e.Status, Code: e.Code, Request: e.Request, Attempts: e.Attempts, Call: e.call, EmailID: e.EmailID,
		Replayed: e.Replayed, TestMode: e.TestMode, Ask: e.Ask, TakingBack: e.CancelWanted, SettledAt: e.SettledAt,
		CanEdit: e.free() || e.State == EntryUnknown && e.Ask != AskSendAgain && !e.busy() && e.look == "",
		CanDrop: e.free() || e.State == EntrySent || e.Ask == AskSendAgain && !e.busy(),
	}
	switch e.State {
	case EntryWaiting:
		s.Until = e.NextAt
	case EntryAccepted:
		if s.Until = e.CancelUntil; !e.ScheduledAt.IsZero() {
			s.Until = time.Time{} // ScheduledAt says it
		}
	}
	switch e.State {
	case EntryQueued, EntryHeld, EntryWaiting, EntryUnknown:
		s.CanSend = !e.busy()
	case EntryAccepted:
		s.CanSend = e.stuck(now) && !e.busy()
	}
	s.CanTakeBack = e.canTakeBack(now)
	return s
}

// Outbox lists the messages that have not left, oldest first, and then those that did within the last day.
func (m *Mail) Outbox() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out, settled []Entry
	for _, e := range m.outbox {
		switch {
		case e.unsaved:
		case e.live():
			out = append(out, m.showEntry(e))
		default:
			settled = append([]Entry{m.showEntry(e)}, settled...)
		}
	}
	return append(out, settled...)
}

// Entry is one message of the outbox.
func (m *Mail) Entry(id EntryID) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(id); e != nil {
		return m.showEntry(e), true
	}
	return Entry{}, false
}

// Send puts a message into the outbox and returns the id of its entry, which is [EntrySaving] until its bytes and its
// key are on the disk. Only then is it tried, and only then is its draft gone. When that fails the entry is
// [EntryFailed] and the draft stays. Sending the same draft with the same text again gives the entry that there is, unless
// that one was refused or taken back.
func (m *Mail) Send(d Draft, o SendOptions) EntryID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.send(d, o, nil)
}

// sameMessage reports that e is this draft with this text, and goes, went or may have gone.
func (e *entry) sameMessage(d Draft) bool {
	return e.Draft.ID == d.ID && e.State != EntryFailed && e.State != EntryCancelled && sum(e.Draft) == sum(d)
}

// errSentAlready says that another process sent the same draft.
var errSentAlready = errors.New("another teapost sent it")

// send is Send. The new entry takes the place of old, if any.
func (m *Mail) send(d Draft, o SendOptions, old *entry) EntryID {
	for _, e := range m.outbox {
		if e != old && e.sameMessage(d) {
			return e.ID
		}
	}
	if rec := m.drafts[d.ID]; rec != nil { // these are not the writer's to know
		d.ServerID, d.Files, d.Elsewhere = rec.Draft.ServerID, rec.Draft.Files, rec.Draft.Elsewhere
	}
	now := m.now()
	e := &entry{
		ID: EntryID(newID()), State: EntrySaving, Key: api.NewIdempotencyKey(), Subject: d.Subject, Thread: d.ThreadID,
		CreatedAt: now, ScheduledAt: o.At.Round(0), Origin: m.opts.Origin, Draft: d, Rev: m.nextRev(0),
		entryRun: entryRun{mine: true, disk: new(int64)},
	}
	e.To = append(append(parseAddresses(d.To), parseAddresses(d.Cc)...), parseAddresses(d.Bcc)...)
	undo := o.Undo
	if undo == 0 {
		undo = m.opts.Undo
	}
	seconds := int(undo / time.Second)
	if seconds < 0 || !o.At.IsZero() {
		seconds = 0
	}
	e.Window = seconds > 0
	m.outbox = append(m.outbox, e)
	m.pushUndo(undoStep{entry: e.ID})
	m.holdDraft(d.ID)
	stored := *e
	stored.State = EntryQueued
	doc, rev, owner := marshal(&stored), e.Rev, m.owner
	e.saving++
	if old != nil {
		old.claiming = true
		old.saving++
		m.removals++
	}
	m.state.write(func(tx *sql.Tx) error {
		if old != nil {
			if err := deleteEntryRow(tx, string(old.ID), *old.disk, owner); err != nil {
				return err
			}
		}
		if err := notSentYet(tx, d); err != nil {
			return err
		}
		files, err := readFiles(tx, d)
		if err != nil {
			return err
		}
		body, err := sendBody(d, files, e.ID, seconds, o.At)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO outbox(id, rev, doc, body) VALUES(?, ?, ?, ?)", string(e.ID), rev, doc, body); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM draft WHERE id = ?", string(d.ID))
		return err
	}, func(err error) {
		if err == nil {
			*e.disk = rev
		}
		m.post(func() {
			e.saving--
			if old != nil {
				old.saving--
				old.claiming = false
			}
			if err != nil {
				m.notKept(e, old, err)
				return
			}
			if old != nil {
				m.forget(old)
			}
			m.draftSent(d)
			e.State = EntryQueued
			if e.CancelWanted {
				e.CancelWanted = false
				m.takeBack(e)
				return
			}
			m.pumpOutbox(m.now())
			m.changed()
		})
	})
	m.changed()
	return e.ID
}

// notKept is the end of a send whose message could not be written.
func (m *Mail) notKept(e, old *entry, err error) {
	switch {
	case errors.Is(err, errSentAlready):
		m.forget(e)
		m.draftSent(e.Draft)
		m.reload()
	case old != nil: // it is in the outbox as before
		m.forget(e)
		if errors.Is(err, errTaken) {
			m.reload()
			break
		}
		m.addNotice(Notice{Kind: NoticeFailure, Entry: old.ID, Text: "Could not send " + quoted(e.Subject) + ": it could not be kept on the disk: " + diskReason(err)})
	default:
		e.State, e.unsaved, e.Why = EntryFailed, true, "it could not be kept on the disk: "+diskReason(err)
		e.CancelWanted = false
		rec := m.reopened(e)
		m.adoptReopened(rec)
		rec.status.State = SaveDirty
		m.writeDraft(rec)
	}
	m.changed()
}

// notSentYet fails with errSentAlready when the outbox has a message of the same draft with the same text.
func notSentYet(tx *sql.Tx, d Draft) error {
	return eachDoc(tx, "SELECT doc FROM outbox", func(doc []byte) error {
		if o, err := decodeEntry(doc); err == nil && o.sameMessage(d) {
			return errSentAlready
		}
		return nil
	})
}

// errTaken says that another process changed or took the entry.
var errTaken = errors.New("another teapost changed it")

// nextRev is a revision that comes after prev and that no other process makes.
func (m *Mail) nextRev(prev int64) int64 {
	return max(prev, m.now().UnixNano()) + 1 + rand.Int64N(1<<20) //nolint:gosec // not a secret
}

// saveEntry writes an entry as it is now. It fails with errTaken when another process was quicker: then what that one
// wrote is taken over. What the disk refuses is written again, unless after, which may be nil, hears of it.
func (m *Mail) saveEntry(e *entry, after func(error)) { m.saveEntryAnd(e, nil, after) }

// saveEntryAnd is saveEntry with more writes, if any, in the same transaction.
func (m *Mail) saveEntryAnd(e *entry, also func(*sql.Tx) error, after func(error)) {
	e.Rev = m.nextRev(e.Rev)
	e.saving++
	doc, rev, id, disk := marshal(e), e.Rev, string(e.ID), e.disk
	sent := e.State == EntrySent
	draft := string(e.Draft.ID)
	m.state.write(func(tx *sql.Tx) error {
		if err := one(tx.Exec("UPDATE outbox SET rev = ?, doc = ? WHERE id = ? AND rev = ?", rev, doc, id, *disk)); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		if !sent { // anything else may have to be sent, or opened again
			return nil
		}
		if _, err := tx.Exec("UPDATE outbox SET body = x'' WHERE id = ?", id); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM file WHERE draft = ?", draft)
		return err
	}, func(err error) {
		if err == nil {
			*disk = rev
		}
		m.post(func() {
			e.saving--
			switch {
			case err == nil:
			case errors.Is(err, errTaken):
				e.taken = true
				m.reload()
			default:
				m.logWrite("outbox")(err)
				if after == nil {
					m.afterAWhile(func() {
						if m.entry(e.ID) == e && e.saving == 0 {
							m.saveEntryAnd(e, also, nil)
						}
					})
				}
			}
			if after != nil {
				after(err)
			}
		})
	})
	m.changed()
}

// one makes errTaken of a change to no row.
func one(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errTaken, err)
	}
	return nil
}

func deleteEntryRow(tx *sql.Tx, id string, rev int64, owner bool) error {
	if owner { // nobody else begins attempts: what stands still here stands still
		return one(tx.Exec("DELETE FROM outbox WHERE id = ?", id))
	}
	return one(tx.Exec("DELETE FROM outbox WHERE id = ? AND rev = ?", id, rev))
}

// forget takes an entry off the list.
func (m *Mail) forget(e *entry) {
	m.outbox = slices.DeleteFunc(slices.Clone(m.outbox), func(o *entry) bool { return o == e })
	m.changed()
}

// removeEntry deletes an entry from the disk, with more writes in the same transaction, if any, and takes it off the list
// once that is done. It fails with errTaken when another process was quicker. Nothing else happens to the entry
// meanwhile. then is run by the loop.
func (m *Mail) removeEntry(e *entry, also func(*sql.Tx) error, then func(error)) {
	id, disk, owner := string(e.ID), e.disk, m.owner
	e.claiming = true
	e.saving++
	m.removals++
	m.state.write(func(tx *sql.Tx) error {
		if err := deleteEntryRow(tx, id, *disk, owner); err != nil || also == nil {
			return err
		}
		return also(tx)
	}, func(err error) {
		m.post(func() {
			e.claiming = false
			e.saving--
			switch {
			case err == nil:
				m.forget(e)
			case errors.Is(err, errTaken):
				e.taken = true
				m.reload()
			default:
				m.logWrite("outbox")(err)
			}
			then(err)
			m.changed()
		})
	})
	m.changed()
}

// dropEntry deletes an entry for good, its attachments too unless a draft or another message made of the same draft
// still needs them. then is run by the loop.
func (m *Mail) dropEntry(e *entry, then func(error)) {
	if e.unsaved {
		m.forget(e)
		then(nil)
		return
	}
	files := m.drafts[e.Draft.ID] == nil
	for _, o := range m.outbox {
		if o != e && o.Draft.ID == e.Draft.ID && o.live() {
			files = false
		}
	}
	draft := string(e.Draft.ID)
	m.removeEntry(e, func(tx *sql.Tx) error {
		if !files {
			return nil
		}
		_, err := tx.Exec("DELETE FROM file WHERE draft = ?", draft)
		return err
	}, then)
}

// editAgain takes a message out of the outbox and puts its text among the drafts, in one transaction. The text is there at
// once: nothing sends the message any more.
func (m *Mail) editAgain(e *entry) Draft {
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	m.forget(e)
	rec := m.reopened(e)
	m.adoptReopened(rec)
	m.leave(e, rec)
	return rec.Draft
}

func (m *Mail) leave(e *entry, rec *draftRecord) {
	m.removeEntry(e, m.putReopened(rec), func(err error) {
		switch {
		case err == nil:
		case errors.Is(err, errTaken):
			m.addNotice(Notice{Kind: NoticeFailure, Text: "Another teapost took " + quoted(e.Subject) + " meanwhile: sent from here as well it may arrive twice"})
		default:
			m.afterAWhile(func() { m.leave(e, rec) })
		}
	})
}

// pumpOutbox tries what may be tried now and follows what was accepted. With the lock held.
func (m *Mail) pumpOutbox(now time.Time) {
	for _, e := range append([]*entry(nil), m.outbox...) {
		if !e.live() {
			if !e.unsaved && m.owner && !e.busy() && !e.SettledAt.IsZero() && now.Sub(e.SettledAt) > keepSettled {
				m.dropEntry(e, func(err error) {
					if err != nil {
						e.SettledAt = m.now() // another day
					}
				})
			}
			continue
		}
		if !m.owner || m.closing || e.busy() || e.look != "" || e.taken {
			continue
		}
		switch {
		case e.AgainWanted:
			m.sendAgain(e)
		case e.State == EntryAccepted:
			if e.CancelWanted {
				m.cancelEmail(e)
			} else if e.follow == "" && !now.Before(e.followAt) {
				m.followEmail(e)
			}
		case m.mayTry(e, now):
			m.try(e)
		}
	}
}

// mayTry says whether an attempt may begin now, and puts the question where the person must be asked first.
func (m *Mail) mayTry(e *entry, now time.Time) bool {
	switch e.State {
	case EntryQueued, EntryWaiting:
	case EntryUnknown:
		if e.Stopped {
			return false
		}
	default:
		return false
	}
	if e.Ask != AskNothing || now.Before(e.NextAt) || now.Before(m.limitedUntil) && e.State != EntryQueued {
		return false
	}
	if !e.attempted() {
		if !e.ScheduledAt.IsZero() && !now.Before(e.ScheduledAt) {
			e.Ask = AskOverdue
			m.saveEntry(e, nil)
			return false
		}
		return true
	}
	late := now.Sub(e.FirstAttempt) > askAfter || e.Origin != m.opts.Origin
	if !late && (!e.CancelWanted || e.Window || now.Before(e.ScheduledAt)) {
		return true
	}
	m.lookUp(e, func(found bool, err error) {
		if found || err != nil {
			return
		}
		e.State, e.Ask = EntryUnknown, AskTryAgain
		switch {
		case e.CancelWanted: // tried again it might go out, and it is not wanted
			e.CancelWanted, e.TooLate, e.Stopped, e.Ask = false, true, true, AskEditAsNew
			e.Why = "not found at the server, but it may still arrive"
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not known whether " + quoted(e.Subject) + " was taken back: the server does not show it"})
		case e.Origin != m.opts.Origin:
			e.Why = "it may have arrived, and the account has changed since"
		default:
			e.Why = "it may have arrived, and it was first tried over a day ago"
		}
		m.saveEntry(e, nil)
	})
	return false
}

func (m *Mail) dueOutbox() time.Time {
	var due time.Time
	if !m.owner {
		return due
	}
	now := m.now()
	for _, e := range m.outbox {
		if !e.live() || e.busy() || e.look != "" || e.taken || e.Ask != AskNothing {
			continue
		}
		switch e.State {
		case EntryQueued, EntryWaiting:
			due = sooner(due, latest(e.NextAt, now))
		case EntryUnknown:
			if !e.Stopped {
				due = sooner(due, latest(e.NextAt, now))
			}
		case EntryAccepted:
			if e.follow == "" {
				due = sooner(due, latest(e.followAt, now))
			}
		}
	}
	if due.Before(m.limitedUntil) && !due.IsZero() {
		due = m.limitedUntil
	}
	return due
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// pokeOutbox lets what waits for a connection go now.
func (m *Mail) pokeOutbox() {
	now := m.now()
	for _, e := range m.outbox {
		if e.State != EntryWaiting && e.State != EntryUnknown {
			continue
		}
		pause := time.Duration(0) // grows when the others get through and this one does not
		if e.poked > 0 || e.Status != 0 {
			pause = growing(15*time.Second, 15*time.Minute, e.poked)
		}
		if e.NetWait && now.Before(e.NextAt) && now.Sub(e.LastTry) > pause {
			e.NextAt = time.Time{}
			e.poked++
		}
	}
}

// try begins an attempt: first the disk learns that one begins, then the bytes go out.
func (m *Mail) try(e *entry) {
	before := *e
	e.claiming, e.holdWanted, e.fresh = true, false, !e.attempted()
	if e.fresh {
		e.FirstAttempt = m.now()
	}
	e.LastTry = m.now()
	e.State, e.Stopped, e.Why, e.Status, e.Code, e.NetWait, e.SignIn = EntrySending, false, "", 0, "", false, false
	m.saveEntry(e, func(err error) {
		e.claiming = false
		if err != nil {
			m.notTried(e, before)
			if !errors.Is(err, errTaken) {
				e.NextAt = m.now().Add(15 * time.Second) // the disk is full: the bytes must not leave unrecorded
			}
			m.changed()
			return
		}
		m.sendBytes(e, before)
	})
}

// notTried puts an entry back to how it was before an attempt that was not made.
func (m *Mail) notTried(e *entry, before entry) {
	cancel, rev := e.CancelWanted, e.Rev
	before.entryRun = e.entryRun
	*e = before
	e.CancelWanted, e.Rev = cancel, rev
}

func (m *Mail) sendBytes(e *entry, before entry) {
	e.claiming = true
	var body []byte
	id := string(e.ID)
	m.state.read(func(db *sql.DB) error {
		return db.QueryRow("SELECT body FROM outbox WHERE id = ?", id).Scan(&body)
	}, func(err error) {
		m.post(func() {
			e.claiming = false
			if m.closing || e.holdWanted {
				m.notTried(e, before)
				if e.holdWanted {
					m.hold(e)
				}
				m.saveEntry(e, nil)
				return
			}
			if err != nil {
				m.notTried(e, before)
				e.State, e.SettledAt, e.Why = EntryFailed, m.now(), "its text cannot be read from the disk: "+diskReason(err)
				if e.attempted() {
					e.State, e.Stopped = EntryUnknown, true
				}
				m.failedNotice(e)
				m.saveEntry(e, nil)
				return
			}
			key := e.Key
			e.call = m.start(want{
				op: "emails.send", title: "Sending to " + recipients(e.To), purpose: "send " + id, priority: api.Person, foreground: true,
				write: true, resources: []string{"threads", "thread/" + string(e.Thread)},
				run: func(ctx context.Context, c *api.Client) (any, error) {
					return c.Emails.SendBytes(ctx, body, api.WithIdempotencyKey(key))
				},
				done: func(f api.Final) { m.sendAnswered(e, f) },
			})
		})
	})
}

// sendAnswered gives the entry the state that the answer to its send means. See the table in docs/architecture.md.
func (m *Mail) sendAnswered(e *entry, f api.Final) {
	e.call = ""
	e.Attempts += f.Attempts
	none := e.fresh && f.Attempts == 0 // nothing left this machine, now or before
	only := e.fresh && f.Attempts == 1 // no attempt but this one was ever made
	if none {
		e.FirstAttempt = time.Time{}
	}
	if f.Err == nil {
		sent := f.Value.(*api.SentEmail)
		if sent.ID == "" { // taken, it seems, but it does not say as what: the same key tells
			e.Why = "the answer was empty"
			m.wait(e, jitter(growing(15*time.Second, 15*time.Minute, e.Tries)), false)
			m.saveEntry(e, nil)
			return
		}
		e.Tries = 0
		m.emailKnown(e, &sent.Email, sent.Replayed)
		return
	}
	e.Why, e.Request = reason(f.Err), ""
	var ae *api.Error
	var ne *api.NetworkError
	now := m.now()
	switch {
	case errors.Is(f.Err, context.Canceled):
		stopped := errors.Is(f.Err, errStopped)
		switch {
		case none:
			e.State, e.Why = EntryQueued, ""
			if stopped {
				e.State, e.Why = EntryHeld, "stopped before it was tried"
			}
		default:
			e.State, e.Stopped, e.Why = EntryUnknown, stopped, "stopped; it may already have been accepted"
		}
		if stopped {
			m.noMoreTakingBack(e)
			m.heldNotice(e)
		}
	case errors.As(f.Err, &ae):
		e.Status, e.Code, e.Request = ae.Status, ae.Code, ae.RequestID
		m.sendRefused(e, ae, only, now)
	case errors.As(f.Err, &ne):
		m.wait(e, jitter(growing(15*time.Second, 15*time.Minute, e.Tries)), true)
	default: // refused before anything was sent
		e.State, e.SettledAt, e.CancelWanted = EntryFailed, now, false
		m.failedNotice(e)
	}
	m.saveEntry(e, nil)
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID && n.Kind == NoticeResult })
	if e.CancelWanted && !e.attempted() && (e.State == EntryQueued || e.State == EntryHeld) {
		e.CancelWanted = false
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		m.dropBack(e)
	}
}

// noMoreTakingBack is the end of a wish to take a message back that the person stopped.
func (m *Mail) noMoreTakingBack(e *entry) {
	if !e.CancelWanted {
		return
	}
	e.CancelWanted, e.TooLate = false, true
	m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Stopped: not known whether " + quoted(e.Subject) + " was taken back"})
}

func (m *Mail) sendRefused(e *entry, ae *api.Error, only bool, now time.Time) {
	wait := jitter(growing(15*time.Second, 15*time.Minute, e.Tries))
	if ae.HasRetryAfter {
		wait = max(wait, ae.RetryAfter)
	}
	switch {
	case ae.Status == 429:
		if !ae.HasRetryAfter {
			wait = max(wait, time.Minute)
		}
		m.wait(e, wait, false)
	case ae.Status == 408 || ae.Status >= 500:
		m.wait(e, wait, !ae.HasRetryAfter)
	case ae.Status >= 200 && ae.Status < 300:
		// It was a success that could not be read. The same key gives the message that it made.
		if m.wait(e, wait, false); e.Tries > 3 {
			e.State, e.Stopped, e.Why = EntryUnknown, true, "the server's answers are not understood; it has probably been accepted"
			m.heldNotice(e)
		}
	case ae.Status == 401 || ae.Status == 403:
		e.State, e.SignIn = EntryHeld, true
		if only { // the server answered for certain that it did not take the message
			e.FirstAttempt = time.Time{}
		}
		n := Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Held: %s · %s · sign in again, it then goes unchanged", quoted(e.Subject), reason(ae))}
		m.addNoticeRetry(n, func() { m.sendNow(e) })
	default:
		switch {
		case errors.Is(ae, api.ErrIdempotencyReuse):
			e.Why = "the server has another message under this key: look into Sent before sending it as a new message"
		case errors.Is(ae, api.ErrInvalidIdempotencyKey):
			e.Why = "the server does not accept its key: edit and send it as a new message"
		default:
			e.Why = ae.Message
			if ae.Param != "" {
				e.Why = ae.Param + ": " + e.Why
			}
			for _, f := range ae.Fields {
				e.Why += " · " + f.Key + ": " + f.Error
			}
		}
		refused := func() {
			e.State, e.SettledAt, e.Stopped, e.CancelWanted = EntryFailed, m.now(), false, false
			m.failedNotice(e)
		}
		if only {
			refused()
			return
		}
		// An earlier attempt may have arrived, and this answer may be about nothing but the repetition.
		e.State, e.Stopped = EntryUnknown, true
		m.lookUp(e, func(found bool, err error) {
			if !found && err == nil {
				refused()
				m.saveEntry(e, nil)
			}
		})
	}
}

func (m *Mail) wait(e *entry, d time.Duration, untilConnected bool) {
	e.Tries++
	e.State, e.NextAt, e.NetWait = EntryWaiting, m.now().Add(d), untilConnected
}

func (m *Mail) heldNotice(e *entry) {
	text := "Held: " + quoted(e.Subject)
	if e.State == EntryUnknown {
		text += " · it may already have been accepted · sending again cannot double it"
	}
	m.addNoticeRetry(Notice{Kind: NoticeFailure, Entry: e.ID, RetryTo: "sends it", Text: text}, func() { m.sendNow(e) })
}

func (m *Mail) failedNotice(e *entry) {
	m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not sent: %s to %s · %s · it is in the outbox", quoted(e.Subject), recipients(e.To), e.Why)})
}

// emailKnown gives the entry the state that the server's email has.
func (m *Mail) emailKnown(e *entry, mail *api.Email, replayed bool) {
	now := m.now()
	first := e.EmailID == ""
	var also func(*sql.Tx) error
	if mail.ID != "" { // an empty answer to a later question takes nothing away
		e.EmailID = mail.ID
	}
	e.Why, e.Stopped = "", false
	e.Replayed = e.Replayed || replayed
	e.TestMode = mail.Mode == api.ModeTest || mail.Transport == "test"
	e.CancelUntil = time.Time{}
	if mail.CancellableUntil != nil {
		e.CancelUntil = *mail.CancellableUntil
	}
	e.Ask = AskNothing
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	switch mail.Status {
	case api.EmailSent, api.EmailPartial:
		if open := missing(mail, api.RecipientUncertain); mail.Status == api.EmailPartial && open != "" {
			e.State, e.Ask, e.Why = EntryUnknown, AskSendAgain, open
			e.CancelWanted = false
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not known whether %s arrived: %s · the outbox asks", quoted(e.Subject), open)})
			break
		}
		e.State, e.SettledAt = EntrySent, now
		if mail.Status == api.EmailPartial {
			e.Why = missing(mail, api.RecipientFailed, api.RecipientBounced, api.RecipientSuppressed)
		}
		m.sentNotice(e, string(mail.Status))
	case api.EmailCancelled:
		e.State, e.SettledAt = EntryCancelled, now
		if e.CancelWanted || e.TooLate {
			e.CancelWanted, e.TooLate = false, false
			rec := m.reopened(e)
			also = m.putReopened(rec)
			m.adoptReopened(rec)
			m.tookBack(e)
		} else {
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not sent: " + quoted(e.Subject) + " was cancelled"})
		}
	case api.EmailFailed, api.EmailBounced:
		e.State, e.SettledAt, e.CancelWanted = EntryFailed, now, false
		e.Why = "the server could not deliver it"
		if mail.LastError != "" {
			e.Why = mail.LastError
		}
		m.failedNotice(e)
	default:
		e.State, e.Why = EntryAccepted, mail.LastError
		e.followAt = now.Add(growing(2*time.Second, 5*time.Minute, e.followTries))
		e.followTries++
		if e.CancelUntil.After(e.followAt) {
			e.followAt = e.CancelUntil.Add(500 * time.Millisecond)
		}
		if e.ScheduledAt.After(e.followAt) {
			e.followAt = e.ScheduledAt.Add(2 * time.Second)
		}
		switch {
		case e.CancelWanted:
			m.cancelEmail(e)
		case !e.ScheduledAt.IsZero():
			if first {
				m.replaceResult(Notice{
					Kind: NoticeResult, Entry: e.ID, Text: "Goes to " + recipients(e.To) + " " + atTime(e.ScheduledAt, now),
					Undo: true, UndoTo: "takes it back",
				})
			}
		case now.Before(e.CancelUntil):
			m.replaceResult(Notice{
				Kind: NoticeResult, Entry: e.ID, Text: "Sending to " + recipients(e.To), Until: e.CancelUntil,
				Undo: true, UndoTo: "takes it back",
			})
		}
	}
	if first && len(e.Draft.Elsewhere) == 0 { // what did not go along stays there
		e.LeftDraft = e.Draft.ServerID
		m.deleteSentDraft(e)
	}
	if first || e.State == EntrySent {
		if rec := m.rows[e.Thread]; rec != nil {
			rec.stale = true
		}
		m.news()
	}
	m.saveEntryAnd(e, also, nil)
}

// deleteSentDraft deletes the server's draft of a message that was accepted, at the next start when the program ends first.
func (m *Mail) deleteSentDraft(e *entry) {
	if e.LeftDraft == "" || e.leaving {
		return
	}
	e.leaving = true
	m.deleteServerDraftThen(e.LeftDraft, func(asked bool) {
		if e.leaving = false; asked {
			e.LeftDraft = ""
			m.saveEntry(e, nil)
		}
	})
}

func (m *Mail) sentNotice(e *entry, status string) {
	text := "Sent to " + recipients(e.To)
	e.CancelWanted, e.TooLate = false, e.CancelWanted || e.TooLate
	switch {
	case e.TooLate:
		text = "Too late, it was sent: " + quoted(e.Subject)
	case e.TestMode:
		text = "Kept as sent in test mode: it did not leave this machine · see teapost doctor"
		if m.opts.Poke == nil {
			text = "Kept as sent in test mode: the server does not deliver it · see teapost doctor"
		}
	case e.Replayed:
		text += " (it had already arrived)"
	case status == string(api.EmailPartial):
		text = "Sent, but not to everybody: " + quoted(e.Subject)
		if e.Why != "" {
			text += " · " + e.Why
		}
	}
	m.replaceResult(Notice{Kind: NoticeResult, Entry: e.ID, Text: text})
}

// missing names the recipients in these states, with what the server says of the first: "bob@example.org: 550 No such
// user". It is empty when there are none.
func missing(mail *api.Email, in ...api.RecipientStatus) string {
	var who []string
	why := ""
	for _, r := range mail.Recipients {
		if !slices.Contains(in, r.Status) {
			continue
		}
		if who = append(who, r.Email); why == "" {
			why = r.Error
		}
	}
	switch {
	case len(who) == 0:
		return ""
	case len(who) > 3:
		who = append(who[:2], fmt.Sprintf("%d more", len(who)-2))
	}
	out := strings.Join(who, ", ")
	if why != "" {
		out += ": " + why
	}
	return out
}

// tookBack says that the message was taken back; its text is among the drafts.
func (m *Mail) tookBack(e *entry) {
	m.replaceResult(Notice{Kind: NoticeResult, Entry: e.ID, Text: "Taken back: " + quoted(e.Subject) + " · it is in your drafts"})
}

// followEmail asks what became of an accepted message.
func (m *Mail) followEmail(e *entry) {
	id := e.EmailID
	e.follow = m.start(want{
		op: "emails.get", title: "Looking after " + quoted(e.Subject), purpose: "follow", priority: api.Background, key: "email/" + id, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Get(ctx, id) },
		done: func(f api.Final) {
			e.follow = ""
			if f.Err == nil {
				m.emailKnown(e, f.Value.(*api.Email), false)
				return
			}
			if errors.Is(f.Err, api.ErrNotFound) {
				e.State, e.SettledAt, e.Why = EntrySent, m.now(), "accepted; the server does not list it any more"
				m.sentNotice(e, string(api.EmailSent))
				m.saveEntry(e, nil)
				return
			}
			e.followTries++
			e.followAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, e.followTries)))
		},
	})
}

// lookUp asks the server whether it has the message, by its tag; answered hears what came of it. With the message found
// the entry has its state already.
func (m *Mail) lookUp(e *entry, answered func(found bool, err error)) {
	id := string(e.ID)
	e.look = m.start(want{
		op: "emails.list", title: "Looking for " + quoted(e.Subject), purpose: "look " + id, priority: api.Person, foreground: true,
		run: func(ctx context.Context, c *api.Client) (any, error) {
			n := 0
			for mail, err := range c.Emails.All(ctx, api.EmailListParams{Limit: 100}) {
				if err != nil {
					return nil, err
				}
				if mail.Tags[tagName] == id {
					return &mail, nil
				}
				if n++; n >= 300 {
					break
				}
			}
			return (*api.Email)(nil), nil
		},
		done: func(f api.Final) {
			e.look = ""
			if f.Err != nil {
				e.NextAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, e.Tries)))
				e.Tries++
				if !errors.Is(f.Err, context.Canceled) {
					m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Could not look for %s: %s · it is kept as it is", quoted(e.Subject), reason(f.Err))})
				}
				if errors.Is(f.Err, errStopped) {
					m.noMoreTakingBack(e)
				}
				answered(false, f.Err)
				return
			}
			mail := f.Value.(*api.Email)
			if mail != nil {
				m.emailKnown(e, mail, true)
			}
			answered(mail != nil, nil)
		},
	})
}

// SendNow tries a message now, whatever it waits for, and answers its question with yes.
func (m *Mail) SendNow(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(id); e != nil {
		m.sendNow(e)
	}
}

func (m *Mail) sendNow(e *entry) {
	if e.busy() || e.look != "" || e.taken {
		return
	}
	if e.Ask == AskSendAgain || e.stuck(m.now()) {
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		e.AgainWanted = true
		if e.State == EntryAccepted {
			e.Why = ""
		}
		m.saveEntry(e, nil)
		if m.owner {
			m.sendAgain(e)
		}
		return
	}
	switch e.State {
	case EntryQueued, EntryHeld, EntryWaiting, EntryUnknown:
	default:
		return
	}
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	if e.Ask == AskOverdue { // its bytes name a time that has passed: a new message without it
		m.send(e.Draft, SendOptions{}, e)
		return
	}
	if e.Ask == AskTryAgain {
		e.Origin, e.FirstAttempt = m.opts.Origin, m.now()
	}
	e.Ask, e.Stopped, e.NextAt, e.Tries, e.SignIn, e.poked = AskNothing, false, time.Time{}, 0, false, 0
	e.TooLate, e.kept = false, false // a wish to take it back stays: the answer to this try names the message
	if e.State == EntryHeld {
		e.State = EntryQueued
		if e.attempted() {
			e.State = EntryUnknown
		}
	}
	if m.owner {
		m.limitedUntil = time.Time{}
		m.try(e)
		return
	}
	m.saveEntry(e, nil)
}

// Hold keeps a message from being tried until the person says so. During an attempt it becomes unknown instead.
func (m *Mail) Hold(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil || e.Ask == AskSendAgain {
		return
	}
	if c := m.calls[e.call]; c != nil {
		m.stopCall(c)
		return
	}
	if e.claiming {
		e.holdWanted = true
		return
	}
	if m.hold(e) {
		m.saveEntry(e, nil)
	}
}

func (m *Mail) hold(e *entry) bool {
	switch e.State {
	case EntryQueued, EntryWaiting, EntryUnknown:
		e.State, e.Why = EntryHeld, "held by you"
		if e.attempted() {
			e.State, e.Stopped, e.Why = EntryUnknown, true, "stopped; it may already have been accepted"
		}
		m.noMoreTakingBack(e)
		return true
	}
	return false
}

// Drop throws a message away, where that is free. One whose fate is unknown is looked for first.
func (m *Mail) Drop(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil {
		return
	}
	switch {
	case e.free() || e.State == EntrySent && !e.busy() || e.Ask == AskSendAgain && !e.busy():
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		m.dropEntry(e, func(err error) {
			switch {
			case err == nil:
				m.replaceResult(Notice{Kind: NoticeResult, Text: "Dropped " + quoted(e.Subject)})
			case errors.Is(err, errTaken):
				m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not dropped: another teapost changed " + quoted(e.Subject) + " meanwhile"})
			}
		})
	case e.State == EntryUnknown || e.State == EntryWaiting:
		m.askBeforeEdit(e)
	}
}

// TakeBack keeps a message from arriving, as far as that is still possible.
func (m *Mail) TakeBack(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(id); e != nil && e.canTakeBack(m.now()) {
		m.takeBack(e)
	}
}

func (m *Mail) takeBack(e *entry) {
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	e.mine = true
	switch {
	case e.State == EntrySaving:
		e.CancelWanted = true
	case !e.attempted() && !e.busy():
		m.dropBack(e)
	default:
		// Accepted, it is cancelled. Else an attempt is open or unanswered: the answer names the message first.
		e.CancelWanted, e.Stopped, e.NextAt, e.Ask = true, false, time.Time{}, AskNothing
		m.saveEntry(e, func(err error) { m.takeBackKept(e, err) })
		m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "Taking back " + quoted(e.Subject)})
		m.pumpOutbox(m.now())
	}
}

// takeBackKept goes on with the wish to take a message back when the disk has it, or when another process was quicker.
func (m *Mail) takeBackKept(e *entry, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errTaken):
		m.takeBackLater(e)
	default: // it goes on all the same, but not over a restart
		m.afterAWhile(func() {
			if m.entry(e.ID) == e && e.CancelWanted {
				m.saveEntry(e, nil)
			}
		})
	}
}

// takeBackLater takes a message back as it stands once it is known what another process made of it.
func (m *Mail) takeBackLater(e *entry) {
	m.reloadThen(func() {
		have := m.entry(e.ID)
		switch {
		case have == nil || have.CancelWanted || have.State == EntryCancelled:
		case have.canTakeBack(m.now()):
			m.takeBack(have)
		default:
			have.TooLate = true
			m.addNotice(Notice{Kind: NoticeFailure, Entry: have.ID, Text: "Not known whether " + quoted(have.Subject) + " can still be taken back: another teapost is sending it"})
		}
	})
}

// dropBack takes back a message that was never tried.
func (m *Mail) dropBack(e *entry) {
	rec := m.reopened(e)
	m.removeEntry(e, m.putReopened(rec), func(err error) {
		switch {
		case err == nil:
			m.adoptReopened(rec)
			m.tookBack(e)
		case errors.Is(err, errTaken):
			m.takeBackLater(e)
		default:
			e.State, e.Why = EntryHeld, "it could not be put among the drafts: "+diskReason(err)
			m.heldNotice(e)
		}
	})
}

// cancelEmail cancels an accepted message whose id is known.
func (m *Mail) cancelEmail(e *entry) {
	if e.call != "" {
		return
	}
	id := e.EmailID
	e.call = m.start(want{
		op: "emails.cancel", title: "Taking back " + quoted(e.Subject), purpose: "cancel " + id, priority: api.Person, foreground: true,
		write: true, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Cancel(ctx, id) },
		done: func(f api.Final) {
			e.call = ""
			var ae *api.Error
			switch {
			case f.Err == nil:
				mail := f.Value.(*api.Email)
				if mail.Status != api.EmailCancelled { // it goes all the same, it seems; what became of it will show
					e.CancelWanted, e.TooLate = false, true
				}
				m.emailKnown(e, mail, false)
			case errors.Is(f.Err, context.Canceled) && !errors.Is(f.Err, errStopped):
				// The program ends; the next start goes on.
			case errors.As(f.Err, &ae) && ae.Status >= 400 && ae.Status < 500 && ae.Status != 408 && ae.Status != 429:
				e.CancelWanted, e.TooLate = false, true
				e.followAt = m.now()
				m.saveEntry(e, nil)
			default:
				e.CancelWanted, e.TooLate = false, true
				e.followAt = m.now().Add(2 * time.Second)
				m.saveEntry(e, nil)
				n := Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not known whether %s was taken back: %s", quoted(e.Subject), reason(f.Err))}
				m.addNoticeRetry(n, func() {
					if e.State == EntryAccepted {
						m.takeBack(e)
					}
				})
			}
		},
	})
}

// sendAgain has the server send a message once more to the recipients that may not have it. With the lock held, by the
// owner.
func (m *Mail) sendAgain(e *entry) {
	if e.call != "" {
		return
	}
	id, at := e.EmailID, m.now().Add(2*time.Second)
	e.call = m.start(want{
		op: "emails.reschedule", title: "Sending " + quoted(e.Subject) + " again", purpose: "again " + id, priority: api.Person, foreground: true,
		write: true, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Reschedule(ctx, id, at) },
		done: func(f api.Final) {
			e.call, e.AgainWanted = "", false
			if f.Err == nil {
				m.emailKnown(e, f.Value.(*api.Email), false)
				return
			}
			m.saveEntry(e, nil)
			// Of no entry, so that it stays when the answer below brings the question back.
			m.addNotice(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("Not sent again: %s · %s", quoted(e.Subject), reason(f.Err))})
			if f.Attempts > 0 { // it may have been understood all the same
				m.followEmail(e)
			}
		},
	})
}

// EditEntry opens the text of a message again and takes it out of the outbox, where that is free. One whose fate is
// unknown is looked for first: ok is false then, and when it was not found the entry asks [AskEditAsNew].
func (m *Mail) EditEntry(id EntryID) (d Draft, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil {
		return Draft{}, false
	}
	switch {
	case e.unsaved: // its text never left the drafts
		rec := m.drafts[e.Draft.ID]
		if rec == nil {
			return Draft{}, false
		}
		m.forget(e)
		return rec.Draft, true
	case e.Ask == AskEditAsNew:
		return Draft{}, false
	case e.free() && !m.owner && !e.kept && e.State != EntryFailed && e.State != EntryCancelled:
		m.keep(e)
		return Draft{}, false
	case e.free():
		return m.editAgain(e), true
	case e.State == EntryUnknown || e.State == EntryWaiting:
		m.askBeforeEdit(e)
	}
	return Draft{}, false
}

// keep holds a message that another process would send, so that it can be edited here.
func (m *Mail) keep(e *entry) {
	e.State, e.Why, e.claiming = EntryHeld, "held by you", true
	m.saveEntry(e, func(err error) {
		e.claiming, e.kept = false, err == nil
		if err != nil && !errors.Is(err, errTaken) {
			e.State, e.Why = EntryQueued, "" // as the disk has it
		}
		m.changed()
	})
}

// EditAsNew opens the text of a message whose fate is unknown as a new message, after the person was told that two may
// arrive. The old one is never tried again.
func (m *Mail) EditAsNew(id EntryID) (d Draft, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil || e.Ask != AskEditAsNew || !e.free() {
		return Draft{}, false
	}
	return m.editAgain(e), true
}

func (m *Mail) askBeforeEdit(e *entry) {
	if e.busy() || e.look != "" || e.Ask == AskSendAgain {
		return
	}
	state, stopped := e.State, e.Stopped
	e.State, e.Stopped = EntryUnknown, true
	m.lookUp(e, func(found bool, err error) {
		switch {
		case err != nil:
			if e.State == EntryUnknown {
				e.State, e.Stopped = state, stopped
			}
		case found:
			m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "It had arrived: " + quoted(e.Subject)})
		default:
			m.noMoreTakingBack(e)
			e.State, e.Stopped, e.Ask, e.Why = EntryUnknown, true, AskEditAsNew, "not found at the server, but it may still arrive"
			m.saveEntry(e, nil)
		}
	})
}

// adoptSending takes over the messages that a process was sending when it ended: only the owner sends, and this one does
// not send them.
func (m *Mail) adoptSending() {
	for _, e := range m.outbox {
		if e.State == EntrySending && !e.busy() && e.saving == 0 {
			e.State, e.Why, e.NextAt = EntryUnknown, "teapost ended while it was sent", time.Time{}
		}
	}
}

// adoptOutbox takes over the messages of a process that ended in the middle.
func (m *Mail) adoptOutbox() {
	waiting := 0
	m.adoptSending()
	for _, e := range m.outbox {
		m.deleteSentDraft(e)
		if by := e.LastTry.Sub(m.now()); by > time.Second { // the clock was set back meanwhile
			e.clockWentBack(by)
		}
		if e.busy() {
			continue
		}
		switch e.State {
		case EntryHeld:
			if e.SignIn {
				e.State, e.SignIn, e.Why = EntryQueued, false, ""
			}
		case EntryWaiting:
			if e.NetWait {
				e.NextAt = time.Time{}
			}
		}
		if e.live() && e.State != EntryAccepted {
			waiting++
		}
	}
	if waiting > 0 {
		m.addNotice(Notice{Kind: NoticeInfo, Text: plural(waiting, "message", "messages") + " in the outbox from last time"})
	}
}

func decodeEntry(doc []byte) (*entry, error) {
	e := &entry{}
	if err := json.Unmarshal(doc, e); err != nil {
		return nil, fmt.Errorf("a message of the outbox in state.db cannot be read: %w", err)
	}
	rev := e.Rev
	e.disk = &rev
	return e, nil
}

// recipients names who a message goes to: "Grace", "Grace and Lin", "Grace and 3 more".
func recipients(to []Address) string {
	name := func(a Address) string {
		if a.Name != "" {
			return a.Name
		}
		return a.Email
	}
	switch len(to) {
	case 0:
		return "nobody"
	case 1:
		return name(to[0])
	case 2:
		return name(to[0]) + " and " + name(to[1])
	}
	return fmt.Sprintf("%s and %d more", name(to[0]), len(to)-1)
}
