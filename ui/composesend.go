package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// send checks the message and hands it to the outbox. It happens once, however often the key comes.
func (c *compose) send(at time.Time, f *Frame) {
	if c.entry != "" {
		return
	}
	if !c.ready(f) {
		return
	}
	if c.texts[partSubject].empty() && !c.askedEmpty {
		c.askedEmpty = true
		c.focus(partSubject)
		id := c.draft.ID
		again := tea.Msg(composeSendMsg{id})
		if !at.IsZero() {
			again = composeLaterMsg{id}
		}
		f.Dialog(newConfirm("This message has no subject. Send it without one?", "send it", func() tea.Msg { return again }))
		return
	}
	if f.Options.ConfirmSend && at.IsZero() && !c.sure {
		again := composeSendMsg{c.draft.ID}
		f.Dialog(newConfirm("Send this message now?", "send it", func() tea.Msg { return again }))
		return
	}
	c.entry = f.Mail.Send(c.draft, state.SendOptions{At: at})
	c.settle(f)
}

// later asks for a time, then sends.
func (c *compose) later(f *Frame) {
	if c.entry != "" || !c.ready(f) {
		return
	}
	if c.texts[partSubject].empty() && !c.askedEmpty {
		c.send(f.Now, f)
		return
	}
	f.Dialog(newTimePicker("Send this message at", "sends it then", "back to writing", f, func(at time.Time, f *Frame) tea.Cmd {
		c.send(at, f)
		return nil
	}))
}

// ready collects the message and checks it; a problem is shown at its field, which gets the keys.
func (c *compose) ready(f *Frame) bool {
	c.people.close()
	c.collect(f)
	c.problem = ""
	for _, p := range []part{partTo, partCc, partBcc} {
		if bad, ok := badAddress(c.texts[p].text()); ok {
			c.fail(p, quoted(bad)+" is not an address: it needs a form such as name@example.com.")
			return false
		}
	}
	why := f.Mail.CheckDraft(c.draft)
	if why == "" {
		return true
	}
	p, why := c.blame(why)
	c.fail(p, why)
	return false
}

// blame finds the field that a problem speaks of: it is named at the beginning. The rest is returned with it.
func (c *compose) blame(why string) (part, string) {
	if name, rest, ok := strings.Cut(why, ": "); ok {
		for p, n := range map[part]string{partFrom: "From", partTo: "To", partCc: "Cc", partBcc: "Bcc", partSubject: "Subject"} {
			if name == n {
				return p, rest
			}
		}
	}
	if len(c.draft.Files) > 0 && strings.Contains(strings.ToLower(why), "attachment") {
		return partFiles, why
	}
	return partTo, why
}

func (c *compose) fail(p part, why string) {
	c.problem, c.problemAt = sentence(clean.Line(why)), p
	if p == partFrom && len(c.from) == 1 {
		// It cannot be changed here, so the keys stay where they are.
		return
	}
	c.focus(p)
}

// settle closes the screen once the message is on disk in the outbox, and keeps the text when it is not.
func (c *compose) settle(f *Frame) {
	if c.entry == "" || c.gone {
		return
	}
	e, ok := f.Mail.Entry(c.entry)
	switch {
	case !ok && !c.entrySeen:
	case ok && e.State == state.EntrySaving:
		c.entrySeen = true
	case ok && e.State == state.EntryFailed && e.Attempts == 0 && e.Status == 0:
		f.Mail.Drop(c.entry)
		c.entry, c.entrySeen = "", false
		why := clean.Line(e.Why)
		if why == "" {
			why = "the disk refused it"
		}
		c.problem, c.problemAt = "Not sent: "+strings.TrimSuffix(why, ".")+". Your text is still here.", partSend
		c.focus(partBody)
	default:
		c.gone = true
		f.Pop()
	}
}
