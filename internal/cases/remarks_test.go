package cases

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

// TestRemarksOnDifficultMail holds what the index says in words.
func TestRemarksOnDifficultMail(t *testing.T) {
	dir := mailDir(t)
	for _, tt := range []struct {
		file string
		test func(s *shown, c *check)
	}{
		{"cs-2022jp-list.eml", func(s *shown, c *check) { c.has(s.reader, "同じ問題") }},
		{"cs-gb2312-rawhdr.eml", func(s *shown, c *check) { c.has(s.reader, "台湾鑫龙商贸集团公司 <1234@e34.com>") }},
		{"dt-swedish.eml", func(s *shown, c *check) {
			if got := s.messages[0].ReceivedAt.UTC().Format(time.RFC3339); got != "1999-05-26T09:00:34Z" {
				c.Errorf("dated %s", got)
			}
		}},
		{"dt-3609.eml", func(s *shown, c *check) { c.has(s.reader, "scanned for viruses") }},
		{"dt-iso.eml", func(s *shown, c *check) {
			s.w.keys("esc")
			s.w.search("creme fraiche")
			if _, ok := s.w.find(state.View{Query: "creme fraiche"}, "search accents"); !ok {
				c.Errorf("creme fraiche does not find it")
			}
		}},
		{"ew-recursed.eml", func(s *shown, c *check) {
			for _, to := range s.messages[0].To {
				c.hasNot(to.Name, "\n", "\r")
			}
		}},
		{"hd-two-authors.eml", func(s *shown, c *check) {
			d, err := s.w.mail.Reply(s.row.ID, "", false)
			if err != nil || !strings.HasPrefix(d.To, "reply-to@example.com") {
				c.Errorf("the answer goes to %q, %v", d.To, err)
			}
		}},
		{"bd-html-zerofont.eml", func(s *shown, c *check) {
			c.has(s.reader, "fish")
			c.hasNot(s.reader+s.row.Snippet, "file sharing", "ile sh")
		}},
		{"bd-html-datauri.eml", func(s *shown, c *check) { c.hasNot(s.reader+s.row.Snippet, "base64", "iVBOR", "data:image") }},
		{"mp-external.eml", func(s *shown, c *check) { c.has(s.reader, "My cynical mind suggests") }},
		{"iv-google.eml", func(s *shown, c *check) {
			c.has(s.reader, "Invitation: Test event ⏰", "Thu 11 Apr 2024 08:00–09:00 UTC")
		}},
		{"cr-pgp-signed.eml", func(s *shown, c *check) { c.has(s.reader, "<pm.bridge.qa@gmail.com>", "Alternative") }},
	} {
		t.Run(tt.file, func(t *testing.T) { show(t, filepath.Join(dir, tt.file), tt.test) })
	}
	t.Run("one thread by references with commas", func(t *testing.T) {
		inWorld(t, setup{}, func(w *world) {
			c := w.row("shown")
			w.imports(filepath.Join(dir, "hd-refs-comma.eml"))
			w.open()
			l := w.list(inbox)
			m := w.thread(l.Rows[0].ID).Messages[0]
			if len(m.References) < 2 {
				c.Errorf("references %q", m.References)
				return
			}
			for _, id := range m.References {
				w.write("parent.eml", "From: a@example.com\r\nSubject: the parent\r\nMessage-ID: <"+strings.Trim(id, "<>")+">\r\nDate: Mon, 01 Jul 2019 10:00:00 +0000\r\n\r\n"+id+"\r\n")
				w.imports(w.dir + "/parent.eml")
			}
			w.keys("ctrl+r")
			w.pass(3 * time.Second)
			if l := w.list(inbox); len(l.Rows) != 1 || l.Rows[0].Messages != 1+len(m.References) {
				c.Errorf("the parents did not join: %+v", l.Rows)
			}
		})
	})
}
