package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	pasteGuard  = 50 * time.Millisecond // keys that come so soon after a paste are text, never actions
	flashFor    = 3 * time.Second
	readFor     = 700 * time.Millisecond // after that the next key takes the sentence away
	helloFor    = 30 * time.Second       // the first words in a sample mailbox
	focusEvery  = time.Second            // how often keys tell Mail that somebody is there
	maxFlashLen = 400
)

// The panes of the base, in the order of the screen.
const (
	paneFolders = iota
	paneThreads
	paneReader
)

// app is the root model: the only one that Bubble Tea knows.
type app struct {
	o     Options
	theme *Theme
	at    layout
	now   time.Time

	folders *folders
	threads *threads
	reader  *reader
	focus   int // the pane that has the keys

	screens []Screen // over the panes, the last on top
	dialogs []Screen // above all, the last on top

	pending    []string // keys of an unfinished sequence
	pasteUntil time.Time
	focusSent  time.Time
	status     state.Status
	flash      flash
	hello      flash
	background background

	tick     int       // number of the newest tick
	tickAt   time.Time // when it comes; zero: none is on its way
	quitting bool      // waits for typed text to reach the disk

	practising bool // the network is bad because the person wants to practise
}

type flash struct {
	text    string
	failure bool
	until   time.Time
}

type tickMsg struct{ n int }

// New makes the root model.
func New(o Options) tea.Model {
	a := &app{o: o, theme: NewTheme(o.Theme, o.Colors, o.ASCII)}
	a.now = o.Mail.Now()
	a.status = o.Mail.Status()
	a.folders = newFolders()
	a.threads = newThreads()
	a.reader = newReader()
	a.focus = paneThreads
	return a
}

// Init starts what the program waits for.
func (a *app) Init() tea.Cmd {
	cmds := []tea.Cmd{waitCmd(a.o.Mail.Updates())}
	a.folders.refresh(a.frame(a.folders))
	a.openView(a.o.Start.View)
	if a.o.Sample {
		text := "This is a sample mailbox to try things on"
		if k := firstKey(a.o.Keys, keymap.InThreads, keymap.Help); k != "" {
			text += a.theme.Dot() + k + " shows the keys"
		}
		if k := firstKey(a.o.Keys, keymap.InThreads, keymap.Palette); k != "" {
			text += a.theme.Dot() + k + " finds every action"
		}
		a.hello = flash{text: text, until: a.now.Add(helloFor)}
	}
	if a.o.Start.Draft != nil {
		d := *a.o.Start.Draft
		cmds = append(cmds, func() tea.Msg { return openDraftMsg{d} })
	} else if n := a.o.Mail.Recovered(); len(n) > 0 {
		a.dialogs = append(a.dialogs, newRecovered(n))
	}
	cmds = append(cmds, a.askCmd(), a.tickCmd())
	return tea.Batch(cmds...)
}

// waitCmd waits for the next change of Mail.
func waitCmd(updates <-chan struct{}) tea.Cmd {
	return func() tea.Msg {
		if _, ok := <-updates; !ok {
			return nil
		}
		return mailMsg{}
	}
}

// frame is what the screen s may know now.
func (a *app) frame(s Screen) *Frame {
	f := &Frame{
		Width: a.at.width, Height: a.at.bodyHeight, Now: a.now.In(a.o.zone()), Theme: a.theme, Keys: a.o.Keys,
		Mail: a.o.Mail, Options: &a.o, wide: a.at.wide, folders: a.folders.list, practising: a.practising, asks: new([]tea.Msg),
	}
	if s == nil {
		return f
	}
	f.Focused = s == a.top()
	if a.at.wide {
		switch s {
		case a.folders:
			f.Width = a.at.folders
		case a.threads:
			f.Width = a.at.threads
		case a.reader:
			f.Width = a.at.reader
		}
	}
	return f
}

func (a *app) panes() [3]Screen { return [3]Screen{a.folders, a.threads, a.reader} }

// screen is what fills the body: the top screen, else the pane with the keys.
func (a *app) screen() Screen {
	if n := len(a.screens); n > 0 {
		return a.screens[n-1]
	}
	return a.panes()[a.focus]
}

// top is what has the keys.
func (a *app) top() Screen {
	if n := len(a.dialogs); n > 0 {
		return a.dialogs[n-1]
	}
	return a.screen()
}

// replace puts the new value of a screen where the old one stood.
func (a *app) replace(old, s Screen) {
	if old == s {
		return
	}
	for i := range a.dialogs {
		if a.dialogs[i] == old {
			a.dialogs[i] = s
			return
		}
	}
	for i := range a.screens {
		if a.screens[i] == old {
			a.screens[i] = s
			return
		}
	}
}

// update gives msg to one screen and does what it asks.
func (a *app) update(s Screen, msg tea.Msg) tea.Cmd {
	f := a.frame(s)
	n, cmd := s.Update(msg, f)
	a.replace(s, n)
	return join(cmd, a.doAsks(f))
}

func join(a, b tea.Cmd) tea.Cmd {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return tea.Batch(a, b)
}

func (a *app) doAsks(f *Frame) tea.Cmd {
	var cmd tea.Cmd
	for _, m := range *f.asks {
		c, _ := a.ask(m)
		cmd = join(cmd, c)
	}
	return cmd
}

// Update handles a message. It changes memory only.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	a.now = a.o.Mail.Now()
	cmd := a.handle(msg)
	return a, join(cmd, a.tickCmd())
}

func (a *app) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.at = newLayout(msg.Width, msg.Height)
		return a.everyone(msg)
	case tea.KeyMsg:
		return a.keys(msg)
	case tea.MouseMsg:
		return a.mouse(msg)
	case tea.FocusMsg:
		a.o.Mail.SetFocus(true)
		return nil
	case tea.BlurMsg:
		a.o.Mail.SetFocus(false)
		return nil
	case tea.ResumeMsg:
		a.o.Mail.SetFocus(true)
		return tea.ClearScreen
	case tickMsg:
		if msg.n == a.tick {
			a.tickAt = time.Time{}
		}
		return a.tryQuit()
	case mailMsg:
		a.status = a.o.Mail.Status()
		cmd := a.everyone(msg)
		if a.reader.leave {
			cmd = join(cmd, a.gone([]state.ThreadID{a.reader.id}))
		}
		return tea.Batch(cmd, waitCmd(a.o.Mail.Updates()), a.tryQuit())
	}
	if cmd, ok := a.ask(msg); ok {
		return cmd
	}
	return a.everyone(msg)
}

// everyone gives msg to every screen, shown or not: each knows its own answers.
func (a *app) everyone(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range a.panes() {
		cmds = append(cmds, a.update(s, msg))
	}
	for _, list := range [][]Screen{a.screens, a.dialogs} {
		for _, s := range append([]Screen(nil), list...) {
			cmds = append(cmds, a.update(s, msg))
		}
	}
	return tea.Batch(cmds...)
}

// ask does what a screen asks of the root; ok is false when msg is no such thing.
func (a *app) ask(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case pushScreenMsg:
		return a.push(&a.screens, msg.screen), true
	case pushDialogMsg:
		return a.push(&a.dialogs, msg.screen), true
	case popMsg:
		return a.pop(), true
	case flashMsg:
		a.say(msg.text, msg.failure)
		return nil, true
	case openViewMsg:
		a.closeAll()
		a.openView(msg.view)
		a.focus = paneThreads
		return nil, true
	case openThreadMsg:
		return a.openThread(msg.id), true
	case openDraftMsg:
		return a.push(&a.screens, newCompose(msg.draft)), true
	case actMsg:
		return a.act(msg.action, ""), true
	case quitMsg:
		return tea.Quit, true
	case openFolderMsg:
		return a.openFolder(msg.folder), true
	case practiseMsg:
		a.practising = msg.on
		return nil, true
	case openFileMsg:
		return openCmd(a.frame(a.reader), msg.path), true
	case mailtoMsg:
		return a.push(&a.screens, newCompose(mailtoDraft(a.o.Mail.NewDraft(""), msg.url))), true
	case leaveReaderMsg:
		return a.back(), true
	case nextThreadMsg:
		return a.nextThread(msg.by), true
	case goneMsg:
		return a.gone(msg.ids), true
	}
	return nil, false
}

func (a *app) push(stack *[]Screen, s Screen) tea.Cmd {
	*stack = append(*stack, s)
	a.pending = nil
	if st, ok := s.(starter); ok {
		f := a.frame(s)
		return join(st.Init(f), a.doAsks(f))
	}
	return nil
}

// pop closes the top dialog, else the top screen.
func (a *app) pop() tea.Cmd {
	stack := &a.screens
	if len(a.dialogs) > 0 {
		stack = &a.dialogs
	}
	n := len(*stack)
	if n == 0 {
		return nil
	}
	s := (*stack)[n-1]
	*stack = (*stack)[: n-1 : n-1]
	a.pending = nil
	return a.left(s)
}

func (a *app) left(s Screen) tea.Cmd {
	l, ok := s.(leaver)
	if !ok {
		return nil
	}
	f := a.frame(s)
	l.Leave(f)
	return a.doAsks(f)
}

func (a *app) closeAll() {
	for len(a.dialogs)+len(a.screens) > 0 {
		a.pop()
	}
}

func (a *app) say(text string, failure bool) {
	text = clean.Line(text)
	if len(text) > maxFlashLen {
		text = strings.ToValidUTF8(text[:maxFlashLen], "")
	}
	a.flash = flash{text, failure, a.now.Add(flashFor)}
}

func (a *app) openView(v state.View) {
	f := a.frame(a.threads)
	a.threads.open(v, f)
	a.folders.follow(a.threads.view, f)
}

func (a *app) openThread(id state.ThreadID) tea.Cmd {
	a.closeAll()
	a.focus = paneReader
	f := a.frame(a.reader)
	cmd := a.reader.show(id, a.threads.view, f)
	return join(cmd, a.doAsks(f))
}

// nextThread goes on in the list and opens what is there.
func (a *app) nextThread(by int) tea.Cmd {
	f := a.frame(a.threads)
	t := a.threads
	if t.cursor != a.reader.id {
		t.moveToThread(a.reader.id, f)
	}
	was := t.cursor
	t.move(t.at+by, f)
	if t.cursor == was {
		if by > 0 {
			a.say("This is the last conversation", false)
		} else {
			a.say("This is the first conversation", false)
		}
		return nil
	}
	return a.openThread(t.cursor)
}

// gone looks whether the open conversation has left its list by what the person did, and goes on to the next.
func (a *app) gone(ids []state.ThreadID) tea.Cmd {
	if !slices.Contains(ids, a.reader.id) {
		return nil
	}
	a.threads.refresh(a.frame(a.threads))
	if a.threads.has(a.reader.id) {
		return nil
	}
	if a.focus != paneReader || a.threads.row() == nil {
		a.reader.close()
		a.setFocus(paneThreads)
		return nil
	}
	return a.openThread(a.threads.cursor)
}

// keys handles what was typed or pasted. Letters that were read together come as one message.
func (a *app) keys(k tea.KeyMsg) tea.Cmd {
	if taken, known, dark := a.background.take(k, a.now); taken {
		if known {
			choice := "light"
			if dark {
				choice = "dark"
			}
			a.theme = NewTheme(choice, a.o.Colors, a.o.ASCII)
			return a.everyone(tea.WindowSizeMsg{Width: a.at.width, Height: a.at.height})
		}
		return nil
	}
	if a.now.Sub(a.focusSent) >= focusEvery {
		a.focusSent = a.now
		a.o.Mail.SetFocus(true)
	}
	if a.now.After(a.flash.until.Add(readFor - flashFor)) {
		a.flash = flash{} // it has been read
	}
	if a.at.tiny {
		if k.String() == "ctrl+c" {
			return a.quit()
		}
		return nil
	}
	if k.Paste {
		return a.paste(k)
	}
	if a.now.Before(a.pasteUntil) {
		// The rest of a paste whose text held the end mark, or that was cut by a slow line.
		if (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && a.top().Capturing() {
			k.Type, k.Paste = tea.KeyRunes, true
			return a.update(a.top(), k)
		}
		return nil
	}
	if k.Type != tea.KeyRunes || len(k.Runes) < 2 {
		return a.key(k)
	}
	var cmd tea.Cmd
	for i, r := range k.Runes {
		if a.allText(k.Runes[i:]) {
			return join(cmd, a.update(a.top(), tea.KeyMsg{Type: tea.KeyRunes, Runes: k.Runes[i:], Alt: k.Alt}))
		}
		cmd = join(cmd, a.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
	}
	return cmd
}

// allText reports whether none of the letters can be an action, so that they are text in one piece.
func (a *app) allText(letters []rune) bool {
	s := a.top()
	if !s.Capturing() || len(a.pending) > 0 {
		return false
	}
	if !s.Context().Text() {
		return true
	}
	for _, r := range letters {
		if _, found := a.o.Keys.Lookup(s.Context(), nil, string(r)); found != keymap.None {
			return false
		}
	}
	return true
}

func (a *app) paste(k tea.KeyMsg) tea.Cmd {
	var cmd tea.Cmd
	a.pending = nil
	if a.top().Capturing() {
		cmd = a.update(a.top(), k)
	} else {
		a.say("Pasted text is not read as keys here", false)
	}
	a.pasteUntil = a.o.Mail.Now().Add(pasteGuard)
	return cmd
}

// key handles one key.
func (a *app) key(k tea.KeyMsg) tea.Cmd {
	name := k.String()
	s := a.top()
	if len(a.pending) > 0 && name == "esc" {
		a.pending = nil
		return nil
	}
	plain := (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && !k.Alt
	if !plain || !s.Capturing() || s.Context().Text() {
		switch action, found := a.o.Keys.Lookup(s.Context(), a.pending, name); found {
		case keymap.Prefix:
			if name == " " {
				name = "space"
			}
			a.pending = append(a.pending, name)
			return nil
		case keymap.Match:
			a.pending = nil
			if plain && s.Capturing() {
				// A character that may be an action or text: the screen says which.
				cmd, handled := a.screenAct(s, action, name)
				if handled {
					return cmd
				}
				return join(cmd, a.update(s, k))
			}
			return a.act(action, name)
		}
	}
	if len(a.pending) > 0 {
		a.pending = nil
		return nil
	}
	return a.update(s, k)
}

func (a *app) screenAct(s Screen, action keymap.Action, key string) (tea.Cmd, bool) {
	f := a.frame(s)
	f.Key = key
	n, cmd, handled := s.Act(action, f)
	a.replace(s, n)
	return join(cmd, a.doAsks(f)), handled
}

// act does an action: what only the root may do first, then the screen, then what works everywhere.
func (a *app) act(action keymap.Action, key string) tea.Cmd {
	switch action {
	case keymap.Quit:
		return a.quit()
	case keymap.Suspend:
		return tea.Suspend
	case keymap.Redraw:
		return tea.ClearScreen
	case keymap.Back:
		if a.quitting {
			a.quitting = false
			return nil
		}
		// Only the key that the line of news names: another one that goes back, such as q, does just that.
		in := a.newsInput()
		if (key == "" || key == in.Key(keymap.Back)) && stoppable(in) && a.o.Mail.StopForeground() {
			return nil
		}
	}
	cmd, handled := a.screenAct(a.top(), action, key)
	if handled {
		return cmd
	}
	return join(cmd, a.global(action))
}

// global does the actions that mean the same on every screen.
func (a *app) global(action keymap.Action) tea.Cmd {
	m := a.o.Mail
	if v, ok := goTo[action]; ok {
		return a.goRole(v)
	}
	switch action {
	case keymap.Back:
		return a.back()
	case keymap.NextPane:
		a.move(1)
	case keymap.PrevPane:
		a.move(-1)
	case keymap.FocusLeft:
		if a.focus > paneFolders && len(a.screens) == 0 {
			a.setFocus(a.focus - 1)
		}
	case keymap.FocusRight:
		if a.focus < paneReader && len(a.screens) == 0 {
			a.setFocus(a.focus + 1)
		}
	case keymap.GoFolders:
		a.closeAll()
		a.focus = paneFolders
	case keymap.Compose:
		return a.push(&a.screens, newCompose(m.NewDraft("")))
	case keymap.Search:
		return a.push(&a.dialogs, newSearch(a.threads.searches))
	case keymap.Undo:
		if !m.Undo() {
			a.say("There is nothing to undo", false)
		}
	case keymap.Refresh:
		m.Refresh()
		a.say("Looking for new mail", false)
	case keymap.Retry:
		a.retry()
	case keymap.Dismiss:
		if len(a.status.Failures) > 0 {
			m.Dismiss(a.status.Failures[0].ID)
		} else {
			a.flash = flash{}
		}
	case keymap.Activity:
		if _, ok := a.screen().(*activity); !ok {
			return a.push(&a.screens, newActivity())
		}
	case keymap.Palette:
		return a.push(&a.dialogs, newPalette(a.top().Context(), a.frame(a.top())))
	case keymap.Help:
		return a.push(&a.screens, newHelp(a.top().Context()))
	}
	return nil
}

// retry tries again what the line of news speaks of: a failure, else a wait.
func (a *app) retry() {
	for _, n := range a.status.Failures {
		if n.Retry {
			a.o.Mail.RetryNotice(n.ID)
			return
		}
	}
	for _, c := range a.status.Calls {
		if c.CanRetry && !c.Until.IsZero() {
			a.o.Mail.RetryCall(c.ID)
			return
		}
	}
	a.o.Mail.Refresh()
	a.say("Looking for new mail", false)
}

// goTo is the role that each way of going leads to.
var goTo = map[keymap.Action]state.Role{
	keymap.GoInbox: state.RoleInbox, keymap.GoStarred: state.RoleStarred, keymap.GoSnoozed: state.RoleSnoozed,
	keymap.GoSent: state.RoleSent, keymap.GoDrafts: state.RoleDrafts, keymap.GoOutbox: state.RoleOutbox,
	keymap.GoArchive: state.RoleArchive, keymap.GoSpam: state.RoleSpam, keymap.GoTrash: state.RoleTrash,
	keymap.GoAll: state.RoleAll,
}

func (a *app) goRole(r state.Role) tea.Cmd {
	switch r {
	case state.RoleDrafts:
		return a.showOnly(newDrafts())
	case state.RoleOutbox:
		return a.showOnly(newOutbox())
	}
	for _, f := range a.folders.list {
		if f.Role == r {
			cmd, _ := a.ask(openViewMsg{f.View})
			return cmd
		}
	}
	if r == state.RoleInbox {
		cmd, _ := a.ask(openViewMsg{})
		return cmd
	}
	a.say("This server has no folder for that", true)
	return nil
}

// openFolder opens what a line of the sidebar stands for.
func (a *app) openFolder(fo state.Folder) tea.Cmd {
	switch fo.Role {
	case state.RoleDrafts, state.RoleOutbox:
		return a.goRole(fo.Role)
	}
	cmd, _ := a.ask(openViewMsg{fo.View})
	return cmd
}

// openFolderMsg opens a line of the sidebar.
type openFolderMsg struct{ folder state.Folder }

func (a *app) showOnly(s Screen) tea.Cmd {
	a.closeAll()
	a.focus = paneThreads
	return a.push(&a.screens, s)
}

// back goes one step back: a dialog, a screen, the reader, a search or another folder.
func (a *app) back() tea.Cmd {
	if len(a.dialogs)+len(a.screens) > 0 {
		return a.pop()
	}
	switch a.focus {
	case paneReader, paneFolders:
		a.focus = paneThreads
		return nil
	}
	if v, ok := a.threads.previous(); ok {
		a.threads.show(v, a.frame(a.threads))
		a.folders.follow(a.threads.view, a.frame(a.folders))
		return nil
	}
	quit := "q"
	if k := a.o.Keys.Keys(keymap.InThreads, keymap.Quit); len(k) > 0 {
		quit = k[0]
	}
	a.say(quit+" quits", false)
	return nil
}

func (a *app) move(by int) {
	if len(a.screens) > 0 {
		return
	}
	a.setFocus((a.focus + by + 3) % 3)
}

// setFocus gives the keys to a pane; an empty reader takes none.
func (a *app) setFocus(pane int) {
	if pane == paneReader && a.reader.id == "" {
		if a.at.wide || a.focus == paneFolders {
			pane = paneThreads
		} else {
			return
		}
	}
	a.focus = pane
}

// quit ends the program, unless typed text would be lost or somebody should know what happens to a send.
func (a *app) quit() tea.Cmd {
	if n := len(a.dialogs); n > 0 {
		if q, ok := a.dialogs[n-1].(*confirm); ok && q.label == quitAnyway {
			return tea.Quit
		}
	}
	sending := 0
	var subject string
	for _, e := range a.o.Mail.Outbox() {
		if e.State == state.EntrySending || e.State == state.EntrySaving {
			sending++
			subject = e.Subject
		}
	}
	if sending > 0 {
		question := "“" + short(subject) + "” is being sent."
		if sending > 1 {
			question = plural(sending, "message is", "messages are") + " being sent."
		}
		question += " If you quit now it stays in the outbox, and the next start finds out whether it arrived. It will not be sent twice."
		return a.push(&a.dialogs, newConfirm(question, quitAnyway, func() tea.Msg { return quitMsg{} }))
	}
	if a.quitting {
		// Asked again while the disk takes its time.
		a.quitting = false
		return a.push(&a.dialogs, newConfirm("What you wrote is not on disk yet. Quit and lose it?", quitAnyway,
			func() tea.Msg { return quitMsg{} }))
	}
	a.quitting = true
	return a.tryQuit()
}

const quitAnyway = "quit"

// tryQuit quits once everything typed is on disk.
func (a *app) tryQuit() tea.Cmd {
	if !a.quitting {
		return nil
	}
	for _, s := range a.screens {
		d, ok := s.(drafter)
		if !ok {
			continue
		}
		switch st := a.o.Mail.DraftStatus(d.DraftID()); st.State {
		case state.SaveDirty:
			return nil
		case state.SaveFailed:
			a.quitting = false
			why := clean.Line(st.Problem)
			if why == "" {
				why = "the disk refused it"
			}
			return a.push(&a.dialogs, newConfirm("What you wrote is not on disk: "+why+". Quit and lose it?", quitAnyway,
				func() tea.Msg { return quitMsg{} }))
		}
	}
	return tea.Quit
}

// mouse finds the pane under the pointer and gives it the message with its own coordinates.
func (a *app) mouse(m tea.MouseMsg) tea.Cmd {
	if !a.o.Mouse || a.at.tiny || m.Action != tea.MouseActionPress {
		return nil
	}
	m.Y -= a.at.bodyTop
	if m.Y < 0 || m.Y >= a.at.bodyHeight {
		return nil
	}
	if len(a.dialogs) > 0 {
		if m.Button == tea.MouseButtonWheelUp || m.Button == tea.MouseButtonWheelDown {
			return a.update(a.top(), m)
		}
		return nil
	}
	if len(a.screens) > 0 || !a.at.wide {
		return a.update(a.screen(), m)
	}
	pane, x := paneFolders, m.X
	if x > a.at.folders {
		pane, x = paneThreads, x-a.at.folders-1
		if x > a.at.threads {
			pane, x = paneReader, x-a.at.threads-1
		}
	}
	m.X = x
	if m.Button == tea.MouseButtonLeft {
		a.setFocus(pane)
	}
	return a.update(a.panes()[pane], m)
}

// tickCmd asks to be woken when the frame would look different without anything having happened.
func (a *app) tickCmd() tea.Cmd {
	wait := a.now.Truncate(time.Minute).Add(time.Minute).Sub(a.now)
	soon := func(d time.Duration) {
		if d > 0 {
			wait = min(wait, max(d, 50*time.Millisecond))
		}
	}
	soon(newsEvery(a.newsInput()))
	soon(a.flash.until.Sub(a.now))
	soon(a.hello.until.Sub(a.now))
	for _, s := range []Screen{a.screen(), a.top()} {
		if t, ok := s.(ticker); ok {
			soon(t.Every(a.frame(s)))
		}
	}
	due := a.now.Add(wait)
	if !a.tickAt.IsZero() && !due.Before(a.tickAt) && a.now.Before(a.tickAt) {
		return nil
	}
	a.tick++
	a.tickAt = due
	n := a.tick
	return tea.Tick(wait, func(time.Time) tea.Msg { return tickMsg{n} })
}

// View draws the whole screen.
func (a *app) View() string {
	l := a.at
	if l.width == 0 || l.height == 0 {
		return ""
	}
	if l.tiny {
		return block(strings.Join(cells.Wrap("The window is too small for mail.", max(1, l.width)), "\n"), l.width, l.height)
	}
	rows := make([]string, 0, 5)
	rows = append(rows, a.topLine())
	rows = append(rows, a.body())
	if l.ruled {
		rows = append(rows, a.theme.Rule.Render(strings.Repeat(a.theme.Glyphs.Rule, l.width)))
	}
	rows = append(rows, news(a.newsInput(), l.width))
	if l.hinted {
		rows = append(rows, a.hintLine())
	}
	return strings.Join(rows, "\n")
}

func (a *app) body() string {
	l := a.at
	var body string
	switch {
	case len(a.screens) > 0:
		s := a.screen()
		body = block(s.View(a.frame(s)), l.width, l.bodyHeight)
	case l.wide:
		widths := []int{l.folders, l.threads, l.reader}
		columns := make([]string, 3)
		for i, s := range a.panes() {
			columns[i] = s.View(a.frame(s))
		}
		focus := -1
		if len(a.dialogs) == 0 {
			focus = a.focus
		}
		body = beside(a.theme, l.bodyHeight, columns, widths, focus)
	default:
		s := a.screen()
		body = block(s.View(a.frame(s)), l.width, l.bodyHeight)
	}
	for _, d := range a.dialogs {
		f := a.frame(d)
		body = overlay(body, d.View(f), l.width, l.bodyHeight)
	}
	return body
}

// topLine is the title on the left, the account and the clock on the right.
func (a *app) topLine() string {
	l := a.at
	s := a.screen()
	if l.wide && len(a.screens) == 0 {
		s = a.threads
	}
	title := " " + s.Title(a.frame(s))
	right := a.now.In(a.o.zone()).Format("15:04") + " "
	if acc := clean.Line(a.o.Account); acc != "" && l.width >= 50 {
		right = cells.Truncate(acc, l.width/3, a.theme.Glyphs.Ellipsis) + "   " + right
	}
	room := l.width - cells.Width(right) - 2
	title = cells.Truncate(title, room, a.theme.Glyphs.Ellipsis)
	return a.theme.Bold.Render(title) + cells.Blank(l.width-cells.Width(title)-cells.Width(right)) + a.theme.Muted.Render(right)
}

// newsInput is what the line of news is made from now.
func (a *app) newsInput() newsInput {
	ctx := a.top().Context()
	in := newsInput{
		Status: a.status, Now: a.now, Zone: a.o.zone(), Theme: a.theme, Esc: len(a.dialogs) == 0,
		Key: func(x keymap.Action) string { return firstKey(a.o.Keys, ctx, x) },
	}
	if a.quitting {
		in.Flash = "Saving what you wrote, then quitting" + a.theme.Dot() + "esc stays"
	} else if a.now.Before(a.flash.until) {
		in.Flash, in.FlashFailure, in.FlashAt = a.flash.text, a.flash.failure, a.flash.until.Add(-flashFor)
	}
	if a.now.Before(a.hello.until) {
		in.Hello = a.hello.text
	}
	return in
}

// hintLine is the bottom line: what may follow a pending key, else the keys of the screen.
func (a *app) hintLine() string {
	t, s := a.theme, a.top()
	var hints []keymap.Hint
	lead := " "
	if len(a.pending) > 0 {
		lead = " " + t.Bold.Render(strings.Join(a.pending, " ")) + t.Muted.Render(" then  ")
		hints = a.o.Keys.Next(s.Context(), a.pending)
		return fitHints(t, lead, hints, "", a.at.width)
	}
	hints = a.o.Keys.Hints(s.Context(), s.Hints(a.frame(s))...)
	end := ""
	if k := firstKey(a.o.Keys, s.Context(), keymap.Help); k != "" {
		end = hint(t, k, "keys")
	} else if k := firstKey(a.o.Keys, s.Context(), keymap.Palette); k != "" && s.Context() == keymap.InCompose {
		end = hint(t, k, "more") // where ? is a letter the list of commands shows the keys
	}
	return fitHints(t, lead, hints, end, a.at.width)
}

// fitHints writes as many hints as there is room for, whole ones only, with end at the right edge.
func fitHints(t *Theme, lead string, hints []keymap.Hint, end string, width int) string {
	var b strings.Builder
	b.WriteString(lead)
	used := cells.Width(lead)
	limit := width - 1
	if end != "" {
		limit -= cells.Width(end) + 2
	}
	for i, h := range hints {
		if h.Key == "1" {
			h.Key = t.Keep("1…9", "1-9")
		}
		w := cells.Width(h.Key) + 1 + cells.Width(h.Text)
		gap := 0
		if i > 0 {
			gap = 2
		}
		if used+gap+w > limit {
			break
		}
		b.WriteString(cells.Blank(gap) + hint(t, h.Key, h.Text))
		used += gap + w
	}
	if end != "" && used+cells.Width(end)+1 <= width {
		b.WriteString(cells.Blank(width-used-cells.Width(end)-1) + end)
	}
	return cells.Truncate(b.String(), width, "")
}

// firstKey is the preferred key of an action, or empty.
func firstKey(m *keymap.Map, ctx keymap.Context, a keymap.Action) string {
	if k := m.Keys(ctx, a); len(k) > 0 {
		return k[0]
	}
	return ""
}

// plural is a number with the right word.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// short is a subject for a sentence: clean, not empty, not long.
func short(subject string) string {
	s := clean.Line(subject)
	if s == "" {
		return "(no subject)"
	}
	return cells.Truncate(s, 40, "…")
}
