package state

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/clean"
)

// draftIndex is the server's list of drafts.
type draftIndex struct {
	ids      []string
	call     string
	wantedAt time.Time
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
	if m.draftIx.call != "" || m.draftIx.wantedAt.IsZero() || m.closing || m.opts.Passive || m.holdBack(false) {
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
	for _, rec := range m.drafts { // one of them may be what an unanswered save left
		if rec.Lost != nil && rec.call == "" && !rec.claiming {
			rec.serverAt = m.now()
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
