package state

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	AskedUntil   time.Time  `json:"askedUntil"` // the server asked not to be tried before
	NetWait      bool       `json:"netWait"`    // waits for a connection: any success lets it go
	SignIn       bool       `json:"signIn"`     // held until the credential is mended
	Stopped      bool       `json:"stopped"`    // the person stopped it: it does not go by itself
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
	LostDraft    *saveTry   `json:"lostDraft,omitempty"` // a save of its draft that was not answered before it was sent
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
	renewed            bool   // it went once more by itself with another credential; a second time only as the person says
	leaving            bool   // the server's draft of it is being deleted
	poked              int    // tries that were made because another call succeeded, in a row
}

// live reports that the message has not left yet, or needs the person.
func (e *entry) live() bool {
	return !e.unsaved && e.State != EntrySent && e.State != EntryCancelled
}

// attempted reports that an attempt may have arrived. Only certainty about all attempts takes that back: none of them had a
// connection, or there was one and it was refused with 401 or 403.
func (e *entry) attempted() bool { return !e.FirstAttempt.IsZero() }

func (e *entry) busy() bool { return e.call != "" || e.claiming }

// free reports that it may be edited or dropped without any doubt.
func (e *entry) free() bool {
	if e.busy() || e.look != "" || e.taken {
		return false
	}
	switch e.State {
	case EntryQueued, EntryHeld, EntryWaiting:
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
		return e.State == EntryWaiting && !e.attempted() || e.Window || !e.ScheduledAt.IsZero()
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
		Replayed: e.Replayed, TestMode: e.TestMode, AskedUntil: e.AskedUntil, Ask: e.Ask, TakingBack: e.CancelWanted, SettledAt: e.SettledAt,
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
	if rec := m.drafts[d.ID]; rec != nil && d.ServerID == "" {
		e.LostDraft = rec.Lost
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
	return max(prev, m.now().UnixNano()) + 1 + rand.Int64N(1<<20) // not a secret
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
