package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const spinEvery = 100 * time.Millisecond

// activity lists what is asked of the server, one line a purpose: first what runs or waits, then what ended. A line of
// several calls opens to show each of them.
type activity struct {
	listing[string] // by the id of a line or of a call

	lines   []callLine
	rows    []activityRow
	open    map[string]bool // the lines whose calls are listed
	details bool            // of what has the cursor are shown
}

// callLine is the calls of one purpose that ran together, in the order of importance.
type callLine struct {
	id, title string
	calls     []state.Call
}

// activityRow is a row of the list: a line, or one of its calls when call is not negative.
type activityRow struct{ line, call int }

func newActivity() Screen { return &activity{open: map[string]bool{}} }

func (s *activity) Init(f *Frame) tea.Cmd {
	s.refresh(f)
	return nil
}

// refresh takes the newest snapshot.
func (s *activity) refresh(f *Frame) {
	s.lines = callLines(f.Mail.Activity())
	s.layRows()
	s.scroll(s.listHeight(f))
}

// callLines puts the calls of one purpose together.
func callLines(calls []state.Call) []callLine {
	var lines []callLine
	index := map[string]int{}
	for _, c := range calls {
		id := c.Line
		if id == "" {
			id = c.ID
		}
		i, ok := index[id]
		if !ok {
			i = len(lines)
			index[id] = i
			lines = append(lines, callLine{id: "/" + id, title: c.Title})
			if c.LineTitle != "" {
				lines[i].title = c.LineTitle
			}
		}
		lines[i].calls = append(lines[i].calls, c)
	}
	byRank := func(a, b state.Call) int { return callRank(a) - callRank(b) }
	for _, l := range lines {
		slices.SortStableFunc(l.calls, byRank)
	}
	slices.SortStableFunc(lines, func(a, b callLine) int { return byRank(a.calls[0], b.calls[0]) })
	return lines
}

// callRank puts what a person may want to act on first: waits, then attempts, then what has no turn yet.
func callRank(c state.Call) int {
	switch {
	case !c.Running():
		return 3
	case !c.Until.IsZero():
		return 0
	case c.Phase == api.Queued:
		return 2
	}
	return 1
}

// layRows makes the rows of the lines, and of the calls of those that are open.
func (s *activity) layRows() {
	s.rows = s.rows[:0]
	var ids []string
	for i, l := range s.lines {
		s.rows, ids = append(s.rows, activityRow{i, -1}), append(ids, l.id)
		if !s.open[l.id] || len(l.calls) < 2 {
			continue
		}
		for j, c := range l.calls {
			s.rows, ids = append(s.rows, activityRow{i, j}), append(ids, c.ID)
		}
	}
	s.settle(ids)
}

// chosen are the line with the cursor and the calls that an action is for: one of them, or all.
func (s *activity) chosen() (line callLine, calls []state.Call) {
	if s.at >= len(s.rows) {
		return callLine{}, nil
	}
	r := s.rows[s.at]
	line = s.lines[r.line]
	if r.call >= 0 {
		return line, line.calls[r.call : r.call+1]
	}
	return line, line.calls
}

// listHeight is how many rows the list has; the details take what they need of the rest.
func (s *activity) listHeight(f *Frame) int {
	if n := len(s.detail(f)); n > 0 {
		return max(min(3, len(s.rows)), f.Height-n-1)
	}
	return f.Height
}

func (s *activity) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		s.refresh(f)
	case tea.WindowSizeMsg:
		s.scroll(s.listHeight(f))
	case tea.MouseMsg:
		if _, again := s.mouse(msg, s.listHeight(f)); again {
			s.toggle()
		}
		s.scroll(s.listHeight(f))
	}
	return s, nil
}

func (s *activity) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	s.refresh(f)
	if to, ok := listMove(a, s.at, len(s.rows), s.listHeight(f)); ok {
		s.moveTo(to, f.Height)
		s.scroll(s.listHeight(f)) // each has as much to say as it has
		return s, nil, true
	}
	_, calls := s.chosen()
	switch a {
	case keymap.Open:
		s.toggle()
		s.scroll(s.listHeight(f))
	case keymap.Back:
		return s, nil, s.shut(f)
	case keymap.Cancel:
		cancelCalls(calls, f)
	case keymap.CancelAll:
		f.Mail.StopAll()
	case keymap.Retry:
		retryCalls(calls, f)
	case keymap.Copy:
		if len(calls) == 0 {
			break
		}
		var text []string
		for _, c := range calls {
			text = append(text, strings.Join(callDetails(c, f), "\n"))
		}
		return s, copyCmd(f, strings.Join(text, "\n\n"), "Copied the details"), true
	default:
		return s, nil, false
	}
	return s, nil, true
}

// toggle lists the calls of a line of several, or no longer; of a single call it shows the details.
func (s *activity) toggle() {
	line, calls := s.chosen()
	if len(calls) < 2 {
		s.details = !s.details && len(calls) > 0
		return
	}
	s.open[line.id] = !s.open[line.id]
	s.layRows()
}

// shut goes one step back within the screen; false: there is none left.
func (s *activity) shut(f *Frame) bool {
	line, _ := s.chosen()
	switch {
	case s.details:
		s.details = false
	case s.open[line.id] && len(line.calls) > 1:
		delete(s.open, line.id)
		s.cursor = line.id
		s.layRows()
	default:
		return false
	}
	s.scroll(s.listHeight(f))
	return true
}

// cancelCalls stops those that run.
func cancelCalls(calls []state.Call, f *Frame) {
	n := 0
	for _, c := range calls {
		if c.Running() {
			f.Mail.StopCall(c.ID)
			n++
		}
	}
	if n == 0 && len(calls) > 0 {
		f.Flash("This has ended already")
	}
}

// retryCalls does those again that may be.
func retryCalls(calls []state.Call, f *Frame) {
	again, runs := false, false
	for _, c := range calls {
		if c.CanRetry {
			f.Mail.RetryCall(c.ID)
			again = true
		}
		runs = runs || c.Running()
	}
	switch {
	case again:
	case runs:
		f.Flash("This is at work already")
	default:
		f.Flash("This cannot be done again from here")
	}
}

// Every makes what runs spin and what waits count down.
func (s *activity) Every(*Frame) time.Duration {
	for _, l := range s.lines {
		if l.calls[0].Running() {
			return spinEvery
		}
	}
	return 0
}

func (s *activity) Context() keymap.Context { return keymap.InActivity }
func (s *activity) Capturing() bool         { return false }

func (s *activity) Title(f *Frame) string {
	var n tally
	for _, l := range s.lines {
		n.add(l.calls)
	}
	var parts []string
	if run := n.running + n.queued; run > 0 {
		parts = append(parts, itoa(run)+" running")
	}
	if n.waiting > 0 {
		parts = append(parts, itoa(n.waiting)+" waiting")
	}
	if len(parts) == 0 {
		return "Activity"
	}
	return "Activity  " + strings.Join(parts, f.Theme.Dot())
}

// Hints are the keys that do something to what has the cursor.
func (s *activity) Hints(*Frame) []keymap.Action {
	out := []keymap.Action{keymap.Down, keymap.Up}
	_, calls := s.chosen()
	if len(calls) > 0 {
		out = append(out, keymap.Open)
	}
	if slices.ContainsFunc(calls, func(c state.Call) bool { return c.CanRetry }) {
		out = append(out, keymap.Retry)
	}
	if slices.ContainsFunc(calls, state.Call.Running) {
		out = append(out, keymap.Cancel)
	}
	if len(s.lines) > 0 && s.lines[0].calls[0].Running() {
		out = append(out, keymap.CancelAll)
	}
	if len(calls) > 0 {
		out = append(out, keymap.Copy)
	}
	return append(out, keymap.Back)
}

// Word says whether what has the cursor folds or unfolds.
func (s *activity) Word(a keymap.Action, _ *Frame) string {
	line, calls := s.chosen()
	switch {
	case a != keymap.Open:
		return ""
	case len(calls) > 1 && s.open[line.id]:
		return "close"
	case len(calls) > 1:
		return "each call"
	case s.details:
		return "close"
	}
	return "details"
}
