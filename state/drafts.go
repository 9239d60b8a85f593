package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/clean"
)

const (
	diskAfter   = 300 * time.Millisecond // what is typed is on disk this long after the first key
	serverAfter = 3 * time.Second        // and at the server this long after the last one
	serverOwned = DraftID("server:")     // begins the local id of a draft that only the server has
)

// draftDoc is a draft as state.db keeps it.
type draftDoc struct {
	Draft  Draft  `json:"draft"`
	Rev    int64  `json:"rev"`
	Open   bool   `json:"open"`             // compose has it; still so at a start: the program died
	Saved  string `json:"saved"`            // the sum of the text that the server has
	Lost   bool   `json:"lost"`             // the answer to a save was lost
	Trying string `json:"try,omitempty"`    // the sum of the text of that save
	Editor string `json:"editor,omitempty"` // the sum of the text that an editor was given
}

// draftRecord is a draft in memory.
type draftRecord struct {
	draftDoc
	known    bool // the text is here; false: only the server's id
	stored   bool // it has a row in state.db
	sent     bool // it became a message of the outbox
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

// draftIndex is the server's list of drafts.
type draftIndex struct {
	ids      []string
	call     string
	wantedAt time.Time
}

func (d *draftDoc) saveState() SaveState {
	switch {
	case d.Lost:
		return SaveUnknown
	case d.Saved != "" && d.Saved == sum(d.Draft):
		return SaveServer
	}
	return SaveDisk
}

// savedAs is the state to show: while a save runs its answer is not lost yet.
func (rec *draftRecord) savedAs() SaveState {
	if rec.Lost && (rec.call != "" || rec.claiming) {
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

func (d Draft) empty() bool {
	return strings.TrimSpace(d.To+d.Cc+d.Bcc+d.Subject+d.Body) == "" && len(d.Files) == 0
}

// NewDraft makes an empty draft in memory; from is one of Identities, or empty for the first. Nothing is stored before
// the first [Mail.EditDraft].
func (m *Mail) NewDraft(from string) Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newDraft(from)
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
	if rec.Draft.empty() && rec.Draft.ServerID == "" {
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
	rec.sent = true // an answer that is still to come finds nothing to do
	m.state.write(func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM draft WHERE id = ?", string(id)); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM file WHERE draft = ?", string(id))
		return err
	}, m.logWrite("draft"))
	if rec.Draft.ServerID != "" {
		m.deleteServerDraft(rec.Draft.ServerID)
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
	rec.Draft, rec.Rev = d, m.nextRev(0)
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

// flushDrafts has everything typed written, at the end.
func (m *Mail) flushDrafts() {
	for _, rec := range m.drafts {
		if rec.mine && !rec.sent && (!rec.diskAt.IsZero() || rec.Open) {
			rec.Open = false
			m.writeDraft(rec)
		}
	}
}

func (m *Mail) tickDrafts(now time.Time) {
	for _, rec := range m.drafts {
		if rec.sent {
			continue
		}
		if !rec.diskAt.IsZero() && !now.Before(rec.diskAt) {
			m.writeDraft(rec)
		}
		if rec.call == "" && !rec.claiming && rec.stored && !rec.serverAt.IsZero() && !now.Before(rec.serverAt) && rec.diskAt.IsZero() {
			m.saveAtServer(rec)
		}
	}
}

func (m *Mail) dueDraft() time.Time {
	var due time.Time
	for _, rec := range m.drafts {
		if rec.sent {
			continue
		}
		due = sooner(due, rec.diskAt)
		if rec.call == "" && !rec.claiming && rec.stored && rec.diskAt.IsZero() {
			due = sooner(due, rec.serverAt)
		}
	}
	return due
}

// putDraft writes the row of a draft. What another process wrote there since this one knew it is kept as a draft of its own,
// so that nothing typed is lost.
func putDraft(tx *sql.Tx, id DraftID, was, rev int64, doc []byte) error {
	var there int64
	var other []byte
	err := tx.QueryRow("SELECT rev, doc FROM draft WHERE id = ?", string(id)).Scan(&there, &other)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && there != was {
		if err := keepOther(tx, other, doc); err != nil {
			return err
		}
	}
	_, err = tx.Exec("INSERT INTO draft(id, rev, doc) VALUES(?, ?, ?) ON CONFLICT(id) DO UPDATE SET rev = excluded.rev, doc = excluded.doc", string(id), rev, doc)
	return err
}

// keepOther stores the text of doc, with its attachments, under a new id when it is not that of mine.
func keepOther(tx *sql.Tx, doc, mine []byte) error {
	var d, own draftDoc
	if json.Unmarshal(doc, &d) != nil || json.Unmarshal(mine, &own) != nil || sum(d.Draft) == sum(own.Draft) || d.Draft.empty() {
		return nil
	}
	d = draftDoc{Draft: d.Draft, Rev: d.Rev}
	d.Draft.ID, d.Draft.ServerID = DraftID(newID()), ""
	files := d.Draft.Files
	d.Draft.Files = nil
	for _, f := range files {
		id := newID()
		if _, err := tx.Exec("INSERT INTO file(id, draft, bytes) SELECT ?, ?, bytes FROM file WHERE id = ?", id, string(d.Draft.ID), f.ID); err != nil {
			return err
		}
		f.ID = id
		d.Draft.Files = append(d.Draft.Files, f)
	}
	_, err := tx.Exec("INSERT INTO draft(id, rev, doc) VALUES(?, ?, ?)", string(d.Draft.ID), d.Rev, marshal(d))
	return err
}

func (m *Mail) writeDraft(rec *draftRecord) { m.writeDraftThen(rec, nil) }

// writeDraftThen writes a draft and has then, if any, run by the loop when it is on the disk or could not be.
func (m *Mail) writeDraftThen(rec *draftRecord, then func(error)) {
	rec.diskAt = time.Time{}
	rec.Rev = m.nextRev(rec.Rev)
	rec.saving++
	doc, rev, id, at := marshal(rec.draftDoc), rec.Rev, rec.Draft.ID, m.now()
	rec.stored = true
	m.state.write(func(tx *sql.Tx) error {
		return putDraft(tx, id, rec.disk.Load(), rev, doc)
	}, func(err error) {
		if err == nil {
			rec.disk.Store(rev)
		}
		m.post(func() {
			rec.saving--
			if then != nil {
				defer then(err)
			}
			if err != nil {
				m.log.Error("cannot write a draft", "error", err.Error())
				rec.status = DraftStatus{State: SaveFailed, At: rec.status.At, Problem: diskReason(err)}
				if rec.diskAt.IsZero() && !rec.sent {
					rec.diskAt = m.now().Add(2 * time.Second)
				}
				m.changed()
				return
			}
			if rec.diskAt.IsZero() && rec.Rev == rev {
				rec.status = DraftStatus{State: rec.savedAs(), At: at, Problem: rec.status.Problem}
			}
			m.changed()
		})
	})
	m.changed()
}

func draftInput(d Draft) api.DraftInput {
	list := func(s string) api.Opt[[]string] {
		out := []string{}
		for _, a := range parseAddresses(s) {
			out = append(out, formatAddress(a))
		}
		return api.Set(out)
	}
	in := api.DraftInput{
		To: list(d.To), Cc: list(d.Cc), Bcc: list(d.Bcc), Subject: api.Set(d.Subject), Text: api.Set(d.Body),
	}
	if d.From != "" {
		in.From = api.Set(d.From)
	}
	if d.ThreadID != "" {
		in.ThreadID = api.Set(string(d.ThreadID))
	}
	return in
}

// saveAtServer creates or updates the server's copy. One such call is in flight a draft; newer text waits for its
// answer. These calls may run only once: after a lost answer the server is asked what it has before anything else.
func (m *Mail) saveAtServer(rec *draftRecord) {
	if m.closing || m.opts.Passive || m.offline && m.now().Before(m.nextTry) || m.now().Before(m.limitedUntil) {
		rec.serverAt = m.now().Add(5 * time.Second)
		return
	}
	text := sum(rec.Draft)
	if rec.Lost {
		m.lookForDraft(rec)
		return
	}
	if rec.Saved == text || rec.Draft.empty() {
		rec.serverAt = time.Time{}
		return
	}
	rec.serverAt = time.Time{}
	// On disk before the call: after a crash in the middle nobody knows whether it ran.
	rec.Lost, rec.Trying, rec.claiming = true, text, true
	m.writeDraftThen(rec, func(err error) {
		rec.claiming = false
		if err != nil || rec.sent || m.closing {
			rec.Lost, rec.Trying = false, ""
			rec.serverAt = m.now().Add(serverAfter)
			return
		}
		m.callSaveDraft(rec, text)
	})
}

func (m *Mail) callSaveDraft(rec *draftRecord, text string) {
	in, id, person := draftInput(rec.Draft), rec.Draft.ServerID, rec.asked
	rec.asked = false
	op := "drafts.create"
	if id != "" {
		op = "drafts.update"
	}
	rec.call = m.start(want{
		op: op, title: "Saving draft", purpose: "draft " + string(rec.Draft.ID), priority: api.Visible, foreground: person,
		write: true, resources: []string{"drafts"},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			if id != "" {
				return c.Drafts.Update(ctx, id, in)
			}
			return c.Drafts.Create(ctx, in)
		},
		done: func(f api.Final) { m.draftSaved(rec, text, f) },
	})
}

func (m *Mail) draftSaved(rec *draftRecord, text string, f api.Final) {
	rec.call = ""
	var ae *api.Error
	switch {
	case f.Err == nil:
		saved := f.Value.(*api.SavedDraft)
		if rec.sent {
			if saved.ID != "" {
				m.deleteServerDraft(saved.ID)
			}
			m.forgetDraft(rec)
			return
		}
		rec.Lost, rec.Trying, rec.tries = false, "", 0
		rec.status.Problem = ""
		if saved.ID != "" { // always go on with this id: it may differ
			if rec.Draft.ServerID == "" {
				rec.created = m.next()
				m.loadCounts()
			}
			rec.Draft.ServerID, rec.Saved = saved.ID, text
		} else {
			rec.status.Problem = "the server did not keep it"
		}
		if sum(rec.Draft) != text && rec.serverAt.IsZero() {
			rec.serverAt = m.now().Add(serverAfter)
		}
	case rec.sent:
		m.forgetDraft(rec)
		return
	case errors.As(f.Err, &ae) && ae.Status >= 400 && ae.Status < 500 && ae.Status != 408:
		rec.Lost, rec.Trying = false, ""
		rec.status.Problem = reason(f.Err)
		switch {
		case ae.Status == 404 && rec.Draft.ServerID != "":
			rec.Draft.ServerID, rec.Saved = "", "" // it was deleted elsewhere: what is here stays, as a new one
			rec.serverAt = m.now()
		case ae.Status == 429:
			rec.serverAt = m.limitedUntil
		}
	case f.Attempts == 0:
		rec.Lost, rec.Trying = false, ""
		rec.serverAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, rec.tries)))
		rec.tries++
	default:
		rec.status.Problem = reason(f.Err)
		rec.serverAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, rec.tries)))
		rec.tries++
		m.lostDraftNotice(rec)
	}
	m.writeDraft(rec)
}

func (m *Mail) lostDraftNotice(rec *draftRecord) {
	key := "draft " + string(rec.Draft.ID)
	m.removeNotices(func(n *notice) bool { return n.UndoTo == key })
	m.addNoticeRetry(Notice{
		Kind: NoticeInfo, RetryTo: "looks", UndoTo: key,
		Text: "Draft: answer lost, it may or may not be saved · kept here",
	}, func() {
		rec.serverAt, rec.tries = m.now(), 0
		m.wakeLoop()
	})
}

// lookForDraft finds out whether a save whose answer was lost arrived: under its id, else among the newest drafts.
func (m *Mail) lookForDraft(rec *draftRecord) {
	rec.serverAt = time.Time{}
	id, newest := rec.Draft.ServerID, rec.Draft
	known := m.serverDraftsOf(rec)
	run := func(ctx context.Context, c *api.Client) (any, error) { return findDraft(ctx, c, id, newest, known) }
	rec.call = m.start(want{op: "drafts.list", title: "Looking for a draft", purpose: "draft " + string(newest.ID), priority: api.Visible, run: run, done: func(f api.Final) {
		rec.call = ""
		if rec.sent {
			m.forgetDraft(rec)
			return
		}
		if f.Err != nil {
			rec.serverAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, rec.tries)))
			rec.tries++
			return
		}
		rec.Lost = false
		if found := f.Value.(foundDraft); found.id != "" {
			rec.Draft.ServerID = found.id
			if found.same {
				rec.Saved = sum(newest)
			}
		} else {
			rec.Draft.ServerID, rec.Saved = "", ""
		}
		rec.Trying, rec.tries, rec.status.Problem = "", 0, ""
		if rec.Saved != sum(rec.Draft) {
			rec.serverAt = m.now()
		}
		m.writeDraft(rec)
	}})
}

type foundDraft struct {
	id   string
	same bool // it holds the newest text
}

func findDraft(ctx context.Context, c *api.Client, id string, want Draft, known map[string]bool) (foundDraft, error) {
	if id != "" {
		d, err := c.Drafts.Get(ctx, id)
		if err == nil {
			return foundDraft{id: id, same: sameDraft(d, want)}, nil
		}
		if !errors.Is(err, api.ErrNotFound) {
			return foundDraft{}, err
		}
	}
	page, err := c.Drafts.List(ctx, api.DraftListParams{Limit: 10})
	if err != nil {
		return foundDraft{}, err
	}
	for _, s := range page.Items {
		if known[s.ID] {
			continue
		}
		d, err := c.Drafts.Get(ctx, s.ID)
		if err != nil {
			if errors.Is(err, api.ErrNotFound) {
				continue
			}
			return foundDraft{}, err
		}
		same := sameDraft(d, want)
		if same || d.Subject == want.Subject && want.Subject != "" && sameRecipients(d.To, want.To) && d.ThreadID == string(want.ThreadID) {
			return foundDraft{id: s.ID, same: same}, nil
		}
	}
	return foundDraft{}, nil
}

func sameDraft(d *api.Draft, want Draft) bool {
	return d.Subject == want.Subject && sameRecipients(d.To, want.To) &&
		squeeze(bodytext.FromHTML(d.HTML).Plain()) == squeeze(want.Body)
}

func sameRecipients(have []string, typed string) bool {
	want := parseAddresses(typed)
	if len(have) != len(want) {
		return false
	}
	for i, h := range have {
		if got := parseAddresses(h); len(got) != 1 || !strings.EqualFold(got[0].Email, want[i].Email) {
			return false
		}
	}
	return true
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// deleteServerDraft deletes a draft whose message was sent, or that was discarded. Once: if the answer is lost it may
// stay in the list of drafts, which a person sees.
func (m *Mail) deleteServerDraft(id string) { m.deleteServerDraftThen(id, func(bool) {}) }

// deleteServerDraftThen is deleteServerDraft; then hears whether a request was made.
func (m *Mail) deleteServerDraftThen(id string, then func(asked bool)) {
	if m.closing {
		then(false)
		return
	}
	for i, have := range m.draftIx.ids {
		if have == id {
			m.draftIx.ids = append(append([]string(nil), m.draftIx.ids[:i]...), m.draftIx.ids[i+1:]...)
			break
		}
	}
	if rec := m.drafts[serverOwned+DraftID(id)]; rec != nil && !rec.stored {
		m.forgetDraft(rec)
	}
	m.start(want{
		op: "drafts.delete", title: "Deleting a draft", purpose: "draft delete", priority: api.Background, write: true, resources: []string{"drafts"},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Drafts.Delete(ctx, id) },
		done: func(f api.Final) {
			then(f.Attempts > 0)
			m.loadCounts()
		},
	})
}

// serverDraftsOf are the server's copies of all drafts but that of rec, and of messages in the outbox.
func (m *Mail) serverDraftsOf(but *draftRecord) map[string]bool {
	own := map[string]bool{}
	for _, rec := range m.drafts {
		if rec != but {
			own[rec.Draft.ServerID] = true
		}
	}
	for _, e := range m.outbox {
		if e.live() || e.State == EntrySent {
			own[e.Draft.ServerID] = true
		}
	}
	delete(own, "")
	return own
}

// Drafts lists the drafts, the newest first: those here and those that only the server has.
func (m *Mail) Drafts() []DraftRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.draftIx.wantedAt.IsZero() || m.now().Sub(m.draftIx.wantedAt) > time.Minute
	m.draftIx.wantedAt = m.now()
	if first {
		m.loadDraftList()
	}
	var out []DraftRow
	for id, rec := range m.drafts {
		if rec.sent || rec.known && !rec.stored && rec.diskAt.IsZero() && rec.Draft.ServerID == "" {
			continue
		}
		out = append(out, DraftRow{
			ID: id, To: rec.Draft.To, Subject: rec.Draft.Subject, Snippet: snippet(rec.Draft.Body), UpdatedAt: rec.Draft.UpdatedAt,
			Files: len(rec.Draft.Files), Filled: rec.known, OnServer: rec.Draft.ServerID != "", Status: rec.status,
		})
	}
	place := map[DraftID]int{}
	for i, id := range m.draftIx.ids {
		place[serverOwned+DraftID(id)] = i
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if !a.UpdatedAt.Equal(b.UpdatedAt) {
			return a.UpdatedAt.After(b.UpdatedAt)
		}
		if place[a.ID] != place[b.ID] {
			return place[a.ID] < place[b.ID]
		}
		return a.ID < b.ID
	})
	return out
}

// draftCount is how many drafts there are when the server counted counted of them: it knows those that were never listed
// here, and not yet those that are only here.
func (m *Mail) draftCount(counted int) int {
	here, fresh := 0, 0
	for _, rec := range m.drafts {
		switch {
		case rec.sent:
		case rec.Draft.ServerID == "" && rec.known && !rec.stored:
		default:
			here++
			if rec.Draft.ServerID == "" && rec.known || rec.created > m.folders.countsSeq {
				fresh++
			}
		}
	}
	return max(here, counted+fresh)
}

func snippet(body string) string {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ">") {
			return line
		}
	}
	return ""
}

// loadDraftList asks which drafts the server has, when somebody looks at them.
func (m *Mail) loadDraftList() {
	if m.draftIx.call != "" || m.draftIx.wantedAt.IsZero() || m.closing || m.opts.Passive {
		return
	}
	m.draftIx.call = m.start(want{
		op: "drafts.list", title: "Loading drafts", purpose: "drafts", priority: api.Visible, key: "drafts", resources: []string{"drafts"},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Drafts.List(ctx, api.DraftListParams{Limit: pageSize})
		},
		done: func(f api.Final) {
			m.draftIx.call = ""
			if f.Err != nil {
				return
			}
			m.draftsListed(f.Value.(*api.Page[api.DraftSummary]))
		},
	})
}

func (m *Mail) draftsListed(page *api.Page[api.DraftSummary]) {
	m.draftIx.ids = nil
	listed := map[DraftID]bool{}
	for _, s := range page.Items {
		m.draftIx.ids = append(m.draftIx.ids, s.ID)
		id := serverOwned + DraftID(s.ID)
		if m.serverDraftsOf(m.drafts[id])[s.ID] { // it is here under another id, or in the outbox
			continue
		}
		listed[id] = true
		rec := m.drafts[id]
		if rec == nil {
			rec = &draftRecord{}
			rec.Draft = Draft{ID: id, ServerID: s.ID}
			m.drafts[id] = rec
		}
		if !rec.known && rec.call == "" {
			m.fetchDraft(rec, false)
		}
	}
	for id, rec := range m.drafts {
		if strings.HasPrefix(string(id), string(serverOwned)) && !listed[id] && !rec.stored && !page.HasMore {
			delete(m.drafts, id)
		}
	}
	m.changed()
}

// OpenDraft sees to it that the text of a draft is here and reports whether it is already; if not it comes, and
// [Mail.Draft] then has it.
func (m *Mail) OpenDraft(id DraftID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil {
		return false
	}
	if rec.known {
		m.tellElsewhere(rec)
		return true
	}
	if rec.call == "" {
		m.fetchDraft(rec, true)
	} else if c := m.calls[rec.call]; c != nil {
		c.Foreground = true
		m.async.Reprioritize(rec.call, api.Person)
	}
	return false
}

// tellElsewhere says which attachments of a draft are not here: the API does not give their bytes.
func (m *Mail) tellElsewhere(rec *draftRecord) {
	if files := rec.Draft.Elsewhere; len(files) > 0 {
		m.addNotice(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("%s has attachments that only the server has: %s · sent from here they do not go along, attach them again", quoted(rec.Draft.Subject), strings.Join(files, ", "))})
	}
}

func (m *Mail) fetchDraft(rec *draftRecord, person bool) {
	id := rec.Draft.ServerID
	prio := api.Background
	if person {
		prio = api.Person
	}
	rec.call = m.start(want{
		op: "drafts.get", title: "Loading draft", purpose: "drafts", priority: prio, foreground: person,
		many: func(n int) string { return fmt.Sprintf("Loading %d drafts", n) },
		key:  "draft/" + id, resources: []string{"drafts"},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Drafts.Get(ctx, id) },
		done: func(f api.Final) {
			rec.call = ""
			if f.Err != nil || rec.known {
				if person && f.Err != nil && !errors.Is(f.Err, context.Canceled) {
					m.addNotice(Notice{Kind: NoticeFailure, Text: failureText("Loading draft", f.Err)})
				}
				return
			}
			d := f.Value.(*api.Draft)
			rec.Draft = Draft{
				ID: rec.Draft.ID, ServerID: id, Kind: DraftNew, ThreadID: ThreadID(d.ThreadID), From: d.From,
				To: strings.Join(d.To, ", "), Cc: strings.Join(d.Cc, ", "), Bcc: strings.Join(d.Bcc, ", "),
				Subject: d.Subject, Body: bodytext.FromHTML(d.HTML).Plain(),
			}
			if d.ThreadID != "" {
				rec.Draft.Kind = DraftReply
			}
			for _, a := range d.Attachments {
				rec.Draft.Elsewhere = append(rec.Draft.Elsewhere, clean.Filename(a.Filename))
			}
			rec.known, rec.Saved = true, sum(rec.Draft)
			rec.status = DraftStatus{State: SaveServer}
			if person {
				m.tellElsewhere(rec)
			}
			m.changed()
		},
	})
}

// mergeDrafts takes over what other processes wrote. What is being written here stays: when it is written it gets its
// place, and the other text one of its own.
func (m *Mail) mergeDrafts(all []*draftDoc) {
	there := map[DraftID]bool{}
	for _, d := range all {
		there[d.Draft.ID] = true
		rec := m.drafts[d.Draft.ID]
		if rec == nil {
			rec = &draftRecord{}
			m.drafts[d.Draft.ID] = rec
		}
		if rec.saving > 0 || !rec.diskAt.IsZero() || rec.sent || rec.here() || d.Rev == rec.disk.Load() {
			continue
		}
		rec.draftDoc, rec.known, rec.stored = *d, true, true
		rec.disk.Store(d.Rev)
		rec.status = DraftStatus{State: d.saveState(), At: d.Draft.UpdatedAt}
	}
	for id, rec := range m.drafts { // sent or thrown away there
		if rec.stored && !there[id] && rec.saving == 0 && rec.diskAt.IsZero() && !rec.sent && !rec.here() && rec.call == "" && !rec.claiming {
			delete(m.drafts, id)
		}
	}
}

// EditorFile writes a draft's text to a file of its own for an editor, and gives its path. It blocks on the disk. The
// file is adopted by [Mail.AdoptEditorFile], or at the next start when the program died in between.
func (m *Mail) EditorFile(id DraftID) (string, error) {
	m.mu.Lock()
	rec := m.drafts[id]
	if rec == nil || !rec.known || rec.sent {
		m.mu.Unlock()
		return "", errors.New("there is no such draft")
	}
	body := rec.Draft.Body
	rec.Editor = sum(Draft{Body: body})
	m.writeDraft(rec)
	m.mu.Unlock()
	dir := filepath.Join(m.opts.StateDir, "editor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := editorPath(dir, id)
	return path, os.WriteFile(path, []byte(body), 0o600)
}

func editorPath(dir string, id DraftID) string {
	return filepath.Join(dir, strings.NewReplacer("/", "_", ":", "_").Replace(string(id))+".md")
}

// AdoptEditorFile reads the text back that the editor wrote. It blocks on the disk; the file goes once the text is safe.
func (m *Mail) AdoptEditorFile(id DraftID) (Draft, error) {
	path := editorPath(filepath.Join(m.opts.StateDir, "editor"), id)
	text, err := os.ReadFile(path)
	if err != nil {
		return Draft{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil {
		return Draft{}, errors.New("there is no such draft")
	}
	d := rec.Draft
	d.Body, rec.Editor = editorText(text), ""
	m.editDraft(d)
	m.writeEdited(rec, path)
	return rec.Draft, nil
}

func editorText(text []byte) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n"), "\n")
}

// writeEdited writes a draft whose text came from an editor, whose file goes when that is done.
func (m *Mail) writeEdited(rec *draftRecord, path string) {
	m.writeDraftThen(rec, func(err error) {
		if err != nil {
			return // written again, and the file is adopted at the next start
		}
		m.state.read(func(*sql.DB) error { return os.Remove(path) }, func(err error) {
			if err != nil {
				m.log.Warn("cannot remove what an editor wrote", "error", err.Error())
			}
		})
	})
}

// adoptDrafts takes over what was being written when the program last died, and has what the server lacks saved.
func (m *Mail) adoptDrafts() {
	m.adoptEditorFiles()
	for id, rec := range m.drafts {
		if rec.Open {
			m.recovered = append(m.recovered, id)
		}
		if rec.saveState() != SaveServer {
			rec.serverAt = m.now().Add(serverAfter)
		}
	}
}

// adoptEditorFiles takes over what an editor wrote when the program died under it.
func (m *Mail) adoptEditorFiles() {
	dir := filepath.Join(m.opts.StateDir, "editor")
	for id, rec := range maps.Clone(m.drafts) {
		path := editorPath(dir, id)
		info, err := os.Stat(path)
		if err != nil || rec.Editor == "" && !info.ModTime().After(rec.Draft.UpdatedAt) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue
		}
		body := editorText(text)
		switch rec.Editor {
		case sum(Draft{Body: rec.Draft.Body}), sum(Draft{Body: body}):
		default: // the draft went on without the editor: both texts stay
			d := rec.Draft
			d.ID, d.ServerID, d.Files = DraftID(newID()), "", nil
			rec = &draftRecord{known: true}
			rec.Draft = d
			m.drafts[d.ID] = rec
		}
		if rec.Editor != sum(Draft{Body: body}) {
			rec.Draft.Body, rec.Draft.UpdatedAt, rec.Open = body, info.ModTime(), true
		}
		rec.Editor = ""
		m.writeEdited(rec, path)
	}
}

// NewDraftID makes the id of a draft that is made outside of [Mail.NewDraft].
func NewDraftID() DraftID { return DraftID(newID()) }
