package ui

import (
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/state"
)

// columns are the widths of a row of the list of threads, in cells. A snippet of 0 is left out.
type columns struct {
	width, from, subject, snippet, date int
}

const (
	dateShort = 6 // "12 Mar"
	dateLong  = 9 // "12 Mar 24"
)

// newColumns shares out width: bar, mark and a blank on the left, a blank on the right, one between columns.
func newColumns(width int, longDates bool) columns {
	c := columns{width: width, date: dateShort}
	if longDates {
		c.date = dateLong
	}
	room := width - 3 - 1 - 1 - c.date - 1
	switch {
	case width >= 72:
		c.from = min(30, 21+(width-72)/8)
		rest := room - c.from - 1
		c.subject = rest * 58 / 100
		c.snippet = rest - c.subject
	case width >= 56:
		c.from = 18
		c.subject = room - c.from
	default:
		c.from = max(6, room*38/100)
		c.subject = max(1, room-c.from)
	}
	return c
}

// fit is s in exactly width cells.
func fit(t *Theme, s string, width int) string {
	return cells.Pad(cells.Truncate(s, width, t.Glyphs.Ellipsis), width)
}

// column is clean foreign text in exactly width cells, whatever the terminal thinks of it.
func column(t *Theme, s string, width int) string {
	s = cells.Stable(s)
	if cells.Steady(s) {
		return fit(t, s, width)
	}
	return cells.Column(s, width)
}

// sender is who a row is from, in a few words.
func sender(r *state.Row) string {
	name, _ := clean.Address(r.From.Name, r.From.Email)
	if name == "" {
		name = "(nobody)"
	}
	if r.Others > 0 {
		name += " +" + strconv.Itoa(r.Others)
	}
	return name
}

// subjectOf is a subject on one line, never empty.
func subjectOf(s string) string {
	if s = strings.TrimSpace(clean.LineMax(s, 1000)); s == "" {
		return "(no subject)"
	}
	return s
}

// rowLook is what changes the look of a row besides its content.
type rowLook struct {
	cursor, focused, selected bool
}

// threadRow draws one row in exactly c.width cells.
func threadRow(t *Theme, r *state.Row, c columns, look rowLook, now time.Time) string {
	g := t.Glyphs
	bar, on := rowStart(t, look.cursor, look.focused)
	paint := func(s Style, text string) string { return s.With(on).Render(text) }
	var b strings.Builder
	b.WriteString(bar)
	switch {
	case look.selected:
		b.WriteString(paint(t.AccentBold, g.Selected))
	case r.Unread:
		b.WriteString(paint(t.Accent, g.Unread))
	case r.Answered:
		b.WriteString(paint(t.Muted, g.Answered))
	default:
		b.WriteString(paint(Style{}, " "))
	}
	b.WriteString(paint(Style{}, " "))
	if !r.Filled {
		dots := strings.Repeat(g.Bullet, 3)
		b.WriteString(paint(t.Faint, fit(t, dots, c.from)+" "+fit(t, dots, c.width-4-c.from)))
		return b.String()
	}
	text := Style{}
	if r.Unread {
		text = t.Bold
	}
	name := sender(r)
	labels := c.from / 2
	if c.from < 20 {
		// A narrow column keeps the name whole before it shows labels.
		labels = min(labels, c.from-1-cells.Width(name))
	}
	marks, marksWidth := rowMarks(t, r, c.from/2, labels, on)
	nameWidth := c.from
	if marksWidth > 0 {
		nameWidth -= marksWidth + 1
	}
	b.WriteString(paint(text, column(t, name, nameWidth)))
	if marksWidth > 0 {
		b.WriteString(paint(Style{}, " ") + marks)
	}
	b.WriteString(paint(Style{}, " "))

	count := ""
	if r.Messages > 1 {
		count = " (" + strconv.Itoa(r.Messages) + ")"
	}
	subject := cells.Stable(subjectOf(r.Subject))
	room := c.subject - len(count)
	if room < 4 {
		room, count = c.subject, ""
	}
	if cells.Steady(subject) {
		subject = cells.Truncate(subject, room, g.Ellipsis)
		b.WriteString(paint(text, subject) + paint(t.Muted, count))
		b.WriteString(paint(Style{}, cells.Blank(c.subject-cells.Width(subject)-len(count))))
	} else {
		b.WriteString(paint(text, cells.Column(subject, room)) + paint(t.Muted, count))
	}
	if c.snippet > 0 {
		b.WriteString(paint(t.Muted, " "+column(t, strings.TrimSpace(clean.LineMax(r.Snippet, 400)), c.snippet)))
	}
	date, dateStyle := when.Short(r.At, now), t.Muted
	if r.SnoozedUntil.After(now) {
		date, dateStyle = wakes(t, r.SnoozedUntil, now, c.date), t.Accent
	} else if r.At.IsZero() {
		date = ""
	}
	b.WriteString(paint(dateStyle, " "+cells.PadLeft(cells.Truncate(date, c.date, ""), c.date)+" "))
	return b.String()
}

// wakes is when a snoozed thread comes back: with the hour in the days to come, and never to be taken for the date of a mail.
func wakes(t *Theme, at, now time.Time, width int) string {
	s := when.Short(at, now)
	if at = at.In(now.Location()); s == at.Format("Mon") && width >= dateLong {
		return at.Format("Mon 15:04")
	}
	if marked := t.Glyphs.Waits + " " + s; cells.Width(marked) <= width {
		return marked
	}
	return s
}

// rowMarks draws marks in at most room cells, and labels as long as both take at most labelRoom.
func rowMarks(t *Theme, r *state.Row, room, labelRoom int, on Style) (s string, width int) {
	g := t.Glyphs
	var marks []string
	add := func(has bool, glyph string) {
		if w := cells.Width(glyph); has && width+w <= room {
			marks = append(marks, glyph)
			width += w
		}
	}
	add(r.Starred, g.Star)
	add(r.Attachment, g.Attachment)
	add(r.Invite, g.Invite)
	add(r.Muted, g.Muted)
	add(r.Pending, g.Pending)
	var out []string
	for _, l := range r.Labels {
		name := "#" + cells.Stable(strings.TrimSpace(clean.LineMax(l.Name, 100)))
		left := labelRoom - width
		if width > 0 {
			left--
		}
		if !cells.Steady(name) || left < 3 {
			continue
		}
		name = cells.Truncate(name, min(left, 12), g.Ellipsis)
		width += labelRoom - width - left + cells.Width(name)
		out = append(out, t.Label(l.Color).With(on).Render(name))
	}
	if len(marks) > 0 {
		out = append(out, t.Warn.With(on).Render(strings.Join(marks, "")))
	}
	return strings.Join(out, Style{}.With(on).Render(" ")), width
}

// longDate reports whether a date needs its year.
func longDate(t, now time.Time) bool {
	return !t.IsZero() && len(when.Short(t, now)) > dateShort
}
