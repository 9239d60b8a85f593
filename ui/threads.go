package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	loadAhead   = 20              // rows left below the cursor when the next page is asked for
	awaitFor    = 2 * time.Second // what comes back by an undo comes at once
	maxSearches = 50
	maxBack     = 50
)

// threads is the list of threads of one view.
type threads struct {
	listing[state.ThreadID]
	view    state.View
	shown   bool // some view has been opened
	list    state.List
	oldest  time.Time // of all rows: the dates of old ones need a wider column
	snoozed bool      // a row has a time at which it wakes, which needs that too

	places   map[state.View]state.ThreadID // where the cursor was in other views
	past     []state.View
	searches []string // newest first

	// awaited is told after an undo: what comes into the list beside the rows before it has the cursor.
	awaited struct {
		before map[state.ThreadID]int
		until  time.Time
	}

	seenFirst, seenLast int // what Mail was told last
	wanted              answer

	cache    map[state.ThreadID]string
	cacheKey rowCacheKey
}

// rowCacheKey is everything besides the row that a cached line depends on.
type rowCacheKey struct {
	view    state.View
	rev     uint64
	width   int
	long    bool
	minute  int64
	theme   *Theme
	focused bool
}

// answer is a reply or forward that waits for its thread to be loaded.
type answer struct {
	id   state.ThreadID
	kind keymap.Action
}

func newThreads() *threads {
	return &threads{
		places: map[state.View]state.ThreadID{},
		cache:  map[state.ThreadID]string{}, seenFirst: -1,
	}
}

// named is the view with its name: the zero value is the inbox.
func named(v state.View) state.View {
	if v == (state.View{}) {
		v.Folder = "inbox"
	}
	return v
}

// open shows a view and remembers the one before.
func (s *threads) open(v state.View, f *Frame) {
	v = named(v)
	if v != s.view && s.shown && (s.view.Query == "" || v.Query == "") {
		if len(s.past) == 0 || s.past[len(s.past)-1] != s.view {
			s.past = append(s.past, s.view)
		}
		if len(s.past) > maxBack {
			s.past = s.past[1:]
		}
	}
	s.show(v, f)
}

// show shows a view.
func (s *threads) show(v state.View, f *Frame) {
	v = named(v)
	s.shown = true
	s.places[s.view] = s.cursor
	if v.Query != "" {
		s.remember(v.Query)
	}
	s.view = v
	s.listing = listing[state.ThreadID]{cursor: s.places[v]}
	s.awaited.before = nil
	s.seenFirst = -1
	f.Mail.OpenView(v)
	s.refresh(f)
}

func (s *threads) remember(query string) {
	kept := []string{query}
	for _, q := range s.searches {
		if q != query && len(kept) < maxSearches {
			kept = append(kept, q)
		}
	}
	s.searches = kept
}

// previous takes the view before this one off the stack.
func (s *threads) previous() (state.View, bool) {
	for len(s.past) > 0 {
		v := s.past[len(s.past)-1]
		s.past = s.past[:len(s.past)-1]
		if v != s.view {
			return v, true
		}
	}
	inbox := named(state.View{})
	return inbox, s.view != inbox
}

// refresh takes the newest snapshot and holds to the rows by their ids.
func (s *threads) refresh(f *Frame) {
	old := s.list
	s.list = f.Mail.List(s.view)
	if s.list.Rev != old.Rev || s.list.View != old.View || len(s.list.Rows) != len(s.ids) {
		ids := make([]state.ThreadID, len(s.list.Rows))
		s.oldest, s.snoozed = time.Time{}, false
		for i := range s.list.Rows {
			r := &s.list.Rows[i]
			ids[i] = r.ID
			if !r.At.IsZero() && (s.oldest.IsZero() || r.At.Before(s.oldest)) {
				s.oldest = r.At
			}
			s.snoozed = s.snoozed || r.SnoozedUntil.After(f.Now)
		}
		s.settle(ids)
	}
	s.welcome(f)
	s.look(f)
	s.continueAnswer(f)
}

// await puts the cursor on what comes back into the list within a moment.
func (s *threads) await(f *Frame) {
	s.awaited.before, s.awaited.until = s.index, f.Now.Add(awaitFor)
	s.refresh(f)
}

func (s *threads) welcome(f *Frame) {
	if s.awaited.before == nil || f.Now.After(s.awaited.until) {
		return
	}
	for i, id := range s.ids {
		if _, known := s.awaited.before[id]; !known {
			s.moveTo(i, f.Height)
			s.awaited.before = nil
			return
		}
	}
}

// look brings the cursor into sight and tells Mail what is.
func (s *threads) look(f *Frame) {
	s.scroll(f.Height)
	s.tell(f)
}

// tell lets Mail know which rows are on the screen and asks for more before the end is reached.
func (s *threads) tell(f *Frame) {
	n := len(s.list.Rows)
	first, last := s.top, min(n, s.top+f.Height)-1
	if f.Height <= 0 || n == 0 {
		return
	}
	if first != s.seenFirst || last != s.seenLast {
		s.seenFirst, s.seenLast = first, last
		f.Mail.SetVisible(s.view, first, last)
	}
	if s.list.More && !s.list.Loading && s.list.Problem == "" && last+loadAhead >= n {
		f.Mail.LoadMore(s.view)
	}
}

func (s *threads) move(to int, f *Frame) {
	if last := len(s.ids) - 1; last >= 0 && s.at == last && to >= last && s.list.More {
		f.Mail.LoadMore(s.view)
	}
	s.moveTo(to, f.Height)
	s.tell(f)
}

func (s *threads) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		s.refresh(f)
	case tea.WindowSizeMsg:
		s.look(f)
	case tea.MouseMsg:
		hit, again := s.mouse(msg, f.Height)
		s.tell(f)
		if again || hit && f.wide {
			f.Ask(openThreadMsg{s.cursor})
		}
	}
	return s, nil
}

// moveToThread puts the cursor on a thread, if it is in the list.
func (s *threads) moveToThread(id state.ThreadID, f *Frame) {
	if i, ok := s.index[id]; ok {
		s.move(i, f)
	}
}

// row is the row with the cursor, or nil.
func (s *threads) row() *state.Row {
	if s.at < len(s.list.Rows) {
		return &s.list.Rows[s.at]
	}
	return nil
}

// targets are the threads that an action is meant for: the selection, else the row with the cursor.
func (s *threads) targets() []state.Row {
	var out []state.Row
	for _, id := range s.meant() {
		out = append(out, s.list.Rows[s.index[id]])
	}
	return out
}

func (s *threads) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	s.awaited.before = nil
	if to, ok := listMove(a, s.at, len(s.ids), f.Height); ok {
		s.move(to, f)
		return s, nil, true
	}
	if s.act(a, f.Height) {
		s.tell(f)
		return s, nil, true
	}
	switch a {
	case keymap.Open:
		if s.row() != nil {
			f.Ask(openThreadMsg{s.cursor})
		}
	case keymap.Back:
		if len(s.selected) == 0 {
			return s, nil, false
		}
		s.clear()
	case keymap.SelectUnread:
		for _, r := range s.list.Rows {
			if r.Unread {
				s.choose(r.ID)
			}
		}
	case keymap.Reply, keymap.ReplyAll, keymap.ReplyPlain, keymap.ReplyAllPlain, keymap.Forward:
		if s.row() != nil {
			s.wanted = answer{s.cursor, a}
			s.startAnswer(f)
		}
	default:
		if !changes(a) {
			return s, nil, false
		}
		s.change(a, f)
	}
	return s, nil, true
}

func (s *threads) change(a keymap.Action, f *Frame) {
	rows := s.targets()
	if len(rows) == 0 {
		return
	}
	if changeThreads(a, rows, s.view, f) {
		s.clear()
		if leaves(a) {
			ids := make([]state.ThreadID, len(rows))
			for i, r := range rows {
				ids[i] = r.ID
			}
			f.Ask(goneMsg{ids})
		}
	}
	s.refresh(f)
}

// startAnswer opens compose for a reply or forward, at once or when the thread is here.
func (s *threads) startAnswer(f *Frame) {
	th := f.Mail.Thread(s.wanted.id)
	if !th.Known {
		f.Mail.OpenThread(s.wanted.id)
		f.Flash("Loading the message first")
		return
	}
	s.continueAnswer(f)
}

func (s *threads) continueAnswer(f *Frame) {
	if s.wanted.id == "" {
		return
	}
	if s.wanted.id != s.cursor {
		s.wanted = answer{}
		return
	}
	th := f.Mail.Thread(s.wanted.id)
	if !th.Known {
		return
	}
	w := s.wanted
	s.wanted = answer{}
	answerThread(w.kind, th, "", f)
}

func (s *threads) View(f *Frame) string {
	t := f.Theme
	rows := s.list.Rows
	if len(rows) == 0 {
		return block(s.empty(f), f.Width, f.Height)
	}
	last := min(len(rows), s.top+f.Height)
	long := longDate(s.oldest, f.Now) || s.snoozed
	key := rowCacheKey{s.view, s.list.Rev, f.Width, long, f.Now.Unix() / 60, t, f.Focused}
	if key != s.cacheKey {
		clear(s.cache)
		s.cacheKey = key
	}
	c := newColumns(f.Width, long)
	var b strings.Builder
	for i := s.top; i < last; i++ {
		r := &rows[i]
		look := rowLook{cursor: r.ID == s.cursor, focused: f.Focused, selected: s.selected[r.ID]}
		var line string
		if look.cursor || look.selected {
			line = threadRow(t, r, c, look, f.Now)
		} else if l, ok := s.cache[r.ID]; ok {
			line = l
		} else {
			line = threadRow(t, r, c, look, f.Now)
			s.cache[r.ID] = line
		}
		if i > s.top {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	for i := last - s.top; i < f.Height; i++ {
		b.WriteByte('\n')
		if i == last-s.top && s.list.More {
			b.WriteString(t.Faint.Render("   " + strings.Repeat(t.Glyphs.Bullet, 3)))
		}
	}
	return b.String()
}

// empty is what stands where no row does.
func (s *threads) empty(f *Frame) string {
	t := f.Theme
	key := func(a keymap.Action) string { return firstKey(f.Keys, keymap.InThreads, a) }
	var say, more string
	switch {
	case !s.list.Known && s.list.Problem != "" && s.view.Query != "":
		say = "This search was not done: " + requestID.ReplaceAllString(clean.Line(s.list.Problem), "")
		more = hintWords(t, key(keymap.Search), "changes it", key(keymap.Refresh), "tries again")
	case !s.list.Known && s.list.Problem != "":
		say = "Nothing could be loaded: " + clean.Line(s.list.Problem)
		if k := key(keymap.Refresh); k != "" {
			more = k + " tries again"
		}
	case !s.list.Known || s.list.Loading && len(s.list.Rows) == 0:
		say = "Loading" + t.Keep("…", "...")
	case s.view.Query != "":
		say = "Nothing found for “" + cells.Truncate(clean.Line(s.view.Query), 60, "…") + "”"
		if k := key(keymap.Search); k != "" {
			more = k + " searches for something else"
		}
	case s.view.Label != "":
		say = "No mail has this label"
	case roleOf(s.view, f) == state.RoleInbox:
		say = "Nothing waits for you here"
	default:
		say = "Nothing here"
	}
	out := strings.Repeat("\n", max(0, f.Height/3))
	for _, l := range append(cells.Wrap(say, max(1, min(f.Width-4, 72))), more) {
		l = cutWords(l, f.Width-2, t)
		out += cells.Blank((f.Width-cells.Width(l))/2) + t.Muted.Render(l) + "\n"
	}
	return strings.TrimRight(out, "\n")
}

// hintWords are keys, each with what it does; a key that is empty is left out.
func hintWords(t *Theme, pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "" {
			out = append(out, pairs[i]+" "+pairs[i+1])
		}
	}
	return strings.Join(out, t.Dot())
}

func (s *threads) Context() keymap.Context { return keymap.InThreads }
func (s *threads) Capturing() bool         { return false }

func (s *threads) Title(f *Frame) string {
	name, unread := "Inbox", 0
	switch {
	case s.view.Query != "":
		name = "Search “" + cells.Truncate(clean.Line(s.view.Query), 40, "…") + "”"
	default:
		if s.view.Folder != "" {
			name = clean.Line(s.view.Folder)
		}
		for _, fo := range f.folders {
			if fo.View == s.view && !apart(fo.Role) {
				name, unread = clean.Line(fo.Name), fo.Unread
				switch fo.Role {
				case state.RoleLabel:
					name = "#" + name
				case state.RoleSent:
					unread = 0
				}
			}
		}
	}
	if n := len(s.selected); n > 0 {
		return name + "  " + plural(n, "selected", "selected")
	}
	if unread > 0 {
		return name + "  " + plural(unread, "unread", "unread")
	}
	return name
}

func (s *threads) Hints(f *Frame) []keymap.Action {
	if len(s.selected) > 0 {
		return []keymap.Action{
			keymap.Archive, keymap.Snooze, keymap.Trash, keymap.Label, keymap.Star, keymap.Unread, keymap.SelectRange, keymap.SelectNone,
		}
	}
	if s.list.Known && !s.list.Loading && len(s.list.Rows) == 0 {
		return []keymap.Action{keymap.Compose, keymap.Search, keymap.GoFolders, keymap.Undo, keymap.Refresh}
	}
	moves := []keymap.Action{keymap.Down, keymap.Up, keymap.Open}
	switch roleOf(s.view, f) {
	case state.RoleTrash:
		return append(moves, keymap.Restore, keymap.DeleteForever, keymap.Search, keymap.GoFolders)
	case state.RoleSnoozed:
		return append(moves, keymap.Unsnooze, keymap.Snooze, keymap.Trash, keymap.Search, keymap.GoFolders)
	case state.RoleSpam:
		return append(moves, keymap.Spam, keymap.Trash, keymap.Search, keymap.GoFolders)
	}
	return append(moves, keymap.Archive, keymap.Snooze, keymap.Trash, keymap.Compose, keymap.Search, keymap.Undo, keymap.GoFolders)
}

// Word says which way an action goes that goes both ways.
func (s *threads) Word(a keymap.Action, f *Frame) string {
	every := func(has func(state.Row) bool) bool {
		rows := s.targets()
		return len(rows) > 0 && !slices.ContainsFunc(rows, func(r state.Row) bool { return !has(r) })
	}
	switch {
	case a == keymap.Spam && roleOf(s.view, f) == state.RoleSpam:
		return "not spam"
	case a == keymap.Star && every(func(r state.Row) bool { return r.Starred }):
		return "unstar"
	case a == keymap.Unread && !every(func(r state.Row) bool { return !r.Unread }):
		return "read"
	}
	return ""
}

// roleOf is what a view is for.
func roleOf(v state.View, f *Frame) state.Role {
	for _, fo := range f.folders {
		if fo.View == v && !apart(fo.Role) {
			return fo.Role
		}
	}
	switch {
	case v.Label != "":
		return state.RoleLabel
	case v.Query != "":
		return state.RoleOther
	case v == named(state.View{}):
		return state.RoleInbox
	}
	return state.RoleOther
}
