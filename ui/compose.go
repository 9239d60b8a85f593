package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// part is one place of the compose screen that the keys can be in.
type part int

const (
	partFrom part = iota
	partTo
	partCc
	partBcc
	partSubject
	partBody
	partFiles
	partSend
)

// compose is the screen on which a message is written. What it holds is the truth while it is open: news about the
// thread never changes a character of it.
type compose struct {
	draft   state.Draft
	texts   map[part]*editor // To, Cc, Bcc, Subject and the body
	at      part
	copies  bool // Cc and Bcc were asked for
	from    []state.Address
	choose  int // the line of the From list, or -1 while it is closed
	people  completion
	file    int // the chosen attachment
	seen    uint64
	touched bool // something was changed since it was opened

	problem    string // why it was not sent, shown at problemAt
	problemAt  part
	reached    time.Time // when tab came to the Send button
	askedEmpty bool      // the missing subject was asked about
	sure       bool      // the question before sending was answered with yes
	entry      state.EntryID
	entrySeen  bool
	gone       bool // sent or thrown away: nothing is kept on leaving
	editing    bool // the text is in another program
	bodyTop    int  // where the body stood when it was drawn, for clicks
	bodyLeft   int
	bodyHeight int
}

// What the commands of compose answer. Each names its draft: there may be two screens.
type (
	composeSendMsg    struct{ draft state.DraftID }
	composeLaterMsg   struct{ draft state.DraftID }
	composeDiscardMsg struct{ draft state.DraftID }
	editorFileMsg     struct {
		draft state.DraftID
		path  string
		err   error
	}
	editorDoneMsg struct {
		draft state.DraftID
		err   error
	}
	editorAdoptedMsg struct {
		draft state.DraftID
		text  state.Draft
		err   error
	}
)

// newCompose opens a message that is being written.
func newCompose(d state.Draft) Screen {
	c := &compose{draft: d, choose: -1, texts: map[part]*editor{
		partTo: addressField(d.To), partCc: addressField(d.Cc), partBcc: addressField(d.Bcc), partSubject: newField(d.Subject), partBody: newEditor(d.Body),
	}}
	switch {
	case c.texts[partTo].empty():
		c.at = partTo
	case c.texts[partSubject].empty():
		c.at = partSubject
	default:
		c.at = partBody
	}
	body := c.texts[partBody]
	body.moveTo(whereToWrite(body))
	c.seen = c.revs()
	return c
}

// whereToWrite is the end of what the person wrote: before the signature and the quoted or forwarded message.
func whereToWrite(e *editor) place {
	own := len(e.lines)
	for i := range e.lines {
		text := e.lines[i].text
		quoted := strings.HasPrefix(text, ">")
		attribution := strings.HasSuffix(text, ":") && i+1 < len(e.lines) && strings.HasPrefix(e.lines[i+1].text, ">")
		if quoted || attribution || text == state.SignatureMark || strings.HasPrefix(text, "---------- Forwarded message") {
			own = i
			break
		}
	}
	for i := own - 1; i >= 0; i-- {
		if strings.TrimSpace(e.lines[i].text) != "" {
			return place{i, len(e.lines[i].text)}
		}
	}
	return place{}
}

// DraftID names the message that is being written.
func (c *compose) DraftID() state.DraftID { return c.draft.ID }

func (c *compose) revs() uint64 {
	var n uint64
	for _, e := range c.texts {
		n += e.rev
	}
	return n
}

// Init finds out who may be in From.
func (c *compose) Init(f *Frame) tea.Cmd {
	c.identities(f)
	return nil
}

func (c *compose) identities(f *Frame) {
	c.from = f.Mail.Identities()
	switch {
	case len(c.from) == 0 && c.texts[partFrom] == nil:
		// No address of the person's own is known yet: it can be typed.
		c.texts[partFrom] = addressField(c.draft.From)
		c.seen = c.revs()
	case len(c.from) > 0 && c.texts[partFrom] != nil:
		delete(c.texts, partFrom)
		c.seen = c.revs()
	}
	if c.draft.From == "" && len(c.from) > 0 {
		c.draft.From = c.from[0].Email
	}
}

// Leave is the end of the screen, whoever closed it.
func (c *compose) Leave(f *Frame) {
	switch {
	case c.gone || c.entry != "":
	case c.blank():
		if c.touched {
			f.Mail.DiscardDraft(c.draft.ID)
		}
		return
	case c.touched:
		f.Flash("Draft kept" + f.Theme.Dot() + "it is among the drafts")
	}
	f.Mail.CloseDraft(c.draft.ID)
}

// blank reports that there is nothing worth keeping.
func (c *compose) blank() bool {
	return c.typed().Empty()
}

// typed is the draft with what stands on the screen.
func (c *compose) typed() state.Draft {
	d := c.draft
	d.To, d.Cc, d.Bcc = c.texts[partTo].text(), c.texts[partCc].text(), c.texts[partBcc].text()
	if e := c.texts[partFrom]; e != nil {
		d.From = e.text()
	}
	d.Subject, d.Body = c.texts[partSubject].text(), c.texts[partBody].text()
	return d
}

// sync hands what was typed to Mail, which has it on disk within a second.
func (c *compose) sync(f *Frame) {
	r := c.revs()
	if r == c.seen {
		return
	}
	c.seen, c.touched = r, true
	if c.problem != "" && c.at == c.problemAt {
		c.problem = ""
	}
	c.collect(f)
	f.Mail.EditDraft(c.draft)
}

// collect brings the draft up to what is on the screen.
func (c *compose) collect(f *Frame) {
	c.draft = c.typed()
	c.draft.UpdatedAt = f.Now
	c.adopt(f)
}

// adopt takes over what only Mail knows of the draft: its attachments and the id of the server's copy.
func (c *compose) adopt(f *Frame) {
	if d, ok := f.Mail.Draft(c.draft.ID); ok {
		if len(d.Files) != len(c.draft.Files) {
			c.touched = true
		}
		c.draft.Files, c.draft.ServerID = d.Files, d.ServerID
	}
	c.file = max(min(c.file, len(c.draft.Files)-1), 0)
	if len(c.draft.Files) == 0 && c.at == partFiles {
		c.at = partBody
	}
}

// Update handles text, pastes, the mouse and the answers of its own commands.
func (c *compose) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if c.entry == "" && !c.editing {
			c.key(msg, f)
			c.sync(f)
		}
	case tea.MouseMsg:
		c.mouse(msg)
	case mailMsg:
		if len(c.from) == 0 {
			c.identities(f)
		}
		c.adopt(f)
		c.settle(f)
	case composeSendMsg:
		if msg.draft == c.draft.ID {
			c.sure = true
			c.send(time.Time{}, f)
			c.sure = false
		}
	case composeLaterMsg:
		if msg.draft == c.draft.ID {
			c.later(f)
		}
	case composeDiscardMsg:
		if msg.draft == c.draft.ID && c.entry == "" {
			c.gone = true
			f.Mail.DiscardDraft(c.draft.ID)
			f.Pop()
			f.Flash("Draft thrown away")
		}
	case editorFileMsg, editorDoneMsg, editorAdoptedMsg:
		return c, c.editor(msg, f)
	}
	return c, nil
}

// attach hands a file to Mail, after the draft itself: a new one is not known there before its first change.
func (c *compose) attach(path string, f *Frame) tea.Cmd {
	c.collect(f)
	c.touched = true
	f.Mail.EditDraft(c.draft)
	f.Mail.Attach(c.draft.ID, path)
	return nil
}

func (c *compose) detach(f *Frame) {
	n := len(c.draft.Files)
	if n == 0 {
		f.Flash("There is no attachment to remove")
		return
	}
	i := n - 1
	if c.at == partFiles {
		i = min(c.file, n-1)
	}
	file := c.draft.Files[i]
	f.Mail.Detach(c.draft.ID, file.ID)
	c.touched = true
	c.adopt(f)
	f.Flash("Removed " + clean.Filename(file.Name))
}

// Act does the actions of the compose screen.
func (c *compose) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	if c.entry != "" {
		// It is on its way to the disk: a second ctrl+d, or anything else, must not begin anew.
		if a == keymap.Back {
			f.Flash("Saving the message for sending; this closes by itself")
		}
		return c, nil, a != keymap.Quit
	}
	if c.editing {
		return c, nil, a != keymap.Quit
	}
	var cmd tea.Cmd
	switch a {
	case keymap.Send:
		c.send(time.Time{}, f)
	case keymap.SendLater:
		c.later(f)
	case keymap.Save:
		c.collect(f)
		c.touched = true
		f.Mail.SaveDraft(c.draft)
	case keymap.Editor:
		cmd = c.startEditor(f)
	case keymap.Attach:
		f.Dialog(newAttach(c.attach))
	case keymap.RemoveAttachment:
		c.detach(f)
	case keymap.Discard:
		id := c.draft.ID
		if f.Options.DiscardUnasked {
			return c, func() tea.Msg { return composeDiscardMsg{id} }, true
		}
		f.Dialog(newConfirm("Throw this message away? It cannot be brought back.", "throw it away", func() tea.Msg { return composeDiscardMsg{id} }))
	case keymap.NextField:
		switch {
		case c.choose >= 0:
			c.takeFrom()
			c.step(1)
		case c.people.wants():
			c.people.take(c.texts[c.at])
		default:
			c.step(1)
			if c.at == partSend {
				c.reached = f.Now
			}
		}
	case keymap.PrevField:
		c.step(-1)
	case keymap.Copies:
		c.copies = true
		if c.at == partCc || c.at != partBcc && !c.texts[partCc].empty() {
			c.focus(partBcc)
		} else {
			c.focus(partCc)
		}
	case keymap.EditUndo, keymap.EditRedo:
		c.undo(a == keymap.EditRedo, f)
	case keymap.Back:
		switch {
		case c.people.open():
			c.people.close()
		case c.choose >= 0:
			c.choose = -1
		case c.problem != "":
			c.problem = ""
		default:
			f.Pop()
		}
	default:
		return c, nil, false
	}
	c.sync(f)
	return c, cmd, true
}

func (c *compose) undo(again bool, f *Frame) {
	e := c.texts[c.at]
	if e == nil {
		e = c.texts[partBody]
	}
	c.people.close()
	switch {
	case again && !e.redoStep():
		f.Flash("There is nothing to do again")
	case !again && !e.undoStep():
		f.Flash("There is nothing to undo here")
	}
}

// Context is that of the compose screen.
func (c *compose) Context() keymap.Context { return keymap.InCompose }

// Capturing is true: letters are text here.
func (c *compose) Capturing() bool { return true }

// Hints are the keys of the bottom line.
func (c *compose) Hints(f *Frame) []keymap.Action {
	if c.entry != "" {
		return nil
	}
	var out []keymap.Action
	if c.at == partFiles {
		out = append(out, keymap.RemoveAttachment)
	}
	if f.Width < 72 {
		out = append(out, keymap.Send, keymap.NextField, keymap.Back, keymap.SendLater, keymap.Attach, keymap.Editor)
	} else {
		out = append(out, keymap.Send, keymap.SendLater, keymap.Attach, keymap.Editor, keymap.Back, keymap.NextField)
	}
	return append(out, keymap.EditUndo, keymap.Discard, keymap.Save)
}

// Every is once a second while the age of the last save is told in seconds.
func (c *compose) Every(f *Frame) time.Duration {
	st := f.Mail.DraftStatus(c.draft.ID)
	if st.At.IsZero() || st.State == state.SaveNone {
		return 0
	}
	if f.Now.Sub(st.At) < time.Minute {
		return time.Second
	}
	return 30 * time.Second
}
