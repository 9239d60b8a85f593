//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each row is wrong usage or configuration: exit code 2, nothing on standard output, and a sentence with all the words.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	remote := func(url, key string) []string {
		return []string{"OPENEMAIL_BASE_URL=" + url, "OPENEMAIL_API_KEY=" + key}
	}
	nowhere := "http://" + closedPort(t)
	for _, tc := range []struct {
		name   string
		args   string
		env    []string
		config string
		says   []string
	}{
		{"unknown flag", "--bogus", nil, "", []string{"--bogus", "--help"}},
		{"unknown flag of a command", "compose --subjekt x", nil, "", []string{"--subjekt", "--help"}},
		{"unknown command", "bogus", nil, "", []string{`"bogus"`, "--help"}},
		{"unknown command of the outbox", "outbox bogus", nil, "", []string{"bogus", "--help"}},
		{"argument too many", "version extra", nil, "", []string{"teapost version", "extra", "--help"}},
		{"argument missing", "outbox drop", nil, "", []string{"teapost outbox drop ID", "--help"}},
		{"flag without its value", "compose --to", nil, "", []string{"--to"}},
		{"nothing to import", "import", nil, "", []string{"teapost import PATH"}},
		{"import of nothing", "import /no/such/mail", nil, "", []string{"/no/such/mail", "mbox", "Maildir"}},
		{"unknown outbox id", "outbox drop zzz", nil, "", []string{`"zzz"`, "outbox list"}},
		{"no terminal", "", nil, "", []string{"terminal", "compose --send"}},
		{"mailto without a terminal", "mailto:ada@example.com", nil, "", []string{"terminal"}},

		{"nobody to send to", "compose --send --subject x", nil, "", []string{"To", "nobody"}},
		{"malformed recipient", "compose --send --to nonsense", nil, "", []string{"To", "nonsense", "name@example.com"}},
		{"malformed copy", "compose --send --to a@example.com --cc b@", nil, "", []string{"Cc", "b@", "name@example.com"}},
		{"malformed sender", "compose --send --to a@example.com --from me", nil, "", []string{"From", "me", "name@example.com"}},
		{"malformed recipient, nothing known of the account", "compose --send --to nonsense", remote(nowhere, testKey), "", []string{"To", "nonsense"}},

		{"configuration that is not there", "--config /no/such.toml keys", nil, "", []string{"--config", "/no/such.toml", "check the path"}},
		{"configuration that is a folder", "--config . keys", nil, "", []string{"not a file", "--config"}},
		{"no TOML", "keys", nil, "this is [ not", []string{"config.toml:1:6", "toml.io"}},
		{"unknown key", "keys", nil, "[ui]\nthem = 'dark'\n", []string{"config.toml:2:1", "ui.them", "allowed", "theme"}},
		{"unknown key, any command", "outbox list", nil, "bogus = 1", []string{"config.toml:1:1", "bogus", "allowed", "accounts"}},
		{"bad value", "keys", nil, "[ui]\ntheme = 'pink'\n", []string{"config.toml:2:1", "ui.theme", "auto", "dark", "light"}},
		{"unknown account", "--account nobody outbox list", nil, "", []string{"nobody", "--account"}},
		{"preset in the file", "keys", nil, "[keys]\npreset = 'emacs'\n", []string{"config.toml:2:1", `"emacs"`, "default", "gmail", "mutt", "aerc"}},
		{"preset by flag", "keys --preset emacs", nil, "", []string{"--preset", `"emacs"`, "default", "gmail", "mutt", "aerc"}},
		{"two actions on one key", "keys", nil, "[keys.threads]\narchive = ['#']\n", []string{"config.toml", "#", "archive", "trash"}},
		{"unknown action", "keys", nil, "[keys.threads]\nfly = ['F']\n", []string{"config.toml", "fly"}},
		{"unknown screen", "keys", nil, "[keys.moon]\narchive = ['F']\n", []string{"config.toml", "moon"}},
		{"unknown key name", "keys", nil, "[keys.threads]\narchive = ['hyper+e']\n", []string{"config.toml", "hyper+e"}},

		{"base URL that is none", "outbox list", remote("https://[::1", testKey), "", []string{"OPENEMAIL_BASE_URL", "https://api.openemail.uk"}},
		{"base URL of another kind", "outbox list", remote("ftp://example.com", testKey), "", []string{"OPENEMAIL_BASE_URL", "ftp", "https://"}},
		{"base URL with a password", "outbox list", remote("https://u:secretword@example.com", testKey), "", []string{"OPENEMAIL_BASE_URL", "@"}},
		{"base URL with a port that is none", "outbox list", remote("https://example.com:99999", testKey), "", []string{"OPENEMAIL_BASE_URL", "port"}},
		{"plain http to another host", "outbox list", remote("http://mail.example.com", testKey), "", []string{"OPENEMAIL_BASE_URL", "plain http", "https://mail.example.com"}},
		{"plain http by flag", "--base-url http://mail.example.com outbox list", []string{"OPENEMAIL_API_KEY=" + testKey}, "", []string{"--base-url", "https://mail.example.com"}},
		{"plain http in the file", "outbox list", nil, "[accounts.w]\nbase_url = 'http://mail.example.com'\napi_key_file = 'k'\n", []string{"config.toml:2:1", "accounts.w.base_url", "https://mail.example.com"}},
		{"base URL without a key", "outbox list", []string{"OPENEMAIL_BASE_URL=" + nowhere}, "", []string{"OPENEMAIL_API_KEY"}},
		{"malformed API key", "outbox list", remote(nowhere, "secretword"), "", []string{"OPENEMAIL_API_KEY", "oe_live_", "oe_test_"}},
		{"API key with a line end", "outbox list", remote(nowhere, "oe_test_a\nsecretword"), "", []string{"OPENEMAIL_API_KEY"}},

		{"serve to everybody", "serve --addr 0.0.0.0:1", nil, "", []string{"--addr", "0.0.0.0:1", "127.0.0.1"}},
		{"serve to another machine", "serve --addr 192.0.2.1:2222", nil, "", []string{"--addr", "127.0.0.1"}},
		{"serve on no port", "serve --addr 127.0.0.1:99999", nil, "", []string{"--addr", "99999", "127.0.0.1:2222"}},
		{"serve on nonsense", "serve --addr nonsense", nil, "", []string{"--addr", "nonsense"}},
		{"serve with a key that is not there", "serve --addr 127.0.0.1:0 --api-key-file /no/such/key", nil, "", []string{"--api-key-file", "/no/such/key"}},
		{"serve with a malformed key", "serve --addr 127.0.0.1:0", []string{"OPENEMAIL_API_KEY=secretword"}, "", []string{"OPENEMAIL_API_KEY", "oe_test_"}},
		{"log into no folder", "--log /no/such/folder/log outbox list", nil, "", []string{"--log", "/no/such/folder"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, tc.env...)
			if tc.config != "" {
				h.write("config/teapost/config.toml", tc.config)
			}
			r := h.run(strings.Fields(tc.args)...)
			if r.code != 2 {
				t.Errorf("exit code %d, want 2\n%s%s", r.code, r.out, r.err)
			}
			if r.out != "" {
				t.Errorf("standard output: %q", r.out)
			}
			for _, w := range tc.says {
				if !strings.Contains(r.err, w) {
					t.Errorf("the error does not say %q:\n%s", w, r.err)
				}
			}
			for _, w := range []string{"secretword", testKey, "panic", "goroutine", "%!"} {
				if strings.Contains(r.err, w) {
					t.Errorf("the error says %q:\n%s", w, r.err)
				}
			}
		})
	}
}

// What fails for a reason outside the command line has exit code 1 and names the file and the way out.
func TestFailures(t *testing.T) {
	t.Parallel()
	garbage := strings.Repeat("this is no database\n", 100)
	for _, tc := range []struct {
		name string
		make func(h *home) (names string)
		args string
		says []string
	}{
		{"mail.db is garbage", func(h *home) string { return h.write("data/teapost/mail.db", garbage) }, "outbox list", []string{"damaged", "backup", "nothing was changed"}},
		{"mail.db is garbage, serve", func(h *home) string { return h.write("data/teapost/mail.db", garbage) }, "serve --addr 127.0.0.1:0", []string{"damaged", "backup"}},
		{"mail.db is damaged within", func(h *home) string {
			h.write("one.eml", "From: a@example.com\nTo: b@example.com\nSubject: one\n\nText.\n")
			h.must("import", "one.eml")
			return spoil(h, "data/teapost/mail.db")
		}, "outbox list", []string{"damaged", "backup"}},
		{"state.db is garbage", func(h *home) string {
			h.must("outbox", "list")
			return h.write("state/teapost/local-sample/state.db", garbage)
		}, "outbox list", []string{"unsent messages and drafts", "aside"}},
		{"state.db is garbage, compose", func(h *home) string {
			h.must("outbox", "list")
			return h.write("state/teapost/local-sample/state.db", garbage)
		}, "compose --send --to grace@example.org", []string{"unsent messages and drafts", "aside"}},
		{"the data folder is a file", func(h *home) string { return h.write("data", "") }, "outbox list", []string{"folder"}},
		{"the state folder is a file", func(h *home) string { return h.write("state", "") }, "outbox list", []string{"folder"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			file := tc.make(h)
			r := h.run(strings.Fields(tc.args)...)
			if r.code != 1 || r.out != "" {
				t.Errorf("exit code %d, want 1; standard output %q", r.code, r.out)
			}
			for _, w := range append(tc.says, file) {
				if !strings.Contains(r.err, w) {
					t.Errorf("the error does not say %q:\n%s", w, r.err)
				}
			}
			tt := h.open(80, 24) // the same on the screen: no frame, no trace, and a terminal that works
			if code := tt.ended(); code != 1 {
				t.Errorf("exit code %d on a terminal", code)
			}
			until(t, "the sentence on the terminal", func() bool { return strings.Contains(tt.written(), "teapost: ") })
			if strings.Contains(tt.written(), "goroutine") {
				t.Error(tt.written())
			}
			if d := h.run("doctor"); d.code != 1 || !strings.Contains(d.out, "BAD") || !strings.Contains(d.out, file) {
				t.Errorf("doctor: %+v", d)
			}
		})
	}
}

// spoil overwrites the middle pages of a database.
func spoil(h *home, name string) string {
	h.t.Helper()
	p := h.path(name)
	b, err := os.ReadFile(p)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 2048; i < len(b); i++ {
		b[i] = byte(i * 7)
	}
	if err := os.WriteFile(p, b, 0o600); err != nil {
		h.t.Fatal(err)
	}
	for _, rest := range []string{"-wal", "-shm"} {
		_ = os.Remove(p + rest) // they may not be there
	}
	return p
}

// The cache may be lost or broken at any time without a word.
func TestBrokenCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("outbox", "list")
	p := h.write("cache/teapost/local-sample/cache.db", strings.Repeat("no database ", 1000))
	h.must("outbox", "list")
	tt := h.open(80, 24)
	tt.see(`Welcome to teapost`)
	tt.quit()
	if err := os.RemoveAll(filepath.Dir(p)); err != nil {
		t.Fatal(err)
	}
	tt = h.open(80, 24)
	tt.see(`Welcome to teapost`)
	tt.quit()
}

func TestFoldersAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	tt := h.open(80, 24)
	tt.see(`Welcome to teapost`)
	tt.quit()
	n := 0
	for _, root := range []string{"data/teapost", "state/teapost", "cache/teapost"} {
		err := filepath.WalkDir(h.path(root), func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			n++
			if perm := info.Mode().Perm(); perm&0o077 != 0 {
				t.Errorf("%s has the mode %o", p, perm)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if n < 8 {
		t.Errorf("only %d files", n)
	}
}

// entry is one row of `teapost outbox list --json`.
type entry struct {
	ID, State, Subject, Why, EmailID string
	To                               []string
	Attempts                         int
	Until                            time.Time
}

func (h *home) outbox() []entry {
	h.t.Helper()
	var rows []entry
	if err := json.Unmarshal([]byte(h.must("outbox", "list", "--json")), &rows); err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// Exit code 3: nothing listens, the message is safe; when the server is there it goes, once.
func TestSendWithNothingListening(t *testing.T) {
	t.Parallel()
	addr := closedPort(t)
	h := account(t, "http://"+addr, testKey)
	r := h.runIn("The text.\n", "compose", "--send", "--from", "ada@example.com", "--to", "grace@example.org", "--subject", "Kept safe")
	if r.code != 3 || r.out != "" {
		t.Fatalf("exit code %d, want 3; %q %q", r.code, r.out, r.err)
	}
	for _, w := range []string{"connection refused", "Kept safe", "outbox", "teapost outbox send"} {
		if !strings.Contains(r.err, w) {
			t.Errorf("the sentence does not say %q: %s", w, r.err)
		}
	}
	rows := h.outbox()
	if len(rows) != 1 || rows[0].State != "waiting" || rows[0].Subject != "Kept safe" || rows[0].Attempts == 0 {
		t.Fatalf("outbox: %+v", rows)
	}
	if r := h.run("outbox", "send"); r.code != 3 || !strings.Contains(r.err, "connection refused") {
		t.Errorf("outbox send with nothing listening: %+v", r)
	}
	if r := h.runIn("The text.\n", "compose", "--send", "--from", "ada@example.com", "--to", "grace@example.org", "--subject", "Not meant"); r.code != 3 {
		t.Errorf("a second message: %+v", r)
	}
	for _, row := range h.outbox() {
		if row.Subject != "Not meant" {
			continue
		}
		if r := h.run("outbox", "drop", row.ID); r.code != 0 { // nothing of it can have left
			t.Errorf("drop of what never had a connection: %+v", r)
		}
	}
	s := newHome(t).serve(addr)
	if r := h.run("outbox", "send"); r.code != 0 || !regexp.MustCompile(`^\S+\n$`).MatchString(r.out) {
		t.Errorf("outbox send with the server there: %+v", r)
	}
	s.holds("Kept safe", 1)
	if r := h.run("outbox", "send"); r.code != 0 {
		t.Errorf("outbox send with nothing to send: %+v", r)
	}
	s.holds("Kept safe", 1)
	s.holds("Not meant", 0)
}

// The address to write from is not known, and nothing answers: the text is not lost.
func TestSendWithoutAKnownSender(t *testing.T) {
	t.Parallel()
	addr := closedPort(t)
	h := account(t, "http://"+addr, testKey)
	r := h.runIn("Precious text.\n", "compose", "--send", "--to", "grace@example.org", "--subject", "No sender")
	if r.code != 1 || !strings.Contains(r.err, "connection refused") || !strings.Contains(r.err, "drafts") || !strings.Contains(r.err, "--from") {
		t.Errorf("%+v", r)
	}
	s := newHome(t).serve(addr, "--sample")
	r = h.runIn("Text.\n", "compose", "--send", "--to", "grace@example.org", "--subject", "Sender asked for")
	if r.code != 0 {
		t.Errorf("%+v", r)
	}
	s.holds("Sender asked for", 1)
	tt := h.open(80, 24)
	tt.see(`Welcome to teapost`)
	tt.press("g", "d")
	tt.see(`No sender`)
	tt.press("g", "g", "enter")
	tt.see(`Precious text`)
	tt.kill()
}

// Success is exit code 0, and what a program may read is on standard output alone.
func TestSuccess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, args := range [][]string{{"version"}, {"keys"}, {"keys", "--preset", "mutt", "--json"}, {"outbox"}, {"outbox", "list", "--json"}, {"doctor"}, {"--help"}} {
		r := h.run(args...)
		if r.code != 0 || r.out == "" || r.err != "" {
			t.Errorf("teapost %q: %+v", args, r)
		}
	}
	r := h.runIn("Hello.\n", "compose", "--send", "--to", "grace@example.org", "--subject", "From a script")
	if r.code != 0 || !regexp.MustCompile(`^\S+\n$`).MatchString(r.out) || !strings.Contains(r.err, "did not leave this machine") {
		t.Errorf("compose --send: %+v", r)
	}
	if rows := h.outbox(); len(rows) != 1 || rows[0].State != "sent" || rows[0].EmailID+"\n" != r.out {
		t.Errorf("outbox: %+v", rows)
	}
	h.write("one.eml", "From: a@example.com\nTo: b@example.com\nSubject: one\nMessage-ID: <1@example.com>\n\nText.\n")
	if r := h.run("import", "one.eml"); r.code != 0 || !strings.Contains(r.out, "1 message imported") {
		t.Errorf("import: %+v", r)
	}
}
