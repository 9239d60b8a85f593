package ui

import (
	"strings"
	"time"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// maxCompletions is how many people an address field offers at a time.
const maxCompletions = 6

// newField returns an editor of one line.
func newField(text string) *editor {
	e := newEditor("")
	e.single = true
	e.lines[0].text = flatLine(cleanInput(text))
	e.cur = place{0, len(e.lines[0].text)}
	return e
}

// addressField is newField for addresses, which hold nothing invisible.
func addressField(text string) *editor { return newField(strings.Map(dropFormat, text)) }

// fieldView draws one line in exactly width cells, with the cursor in sight when the field has the keys.
func fieldView(e *editor, t *Theme, width int, focused bool) string {
	if width <= 0 {
		return ""
	}
	s := e.lines[0].text
	if !focused {
		a, _, _ := fieldPart(s, 0, -1, width)
		if cells.Width(a) >= width && len(a) > 0 && fieldCells(s) > width {
			return cells.Pad(cells.Truncate(a, width-1, "")+t.Glyphs.Ellipsis, width)
		}
		return cells.Pad(a, width)
	}
	// What is hidden on a side is marked there.
	mark, before, after := t.Glyphs.Ellipsis, "", ""
	col, start := e.cur.col, 0
	if fieldCells(s)+1 > width {
		if width < 12 {
			mark = ""
		}
		// From the cursor to the left as far as it fits, with a little of what follows it.
		room := width - min(width/4, 8) - 1 - 2*cells.Width(mark)
		it := clusters{s: s[:col]}
		x := cellAt(s, 0, col)
		for x > room {
			c, ok := it.next()
			if !ok {
				break
			}
			_, w := drawn(c, 0)
			x -= w
			start, before = it.i, mark
		}
	}
	width -= cells.Width(before)
	if cellAt(s, start, len(s)) >= width && width > cells.Width(mark) && before+mark != "" && fieldCells(s)+1 > width {
		after = mark
		width -= cells.Width(after)
	}
	a, m, z := fieldPart(s, start, col, width)
	used := cells.Width(a) + cells.Width(m) + cells.Width(z)
	return t.Muted.Render(before) + a + t.Reverse.Render(m) + z + cells.Blank(width-used) + t.Muted.Render(after)
}

// addressesRows are the rows of a list of addresses that has not the keys, most at the most: the addresses in full, else
// their names, and a count of those that have no room. The first is first cells wide, the others width.
func addressesRows(e *editor, t *Theme, first, width, most int) []string {
	s := e.lines[0].text
	if fieldCells(s) <= first {
		return []string{fieldView(e, t, first, false)}
	}
	var full, names []string
	for _, p := range addressParts(s) {
		if a := strings.TrimSpace(s[p[0]:p[1]]); a != "" {
			full, names = append(full, a), append(names, shownName(a))
		}
	}
	if len(full) == 1 {
		return []string{fieldView(e, t, first, false)}
	}
	rows, left := listRows(full, first, width, most, "")
	if left > 0 {
		rows, left = listRows(names, first, width, most, "")
	}
	if left > 0 {
		// The count is as wide at most as if nobody had room.
		rows, left = listRows(names, first, width, most, "  +"+itoa(len(names))+" more")
	}
	if left == len(full) {
		return []string{fieldView(e, t, first, false)}
	}
	for i, r := range rows {
		w := width
		if i == 0 {
			w = first
		}
		a, _, _ := fieldPart(r, 0, -1, w)
		if i == len(rows)-1 && left > 0 {
			a += t.Muted.Render("  +" + itoa(left) + " more")
		}
		rows[i] = cells.Pad(a, w)
	}
	return rows
}

// listRows writes items one after the other in most rows, each whole, and gives how many have no room. The last row has
// room for tail.
func listRows(items []string, first, width, most int, tail string) (rows []string, left int) {
	row := ""
	for i, item := range items {
		sep := ""
		if i < len(items)-1 {
			sep = ","
		}
		room := width
		if len(rows) == 0 {
			room = first
		}
		if len(rows) == most-1 {
			room -= len(tail)
		}
		next := item + sep
		if row != "" {
			next = row + " " + next
		}
		switch {
		case fieldCells(next) <= room:
			row = next
			continue
		case row == "":
			return rows, len(items) - i // wider than a row
		case len(rows) == most-1:
			return append(rows, strings.TrimSuffix(row, ",")), len(items) - i
		}
		rows, row = append(rows, row), ""
		room = width
		if len(rows) == most-1 {
			room -= len(tail)
		}
		if fieldCells(item+sep) > room {
			return rows, len(items) - i
		}
		row = item + sep
	}
	return append(rows, row), 0
}

// shownName is the name in an address, or the address when it has none.
func shownName(address string) string {
	i := strings.LastIndexByte(address, '<')
	if i <= 0 {
		return address
	}
	name := strings.TrimSpace(address[:i])
	if n := len(name); n > 1 && name[0] == '"' && name[n-1] == '"' {
		name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(name[1 : n-1])
	}
	if strings.ContainsAny(name, ",;") {
		name = `"` + name + `"`
	}
	if name == "" {
		return address
	}
	return name
}

// fieldCells is the width of a whole line.
func fieldCells(s string) int { return cellAt(s, 0, len(s)) }

// fieldPart draws s from start on, at most width cells, in three parts as drawRow does.
func fieldPart(s string, start, col, width int) (a, m, z string) {
	a, m, z = drawRow(s, start, len(s), col, width)
	if col >= 0 && cells.Width(a)+cells.Width(m) > width {
		m = ""
	}
	return a, m, z
}

// addressAt returns the part of s between separators that the offset is in, without the blanks around it.
func addressAt(s string, col int) (start, end int) {
	for _, p := range addressParts(s) {
		if col >= p[0] && col <= p[1] {
			start, end = p[0], p[1]
			for start < end && s[start] == ' ' {
				start++
			}
			for end > start && s[end-1] == ' ' {
				end--
			}
			return start, end
		}
	}
	return col, col
}

// addressParts returns the offsets of the parts of s between commas and semicolons, those in quotes and brackets
// left alone.
func addressParts(s string) [][2]int {
	var out [][2]int
	start, quoted, bracket := 0, false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			bracket = true
		case c == '>':
			bracket = false
		case (c == ',' || c == ';') && !bracket:
			out = append(out, [2]int{start, i})
			start = i + 1
		}
	}
	if quoted || bracket {
		// Unfinished: every separator counts, so that one slip does not swallow the rest.
		out, start = nil, 0
		for i := 0; i < len(s); i++ {
			if s[i] == ',' || s[i] == ';' {
				out = append(out, [2]int{start, i})
				start = i + 1
			}
		}
	}
	return append(out, [2]int{start, len(s)})
}

// addressLike reports whether s can be an address, with or without a name before it.
func addressLike(s string) bool {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '<'); i >= 0 {
		if !strings.HasSuffix(s, ">") {
			return false
		}
		s = strings.TrimSpace(s[i+1 : len(s)-1])
	}
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && utf8.ValidString(s) && !strings.ContainsAny(s, " <>,;")
}

// badAddress returns the first part of a list of addresses that cannot be one.
func badAddress(list string) (part string, bad bool) {
	for _, p := range addressParts(list) {
		part = strings.TrimSpace(list[p[0]:p[1]])
		if part != "" && !addressLike(part) {
			return part, true
		}
	}
	return "", false
}

// writtenAddress is an address as it is typed: the name in quotes where it must be.
func writtenAddress(a state.Address) string {
	email := strings.Map(func(r rune) rune {
		if r == ' ' || r == '<' || r == '>' || r == ',' || r == ';' {
			return -1
		}
		return r
	}, clean.Line(a.Email))
	name := strings.TrimSpace(clean.Line(a.Name))
	switch {
	case name == "" || strings.EqualFold(name, email):
		return email
	case strings.ContainsAny(name, "\",;:<>@()[]\\."):
		name = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	return name + " <" + email + ">"
}

// pastedAddresses makes a paste fit for a list of addresses: each line is one or more of them.
func pastedAddresses(s string) string {
	var out []string
	for line := range strings.SplitSeq(cleanInput(s), "\n") {
		line = strings.Trim(strings.ReplaceAll(line, "\t", " "), " ,;")
		line = strings.TrimSpace(strings.TrimPrefix(line, "mailto:"))
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Map(dropFormat, strings.Join(out, ", "))
}

// completion is the list of people under an address field.
type completion struct {
	people []state.Person
	sel    int
	moved  bool // the person chose a line by hand
	typed  string
}

func (c *completion) open() bool { return len(c.people) > 0 }

func (c *completion) close() { *c = completion{} }

// look asks for people that fit what stands at the cursor.
func (c *completion) look(e *editor, m Mail) {
	s := e.lines[0].text
	start, end := addressAt(s, e.cur.col)
	typed := s[start:end]
	if e.cur.col < end || typed == "" || strings.ContainsAny(typed, "<>") {
		c.close()
		return
	}
	if typed == c.typed {
		return
	}
	*c = completion{people: m.Complete(typed, maxCompletions), typed: typed}
	if len(c.people) == 1 && strings.EqualFold(c.people[0].Email, typed) {
		c.people = nil
	}
}

func (c *completion) move(n int) {
	c.sel = (c.sel + n + len(c.people)) % len(c.people)
	c.moved = true
}

// wants reports whether enter and tab should take the chosen line: not over an address that is complete.
func (c *completion) wants() bool { return c.open() && (c.moved || !addressLike(c.typed)) }

// take puts the chosen person in place of what was typed.
func (c *completion) take(e *editor) {
	s := e.lines[0].text
	start, end := addressAt(s, e.cur.col)
	text := writtenAddress(c.people[c.sel].Address)
	rest := strings.TrimLeft(s[end:], " ")
	if rest == "" {
		text += ", "
		end = len(s)
	}
	e.replace(place{0, start}, place{0, end}, text, false)
	e.moveTo(place{0, start + len(text)})
	c.close()
}

// rows draws the people, each with how often and when they wrote.
func (c *completion) rows(t *Theme, width int, now time.Time) []string {
	out := make([]string, 0, len(c.people))
	for i, p := range c.people {
		note := ""
		switch {
		case p.Mails == 1:
			note = "1 mail"
		case p.Mails > 1:
			note = groupDigits(p.Mails) + " mails"
		}
		if !p.LastAt.IsZero() {
			if note != "" {
				note += ", "
			}
			note += "last " + lastSeen(p.LastAt, now)
		}
		if width < 44 {
			note = ""
		}
		nw := cells.Width(note)
		mark := "  "
		if i == c.sel {
			mark = t.Accent.Render(t.Glyphs.Bar) + " "
		}
		name := cells.Column(writtenAddress(p.Address), max(width-2-nw-2, 1))
		if i == c.sel {
			name = t.Bold.Render(name)
		}
		out = append(out, mark+name+"  "+t.Muted.Render(note))
	}
	return out
}

// lastSeen says when somebody last wrote, roughly.
func lastSeen(at, now time.Time) string {
	at = at.In(now.Location())
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case !at.Before(today):
		return "today"
	case !at.Before(today.AddDate(0, 0, -1)):
		return "yesterday"
	case !at.Before(today.AddDate(0, 0, -6)):
		return at.Weekday().String()
	case at.Year() == now.Year():
		return at.Format("2 Jan")
	}
	return at.Format("2 Jan 2006")
}

// groupDigits writes a number with blanks between thousands.
func groupDigits(n int) string {
	s := ""
	for ; n >= 1000; n /= 1000 {
		r := n % 1000
		s = " " + string([]byte{byte('0' + r/100), byte('0' + r/10%10), byte('0' + r%10)}) + s
	}
	return itoa(n) + s
}
