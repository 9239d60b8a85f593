package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	labelCells = 9  // of the names of the fields
	maxMeasure = 96 // longest line of the body, in cells: longer ones are hard to read
)

// Title says what is being written and how safe it is.
func (c *compose) Title(f *Frame) string {
	s := "New message"
	switch c.draft.Kind {
	case state.DraftReply:
		s = "Reply"
	case state.DraftReplyAll:
		s = "Reply to all"
	case state.DraftForward:
		s = "Forward"
	}
	if w := saveWords(f.Mail.DraftStatus(c.draft.ID), f.Now); w != "" && c.entry == "" {
		if f.Width < 72 {
			w = strings.Replace(strings.TrimPrefix(w, "draft "), " on this machine", " here", 1)
		}
		s += f.Theme.Dot() + w
	}
	return s
}

// soonAtServer is how long the copy at the server may take before the person is told that there is none yet.
const soonAtServer = 15 * time.Second

// saveWords says how safe a draft is.
func saveWords(st state.DraftStatus, now time.Time) string {
	switch st.State {
	case state.SaveDirty:
		return "saving"
	case state.SaveDisk:
		if now.Sub(st.At) < soonAtServer {
			return "draft saved " + ago(st.At, now)
		}
		return "draft saved on this machine " + ago(st.At, now)
	case state.SaveServer:
		return "draft saved " + ago(st.At, now)
	case state.SaveUnknown:
		return "draft saved on this machine, the server's answer was lost"
	case state.SaveFailed:
		if p := clean.Line(st.Problem); p != "" {
			return "draft NOT saved: " + p
		}
		return "draft NOT saved"
	}
	return ""
}

// ago says how long ago something was.
func ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return ""
	case d < 2*time.Second:
		return "just now"
	case d < time.Minute:
		return itoa(int(d/time.Second)) + " s ago"
	case d < time.Hour:
		return itoa(int(d/time.Minute)) + " min ago"
	}
	s := clock(at.In(now.Location()), now)
	if len(s) == len("15:04") {
		return "at " + s
	}
	return "on " + s
}

// View draws the fields, the text and the foot.
func (c *compose) View(f *Frame) string {
	t := f.Theme
	w, h := f.Width, f.Height
	var rows []string
	popAt := -1
	var pop []string
	label := func(p part, name string) string {
		s := " " + cells.Fit(name, labelCells)
		if c.at == p && c.entry == "" {
			return t.AccentBold.Render(s)
		}
		return t.Field.Render(s)
	}
	value := max(w-labelCells-2, 1)
	add := func(p part, name, val string) {
		rows = append(rows, label(p, name)+val)
		if c.problem != "" && c.problemAt == p {
			rows = append(rows, c.problemRows(t, w)...)
		}
	}
	field := func(p part, name string, width int, tail string) {
		on := c.at == p && c.entry == "" && f.Focused
		if on || p != partTo && p != partCc && p != partBcc {
			add(p, name, fieldView(c.texts[p], t, width, on)+tail)
		} else {
			// Who gets it is seen before it goes.
			list := addressesRows(c.texts[p], t, width, value, max(min(3, (h-3)/4), 1))
			for i, l := range list {
				if i == 0 {
					rows = append(rows, label(p, name)+l+tail)
				} else {
					rows = append(rows, cells.Blank(labelCells+1)+l)
				}
			}
			if c.problem != "" && c.problemAt == p {
				rows = append(rows, c.problemRows(t, w)...)
			}
		}
		if c.at == p && c.people.open() {
			popAt, pop = len(rows), c.people.rows(t, max(min(value-4, 66), 1), f.Now)
		}
	}

	if c.texts[partFrom] != nil {
		field(partFrom, "From", value, "")
	} else if h >= 7 || c.at == partFrom {
		c.fromRow(t, value, add)
		if c.choose >= 0 {
			popAt = len(rows)
			for i, a := range c.from {
				s := cells.Fit(writtenAddress(a), max(min(value-6, 64), 1))
				if i == c.choose {
					pop = append(pop, t.Accent.Render(t.Glyphs.Bar)+" "+t.Bold.Render(s))
				} else {
					pop = append(pop, "  "+s)
				}
			}
		}
	}
	missing := ""
	switch cc, bcc := c.shows(partCc), c.shows(partBcc); {
	case !cc && !bcc:
		missing = "Cc/Bcc"
	case !bcc:
		missing = "Bcc"
	case !cc:
		missing = "Cc"
	}
	if k := firstKey(f.Keys, keymap.InCompose, keymap.Copies); missing == "" || value < 30 || k == "" {
		field(partTo, "To", value, "")
	} else {
		tail := hint(t, k, missing)
		field(partTo, "To", value-cells.Width(tail)-2, "  "+tail)
	}
	for _, p := range []part{partCc, partBcc} {
		if c.shows(p) && (h >= 9 || c.at == p) {
			field(p, map[part]string{partCc: "Cc", partBcc: "Bcc"}[p], value, "")
		}
	}
	field(partSubject, "Subject", value, "")
	if h >= 9 {
		rows = append(rows, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(w-2, 0))))
	}
	foot := c.footRows(f, w, h)
	bodyH := max(h-len(rows)-len(foot), 1)
	rows = append(rows, c.bodyRows(f, w, bodyH, len(rows))...)
	for len(rows) < h-len(foot) {
		rows = append(rows, "")
	}
	rows = append(rows, foot...)

	if popAt >= 0 {
		inner := 0
		for _, l := range pop {
			inner = max(inner, cells.Width(l))
		}
		at := labelCells + 1
		for i, l := range strings.Split(box(t, "", pop, min(inner, w-at-4)), "\n") {
			if y := popAt + i; y < len(rows) {
				rows[y] = cells.Blank(at) + l
			}
		}
	}
	if c.entry != "" && len(rows) > 0 {
		rows[len(rows)-1] = " " + t.AccentBold.Render("Saving the message for sending"+t.Glyphs.Ellipsis)
	}
	if len(rows) > h {
		rows = rows[:h]
	}
	return strings.Join(rows, "\n")
}

func (c *compose) fromRow(t *Theme, value int, add func(part, string, string)) {
	from := clean.Line(c.draft.From)
	if i := c.fromIndex(); len(c.from) > 0 && (strings.EqualFold(c.from[i].Email, c.draft.From) || c.draft.From == "") {
		from = writtenAddress(c.from[i])
	}
	s := cells.Fit(from, value-2)
	switch {
	case len(c.from) > 1 && c.at == partFrom && c.choose < 0:
		s = t.Reverse.Render(strings.TrimRight(s, " ")) + cells.Blank(value-2-cells.Width(strings.TrimRight(s, " "))) + t.Accent.Render(t.Glyphs.Open)
	case len(c.from) > 1:
		s += t.Muted.Render(t.Glyphs.Open)
	}
	add(partFrom, "From", s)
}

func (c *compose) problemRows(t *Theme, w int) []string {
	indent := labelCells + 1
	out := wrapStyled(t.Danger, t.Glyphs.Failed+" "+c.problem, max(w-indent-1, 10))
	if len(out) > 2 {
		out = out[:2]
	}
	for i := range out {
		out[i] = cells.Blank(indent) + out[i]
	}
	return out
}

// bodyRows draws the text, with the quoted lines in a quieter colour.
func (c *compose) bodyRows(f *Frame, w, h, top int) []string {
	t := f.Theme
	e := c.texts[partBody]
	left := 1
	e.resize(min(w-1, maxMeasure), h)
	c.bodyTop, c.bodyLeft, c.bodyHeight = top, left, h
	var mark func(string) string
	if c.at == partBody && c.entry == "" && f.Focused {
		mark = t.Reverse.Render
	}
	rows := e.rows(mark, func(line, row string) string {
		if strings.HasPrefix(line, ">") {
			return t.Quote.Render(row)
		}
		return row
	}, func(marks string) string {
		return t.Faint.Render(strings.ReplaceAll(marks, ">", t.Glyphs.Quote))
	})
	for i := range rows {
		rows[i] = " " + rows[i]
	}
	if e.empty() && c.at != partBody {
		rows = []string{" " + t.Faint.Render("The text of the message")}
	}
	return rows
}

// footRows are the attachments and the Send button, with a line above where there is room.
func (c *compose) footRows(f *Frame, w, h int) []string {
	t := f.Theme
	button := "[ Send ]"
	if c.at == partSend && c.entry == "" {
		button = t.Reverse.Render(button)
	} else {
		button = t.Accent.Render(button)
	}
	room := max(w-2-8-2, 1)
	row := " " + cells.Pad(c.filesLine(f, room), room) + "  " + button
	var out []string
	if c.problem != "" && (c.problemAt == partBody || c.problemAt == partFiles || c.problemAt == partSend) {
		out = append(out, wrapStyled(t.Danger, t.Glyphs.Failed+" "+c.problem, max(w-2, 10))...)
		if len(out) > 2 {
			out = out[:2]
		}
		for i := range out {
			out[i] = " " + out[i]
		}
	} else if h >= 11 {
		out = append(out, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(w-2, 0))))
	}
	if h < 4 && c.at != partSend && c.at != partFiles {
		return nil
	}
	return append(out, row)
}

// filesLine names the attachments; the chosen one is always in sight.
func (c *compose) filesLine(f *Frame, room int) string {
	t := f.Theme
	n := len(c.draft.Files)
	if c.at == partSend && room > 40 {
		keys := hint(t, "enter", "sends the message")
		if k := firstKey(f.Keys, keymap.InCompose, keymap.PrevField); k != "" {
			keys += t.Dot() + hint(t, k, "goes back")
		}
		return cells.Truncate(keys, room, "")
	}
	if n == 0 {
		if k := firstKey(f.Keys, keymap.InCompose, keymap.EditUndo); k != "" && c.at == partBody && len(c.texts[partBody].undo) > 0 && room > 30 {
			return hint(t, k, "undoes the last change")
		}
		return t.Faint.Render(cells.Truncate("no attachments", room, t.Glyphs.Ellipsis))
	}
	first := 0
	if c.at == partFiles {
		first = c.file
	}
	used := cells.Width(t.Glyphs.Attachment) + 1
	var b strings.Builder
	b.WriteString(t.Glyphs.Attachment + " ")
	shown := 0
	for i := first; i < n; i++ {
		file := c.draft.Files[i]
		name := cells.Truncate(cells.Stable(clean.Filename(file.Name)), 28, t.Glyphs.Ellipsis)
		size := " " + units.Bytes(file.SizeBytes)
		rest := ""
		if i < n-1 {
			rest = "  +" + itoa(n-1-i) + " more"
		}
		need := cells.Width(name) + cells.Width(size)
		if shown > 0 {
			need += 2
		}
		if used+need+cells.Width(rest) > room && shown > 0 {
			b.WriteString(t.Muted.Render("  +" + itoa(n-i) + " more"))
			break
		}
		if shown > 0 {
			b.WriteString("  ")
		}
		if c.at == partFiles && i == c.file {
			b.WriteString(t.Reverse.Render(name))
		} else {
			b.WriteString(name)
		}
		b.WriteString(t.Muted.Render(size))
		used += need
		shown++
	}
	if first > 0 {
		return cells.Truncate(t.Muted.Render("+"+itoa(first)+" ")+b.String(), room, "")
	}
	return cells.Truncate(b.String(), room, "")
}

// mouse moves the cursor of the body, and scrolls it.
func (c *compose) mouse(m tea.MouseMsg) {
	if c.entry != "" || c.editing {
		return
	}
	e := c.texts[partBody]
	switch m.Button {
	case tea.MouseButtonWheelUp:
		e.scroll(-scrollRow)
	case tea.MouseButtonWheelDown:
		e.scroll(scrollRow)
	case tea.MouseButtonLeft:
		y := m.Y - c.bodyTop
		if y >= 0 && y < c.bodyHeight {
			c.focus(partBody)
			e.click(max(m.X-c.bodyLeft, 0), y)
		}
	}
}
