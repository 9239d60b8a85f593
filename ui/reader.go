package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

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
	above    = 4  // rows above the message that is opened first
)

// indent is how far text stands from the left edge: less where mail of 78 columns would be wrapped twice otherwise.
func indent(f *Frame) int {
	if f.wide || f.Width >= 84 {
		return 3
	}
	return 1
}

// reader shows one conversation, oldest message first: the unread messages and the last one open, the others folded.
type reader struct {
	pager
	id     state.ThreadID
	view   state.View // the list that it was opened from
	th     state.Thread
	marked bool // it has been marked as read

	open    map[string]bool // by message id
	quotes  map[string]bool
	headers map[string]bool
	settled bool // what is open at first has been decided
	cur     int  // the message that has the cursor
	bodies  map[string]*body
	muted   map[state.ThreadID]bool

	number string // the digits of a link's number
	find   string
	hits   []int // rows
	hit    int
	wanted string // the attachment whose file is to be opened when it is here
	leave  bool   // a dialog may take the thread out of its list: then go on to the next

	rows  []readerRow
	heads []int // the row of each message's first line
	built rowsKey
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
}

// nextThreadMsg goes to the next or the previous thread of the list.
type nextThreadMsg struct{ by int }

// goneMsg says that threads may have left their list by a person's action.
type goneMsg struct{ ids []state.ThreadID }

func newReader() *reader { return &reader{muted: map[state.ThreadID]bool{}} }

// leaveReaderMsg goes from the reader to the list.
type leaveReaderMsg struct{}

// show opens a conversation.
func (r *reader) show(id state.ThreadID, v state.View, f *Frame) tea.Cmd {
	if id != r.id {
		muted := r.muted
		*r = reader{
			id: id, open: map[string]bool{}, quotes: map[string]bool{}, headers: map[string]bool{},
			bodies: map[string]*body{}, muted: muted,
		}
	}
	r.view = v
	f.Mail.OpenThread(id)
	return join(r.refresh(f), r.lay(f))
}

// close leaves the pane empty.
func (r *reader) close() {
	*r = reader{muted: r.muted}
}

// refresh takes the newest snapshot.
func (r *reader) refresh(f *Frame) (cmd tea.Cmd) {
	if r.id == "" {
		return nil
	}
	r.th = f.Mail.Thread(r.id)
	if r.th.Known && !r.marked {
		r.marked = true
		if r.th.Row.Unread {
			f.Mail.Do([]state.ThreadID{r.id}, state.Change{Kind: state.ChangeRead, Quiet: true})
		}
	}
	if r.th.Known && !r.settled && len(r.th.Messages) > 0 {
		r.settle()
		cmd = r.lay(f)
		// The folded messages before it are worth a glance, as long as its own text has the room.
		r.top = r.heads[r.cur] - above
		r.clamp(len(r.rows), f.Height)
	}
	r.cur = max(0, min(r.cur, len(r.th.Messages)-1))
	if r.wanted != "" {
		if path, ok := f.Mail.Opened(); ok {
			r.wanted = ""
			f.Ask(openFileMsg{path})
		}
	}
	return cmd
}

// openFileMsg opens a file that is ready in the system's program for it.
type openFileMsg struct{ path string }

// settle decides what is open at first.
func (r *reader) settle() {
	r.settled = true
	last := len(r.th.Messages) - 1
	r.cur = last
	for i := last; i >= 0; i-- {
		m := r.th.Messages[i]
		if m.Unread {
			r.open[m.ID] = true
			r.cur = i
		}
	}
	r.open[r.th.Messages[last].ID] = true
}

// message is the one with the cursor, or nil.
func (r *reader) message() *api.Message {
	if r.cur < len(r.th.Messages) {
		return &r.th.Messages[r.cur]
	}
	return nil
}

func (r *reader) body(id string) *body {
	b := r.bodies[id]
	if b == nil {
		b = &body{}
		r.bodies[id] = b
	}
	return b
}

func textWidth(f *Frame) int { return max(8, min(f.Width-indent(f)-1, 100)) }

// lay lays out what is open and draws the rows anew. It returns the commands for what is long.
func (r *reader) lay(f *Frame) tea.Cmd {
	if r.id == "" {
		return nil
	}
	var cmds []tea.Cmd
	for i := range r.th.Messages {
		m := &r.th.Messages[i]
		if r.open[m.ID] {
			cmds = append(cmds, r.body(m.ID).prepare(m.ID, m.Text, m.HTML, textWidth(f)))
		}
	}
	r.build(f)
	return tea.Batch(cmds...)
}

func (r *reader) key(f *Frame) rowsKey {
	return rowsKey{r.th.Rev, f.Width, f.Now.YearDay(), f.Theme, r.tags(f)}
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
	in, invited := inviteOf(m, f.Options.zone())
	if invited {
		r.invite(in, f)
	} else if e := r.th.Event; e != nil && e.MessageID == m.ID {
		r.invite(inviteFrom(e, f.Options.zone()), f)
	}
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

func (r *reader) invite(in invite, f *Frame) {
	t := f.Theme
	what := "Invitation"
	switch {
	case in.Method == "CANCEL" || in.Status == "CANCELLED":
		what = "Cancelled"
	case in.Method == "REPLY":
		what = "Answer to an invitation"
	}
	add := func(label, value string, style Style) {
		if value == "" {
			return
		}
		for i, l := range cells.Wrap(cells.Stable(value), max(8, textWidth(f)-12)) {
			if i > 0 {
				label = ""
			}
			r.add(cells.Blank(indent(f))+t.Accent.Render(t.Glyphs.Vertical)+" "+t.Field.Render(fit(t, label, 9))+style.Render(l), l)
		}
	}
	add(t.Glyphs.Invite, what+": "+in.Summary, t.Bold)
	add("When", strings.ReplaceAll(in.When, "–", t.Keep("–", "-")), t.Text)
	add("Where", in.Place, t.Text)
	add("From", in.By, t.Text)
	if in.Guests > 0 {
		add("Guests", strconv.Itoa(in.Guests), t.Text)
	}
	r.add("", "")
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

// fileName is the name of an attachment as it is shown and saved.
func fileName(a api.Attachment) string { return clean.Filename(a.Filename) }

// keepEnding cuts a file name in the middle, so that its ending is always seen.
func keepEnding(name string, room int) string {
	if cells.Width(name) <= room {
		return name
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 || cells.Width(name[i:]) > room/2 {
		return cells.Truncate(name, room, "…")
	}
	return cells.Truncate(name[:i], room-cells.Width(name[i:]), "…") + name[i:]
}

// search finds the rows that hold what is looked for.
func (r *reader) search() {
	r.hits = r.hits[:0]
	if r.find == "" {
		return
	}
	want := strings.ToLower(r.find)
	for i, row := range r.rows {
		if row.plain != "" && strings.Contains(strings.ToLower(row.plain), want) {
			r.hits = append(r.hits, i)
		}
	}
	r.hit = max(0, min(r.hit, len(r.hits)-1))
}

// toMessage moves the cursor to a message and brings it into sight.
func (r *reader) toMessage(i int, f *Frame) {
	if i < 0 || i >= len(r.heads) {
		return
	}
	r.cur = i
	r.top = r.heads[i]
	if i == 0 {
		r.top = 0
	}
	r.clamp(len(r.rows), f.Height)
}

// follow puts the cursor on the message that is being read after the text has moved.
func (r *reader) follow(f *Frame) {
	at := r.top + f.Height/3
	if r.top == 0 {
		at = 0
	}
	if r.top+f.Height >= len(r.rows) {
		at = len(r.rows)
	}
	if r.cur < len(r.heads) && r.heads[r.cur] >= r.top && r.heads[r.cur] < r.top+f.Height && len(r.rows) <= f.Height {
		return
	}
	for i, h := range r.heads {
		if h <= at {
			r.cur = i
		}
	}
}

func (r *reader) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		before := r.th.Rev
		cmd := r.refresh(f)
		if r.th.Rev != before || r.built != r.key(f) {
			cmd = join(cmd, r.lay(f))
		}
		return r, cmd
	case tea.WindowSizeMsg:
		return r, r.lay(f)
	case bodyMsg:
		if b, ok := r.bodies[msg.message]; ok {
			b.take(msg)
			return r, r.lay(f)
		}
	case findMsg:
		r.look(msg.text, f)
	case openNumberedMsg:
		if m := r.message(); m != nil && msg.index < len(m.Attachments) {
			r.view1(m, msg.index, f)
		}
	case tea.MouseMsg:
		if r.wheel(msg, len(r.rows), f.Height) {
			r.follow(f)
		} else if msg.Button == tea.MouseButtonLeft {
			return r, r.click(msg.Y, f)
		}
	case tea.KeyMsg:
		if k := msg.String(); r.number != "" && (k == "0" || k == "backspace") {
			return r, r.digit(k, f)
		}
	}
	return r, nil
}

func (r *reader) click(y int, f *Frame) tea.Cmd {
	row := r.top + y
	for i, h := range r.heads {
		if h == row {
			r.cur = i
			return r.toggle(f)
		}
	}
	return nil
}

func (r *reader) toggle(f *Frame) tea.Cmd {
	if m := r.message(); m != nil {
		r.open[m.ID] = !r.open[m.ID]
	}
	return r.lay(f)
}

// digit adds to the number of a link, or takes the last digit away.
func (r *reader) digit(k string, f *Frame) tea.Cmd {
	switch {
	case k == "backspace":
		r.number = r.number[:len(r.number)-1]
	case len(r.number) < 4:
		r.number += k
	}
	_ = f
	return nil
}

// link is the one whose number has been typed, in the message with the cursor.
func (r *reader) link() (bodytext.Link, bool) {
	m := r.message()
	n, err := strconv.Atoi(r.number)
	if m == nil || err != nil {
		return bodytext.Link{}, false
	}
	b := r.bodies[m.ID]
	if b == nil || b.doc == nil || n < 1 || n > len(b.doc.Links) {
		return bodytext.Link{}, false
	}
	return b.doc.Links[n-1], true
}

// openLink opens the link whose number has been typed; its true target has been on the screen since then.
func (r *reader) openLink(f *Frame) tea.Cmd {
	l, ok := r.link()
	switch {
	case !ok:
		f.Warn("There is no link " + r.number + " in this message")
	case !l.Openable:
		f.Warn("This kind of link is never opened")
	case l.Scheme == "mailto":
		r.number = ""
		f.Ask(mailtoMsg{l.URL})
		return nil
	default:
		r.number = ""
		f.Flash("Opening " + l.URL)
		return openCmd(f, l.URL)
	}
	r.number = ""
	return nil
}

// mailtoMsg begins a message to the address of a link.
type mailtoMsg struct{ url string }

func (r *reader) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	r.leave = false
	if r.id == "" {
		return r, nil, false
	}
	if r.act(a, len(r.rows), f.Height) {
		r.number = ""
		r.follow(f)
		return r, nil, true
	}
	m := r.message()
	switch a {
	case keymap.Back:
		switch {
		case r.number != "":
			r.number = ""
		case r.find != "":
			r.find, r.hits = "", nil
		default:
			return r, nil, false
		}
	case keymap.NextMessage, keymap.PrevMessage:
		by := 1
		if a == keymap.PrevMessage {
			by = -1
		}
		if r.find != "" {
			r.toHit(r.hit+by, f)
			break
		}
		return r, r.step(by, f), true
	case keymap.NextThread:
		f.Ask(nextThreadMsg{1})
	case keymap.PrevThread:
		f.Ask(nextThreadMsg{-1})
	case keymap.ToggleMessage:
		if r.number != "" {
			return r, r.openLink(f), true
		}
		return r, r.toggle(f), true
	case keymap.ExpandAll:
		return r, r.expandAll(f), true
	case keymap.ToggleQuotes:
		if m != nil {
			r.quotes[m.ID] = !r.quotes[m.ID]
			return r, r.lay(f), true
		}
	case keymap.ToggleHeaders:
		if m != nil {
			r.headers[m.ID] = !r.headers[m.ID]
			r.open[m.ID] = true
			return r, r.lay(f), true
		}
	case keymap.OpenLink:
		if len(f.Key) == 1 && f.Key[0] >= '0' && f.Key[0] <= '9' {
			return r, r.digit(f.Key, f), true
		}
		return r, r.openOnly(f), true
	case keymap.Copy:
		return r, r.copy(f), true
	case keymap.SaveAttachment:
		if m == nil || len(m.Attachments) == 0 {
			f.Flash("This message has no files")
			break
		}
		r.chooseFiles(m, f)
	case keymap.ViewAttachments:
		r.viewFiles(m, f)
	case keymap.FindInside:
		f.Dialog(&search{
			in: newInput(r.find), at: -1, title: "Find in this conversation",
			done: func(text string, _ *Frame) tea.Cmd { return func() tea.Msg { return findMsg{text} } },
		})
	case keymap.Reply, keymap.ReplyAll, keymap.Forward:
		if m != nil {
			answerThread(a, r.th, m.ID, f)
		} else {
			f.Flash("Loading the message first")
		}
	default:
		if !changes(a) {
			return r, nil, false
		}
		return r, r.change(a, f), true
	}
	return r, nil, true
}

// findMsg looks for a text inside the conversation.
type findMsg struct{ text string }

// openNumberedMsg views one attachment of the message with the cursor.
type openNumberedMsg struct{ index int }

func (r *reader) change(a keymap.Action, f *Frame) tea.Cmd {
	row := r.th.Row
	row.ID = r.id
	cmd, done := changeThreads(a, []state.Row{row}, r.view, r.muted, f)
	switch {
	case done && a == keymap.Unread:
		f.Ask(leaveReaderMsg{})
	case done && leaves(a), a == keymap.Snooze, a == keymap.DeleteForever:
		r.leave = true
		f.Ask(goneMsg{[]state.ThreadID{r.id}})
	}
	return cmd
}

// step goes to the next or previous message, opens it, and tells when there is none.
func (r *reader) step(by int, f *Frame) tea.Cmd {
	to := r.cur + by
	if to < 0 || to >= len(r.th.Messages) {
		if by > 0 {
			f.Flash("This is the last message")
		} else {
			f.Flash("This is the first message")
		}
		return nil
	}
	r.open[r.th.Messages[to].ID] = true
	cmd := r.lay(f)
	r.toMessage(to, f)
	return cmd
}

func (r *reader) expandAll(f *Frame) tea.Cmd {
	all := true
	for _, m := range r.th.Messages {
		all = all && r.open[m.ID]
	}
	for i, m := range r.th.Messages {
		r.open[m.ID] = !all || i == len(r.th.Messages)-1
	}
	cmd := r.lay(f)
	r.toMessage(r.cur, f)
	return cmd
}

// openOnly opens the only link of the message, or says how to choose.
func (r *reader) openOnly(f *Frame) tea.Cmd {
	if r.number != "" {
		return r.openLink(f)
	}
	if m := r.message(); m != nil {
		if b := r.bodies[m.ID]; b != nil && b.doc != nil {
			switch len(b.doc.Links) {
			case 0:
				f.Flash("This message has no links")
				return nil
			case 1:
				r.number = "1"
				return nil
			}
		}
	}
	f.Flash("Type the number of the link")
	return nil
}

func (r *reader) copy(f *Frame) tea.Cmd {
	if r.number != "" {
		l, ok := r.link()
		r.number = ""
		if !ok {
			f.Flash("There is no link with that number")
			return nil
		}
		return copyCmd(f, l.URL, "Copied the link")
	}
	m := r.message()
	if m == nil {
		return nil
	}
	if b := r.bodies[m.ID]; b != nil && b.doc != nil {
		return copyCmd(f, b.doc.Plain(), "Copied the text of the message")
	}
	return copyCmd(f, clean.Text(m.Text), "Copied the text of the message")
}

// chooseFiles asks which files to save when there are several.
func (r *reader) chooseFiles(m *api.Message, f *Frame) {
	id := m.ID
	if len(m.Attachments) == 1 {
		f.Dialog(newSaveFiles(r.id, id, []string{m.Attachments[0].AttachmentID}, f))
		return
	}
	items := []string{"All " + strconv.Itoa(len(m.Attachments)) + " files"}
	ids := []string{""}
	for _, a := range m.Attachments {
		items = append(items, keepEnding(cells.Stable(fileName(a)), 44)+"  "+sizeOf(a.Size))
		ids = append(ids, a.AttachmentID)
	}
	thread := r.id
	f.Dialog(newPicker("Save which file?", items, func(i int, f *Frame) tea.Cmd {
		var which []string
		if i > 0 {
			which = []string{ids[i]}
		}
		f.Dialog(newSaveFiles(thread, id, which, f))
		return nil
	}))
}

func (r *reader) viewFiles(m *api.Message, f *Frame) {
	if m == nil || len(m.Attachments) == 0 {
		f.Flash("This message has no files")
		return
	}
	if len(m.Attachments) == 1 {
		r.view1(m, 0, f)
		return
	}
	var items []string
	for _, a := range m.Attachments {
		items = append(items, keepEnding(cells.Stable(fileName(a)), 44)+"  "+sizeOf(a.Size))
	}
	f.Dialog(newPicker("View which file?", items, func(i int, _ *Frame) tea.Cmd {
		return func() tea.Msg { return openNumberedMsg{i} }
	}))
}

func (r *reader) view1(m *api.Message, i int, f *Frame) {
	a := m.Attachments[i]
	r.wanted = a.AttachmentID
	f.Mail.ReadFile(r.id, m.ID, a.AttachmentID)
	f.Flash("Fetching " + fileName(a))
}

// look finds text and goes to the first hit at or below the top.
func (r *reader) look(text string, f *Frame) {
	r.find, r.hit = text, 0
	r.search()
	if text == "" {
		return
	}
	if len(r.hits) == 0 {
		said := "“" + short(text) + "” is not here"
		if slices.ContainsFunc(r.th.Messages, func(m api.Message) bool { return !r.open[m.ID] }) {
			said = "“" + short(text) + "” is not in the open messages"
			if k := firstKey(f.Keys, keymap.InReader, keymap.ExpandAll); k != "" {
				said += f.Theme.Dot() + k + " opens all"
			}
		}
		f.Flash(said)
		r.find = ""
		return
	}
	for i, h := range r.hits {
		if h >= r.top {
			r.toHit(i, f)
			return
		}
	}
	r.toHit(0, f)
}

func (r *reader) toHit(i int, f *Frame) {
	n := len(r.hits)
	if n == 0 {
		return
	}
	r.hit = (i + n) % n
	row := r.hits[r.hit]
	if row < r.top || row >= r.top+f.Height-1 {
		r.top = row - f.Height/3
		r.clamp(len(r.rows), f.Height)
	}
	for j, h := range r.heads {
		if h <= row {
			r.cur = j
		}
	}
}

func (r *reader) View(f *Frame) string {
	t := f.Theme
	key := func(a keymap.Action) string { return firstKey(f.Keys, keymap.InReader, a) }
	middle := func(s string) string {
		s = cutWords(s, f.Width-2, t)
		return block(strings.Repeat("\n", max(0, f.Height/3))+cells.Blank((f.Width-cells.Width(s))/2)+t.Muted.Render(s), f.Width, f.Height)
	}
	switch {
	case r.id == "":
		say := "No conversation is open"
		if k := firstKey(f.Keys, keymap.InThreads, keymap.Open); k != "" {
			say = k + " opens a conversation here"
		}
		return middle(say)
	case !r.th.Known && r.th.Problem != "":
		say := clean.Line(r.th.Problem)
		if k := key(keymap.Refresh); k != "" {
			say += t.Dot() + k + " tries again"
		}
		return middle(say)
	case !r.th.Known:
		return middle("Loading the conversation" + t.Keep("…", "..."))
	}
	height := f.Height
	line := r.promptLine(f)
	if line != "" {
		height--
	}
	out := make([]string, 0, f.Height)
	hits := map[int]bool{}
	for _, h := range r.hits {
		hits[h] = true
	}
	for i := r.top; i < min(len(r.rows), r.top+height); i++ {
		row := r.rows[i].text
		if hits[i] {
			row = r.highlight(i, f)
		}
		if r.cur < len(r.heads) && r.heads[r.cur] == i && f.Focused && len(r.th.Messages) > 1 && strings.HasPrefix(row, " ") {
			row = t.Accent.Render(t.Glyphs.Bar) + row[1:]
		}
		out = append(out, row)
	}
	for len(out) < height {
		out = append(out, "")
	}
	if below := len(r.rows) - r.top - height; below > 0 && line == "" && height > 3 {
		// A quiet sign at the edge that there is more to read.
		last := out[len(out)-1]
		if cells.Width(last) < f.Width-2 && !strings.Contains(last, "\x1b7") {
			out[len(out)-1] = cells.Pad(last, f.Width-2) + t.Faint.Render(t.Glyphs.More)
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return block(strings.Join(out, "\n"), f.Width, f.Height)
}

// promptLine is the line below the text while a link's number is typed or a search inside is open.
func (r *reader) promptLine(f *Frame) string {
	t := f.Theme
	key := func(a keymap.Action) string { return firstKey(f.Keys, keymap.InReader, a) }
	switch {
	case r.number != "":
		k := key(keymap.ToggleMessage)
		l, ok := r.link()
		say := "[" + r.number + "] no such link in this message"
		style := t.Muted
		if ok {
			say, style = "["+r.number+"] "+l.URL, t.Accent
			end := t.Dot() + k + " opens" + t.Dot() + key(keymap.Copy) + " copies"
			if !l.Openable {
				end, style = t.Dot()+"never opened", t.Warn
			} else if l.Misleading {
				end, style = t.Dot()+"not where its text says"+t.Dot()+k+" opens", t.Warn
			}
			say = cells.Truncate(say, max(10, f.Width-2-cells.Width(end)), t.Glyphs.Ellipsis) + end
		}
		return " " + style.Render(cells.Truncate(say, f.Width-2, t.Glyphs.Ellipsis))
	case r.find != "":
		say := "“" + short(r.find) + "”  " + strconv.Itoa(min(r.hit+1, len(r.hits))) + " of " + strconv.Itoa(len(r.hits)) +
			t.Dot() + key(keymap.NextMessage) + " " + key(keymap.PrevMessage) + " next, previous" + t.Dot() + key(keymap.Back) + " ends"
		return " " + t.Accent.Render(cutWords(say, f.Width-2, t))
	}
	return ""
}

// highlight draws a row in plain text with the hits marked.
func (r *reader) highlight(i int, f *Frame) string {
	t := f.Theme
	text := r.rows[i].plain
	low, want := strings.ToLower(text), strings.ToLower(r.find)
	if len(low) != len(text) {
		return r.rows[i].text
	}
	base := Style{}
	if r.hit < len(r.hits) && r.hits[r.hit] == i {
		base = t.Bold
	}
	var b strings.Builder
	b.WriteString(cells.Blank(indent(f)))
	for {
		j := strings.Index(low, want)
		if j < 0 || want == "" || !utf8.ValidString(text[:j]) {
			break
		}
		b.WriteString(base.Render(text[:j]) + t.Match.Render(text[j:j+len(want)]))
		text, low = text[j+len(want):], low[j+len(want):]
	}
	b.WriteString(base.Render(text))
	return cells.Truncate(b.String(), f.Width, "")
}

func (r *reader) Context() keymap.Context { return keymap.InReader }
func (r *reader) Capturing() bool         { return false }

func (r *reader) Title(f *Frame) string {
	if r.id == "" {
		return "Conversation"
	}
	s := cells.Stable(subjectOf(r.th.Row.Subject))
	if !r.th.Known && r.th.Row.Subject == "" {
		return "Conversation"
	}
	if n := len(r.th.Messages); n > 1 {
		return cells.Truncate(s, max(10, f.Width-40), f.Theme.Glyphs.Ellipsis) + "  " + plural(n, "message", "messages")
	}
	return s
}

func (r *reader) Hints(f *Frame) []keymap.Action {
	out := []keymap.Action{keymap.Reply, keymap.ReplyAll, keymap.Archive, keymap.Snooze, keymap.Trash}
	if len(r.th.Messages) > 1 {
		out = append([]keymap.Action{keymap.NextMessage, keymap.PrevMessage}, out...)
	}
	if m := r.message(); m != nil {
		if len(m.Attachments) > 0 {
			out = append(out, keymap.SaveAttachment)
		}
		if b := r.bodies[m.ID]; b != nil && b.doc != nil && len(b.doc.Links) > 0 {
			out = append(out, keymap.OpenLink)
		}
	}
	return append([]keymap.Action{keymap.Back}, append(out, keymap.Forward, keymap.Label, keymap.ToggleHeaders, keymap.FindInside)...)
}
