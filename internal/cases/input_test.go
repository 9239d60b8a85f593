package cases

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/state"
)

// terminal runs the real program over bytes as they come from a keyboard.
type terminal struct {
	w     *world
	keys  *io.PipeWriter
	prog  *tea.Program
	ended chan error

	mu   sync.Mutex
	view string
}

// recorder keeps the last frame of the program.
type recorder struct {
	tea.Model
	t *terminal
}

func (r recorder) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := r.Model.Update(msg)
	r.Model = m
	return r, cmd
}

func (r recorder) View() string {
	v := r.Model.View()
	r.t.mu.Lock()
	r.t.view = v
	r.t.mu.Unlock()
	return v
}

// terminal starts the program on the screens of the world.
func (w *world) terminal() *terminal {
	w.t.Helper()
	in, keys := io.Pipe()
	t := &terminal{w: w, keys: keys, ended: make(chan error, 1)}
	t.prog = tea.NewProgram(recorder{w.screens(), t}, tea.WithInput(in), tea.WithOutput(io.Discard), tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	go func() {
		_, err := t.prog.Run()
		t.ended <- err
	}()
	t.wait(100 * time.Millisecond)
	t.size(80, 24)
	for range 100 {
		if strings.Contains(t.frame(), "Order #4711") {
			break
		}
		t.wait(50 * time.Millisecond)
	}
	return t
}

func (t *terminal) size(width, height int) {
	t.prog.Send(tea.WindowSizeMsg{Width: width, Height: height})
	t.wait(50 * time.Millisecond)
}

// feed gives bytes that are read together.
func (t *terminal) feed(s string) {
	if _, err := io.WriteString(t.keys, s); err != nil {
		t.w.t.Error(err)
	}
	synctest.Wait()
}

// wait lets time pass.
func (t *terminal) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (t *terminal) frame() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bad := unsafe(t.view); bad != "" {
		t.w.bar.Errorf("%s: %q", bad, ansi.Strip(t.view))
	}
	return ansi.Strip(t.view)
}

func (t *terminal) stop() {
	t.prog.Kill()
	<-t.ended
	_ = t.keys.Close()
	t.wait(time.Minute)
}

func paste(s string) string { return "\x1b[200~" + s + "\x1b[201~" }

// inTerminal imports a few messages and runs the program on them.
func inTerminal(t *testing.T, f func(s *terminal, c *check)) {
	t.Helper()
	inWorld(t, setup{net: holding}, func(w *world) {
		w.imports(file("search", "mailbox.mbox"), file("threads", "same-subject.mbox"))
		w.openMail()
		s := w.terminal()
		defer s.stop()
		f(s, w.row("shown"))
	})
}

// drafted is what has been written.
func (t *terminal) drafted(c *check) state.Draft {
	t.wait(3 * time.Second)
	rows := t.w.mail.Drafts()
	if len(rows) != 1 {
		c.Errorf("%d drafts, want 1\n%s", len(rows), t.frame())
		return state.Draft{}
	}
	d, _ := t.w.mail.Draft(rows[0].ID)
	return d
}

func TestPasteTable(t *testing.T) {
	big := strings.Repeat("0123456789 abcdefghij\n", 200_000/22) + "the very end"
	tests := map[string]func(row map[string]string, s *terminal, c *check){
		"thread list": func(row map[string]string, s *terminal, c *check) {
			before := len(s.w.mail.List(inbox).Rows)
			s.feed(paste(unquote(row)))
			s.wait(2 * time.Second)
			if n := len(s.w.mail.List(inbox).Rows); n != before || len(s.ended) != 0 {
				c.Errorf("%d rows, were %d; ended: %d", n, before, len(s.ended))
			}
			c.has(s.frame(), "Inbox")
		},
		"search field": func(row map[string]string, s *terminal, c *check) {
			s.feed("/")
			s.feed(paste(unquote(row)))
			s.wait(time.Second)
			c.has(s.frame(), "foo bar", "enter searches")
			c.hasNot(s.frame(), "Search “foo")
		},
		"To field": func(row map[string]string, s *terminal, c *check) {
			s.feed("c")
			s.wait(100 * time.Millisecond)
			s.feed(paste(unquote(row)))
			s.wait(100 * time.Millisecond)
			s.feed(", joan@example.net")
			s.wait(100 * time.Millisecond)
			d := s.drafted(c)
			if strings.Join(strings.Fields(d.To), " ") != "ada@example.com, grace@example.org, joan@example.net" {
				c.Errorf("To is %q", d.To)
			}
		},
		"body": func(row map[string]string, s *terminal, c *check) {
			s.feed("c")
			s.wait(100 * time.Millisecond)
			s.feed("ada@example.com\t")
			s.wait(100 * time.Millisecond)
			for range 4 {
				if strings.Contains(s.frame(), "ubject") && s.inBody() {
					break
				}
				s.feed("\t")
				s.wait(60 * time.Millisecond)
			}
			want := ""
			switch row["no"] {
			case "4":
				s.feed(paste(unquote(row)))
				want = "line one\nline two\nline three\n"
			case "5":
				s.feed(paste(unquote(row)))
				want = "abcd"
			case "6":
				s.feed("\x1b[200~")
				for i := 0; i < len(big); i += 4096 {
					s.feed(big[i:min(i+4096, len(big))])
				}
				s.feed("\x1b[201~")
				s.wait(time.Second)
				c.has(s.frame(), "the very end")
				want = big
			case "7":
				s.feed("\x1b[200~text \x1b[201~ more\n#\x1b[201~")
				s.wait(time.Second)
				d := s.drafted(c)
				if !strings.HasPrefix(d.Body, "text ") {
					c.Errorf("the body is %q", d.Body)
				}
				c.has(s.frame(), "Subject")
				if e := s.w.mail.Outbox(); len(e) != 0 {
					c.Errorf("something was sent: %+v", e)
				}
				return
			case "8":
				whole := paste("Grüße 漢字 🙂 split over two reads")
				for cut := len("\x1b[200~"); cut < len(whole)-len("\x1b[201~"); cut += 5 {
					s.feed(whole[:cut])
					s.wait(5 * time.Millisecond)
					s.feed(whole[cut:])
					s.wait(100 * time.Millisecond)
					want += "Grüße 漢字 🙂 split over two reads"
				}
			}
			s.wait(time.Second)
			d := s.drafted(c)
			if got := d.Body; strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") {
				c.Errorf("the body has %d bytes, want %d: %.300q … %.100q", len(got), len(want), got, got[max(0, len(got)-100):])
			}
			if strings.ContainsRune(d.Body, '�') {
				c.Errorf("the body has a replacement character")
			}
		},
		"subject": func(row map[string]string, s *terminal, c *check) {
			s.feed("c")
			s.wait(100 * time.Millisecond)
			s.feed("ada@example.com\t")
			s.wait(100 * time.Millisecond)
			s.feed(paste(unquote(row)))
			s.wait(100 * time.Millisecond)
			if d := s.drafted(c); d.Subject != " indented" && d.Subject != "indented" || strings.ContainsAny(d.Body, "i") {
				c.Errorf("subject %q, body %q", d.Subject, d.Body)
			}
		},
	}
	for _, row := range table(t, file("input", "paste.tsv")) {
		t.Run(row["no"]+" "+row["where"], func(t *testing.T) {
			f := tests[row["where"]]
			if f == nil {
				t.Fatalf("no test for %q", row["where"])
			}
			inTerminal(t, func(s *terminal, c *check) { f(row, s, c) })
		})
	}
}

// inBody reports whether what is typed goes into the body.
func (t *terminal) inBody() bool {
	t.feed("@")
	t.wait(60 * time.Millisecond)
	frame := t.frame()
	t.feed("\x7f")
	t.wait(60 * time.Millisecond)
	_, body, ok := strings.Cut(frame, "───")
	return ok && strings.Contains(body, "@")
}

func unquote(row map[string]string) string {
	s := row["pasted (escapes as in C, inside the paste brackets)"]
	u, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		return fmt.Sprint(err)
	}
	return u
}

func TestKeyTable(t *testing.T) {
	tests := map[string]func(s *terminal, c *check){
		"1": func(s *terminal, c *check) { // escape and j apart
			s.feed("/")
			s.wait(60 * time.Millisecond)
			c.has(s.frame(), "Search the mail")
			s.feed("\x1b")
			s.wait(300 * time.Millisecond)
			c.hasNot(s.frame(), "Search the mail")
			before := cursorLine(s.frame())
			s.feed("j")
			s.wait(60 * time.Millisecond)
			if after := cursorLine(s.frame()); after == before || after == "" {
				c.Errorf("j did not move: %q", after)
			}
		},
		"2": func(s *terminal, c *check) { // an arrow in one piece
			before := cursorLine(s.frame())
			s.feed("j")
			s.wait(60 * time.Millisecond)
			s.feed("\x1b[A")
			s.wait(60 * time.Millisecond)
			if after := cursorLine(s.frame()); after != before {
				c.Errorf("up went to %q from below %q", after, before)
			}
		},
		"5": func(s *terminal, c *check) { // many sizes in 50 ms
			for _, size := range [][2]int{{120, 40}, {40, 12}, {120, 40}} {
				s.prog.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				time.Sleep(16 * time.Millisecond)
			}
			s.wait(100 * time.Millisecond)
			rows := strings.Split(s.frame(), "\n")
			if len(rows) != 40 || len(drawRow(rows[0], joining)) > 120 || len(drawRow(rows[0], joining)) < 100 {
				c.Errorf("%d rows, the first of %d cells", len(rows), len(drawRow(rows[0], joining)))
			}
		},
		"6": func(s *terminal, c *check) { // as small as it gets
			s.size(1, 1)
			s.size(80, 24)
			c.has(s.frame(), "Inbox", "move")
		},
		"7": func(s *terminal, c *check) { // ctrl+c in the middle of a send
			d := s.w.mail.NewDraft("")
			d.To, d.Subject, d.Body = "ada@example.com", "In the middle", "hello"
			hold.set(true)
			defer hold.set(false)
			id := s.w.mail.Send(d, state.SendOptions{Undo: -1})
			s.wait(time.Second)
			if e, _ := s.w.mail.Entry(id); e.State != state.EntrySending {
				c.Errorf("the entry is %s", e.State)
			}
			s.feed("\x03")
			s.wait(100 * time.Millisecond)
			c.has(s.frame(), "In the middle", "is being sent")
			if len(s.ended) != 0 {
				c.Errorf("it quit without a word")
			}
		},
	}
	for _, row := range table(t, file("input", "keys.tsv")) {
		t.Run(row["no"], func(t *testing.T) {
			f := tests[row["no"]]
			if f == nil {
				t.Skip("job control needs a real terminal: see internal/e2e")
			}
			inTerminal(t, f)
		})
	}
}

// hold keeps the answers of sends back while it is set.
var hold gate

type gate struct {
	mu sync.Mutex
	on bool
}

func (g *gate) set(on bool) {
	g.mu.Lock()
	g.on = on
	g.mu.Unlock()
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.on
}

func holding(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		for r.Method == http.MethodPost && r.URL.Path == "/emails" && hold.closed() {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		return resp, err
	})
}
