package ui

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// desk is the part of Mail that writing needs, in memory; whatever else is asked of it answers nothing.
type desk struct {
	Mail
	made     []string // names of new labels
	now      time.Time
	me       []state.Address
	people   []state.Person
	drafts   []state.DraftRow
	texts    map[state.DraftID]state.Draft
	status   map[state.DraftID]state.DraftStatus
	entries  []state.Entry
	labels   []state.Label
	colors   []state.LabelColor
	rows     map[state.ThreadID]state.Row
	check    func(state.Draft) string
	saving   bool // a send stays in EntrySaving until the test says otherwise
	edits    []state.Draft
	sends    []state.Draft
	sendAt   []time.Time
	changes  []state.Change
	changed  [][]state.ThreadID
	calls    []string
	file     state.Draft // what the editor left behind
	fileErr  error
	attached []string
}

var deskNow = time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)

func newDesk() *desk {
	return &desk{
		now: deskNow, texts: map[state.DraftID]state.Draft{}, status: map[state.DraftID]state.DraftStatus{},
		rows: map[state.ThreadID]state.Row{},
		me:   []state.Address{{Name: "Ada", Email: "ada@example.com"}, {Name: "Ada Lovelace", Email: "ada@work.example"}},
		people: []state.Person{
			{Address: state.Address{Name: "Ana Müller", Email: "ana@example.net"}, Mails: 12, LastAt: deskNow.AddDate(0, 0, -1)},
			{Address: state.Address{Name: "Annual Review", Email: "review@example.com"}, Mails: 1, LastAt: deskNow.AddDate(0, -2, 0)},
			{Address: state.Address{Name: "Hopper, Grace", Email: "grace@example.org"}, Mails: 1204},
		},
	}
}

func (d *desk) log(what string, of string) { d.calls = append(d.calls, what+" "+of) }

func (d *desk) did(what string) bool {
	for _, c := range d.calls {
		if c == what {
			return true
		}
	}
	return false
}

// Updates is closed: the tests say themselves when something changed.
func (d *desk) Updates() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (d *desk) Now() time.Time                        { return d.now }
func (d *desk) Folders() []state.Folder               { return nil }
func (d *desk) EditLabel(l state.Label)               { d.log("edit", l.ID+" "+l.Name+" "+l.Color) }
func (d *desk) DeleteLabel(id string)                 { d.log("delete", id) }
func (d *desk) LabelColors() []state.LabelColor       { return d.colors }
func (d *desk) Labels() []state.Label                 { return d.labels }
func (d *desk) List(v state.View) state.List          { return state.List{View: v, Known: true} }
func (d *desk) Thread(id state.ThreadID) state.Thread { return state.Thread{Row: d.rows[id]} }
func (d *desk) Outbox() []state.Entry                 { return d.entries }
func (d *desk) Drafts() []state.DraftRow              { return d.drafts }
func (d *desk) Status() state.Status                  { return state.Status{Owner: true} }
func (d *desk) Activity() []state.Call                { return nil }
func (d *desk) Identities() []state.Address           { return d.me }
func (d *desk) OpenView(state.View)                   {}
func (d *desk) SetVisible(state.View, int, int)       {}
func (d *desk) OpenThread(state.ThreadID)             {}
func (d *desk) SetFocus(bool)                         {}
func (d *desk) Recovered() []state.Draft              { return nil }
func (d *desk) StopLine(string) bool                  { return false }
func (d *desk) Undo() bool                            { return false }
func (d *desk) Close(context.Context) error           { return nil }

func (d *desk) Can(state.ChangeKind, state.View) (bool, string) { return true, "" }

func (d *desk) Do(ids []state.ThreadID, c state.Change) {
	d.changes = append(d.changes, c)
	d.changed = append(d.changed, ids)
}

func (d *desk) NewLabel(name string, ids []state.ThreadID) {
	d.made = append(d.made, name)
	d.changed = append(d.changed, ids)
}

func (d *desk) Complete(prefix string, limit int) []state.Person {
	var out []state.Person
	for _, p := range d.people {
		if strings.HasPrefix(strings.ToLower(p.Name), strings.ToLower(prefix)) || strings.HasPrefix(p.Email, strings.ToLower(prefix)) {
			out = append(out, p)
		}
	}
	return out[:min(limit, len(out))]
}

func (d *desk) NewDraft(from string) state.Draft { return state.Draft{ID: "new", From: from} }

func (d *desk) Draft(id state.DraftID) (state.Draft, bool) {
	t, ok := d.texts[id]
	return t, ok
}

func (d *desk) DraftStatus(id state.DraftID) state.DraftStatus { return d.status[id] }

func (d *desk) EditDraft(t state.Draft) {
	d.edits = append(d.edits, t)
	d.texts[t.ID] = t
	d.status[t.ID] = state.DraftStatus{State: state.SaveDisk, At: d.now}
}

func (d *desk) SaveDraft(t state.Draft)         { d.EditDraft(t); d.log("save", string(t.ID)) }
func (d *desk) CloseDraft(id state.DraftID)     { d.log("close", string(id)) }
func (d *desk) DiscardDraft(id state.DraftID)   { d.log("discard", string(id)); delete(d.texts, id) }
func (d *desk) OpenDraft(id state.DraftID) bool { d.log("open", string(id)); return id != "lost" }

func (d *desk) Attach(id state.DraftID, path string) { d.attached = append(d.attached, path) }

func (d *desk) Detach(id state.DraftID, file string) {
	d.log("detach", file)
	t := d.texts[id]
	var left []state.File
	for _, f := range t.Files {
		if f.ID != file {
			left = append(left, f)
		}
	}
	t.Files = left
	d.texts[id] = t
}

func (d *desk) CheckDraft(t state.Draft) string {
	if d.check != nil {
		return d.check(t)
	}
	if strings.TrimSpace(t.To+t.Cc+t.Bcc) == "" {
		return "there is nobody to send it to"
	}
	return ""
}

func (d *desk) Send(t state.Draft, o state.SendOptions) state.EntryID {
	d.sends = append(d.sends, t)
	d.sendAt = append(d.sendAt, o.At)
	st := state.EntryQueued
	if d.saving {
		st = state.EntrySaving
	}
	id := state.EntryID("entry" + itoa(len(d.sends)))
	d.entries = append(d.entries, state.Entry{ID: id, State: st, Subject: t.Subject})
	return id
}

func (d *desk) Entry(id state.EntryID) (state.Entry, bool) {
	for _, e := range d.entries {
		if e.ID == id {
			return e, true
		}
	}
	return state.Entry{}, false
}

func (d *desk) EditorFile(id state.DraftID) (string, error) { return "/tmp/none", d.fileErr }

func (d *desk) AdoptEditorFile(id state.DraftID) (state.Draft, error) { return d.file, d.fileErr }

func (d *desk) SendNow(id state.EntryID)  { d.log("send-now", string(id)) }
func (d *desk) Hold(id state.EntryID)     { d.log("hold", string(id)) }
func (d *desk) Drop(id state.EntryID)     { d.log("drop", string(id)) }
func (d *desk) TakeBack(id state.EntryID) { d.log("take-back", string(id)) }

func (d *desk) EditEntry(id state.EntryID) (state.Draft, bool) {
	d.log("edit", string(id))
	e, _ := d.Entry(id)
	return state.Draft{ID: "from-" + state.DraftID(id), Subject: e.Subject, To: "x@example.org"}, e.CanEdit
}

func (d *desk) EditAsNew(id state.EntryID) (state.Draft, bool) {
	d.log("as-new", string(id))
	return state.Draft{ID: "new-" + state.DraftID(id)}, true
}

func (d *desk) SaveFiles(_ state.ThreadID, message string, files []string, dir string) {
	d.log("files", message+" "+strings.Join(files, "+")+" "+dir)
}

func (d *desk) SaveFileAs(_ state.ThreadID, message, file, path string) {
	d.log("file", message+" "+file+" "+path)
}

// stage is the whole program on a desk, driven by keys.
type stage struct {
	t    *testing.T
	app  *app
	desk *desk
	hold bool // what messages lead to is not run: it would wait
}

func newStage(t *testing.T, d *desk, width, height int) *stage {
	t.Helper()
	keys, err := keymap.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, desk: d, app: New(Options{
		Mail: d, Keys: keys, Colors: ColorsNone, Account: "ada@example.com", Zone: time.UTC, Mouse: true,
		DownloadDir: "~/Downloads", Editor: []string{"vi"},
	}).(*app)}
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// send handles a message and runs what comes of it, short of waiting for the clock.
func (s *stage) send(msg tea.Msg) {
	s.t.Helper()
	// A tick is on its way already: the test has its own clock.
	s.app.tickAt = s.desk.now.Add(1)
	_, cmd := s.app.Update(msg)
	s.run(cmd)
}

func (s *stage) run(cmd tea.Cmd) {
	s.t.Helper()
	if cmd == nil || s.hold {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.run(c)
		}
	default:
		s.send(msg)
	}
}

// press sends keys by name; anything longer than a name is typed letter by letter.
func (s *stage) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		if msg, ok := keyNamed(k); ok {
			s.send(msg)
			continue
		}
		for _, r := range k {
			if r == ' ' {
				s.send(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			} else {
				s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			}
		}
	}
}

func (s *stage) paste(text string) {
	s.t.Helper()
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
}

var namedKeys = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace,
	"delete": tea.KeyDelete, "ctrl+d": tea.KeyCtrlD, "ctrl+t": tea.KeyCtrlT, "ctrl+s": tea.KeyCtrlS, "ctrl+o": tea.KeyCtrlO,
	"ctrl+a": tea.KeyCtrlA, "ctrl+k": tea.KeyCtrlK, "ctrl+_": tea.KeyCtrlUnderscore, "ctrl+y": tea.KeyCtrlY, "ctrl+u": tea.KeyCtrlU,
	"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "ctrl+home": tea.KeyCtrlHome, "ctrl+end": tea.KeyCtrlEnd, "space": tea.KeySpace,
}

func keyNamed(k string) (tea.KeyMsg, bool) {
	name, alt := strings.CutPrefix(k, "alt+")
	if t, ok := namedKeys[name]; ok {
		m := tea.KeyMsg{Type: t, Alt: alt}
		if t == tea.KeySpace {
			m.Runes = []rune{' '}
		}
		return m, true
	}
	if alt {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name), Alt: true}, true
	}
	return tea.KeyMsg{}, false
}

func (s *stage) compose() *compose {
	s.t.Helper()
	for i := len(s.app.screens) - 1; i >= 0; i-- {
		if c, ok := s.app.screens[i].(*compose); ok {
			return c
		}
	}
	s.t.Fatal("compose is not open")
	return nil
}

func (s *stage) composing() bool {
	for _, x := range s.app.screens {
		if _, ok := x.(*compose); ok {
			return true
		}
	}
	return false
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// frame is what is on the screen as text; the cursor and other reversed text stands in brackets.
func (s *stage) frame() string {
	s.t.Helper()
	view := s.app.View()
	lines := strings.Split(view, "\n")
	if len(lines) != s.app.at.height {
		s.t.Errorf("the frame has %d lines of %d", len(lines), s.app.at.height)
	}
	for i, l := range lines {
		if w := cells.Width(sgr.ReplaceAllString(l, "")); w > s.app.at.width {
			s.t.Errorf("line %d takes %d cells of %d: %q", i, w, s.app.at.width, l)
		}
	}
	return plainFrame(view)
}

func plainFrame(view string) string {
	var b strings.Builder
	in, at := false, 0
	for _, m := range sgr.FindAllStringIndex(view, -1) {
		b.WriteString(view[at:m[0]])
		at = m[1]
		switch code := view[m[0]:m[1]]; {
		case code == "\x1b[7m":
			b.WriteString("⟦")
			in = true
		case in && code == "\x1b[0m":
			b.WriteString("⟧")
			in = false
		}
	}
	b.WriteString(view[at:])
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *stage) sees(parts ...string) {
	s.t.Helper()
	f := s.frame()
	for _, p := range parts {
		if !strings.Contains(f, p) {
			s.t.Errorf("%q is not on the screen:\n%s", p, f)
		}
	}
}

func (s *stage) misses(parts ...string) {
	s.t.Helper()
	f := s.frame()
	for _, p := range parts {
		if strings.Contains(f, p) {
			s.t.Errorf("%q is on the screen:\n%s", p, f)
		}
	}
}

// goldenFrame compares the frame with the file of that name; -update writes it.
func goldenFrame(t *testing.T, name, got string) {
	t.Helper()
	golden(t, filepath.Join("desk", name), got)
}
