package state

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// lose saves a draft whose answer is lost, though it arrives.
func (w *world) lose(subject string) Draft {
	w.t.Helper()
	d := w.draft(subject)
	w.mail.SaveDraft(d)
	w.until("lost", func() bool { return w.mail.DraftStatus(d.ID).State == SaveUnknown })
	return d
}

// listed waits until the list of drafts was asked for and filled.
func (w *world) listed() {
	w.t.Helper()
	n := w.player.Count(http.MethodGet, "/drafts")
	w.mail.Drafts()
	w.until("listed", func() bool {
		for _, c := range w.mail.Status().Calls {
			if strings.HasPrefix(c.Op, "drafts.") {
				return false
			}
		}
		return w.player.Count(http.MethodGet, "/drafts") > n
	})
}

// A save whose answer was lost made one draft, whatever is seen or happens before it is looked for.
func TestLostDraftStaysOne(t *testing.T) {
	for name, between := range map[string]func(w *world){
		"nothing":                   func(*world) {},
		"the list of drafts":        (*world).listed,
		"a restart":                 (*world).restart,
		"the list and a restart":    func(w *world) { w.listed(); w.restart() },
		"a restart and the list":    func(w *world) { w.restart(); w.listed() },
		"a death, then the list":    func(w *world) { w.kill(); w.open(); w.mail.Recovered(); w.listed() },
		"the list was there before": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "POST /drafts: reset:after, ok", func(w *world) {
				if name == "the list was there before" {
					w.listed()
				}
				d := w.lose("lost")
				between(w)
				w.until("found", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
				w.pass(time.Minute)
				if n := w.player.Count(http.MethodPost, "/drafts"); n != 1 {
					t.Errorf("%d creates, want 1", n)
				}
				if rows := w.mail.Drafts(); len(rows) != 1 || rows[0].ID != d.ID {
					t.Errorf("the list of drafts is %+v", rows)
				}
				if n := len(w.serverDrafts()); n != 1 {
					t.Errorf("%d drafts at the server", n)
				}
			})
		})
	}
}

// A file from before saves were kept with what the server had: a save is the sum of its text.
func TestLostDraftOfAnOlderFile(t *testing.T) {
	inWorld(t, "POST /drafts: reset:after, ok", func(w *world) {
		d := w.lose("lost")
		w.close()
		db, err := sql.Open("sqlite", filepath.Join(w.dir, "state", "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("UPDATE draft SET doc = CAST(json_set(CAST(doc AS TEXT), '$.lost', json('true'), '$.try', ?) AS BLOB)", sum(d)); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		w.open()
		w.until("found", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		if n := w.player.Count(http.MethodPost, "/drafts"); n != 1 {
			t.Errorf("%d creates, want 1", n)
		}
	})
}

// What another device writes to the same person under the same subject is another draft.
func TestLostDraftIsNotThatOfAnotherDevice(t *testing.T) {
	inWorld(t, "POST /drafts: reset:after, ok", func(w *world) {
		d := w.lose("twins")
		theirs, err := w.client("oe_test_look").Drafts.Create(context.Background(), api.DraftInput{
			To: api.Set([]string{"grace@example.org"}), Subject: api.Set("twins"), Text: api.Set("from the other device"),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.listed()
		d.Body += "and more"
		w.mail.SaveDraft(d)
		w.until("saved", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		drafts := w.serverDrafts()
		if len(drafts) != 2 || !strings.Contains(drafts[theirs.ID], "from the other device") {
			t.Errorf("the server has %q, theirs is %s", drafts, theirs.ID)
		}
		if n := len(w.mail.Drafts()); n != 2 {
			t.Errorf("%d drafts are listed", n)
		}
	})
}

// Two drafts with one text, both lost, find a copy each.
func TestLostDraftsWithOneTextAreTwo(t *testing.T) {
	inWorld(t, "POST /drafts: reset:after, reset:after, ok", func(w *world) {
		a, b := w.lose("same"), w.lose("same")
		w.listed()
		w.until("found", func() bool {
			return w.mail.DraftStatus(a.ID).State == SaveServer && w.mail.DraftStatus(b.ID).State == SaveServer
		})
		a, _ = w.mail.Draft(a.ID)
		b, _ = w.mail.Draft(b.ID)
		if a.ServerID == b.ServerID || len(w.serverDrafts()) != 2 {
			t.Errorf("the copies are %s and %s of %v", a.ServerID, b.ServerID, w.serverDrafts())
		}
	})
}

// What a lost save left goes with the draft.
func TestLostDraftGoesWithItsDraft(t *testing.T) {
	for name, end := range map[string]func(w *world, d Draft){
		"sent": func(w *world, d Draft) { w.untilState(w.mail.Send(d, SendOptions{Undo: -1}), EntrySent) },
		"sent after a restart": func(w *world, d Draft) {
			w.restart()
			w.untilState(w.mail.Send(d, SendOptions{Undo: -1}), EntrySent)
		},
		"thrown away": func(w *world, d Draft) { w.mail.DiscardDraft(d.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "POST /drafts: reset:after, ok", func(w *world) {
				d := w.lose("lost and " + name)
				end(w, d)
				w.until("gone", func() bool { return len(w.serverDrafts()) == 0 })
				w.pass(2 * time.Minute)
				if n := len(w.serverDrafts()) + len(w.mail.Drafts()); n != 0 {
					t.Errorf("%d drafts are left", n)
				}
			})
		})
	}
}

// Taken back before it was found, it is looked for again, not made again.
func TestLostDraftOfAMessageTakenBack(t *testing.T) {
	inWorld(t, "POST /drafts: reset:after, ok\nPOST /emails: 422, ok", func(w *world) {
		d := w.lose("refused")
		id := w.mail.Send(d, SendOptions{})
		w.untilState(id, EntryFailed)
		d, ok := w.mail.EditEntry(id)
		if !ok {
			t.Fatal("a refused message cannot be edited")
		}
		w.mail.EditDraft(d)
		w.until("found", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		if n := w.player.Count(http.MethodPost, "/drafts"); n != 1 {
			t.Errorf("%d creates, want 1", n)
		}
	})
}
