package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// key types into the part that has the keys.
func (c *compose) key(k tea.KeyMsg, f *Frame) {
	switch c.at {
	case partFrom:
		if c.texts[partFrom] != nil {
			c.fieldKey(k, f)
			return
		}
		c.fromKey(k)
	case partFiles:
		c.filesKey(k, f)
	case partSend:
		c.sendKey(k, f)
	case partBody:
		c.bodyKey(k)
	default:
		c.fieldKey(k, f)
	}
}

// unseen is how long after tab the Send button does not send yet: who meant to indent goes on typing at once.
const unseen = time.Second

// sendKey handles a key at the Send button. Text belongs to the message.
func (c *compose) sendKey(k tea.KeyMsg, f *Frame) {
	switch name := k.String(); {
	case k.Paste, typed(k) && name != " ":
		c.focus(partBody)
		c.bodyKey(k)
	case name == "up":
		c.step(-1)
	case name != "enter" && name != " ":
	case f.Now.Sub(c.reached) < unseen:
		f.Flash("Not sent yet" + f.Theme.Dot() + "enter sends it")
	default:
		c.send(time.Time{}, f)
	}
}

func (c *compose) bodyKey(k tea.KeyMsg) {
	e := c.texts[partBody]
	switch {
	case k.Paste:
		e.paste(string(k.Runes))
	case typed(k):
		e.insert(string(k.Runes))
	case k.String() == "up" && e.cur.row == 0 && e.line(0).sub(e.cur.col) == 0:
		c.step(-1)
	default:
		e.key(k.String())
	}
}

// typed reports that the key is text.
func typed(k tea.KeyMsg) bool {
	return (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && !k.Alt
}

func (c *compose) fieldKey(k tea.KeyMsg, f *Frame) {
	e := c.texts[c.at]
	list := c.at != partSubject
	switch {
	case k.Paste && list:
		if finished(e) {
			e.insert(", ")
		}
		e.paste(pastedAddresses(string(k.Runes)))
		c.people.close()
		return
	case k.Paste:
		e.paste(string(k.Runes))
		return
	case typed(k):
		if list && finished(e) && !strings.ContainsAny(string(k.Runes[:1]), ",; ") {
			e.insert(", ")
		}
		e.insert(string(k.Runes))
	default:
		switch k.String() {
		case "enter", "ctrl+j":
			if c.people.wants() {
				c.people.take(e)
			} else {
				c.step(1)
			}
			return
		case "down", "ctrl+n":
			if c.people.open() {
				c.people.move(1)
			} else {
				c.step(1)
			}
			return
		case "up", "ctrl+p":
			if c.people.open() {
				c.people.move(-1)
			} else {
				c.step(-1)
			}
			return
		}
		e.key(k.String())
	}
	if list {
		c.people.look(e, f.Mail)
	}
}

// finished reports that the cursor stands right behind an address in brackets: what follows is another one.
func finished(e *editor) bool {
	s := e.lines[0].text
	return e.cur.col == len(s) && strings.HasSuffix(s, ">")
}

func (c *compose) fromKey(k tea.KeyMsg) {
	if k.Paste {
		return
	}
	name := k.String()
	if c.choose < 0 {
		switch name {
		case "enter", " ", "right":
			if len(c.from) > 1 {
				c.choose = c.fromIndex()
			}
		case "down", "ctrl+n":
			c.step(1)
		}
		return
	}
	switch name {
	case "down", "ctrl+n", "j":
		c.choose = (c.choose + 1) % len(c.from)
	case "up", "ctrl+p", "k":
		c.choose = (c.choose + len(c.from) - 1) % len(c.from)
	case "enter", " ":
		c.takeFrom()
	}
}

func (c *compose) fromIndex() int {
	for i, a := range c.from {
		if strings.EqualFold(a.Email, c.draft.From) || strings.EqualFold(writtenAddress(a), c.draft.From) {
			return i
		}
	}
	return 0
}

// takeFrom makes the chosen identity the sender.
func (c *compose) takeFrom() {
	if c.choose >= 0 && c.choose < len(c.from) {
		if was := c.draft.From; was != c.from[c.choose].Email {
			c.draft.From = c.from[c.choose].Email
			c.seen-- // nothing was typed, but there is something to save
		}
	}
	c.choose = -1
}

func (c *compose) filesKey(k tea.KeyMsg, f *Frame) {
	if k.Paste {
		return
	}
	switch k.String() {
	case "left", "h":
		c.file = max(c.file-1, 0)
	case "right", "l":
		c.file = min(c.file+1, len(c.draft.Files)-1)
	case "backspace", "delete", "x":
		c.detach(f)
	case "up":
		c.step(-1)
	case "down", "enter":
		c.step(1)
	}
}

// shows reports whether Cc or Bcc is on the screen: used, or asked for.
func (c *compose) shows(p part) bool { return c.copies || c.at == p || !c.texts[p].empty() }

// parts are those that tab goes through.
func (c *compose) parts() []part {
	out := make([]part, 0, 8)
	if len(c.from) != 1 {
		out = append(out, partFrom)
	}
	out = append(out, partTo)
	for _, p := range []part{partCc, partBcc} {
		if c.shows(p) {
			out = append(out, p)
		}
	}
	out = append(out, partSubject, partBody)
	if len(c.draft.Files) > 0 {
		out = append(out, partFiles)
	}
	return append(out, partSend)
}

func (c *compose) step(n int) {
	ps := c.parts()
	for i, p := range ps {
		if p == c.at {
			c.focus(ps[(i+n+len(ps))%len(ps)])
			return
		}
	}
	c.focus(ps[0])
}

func (c *compose) focus(p part) {
	c.people.close()
	c.choose = -1
	if e := c.texts[c.at]; e != nil {
		e.seal()
	}
	c.at = p
}
