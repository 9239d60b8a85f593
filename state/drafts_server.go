package state

import (
	"context"
	"errors"
	"strings"
	"time"

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
