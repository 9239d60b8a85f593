package ui

import (
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func draftDesk() *desk {
	d := newDesk()
	d.drafts = []state.DraftRow{
		{ID: "d1", To: "Grace Hall <grace@example.org>", Subject: "Re: Compiler notes", Snippet: "Thanks, I will read it tonight.", UpdatedAt: deskNow.Add(-time.Hour), Filled: true, OnServer: true, Files: 1, Status: state.DraftStatus{State: state.SaveServer}},
		{ID: "d2", UpdatedAt: deskNow.AddDate(0, 0, -2), Filled: true, Snippet: "Only a thought", Status: state.DraftStatus{State: state.SaveDisk}},
		{ID: "d3", Subject: "来週の打ち合わせ\x1b[2J", To: "山田太郎 <yamada@example.jp>", UpdatedAt: deskNow.AddDate(0, -3, 0), Filled: true, OnServer: true, Status: state.DraftStatus{State: state.SaveUnknown}},
		{ID: "d4", OnServer: true},
	}
	d.texts["d1"] = replyDraft()
	return d
}

func openDrafts(t *testing.T, d *desk, width, height int) *stage {
	t.Helper()
	s := newStage(t, d, width, height)
	s.send(pushScreenMsg{newDrafts()})
	s.frame()
	return s
}

func TestDrafts(t *testing.T) {
	d := draftDesk()
	s := openDrafts(t, d, 80, 24)
	s.press("enter")
	if !s.composing() || s.compose().draft.ID != "d1" {
		t.Fatal("enter must open the draft")
	}

	d = draftDesk()
	s = openDrafts(t, d, 80, 24)
	s.press("G", "enter")
	if !d.did("open d4") || s.composing() {
		t.Fatalf("calls %v", d.calls)
	}
	s.sees("Fetching the draft")
	d.texts["d4"] = state.Draft{ID: "d4", Subject: "Fetched"}
	s.send(mailMsg{})
	if !s.composing() {
		t.Error("it must open when it is here")
	}

	d = draftDesk()
	s = openDrafts(t, d, 80, 24)
	s.press("#")
	s.sees("Throw away the draft “Re: Compiler notes”?")
	s.press("n")
	if d.did("discard d1") {
		t.Error("no must keep it")
	}
	s.press("x", "x", "#")
	s.sees("Throw away 2 drafts?")
	s.press("n")
	s.sees("2 selected") // who says no has lost nothing
	s.press("#")
	s.press("y")
	if !d.did("discard d1") || !d.did("discard d2") || d.did("discard d3") {
		t.Errorf("calls %v", d.calls)
	}
	d.drafts = nil
	s.press("j", "enter", "#")
	s.sees("No drafts. c begins a message.")
}

func TestDraftsFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 15}} {
		s := openDrafts(t, draftDesk(), size[0], size[1])
		goldenFrame(t, "drafts-"+itoa(size[0])+"x"+itoa(size[1]), s.frame())
	}
	for _, size := range [][2]int{{40, 10}, {24, 5}, {1, 1}} {
		openDrafts(t, draftDesk(), size[0], size[1])
	}
}
