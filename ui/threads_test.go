package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

var inboxView = state.View{Folder: "inbox"}

// longMail is a mailbox with n rows in the inbox.
func longMail(n int) *fakeMail {
	m := sampleMail()
	l := state.List{View: inboxView, Known: true, Rev: 1}
	for i := range n {
		l.Rows = append(l.Rows, state.Row{
			ID: state.ThreadID(fmt.Sprintf("r%03d", i)), Filled: true, Subject: fmt.Sprintf("Subject %d", i), At: m.now, Messages: 1,
			From: state.Address{Name: fmt.Sprintf("Sender %d", i), Email: "s@example.org"},
		})
	}
	m.lists[inboxView] = l
	return m
}

// setRows changes the rows of the inbox as a refresh would.
func (m *fakeMail) setRows(change func([]state.Row) []state.Row) {
	l := m.lists[inboxView]
	l.Rows = change(append([]state.Row(nil), l.Rows...))
	l.Rev++
	m.lists[inboxView] = l
}

func TestRefreshMovesNothing(t *testing.T) {
	m := longMail(100)
	s := startTest(t, m, 80, 24)
	for range 30 {
		s.keys("j")
	}
	s.keys("x")
	th := s.app.threads
	at, top := th.cursor, th.at-th.top
	m.setRows(func(rows []state.Row) []state.Row {
		return append([]state.Row{{ID: "new1", Filled: true}, {ID: "new2", Filled: true}}, rows...)
	})
	s.refresh()
	if th.cursor != at || th.at != 33 || th.at-th.top != top {
		t.Errorf("two new rows above moved the cursor from %s at line %d to %s at line %d", at, top, th.cursor, th.at-th.top)
	}
	if !th.selected["r030"] {
		t.Error("the selection holds to ids")
	}
	m.setRows(func(rows []state.Row) []state.Row { return append(rows[:th.at:th.at], rows[th.at+1:]...) })
	s.refresh()
	if th.cursor != "r032" {
		t.Errorf("when its row goes the cursor is on the next one, not %s", th.cursor)
	}
	m.setRows(func([]state.Row) []state.Row { return nil })
	s.refresh()
	s.keys("j", "k", "G", "enter", "e", "x")
	s.has("Nothing waits for you here")
}

func TestScrollingByHalfPages(t *testing.T) {
	m := longMail(100)
	s := startTest(t, m, 80, 24)
	th := s.app.threads
	moves := 0
	top := 0
	for range 60 {
		s.keys("j")
		if th.top != top {
			moves++
			top = th.top
		}
		if th.at < th.top || th.at >= th.top+20 {
			t.Fatalf("the cursor %d is out of sight of %d", th.at, th.top)
		}
	}
	if moves > 6 {
		t.Errorf("the list scrolled %d times in 60 steps; it should go by half pages", moves)
	}
}

func TestMoreIsLoadedBeforeTheEnd(t *testing.T) {
	m := longMail(60)
	l := m.lists[inboxView]
	l.More = true
	m.lists[inboxView] = l
	s := startTest(t, m, 80, 24)
	s.keys("ctrl+d", "ctrl+d", "ctrl+d", "ctrl+d")
	if got := m.took(); !strings.Contains(got, "load more") {
		t.Errorf("nothing was loaded: %q", got)
	}
}

func TestActionsOnThreads(t *testing.T) {
	for _, tt := range []struct {
		view state.View
		keys string
		want string
	}{
		{inboxView, "e", "archive [t1]"},
		{inboxView, "#", "trash [t1]"},
		{inboxView, "S", "spam [t1]"},
		{inboxView, "u", "read [t1]"},
		{inboxView, "j u", "unread [t2]"},
		{inboxView, "s", "star [t1]"},
		{inboxView, "j s", "unstar [t2]"},
		{inboxView, "m", "mute [t1]"},
		{inboxView, "m m", "mute [t1]; unmute [t1]"},
		{inboxView, "j j j j j j m", "unmute [t7]"},
		{inboxView, "j j j j j x x m", "mute [t6 t7]"},
		{inboxView, "x x e", "archive [t1 t2]"},
		{inboxView, "x j j X e", "archive [t1 t2 t3 t4]"},
		{inboxView, "* u e", "archive [t1 t3]"},
		{inboxView, "* u * n e", "archive [t1]"},
		{inboxView, "I", ""},
		{inboxView, "B", ""},
		{inboxView, "D", ""},
		{inboxView, "D enter", ""},
		{inboxView, "D y", "delete [t1]"},
		{inboxView, "r", "reply t1 m4 false"},
		{inboxView, "a", "reply t1 m4 true"},
		{inboxView, "f", "forward t1 m4"},
		{state.View{Folder: "bin"}, "#", ""},
		{state.View{Folder: "bin"}, "I", "restore [t1]"},
		{state.View{Folder: "spam"}, "S", "inbox [t1]"},
		{state.View{Folder: "archive"}, "I", "inbox [t1]"},
		{state.View{Folder: "snoozed"}, "B", "unsnooze [t1]"},
	} {
		m := sampleMail()
		l := m.lists[inboxView]
		for i := range l.Rows {
			l.Rows[i].Filled = true
		}
		m.lists[tt.view] = l
		s := startTest(t, m, 80, 24, func(o *Options) { o.Start.View = tt.view })
		s.keys(strings.Fields(tt.keys)...)
		got := m.took()
		// Compose and dialogs ask for things of their own.
		var kept []string
		for _, d := range strings.Split(got, "; ") {
			if d != "" && !strings.HasPrefix(d, "open") && !strings.HasPrefix(d, "edit") && !strings.HasPrefix(d, "close") {
				kept = append(kept, d)
			}
		}
		if got = strings.Join(kept, "; "); got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.keys, tt.view.Folder, got, tt.want)
		}
	}
}

// What is done already is not said to be done again.
func TestDoneAlready(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	for i := range s.app.threads.list.Rows {
		s.app.threads.list.Rows[i].Filled = true
	}
	s.keys("I")
	s.has("It is in the inbox already")
	s.keys("B")
	s.has("It is not snoozed")
}

// After rows have gone the cursor is on the one that followed them.
func TestCursorAfterRowsAreGone(t *testing.T) {
	for keys, want := range map[string]state.ThreadID{
		"e":         "t2",
		"j e":       "t3",
		"x j j X e": "t5", // t1 to t4 have gone
		"x x j e":   "t4", // t1 and t2 have gone
		"G e":       "",
	} {
		m := sampleMail()
		s := startTest(t, m, 80, 24)
		s.keys(strings.Fields(keys)...)
		s.refresh()
		rows := s.app.threads.list.Rows
		if want == "" { // nothing follows: the last one that is left
			want = rows[len(rows)-1].ID
		}
		if s.app.threads.cursor != want {
			t.Errorf("%s: the cursor is on %s, want %s", keys, s.app.threads.cursor, want)
		}
	}
}

func TestWhatTheServerLacksSaysWhy(t *testing.T) {
	m := sampleMail()
	m.cannot[state.ChangeArchive] = "this server has no label for it"
	s := startTest(t, m, 80, 24)
	s.keys("e")
	s.has("Not possible here: this server has no label for it")
	if got := m.took(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestReplyWaitsForTheMessage(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("j", "j", "r")
	if got := m.took(); got != "open thread t3" {
		t.Fatalf("got %q", got)
	}
	s.has("Loading the message first")
	m.threads["t3"] = state.Thread{Row: state.Row{ID: "t3"}, Known: true, Messages: []api.Message{{ID: "m9"}}}
	s.refresh()
	if got := m.took(); !strings.Contains(got, "reply t3 m9 false") {
		t.Errorf("got %q", got)
	}
}

// The columns to the right of the subject begin in the same cell in every row, whatever the text.
func TestColumnsKeepTheirEdges(t *testing.T) {
	theme := NewTheme("dark", Colors256, false)
	now := newFake().now
	texts := []string{
		"plain", "", "日本語の件名がここにあって長い長い長い", "👨‍👩‍👧‍👦 family 👍🏽", "नमस्ते दुनिया", "e\u0301\u0301\u0301", "\u202eabc\u202c", "a\tb\nc\x1b[31m",
		"1\ufe0f\u20e3 keycap", "🇩🇪🇫", "ﷺ", strings.Repeat("x", 5000), strings.Repeat("漢", 300), "שלום", "ไทยภาษา", "한국어",
	}
	for _, width := range []int{24, 40, 50, 60, 71, 72, 80, 120, 200} {
		c := newColumns(width, true)
		for _, look := range []rowLook{{}, {cursor: true, focused: true}, {cursor: true}, {selected: true}} {
			for _, s := range texts {
				r := state.Row{
					ID: "x", Filled: true, Subject: s, Snippet: s, From: state.Address{Name: s, Email: "a@example.org"}, At: now, Messages: 12, Unread: true,
					Starred: true, Attachment: true, Invite: true, Muted: true, Pending: true, Labels: []state.Label{{Name: s, Color: "#abcdef"}, {Name: "b"}},
				}
				line := threadRow(theme, &r, c, look, now)
				// A row that moves the cursor by itself is measured by what it draws.
				plain := ansi.Strip(movedCells.ReplaceAllStringFunc(line, func(m string) string {
					n := movedCells.FindStringSubmatch(m)[1]
					return strings.Repeat(".", atoi(n))
				}))
				if w := cells.Width(plain); w != width {
					t.Fatalf("%d cells in %d, %q: %q", w, width, s, plain)
				}
				if !strings.HasSuffix(strings.TrimRight(plain, " "), "09:41") {
					t.Fatalf("the date is not at its edge: %q", plain)
				}
				if strings.ContainsAny(plain, "\x1b\n\t\u202e") {
					t.Fatalf("hostile text came through: %q", plain)
				}
			}
		}
	}
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

func TestBackGoesThroughViews(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("g", "t", "/", "budget", "enter")
	m.took()
	s.keys("esc", "esc", "esc")
	if got := m.took(); got != "open view sent; open view inbox" {
		t.Errorf("got %q", got)
	}
	s.has("q quits")
	s.keys("/", "up")
	s.has("/ budget")
	s.keys("enter", "/", "plan", "enter")
	if got := m.took(); !strings.HasSuffix(got, "open view plan") {
		t.Errorf("a new search begins empty: %q", got)
	}
}

// Keys that need a row are not offered where there is none.
func TestHintsOfAnEmptyList(t *testing.T) {
	m := newFake()
	m.lists[state.View{Folder: "inbox"}] = state.List{Known: true}
	s := startTest(t, m, 80, 24)
	s.has("c compose", "/ search")
	s.hasNot("e archive", "# trash")
}

func TestSelectionTitle(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("x", "x", "x")
	s.has("3 selected")
	if !s.app.threads.selected["t3"] || len(s.app.threads.targets()) != 3 {
		t.Error("three rows are selected")
	}
	if a := s.app.threads.Hints(s.app.frame(s.app.threads)); a[0] != keymap.Archive {
		t.Errorf("hints: %v", a)
	}
}

// undoMail is a mailbox in which an undo brings rows back.
type undoMail struct {
	*fakeMail
	back func()
}

func (m undoMail) Undo() bool {
	m.back()
	return true
}

func TestUndoBringsTheCursorBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string // between the change and the undo
		late bool     // the rows come with the next news
		want state.ThreadID
	}{
		{"at once", nil, false, "t3"},
		{"with the next news", nil, true, "t3"},
		{"the cursor was moved in between", []string{"G"}, false, "t3"},
		{"from the sidebar", []string{"g", "f"}, false, "t3"},
		{"in another list", []string{"g", "a"}, false, ""},
		{"while another conversation is read", []string{"enter"}, false, "t5"},
		{"with another screen above", []string{"?"}, false, "t5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sampleMail()
			rows := m.lists[inboxView].Rows
			back := func() { m.setRows(func([]state.Row) []state.Row { return rows }) }
			undo := back
			if tt.late {
				undo = func() {}
			}
			s := startTest(t, m, 80, 24, func(o *Options) { o.Mail = undoMail{m, undo} })
			s.keys("j", "j", "x", "x", "e") // t3 and t4 go, the cursor is on t5
			s.keys(tt.keys...)
			s.keys("z")
			if tt.late {
				back()
				s.refresh()
			}
			if got := s.app.threads.cursor; got != tt.want {
				t.Errorf("the cursor is on %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUndoOfWhatDoesNotComeBack(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24, func(o *Options) { o.Mail = undoMail{m, func() {}} })
	s.keys("j", "s", "z")
	s.mail.now = s.mail.now.Add(awaitFor + 1)
	m.setRows(func(rows []state.Row) []state.Row { return append([]state.Row{{ID: "new", Filled: true}}, rows...) })
	s.refresh()
	if got := s.app.threads.cursor; got != "t2" {
		t.Errorf("new mail took the cursor: %q", got)
	}
	s.keys("z", "j")
	m.setRows(func(rows []state.Row) []state.Row { return append([]state.Row{{ID: "newer", Filled: true}}, rows...) })
	s.refresh()
	if got := s.app.threads.cursor; got != "t3" {
		t.Errorf("new mail took the cursor after it was moved: %q", got)
	}
}

func TestBackFromASearchGoesToTheList(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("/", "one", "enter", "/", "two", "enter")
	s.has("Search “two”")
	m.took()
	s.keys("esc")
	if got := m.took(); got != "open view inbox" {
		t.Errorf("esc from the second search did %q", got)
	}
}

func TestLabelsOfARowStandApart(t *testing.T) {
	th := NewTheme("dark", ColorsNone, false)
	r := state.Row{Labels: []state.Label{{Name: "home"}, {Name: "work"}, {Name: "a very long one"}}}
	for _, tt := range []struct {
		room int
		star bool
		want string
	}{
		{40, false, "#home #work #a very lon…"},
		{40, true, "#home #work #a very lon… !"},
		{11, false, "#home #work"},
		{10, false, "#home #wo…"},
		{8, true, "#home !"},
		{2, false, ""},
	} {
		r.Starred = tt.star
		got, width := rowMarks(th, &r, 10, tt.room, Style{})
		if got != tt.want || width != cells.Width(got) {
			t.Errorf("in %d cells: %q of %d cells, want %q", tt.room, got, width, tt.want)
		}
	}
}

// Without colour the frame still tells which pane has the keys.
func TestFocusIsSeenWithoutColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		s := startTest(t, sampleMail(), 140, 40, func(o *Options) { o.Colors, o.ASCII = ColorsNone, ascii })
		list := s.frame()
		s.keys("h")
		if folders := s.frame(); strings.SplitN(folders, "\n", 3)[1] == strings.SplitN(list, "\n", 3)[1] {
			t.Errorf("the frame is the same with the keys in the sidebar:\n%s", folders)
		}
	}
}

func TestTabGoesRoundPastAnEmptyReader(t *testing.T) {
	m := sampleMail()
	clear(m.threads)
	s := startTest(t, m, 140, 40)
	s.keys("tab")
	if s.app.focus != paneFolders {
		t.Errorf("tab goes to pane %d", s.app.focus)
	}
	s.keys("tab")
	if s.app.focus != paneThreads {
		t.Errorf("and back to pane %d", s.app.focus)
	}
}

func TestRefusedSearchSaysAllOfWhy(t *testing.T) {
	m := sampleMail()
	why := "is: takes unread, read, starred, snoozed, muted, sent, answered and flagged, and nothing else of that kind"
	v := state.View{Query: "is:blah"}
	m.lists[v] = state.List{View: v, Problem: why + " (req_1c33667f)"}
	s := startTest(t, m, 80, 24)
	s.keys("/", "is:blah", "enter")
	text := strings.Join(strings.Fields(s.frame()), " ")
	for _, want := range []string{"This search was not done: " + why, "/ changes it · ctrl+r tries again"} {
		if !strings.Contains(text, want) {
			t.Errorf("the frame lacks %q:\n%s", want, s.frame())
		}
	}
}
