package state

import (
	"bufio"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

var apiDraftList = api.DraftListParams{Limit: 100}

// kill ends the mailbox as kill -9 does: what is on the disk stays as it is.
func (w *world) kill() {
	w.t.Helper()
	m := w.mail
	m.mu.Lock()
	for _, rec := range m.drafts { // what Close would still write
		rec.mine = false
	}
	m.mu.Unlock()
	w.close()
}

func emails(list string) []string {
	var out []string
	for _, a := range parseAddresses(list) {
		out = append(out, strings.ToLower(a.Email))
	}
	sort.Strings(out)
	return out
}

func TestReplyRecipients(t *testing.T) {
	f, err := os.Open("testdata/recipients.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	for lines.Scan() {
		c := strings.Split(lines.Text(), "\t")
		for len(c) < 11 {
			c = append(c, "")
		}
		t.Run(c[0], func(t *testing.T) {
			var own []Address
			for _, a := range strings.Split(c[1], ", ") {
				own = append(own, Address{Email: a})
			}
			m := &Mail{opts: Options{From: own}}
			apiList := func(s string) []api.Address {
				var out []api.Address
				for _, a := range parseAddresses(s) {
					out = append(out, api.Address{Name: a.Name, Email: a.Email})
				}
				return out
			}
			msg := &api.Message{From: apiList(c[2])[0], ReplyTo: apiList(c[3]), To: apiList(c[4]), Cc: apiList(c[5])}
			to, cc := m.recipientsOf(msg, c[6] == "reply all")
			if got := m.answerFrom(msg).Email; got != c[7] {
				t.Errorf("from %s, want %s", got, c[7])
			}
			// Where the others of To end up is free: see the remark of row 2.
			got := emails(formatAddresses(append(append([]Address(nil), to...), cc...)))
			want := emails(c[8] + ", " + c[9])
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("goes to %v and %v, want %v", to, cc, want)
			}
			if len(to) == 0 || !strings.EqualFold(to[0].Email, emails(c[8])[0]) {
				t.Errorf("to %v, want %s first", to, c[8])
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string][]Address{
		"":                                  nil,
		"ada@example.com":                   {{Email: "ada@example.com"}},
		"Ada <ada@example.com>, b@c.d":      {{"Ada", "ada@example.com"}, {Email: "b@c.d"}},
		`"Byron, Ada" <ada@example.com>`:    {{"Byron, Ada", "ada@example.com"}},
		"a@b.c; d@e.f\ng@h.i,":              {{Email: "a@b.c"}, {Email: "d@e.f"}, {Email: "g@h.i"}},
		"half, a@b.c":                       {{Email: "a@b.c"}},
		"Jörg Müller <jörg@müller.example>": {{"Jörg Müller", "jörg@müller.example"}},
		"grace+tea@example.org":             {{Email: "grace+tea@example.org"}},
	} {
		got := parseAddresses(in)
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", in, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", in, got, want)
			}
		}
		for _, a := range got {
			if back := parseAddresses(formatAddress(a)); len(back) != 1 || back[0] != a {
				t.Errorf("%v is written as %q and read as %v", a, formatAddress(a), back)
			}
		}
	}
	for _, bad := range []string{"ada", "ada@", "@b.c", "a b@c.d", "a@b c", "a@b..c", "a@-b.c", "a@b.c\x1b[31m", "<a@b.c"} {
		if a, err := parseAddress(bad); err == nil {
			t.Errorf("%q is taken for the address %v", bad, a)
		}
	}
}

func TestMailto(t *testing.T) {
	d, err := Mailto("mailto:ada@example.com,b%40c.d?subject=Hi%20there&cc=x@y.z&bcc=secret@example.org&body=line%0D%0Atwo&attach=/etc/passwd&from=evil@example.org&x=y")
	if err != nil {
		t.Fatal(err)
	}
	if d.To != "ada@example.com,b@c.d" || d.Cc != "x@y.z" || d.Bcc != "secret@example.org" || d.Subject != "Hi there" || d.Body != "line\ntwo" {
		t.Errorf("%+v", d)
	}
	if len(d.Files) != 0 || d.From != "" {
		t.Errorf("attach or from were taken: %+v", d)
	}
	if d, err := Mailto("mailto:a@b.c?subject=a%0D%0ABcc:%20x@y.z%1b[31m"); err != nil || strings.ContainsAny(d.Subject, "\r\n\x1b") {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{"http://a", "mailto:%zz", "ada@example.com"} {
		if _, err := Mailto(bad); err == nil {
			t.Errorf("%q is taken for a mailto: address", bad)
		}
	}
}

// A signature stands below the line that mail programs know it by, in an answer below what is quoted, in a forward above
// what is forwarded; and the server then adds none.
func TestSignature(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		w.options.Signature = "Ada\nLondon\n"
		w.open()
		id := w.arrive("Plan", "first line")
		w.load()
		w.mail.OpenThread(id)
		w.until("read", func() bool { return w.mail.Thread(id).Known })
		d, err := w.mail.Reply(id, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(d.Body, "\n\nOn ") || !strings.HasSuffix(d.Body, "\n> first line\n\n\n-- \nAda\nLondon\n") {
			t.Errorf("answer %q", d.Body)
		}
		f, err := w.mail.Forward(id, "")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(f.Body, "\n\n-- \nAda\nLondon\n\n\n---------- Forwarded") {
			t.Errorf("forward %q", f.Body)
		}
		n := w.mail.NewDraft("")
		if n.Body != "\n\n-- \nAda\nLondon\n" || !n.Empty() {
			t.Errorf("new message %q, worth keeping: %v", n.Body, !n.Empty())
		}
		n.Body = "Hello" + n.Body
		if n.Empty() {
			t.Error("a text above the signature is worth keeping")
		}
		n.To = "grace@example.org"
		for text, want := range map[string]bool{
			n.Body: true, f.Body: true, "Hello -- \nAda": false,
			"Look\n\n---------- Forwarded message ----------\nFrom: Grace\n\nHi\n-- \nGrace\n": false,
		} {
			n.Body = text
			body, err := sendBody(n, nil, "e1", 0, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(body), `"signature":false`); got != want {
				t.Errorf("%q: the server is told to add no signature: %v", text, got)
			}
		}
	})
}

func TestReplyQuotesCleanedText(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Plan", "first line\n\nsecond \x1b[31mline\x1b[0m")
		w.load()
		w.mail.OpenThread(id)
		w.until("read", func() bool { return w.mail.Thread(id).Known })
		msg := w.mail.Thread(id).Messages[0]
		d, err := w.mail.Reply(id, msg.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		if d.Subject != "Re: Plan" || d.To != "Grace Hall <grace@example.org>" || d.ThreadID != id || d.Kind != DraftReply {
			t.Errorf("%+v", d)
		}
		if !strings.Contains(d.Body, "Grace Hall wrote:\n> first line\n") || strings.Contains(d.Body, "\x1b") {
			t.Errorf("quoted %q", d.Body)
		}
		sent := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(sent, EntrySent)
		w.mail.Refresh()
		w.until("the answer is in its thread", func() bool { return len(w.mail.Thread(id).Messages) == 2 })
		f, err := w.mail.Forward(id, msg.ID)
		if err != nil {
			t.Fatal(err)
		}
		if f.Subject != "Fwd: Plan" || f.To != "" || !strings.Contains(f.Body, "From: Grace Hall <grace@example.org>\n") || !strings.Contains(f.Body, "first line") {
			t.Errorf("forward %+v", f)
		}
	})
}
