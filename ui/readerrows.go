package ui

import (
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
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
			room -= 2
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
	if at >= 0 && at < len(r.heads) {
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
	r.add(" "+t.Accent.Render(t.Glyphs.Open)+mark+" "+t.Bold.Render(column(t, full, max(4, room)))+" "+t.Muted.Render(date), "")
	if !r.headers[m.ID] {
		to := r.recipients(m, f)
		if to != "" {
			r.add("    "+t.Muted.Render(column(t, to, f.Width-5)), "")
		}
		return
	}
	addresses := func(list []api.Address) string {
		var out []string
		for i, a := range list {
			if i == maxNames {
				out = append(out, strconv.Itoa(len(list)-i)+" more")
				break
			}
			if _, full := clean.Address(a.Name, a.Email); full != "" {
				out = append(out, full)
			}
		}
		return strings.Join(out, ", ")
	}
	field := func(name, value string) {
		if value == "" {
			return
		}
		label := "    " + fit(t, name, 10)
		for i, l := range cells.Wrap(cells.Stable(value), max(10, f.Width-15)) {
			if i > 0 {
				label = cells.Blank(14)
			}
			r.add(t.Field.Render(label)+l, l)
		}
	}
	field("To", addresses(m.To))
	field("Cc", addresses(m.Cc))
	field("Bcc", addresses(m.Bcc))
	if len(m.ReplyTo) > 0 && (len(m.ReplyTo) > 1 || !strings.EqualFold(m.ReplyTo[0].Email, m.From.Email)) {
		field("Reply to", addresses(m.ReplyTo))
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

// recipients says in a few words whom a message is to: "to you, cc Lin".
func (r *reader) recipients(m *api.Message, f *Frame) string {
	list := func(as []api.Address) string {
		var out []string
		for i, a := range as {
			if i == 4 && len(as) > 5 {
				out = append(out, strconv.Itoa(len(as)-i)+" more")
				break
			}
			n := r.name(a, f)
			if n == "You" {
				n = "you"
			}
			out = append(out, n)
		}
		return strings.Join(out, ", ")
	}
	var parts []string
	if s := list(m.To); s != "" {
		parts = append(parts, "to "+s)
	}
	if s := list(m.Cc); s != "" {
		parts = append(parts, "cc "+s)
	}
	if s := list(m.Bcc); s != "" {
		parts = append(parts, "bcc "+s)
	}
	return strings.Join(parts, ", ")
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
		r.rows = append(r.rows, b.draw(t, r.quotes[m.ID], firstKey(f.Keys, keymap.InReader, keymap.ToggleQuotes), indent(f))...)
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
		row := bodyRow(t, l, textWidth(f), indent(f))
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
		size := sizeOf(a.Size)
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
