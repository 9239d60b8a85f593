package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

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
	case takeBackMsg:
		a.awaitText()
		a.o.Mail.TakeBack(msg.entry)
		return nil, true
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

type flash struct {
	text    string
	failure bool
	yields  bool // to what there is to see of it
	until   time.Time
}

func (a *app) say(text string, failure bool) {
	text = clean.Line(text)
	if len(text) > maxFlashLen {
		text = strings.ToValidUTF8(text[:maxFlashLen], "")
	}
	a.flash = flash{text: text, failure: failure, until: a.now.Add(flashFor)}
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
		return a.setFocus(paneThreads)
	}
	return a.openThread(a.threads.cursor)
}
