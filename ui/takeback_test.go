package ui

import (
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestWhatIsTakenBackOpensAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		keys  []string
		after func(*screenTest) // between the undo and the text
		opens bool
	}{
		{"from the list", []string{"z"}, nil, true},
		{"from the outbox", []string{"g", "o", "z"}, nil, true},
		{"from the drafts", []string{"g", "d", "z"}, nil, true},
		{"a key was pressed since", []string{"z"}, func(s *screenTest) { s.keys("j") }, false},
		{"too late", []string{"z"}, func(s *screenTest) { s.mail.now = s.mail.now.Add(takeBackFor + time.Second) }, false},
		{"another screen", []string{"!", "z"}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sampleMail()
			m.undoable = true
			m.outbox = []state.Entry{{ID: "e1", State: state.EntryAccepted, Subject: "Half a thought", CanTakeBack: true, Until: m.now.Add(9 * time.Second)}}
			m.drafts = []state.DraftRow{{ID: "old", Subject: "Another", Filled: true}}
			s := startTest(t, m, 80, 24)
			s.keys(tt.keys...)
			if tt.after != nil {
				tt.after(s)
			}
			// Drafts of the server that come at the same time are none of it.
			m.drafts = append(m.drafts, state.DraftRow{ID: "server", OnServer: true}, state.DraftRow{ID: "back", Subject: "Half a thought", Filled: true})
			m.texts["server"], m.texts["back"] = state.Draft{ID: "server"}, state.Draft{ID: "back", Subject: "Half a thought"}
			m.outbox = nil
			s.refresh()
			c, open := s.app.screen().(*compose)
			if open != tt.opens || open && c.draft.ID != "back" {
				t.Errorf("compose is open: %v, want %v:\n%s", open, tt.opens, s.frame())
			}
		})
	}
}

// An undo of something else opens nothing, whatever drafts come.
func TestUndoWithoutASendOpensNothing(t *testing.T) {
	m := sampleMail()
	m.undoable = true
	s := startTest(t, m, 80, 24)
	s.keys("s", "z")
	m.drafts = []state.DraftRow{{ID: "new", Filled: true}}
	m.texts["new"] = state.Draft{ID: "new"}
	s.refresh()
	if _, open := s.app.screen().(*compose); open {
		t.Error("a draft of another program opened")
	}
}
