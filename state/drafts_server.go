package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
)

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
	if m.closing || m.opts.Passive || m.offline && m.now().Before(m.nextTry) || m.quiet() {
		rec.serverAt = m.now().Add(5 * time.Second)
		return
	}
	text := sum(rec.Draft)
	if rec.Lost != nil {
		m.lookForDraft(rec)
		return
	}
	if rec.Saved == text || rec.Draft.Empty() {
		rec.serverAt = time.Time{}
		return
	}
	rec.serverAt = time.Time{}
	// On disk before the call: after a crash in the middle nobody knows whether it ran.
	rec.Lost, rec.claiming = m.newSaveTry(rec), true
	m.writeDraftThen(rec, func(err error) {
		rec.claiming = false
		if err != nil || rec.sent || m.closing {
			rec.Lost = nil
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
		op: op, title: "Saving draft", purpose: draftKey(rec.Draft.ID), priority: api.Visible, foreground: person,
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
		rec.Lost, rec.tries = nil, 0
		rec.status.Problem = ""
		if saved.ID != "" { // always go on with this id: it may differ
			if rec.Draft.ServerID == "" {
				rec.created = m.next()
				m.loadCounts()
			}
			m.hasCopy(rec, saved.ID)
			rec.Saved = text
		} else {
			rec.status.Problem = "the server did not keep it"
		}
		if sum(rec.Draft) != text && rec.serverAt.IsZero() {
			rec.serverAt = m.now().Add(serverAfter)
		}
	case rec.sent:
		m.forgetDraft(rec)
		if rec.dropped && rec.Draft.ServerID == "" && !notSent(f) {
			m.deleteLostDraft(rec.Lost, func() {})
		}
		return
	case errors.As(f.Err, &ae) && ae.Status >= 400 && ae.Status < 500 && ae.Status != 408:
		rec.Lost = nil
		rec.status.Problem = reason(f.Err)
		switch {
		case ae.Status == 404 && rec.Draft.ServerID != "":
			rec.Draft.ServerID, rec.Saved = "", "" // it was deleted elsewhere: what is here stays, as a new one
			rec.serverAt = m.now()
		case ae.Status == 429:
			rec.serverAt = m.limitedUntil
		}
	case notSent(f):
		rec.Lost = nil
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

// draftKey names the calls and the news about the saving of a draft.
func draftKey(id DraftID) string { return "draft " + string(id) }

func (m *Mail) lostDraftNotice(rec *draftRecord) {
	key := draftKey(rec.Draft.ID)
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
	id, lost := rec.Draft.ServerID, *rec.Lost
	taken := m.serverDraftsOf(rec)
	run := func(ctx context.Context, c *api.Client) (any, error) { return findDraft(ctx, c, id, lost, taken) }
	rec.call = m.start(want{op: "drafts.list", title: "Looking for a draft", purpose: draftKey(rec.Draft.ID), priority: api.Visible, run: run, done: func(f api.Final) {
		rec.call = ""
		if rec.sent {
			m.forgetDraft(rec)
			if rec.dropped && id == "" {
				m.deleteLostDraft(rec.Lost, func() {})
			}
			return
		}
		if f.Err != nil {
			rec.serverAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, rec.tries)))
			rec.tries++
			return
		}
		found := f.Value.(foundDraft)
		if m.serverDraftsOf(rec)[found.id] { // of two drafts with one text another one was quicker
			rec.serverAt = m.now()
			return
		}
		rec.Lost, rec.tries, rec.status.Problem = nil, 0, ""
		rec.Draft.ServerID, rec.Saved = "", ""
		if found.id != "" {
			m.hasCopy(rec, found.id)
			if found.shape == shape(rec.Draft) {
				rec.Saved = sum(rec.Draft)
			}
		}
		m.removeNotices(func(n *notice) bool { return n.UndoTo == draftKey(rec.Draft.ID) })
		m.loadCounts()
		if rec.Saved != sum(rec.Draft) {
			rec.serverAt = m.now()
		}
		m.writeDraft(rec)
	}})
}

// hasCopy notes the server's id of a draft. What the list of the server showed under it was this draft.
func (m *Mail) hasCopy(rec *draftRecord, id string) {
	rec.Draft.ServerID = id
	if listed := m.drafts[serverOwned+DraftID(id)]; listed != nil && listed != rec && listed.onlyListed() {
		listed.sent = true
		m.forgetDraft(listed)
	}
}

// onlyListed reports that a draft is known from the server's list alone: nobody wrote on it here.
func (rec *draftRecord) onlyListed() bool {
	return strings.HasPrefix(string(rec.Draft.ID), string(serverOwned)) && !rec.stored && !rec.mine
}

type foundDraft struct {
	id    string // empty: there is none
	shape string
}

// saveTry is a save at the server that was begun and whose answer is not here.
type saveTry struct {
	Shape string   `json:"shape"` // of what was to be saved
	Known []string `json:"known"` // the server's drafts from before, as far as they were known here

	sum string // all that files from before Shape and Known hold: the sum of the text
}

// UnmarshalJSON reads a save of either form.
func (t *saveTry) UnmarshalJSON(doc []byte) error {
	if len(doc) > 0 && doc[0] == '"' {
		return json.Unmarshal(doc, &t.sum)
	}
	type plain saveTry
	return json.Unmarshal(doc, (*plain)(t))
}

// decodeDraft reads a draft of state.db.
func decodeDraft(doc []byte) (*draftDoc, error) {
	d := &draftDoc{}
	if err := json.Unmarshal(doc, d); err != nil {
		return nil, fmt.Errorf("a draft in state.db cannot be read: %w", err)
	}
	if d.Lost != nil && d.Lost.sum != "" && d.Lost.sum == sum(d.Draft) {
		d.Lost.Shape = shape(d.Draft)
	}
	return d, nil
}

// newSaveTry is what must be on the disk before rec is saved at the server.
func (m *Mail) newSaveTry(rec *draftRecord) *saveTry {
	known := map[string]bool{}
	for _, id := range m.draftIx.ids {
		known[id] = true
	}
	for _, other := range m.drafts {
		known[other.Draft.ServerID] = true
	}
	maps.Copy(known, m.serverDraftsOf(rec))
	delete(known, "")
	return &saveTry{Shape: shape(rec.Draft), Known: slices.Sorted(maps.Keys(known))}
}

// findDraft looks for what a save left at the server: the draft with that id, else one with exactly its text that was not
// there before and is of no other draft here. Anything less alike may be what another device is writing.
func findDraft(ctx context.Context, c *api.Client, id string, lost saveTry, taken map[string]bool) (foundDraft, error) {
	if id != "" {
		d, err := c.Drafts.Get(ctx, id)
		if err == nil {
			return foundDraft{id, serverShape(d)}, nil
		}
		if !errors.Is(err, api.ErrNotFound) {
			return foundDraft{}, err
		}
	}
	page, err := c.Drafts.List(ctx, api.DraftListParams{Limit: 20})
	if err != nil {
		return foundDraft{}, err
	}
	for _, s := range page.Items {
		if taken[s.ID] || slices.Contains(lost.Known, s.ID) {
			continue
		}
		d, err := c.Drafts.Get(ctx, s.ID)
		if err != nil {
			if errors.Is(err, api.ErrNotFound) {
				continue
			}
			return foundDraft{}, err
		}
		if serverShape(d) == lost.Shape {
			return foundDraft{s.ID, lost.Shape}, nil
		}
	}
	return foundDraft{}, nil
}

// shape identifies what a draft says, however the server writes it down: as HTML, with its own blanks, quotes and marks.
func shape(d Draft) string { return shapeOf(d.To, d.Cc, d.Bcc, d.Subject, d.Body) }

func serverShape(d *api.Draft) string {
	list := func(s []string) string { return strings.Join(s, ", ") }
	return shapeOf(list(d.To), list(d.Cc), list(d.Bcc), d.Subject, bodytext.FromHTML(d.HTML).Plain())
}

func shapeOf(to, cc, bcc, subject, body string) string {
	h := sha256.New()
	for _, list := range []string{to, cc, bcc} {
		for _, a := range parseAddresses(list) {
			fmt.Fprintf(h, "%q ", strings.ToLower(a.Email))
		}
		fmt.Fprint(h, "\n")
	}
	fmt.Fprintf(h, "%q\n%q", squeeze(subject), strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) {
			return r
		}
		return -1
	}, body))
	return hex.EncodeToString(h.Sum(nil)[:12])
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

// deleteLostDraft deletes what a save whose answer was lost may have left of a draft that is no more; lost may be nil. then
// hears when the server was asked.
func (m *Mail) deleteLostDraft(lost *saveTry, then func()) {
	if lost == nil || m.closing {
		return
	}
	taken := m.serverDraftsOf(nil)
	m.start(want{
		op: "drafts.list", title: "Looking for a draft", purpose: "draft delete", priority: api.Background,
		run: func(ctx context.Context, c *api.Client) (any, error) { return findDraft(ctx, c, "", *lost, taken) },
		done: func(f api.Final) {
			if f.Err != nil {
				return
			}
			if id := f.Value.(foundDraft).id; id != "" && !m.serverDraftsOf(nil)[id] {
				m.deleteServerDraft(id)
			}
			then()
		},
	})
}

// serverDraftsOf are the server's copies of the drafts that are written here, but that of rec, and of messages in the outbox.
func (m *Mail) serverDraftsOf(but *draftRecord) map[string]bool {
	own := map[string]bool{}
	for _, rec := range m.drafts {
		if rec != but && !rec.onlyListed() {
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
