package cases

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/local"
	"codeberg.org/teapost/teapost/state"
	"codeberg.org/teapost/teapost/ui"
)

// TestMain refuses every connection: nothing that a message holds may open one, and the mailbox needs none. It is
// also the program that links are opened with: it notes them in a file.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "opener" {
		f, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(f, os.Args[3])
		os.Exit(0)
	}
	refuse := func(context.Context, string, string) (net.Conn, error) {
		connections.Add(1)
		return nil, fmt.Errorf("a test opened a connection")
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.DialContext = refuse
	}
	os.Exit(m.Run())
}

var connections counter

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Add(n int) {
	c.mu.Lock()
	c.n += n
	c.mu.Unlock()
}

func (c *counter) Load() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// checks collects what a scene found wrong, one entry a row of a table: inside a bubble of virtual time no subtest can
// be started.
type checks struct {
	names []string
	found map[string][]string
}

// row returns the check of that name, and counts it as one subtest.
func (c *checks) row(name string) *check {
	if c.found == nil {
		c.found = map[string][]string{}
	}
	if _, ok := c.found[name]; !ok {
		c.names = append(c.names, name)
		c.found[name] = nil
	}
	return &check{c, name}
}

func (c *checks) report(t *testing.T) {
	t.Helper()
	for _, n := range c.names {
		t.Run(n, func(t *testing.T) {
			for _, e := range c.found[n] {
				t.Error(e)
			}
		})
	}
}

type check struct {
	all  *checks
	name string
}

func (c *check) Errorf(format string, args ...any) {
	if len(c.all.found[c.name]) >= 5 {
		return
	}
	c.all.found[c.name] = append(c.all.found[c.name], fmt.Sprintf(format, args...))
}

// has fails unless the text holds every part.
func (c *check) has(text string, parts ...string) {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			c.Errorf("lacks %q:\n%s", p, text)
		}
	}
}

// hasNot fails if the text holds one of the parts.
func (c *check) hasNot(text string, parts ...string) {
	for _, p := range parts {
		if strings.Contains(text, p) {
			c.Errorf("holds %q:\n%s", p, text)
		}
	}
}

// setup says in which mailbox a scene plays.
type setup struct {
	own    []string // own addresses; nil: grace@example.org
	now    time.Time
	zone   *time.Location // nil: UTC
	width  int            // of the window; 0: 80x24
	height int
	colors ui.Colors
	ascii  bool
	net    func(http.RoundTripper) http.RoundTripper
	title  string
}

// present is when the scenes play unless they say otherwise.
var present = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// world is one mailbox with its server, its state and its screens.
type world struct {
	*checks
	t      *testing.T
	dir    string
	setup  setup
	server *local.Server
	client *api.Client
	mail   *state.Mail
	model  tea.Model
	bar    *check // where a broken frame is reported

	mu    sync.Mutex
	queue []tea.Msg
	quit  bool

	outgoing [][]byte // what was sent to other people

	seen      map[string]bool // rows of frames that have been looked at
	seenWidth int
}

// inWorld plays a scene in virtual time and reports what it found.
func inWorld(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	if s.now.IsZero() {
		s.now = present
	}
	if s.own == nil {
		s.own = []string{"grace@example.org"}
	}
	if s.zone == nil {
		s.zone = time.UTC
	}
	if s.width == 0 {
		s.width, s.height = 80, 24
	}
	c := &checks{}
	dir := t.TempDir()
	before := connections.Load()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(s.now))
		w := &world{checks: c, t: t, dir: dir, setup: s}
		w.bar = w.row("frames")
		srv, err := local.Open(context.Background(), local.Options{
			Dir: filepath.Join(dir, "mail"), Addresses: s.own, Name: "Grace Hopper", Schedules: true,
			Reply: func(m local.Sent) []local.Incoming {
				w.outgoing = append(w.outgoing, m.Raw)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.server = srv
		defer w.close()
		f(w)
	})
	if n := connections.Load(); n != before {
		c.row("connections").Errorf("%d connections were opened", n-before)
	}
	c.report(t)
}

func (w *world) close() {
	if w.mail != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.mail.Close(ctx); err != nil {
			w.t.Error(err)
		}
	}
	if err := w.server.Close(); err != nil {
		w.t.Error(err)
	}
	time.Sleep(time.Hour) // lets the ticks of the screens end
}

// imports takes files in, as `teapost import` does.
func (w *world) imports(paths ...string) local.ImportReport {
	w.t.Helper()
	r, err := w.server.Import(context.Background(), paths, local.ImportOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// open opens the mail on the screen.
func (w *world) open() {
	w.t.Helper()
	w.openMail()
	w.model = w.screens()
	w.run(w.model.Init())
	w.size(w.setup.width, w.setup.height)
}

// openMail opens the state of the mail without a screen.
func (w *world) openMail() {
	w.t.Helper()
	transport := http.RoundTripper(w.server.Transport())
	if w.setup.net != nil {
		transport = w.setup.net(transport)
	}
	client, err := api.New(api.Options{BaseURL: "http://localhost", APIKey: "oe_test_cases", Transport: transport})
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = client
	var from []state.Address
	for _, own := range w.setup.own {
		from = append(from, state.Address{Email: own})
	}
	w.mail, err = state.Open(context.Background(), state.Options{
		Client: client, StateDir: filepath.Join(w.dir, "state"), CacheDir: filepath.Join(w.dir, "cache"), Origin: "test",
		From: from, Undo: -1, Poke: w.server.Changes(),
		Now: func() time.Time { return time.Now().In(w.setup.zone) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// screens are the real screens over the mail.
func (w *world) screens() tea.Model {
	w.t.Helper()
	keys, err := keymap.New("", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	title := w.setup.title
	if title == "" {
		title = w.setup.own[0]
	}
	return ui.New(ui.Options{
		Mail: w.mail, Keys: keys, Colors: w.setup.colors, ASCII: w.setup.ascii, Mouse: true, Account: title, Version: "test",
		Theme: "dark", Zone: w.setup.zone, DownloadDir: filepath.Join(w.dir, "saved"), Undo: -1,
		Opener: []string{os.Args[0], "opener", w.openedPath()},
		Copy:   func(string) error { return nil },
	})
}

func (w *world) openedPath() string { return filepath.Join(w.dir, "opened") }

// opened lists what was given to the system to open.
func (w *world) opened() []string {
	raw, err := os.ReadFile(w.openedPath())
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// run does what a command does, in the background as the program would.
func (w *world) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		w.mu.Lock()
		w.queue = append(w.queue, msg)
		w.mu.Unlock()
	}()
}

func (w *world) next() (tea.Msg, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, false
	}
	m := w.queue[0]
	w.queue = w.queue[1:]
	return m, true
}

// settle handles messages until nothing more happens without time passing.
func (w *world) settle() {
	for range 10_000 {
		synctest.Wait()
		msg, ok := w.next()
		if !ok {
			return
		}
		w.handle(msg)
	}
	w.t.Fatal("the screens never come to rest")
}

func (w *world) handle(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			w.run(c)
		}
	case tea.QuitMsg:
		w.quit = true
	default:
		var cmd tea.Cmd
		w.model, cmd = w.model.Update(msg)
		w.run(cmd)
		w.look()
	}
}

// send gives one message to the screens and waits for what follows from it.
func (w *world) send(msg tea.Msg) {
	w.handle(msg)
	w.settle()
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(50*time.Millisecond, time.Until(end)))
		w.settle()
	}
}

// until lets time pass until cond holds.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		w.settle()
		if cond() {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("after a minute still not: %s\n%s", what, w.frame())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *world) size(width, height int) {
	w.setup.width, w.setup.height = width, height
	w.send(tea.WindowSizeMsg{Width: width, Height: height})
}

// keys types: each word is a key by its name, or letters.
func (w *world) keys(list ...string) {
	for _, k := range list {
		w.send(keyMsg(k))
	}
}

// text types letters one by one, whatever they are.
func (w *world) text(s string) {
	for _, r := range s {
		if r == ' ' {
			w.send(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			continue
		}
		w.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
}

func keyMsg(k string) tea.KeyMsg {
	if k == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	for t := tea.KeyType(-200); t < 200; t++ {
		if t != tea.KeyRunes && t != tea.KeySpace && (tea.Key{Type: t}).String() == k {
			return tea.KeyMsg{Type: t}
		}
	}
	if rest, ok := strings.CutPrefix(k, "alt+"); ok {
		m := keyMsg(rest)
		m.Alt = true
		return m
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
}

// list waits until every row of the list is here and returns it.
func (w *world) list(v state.View) state.List {
	w.t.Helper()
	var l state.List
	w.until("the list is filled", func() bool {
		l = w.mail.List(v)
		for _, r := range l.Rows {
			if !r.Filled {
				return false
			}
		}
		return l.Known && !l.Loading
	})
	return l
}

var inbox = state.View{Folder: "inbox"}

// find is the row with that subject.
func (w *world) find(v state.View, subject string) (state.Row, bool) {
	w.t.Helper()
	for _, r := range w.list(v).Rows {
		if r.Subject == subject {
			return r, true
		}
	}
	return state.Row{}, false
}

// thread waits until a conversation is here.
func (w *world) thread(id state.ThreadID) state.Thread {
	w.t.Helper()
	w.mail.OpenThread(id)
	var th state.Thread
	w.until("the conversation is here", func() bool {
		th = w.mail.Thread(id)
		return th.Known && !th.Loading
	})
	return th
}

// read opens the conversation with the cursor and returns all of its text as it is drawn, whatever the window shows.
func (w *world) read() string {
	w.t.Helper()
	w.keys("enter")
	w.until("the conversation is drawn", func() bool {
		f := w.frame()
		return !strings.Contains(f, "Loading the conversation") && !strings.Contains(f, "Laying out a long message")
	})
	return w.frame()
}

// file is a case file.
func file(parts ...string) string { return filepath.Join(append([]string{"testdata"}, parts...)...) }

// table reads a tab-separated table; the first line names the columns.
func table(t *testing.T, path string) []map[string]string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	var out []map[string]string
	for _, l := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(strings.TrimSuffix(l, "\r"), "\t") {
			if i < len(names) {
				row[names[i]] = cell
			}
		}
		out = append(out, row)
	}
	return out
}

// write puts a file into the folder of the world.
func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// readBody reads the body of a request and puts it back.
func readBody(r *http.Request) string {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return string(raw)
}
