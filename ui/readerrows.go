package ui

import (
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	maxLinks = 30 // links listed below a message; the others are opened by their numbers all the same
	maxNames = 60 // addresses written out in the headers of one message
	glance   = 4  // rows above the message that is opened first
)

// indent is how far text stands from the left edge: less where mail of 78 columns would be wrapped twice otherwise.
func indent(f *Frame) int {
	if f.wide || f.Width >= 84 {
		return 3
	}
	return 1
}

// readerRow is one drawn row, and its text for the search inside.
type readerRow struct {
	text, plain string
}

// rowsKey is what the rows depend on besides what is open.
type rowsKey struct {
	rev   uint64
	width int
	day   int
	theme *Theme
	tags  string

	answer state.ChangeKind
}

func textWidth(f *Frame) int { return max(8, min(f.Width-indent(f)-1, 100)) }

func (r *reader) key(f *Frame) rowsKey {
	return rowsKey{r.th.Rev, f.Width, f.Now.YearDay(), f.Theme, r.tags(f), r.th.Answer}
}

// build draws all rows; the place in the text holds to the message that was at the top.
func (r *reader) build(f *Frame) {
	at, off := r.place()
	t := f.Theme
	r.built = r.key(f)
	r.rows, r.heads = r.rows[:0:0], r.heads[:0:0]
	if f.wide {
		title := subjectOf(r.th.Row.Subject)
		count := ""
		if n := len(r.th.Messages); n > 1 {
			count = plural(n, "message", "messages")
		}
		room := f.Width - 3 - len(count)
		if count != "" {
			room--
		}
		line := " " + t.Bold.Render(column(t, title, max(4, room))) + " "
		if count != "" {
			line += " " + t.Muted.Render(count)
		}
		r.add(line, title)
	}
	if tags := r.tags(f); tags != "" {
		r.add(" "+tags, "")
	}
	for i := range r.th.Messages {
		m := &r.th.Messages[i]
		if len(r.rows) > 0 && (r.open[m.ID] || i > 0 && r.open[r.th.Messages[i-1].ID]) {
			r.add("", "")
		}
		r.heads = append(r.heads, len(r.rows))
		if !r.open[m.ID] {
			r.folded(m, f)
			continue
		}
		r.head(m, f)
		r.content(m, f)
	}
	if at >= 0 && at < len(r.heads) && r.top > 0 { // at the very top, labels that are new are to be seen
		r.top = r.heads[at] + off
	}
	r.clamp(len(r.rows), f.Height)
	r.search()
}

// place is the message at the top of the window and how many of its rows are above.
func (r *reader) place() (message, off int) {
	message = -1
	for i, h := range r.heads {
		if h <= r.top {
			message, off = i, r.top-h
		}
	}
	return message, off
}

func (r *reader) add(text, plain string) { r.rows = append(r.rows, readerRow{text, plain}) }

// tags are the labels and marks of the thread.
func (r *reader) tags(f *Frame) string {
	t := f.Theme
	var parts []string
	if r.th.Row.Starred {
		parts = append(parts, t.Warn.Render(t.Glyphs.Star+" starred"))
	}
	if r.th.Row.Muted {
		parts = append(parts, t.Muted.Render(t.Glyphs.Muted+" muted"))
	}
	for i, l := range r.th.Row.Labels {
		if i == 8 {
			break
		}
		name := "#" + cells.Stable(strings.TrimSpace(clean.LineMax(l.Name, 60)))
		parts = append(parts, t.Label(l.Color).Render(cells.Truncate(name, 20, t.Glyphs.Ellipsis)))
	}
	if u := r.th.Row.SnoozedUntil; u.After(f.Now) {
		parts = append(parts, t.Accent.Render("snoozed until "+when.Format(u.In(f.Options.zone()), f.Now)))
	}
	if r.th.Row.Pending {
		parts = append(parts, t.Warn.Render(t.Glyphs.Pending+" not on the server yet"))
	}
	return cells.Truncate(strings.Join(parts, "  "), f.Width-2, t.Glyphs.Ellipsis)
}

func (r *reader) name(a api.Address, f *Frame) string {
	if f.Mail.IsMe(a.Email) {
		return "You"
	}
	row, _ := clean.Address(a.Name, a.Email)
	if row == "" {
		return "(nobody)"
	}
	return row
}

func messageTime(m *api.Message, f *Frame) string {
	if m.ReceivedAt.IsZero() {
		return "no date"
	}
	at := m.ReceivedAt.In(f.Options.zone())
	if age := f.Now.Sub(at); age > 300*24*time.Hour || age < -300*24*time.Hour {
		return at.Format("2 Jan 2006")
	}
	if s := clock(at, f.Now); len(s) > 5 {
		return s
	}
	return "Today " + at.Format("15:04")
}

// folded is the one row of a message that is not open.
func (r *reader) folded(m *api.Message, f *Frame) {
	t := f.Theme
	nameWidth := min(20, max(8, f.Width/4))
	date := messageTime(m, f)
	snippet := strings.TrimSpace(clean.LineMax(m.Snippet, 400))
	if snippet == "" {
		snippet = strings.TrimSpace(clean.LineMax(m.Text, 400))
	}
	mark := " "
	if m.Unread {
		mark = t.Accent.Render(t.Glyphs.Unread)
	}
	used := 3 + 1 + nameWidth + 1 + 12 + 1
	line := " " + t.Muted.Render(t.Glyphs.Folded) + mark + " " + column(t, r.name(m.From, f), nameWidth) + " " +
		t.Muted.Render(fit(t, date, 12))
	if room := f.Width - used - 1; room > 6 {
		line += " " + t.Muted.Render(column(t, snippet, room))
	}
	r.add(line, "")
}

// head are the rows about an open message.
func (r *reader) head(m *api.Message, f *Frame) {
	t := f.Theme
	_, full := clean.Address(m.From.Name, m.From.Email)
	if full == "" {
		full = "(nobody)"
	}
	date := messageTime(m, f)
	room := f.Width - 4 - cells.Width(date) - 2
	mark := " "
	if m.Unread {
		mark = t.Accent.Render(t.Glyphs.Unread)
	}
	shown := keepAddress(full, clean.Email(m.From.Email), max(4, room), t)
	r.add(" "+t.Accent.Render(t.Glyphs.Open)+mark+" "+t.Bold.Render(column(t, shown, max(4, room)))+" "+t.Muted.Render(date), "")
	if !r.headers[m.ID] {
		if to := r.recipients(m, f, f.Width-5); to != "" {
			r.add("    "+t.Muted.Render(column(t, to, f.Width-5)), "")
		}
		return
	}
	r.allHeaders(m, cells.Width(full) > room, f)
}

// allHeaders are the headers of a message in full; from: its sender too.
func (r *reader) allHeaders(m *api.Message, from bool, f *Frame) {
	t := f.Theme
	width := max(10, f.Width-15)
	rows := func(name string, lines []string) {
		label := "    " + fit(t, name, 10)
		for _, l := range lines {
			r.add(t.Field.Render(label)+l, l)
			label = cells.Blank(14)
		}
	}
	field := func(name, value string) {
		if value != "" {
			rows(name, cells.Wrap(cells.Stable(value), width))
		}
	}
	if from {
		rows("From", addressLines([]api.Address{m.From}, width))
	}
	rows("To", addressLines(m.To, width))
	rows("Cc", addressLines(m.Cc, width))
	rows("Bcc", addressLines(m.Bcc, width))
	if len(m.ReplyTo) > 0 && (len(m.ReplyTo) > 1 || !strings.EqualFold(m.ReplyTo[0].Email, m.From.Email)) {
		rows("Reply to", addressLines(m.ReplyTo, width))
	}
	if !m.ReceivedAt.IsZero() {
		field("Date", m.ReceivedAt.In(f.Options.zone()).Format("Mon 2 Jan 2006 15:04:05 -0700"))
	}
	field("Subject", subjectOf(m.Subject))
	field("Delivered", clean.Email(m.DeliveredTo))
	field("Id", clean.LineMax(m.MessageID, 200))
	field("Sent with", clean.LineMax(m.SentWith, 60))
	field("List", clean.LineMax(m.ListUnsubscribe, 200))
}

// keepAddress is a name with its address in so many cells. Of a name that is too long the end goes: the address counts.
func keepAddress(full, email string, room int, t *Theme) string {
	name, ok := strings.CutSuffix(full, " <"+email+">")
	left := room - cells.Width(email) - 3
	if cells.Width(full) <= room || !ok || left < 6 {
		return full
	}
	return cells.Truncate(cells.Stable(name), left, t.Glyphs.Ellipsis) + " <" + email + ">"
}

// addressLines writes addresses one after the other, and begins a line before one that does not fit.
func addressLines(list []api.Address, width int) []string {
	var lines []string
	line := ""
	for i, a := range list {
		_, s := clean.Address(a.Name, a.Email)
		if i == maxNames && len(list) > maxNames+1 {
			s = strconv.Itoa(len(list)-i) + " more"
		}
		if s = cells.Stable(s); s == "" {
			continue
		}
		if line != "" {
			line += ","
			if cells.Width(line)+1+cells.Width(s)+1 > width {
				lines, line = append(lines, line), ""
			} else {
				line += " "
			}
		}
		line += s
		if i == maxNames {
			break
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	var out []string
	for _, l := range lines {
		out = append(out, cells.Wrap(l, width)...)
	}
	return out
}

// recipients says in a few words whom a message is to: "to you, cc Lin". The person comes first, and of the others as many
// as there is room for.
func (r *reader) recipients(m *api.Message, f *Frame, room int) string {
	words := ""
	for most := 5; most > 0; most-- {
		var parts []string
		for _, list := range []struct {
			word string
			who  []api.Address
		}{{"to ", m.To}, {"cc ", m.Cc}, {"bcc ", m.Bcc}} {
			if len(list.who) > 0 {
				parts = append(parts, list.word+r.few(list.who, most, f))
			}
		}
		if words = strings.Join(parts, ", "); cells.Width(words) <= room {
			break
		}
	}
	return words
}

// few names the first of a list of people, the person before all others.
func (r *reader) few(list []api.Address, most int, f *Frame) string {
	var out []string
	for _, a := range list {
		if f.Mail.IsMe(a.Email) {
			out = append(out, "you")
			break
		}
	}
	for _, a := range list {
		if f.Mail.IsMe(a.Email) {
			continue
		}
		if len(out) >= most && len(list) > most+1 {
			out = append(out, strconv.Itoa(len(list)-len(out))+" more")
			break
		}
		out = append(out, r.name(a, f))
	}
	return strings.Join(out, ", ")
}

// content are the rows of an open message below its head: invite, text, links, files.
func (r *reader) content(m *api.Message, f *Frame) {
	t := f.Theme
	r.add("", "")
	left := cells.Blank(indent(f))
	note := func(style Style, s string) {
		for _, l := range cells.Wrap(s, textWidth(f)) {
			r.add(left+style.Render(l), l)
		}
	}
	if m.Encryption.Sealed() {
		note(t.Warn, "This message is encrypted; teapost cannot read it. Save its files and open them with your key.")
		r.add("", "")
	}
	invited := r.invitation(m, f)
	if code := clean.LineMax(m.VerificationCode, 20); code != "" {
		note(t.Accent, "Code: "+code)
		r.add("", "")
	}
	b := r.body(m.ID)
	switch {
	case b.doc == nil:
		note(t.Muted, "Laying out a long message"+t.Keep("…", "..."))
		return
	case b.doc.Empty() && invited:
	case b.doc.Empty():
		note(t.Muted, "(no text)")
	default:
		if b.doc.HiddenNote != "" {
			note(t.Warn, b.doc.HiddenNote)
			r.add("", "")
		}
		r.rows = append(r.rows, b.draw(t, r.showsQuotes(m), firstKey(f.Keys, keymap.InReader, keymap.ToggleQuotes), indent(f))...)
	}
	r.links(b.doc, f)
	r.files(m, f)
}

func (r *reader) links(d *bodytext.Doc, f *Frame) {
	t := f.Theme
	list := d.LinkLines(textWidth(f))
	if len(list) == 0 {
		return
	}
	r.add("", "")
	for i, l := range list {
		if i == maxLinks && len(list) > maxLinks+1 {
			r.add(cells.Blank(indent(f))+t.Faint.Render(strconv.Itoa(len(list)-i)+" more; type a number to see where it goes"), "")
			break
		}
		row := bodyRow(t, l, lineStyle(t, l), textWidth(f), indent(f))
		if i < len(d.Links) && d.Links[i].Misleading {
			row.text = cells.Blank(indent(f)) + t.Warn.Render(l.Text)
		}
		if i < len(d.Links) && d.Links[i].Openable {
			row.text = t.Hyperlink(row.text, d.Links[i].URL)
		}
		r.rows = append(r.rows, row)
	}
}

func (r *reader) files(m *api.Message, f *Frame) {
	t := f.Theme
	if len(m.Attachments) == 0 {
		return
	}
	r.add("", "")
	save := firstKey(f.Keys, keymap.InReader, keymap.SaveAttachment)
	look := firstKey(f.Keys, keymap.InReader, keymap.ViewAttachments)
	var keys []string
	if save != "" {
		keys = append(keys, save+" saves")
	}
	if look != "" {
		keys = append(keys, look+" views")
	}
	width := textWidth(f)
	for i, a := range m.Attachments {
		glyph := t.Glyphs.Attachment
		if isCalendar(a) {
			glyph = t.Glyphs.Invite
		}
		size := units.Bytes(a.Size)
		line := cells.Pad(glyph, 3)
		name := cells.Stable(fileName(a))
		hint := ""
		if i == 0 && len(keys) > 0 && width >= 44 {
			hint = "   " + strings.Join(keys, t.Dot())
		}
		room := max(8, width-3-1-cells.Width(size)-cells.Width(hint))
		if a.Inline && room > 20 {
			size += " in the text"
			room -= 12
		}
		if w := cells.Width(name); w < room && cells.Steady(name) {
			line += name + " "
		} else {
			line += column(t, keepEnding(name, room), room) + " "
		}
		r.add(cells.Blank(indent(f))+line+t.Muted.Render(size+hint), name)
	}
}
