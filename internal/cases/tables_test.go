package cases

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestSearches(t *testing.T) {
	rows := table(t, file("search", "queries.tsv"))
	inWorld(t, setup{}, func(w *world) {
		if r := w.imports(file("search", "mailbox.mbox")); r.Imported != 7 {
			w.row("import").Errorf("%s", r)
		}
		w.open()
		w.list(inbox)
		for _, row := range rows {
			c := w.row(row["query"])
			w.search(row["query"])
			v := state.View{Query: row["query"]}
			l := w.list(v)
			want := row["subjects that must be found"]
			if want == "" {
				if l.Problem != "" && strings.Contains(l.Problem, "500") {
					c.Errorf("the server says %q", l.Problem)
				}
				continue
			}
			found := false
			for i, r := range l.Rows {
				found = found || i < 3 && r.Subject == want
			}
			if !found {
				c.Errorf("%q is not among the first three of %d: %s", want, len(l.Rows), w.frame())
			}
			f := w.frame()
			c.has(f, "Search “"+row["query"]+"”", strings.Fields(want)[0])
		}
	})
}

func TestSnoozeTimes(t *testing.T) {
	for _, row := range table(t, file("snooze", "times.tsv")) {
		name := row["zone"] + " " + row["now (local)"] + " " + row["typed"]
		zone, err := time.LoadLocation(row["zone"])
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, row["now (UTC)"])
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			sent := &bodies{path: "/snooze"}
			inWorld(t, setup{now: now, zone: zone, net: sent.watch}, func(w *world) {
				c := w.row("shown")
				w.imports(file("headers", "missing-date.eml"), file("search", "mailbox.mbox"))
				w.open()
				w.list(inbox)
				before := len(w.list(inbox).Rows)
				w.keys("b")
				w.text(row["typed"])
				picker := w.frame()
				w.keys("enter")
				w.settle()
				if row["wakeAt sent"] == "-" {
					w.pass(500 * time.Millisecond)
					if got := sent.take(); len(got) != 0 {
						c.Errorf("sent %q", got)
					}
					c.has(w.frame(), "try “fri 9”", "enter snoozes")
					if len(w.list(inbox).Rows) != before {
						c.Errorf("the row is gone:\n%s", w.frame())
					}
					return
				}
				// The picker shows the local time before it is sent.
				local := strings.Fields(row["wakes (local)"])
				c.has(picker, local[2])
				w.until("the time is sent", func() bool { return len(sent.list()) > 0 })
				got := sent.take()
				a, b := `"`+row["wakeAt sent"]+`"`, `"`+row["also right"]+`"`
				if len(got) != 1 || !strings.Contains(got[0], a) && (row["also right"] == "" || !strings.Contains(got[0], b)) {
					c.Errorf("sent %q, want %s %s", got, a, b)
				}
				w.pass(500 * time.Millisecond)
				if n := len(w.list(inbox).Rows); n != before-1 {
					c.Errorf("%d rows in the inbox after the snooze of one of %d", n, before)
				}
			})
		})
	}
}

// bodies notes the bodies of the requests whose path ends so.
type bodies struct {
	path string
	mu   sync.Mutex
	seen []string
}

func (b *bodies) list() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.seen...)
}

func (b *bodies) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.seen
	b.seen = nil
	return out
}

func (b *bodies) watch(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, b.path) && r.Body != nil {
			raw := readBody(r)
			b.mu.Lock()
			b.seen = append(b.seen, raw)
			b.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRecipients(t *testing.T) {
	for _, row := range table(t, file("replies", "recipients.tsv")) {
		t.Run(row["no"], func(t *testing.T) {
			inWorld(t, setup{own: strings.Split(row["own addresses"], ", ")}, func(w *world) {
				c := w.row("shown")
				raw := "From: " + row["From"] + "\r\nSubject: Case\r\nMessage-ID: <m@example.com>\r\nDate: Tue, 03 Mar 2026 09:30:00 +0000\r\n"
				for _, h := range []string{"Reply-To", "To", "Cc"} {
					if row[h] != "" {
						raw += h + ": " + row[h] + "\r\n"
					}
				}
				w.write("message.eml", raw+"\r\nbody\r\n")
				w.imports(w.dir + "/message.eml")
				w.open()
				if l := w.list(inbox); len(l.Rows) != 1 {
					c.Errorf("%d rows in the inbox", len(l.Rows))
					return
				}
				th := w.thread(w.list(inbox).Rows[0].ID)
				d, err := w.mail.Reply(th.Row.ID, "", row["key"] == "reply all")
				if err != nil {
					c.Errorf("%v", err)
				}
				same(c, "To", d.To, row["To of the answer"], d.Cc, row["Cc of the answer"])
				if a, err := state.ParseAddress(d.From); err != nil || a.Email != row["From of the answer"] {
					c.Errorf("from %q, want %q", d.From, row["From of the answer"])
				}
				// The same by the key, on the screen.
				w.keys("enter")
				w.keys(map[string]string{"reply": "r", "reply all": "a"}[row["key"]])
				f := w.frame()
				for _, a := range strings.Split(row["To of the answer"], ", ") {
					if i := strings.IndexByte(a, '<'); i >= 0 {
						a = strings.Trim(a[i:], "<>")
					}
					if strings.Contains(a, "@") {
						c.has(f, strings.TrimSuffix(a, `"`))
					}
				}
				c.has(f, "Re: Case", row["From of the answer"])
			})
		})
	}
}

// same compares lists of addresses; those of others that stood in To may stay there.
func same(c *check, what, to, wantTo, cc, wantCc string) {
	set := func(s string) map[string]bool {
		out := map[string]bool{}
		quoted := false
		for _, a := range strings.FieldsFunc(s, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return r == ',' && !quoted
		}) {
			if p, err := state.ParseAddress(a); err == nil {
				out[strings.ToLower(p.Email)] = true
			} else {
				c.Errorf("%q: %v", a, err)
			}
		}
		return out
	}
	gotTo, gotCc, to1, cc1 := set(to), set(cc), set(wantTo), set(wantCc)
	for a := range to1 {
		if !gotTo[a] {
			c.Errorf("%s %q, want %q", what, to, wantTo)
		}
	}
	for a := range cc1 {
		if !gotCc[a] && !gotTo[a] {
			c.Errorf("cc %q, want %q", cc, wantCc)
		}
	}
	if len(gotTo)+len(gotCc) != len(to1)+len(cc1) {
		c.Errorf("to %q, cc %q, want %q and %q", to, cc, wantTo, wantCc)
	}
}
