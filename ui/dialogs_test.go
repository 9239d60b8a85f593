package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/state"
)

func (s *stage) dialog(d Screen) { s.t.Helper(); s.send(pushDialogMsg{d}) }

func (s *stage) top() *Frame { return s.app.frame(s.app.top()) }

func TestSnooze(t *testing.T) {
	mon := func(day, hour, minute int) time.Time { return time.Date(2026, 12, day, hour, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		name string
		keys []string
		want time.Time // zero: nothing is snoozed
		open bool
		sees string
	}{
		{"a number", []string{"2"}, mon(1, 8, 0), false, ""},
		{"a number and enter", []string{"2", "enter"}, mon(1, 8, 0), false, ""},
		{"the first line", []string{"enter"}, time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC), false, ""},
		{"by moving", []string{"down", "down", "enter"}, mon(5, 9, 0), false, ""},
		{"typed", []string{"fri 9", "enter"}, mon(4, 9, 0), false, ""},
		{"typed, erased, a number", []string{"t", "backspace", "2", "enter"}, mon(1, 8, 0), false, ""},
		{"nonsense", []string{"blah", "enter"}, time.Time{}, true, "try “fri 9”"},
		{"past", []string{"today 9am", "enter"}, time.Time{}, true, ""},
		{"no such hour", []string{"fri 25:00", "enter"}, time.Time{}, true, ""},
		{"esc", []string{"esc"}, time.Time{}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk()
			s := newStage(t, d, 80, 24)
			s.dialog(newSnooze([]state.ThreadID{"t1"}, "Nightly report", s.top()))
			if c.name == "a number" {
				synctest.Test(t, func(*testing.T) { s.press(c.keys...) })
			} else {
				s.hold = true
				s.press(c.keys...)
			}
			switch {
			case c.want.IsZero() && len(d.changes) > 0:
				t.Errorf("snoozed until %v", d.changes[0].Until)
			case !c.want.IsZero() && (len(d.changes) != 1 || !d.changes[0].Until.Equal(c.want) || d.changes[0].Kind != state.ChangeSnooze):
				t.Errorf("changes %v, want one until %v", d.changes, c.want)
			}
			if got := len(s.app.dialogs) > 0; got != c.open {
				t.Errorf("open is %v", got)
			}
			if c.sees != "" {
				s.sees(c.sees)
			}
			s.frame()
		})
	}
}

// A date may begin with the number of a preset.
func TestSnoozeNumberThenDate(t *testing.T) {
	d := newDesk()
	s := newStage(t, d, 80, 24)
	p := newSnooze([]state.ThreadID{"t1"}, "x", s.top()).(*timePicker)
	s.dialog(p)
	s.hold = true
	s.press("2")
	s.sees("takes number 2, unless you go on with a date")
	s.press("4 dec 18:00")
	s.hold = false
	s.send(presetDueMsg{p, 1})
	if len(d.changes) != 0 {
		t.Fatal("the number was taken although a date was typed")
	}
	s.press("enter")
	if len(d.changes) != 1 || !d.changes[0].Until.Equal(time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)) {
		t.Errorf("changes %v", d.changes)
	}

	s.dialog(newSnooze([]state.ThreadID{"t1"}, "x", s.top()))
	s.hold = true
	s.press("1", "esc")
	if len(d.changes) != 1 {
		t.Error("esc must stop a number that waits")
	}
}

func TestSnoozeUsesThePersonsZone(t *testing.T) {
	d := newDesk()
	s := newStage(t, d, 80, 24)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	s.app.o.Zone = zone
	s.dialog(newSnooze([]state.ThreadID{"t1"}, "x", s.top()))
	s.press("tomorrow 9am", "enter")
	if len(d.changes) != 1 || !d.changes[0].Until.Equal(time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)) {
		t.Errorf("changes %v", d.changes)
	}
}

func TestSnoozePresetThatHasPassed(t *testing.T) {
	d := newDesk()
	s := newStage(t, d, 80, 24)
	s.dialog(newSnooze([]state.ThreadID{"t1"}, "x", s.top()))
	d.now = d.now.Add(10 * time.Hour)
	s.hold = true
	s.press("1", "enter")
	if len(d.changes) != 0 {
		t.Error("a time that has passed was taken")
	}
	s.sees("That time has passed.")
}

// A time next year is seen whole, with its year and minutes.
func TestSnoozeShowsTheYear(t *testing.T) {
	s := newStage(t, newDesk(), 60, 15)
	s.dialog(newSnooze([]state.ThreadID{"t1"}, "Nightly report", s.top()))
	s.hold = true // the time that a lone number waits does not pass
	s.press("2028-01-15 10:30")
	s.sees("Sat 15 Jan 2028 10:30")
}

func TestSnoozeFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 15}} {
		d := newDesk()
		s := newStage(t, d, size[0], size[1])
		s.dialog(newSnooze([]state.ThreadID{"t1"}, "Nightly report", s.top()))
		goldenFrame(t, "snooze-"+itoa(size[0]), s.frame())
		s.press("fri 9")
		goldenFrame(t, "snooze-typed-"+itoa(size[0]), s.frame())
		s.press(" x")
		goldenFrame(t, "snooze-wrong-"+itoa(size[0]), s.frame())
	}
}

func labelDesk() *desk {
	d := newDesk()
	home, work, books := state.Label{ID: "l1", Name: "home"}, state.Label{ID: "l2", Name: "work", Color: "#ff0000"}, state.Label{ID: "l3", Name: "books"}
	d.labels = []state.Label{home, work, books, {ID: "l4", Name: "日本語\x1b[2J"}}
	d.rows["t1"] = state.Row{ID: "t1", Filled: true, Labels: []state.Label{home, work}}
	d.rows["t2"] = state.Row{ID: "t2", Filled: true, Labels: []state.Label{work}}
	return d
}

func ids(ls []state.Label) string {
	var s []string
	for _, l := range ls {
		s = append(s, l.ID)
	}
	return strings.Join(s, " ")
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		name        string
		keys        []string
		add, remove string
	}{
		{"nothing", []string{"enter"}, "", ""},
		{"mixed goes on", []string{"space", "enter"}, "l1", ""},
		{"mixed comes off", []string{"space", "space", "enter"}, "", "l1"},
		{"mixed back to mixed", []string{"space", "space", "space", "enter"}, "", ""},
		{"off", []string{"down", "space", "enter"}, "", "l2"},
		{"several", []string{"space", "down", "space", "down", "space", "enter"}, "l1 l3", "l2"},
		{"by name", []string{"bo", "space", "enter"}, "l3", ""},
		{"by name and enter", []string{"boks", "enter"}, "l3", ""},
		{"no such name", []string{"zzz", "space", "enter"}, "", ""},
		{"esc", []string{"space", "esc"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := labelDesk()
			s := newStage(t, d, 80, 24)
			s.dialog(newLabels([]state.ThreadID{"t1", "t2"}, []state.Label{d.labels[1]}, state.View{}, s.top()))
			s.frame()
			s.press(c.keys...)
			var got state.Change
			if len(d.changes) > 0 {
				got = d.changes[0]
			}
			if ids(got.Add) != c.add || ids(got.Remove) != c.remove {
				t.Errorf("add %q, remove %q", ids(got.Add), ids(got.Remove))
			}
			if c.add+c.remove == "" && len(d.changes) > 0 {
				t.Error("a change without content was made")
			}
			if len(s.app.dialogs) > 0 {
				t.Error("the dialog stayed open")
			}
		})
	}
}

func TestNewLabel(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		made string
	}{
		{"only line", []string{"zzz", "enter"}, "zzz"},
		{"below what is like it", []string{"boks", "down", "enter"}, "boks"},
		{"with a hash and blanks", []string{"#garden", "space", "party", "enter"}, "garden party"},
		{"a name that is there", []string{"HOME", "enter"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := labelDesk()
			s := newStage(t, d, 80, 24)
			s.dialog(newLabels([]state.ThreadID{"t1"}, nil, state.View{}, s.top()))
			s.press(c.keys...)
			if got := strings.Join(d.made, " "); got != c.made {
				t.Errorf("made %q, want %q", got, c.made)
			}
		})
	}
}

func TestLabelIsEdited(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"renamed", []string{"alt+r", "s", "enter"}, "edit l1 homes "},
		{"renamed to nothing new", []string{"alt+r", "esc", "esc"}, ""},
		{"coloured", []string{"alt+c", "down", "enter"}, "edit l1 home #d93025"},
		{"the colour it has is under the cursor", []string{"down", "alt+c", "enter"}, "edit l2 work #188038"},
		{"its colour taken away", []string{"down", "alt+c", "up", "up", "enter"}, "edit l2 work "},
		{"deleted", []string{"alt+k", "y"}, "delete l1"},
		{"not deleted by enter", []string{"alt+k", "enter"}, ""},
		{"no label is chosen", []string{"zzz", "alt+k", "y"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := labelDesk()
			d.labels[1].Color = "#188038"
			d.colors = []state.LabelColor{{Name: "Red", Value: "#d93025"}, {Name: "Green", Value: "#188038"}}
			s := newStage(t, d, 80, 24)
			s.dialog(newLabels([]state.ThreadID{"t1", "t2"}, []state.Label{d.labels[1]}, state.View{}, s.top()))
			for _, k := range c.keys {
				s.press(k)
				s.frame()
			}
			if got := strings.Join(d.calls, "; "); got != c.want {
				t.Errorf("did %q, want %q", got, c.want)
			}
		})
	}
}

// What becomes of labels while the picker is open shows in it, and what was toggled stays.
func TestLabelPickerFollows(t *testing.T) {
	d := labelDesk()
	s := newStage(t, d, 80, 24)
	s.dialog(newLabels([]state.ThreadID{"t1", "t2"}, []state.Label{d.labels[1]}, state.View{}, s.top()))
	s.press("down", "down", "space") // books
	d.labels = []state.Label{{ID: "l2", Name: "works"}, {ID: "l3", Name: "library"}}
	s.send(mailMsg{})
	s.sees("[x] #works", "[x] #library", "goes on")
	if v := s.frame(); strings.Contains(v, "#home") {
		t.Error("the deleted label is still there")
	}
	s.press("enter")
	if ids(d.changes[0].Add) != "l3" {
		t.Errorf("%+v", d.changes)
	}
}

func TestLabelsFrame(t *testing.T) {
	d := labelDesk()
	s := newStage(t, d, 80, 24)
	s.dialog(newLabels([]state.ThreadID{"t1", "t2"}, []state.Label{d.labels[1]}, state.View{}, s.top()))
	s.press("down", "space")
	goldenFrame(t, "labels-80", s.frame())
	s.press("zz")
	s.sees("make #zz")
	d.labels = nil
	s = newStage(t, d, 60, 15)
	s.dialog(newLabels([]state.ThreadID{"t3"}, nil, state.View{}, s.top()))
	s.sees("No labels yet: type a name to make one.")
	s.press("space", "down", "enter")
}

func TestTypedPath(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for in, want := range map[string]string{
		"~/x":                        "/home/ada/x",
		"~":                          "/home/ada",
		"~bob/x":                     "~bob/x",
		"'/tmp/a b'":                 "/tmp/a b",
		`"/tmp/a b"`:                 "/tmp/a b",
		`/tmp/a\ b`:                  "/tmp/a b",
		"file:///tmp/a%20b":          "/tmp/a b",
		"file://localhost/tmp/x":     "/tmp/x",
		"  /tmp/x ":                  "/tmp/x",
		"relative/x":                 "relative/x",
		"/tmp/\"quoted\" inside.txt": "/tmp/\"quoted\" inside.txt",
	} {
		if got := typedPath(in); got != want {
			t.Errorf("typedPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAttachCompletes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"report one.pdf", "report two.pdf", ".hidden", "Notes.txt", "e\x1b[2Jvil"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := newDesk()
	open := func() *stage {
		s := newStage(t, d, 80, 24)
		s.dialog(newAttach(func(path string, f *Frame) tea.Cmd { f.Mail.Attach("d1", path); return nil }))
		return s
	}
	field := func(s *stage) string { return s.app.dialogs[0].(*pathPrompt).in.String() }

	s := open()
	s.press(dir+"/not", "tab")
	if got := field(s); got != dir+"/Notes.txt" {
		t.Errorf("one match: %q", got)
	}
	s = open()
	s.press(dir+"/re", "tab")
	if got := field(s); got != dir+"/report " {
		t.Errorf("several matches: %q", got)
	}
	s.sees("report one.pdf", "report two.pdf")
	s.press("down", "down", "enter")
	if want := dir + "/report two.pdf"; len(d.attached) != 1 || d.attached[0] != want {
		t.Errorf("attached %q", d.attached)
	}
	s = open()
	s.press(dir+"/s", "tab")
	if got := field(s); got != dir+"/sub/" {
		t.Errorf("a folder: %q", got)
	}
	s.press("tab")
	s.sees("Nothing there begins like that.")
	s = open()
	s.press(dir+"/", "tab")
	s.sees("sub/", "Notes.txt", "evil")
	s.misses(".hidden", "\x1b[2J")
	s = open()
	s.press(dir+"/none/x", "tab")
	s.sees("That folder cannot be read.")
	s = open()
	s.press("enter")
	s.sees("Type a path first.")
	s.press(dir+"/none", "enter")
	s.sees("There is no such file.", "/none")
	s.press("ctrl+u", dir, "enter")
	s.sees("That is a folder")
	if err := os.Truncate(filepath.Join(dir, "Notes.txt"), state.MaxFiles+1); err != nil {
		t.Fatal(err)
	}
	s.press("ctrl+u", dir+"/Notes.txt", "enter")
	s.sees("It has 18.9 MB; at most 18.9 MB can be sent.")
	if len(d.attached) != 1 {
		t.Errorf("attached %q", d.attached)
	}
	s.press("esc")
	if len(s.app.dialogs) > 0 {
		t.Error("esc must close")
	}
}

func TestAttachDropsLateAnswers(t *testing.T) {
	s := newStage(t, newDesk(), 80, 24)
	p := newAttach(func(path string, f *Frame) tea.Cmd { f.Mail.Attach("d1", path); return nil }).(*pathPrompt)
	s.dialog(p)
	s.press("/a")
	s.send(pathsFoundMsg{owner: p.owner, gen: p.gen - 1, text: "/", matches: []pathMatch{{name: "late"}}})
	s.send(pathsFoundMsg{owner: new(int), gen: p.gen, text: "/a", matches: []pathMatch{{name: "other"}}})
	if got := p.in.String(); got != "/a" {
		t.Errorf("a late answer changed the field to %q", got)
	}
}

func TestSaveFiles(t *testing.T) {
	d := newDesk()
	s := newStage(t, d, 80, 24)
	s.dialog(newSaveFiles("t1", "m1", []string{"a1", "a2"}, s.top()))
	s.sees("Save 2 attachments in", "~/Downloads")
	s.press("ctrl+u", "/tmp/x", "enter")
	if !d.did("files m1 a1+a2 /tmp/x") {
		t.Errorf("calls %v", d.calls)
	}
	d.calls = nil
	s.dialog(newSaveFiles("t1", "m1", []string{"a1"}, s.top()))
	s.sees("Save this attachment as", "~/Downloads/")
	s.press("x.pdf", "enter")
	if len(d.calls) != 1 || !strings.HasSuffix(d.calls[0], "/Downloads/x.pdf") || !strings.HasPrefix(d.calls[0], "file m1 a1 ") {
		t.Errorf("calls %v", d.calls)
	}
	th := state.Thread{Messages: []api.Message{{ID: "m1", Attachments: []api.Attachment{{AttachmentID: "a1", Filename: "../photo\u202egpj.exe"}}}}}
	if got := attachmentName(th, "m1", "a1"); strings.ContainsAny(got, "/\u202e") || !strings.HasSuffix(got, ".exe") {
		t.Errorf("name %q", got)
	}
}
