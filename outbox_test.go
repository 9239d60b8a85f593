package main

import (
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestOutboxLine(t *testing.T) {
	at := time.Date(2026, 11, 30, 16, 4, 0, 0, time.Local)
	e := state.Entry{
		ID: "0123456789", State: state.EntryWaiting, Subject: "Plans\x1b[31m", To: []state.Address{{Email: "grace@example.org"}, {Email: "lin@example.org"}},
		CreatedAt: at, Why: "connection refused",
	}
	want := "01234567  waiting    30 Nov 16:04  grace@example.org +1      Plans\n          connection refused"
	if got := describe(e); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	e.Why, e.ScheduledAt = "", at.Add(24*time.Hour)
	if got := describe(e); !strings.Contains(got, " 1 Dec 16:04 ") || strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}
