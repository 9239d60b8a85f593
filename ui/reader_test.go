package ui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/state"
)

func TestReaderOpensUnreadAndMarksRead(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	if got := m.took(); got != "open thread t1; read [t1]" {
		t.Errorf("got %q", got)
	}
	s.has("The second pass is done", "They come last.", "4 quoted lines")
	s.refresh()
	if got := m.took(); got != "" {
		t.Errorf("it is marked once: %q", got)
	}
	s.keys("tab")
	s.has("And the tables before them.")
}

// What is unread is in sight at once, however many messages stand folded before it.
func TestReaderOpensWhereTheTextIs(t *testing.T) {
	m := sampleMail()
	th := state.Thread{Row: state.Row{ID: "t1", Filled: true}, Known: true, Rev: 1}
	for i := range 18 {
		th.Messages = append(th.Messages, api.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprintf("Text %d.\n", i), Unread: i == 17})
	}
	m.threads["t1"] = th
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	s.has("Text 17.", "Text 16.")
}

// What is looked for in folded messages is not found, and the line says how to open them.
// What is folded is looked through too: the messages that hold the text are opened, and quotes when it is only there.
func TestFindOpensWhatIsFolded(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("enter")
	s.keys("ctrl+s", "the TABLES?", "enter")
	s.has("1 of 1", "to Grace Hall")
	s.keys("esc", "ctrl+s", "tables before", "enter")
	s.has("1 of 1", "And the tables before them.")
	s.keys("esc", "ctrl+s", "zebra", "enter")
	s.has("“zebra” is not in this conversation")
}

func TestReaderMessages(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24)
	s.keys("enter", "p")
	s.has("They come last.")
	if s.app.reader.cur != 2 {
		t.Errorf("p goes to message %d", s.app.reader.cur)
	}
	s.keys("p", "p", "p")
	s.has("This is the first message")
	s.keys("O")
	for i, msg := range s.app.reader.th.Messages {
		if s.app.reader.open[msg.ID] != (i == 3) {
			t.Errorf("message %d open: %v", i, s.app.reader.open[msg.ID])
		}
	}
	s.keys("r")
	if got := s.mail.took(); !strings.Contains(got, "reply t1 m1 false") {
		t.Errorf("an answer is to the message with the cursor: %q", got)
	}
}

func TestLinksShowTheirTargetFirst(t *testing.T) {
	m := sampleMail()
	m.threads["t1"] = state.Thread{Row: state.Row{ID: "t1", Filled: true}, Known: true, Rev: 1, Messages: []api.Message{{
		ID: "m1", HTML: `<a href="https://evil.example/x">https://bank.example/</a> <a href="javascript:alert(1)">run</a> ` +
			`<a href="mailto:ada@example.com?subject=Hi&attach=/etc/passwd&cc=lin@example.net">write</a>`,
	}}}
	opened := ""
	s := startTest(t, m, 80, 24, func(o *Options) {
		o.Copy = func(text string) error { opened = text; return nil }
		o.Opener = []string{"/nonexistent/opener"}
	})
	s.keys("enter", "1")
	s.has("https://evil.example/x", "not where its text says")
	s.keys("y")
	if opened != "https://evil.example/x" {
		t.Errorf("copied %q", opened)
	}
	s.keys("2")
	s.has("never opened")
	s.keys("enter")
	s.has("never opened")
	s.keys("9")
	s.has("no such link")
	s.keys("esc")
	s.hasNot("no such link")
	s.keys("1", "enter")
	s.has("Could not open it with /nonexistent/opener: it is not installed")
	s.keys("3", "enter")
	s.has("ada@example.com", "lin@example.net", "Hi")
	s.hasNot("passwd")
}

func TestReaderGoesOnAfterArchive(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter", "e")
	if s.app.reader.id != "t2" || s.app.focus != paneReader {
		t.Errorf("after archiving the first thread the reader shows %q", s.app.reader.id)
	}
	s.keys("K")
	s.has("This is the first conversation")
	s.keys("J", "K", "u")
	if s.app.focus != paneThreads {
		t.Error("unread goes back to the list, or it would be read again")
	}
	m.lists[inboxView] = state.List{View: inboxView, Known: true, Rev: 90, Rows: m.lists[inboxView].Rows[:1]}
	s.refresh()
	s.keys("enter", "#")
	if s.app.focus != paneThreads || s.app.reader.id != "" {
		t.Error("without a next thread the list is shown")
	}
}

func TestReaderGoesOnAfterSnooze(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter", "b", "1", "enter")
	if got := m.took(); !strings.Contains(got, "snooze [t1]") {
		t.Fatalf("got %q", got)
	}
	s.refresh()
	if s.app.reader.id != "t2" {
		t.Errorf("the reader shows %q", s.app.reader.id)
	}
}

func TestFindInside(t *testing.T) {
	m := sampleMail()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "line %d\n", i)
		if i%50 == 10 {
			text.WriteString("a Needle here\n")
		}
	}
	m.threads["t1"] = state.Thread{Row: state.Row{ID: "t1"}, Known: true, Rev: 1, Messages: []api.Message{{ID: "m1", Text: text.String()}}}
	s := startTest(t, m, 80, 24)
	s.keys("enter", "ctrl+s", "needle", "enter")
	s.has("1 of 4", "a Needle here")
	s.keys("n", "n")
	s.has("3 of 4", "a Needle here")
	s.keys("p")
	s.has("2 of 4")
	s.keys("esc")
	s.hasNot("of 4")
}

func TestAttachments(t *testing.T) {
	m := sampleMail()
	th := m.threads["t1"]
	s := startTest(t, m, 80, 24)
	s.keys("enter", "v")
	if got := m.took(); !strings.Contains(got, "read m4 a1") {
		t.Errorf("got %q", got)
	}
	m.opened = "/tmp/notes.pdf"
	s.app.o.Opener = []string{"/nonexistent/opener"}
	s.refresh()
	s.has("Could not open it with /nonexistent/opener: it is not installed")
	s.keys("w")
	s.has("Save this attachment as", "~/notes.pdf")
	s.keys("esc")

	th.Messages = append([]api.Message(nil), th.Messages...)
	th.Messages[3].Attachments = []api.Attachment{
		{AttachmentID: "a1", Filename: "../../etc/passwd", Size: 1},
		{AttachmentID: "a2", Filename: "photo\u202egpj.exe", Size: 2},
		{AttachmentID: "a3", Filename: strings.Repeat("long", 60) + ".exe", Size: 3},
	}
	th.Rev++
	m.threads["t1"] = th
	s.refresh()
	s.keys("w")
	s.has("All 3 files", ".exe")
	s.hasNot("../", "\u202e")
	s.keys("2")
	s.has("Save ")
}

func TestNothingIsOpenedWithoutAnOpener(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter", "v")
	m.opened = "/tmp/notes.pdf"
	s.refresh()
	s.has("No program opens links and files: set opener in the configuration")
}

// linkMarks are terminal links to what a cleaned link may hold.
var linkMarks = regexp.MustCompile(`\x1b\]8;;((https?|mailto):[!-~]*)?\x1b\\`)

func TestHostileMessage(t *testing.T) {
	evil := "a\x1b[2Jb\x1b]0;title\x07c\x1b]52;c;aGk=\x07d\u202ee\u009bf\x00\x08\rg"
	m := sampleMail()
	m.threads["t1"] = state.Thread{Row: state.Row{ID: "t1", Subject: evil, Labels: []state.Label{{Name: evil}}}, Known: true, Rev: 1, Messages: []api.Message{{
		ID: "m1", From: api.Address{Name: evil, Email: evil}, To: []api.Address{{Name: evil, Email: evil}}, Subject: evil, Text: evil + " https://x.example/\x1b]52;c;aGk=\x07" + evil, Snippet: evil,
		VerificationCode: evil, SentWith: evil, DeliveredTo: evil, ListUnsubscribe: evil,
		Attachments: []api.Attachment{{Filename: evil, ContentType: evil}, {ContentType: "text/calendar", Content: []byte("BEGIN:VEVENT\nSUMMARY:" + evil + "\nLOCATION:" + evil + "\nDTSTART:20260101T000000Z\nEND:VEVENT")}},
	}}}
	m.folders = append(m.folders, state.Folder{View: state.View{Folder: evil}, Name: evil})
	m.status.Failures = []state.Notice{{Kind: state.NoticeFailure, Text: evil}}
	m.activity = []state.Call{{Title: evil, Note: evil, Request: evil, Code: evil, Cause: evil, Op: evil}}
	for _, size := range sizes {
		s := startTest(t, m, size.width, size.height)
		check := func() {
			t.Helper()
			// Only what the theme writes may remain: colours, links, and moves inside a cell column.
			view := linkMarks.ReplaceAllString(s.app.View(), "")
			view = movedCells.ReplaceAllString(view, "")
			for _, part := range strings.Split(view, "\x1b")[1:] {
				end := strings.IndexAny(part, "m")
				if !strings.HasPrefix(part, "[") || end < 0 || strings.Trim(part[1:end], "0123456789;") != "" {
					t.Fatalf("a sequence of the mail came through: %q", part)
				}
			}
			if strings.ContainsAny(ansi.Strip(view), "\x00\x07\x08\r\u202e\u009b") {
				t.Fatalf("a control character of the mail came through")
			}
		}
		s.keys("enter")
		check()
		s.keys("H", "G")
		check()
		s.keys("!", "enter")
		check()
		s.keys("ctrl+k", "go to")
		check()
	}
}

func TestLongBodyIsLaidOutByACommand(t *testing.T) {
	m := sampleMail()
	m.threads["t1"] = state.Thread{Row: state.Row{ID: "t1"}, Known: true, Rev: 1, Messages: []api.Message{{ID: "m1", Text: strings.Repeat("word ", 40000) + "\nthe end"}}}
	s := startTest(t, m, 80, 24)
	f := s.app.frame(s.app.reader)
	cmd := s.app.reader.show("t1", inboxView, f)
	if cmd == nil {
		t.Fatal("there is no command")
	}
	s.app.focus = paneReader
	s.has("Laying out a long message")
	for _, c := range []any{cmd()} {
		if msg, ok := c.(bodyMsg); ok {
			s.send(msg)
		}
	}
	s.keys("G")
	s.has("the end")
}

func TestInvite(t *testing.T) {
	in, ok := parseInvite("BEGIN:VCALENDAR\nMETHOD:request\nBEGIN:VEVENT\nSUMMARY:A\\, b\\nc\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227\nBEGIN:VALARM\nSUMMARY:no\nEND:VALARM\nEND:VEVENT", time.UTC)
	if !ok || in.Summary != "A, b c" || in.When != "Thu 24 Dec 2026 – Sat 26 Dec 2026, all day" || in.Method != "REQUEST" {
		t.Errorf("%+v %v", in, ok)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	in, _ = parseInvite("BEGIN:VEVENT\nDTSTART;TZID=America/New_York:20260701T090000\nDTEND;TZID=America/New_York:20260701T100000\nEND:VEVENT", berlin)
	if in.When != "Wed 1 Jul 2026 15:00–16:00 CEST" {
		t.Errorf("%q", in.When)
	}
	for _, bad := range []string{"", "BEGIN:VEVENT", "BEGIN:VEVENT\nEND:VEVENT", "\x00:\x00", strings.Repeat("BEGIN:VEVENT\n", 1000)} {
		if _, ok := parseInvite(bad, time.UTC); ok {
			t.Errorf("%q is no invitation", bad)
		}
	}
}

func TestAnAnswerThatWasBegunIsOffered(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	begun := state.Draft{ID: "d7", Kind: state.DraftReply, MessageID: "m4", Subject: "Re: Compiler notes", Body: "Thank you, the tables\nlook good.\n\nOn Mon, Grace wrote:\n> hm\n", UpdatedAt: m.now.Add(-time.Hour * 2)}
	m.texts["d7"] = begun
	for _, key := range []string{"r", "a"} {
		s.keys(key)
		s.has("You began an answer to this message at 07:41", "“Thank you, the tables look good.”", "enter goes on with it", "n begins another")
		s.keys("esc")
		s.has("The second pass is done")
	}
	s.keys("r", "enter")
	if c, ok := s.app.top().(*compose); !ok || c.draft.ID != "d7" {
		t.Fatal("enter does not go on with the answer")
	}
	s.keys("esc")
	m.took()
	s.keys("r", "n")
	if c, ok := s.app.top().(*compose); !ok || c.draft.ID == "d7" {
		t.Fatal("n does not begin another")
	}
	s.keys("esc", "f")
	s.hasNot("You began an answer")
}

func TestManyRecipients(t *testing.T) {
	m := sampleMail()
	th := m.threads["t1"]
	last := &th.Messages[3]
	last.To, last.Cc = nil, []api.Address{{Name: "Lin", Email: "lin@example.net"}, {Email: "ada@example.com"}}
	for i := range 60 {
		last.To = append(last.To, api.Address{Name: fmt.Sprintf("Person Number %d", i), Email: fmt.Sprintf("person%d@a-rather-long-domain.example.org", i)})
	}
	last.From = api.Address{Name: strings.Repeat("Very ", 30) + "Long", Email: "long@example.org"}
	m.threads["t1"] = th
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	// Who it is from and that it is for the person is seen whatever the names.
	s.has("… <long@example.org> Today", "to Person Number 0, Person Number 1, Person Number 2, 57 more, cc you, Lin")
	s.keys("H")
	s.has("From      Very Very", "<person0@a-rather-long-domain.example.org>,\n              Person Number 1 <")
}

func TestMessageInTheBrowser(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	m.took()
	s.keys("V")
	if got := m.took(); got != "page of m4" {
		t.Errorf("%q", got)
	}
	s.keys("p", "V")
	s.has("This message is plain text")
	if got := m.took(); got != "" {
		t.Errorf("%q", got)
	}
}

func TestANewLabelIsSeen(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("j", "enter")
	th := m.threads["t2"]
	th.Row.Starred, th.Row.Labels, th.Rev = false, nil, 2
	m.threads["t2"] = th
	s.refresh()
	s.hasNot("starred")
	th.Row.Labels, th.Rev = m.labels[:1], 3
	th.Messages[0].Text = strings.Repeat("a line\n", 40)
	m.threads["t2"] = th
	s.refresh()
	s.has("#home", "to you")
}

func TestRepeats(t *testing.T) {
	for rule, want := range map[string]string{
		"":                                   "",
		"RRULE:FREQ=DAILY":                   "every day",
		"FREQ=WEEKLY;BYDAY=MO,WE":            "every week on Mon, Wed",
		"FREQ=WEEKLY;INTERVAL=2":             "every 2 weeks",
		"freq=monthly;count=3":               "every month, 3 times",
		"FREQ=MONTHLY;BYDAY=1MO":             "every month",
		"FREQ=SECONDLY":                      "yes, by a rule of its own",
		"FREQ=YEARLY;UNTIL=20301224T080000Z": "every year, until Tue 24 Dec 2030",
	} {
		if got := repeats(rule); got != want {
			t.Errorf("%q: %q, want %q", rule, got, want)
		}
	}
}

// inviteMail is the sample with the event of its invitation.
func inviteMail(change func(*state.Thread)) *fakeMail {
	m := sampleMail()
	th := m.threads["t2"]
	th.Event = &api.CalendarEvent{ID: "evt_1", MessageID: "m5", Status: "CONFIRMED", Attendees: []api.CalendarAttendee{{Email: "ada@example.com"}}}
	if change != nil {
		change(&th)
	}
	m.threads["t2"] = th
	return m
}

func TestInvitationIsAnswered(t *testing.T) {
	for key, want := range map[string]string{"y": "accept", "m": "tentative", "n": "decline"} {
		m := inviteMail(nil)
		s := startTest(t, m, 80, 24)
		s.keys("j", "enter")
		s.has("Answer", "i y accept · i m maybe · i n decline")
		m.took()
		s.keys("i", key)
		if got := m.took(); got != want+" [t2]evt_1" {
			t.Errorf("i %s: %q", key, got)
		}
	}
	m := inviteMail(func(th *state.Thread) { th.Answer = state.ChangeAccept })
	s := startTest(t, m, 80, 24)
	s.keys("j", "enter")
	s.has("You accepted · i m maybe · i n decline")
	m.took()
	s.keys("i", "y")
	s.has("You accepted already")
	if got := m.took(); got != "" {
		t.Errorf("the same answer again: %q", got)
	}
}

func TestInvitationThatCannotBeAnswered(t *testing.T) {
	for _, c := range []struct {
		change func(*state.Thread)
		why    string
	}{
		{func(th *state.Thread) { th.Event = nil }, "The invitation is not here yet"},
		{func(th *state.Thread) { th.Event, th.NoEvent = nil, true }, "answer it with a message"},
		{func(th *state.Thread) { th.Event.IsOrganizer = true }, "This event is your own"},
		{func(th *state.Thread) { th.Event.Status = "CANCELLED" }, "This event is cancelled"},
		{func(th *state.Thread) { th.Event, th.Row.Invite = nil, false }, "There is no invitation"},
	} {
		m := inviteMail(c.change)
		s := startTest(t, m, 80, 24)
		s.keys("j", "enter")
		s.hasNot("i y accept")
		m.took()
		s.keys("i", "y")
		s.has(c.why)
		if got := m.took(); got != "" {
			t.Errorf("%s: %q", c.why, got)
		}
	}
}

func TestInput(t *testing.T) {
	in := newInput("héllo wörld")
	in.Key(keyMsg("ctrl+w"))
	in.Key(keyMsg("x"))
	if in.String() != "héllo x" {
		t.Errorf("%q", in.String())
	}
	in.Key(keyMsg("home"))
	in.Key(keyMsg("delete"))
	in.Key(keyMsg("end"))
	in.Insert("e\u0301")
	in.Key(keyMsg("backspace"))
	if in.String() != "éllo x" {
		t.Errorf("%q", in.String())
	}
	in.Insert("\tone\r\ntwo\x1b[31m\n")
	if in.String() != "éllo x one two[31m" {
		t.Errorf("%q", in.String())
	}
	theme := NewTheme("dark", Colors256, false)
	in.Set(strings.Repeat("漢字", 40))
	for width := 1; width < 60; width++ {
		for _, focused := range []bool{true, false} {
			if w := cells.Width(ansi.Strip(in.View(theme, width, focused))); w != width {
				t.Fatalf("%d cells in %d", w, width)
			}
		}
	}
}
