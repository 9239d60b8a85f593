package state

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

const (
	diskAfter   = 300 * time.Millisecond // what is typed is on disk this long after the first key
	serverAfter = 3 * time.Second        // and at the server this long after the last one
	serverOwned = DraftID("server:")     // begins the local id of a draft that only the server has
)

// draftDoc is a draft as state.db keeps it.
type draftDoc struct {
	Draft  Draft    `json:"draft"`
	Rev    int64    `json:"rev"`
	Open   bool     `json:"open"`             // compose has it, in the process By; when that is dead: what it left
	By     string   `json:"by,omitempty"`     // see claim
	Saved  string   `json:"saved"`            // the sum of the text that the server has
	Lost   *saveTry `json:"try,omitempty"`    // a save that was begun and whose answer is not here
	Editor string   `json:"editor,omitempty"` // the sum of the text that an editor was given
}

// draftRecord is a draft in memory.
type draftRecord struct {
	draftDoc
	known    bool // the text is here; false: only the server's id
	stored   bool // it has a row in state.db
	sent     bool // it became a message of the outbox, or
	dropped  bool // was thrown away
	status   DraftStatus
	diskAt   time.Time // when it must be written; zero: it is
	serverAt time.Time // when it goes to the server; zero: nothing to do
	tries    int
	call     string
	asked    bool   // the person pressed save
	mine     bool   // edited in this process
	created  uint64 // when the server made it; counts that were asked for before do not hold it
	claiming bool   // the write that must be on disk before the save runs
	saving   int    // writes to the disk that have not ended

	disk atomic.Int64 // the revision on the disk, as far as this process knows
}

// here reports that somebody is writing it in this process.
func (rec *draftRecord) here() bool { return rec.mine && rec.Open }

func (d *draftDoc) saveState() SaveState {
	switch {
	case d.Lost != nil:
		return SaveUnknown
	case d.Saved != "" && d.Saved == sum(d.Draft):
		return SaveServer
	}
	return SaveDisk
}

// savedAs is the state to show: while a save runs its answer is not lost yet.
func (rec *draftRecord) savedAs() SaveState {
	if rec.Lost != nil && (rec.call != "" || rec.claiming) {
		return SaveDisk
	}
	return rec.saveState()
}

// sum identifies what of a draft the server keeps.
func sum(d Draft) string {
	h := sha256.New()
	for _, s := range []string{d.From, d.To, d.Cc, d.Bcc, d.Subject, d.Body, string(d.ThreadID)} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Empty reports that nothing in d is worth keeping: a signature alone is nothing.
func (d Draft) Empty() bool {
	own, _, _ := strings.Cut("\n"+d.Body, "\n"+SignatureMark+"\n")
	return strings.TrimSpace(d.To+d.Cc+d.Bcc+d.Subject+own) == "" && len(d.Files) == 0
}

// NewDraft makes a draft in memory with nothing but the signature; from is one of Identities, or empty for the first.
// Nothing is stored before the first [Mail.EditDraft].
func (m *Mail) NewDraft(from string) Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.newDraft(from)
	d.Body = m.signature()
	return d
}

func (m *Mail) newDraft(from string) Draft {
	if from == "" {
		if own := m.identities(); len(own) > 0 {
			from = formatAddress(own[0])
		}
	}
	return Draft{ID: DraftID(newID()), Kind: DraftNew, From: from}
}

// Draft is the newest text of a draft; ok is false while it is not here.
func (m *Mail) Draft(id DraftID) (Draft, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec := m.drafts[id]; rec != nil && rec.known && !rec.sent {
		return rec.Draft, true
	}
	return Draft{}, false
}

// DraftAnswering is the draft that answers a message, the newest when there are several; ok is false when there is none. A
// forward is no answer, and of a draft that another program made nobody knows which message it answers.
func (m *Mail) DraftAnswering(message string) (id DraftID, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var newest *draftRecord
	for _, rec := range m.drafts {
		d := rec.Draft
		if rec.sent || message == "" || d.MessageID != message || d.Kind != DraftReply && d.Kind != DraftReplyAll {
			continue
		}
		if newest == nil || d.UpdatedAt.After(newest.Draft.UpdatedAt) {
			newest = rec
		}
	}
	if newest == nil {
		return "", false
	}
	return newest.Draft.ID, true
}

// DraftStatus says how safe a draft is.
func (m *Mail) DraftStatus(id DraftID) DraftStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec := m.drafts[id]; rec != nil {
		return rec.status
	}
	return DraftStatus{}
}

// EditDraft keeps the newest text. It is on the disk within a second, whatever the server says. Files and ServerID are
// those that Mail knows, not the argument's.
func (m *Mail) EditDraft(d Draft) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.editDraft(d)
}

func (m *Mail) editDraft(d Draft) *draftRecord {
	rec := m.drafts[d.ID]
	if rec == nil {
		if m.serverDraftsOf(nil)[d.ServerID] { // the lost copy of another draft, which has it back by now
			d.ServerID = ""
		}
		rec = &draftRecord{known: true}
		rec.Draft = d
		m.drafts[d.ID] = rec
	}
	if rec.sent {
		return rec
	}
	d.Files, d.ServerID, d.Elsewhere = rec.Draft.Files, rec.Draft.ServerID, rec.Draft.Elsewhere
	now := m.now()
	changed := sum(d) != sum(rec.Draft)
	d.UpdatedAt = rec.Draft.UpdatedAt
	if changed || d.UpdatedAt.IsZero() {
		d.UpdatedAt = now
	}
	rec.Draft, rec.known, rec.Open, rec.mine = d, true, true, true
	if changed || !rec.stored {
		rec.status.State = SaveDirty
		if rec.diskAt.IsZero() {
			rec.diskAt = now.Add(diskAfter)
			m.wakeLoop()
		}
		rec.serverAt = now.Add(serverAfter)
	}
	m.changed()
	return rec
}

// wakeLoop makes the loop look at what is due.
func (m *Mail) wakeLoop() { m.box.signal() }

// SaveDraft stores a draft on the disk and at the server now, because the person asked.
func (m *Mail) SaveDraft(d Draft) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.editDraft(d)
	rec.diskAt, rec.asked, rec.tries = m.now(), true, 0
	if rec.Saved != sum(rec.Draft) {
		rec.serverAt = m.now()
	}
	m.wakeLoop()
}

// CloseDraft says that compose was left; the draft stays.
func (m *Mail) CloseDraft(id DraftID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil || rec.sent {
		return
	}
	rec.Open = false
	if rec.Draft.Empty() && rec.Draft.ServerID == "" {
		m.discard(id)
		return
	}
	if rec.stored || !rec.diskAt.IsZero() {
		rec.diskAt = m.now()
		if rec.Saved != sum(rec.Draft) {
			rec.serverAt = m.now()
		}
		m.wakeLoop()
	}
}

// DiscardDraft throws a draft away, here and at the server.
func (m *Mail) DiscardDraft(id DraftID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil {
		return
	}
	subject := rec.Draft.Subject
	m.discard(id)
	m.replaceResult(Notice{Kind: NoticeResult, Text: "Discarded " + quoted(subject)})
}

func (m *Mail) discard(id DraftID) {
	rec := m.drafts[id]
	m.forgetDraft(rec)
	rec.sent, rec.dropped = true, true // an answer that is still to come finds nothing to do
	m.state.write(func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM draft WHERE id = ?", string(id)); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM file WHERE draft = ?", string(id))
		return err
	}, m.logWrite("draft"))
	if rec.Draft.ServerID != "" {
		m.deleteServerDraft(rec.Draft.ServerID)
	} else if rec.call == "" {
		m.deleteLostDraft(rec.Lost, func() {})
	}
	m.changed()
}

// Recovered lists what was being written when the program last died. It is told once.
func (m *Mail) Recovered() []Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Draft
	for _, id := range m.recovered {
		if rec := m.drafts[id]; rec != nil && !rec.sent && !rec.mine {
			rec.Open = false
			m.writeDraft(rec)
			out = append(out, rec.Draft)
		}
	}
	m.recovered = nil
	sort.Slice(out, func(i, j int) bool { return out[i].UpdatedAt.After(out[j].UpdatedAt) })
	return out
}

// holdDraft keeps a draft from being saved while it becomes a message of the outbox.
func (m *Mail) holdDraft(id DraftID) {
	if rec := m.drafts[id]; rec != nil {
		rec.sent, rec.diskAt, rec.serverAt = true, time.Time{}, time.Time{}
	}
}

// draftSent forgets a draft that is in the outbox now.
func (m *Mail) draftSent(d Draft) {
	if rec := m.drafts[d.ID]; rec != nil && rec.call == "" {
		m.forgetDraft(rec)
	}
}

// forgetDraft takes a draft off the list, unless another one has its place.
func (m *Mail) forgetDraft(rec *draftRecord) {
	m.removals++
	if m.drafts[rec.Draft.ID] == rec {
		delete(m.drafts, rec.Draft.ID)
	}
}

// reopened makes a draft of a message that does not go. It is not among the drafts yet: see adoptReopened.
func (m *Mail) reopened(e *entry) *draftRecord {
	d := e.Draft
	if e.EmailID != "" { // the server's copy went when the message was accepted
		d.ServerID = ""
	}
	d.UpdatedAt = m.now()
	rec := &draftRecord{known: true, stored: true}
	if have := m.drafts[d.ID]; have != nil {
		if have.known && !have.sent && sum(have.Draft) != sum(d) {
			d.ID = DraftID(newID()) // somebody wrote on
		} else {
			rec.disk.Store(have.disk.Load())
		}
	}
	rec.Draft, rec.Rev, rec.Lost = d, m.nextRev(0), e.LostDraft
	rec.status = DraftStatus{State: SaveDisk, At: m.now()}
	rec.serverAt = m.now().Add(serverAfter)
	return rec
}

func (m *Mail) adoptReopened(rec *draftRecord) { m.drafts[rec.Draft.ID] = rec }

// putReopened writes such a draft as part of another transaction.
func (m *Mail) putReopened(rec *draftRecord) func(*sql.Tx) error {
	doc, rev, id := marshal(rec.draftDoc), rec.Rev, rec.Draft.ID
	return func(tx *sql.Tx) error {
		err := putDraft(tx, id, rec.disk.Load(), rev, doc)
		rec.disk.Store(rev)
		return err
	}
}

// NewDraftID makes the id of a draft that is made outside of [Mail.NewDraft].
func NewDraftID() DraftID { return DraftID(newID()) }
