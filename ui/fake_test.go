package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// fakeMail is a scripted Mail: its fields are what is known, done is what the screens asked for.
type fakeMail struct {
	now        time.Time
	updates    chan struct{}
	folders    []state.Folder
	labels     []state.Label
	lists      map[state.View]state.List
	threads    map[state.ThreadID]state.Thread
	outbox     []state.Entry
	drafts     []state.DraftRow
	texts      map[state.DraftID]state.Draft
	saves      map[state.DraftID]state.DraftStatus
	activity   []state.Call
	status     state.Status
	identities []state.Address
	people     []state.Person
	cannot     map[state.ChangeKind]string
	recovered  []state.Draft
	opened     string
	replyBody  string
	problem    string // of CheckDraft
	undoable   bool
	editor     string // what AdoptEditorFile reads
	draftN     int

	done []string // one line a call
}

func newFake() *fakeMail {
	return &fakeMail{
		now:     time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC),
		updates: make(chan struct{}, 1),
		lists:   map[state.View]state.List{}, threads: map[state.ThreadID]state.Thread{},
		texts: map[state.DraftID]state.Draft{}, saves: map[state.DraftID]state.DraftStatus{},
		cannot:     map[state.ChangeKind]string{},
		identities: []state.Address{{Name: "Ada", Email: "ada@example.com"}},
	}
}

func (m *fakeMail) did(format string, args ...any) {
	m.done = append(m.done, fmt.Sprintf(format, args...))
}

func (m *fakeMail) Updates() <-chan struct{} { return m.updates }
func (m *fakeMail) Folders() []state.Folder  { return m.folders }
func (m *fakeMail) NewLabel(name string, ids []state.ThreadID) {
	m.did("new label %s on %v", name, ids)
}

func (m *fakeMail) EditLabel(l state.Label)           { m.did("edit label %s %s %s", l.ID, l.Name, l.Color) }
func (m *fakeMail) DeleteLabel(id string)             { m.did("delete label %s", id) }
func (m *fakeMail) LabelColors() []state.LabelColor   { return nil }
func (m *fakeMail) Labels() []state.Label             { return m.labels }
func (m *fakeMail) List(v state.View) state.List      { l := m.lists[v]; l.View = v; return l }
func (m *fakeMail) Outbox() []state.Entry             { return m.outbox }
func (m *fakeMail) Drafts() []state.DraftRow          { return m.drafts }
func (m *fakeMail) Activity() []state.Call            { return m.activity }
func (m *fakeMail) Status() state.Status              { return m.status }
func (m *fakeMail) Identities() []state.Address       { return m.identities }
func (m *fakeMail) OpenView(v state.View)             { m.did("open view %s%s%s", v.Folder, v.Label, v.Query) }
func (m *fakeMail) LoadMore(v state.View)             { m.did("load more") }
func (m *fakeMail) OpenThread(id state.ThreadID)      { m.did("open thread %s", id) }
func (m *fakeMail) Refresh()                          { m.did("refresh") }
func (m *fakeMail) SetFocus(bool)                     {}
func (m *fakeMail) SetVisible(state.View, int, int)   {}
func (m *fakeMail) Undo() bool                        { m.did("undo"); return m.undoable }
func (m *fakeMail) CheckDraft(state.Draft) string     { return m.problem }
func (m *fakeMail) Recovered() []state.Draft          { return m.recovered }
func (m *fakeMail) StopLine(id string) bool           { m.did("stop %s", id); return true }
func (m *fakeMail) StopCall(id string)                { m.did("stop %s", id) }
func (m *fakeMail) StopAll()                          { m.did("stop all") }
func (m *fakeMail) RetryCall(id string)               { m.did("retry %s", id) }
func (m *fakeMail) Dismiss(n uint64)                  { m.did("dismiss %d", n) }
func (m *fakeMail) RetryNotice(n uint64)              { m.did("retry notice %d", n) }
func (m *fakeMail) SendNow(id state.EntryID)          { m.did("send now %s", id) }
func (m *fakeMail) Hold(id state.EntryID)             { m.did("hold %s", id) }
func (m *fakeMail) Drop(id state.EntryID)             { m.did("drop %s", id) }
func (m *fakeMail) TakeBack(id state.EntryID)         { m.did("take back %s", id) }
func (m *fakeMail) CloseDraft(id state.DraftID)       { m.did("close draft %s", id) }
func (m *fakeMail) DiscardDraft(id state.DraftID)     { m.did("discard %s", id) }
func (m *fakeMail) Attach(id state.DraftID, p string) { m.did("attach %s %s", id, p) }
func (m *fakeMail) Detach(id state.DraftID, f string) { m.did("detach %s %s", id, f) }
func (m *fakeMail) Close(context.Context) error       { return nil }
func (m *fakeMail) Now() time.Time                    { return m.now }

func (m *fakeMail) Thread(id state.ThreadID) state.Thread {
	if t, ok := m.threads[id]; ok {
		return t
	}
	return state.Thread{Row: state.Row{ID: id}}
}

func (m *fakeMail) Entry(id state.EntryID) (state.Entry, bool) {
	for _, e := range m.outbox {
		if e.ID == id {
			return e, true
		}
	}
	return state.Entry{}, false
}

func (m *fakeMail) Draft(id state.DraftID) (state.Draft, bool)     { d, ok := m.texts[id]; return d, ok }
func (m *fakeMail) DraftStatus(id state.DraftID) state.DraftStatus { return m.saves[id] }

func (m *fakeMail) IsMe(email string) bool {
	return slices.ContainsFunc(m.identities, func(a state.Address) bool { return strings.EqualFold(a.Email, email) })
}

func (m *fakeMail) Complete(prefix string, limit int) []state.Person {
	var out []state.Person
	for _, p := range m.people {
		if len(out) < limit && strings.HasPrefix(strings.ToLower(p.Name+" "+p.Email), strings.ToLower(prefix)) {
			out = append(out, p)
		}
	}
	return out
}

func (m *fakeMail) Can(k state.ChangeKind, _ state.View) (bool, string) {
	why, no := m.cannot[k]
	return !no, why
}

// Do notes the change and takes threads out of all lists when it moves them.
func (m *fakeMail) Do(ids []state.ThreadID, c state.Change) {
	m.did("%s %v%s", c.Kind, ids, c.Event)
	switch c.Kind {
	case state.ChangeArchive, state.ChangeTrash, state.ChangeSpam, state.ChangeSnooze, state.ChangeDelete:
		for v, l := range m.lists {
			l.Rows = slices.DeleteFunc(slices.Clone(l.Rows), func(r state.Row) bool { return slices.Contains(ids, r.ID) })
			l.Rev++
			m.lists[v] = l
		}
	case state.ChangeMute, state.ChangeUnmute:
		m.setRows(func(rows []state.Row) []state.Row {
			for i := range rows {
				if slices.Contains(ids, rows[i].ID) {
					rows[i].Muted = c.Kind == state.ChangeMute
				}
			}
			return rows
		})
	}
}

func (m *fakeMail) SaveFiles(_ state.ThreadID, message string, files []string, dir string) {
	m.did("save %s %v in %s", message, files, dir)
}

func (m *fakeMail) SaveFileAs(_ state.ThreadID, message, file, path string) {
	m.did("save %s %s as %s", message, file, path)
}

func (m *fakeMail) ReadFile(_ state.ThreadID, message, file string) {
	m.did("read %s %s", message, file)
}

func (m *fakeMail) ViewHTML(_ state.ThreadID, message string) { m.did("page of %s", message) }

func (m *fakeMail) Opened() (string, bool) {
	p := m.opened
	m.opened = ""
	return p, p != ""
}

func (m *fakeMail) NewDraft(string) state.Draft {
	m.draftN++
	return state.Draft{ID: state.DraftID(fmt.Sprintf("d%d", m.draftN)), From: "Ada <ada@example.com>"}
}

func (m *fakeMail) Reply(id state.ThreadID, message string, all bool) (state.Draft, error) {
	m.did("reply %s %s %v", id, message, all)
	if !m.threads[id].Known {
		return state.Draft{}, errors.New("the message is not here yet")
	}
	d := m.NewDraft("")
	d.Kind, d.ThreadID, d.MessageID, d.Subject = state.DraftReply, id, message, "Re: "+m.threads[id].Row.Subject
	d.Body = m.replyBody
	return d, nil
}

func (m *fakeMail) DraftAnswering(message string) (state.DraftID, bool) {
	for id, d := range m.texts {
		if d.MessageID == message {
			return id, true
		}
	}
	return "", false
}

func (m *fakeMail) Forward(id state.ThreadID, message string) (state.Draft, error) {
	m.did("forward %s %s", id, message)
	d := m.NewDraft("")
	d.Kind, d.ThreadID, d.MessageID = state.DraftForward, id, message
	return d, nil
}

func (m *fakeMail) OpenDraft(id state.DraftID) bool { _, ok := m.texts[id]; return ok }

func (m *fakeMail) EditDraft(d state.Draft) {
	m.texts[d.ID] = d
	m.did("edit %s", d.ID)
}

func (m *fakeMail) SaveDraft(d state.Draft) {
	m.texts[d.ID] = d
	m.did("save draft %s", d.ID)
}

func (m *fakeMail) Send(d state.Draft, _ state.SendOptions) state.EntryID {
	m.did("send %s", d.ID)
	id := state.EntryID("e-" + string(d.ID))
	m.outbox = append(m.outbox, state.Entry{ID: id, State: state.EntrySaving, Subject: d.Subject})
	return id
}

func (m *fakeMail) EditorFile(id state.DraftID) (string, error) { return "/nowhere/" + string(id), nil }

func (m *fakeMail) AdoptEditorFile(id state.DraftID) (state.Draft, error) {
	d := m.texts[id]
	d.Body = m.editor
	return d, nil
}

func (m *fakeMail) EditEntry(id state.EntryID) (state.Draft, bool) {
	m.did("edit entry %s", id)
	return state.Draft{ID: "from-" + state.DraftID(id)}, true
}

func (m *fakeMail) EditAsNew(id state.EntryID) (state.Draft, bool) {
	m.did("edit as new %s", id)
	return state.Draft{ID: "new-" + state.DraftID(id)}, true
}

// took returns what was asked since the last call, and forgets it.
func (m *fakeMail) took() string {
	s := strings.Join(m.done, "; ")
	m.done = nil
	return s
}

// sampleMail is a small mailbox with everything that the screens must draw.
func sampleMail() *fakeMail {
	m := newFake()
	inbox := state.View{Folder: "inbox"}
	m.folders = []state.Folder{
		{View: inbox, Role: state.RoleInbox, Name: "Inbox", Count: 30, Unread: 12},
		{View: state.View{Folder: "snoozed"}, Role: state.RoleSnoozed, Name: "Snoozed", Count: 3},
		{View: state.View{Folder: "starred"}, Role: state.RoleStarred, Name: "Starred"},
		{View: state.View{Folder: "draft"}, Role: state.RoleDrafts, Name: "Drafts", Count: 1},
		{Role: state.RoleOutbox, Name: "Outbox", Count: 2},
		{View: state.View{Folder: "sent"}, Role: state.RoleSent, Name: "Sent"},
		{View: state.View{Folder: "archive"}, Role: state.RoleArchive, Name: "Archive"},
		{View: state.View{Folder: "spam"}, Role: state.RoleSpam, Name: "Spam"},
		{View: state.View{Folder: "bin"}, Role: state.RoleTrash, Name: "Trash"},
		{View: state.View{Label: "l1"}, Role: state.RoleLabel, Name: "home", Color: "#cc8844", Unread: 2},
		{View: state.View{Label: "l2"}, Role: state.RoleLabel, Name: "work", Color: "#4488cc"},
	}
	m.labels = []state.Label{{ID: "l1", Name: "home", Color: "#cc8844"}, {ID: "l2", Name: "work", Color: "#4488cc"}}
	at := func(days, hour, minute int) time.Time {
		return time.Date(2026, 11, 30-days, hour, minute, 0, 0, time.UTC)
	}
	row := func(id, name, subject, snippet string, t time.Time) state.Row {
		email := strings.ToLower(strings.Fields(name)[0]) + "@example.org"
		return state.Row{ID: state.ThreadID(id), Filled: true, From: state.Address{Name: name, Email: email}, Subject: subject, Snippet: snippet, At: t, Messages: 1}
	}
	rows := []state.Row{
		row("t1", "Grace Hall", "Re: Compiler notes", "the second pass is done, numbers are in the report", at(0, 9, 12)),
		row("t2", "Team Calendar", "Offsite on Thursday", "2 replies, 1 invite", at(0, 8, 55)),
		row("t3", "Build Server", "Nightly report", "3 failed, 412 passed, see the log", at(0, 8, 2)),
		row("t4", "Lin", "Patch series v3", "I would rather not merge it before the release", at(1, 21, 0)),
		row("t5", "Ana Müller", "Dinner?", "Sunday works for us, shall we say seven", at(1, 18, 30)),
		row("t6", "山田太郎", "来週の打ち合わせ", "よろしくお願いします。場所はいつもの会議室です", at(2, 11, 0)),
		row("t7", "דנה כהן", "שלום מתל אביב", "מה שלומך", at(3, 10, 0)),
		row("t8", "प्रिया शर्मा", "नमस्ते दुनिया", "कैसे हो", at(20, 10, 0)),
		row("t9", "Old Friend", "A long subject that does not fit into the column at all, whatever the width of it", "indeed", at(500, 10, 0)),
		{ID: "t10"},
		row("t11", "👨‍👩‍👧 Family", "Photos 🏖️ from the beach", "look at these", at(4, 10, 0)),
	}
	rows[0].Unread, rows[0].Messages = true, 4
	rows[1].Starred, rows[1].Invite = true, true
	rows[2].Unread, rows[2].Attachment = true, true
	rows[3].Answered, rows[3].Messages = true, 17
	rows[4].Labels = m.labels[:1]
	rows[5].Pending = true
	rows[6].Muted = true
	m.lists[inbox] = state.List{View: inbox, Rows: rows, Known: true, Rev: 1, AsOf: m.now}
	m.lists[state.View{}] = m.lists[inbox]
	addr := func(name, email string) api.Address { return api.Address{Name: name, Email: email} }
	grace, me := addr("Grace Hall", "grace@example.org"), addr("Ada", "ada@example.com")
	m.threads["t1"] = state.Thread{Row: rows[0], Known: true, Rev: 1, Messages: []api.Message{
		{ID: "m1", From: grace, To: []api.Address{me}, ReceivedAt: at(3, 14, 2), Snippet: "I started on the second pass", Text: "I started on the second pass."},
		{ID: "m2", From: me, To: []api.Address{grace}, ReceivedAt: at(3, 15, 40), Snippet: "What about the tables?", Text: "What about the tables?"},
		{ID: "m3", From: grace, To: []api.Address{me}, ReceivedAt: at(1, 10, 0), Snippet: "They come last.", Text: "They come last."},
		{
			ID: "m4", From: grace, To: []api.Address{me}, Cc: []api.Address{addr("Lin", "lin@example.net")}, ReceivedAt: at(0, 9, 12), Unread: true,
			Subject: "Re: Compiler notes",
			HTML: `<p>The second pass is done. Numbers are in <a href="https://reports.example.com/q3">the report</a>.</p>` +
				`<blockquote><p>They come last.</p><p>And the tables before them.</p><p>Yes.</p><p>No.</p></blockquote><p>Grace</p>`,
			Attachments: []api.Attachment{{AttachmentID: "a1", Filename: "notes.pdf", ContentType: "application/pdf", Size: 48000}},
		},
	}}
	m.threads["t2"] = state.Thread{Row: rows[1], Known: true, Rev: 1, Messages: []api.Message{{
		ID: "m5", From: addr("Team Calendar", "calendar@example.org"), To: []api.Address{me}, ReceivedAt: at(0, 8, 55), Text: "You are invited.",
		Attachments: []api.Attachment{{
			AttachmentID: "a2", Filename: "invite.ics", ContentType: "text/calendar; method=REQUEST", Size: 900,
			Content: []byte("BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Offsite\r\n  on Thursday\r\nLOCATION:Room 4\\, Main Street\r\nDTSTART:20261203T090000Z\r\nDTEND:20261203T160000Z\r\nORGANIZER;CN=Team:mailto:team@example.org\r\nATTENDEE:mailto:ada@example.com\r\nATTENDEE:mailto:lin@example.net\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"),
		}},
	}}}
	return m
}

// screenTest drives the root model with a fake Mail, without a terminal.
type screenTest struct {
	t    *testing.T
	mail *fakeMail
	app  *app
}

// startTest starts the program in a window of that size.
func startTest(t *testing.T, m *fakeMail, width, height int, change ...func(*Options)) *screenTest {
	t.Helper()
	keys, err := keymap.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Mail: m, Keys: keys, Account: "ada@example.com", Zone: time.UTC, Mouse: true, Version: "test", Theme: "dark"}
	for _, c := range change {
		c(&o)
	}
	s := &screenTest{t: t, mail: m, app: New(o).(*app)}
	s.run(s.app.Init())
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	m.took()
	return s
}

// run does what commands do. Those that wait, for a change of Mail or for a time, are let be: nothing comes of them here.
func (s *screenTest) run(cmd tea.Cmd) {
	s.t.Helper()
	if cmd == nil {
		return
	}
	name := runtime.FuncForPC(reflect.ValueOf(cmd).Pointer()).Name()
	if strings.Contains(name, ".waitCmd.") || strings.Contains(name, ".Tick.") {
		return
	}
	ch := make(chan tea.Msg, 1)
	go func() { ch <- cmd() }()
	select {
	case msg := <-ch:
		switch msg := msg.(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				s.run(c)
			}
		case tea.QuitMsg:
			s.mail.did("quit")
		default:
			s.send(msg)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("the command %s does not end", name)
	}
}

func (s *screenTest) send(msg tea.Msg) {
	s.t.Helper()
	_, cmd := s.app.Update(msg)
	s.run(cmd)
}

// refresh tells the screens that Mail changed.
func (s *screenTest) refresh() {
	s.t.Helper()
	s.send(mailMsg{})
}

// keys types: each word is a key by its name, or letters that are read together.
func (s *screenTest) keys(list ...string) {
	s.t.Helper()
	for _, k := range list {
		s.send(keyMsg(k))
	}
}

func keyMsg(k string) tea.KeyMsg {
	for t := tea.KeyType(-200); t < 200; t++ {
		if t != tea.KeyRunes && (tea.Key{Type: t}).String() == k && k != "" && k != " " {
			return tea.KeyMsg{Type: t}
		}
	}
	if rest, ok := strings.CutPrefix(k, "alt+"); ok {
		m := keyMsg(rest)
		m.Alt = true
		return m
	}
	if k == " " || k == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
}

func (s *screenTest) paste(text string) {
	s.t.Helper()
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
}

// frame is the screen without colours; it checks that no line is too long and their number is right.
func (s *screenTest) frame() string {
	s.t.Helper()
	view := s.app.View()
	rows := strings.Split(view, "\n")
	l := s.app.at
	if len(rows) != l.height {
		s.t.Errorf("%d rows in a window of %d", len(rows), l.height)
	}
	for i, r := range rows {
		if w := cells.Width(ansi.Strip(r)); w > l.width {
			s.t.Errorf("row %d takes %d cells in a window of %d: %q", i, w, l.width, r)
		}
		rows[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return strings.Join(rows, "\n") + "\n"
}

// has fails unless the frame holds every text.
func (s *screenTest) has(texts ...string) {
	s.t.Helper()
	f := s.frame()
	for _, x := range texts {
		if !strings.Contains(f, x) {
			s.t.Errorf("the frame lacks %q:\n%s", x, f)
		}
	}
}

// hasNot fails if the frame holds one of the texts.
func (s *screenTest) hasNot(texts ...string) {
	s.t.Helper()
	f := s.frame()
	for _, x := range texts {
		if strings.Contains(f, x) {
			s.t.Errorf("the frame holds %q:\n%s", x, f)
		}
	}
}
