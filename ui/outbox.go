package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// outbox lists the messages that have not left yet, and those that just did, with what can be done about each.
type outbox struct {
	sel   state.EntryID
	index int
	top   int
	// editing is the entry that is looked up before its text may open again.
	editing state.EntryID
}

func newOutbox() Screen { return &outbox{} }

// cursor is the chosen entry; it holds to the id, so that news never moves it.
func (o *outbox) cursor(list []state.Entry) int {
	for i := range list {
		if list[i].ID == o.sel {
			o.index = i
			return i
		}
	}
	o.index = max(min(o.index, len(list)-1), 0)
	if len(list) > 0 {
		o.sel = list[o.index].ID
	}
	return o.index
}

func (o *outbox) move(to int, list []state.Entry) {
	if len(list) > 0 {
		o.index = max(min(to, len(list)-1), 0)
		o.sel = list[o.index].ID
	}
}

func (o *outbox) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		o.resume(f)
	case tea.MouseMsg:
		list := f.Mail.Outbox()
		i := o.cursor(list)
		switch msg.Button {
		case tea.MouseButtonWheelDown:
			o.move(i+1, list)
		case tea.MouseButtonWheelUp:
			o.move(i-1, list)
		case tea.MouseButtonLeft:
			if h := o.listHeight(f, list); msg.Y < h {
				o.move(keep(o.top, i, len(list), h)+msg.Y, list)
			}
		}
	}
	return o, nil
}

// resume goes on with an edit that had to wait for the server's answer.
func (o *outbox) resume(f *Frame) {
	if o.editing == "" {
		return
	}
	e, ok := f.Mail.Entry(o.editing)
	switch {
	case !ok:
		o.editing = ""
	case e.Ask == state.AskEditAsNew:
		o.editing = ""
		if f.Focused {
			o.askAsNew(e, f)
		}
	case e.CanEdit:
		o.editing = ""
		if d, ok := f.Mail.EditEntry(e.ID); ok && f.Focused {
			f.Ask(openDraftMsg{d})
		}
	case e.State == state.EntrySent, e.State == state.EntryAccepted, e.State == state.EntryCancelled:
		o.editing = ""
	}
}

// askAsNew warns that two may arrive, then opens the text as a new message.
func (o *outbox) askAsNew(e state.Entry, f *Frame) {
	m, id := f.Mail, e.ID
	f.Dialog(newConfirm(quoted(e.Subject)+" may already have been sent. If you edit it as a new message and send that, two may arrive.",
		"edit as a new message", func() tea.Msg {
			if d, ok := m.EditAsNew(id); ok {
				return openDraftMsg{d}
			}
			return flashMsg{text: "Its text cannot be opened any more", failure: true}
		}))
}

func (o *outbox) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	list := f.Mail.Outbox()
	i := o.cursor(list)
	h := max(o.listHeight(f, list), 1)
	if to, ok := listMove(a, i, len(list), h); ok {
		o.move(to, list)
		return o, nil, true
	}
	switch a {
	case keymap.SendNow, keymap.Hold, keymap.Drop, keymap.Edit, keymap.EditAsNew, keymap.Open, keymap.Undo, keymap.Retry:
		if len(list) == 0 {
			return o, nil, a != keymap.Undo && a != keymap.Retry
		}
		return o, nil, o.do(a, list[i], f)
	case keymap.Select:
		f.Flash("Messages in the outbox are handled one by one")
	default:
		return o, nil, false
	}
	return o, nil, true
}

// do does what can be done with an entry, or says why it cannot.
func (o *outbox) do(a keymap.Action, e state.Entry, f *Frame) bool {
	busy := e.State == state.EntrySaving || e.State == state.EntrySending
	name := quoted(e.Subject)
	switch a {
	case keymap.SendNow, keymap.Retry:
		switch {
		case e.CanSend:
			f.Mail.SendNow(e.ID)
		case a == keymap.Retry:
			return false
		case busy:
			f.Flash(name + " is being sent already")
		default:
			f.Flash(name + ": " + done(e))
		}
	case keymap.Hold:
		switch {
		case e.State == state.EntryHeld:
			f.Flash(name + " is held already")
		case settled(e):
			f.Flash(name + ": " + done(e))
		default:
			f.Mail.Hold(e.ID)
		}
	case keymap.Drop:
		if !e.CanDrop {
			f.Flash(name + " cannot be dropped now: " + notFree(e))
			break
		}
		if offTheList(e) {
			f.Mail.Drop(e.ID)
			break
		}
		m, id := f.Mail, e.ID
		f.Dialog(newConfirm("Drop "+name+"? It is not sent, and its text is lost.", "drop it", func() tea.Msg {
			m.Drop(id)
			return nil
		}))
	case keymap.Edit, keymap.Open:
		if e.Ask == state.AskSendAgain {
			f.Flash(name + " was handed over: send it again, or take it off this list")
			break
		}
		if e.Ask == state.AskEditAsNew {
			o.askAsNew(e, f)
			break
		}
		if a == keymap.Open && !e.CanEdit {
			if settled(e) && e.ThreadID != "" {
				f.Ask(openThreadMsg{e.ThreadID})
			} else {
				f.Flash(name + ": " + notFree(e))
			}
			break
		}
		if settled(e) && !e.CanEdit {
			f.Flash(name + ": " + done(e))
			break
		}
		if d, ok := f.Mail.EditEntry(e.ID); ok {
			f.Ask(openDraftMsg{d})
			break
		}
		o.editing = e.ID
		f.Flash("Finding out first whether " + name + " arrived")
	case keymap.EditAsNew:
		if e.CanEdit {
			if d, ok := f.Mail.EditEntry(e.ID); ok {
				f.Ask(openDraftMsg{d})
				break
			}
		}
		o.askAsNew(e, f)
	case keymap.Undo:
		if !e.CanTakeBack || takingBack(e) {
			return false
		}
		f.Mail.TakeBack(e.ID)
	}
	return true
}

func (o *outbox) Context() keymap.Context { return keymap.InOutbox }

func (o *outbox) Capturing() bool { return false }

func (o *outbox) Title(f *Frame) string {
	n := 0
	for _, e := range f.Mail.Outbox() {
		if e.State != state.EntrySent && e.State != state.EntryCancelled {
			n++
		}
	}
	if n == 0 {
		return "Outbox"
	}
	return "Outbox" + f.Theme.Dot() + plural(n, "message", "messages") + " not sent yet"
}

// Hints are the keys that do something to the chosen entry.
func (o *outbox) Hints(f *Frame) []keymap.Action {
	var out []keymap.Action
	if list := f.Mail.Outbox(); len(list) > 0 {
		e := list[o.cursor(list)]
		if e.CanTakeBack && !takingBack(e) {
			out = append(out, keymap.Undo)
		}
		if e.CanSend {
			out = append(out, keymap.SendNow)
		}
		if holdable(e) {
			out = append(out, keymap.Hold)
		}
		if e.CanEdit {
			out = append(out, keymap.Edit)
		}
		if e.CanDrop {
			out = append(out, keymap.Drop)
		}
	}
	return append(out, keymap.Down, keymap.Up, keymap.Back, keymap.Activity, keymap.Compose)
}

// Every follows the countdowns.
func (o *outbox) Every(f *Frame) time.Duration {
	d := time.Duration(0)
	for _, e := range f.Mail.Outbox() {
		switch {
		case e.Until.After(f.Now):
			return time.Second
		case e.State == state.EntrySent && f.Now.Sub(e.SettledAt) < time.Minute:
			return time.Second
		case !settled(e):
			d = 30 * time.Second
		}
	}
	return d
}
