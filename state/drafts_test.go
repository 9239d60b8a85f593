package state

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// serverDrafts are the drafts that the server has, by id.
func (w *world) serverDrafts() map[string]string {
	w.t.Helper()
	page, err := w.client("oe_test_look").Drafts.List(context.Background(), apiDraftList)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range page.Items {
		d, err := w.client("oe_test_look").Drafts.Get(context.Background(), s.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		out[s.ID] = d.HTML
	}
	return out
}

func TestTypedTextIsOnDiskWithinASecond(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		d := w.draft("typed")
		w.mail.EditDraft(d)
		w.untilWithin(time.Second, "on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		// A process that dies now leaves the file as it is: another one reads it.
		o := w.options
		o.Passive = true
		other := w.openAs(o)
		got, ok := other.Draft(d.ID)
		if !ok || got.Body != d.Body || got.To != d.To {
			t.Errorf("another process reads %+v, %v", got, ok)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := other.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// The sidebar counts a new draft at once and once, wherever it is and whether or not the list was ever opened.
func TestDraftsAreCounted(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		count := func() int {
			for _, f := range w.mail.Folders() {
				if f.Role == RoleDrafts {
					return f.Count
				}
			}
			return -1
		}
		for _, subject := range []string{"elsewhere", "elsewhere too"} {
			if _, err := w.client("oe_test_look").Drafts.Create(context.Background(), api.DraftInput{Subject: api.Set(subject)}); err != nil {
				t.Fatal(err)
			}
		}
		w.mail.Refresh()
		w.until("two drafts", func() bool { return count() == 2 })
		d := w.draft("mine")
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		for range 600 {
			if n := count(); n != 3 {
				t.Fatalf("%d drafts with the one written here, save state %v", n, w.mail.DraftStatus(d.ID).State)
			}
			w.pass(100 * time.Millisecond)
		}
		if w.mail.DraftStatus(d.ID).State != SaveServer {
			t.Fatal("the test has not seen it saved")
		}
		w.mail.DiscardDraft(d.ID)
		w.until("two drafts again", func() bool { return count() == 2 })
	})
}

func TestScene8OneDraftWhileTyping(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("eight")
		for i := range 60 {
			d.Body += string(rune('a' + i%26))
			w.mail.EditDraft(d)
			w.pass(time.Second)
		}
		w.mail.CloseDraft(d.ID)
		w.until("at the server", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		drafts := w.serverDrafts()
		if len(drafts) != 1 {
			t.Fatalf("%d drafts at the server, want 1", len(drafts))
		}
		for _, html := range drafts {
			if !strings.Contains(html, "xyzabcdefgh") {
				t.Errorf("the server has %q, not the newest text", html)
			}
		}
	})
}

func TestScene10RefusedSaveThenRestart(t *testing.T) {
	inWorld(t, "POST /drafts: 503, ...", func(w *world) {
		d := w.draft("ten")
		w.mail.EditDraft(d)
		w.pass(20 * time.Second)
		d.Body = "the newest text"
		w.mail.EditDraft(d)
		w.restart()
		got, ok := w.mail.Draft(d.ID)
		if !ok || got.Body != "the newest text" {
			t.Errorf("after the start the draft is %+v, %v", got, ok)
		}
	})
}

func TestLostDraftIsLookedForNotRepeated(t *testing.T) {
	inWorld(t, "POST /drafts: reset:after, ok", func(w *world) {
		d := w.draft("lost")
		w.mail.EditDraft(d)
		w.until("told", func() bool { return w.hasNotice("answer lost") })
		if s := w.mail.DraftStatus(d.ID).State; s != SaveUnknown {
			t.Errorf("the state is %q, want unknown", s)
		}
		w.until("found", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		if n := w.player.Count(http.MethodPost, "/drafts"); n != 1 {
			t.Errorf("%d creates, want 1: the draft was there", n)
		}
		if n := len(w.serverDrafts()); n != 1 {
			t.Errorf("%d drafts, want 1", n)
		}
	})
}

func TestRunningSaveIsNotCalledLost(t *testing.T) {
	inWorld(t, "POST /drafts: delay:10s, ok", func(w *world) {
		d := w.draft("slow")
		w.mail.SaveDraft(d)
		w.until("the call runs", func() bool { return w.player.Count(http.MethodPost, "/drafts") == 1 })
		w.pass(time.Second)
		if s := w.mail.DraftStatus(d.ID).State; s != SaveDisk {
			t.Errorf("while the save runs the state is %q, want on disk", s)
		}
		w.until("saved", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
	})
}

func TestSentDraftGoesFromTheServer(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("sent")
		w.mail.SaveDraft(d)
		w.until("at the server", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		id := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(id, EntrySent)
		w.until("gone there", func() bool { return len(w.serverDrafts()) == 0 })
		if n := len(w.mail.Drafts()); n != 0 {
			t.Errorf("%d drafts still listed", n)
		}
	})
}

func TestDeadProcessLeavesADraftToGoOnWith(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("alive")
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State != SaveDirty })
		w.kill()
		w.open()
		got := w.mail.Recovered()
		if len(got) != 1 || got[0].Body != d.Body {
			t.Fatalf("offered %+v", got)
		}
		if again := w.mail.Recovered(); len(again) != 0 {
			t.Error("offered twice")
		}
	})
}

func TestEditorTextIsAdoptedAfterADeath(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("editor")
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State != SaveDirty })
		path, err := w.mail.EditorFile(d.ID)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the editor's file: %v, %v", info, err)
		}
		if err := os.WriteFile(path, []byte("written in the editor\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.kill()
		w.open()
		w.until("adopted", func() bool { got, _ := w.mail.Draft(d.ID); return got.Body == "written in the editor" })
	})
}

func TestAttachmentsTravel(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		path := t.TempDir() + "/tables.csv"
		if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := w.draft("with a file")
		w.mail.EditDraft(d)
		w.mail.Attach(d.ID, path)
		w.until("attached", func() bool { got, _ := w.mail.Draft(d.ID); return len(got.Files) == 1 })
		if err := os.Remove(path); err != nil { // its bytes are kept from the moment that it is attached
			t.Fatal(err)
		}
		d, _ = w.mail.Draft(d.ID)
		id := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(id, EntrySent)
		var body struct {
			Attachments []struct {
				Filename string `json:"filename"`
				Content  []byte `json:"content"`
			} `json:"attachments"`
		}
		if err := json.Unmarshal(w.sends()[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Attachments) != 1 || body.Attachments[0].Filename != "tables.csv" || string(body.Attachments[0].Content) != "a,b\n1,2\n" {
			t.Errorf("sent %+v", body.Attachments)
		}
		w.mail.Attach("nothing", "/does/not/exist")
		w.until("told", func() bool { return w.hasNotice("Could not attach exist") })
	})
}

func TestDraftThatAnswersAMessage(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		thread := w.arrive("Dinner?", "at seven")
		w.load()
		msg := w.mail.Thread(thread).Messages[0].ID
		if id, ok := w.mail.DraftAnswering(msg); ok {
			t.Fatalf("%s answers it before anybody wrote", id)
		}
		forward, err := w.mail.Forward(thread, msg)
		if err != nil {
			t.Fatal(err)
		}
		w.mail.EditDraft(forward)
		if id, ok := w.mail.DraftAnswering(msg); ok {
			t.Errorf("%s is a forward", id)
		}
		answer, err := w.mail.Reply(thread, msg, true)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body = "gladly" + answer.Body
		w.mail.EditDraft(answer)
		w.mail.CloseDraft(answer.ID)
		w.pass(time.Second)
		w.restart()
		if id, ok := w.mail.DraftAnswering(msg); !ok || id != answer.ID {
			t.Errorf("after a restart %q answers it, %v", id, ok)
		}
		entry := w.mail.Send(answer, SendOptions{Undo: -1})
		if id, ok := w.mail.DraftAnswering(msg); ok {
			t.Errorf("%s answers it, and is sent already", id)
		}
		w.untilState(entry, EntrySent)
	})
}
