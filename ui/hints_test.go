package ui

import (
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestHintsSayWhatAKeyDoesNow(t *testing.T) {
	inbox := func(s *screenTest) {}
	for _, tt := range []struct {
		name  string
		setup func(*screenTest)
		keys  []string
		want  string
		not   string
	}{
		{"an unread row is selected", inbox, []string{"x"}, "u read", "u unread"},
		{"a read row is selected", inbox, []string{"j", "x"}, "u unread", "u read"},
		{"a starred row is selected", inbox, []string{"j", "x"}, "s unstar", "s star"},
		{"spam", func(s *screenTest) {
			spam := state.View{Folder: "spam"}
			s.mail.lists[spam] = state.List{View: spam, Known: true, Rev: 1, Rows: []state.Row{{ID: "s1", Filled: true, Subject: "Win"}}}
		}, []string{"g", "S"}, "S not spam", "S spam"},
		{"a line of several calls", func(s *screenTest) { s.mail.activity = rowCalls(s.mail.now) }, []string{"!"}, "enter each call", "enter details"},
		{"one call", func(s *screenTest) { s.mail.activity = rowCalls(s.mail.now) }, []string{"!", "j"}, "enter details", "R try again"},
		{"an outbox entry that was sent", func(s *screenTest) {
			s.mail.outbox = []state.Entry{{ID: "e1", State: state.EntrySent, CanDrop: true, SettledAt: s.mail.now}}
		}, []string{"g", "o"}, "# take off", "# drop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startTest(t, sampleMail(), 100, 24)
			tt.setup(s)
			s.keys(tt.keys...)
			rows := strings.Split(strings.TrimRight(s.frame(), "\n"), "\n")
			last := rows[len(rows)-1] + " "
			if !strings.Contains(last, " "+tt.want+" ") || strings.Contains(last, " "+tt.not+" ") {
				t.Errorf("the bottom line is %q, want %q and not %q", last, tt.want, tt.not)
			}
		})
	}
}

func TestSnoozedRowsSayWhenTheyWake(t *testing.T) {
	m := sampleMail()
	snoozed := state.View{Folder: "snoozed"}
	row := func(id string, until time.Time) state.Row {
		return state.Row{ID: state.ThreadID(id), Filled: true, Subject: "Subject " + id, At: m.now.Add(-time.Hour), SnoozedUntil: until}
	}
	m.lists[snoozed] = state.List{View: snoozed, Known: true, Rev: 1, Rows: []state.Row{
		row("a", m.now.Add(8*time.Hour)), row("b", m.now.AddDate(0, 0, 1)), row("c", m.now.AddDate(0, 0, 20)), row("d", m.now.AddDate(1, 2, 0)),
	}}
	s := startTest(t, m, 80, 24)
	s.keys("g", "z")
	s.has(" ◷ 17:41\n", " Tue 09:41\n", " ◷ 20 Dec\n", " 30 Jan 28\n")
}
