package ui

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a frame with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

var sizes = []struct {
	name          string
	width, height int
}{{"80x24", 80, 24}, {"140x40", 140, 40}, {"60x15", 60, 15}}

func TestFrames(t *testing.T) {
	now := newFake().now
	busy := func(m *fakeMail) {
		m.activity = []state.Call{
			{ID: "1", Title: "Send “Re: Compiler notes”", Phase: api.Started, Attempt: 1, Limit: 3, Began: now.Add(-1200 * time.Millisecond)},
			{ID: "2", Title: "Load inbox", Phase: api.Waiting, Attempt: 2, Limit: 3, Status: 503, Until: now.Add(800 * time.Millisecond), Began: now.Add(-2 * time.Second), Request: "req_7f3a"},
			{ID: "3", Op: "threads.snooze", Title: "Snooze “Nightly report”", Phase: api.Done, Attempt: 1, Limit: 3, Began: now.Add(-time.Second), Ended: now.Add(-760 * time.Millisecond)},
			{ID: "4", Title: "Save draft", Phase: api.GaveUp, Began: now.Add(-time.Minute), Ended: now, Note: "answer lost: it may be saved", CanRetry: true},
			{ID: "5", Title: "Search “budget”", Phase: api.Cancelled, Stopped: true, Began: now.Add(-time.Minute), Ended: now},
		}
		m.status = state.Status{Calls: m.activity[1:2], Running: 2, Waiting: 1}
	}
	for _, size := range sizes {
		for _, scene := range []struct {
			name  string
			setup func(*fakeMail)
			keys  []string
		}{
			{"threads", nil, nil},
			{"selected", nil, []string{"x", "j", "x"}},
			{"reader", nil, []string{"enter"}},
			{"headers", nil, []string{"enter", "H"}},
			{"invite", nil, []string{"j", "enter"}},
			{"folders", nil, []string{"g", "f", "j"}},
			{"pending", nil, []string{"g"}},
			{"help", nil, []string{"?"}},
			{"palette", nil, []string{"ctrl+k", "arch"}},
			{"search", nil, []string{"/", "budget"}},
			{"activity", busy, []string{"!", "j", "j", "enter"}},
			{"confirm", nil, []string{"D"}},
			{"loading", func(m *fakeMail) { clear(m.lists) }, nil},
			{"empty", func(m *fakeMail) {
				l := m.lists[state.View{Folder: "inbox"}]
				l.Rows = nil
				m.lists[state.View{Folder: "inbox"}] = l
			}, nil},
		} {
			t.Run(scene.name+"-"+size.name, func(t *testing.T) {
				m := sampleMail()
				if scene.setup != nil {
					scene.setup(m)
				}
				s := startTest(t, m, size.width, size.height)
				s.keys(scene.keys...)
				golden(t, scene.name+"-"+size.name, s.frame())
			})
		}
	}
}

func TestEverySizeDraws(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"?"}, {"!"}, {"ctrl+k"}, {"/"}, {"D"}, {"b"}, {"l"}, {"c"}, {"g", "o"}, {"g", "d"}} {
		m := sampleMail()
		s := startTest(t, m, 80, 24)
		s.keys(keys...)
		for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 9}, {10, 3}, {24, 5}, {30, 8}, {40, 12}, {60, 15}, {109, 20}, {110, 20}, {200, 60}, {80, 24}} {
			s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			s.frame()
		}
	}
}

func TestASCIIFramesHoldNoOtherMarks(t *testing.T) {
	m := sampleMail()
	l := m.lists[state.View{Folder: "inbox"}]
	l.Rows = l.Rows[:4] // foreign text is shown as it is
	m.lists[state.View{Folder: "inbox"}] = l
	s := startTest(t, m, 80, 24, func(o *Options) { o.ASCII, o.Colors = true, ColorsNone })
	for _, keys := range [][]string{{"j"}, {"enter"}, {"esc", "?"}, {"esc", "!"}, {"esc", "ctrl+k"}} {
		s.keys(keys...)
		for _, r := range s.frame() {
			if r > 0x7e {
				t.Fatalf("%q in an ASCII frame after %v:\n%s", r, keys, s.frame())
			}
		}
	}
}

func TestLettersReadTogether(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("jjj")
	if s.app.threads.cursor != "t4" {
		t.Errorf("three times j from the first row goes to %s", s.app.threads.cursor)
	}
	s.keys("gg")
	if s.app.threads.cursor != "t1" {
		t.Errorf("gg goes to %s", s.app.threads.cursor)
	}
	s.keys("G")
	s.keys("gk")
	if s.app.threads.cursor != "t11" || len(s.app.pending) != 0 {
		t.Errorf("an unknown sequence does nothing: %s %v", s.app.threads.cursor, s.app.pending)
	}
	s.keys("gg", "/from:e#")
	if got := s.mail.took(); strings.Contains(got, "archive") || strings.Contains(got, "trash") {
		t.Errorf("letters after / are text: %s", got)
	}
	s.has("from:e#")
}

func TestTypeAheadIntoCompose(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("cada#e")
	if got := s.mail.took(); strings.Contains(got, "archive") || strings.Contains(got, "trash") || strings.Contains(got, "reply") {
		t.Errorf("what is typed after c goes into the message: %s", got)
	}
	s.has("ada#e")
}

func TestPasteIsNoKeys(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.paste("#\ne\n:quit\n")
	s.keys("#") // what follows within 50 ms is the rest of a paste
	if got := s.mail.took(); got != "" {
		t.Errorf("a paste into the list did %s", got)
	}
	s.has("Pasted text is not read as keys here")
	s.mail.now = s.mail.now.Add(60 * time.Millisecond)
	s.keys("#")
	if got := s.mail.took(); !strings.HasPrefix(got, "trash [t1]") {
		t.Errorf("50 ms later a key is a key again: %q", got)
	}
	s.keys("/")
	s.paste("foo\nbar\n")
	s.has("foo bar")
	s.keys("enter")
	if got := s.mail.took(); strings.Contains(got, "open view") {
		t.Errorf("a pasted line end does not search: %s", got)
	}
	s.mail.now = s.mail.now.Add(60 * time.Millisecond)
	s.keys("enter")
	if got := s.mail.took(); !strings.Contains(got, "open view foo bar") {
		t.Errorf("enter searches: %s", got)
	}
}

func TestEscOrder(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter", "q", "x")
	m.status = state.Status{Calls: []state.Call{{ID: "list", Title: "Loading inbox", Foreground: true, Stoppable: true, Began: m.now.Add(-5 * time.Second)}}}
	s.refresh()
	m.took()
	s.keys("esc")
	if got := m.took(); got != "stop list" || len(s.app.threads.selected) != 1 {
		t.Fatalf("the first esc stops the call and nothing else: %q", got)
	}
	m.status = state.Status{}
	s.refresh()
	s.keys("esc")
	if len(s.app.threads.selected) != 0 {
		t.Fatal("the next one clears the selection")
	}
	s.send(openViewMsg{state.View{Folder: "archive"}})
	m.took()
	s.keys("esc")
	if got := m.took(); got != "open view inbox" {
		t.Fatalf("the next one goes back: %q", got)
	}
	// A call that is too young for a line, or one that nobody asked for, is not stopped.
	m.status = state.Status{Calls: []state.Call{{Title: "Autosave", Began: m.now.Add(-5 * time.Second)}, {ID: "list", Title: "Loading", Foreground: true, Stoppable: true, Began: m.now}}}
	s.refresh()
	s.keys("enter", "esc")
	if got := m.took(); strings.Contains(got, "stop") {
		t.Errorf("esc stopped what no line offered: %s", got)
	}
}

func TestQuit(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("q")
	if got := m.took(); got != "quit" {
		t.Fatalf("quitting asks nothing when nothing is open: %q", got)
	}
	m.outbox = []state.Entry{{ID: "e1", State: state.EntrySending, Subject: "Plans"}}
	s.keys("ctrl+c")
	s.has("“Plans” is being sent", "outbox", "not be sent twice")
	if got := m.took(); got != "" {
		t.Fatalf("it quit all the same: %q", got)
	}
	s.keys("enter")
	s.hasNot("is being sent")
	s.keys("ctrl+c", "ctrl+c")
	if got := m.took(); got != "quit" {
		t.Fatalf("the second ctrl+c quits: %q", got)
	}
	m.outbox = nil
	s = startTest(t, m, 80, 24)
	s.keys("c")
	id := s.app.screens[0].(drafter).DraftID()
	m.saves[id] = state.DraftStatus{State: state.SaveDirty}
	m.took()
	s.keys("ctrl+c")
	if got := m.took(); strings.Contains(got, "quit") {
		t.Fatalf("it waits for the disk: %q", got)
	}
	s.has("Saving what you wrote")
	m.saves[id] = state.DraftStatus{State: state.SaveFailed, Problem: "no space left"}
	s.refresh()
	s.has("no space left", "Quit and lose")
	s.keys("n")
	m.saves[id] = state.DraftStatus{State: state.SaveDisk}
	s.keys("ctrl+c")
	if got := m.took(); !strings.Contains(got, "quit") {
		t.Fatalf("what is on disk is safe: %q", got)
	}
}

func TestGlobalKeys(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	for _, tt := range []struct{ keys, want string }{
		{"z", "undo"},
		{"ctrl+r", "refresh"},
		{"g t", "open view sent"},
		{"g i", "open view inbox"},
		{"g a", "open view archive"},
		{"ctrl+z", ""},
	} {
		s.keys(strings.Fields(tt.keys)...)
		if got := m.took(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.keys, got, tt.want)
		}
	}
	s.keys("R")
	s.has("Looking for new mail")
	if got := m.took(); got != "refresh" {
		t.Errorf("R without a failure: %q", got)
	}
	m.status.Failures = []state.Notice{{ID: 7, Kind: state.NoticeFailure, Text: "no", Retry: true}}
	s.refresh()
	s.keys("R")
	if got := m.took(); got != "retry notice 7" {
		t.Errorf("R: %q", got)
	}
	s.keys("ctrl+x")
	if got := m.took(); got != "dismiss 7" {
		t.Errorf("ctrl+x: %q", got)
	}
}

func TestPendingPrefixIsShown(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("g")
	s.has("g then", "i inbox")
	s.keys("esc")
	s.hasNot("g then")
	if got := s.mail.took(); got != "" {
		t.Errorf("esc after a prefix only drops it: %q", got)
	}
	for _, size := range sizes {
		s.send(tea.WindowSizeMsg{Width: size.width, Height: size.height})
		s.keys("g")
		for _, h := range s.app.o.Keys.Next(keymap.InThreads, []string{"g"}) {
			s.has(h.Key + " " + h.Text)
		}
		s.keys("esc")
	}
}

func TestPaletteRunsWhatItFinds(t *testing.T) {
	m := sampleMail()
	practised := make(chan bool, 2)
	s := startTest(t, m, 80, 24, func(o *Options) { o.Practice = func(on bool) { practised <- on } })
	s.keys(":", "delete for good", "enter")
	s.has("Delete “Re: Compiler notes” for good?")
	s.keys("y")
	if got := m.took(); !strings.Contains(got, "delete [t1]") {
		t.Errorf("got %q", got)
	}
	s.keys(":", "go to archive", "enter")
	if got := m.took(); !strings.Contains(got, "open view archive") {
		t.Errorf("got %q", got)
	}
	s.keys(":", "practise", "enter")
	if on := <-practised; !on {
		t.Error("the network is not bad")
	}
	s.has("The network is bad now")
	s.keys(":", "practise", "enter")
	if on := <-practised; on {
		t.Error("the same command makes the network good again")
	}
	s.has("The network is good again")
}

func TestMouse(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 140, 30)
	press := func(x, y int, b tea.MouseButton) {
		s.send(tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionPress})
	}
	press(30, 3, tea.MouseButtonLeft)
	if s.app.threads.cursor != "t3" || s.app.reader.id != "t3" {
		t.Errorf("a click on the third row opens %q", s.app.reader.id)
	}
	press(4, 6, tea.MouseButtonLeft)
	if got := m.took(); !strings.Contains(got, "open view sent") {
		t.Errorf("a click on Sent: %q", got)
	}
	press(500, 500, tea.MouseButtonLeft)
	press(-1, -1, tea.MouseButtonWheelDown)
	s.frame()
}

func TestRecoveredDraftIsOffered(t *testing.T) {
	m := sampleMail()
	m.recovered = []state.Draft{{ID: "lost", Subject: "Half a letter"}}
	s := startTest(t, m, 80, 24)
	s.has("“Half a letter”", "Go on writing it?")
	s.keys("enter")
	if len(s.app.screens) != 1 || s.app.screens[0].(drafter).DraftID() != "lost" {
		t.Error("the draft is not open")
	}
}

func TestKeysOfEveryPreset(t *testing.T) {
	for _, name := range keymap.Presets() {
		keys, err := keymap.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := startTest(t, sampleMail(), 80, 24, func(o *Options) { o.Keys = keys })
		s.keys(strings.Fields(firstKey(keys, keymap.InThreads, keymap.Help))...)
		s.has("Moving")
	}
}

func BenchmarkView(b *testing.B) {
	keys, err := keymap.New("", nil)
	if err != nil {
		b.Fatal(err)
	}
	m := sampleMail()
	a := New(Options{Mail: m, Keys: keys, Zone: time.UTC}).(*app)
	a.Init()
	a.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	j := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'j'}}
	b.ResetTimer()
	for range b.N {
		a.Update(j)
		_ = a.View()
	}
}

func TestHelpNamesTheMarks(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 100)
	s.keys("?")
	g := s.app.theme.Glyphs
	for _, mark := range []string{g.Unread, g.Answered, g.Star, g.Attachment, g.Invite, g.Muted, g.Pending, g.Selected} {
		s.has("  " + mark + " ")
	}
	s.keys("esc", "!", "?")
	s.hasNot("Marks")
}
