package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func replyDraft() state.Draft {
	return state.Draft{
		ID: "d1", Kind: state.DraftReply, ThreadID: "t1", From: "ada@example.com", To: "Grace Hall <grace@example.org>", Subject: "Re: Compiler notes",
		Body: "\n\nOn Fri 27 Nov 2026, Grace Hall wrote:\n> The second pass is done.\n> Numbers are in the table.\n",
	}
}

func openCompose(t *testing.T, d *desk, draft state.Draft) *stage {
	t.Helper()
	s := newStage(t, d, 80, 24)
	s.send(openDraftMsg{draft})
	return s
}

func TestComposeStartsWhereTheWorkIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		draft state.Draft
		want  part
	}{
		{"new", state.Draft{ID: "d"}, partTo},
		{"mailto with an address", state.Draft{ID: "d", To: "a@example.com"}, partSubject},
		{"reply", replyDraft(), partBody},
		{"forward", state.Draft{ID: "d", Kind: state.DraftForward, Subject: "Fwd: x", Body: "y"}, partTo},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := openCompose(t, newDesk(), c.draft).compose().at; got != c.want {
				t.Errorf("focus on %d, want %d", got, c.want)
			}
		})
	}
}

func TestComposeKeepsEveryChange(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, state.Draft{ID: "d1"})
	s.press("bob@example.org", "tab", "Hi", "enter", "Text")
	last := d.edits[len(d.edits)-1]
	if last.To != "bob@example.org" || last.Subject != "Hi" || last.Body != "Text" || last.ID != "d1" {
		t.Errorf("kept %+v", last)
	}
	if want := len("bob@example.org") + len("Hi") + len("Text"); len(d.edits) != want {
		t.Errorf("%d changes were kept, want %d", len(d.edits), want)
	}
	s.press("left", "right", "tab", "tab")
	if len(d.edits) != 21 {
		t.Errorf("moving the cursor is no change: %d", len(d.edits))
	}
}

func TestComposeSendsOnce(t *testing.T) {
	d := newDesk()
	d.saving = true
	s := openCompose(t, d, replyDraft())
	s.press("Thanks", "ctrl+d", "ctrl+d", "alt+enter", "more text")
	if len(d.sends) != 1 {
		t.Fatalf("%d entries were made, want 1", len(d.sends))
	}
	if !strings.HasPrefix(d.sends[0].Body, "Thanks\n") || d.sends[0].ThreadID != "t1" {
		t.Errorf("sent %+v", d.sends[0])
	}
	s.sees("Saving the message for sending")
	s.press("esc")
	if !s.composing() {
		t.Error("compose must stay open until the message is on disk")
	}
	d.entries[0].State = state.EntryQueued
	s.send(mailMsg{})
	if s.composing() {
		t.Error("compose must close once the message is on disk")
	}
	if d.did("discard d1") {
		t.Error("the draft was thrown away")
	}
	s.misses("Draft kept")
}

func TestComposeStaysWhenTheDiskRefuses(t *testing.T) {
	d := newDesk()
	d.saving = true
	s := openCompose(t, d, replyDraft())
	s.press("Thanks", "ctrl+d")
	d.entries[0].State, d.entries[0].Why = state.EntryFailed, "the disk is full"
	s.send(mailMsg{})
	s.sees("Not sent: the disk is full. Your text is still here.", "Thanks")
	s.press("!")
	s.sees("Thanks!")
	d.saving = false
	s.press("ctrl+d")
	if len(d.sends) != 2 || s.composing() {
		t.Errorf("a second try must make a new entry and close: %d sends, open %v", len(d.sends), s.composing())
	}
}

func TestComposeProblemsAreShownAtTheField(t *testing.T) {
	for _, c := range []struct {
		name  string
		draft state.Draft
		check func(state.Draft) string
		at    part
		want  string
	}{
		{"nobody", state.Draft{ID: "d", Subject: "x", Body: "y"}, nil, partTo, "There is nobody to send it to."},
		{"malformed", state.Draft{ID: "d", To: "bob@example.org, nonsense", Subject: "x"}, nil, partTo, "“nonsense” is not an address: it needs a form such as"},
		{"malformed copy", state.Draft{ID: "d", To: "bob@example.org", Cc: "x@", Subject: "x"}, nil, partCc, "“x@” is not an address: it needs a form such as"},
		{
			"sender",
			state.Draft{ID: "d", To: "bob@example.org", Subject: "x"},
			func(state.Draft) string { return "From: it may not send" }, partFrom, "It may not send.",
		},
		{
			"attachment",
			state.Draft{ID: "d", To: "bob@example.org", Subject: "x", Files: []state.File{{ID: "f", Name: "a.bin"}}},
			func(state.Draft) string { return "the attachments are larger than 25 MB" }, partFiles, "The attachments are larger than 25 MB.",
		},
		{
			"hostile words",
			state.Draft{ID: "d", To: "bob@example.org", Subject: "x"},
			func(state.Draft) string { return "Bcc: \x1b]0;pwned\x07no such place" }, partBcc, "No such place.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk()
			d.check = c.check
			s := openCompose(t, d, c.draft)
			s.desk.texts[c.draft.ID] = c.draft
			s.press("ctrl+d")
			if len(d.sends) != 0 {
				t.Error("it was sent all the same")
			}
			if got := s.compose().at; got != c.at {
				t.Errorf("focus on %d, want %d", got, c.at)
			}
			s.sees(c.want)
			s.misses("pwned\x07")
			s.press("esc")
			s.misses(c.want)
			if !s.composing() {
				t.Error("esc must put the problem away first")
			}
		})
	}
}

func TestComposeAsksOnceForASubject(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, state.Draft{ID: "d", To: "bob@example.org"})
	s.press("ctrl+d")
	s.sees("This message has no subject. Send it without one?")
	s.press("ctrl+d", "n")
	if len(d.sends) != 0 || s.compose().at != partSubject {
		t.Fatalf("no must go back to the subject: %d sends", len(d.sends))
	}
	s.press("ctrl+d")
	if len(d.sends) != 1 {
		t.Error("it must ask only once")
	}

	d = newDesk()
	s = openCompose(t, d, state.Draft{ID: "d", To: "bob@example.org"})
	s.press("ctrl+d", "y")
	if len(d.sends) != 1 || s.composing() {
		t.Errorf("yes must send: %d sends", len(d.sends))
	}
}

func TestComposeSendLater(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("ctrl+t", "fri 9")
	s.sees("Fri 4 Dec 09:00")
	s.press("enter")
	if len(d.sends) != 1 || !d.sendAt[0].Equal(time.Date(2026, 12, 4, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("sent at %v", d.sendAt)
	}
	if s.composing() || len(s.app.dialogs) > 0 {
		t.Error("compose must close")
	}
	d = newDesk()
	s = openCompose(t, d, replyDraft())
	s.press("ctrl+t", "esc")
	if len(d.sends) != 0 || !s.composing() {
		t.Error("esc must send nothing")
	}
}

func TestComposeEscKeepsTheDraft(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, state.Draft{ID: "d1"})
	s.press("tab", "tab", "Some text", "esc")
	if s.composing() || !d.did("close d1") || d.did("discard d1") {
		t.Errorf("calls %v", d.calls)
	}
	s.sees("Draft kept")

	d = newDesk()
	s = openCompose(t, d, replyDraft())
	s.press("esc")
	s.misses("Draft kept")

	d = newDesk()
	s = openCompose(t, d, state.Draft{ID: "d1"})
	s.press("x", "backspace", "esc")
	if !d.did("discard d1") {
		t.Error("what was emptied again leaves no draft behind")
	}

	d = newDesk()
	s = openCompose(t, d, state.Draft{ID: "d1", To: "a@example.com", Subject: "x", Body: "\n\n-- \nAda\n"})
	s.press("Hello")
	if got := s.compose().texts[partBody].text(); got != "Hello\n\n-- \nAda\n" {
		t.Errorf("text above the signature: %q", got)
	}

	d = newDesk()
	s = openCompose(t, d, state.Draft{ID: "d1", Body: "\n\n-- \nAda\n"})
	s.press("x", "backspace", "esc")
	if !d.did("discard d1") {
		t.Error("a signature alone leaves no draft behind")
	}
}

func TestComposeDiscardAsks(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("text", "alt+k")
	s.sees("Throw this message away?")
	s.press("n")
	if d.did("discard d1") || !s.composing() {
		t.Fatal("no must keep it")
	}
	s.press("alt+k", "y")
	if !d.did("discard d1") || s.composing() {
		t.Error("yes must throw it away and close")
	}
}

func TestComposeCompletion(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, state.Draft{ID: "d"})
	s.press("an")
	s.sees("Ana Müller <ana@example.net>", "12 mails, last yesterday", "Annual Review", "1 mail")
	s.press("down", "up", "enter")
	if got := s.compose().texts[partTo].text(); got != "Ana Müller <ana@example.net>, " {
		t.Fatalf("took %q", got)
	}
	s.press("hop", "tab")
	if got := s.compose().texts[partTo].text(); got != `Ana Müller <ana@example.net>, "Hopper, Grace" <grace@example.org>, ` {
		t.Fatalf("took %q", got)
	}
	s.press("ann", "esc")
	if !s.composing() || s.compose().people.open() {
		t.Fatal("esc must close the list first")
	}
	s.press("tab")
	if s.compose().at != partSubject {
		t.Error("tab with the list closed goes on")
	}

	d = newDesk()
	d.people = append(d.people, state.Person{Address: state.Address{Email: "bob@example.com.au"}})
	s = openCompose(t, d, state.Draft{ID: "d"})
	s.press("bob@example.com", "tab")
	if got := s.compose().texts[partTo].text(); got != "bob@example.com" {
		t.Errorf("a whole address must stay as it was typed: %q", got)
	}
}

func TestComposeAddressAfterAddress(t *testing.T) {
	s := openCompose(t, newDesk(), replyDraft())
	s.press("shift+tab", "shift+tab", "bob@example.org")
	if got := s.compose().texts[partTo].text(); got != "Grace Hall <grace@example.org>, bob@example.org" {
		t.Errorf("got %q", got)
	}
}

func TestComposePaste(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		at               part
	}{
		{"addresses", "ada@example.com, grace@example.org\n", "ada@example.com, grace@example.org", partTo},
		{"addresses on lines", "Ada <ada@example.com>\r\ngrace@example.org\n\n", "Ada <ada@example.com>, grace@example.org", partTo},
		{"mailto", "mailto:ada@example.com", "ada@example.com", partTo},
		{"lines", "line one\r\nline two\rline three\n", "line one\nline two\nline three\n", partBody},
		{"controls", "a\x1b[31mb\x07c\x00d", "abcd", partBody},
		{"scripts", "Grüße 漢字 🙂", "Grüße 漢字 🙂", partBody},
		{"subject", "\tindented\n", " indented", partSubject},
		{"subject of lines", "one\ntwo", "one two", partSubject},
		{"a key of sending", "#\ne\n:quit\n", "#\ne\n:quit\n", partBody},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openCompose(t, newDesk(), state.Draft{ID: "d"})
			s.compose().at = c.at
			s.paste(c.text)
			if got := s.compose().texts[c.at].text(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if s.compose().at != c.at {
				t.Error("the cursor left the field")
			}
		})
	}
}

func TestComposeKeysAfterPasteAreText(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.paste("text ")
	s.press(" more", "ctrl+d", "#")
	if len(d.sends) != 0 {
		t.Fatal("a key right after a paste sent the message")
	}
	d.now = d.now.Add(60 * time.Millisecond)
	s.press("ctrl+d")
	if len(d.sends) != 1 {
		t.Error("the key must work again after the pause")
	}
}

func TestComposeCopies(t *testing.T) {
	s := openCompose(t, newDesk(), replyDraft())
	s.misses("\n Bcc")
	s.sees("alt+c Cc/Bcc")
	s.press("alt+c")
	s.sees("\n Cc ", "\n Bcc")
	if s.compose().at != partCc {
		t.Error("Cc must have the keys")
	}
	s.press("cy@example.org", "tab", "bo@example.org")
	c := s.compose()
	if c.draft.Cc != "cy@example.org" || c.draft.Bcc != "bo@example.org" {
		t.Errorf("Cc %q, Bcc %q", c.draft.Cc, c.draft.Bcc)
	}
}

func TestComposeFrom(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("shift+tab", "shift+tab", "shift+tab", "enter", "down")
	s.sees("Ada Lovelace <ada@work.example>")
	s.press("enter")
	if got := d.edits[len(d.edits)-1].From; got != "ada@work.example" {
		t.Errorf("From is %q", got)
	}
	d = newDesk()
	d.me = d.me[:1]
	s = openCompose(t, d, replyDraft())
	s.press("shift+tab", "shift+tab", "shift+tab")
	if s.compose().at == partFrom {
		t.Error("there is nothing to choose with one identity")
	}
}

func TestComposeFromIsTypedWhileNoneIsKnown(t *testing.T) {
	d := newDesk()
	d.me = nil
	s := openCompose(t, d, state.Draft{ID: "d", To: "bob@example.org", Subject: "x"})
	s.press("shift+tab", "shift+tab", "shift+tab", "me@example.com")
	if got := d.edits[len(d.edits)-1].From; got != "me@example.com" {
		t.Errorf("From is %q", got)
	}
	d.me = []state.Address{{Email: "me@example.com"}}
	s.send(mailMsg{})
	s.press("tab")
	s.sees("From     me@example.com")
}

func TestComposeNewMailMovesNothing(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("My answer")
	before := s.frame()
	other := replyDraft()
	other.Body, other.To, other.Subject, other.Files = "replaced", "replaced", "replaced", nil
	d.texts["d1"] = other
	s.send(mailMsg{})
	if after := s.frame(); after != before {
		t.Errorf("the frame changed:\n%s\nwas:\n%s", after, before)
	}
}

func TestComposeAttachments(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	path := filepath.Join(t.TempDir(), "tables.csv")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.press("ctrl+a", "~", "backspace", path, "enter")
	if !slices.Equal(d.attached, []string{path}) {
		t.Fatalf("attached %q", d.attached)
	}
	if len(d.edits) == 0 {
		t.Fatal("a draft must be handed over before a file is attached to it")
	}
	draft := replyDraft()
	draft.Files = []state.File{{ID: "f1", Name: "tables.csv", SizeBytes: 12_000}, {ID: "f2", Name: "../e\x1b[2Jvil\u202egpj.exe", SizeBytes: 1_200_000}}
	d.texts["d1"] = draft
	s.send(mailMsg{})
	s.sees("tables.csv 12 kB", ".exe 1.2 MB")
	s.misses("\x1b[2J", "\u202e", "../")
	s.press("x")
	if got := d.edits[len(d.edits)-1].Files; len(got) != 2 {
		t.Errorf("an edit lost the attachments: %v", got)
	}
	s.press("tab", "left", "delete")
	if !d.did("detach f1") {
		t.Errorf("calls %v", d.calls)
	}
	s.press("alt+a")
	if !d.did("detach f2") {
		t.Errorf("calls %v", d.calls)
	}
}

func TestComposeUndo(t *testing.T) {
	s := openCompose(t, newDesk(), replyDraft())
	s.press("one", "alt+z")
	if got := s.compose().draft.Body; got != replyDraft().Body {
		t.Errorf("after undo %q", got)
	}
	s.press("ctrl+y")
	if got := s.compose().draft.Body; !strings.HasPrefix(got, "one\n") {
		t.Errorf("after redo %q", got)
	}
	s.sees("alt+z undoes the last change")
}

func TestComposeSaveNeverSends(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("ctrl+s")
	if !d.did("save d1") || len(d.sends) != 0 || !s.composing() {
		t.Errorf("calls %v, %d sends", d.calls, len(d.sends))
	}
}

// Who opens a draft again goes on where the own text ends.
func TestComposeGoesOnWhereTheTextEnds(t *testing.T) {
	quote := "On Fri 27 Nov 2026, Grace Hall wrote:\n> The second pass is done.\n"
	for _, c := range []struct{ body, want string }{
		{"", "|"},
		{"Dear Grace,\n\nit is\n\n", "it is|"},
		{"\n\n" + quote, "|\n\nOn Fri"},
		{"Thanks.\nMore:\n\n" + quote, "More:|"},
		{"> first\n\nmy answer\n", "|> first"},
		{"\n\n---------- Forwarded message ----------\nFrom: Ada\n\nHello\n", "|\n\n------"},
	} {
		s := openCompose(t, newDesk(), state.Draft{ID: "d", From: "ada@example.com", To: "grace@example.org", Subject: "x", Body: c.body})
		s.press("|")
		if got := s.compose().texts[partBody].text(); !strings.Contains(got, c.want) {
			t.Errorf("%q: the cursor is at the bar in %q", c.body, got)
		}
		if first, _, _ := strings.Cut(strings.TrimLeft(c.body, "\n"), "\n"); first != "" {
			s.sees(strings.TrimPrefix(first, "> first")) // the text is seen from its beginning
		}
	}
}

// What wraps on the screen does not wrap in the message, and reads as quoted to its end.
func TestComposeQuotedLineWraps(t *testing.T) {
	d := newDesk()
	draft := replyDraft()
	draft.Body = "\n> " + strings.Repeat("word ", 30) + "end\n"
	s := openCompose(t, d, draft)
	s.sees("> word word", "┊ word word", "┊ end")
	s.press("Yes", "ctrl+d")
	if len(d.sends) != 1 || d.sends[0].Body != "Yes"+draft.Body {
		t.Errorf("sent %+v", d.sends)
	}
}

func TestComposeMouse(t *testing.T) {
	s := openCompose(t, newDesk(), replyDraft())
	s.frame()
	s.send(tea.MouseMsg{X: 4, Y: 7, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	s.press("|")
	s.sees("On |⟦F⟧ri 27 Nov")
}

func TestComposeHostileDraft(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, state.Draft{
		ID: "d", From: "\x1b[31mada@example.com", To: "a\u202e\x1b]0;x\x07@example.com", Subject: "one\ntwo\x1b[2J", Body: "x\x1b[2Jy\u009b31m\u202ez\x00",
		Files: []state.File{{Name: "a\nb\x1b[H"}},
	})
	v := sgr.ReplaceAllString(s.app.View(), "")
	for _, r := range v {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Fatalf("a control character reached the screen: %q", v)
		}
	}
	s.sees("one two", "xy31mz⟦ ⟧")
}

func TestComposeSizes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 15}, {40, 10}, {24, 5}, {30, 8}, {200, 60}, {1, 1}} {
		for _, draft := range []state.Draft{replyDraft(), {ID: "d", Cc: "x@example.org", Files: []state.File{{Name: strings.Repeat("long", 40)}, {Name: "b"}}, Body: strings.Repeat("日本語 ", 300)}} {
			s := newStage(t, newDesk(), size[0], size[1])
			s.send(openDraftMsg{draft})
			for range 9 {
				s.press("tab")
				s.frame()
			}
			s.press("an")
			s.frame()
			s.compose().fail(partTo, strings.Repeat("no good ", 30))
			s.frame()
		}
	}
}

func TestComposeFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 15}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			draft := replyDraft()
			draft.Files = []state.File{{ID: "f", Name: "tables.csv", SizeBytes: 12_345}, {ID: "g", Name: "notes for the second pass.pdf", SizeBytes: 4_800_000}}
			d.texts["d1"] = draft
			s := newStage(t, d, size[0], size[1])
			s.send(openDraftMsg{draft})
			s.press("Thanks, I will read it tonight. Would Thursday suit you for the walk through the tables? 木曜日の午後でも大丈夫です。")
			d.now = d.now.Add(3 * time.Second)
			s.press("left")
			goldenFrame(t, "compose-"+name, s.frame())
			s.press("shift+tab", "shift+tab", "an")
			goldenFrame(t, "compose-complete-"+name, s.frame())
			s.press("x", "ctrl+d")
			goldenFrame(t, "compose-problem-"+name, s.frame())
		})
	}
}

func BenchmarkComposeKeyAt200kB(b *testing.B) {
	d := newDesk()
	f := &Frame{Width: 80, Height: 20, Focused: true, Now: deskNow, Mail: d, Options: &Options{Mail: d}, Theme: NewTheme("", Colors256, false), asks: new([]tea.Msg)}
	f.Keys, _ = keymap.New("", nil)
	draft := replyDraft()
	draft.Body = bigTexts["lines"]
	c := newCompose(draft).(*compose)
	c.texts[partBody].moveTo(place{1500, 10})
	for b.Loop() {
		c.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'x'}}, f)
		d.edits = d.edits[:0]
		_ = c.View(f)
	}
}

func BenchmarkComposeView(b *testing.B) {
	d := newDesk()
	f := &Frame{Width: 80, Height: 20, Focused: true, Now: deskNow, Mail: d, Options: &Options{Mail: d}, Theme: NewTheme("", Colors256, false), asks: new([]tea.Msg)}
	f.Keys, _ = keymap.New("", nil)
	c := newCompose(replyDraft()).(*compose)
	for b.Loop() {
		_ = c.View(f)
	}
}
