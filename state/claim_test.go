package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An owner that starts again leaves alone what another living teapost is writing; what a dead one left it offers.
func TestDraftThatIsOpenElsewhereIsNotRecovered(t *testing.T) {
	for name, dead := range map[string]bool{"the other lives": false, "the other died": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				o := w.options
				o.Watch = true // it must not become the owner meanwhile
				p := w.process(o)
				if !dead {
					defer w.end(p)
				}
				d := w.mustDraft(p.mail, "being written")
				p.mail.EditDraft(d)
				w.until("on the disk", func() bool { return p.mail.DraftStatus(d.ID).State != SaveDirty })
				path, err := p.mail.EditorFile(d.ID)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("half a sentence"), 0o600); err != nil { // the editor saves, and is still open
					t.Fatal(err)
				}
				w.pass(time.Second)
				if dead {
					w.die(p)
				}
				w.restart()
				if got := w.mail.Recovered(); (len(got) == 1) != dead {
					t.Errorf("%d drafts are offered as recovered", len(got))
				}
				w.pass(10 * time.Second)
				if _, err := os.Stat(path); (err != nil) != dead {
					t.Errorf("the editor's file: %v", err)
				}
				if n := w.player.Count("POST", "/drafts"); !dead && n > 1 {
					t.Errorf("%d drafts were made at the server", n)
				}
				w.restart()
				files, _ := filepath.Glob(filepath.Join(w.dir, "state", "open", "*"))
				if left := len(files); left != 1 && !dead || left != 0 && dead {
					t.Errorf("%d claims are left", left)
				}
			})
		})
	}
}

func TestViewedFileOfALivingProcessStays(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("With a file", "--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\n1,2\r\n--b--",
			"MIME-Version: 1.0\r\n", "Content-Type: multipart/mixed; boundary=b\r\n")
		w.load()
		o := w.options
		o.Watch = true
		p := w.process(o)
		p.mail.OpenThread(id)
		w.until("known", func() bool { return p.mail.Thread(id).Known })
		msg := p.mail.Thread(id).Messages[0]
		p.mail.ReadFile(id, msg.ID, msg.Attachments[0].AttachmentID)
		var path string
		w.until("opened", func() bool {
			if got, ok := p.mail.Opened(); ok {
				path = got
			}
			return path != ""
		})
		w.restart()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is being viewed: %v", err)
		}
		w.end(p)
		w.restart()
		if _, err := os.Stat(path); err == nil {
			t.Error("it was left behind")
		}
	})
}
