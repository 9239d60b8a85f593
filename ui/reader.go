package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// reader shows one conversation, oldest message first: the unread messages and the last one open, the others folded.
type reader struct {
	pager
	id     state.ThreadID
	view   state.View // the list that it was opened from
	th     state.Thread
	marked bool // it has been marked as read
	peek   bool // it is only looked at beside the list: see peekAt

	open    map[string]bool // by message id
	quotes  map[string]bool // whether what is quoted is shown, where the person has said so: see showsQuotes
	headers map[string]bool
	other   map[string]bool // the part is shown that is not shown by itself: the text or the HTML
	settled bool            // what is open at first has been decided
	cur     int             // the message that has the cursor
	bodies  map[string]*body

	number string // the digits of a link's number
	find   string
	hits   []int // rows
	hit    int
	wanted *wantedFile // the file that is fetched; nil: there is none
	piped  []string    // the commands that got a message, newest first
	leave  bool        // a dialog may take the thread out of its list: then go on to the next

	rows  []readerRow
	heads []int // the row of each message's first line
	built rowsKey
}

// nextThreadMsg goes to the next or the previous thread of the list.
type nextThreadMsg struct{ by int }

// goneMsg says that threads may have left their list by a person's action.
type goneMsg struct{ ids []state.ThreadID }

func newReader() *reader { return &reader{} }

// leaveReaderMsg goes from the reader to the list.
type leaveReaderMsg struct{}

// begin puts a conversation into the pane, with nothing decided about it yet.
func (r *reader) begin(id state.ThreadID, v state.View) {
	*r = reader{
		id: id, view: v, open: map[string]bool{}, quotes: map[string]bool{}, headers: map[string]bool{},
		other: map[string]bool{}, bodies: map[string]*body{}, piped: r.piped,
	}
}

// show opens a conversation.
func (r *reader) show(id state.ThreadID, v state.View, f *Frame) tea.Cmd {
	if id != r.id || r.peek {
		r.begin(id, v)
	}
	r.view = v
	f.Mail.OpenThread(id)
	return join(r.refresh(f), r.lay(f))
}

// peekAt shows a conversation that is here without opening it: it stays unread, and nothing is asked of the server.
func (r *reader) peekAt(id state.ThreadID, v state.View, f *Frame) tea.Cmd {
	r.begin(id, v)
	r.peek, r.marked = true, true
	return join(r.refresh(f), r.lay(f))
}

// close leaves the pane empty.
func (r *reader) close() {
	*r = reader{piped: r.piped}
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
		r.top = r.heads[r.cur] - glance
		r.clamp(len(r.rows), f.Height)
	}
	r.cur = max(0, min(r.cur, len(r.th.Messages)-1))
	return join(cmd, r.fetched(f))
}

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

// lay lays out what is open and draws the rows anew. It returns the commands for what is long.
func (r *reader) lay(f *Frame) tea.Cmd {
	if r.id == "" {
		return nil
	}
	var cmds []tea.Cmd
	for i := range r.th.Messages {
		m := &r.th.Messages[i]
		if r.open[m.ID] {
			cmds = append(cmds, r.body(m.ID).prepare(m.ID, m.Text, m.HTML, r.other[m.ID], textWidth(f)))
		}
	}
	r.build(f)
	return tea.Batch(cmds...)
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
			none := len(r.hits) == 0
			cmd := r.lay(f)
			if none && len(r.hits) > 0 {
				r.nearest(f)
			}
			return r, cmd
		}
	case findMsg:
		return r, r.look(msg.text, f)
	case pipeMsg:
		return r, r.runPipe(msg, f)
	case textReadMsg:
		r.textRead(msg, f)
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
			r.digit(k)
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
			r.quotes[m.ID] = !r.showsQuotes(m)
			return r, r.lay(f), true
		}
	case keymap.SwitchPart:
		return r, r.switchPart(m, f), true
	case keymap.ToggleHeaders:
		if m != nil {
			r.headers[m.ID] = !r.headers[m.ID]
			r.open[m.ID] = true
			return r, r.lay(f), true
		}
	case keymap.OpenLink:
		if len(f.Key) == 1 && f.Key[0] >= '0' && f.Key[0] <= '9' {
			r.digit(f.Key)
			break
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
	case keymap.ViewHTML:
		r.viewHTML(m, f)
	case keymap.ViewAttachments:
		r.viewFiles(m, f)
	case keymap.Pipe:
		r.pipe(m, f)
	case keymap.FindInside:
		f.Dialog(&search{
			in: newInput(r.find), at: -1, title: "Find in this conversation", verb: "finds",
			done: func(text string, _ *Frame) tea.Cmd { return func() tea.Msg { return findMsg{text} } },
		})
	case keymap.InviteAccept, keymap.InviteMaybe, keymap.InviteDecline:
		r.answer(a, f)
	case keymap.Reply, keymap.ReplyAll, keymap.ReplyPlain, keymap.ReplyAllPlain, keymap.Forward:
		if m != nil {
			answerThread(a, r.th, m.ID, f)
		} else {
			f.Flash("Loading the message first")
		}
	default:
		if !changes(a) {
			return r, nil, false
		}
		r.change(a, f)
	}
	return r, nil, true
}

func (r *reader) change(a keymap.Action, f *Frame) {
	row := r.th.Row
	row.ID = r.id
	done := changeThreads(a, []state.Row{row}, r.view, f)
	switch {
	case done && (a == keymap.Unread || a == keymap.MarkUnread):
		f.Ask(leaveReaderMsg{})
	case done && leaves(a), a == keymap.Snooze, a == keymap.DeleteForever:
		r.leave = true
		f.Ask(goneMsg{[]state.ThreadID{r.id}})
	}
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
