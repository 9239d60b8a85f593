package main

import (
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestUnsent(t *testing.T) {
	of := func(states ...state.EntryState) []state.Entry {
		var out []state.Entry
		for _, s := range states {
			out = append(out, state.Entry{State: s})
		}
		return out
	}
	planned := state.Entry{State: state.EntryQueued, ScheduledAt: time.Now().Add(time.Hour)}
	for _, tt := range []struct {
		entries  []state.Entry
		delivers bool
		want     string
	}{
		{nil, false, ""},
		{[]state.Entry{{State: state.EntryAccepted, ScheduledAt: time.Now()}}, true, ""},
		{of(state.EntryAccepted, state.EntrySent), true, "1 message has not left yet. It stays in the outbox; `teapost outbox send` tries now."},
		{append(of(state.EntrySent, state.EntryAccepted, state.EntryCancelled, state.EntryFailed), planned), false, ""},
		{of(state.EntryWaiting, state.EntrySent), false, "1 message has not left yet. It stays in the outbox; `teapost outbox send` tries now."},
		{of(state.EntryQueued, state.EntryHeld, state.EntryUnknown), false, "3 messages have not left yet. They stay in the outbox; `teapost outbox send` tries now."},
	} {
		if got := unsent(tt.entries, tt.delivers); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.entries, got, tt.want)
		}
	}
}
