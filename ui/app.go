package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

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

	preview  preview // what the reader shows beside the list
	takeback takeback

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
		f.docked = a.docked()
		switch s {
		case a.folders:
			f.Width = a.at.folders
		case a.threads:
			f.Width = a.at.threads
		case a.reader:
			f.Width, f.barren = a.at.reader, len(a.threads.ids) == 0
		case a.screen():
			if f.docked != "" {
				f.Width = a.at.beside()
			}
		}
	}
	return f
}

// docked is what the screen beside the sidebar of a wide window is for, when it is one that stands there instead of the
// list and the reader; else it is empty.
func (a *app) docked() state.Role {
	if !a.at.wide || len(a.screens) != 1 {
		return ""
	}
	switch a.screens[0].(type) {
	case *drafts:
		return state.RoleDrafts
	case *outbox:
		return state.RoleOutbox
	}
	return ""
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

// Update handles a message. It changes memory only.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	a.now = a.o.Mail.Now()
	cmd := join(a.handle(msg), a.followList())
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
		return tea.Batch(cmd, a.openTakenBack(), waitCmd(a.o.Mail.Updates()), a.tryQuit())
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

// update gives msg to one screen and does what it asks.
func (a *app) update(s Screen, msg tea.Msg) tea.Cmd {
	f := a.frame(s)
	n, cmd := s.Update(msg, f)
	a.replace(s, n)
	return join(cmd, a.doAsks(f))
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

// tickCmd asks to be woken when the frame would look different without anything having happened.
func (a *app) tickCmd() tea.Cmd {
	wait := a.now.Truncate(time.Minute).Add(time.Minute).Sub(a.now)
	soon := func(d time.Duration) {
		if d > 0 {
			wait = min(wait, max(d, 50*time.Millisecond))
		}
	}
	soon(newsEvery(a.newsInput()))
	soon(a.preview.due.Sub(a.now))
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
