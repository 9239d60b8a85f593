package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// outbox lists the messages that have not left yet, and those that just did, with what can be done about each.
type outbox struct {
	listing[state.EntryID]
	list []state.Entry
	// editing is the entry that is looked up before its text may open again.
	editing state.EntryID
}

func newOutbox() Screen { return &outbox{} }

func (o *outbox) Init(f *Frame) tea.Cmd {
	o.refresh(f)
	return nil
}

// refresh takes the newest snapshot.
func (o *outbox) refresh(f *Frame) {
	o.list = f.Mail.Outbox()
	ids := make([]state.EntryID, len(o.list))
	for i := range o.list {
		ids[i] = o.list[i].ID
	}
	o.settle(ids)
	o.scroll(o.listHeight(f))
}

func (o *outbox) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		o.refresh(f)
		o.resume(f)
	case tea.WindowSizeMsg:
		o.scroll(o.listHeight(f))
	case tea.MouseMsg:
		o.mouse(msg, o.listHeight(f))
		o.scroll(o.listHeight(f))
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
	o.refresh(f)
	if to, ok := listMove(a, o.at, len(o.list), o.listHeight(f)); ok {
		o.moveTo(to, f.Height)
		o.scroll(o.listHeight(f)) // each entry has as much to say as it has
		return o, nil, true
	}
	switch a {
	case keymap.SendNow, keymap.Hold, keymap.Drop, keymap.Edit, keymap.EditAsNew, keymap.Open, keymap.Undo, keymap.Retry:
		if len(o.list) == 0 {
			return o, nil, a != keymap.Undo && a != keymap.Retry
		}
		return o, nil, o.do(a, o.list[o.at], f)
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
		f.Ask(takeBackMsg{e.ID})
	}
	return true
}

func (o *outbox) Context() keymap.Context { return keymap.InOutbox }

func (o *outbox) Capturing() bool { return false }

func (o *outbox) Title(f *Frame) string {
	n := 0
	for _, e := range o.list {
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
	if len(o.list) > 0 {
		e := o.list[o.at]
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

// Word says what dropping and sending mean for the chosen entry.
func (o *outbox) Word(a keymap.Action, _ *Frame) string {
	if len(o.list) == 0 {
		return ""
	}
	switch e := o.list[o.at]; {
	case a == keymap.Drop && offTheList(e):
		return "take off"
	case a == keymap.Undo:
		return "take back"
	case a == keymap.SendNow && (e.Ask == state.AskTryAgain || e.Ask == state.AskSendAgain):
		return "send again"
	}
	return ""
}

// Every follows the countdowns.
func (o *outbox) Every(f *Frame) time.Duration {
	d := time.Duration(0)
	for _, e := range o.list {
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
