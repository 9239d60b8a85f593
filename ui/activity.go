package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const spinEvery = 100 * time.Millisecond

// activity lists the calls: those that run with their attempts and waits, then those that ended.
type activity struct {
	calls  []state.Call
	cursor string // the call's id
	at     int
	top    int
	open   string // the call whose details are shown, or empty
}

func newActivity() Screen { return &activity{} }

func (s *activity) Init(f *Frame) tea.Cmd {
	s.refresh(f)
	return nil
}

func (s *activity) refresh(f *Frame) {
	s.calls = slices.Clone(f.Mail.Activity())
	slices.SortStableFunc(s.calls, func(a, b state.Call) int { return callRank(a) - callRank(b) })
	found := false
	for i, c := range s.calls {
		if c.ID == s.cursor {
			s.at, found = i, true
		}
	}
	s.at = max(0, min(s.at, len(s.calls)-1))
	if !found {
		s.open = ""
		if len(s.calls) > 0 {
			s.cursor = s.calls[s.at].ID
		}
	}
	s.top = keep(s.top, s.at, len(s.calls), f.Height)
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

func (s *activity) move(to int, f *Frame) {
	if len(s.calls) == 0 {
		return
	}
	s.at = max(0, min(to, len(s.calls)-1))
	s.cursor = s.calls[s.at].ID
	s.top = keep(s.top, s.at, len(s.calls), f.Height)
}

func (s *activity) call() (state.Call, bool) {
	if s.at < len(s.calls) {
		return s.calls[s.at], true
	}
	return state.Call{}, false
}

func (s *activity) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg, tea.WindowSizeMsg:
		s.refresh(f)
	case tea.MouseMsg:
		switch msg.Button {
		case tea.MouseButtonWheelDown:
			s.move(s.at+1, f)
		case tea.MouseButtonWheelUp:
			s.move(s.at-1, f)
		case tea.MouseButtonLeft:
			s.move(s.top+msg.Y, f)
		}
	}
	return s, nil
}

func (s *activity) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	if to, ok := listMove(a, s.at, len(s.calls), f.Height); ok {
		s.move(to, f)
		return s, nil, true
	}
	c, ok := s.call()
	switch a {
	case keymap.Open:
		if ok && s.open != c.ID {
			s.open = c.ID
		} else {
			s.open = ""
		}
	case keymap.Back:
		if s.open == "" {
			return s, nil, false
		}
		s.open = ""
	case keymap.Cancel:
		switch {
		case !ok:
		case c.Running():
			f.Mail.StopCall(c.ID)
		default:
			f.Flash("This call has ended already")
		}
	case keymap.CancelAll:
		f.Mail.StopAll()
	case keymap.Retry:
		switch {
		case ok && c.CanRetry:
			f.Mail.RetryCall(c.ID)
		case ok && c.Running():
			f.Flash("This call is at work already")
		default:
			f.Flash("This call cannot be done again from here")
		}
	case keymap.Copy:
		if !ok {
			break
		}
		return s, copyCmd(f, strings.Join(callDetails(c, f), "\n"), "Copied the details"), true
	default:
		return s, nil, false
	}
	return s, nil, true
}

// Every makes what runs spin and what waits count down.
func (s *activity) Every(*Frame) time.Duration {
	for _, c := range s.calls {
		if c.Running() {
			return spinEvery
		}
	}
	return 0
}

func (s *activity) View(f *Frame) string {
	t := f.Theme
	if len(s.calls) == 0 {
		return block("\n"+t.Muted.Render("   Nothing has been asked of the server yet."), f.Width, f.Height)
	}
	var details []string
	if c, ok := s.call(); ok && s.open == c.ID {
		details = callDetails(c, f)
	}
	room := f.Height
	if len(details) > 0 {
		room = max(1, f.Height-len(details)-1)
	}
	top := keep(s.top, s.at, len(s.calls), room)
	var out []string
	for i := top; i < min(len(s.calls), top+room); i++ {
		out = append(out, s.line(s.calls[i], i == s.at, f))
	}
	if len(details) > 0 {
		for len(out) < room {
			out = append(out, "")
		}
		out = append(out, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(0, f.Width-2))))
		for _, d := range details {
			out = append(out, "   "+t.Text.Render(cells.Truncate(d, f.Width-4, t.Glyphs.Ellipsis)))
		}
	}
	return block(strings.Join(out, "\n"), f.Width, f.Height)
}

func (s *activity) line(c state.Call, cursor bool, f *Frame) string {
	t := f.Theme
	mark, style, what := callLook(c, f)
	bar, on := " ", Style{}
	if cursor {
		bar, on = t.Accent.Render(t.Glyphs.Bar), t.Cursor
	}
	request := clean.LineMax(c.Request, 40)
	reqWidth := 0
	if f.Width >= 70 && request != "" && !c.Running() {
		reqWidth = min(max(14, f.Width/5), cells.Width(request))
	}
	room := f.Width - 5 - reqWidth
	if reqWidth > 0 {
		room--
	}
	title := cells.Stable(clean.Line(c.Title))
	titleWidth := min(48, f.Width*42/100)
	if f.Width < 50 {
		titleWidth = room / 2
	}
	line := style.With(on).Render(cells.Pad(mark, 1)) + on.Render(" "+column(t, title, titleWidth)+" ")
	room = max(0, room-titleWidth-1)
	line += t.Muted.With(on).Render(cells.Pad(fitPieces(what, room, t), room))
	if reqWidth > 0 {
		line += t.Faint.With(on).Render(" " + fit(t, request, reqWidth))
	}
	return cells.Truncate(bar+line+on.Render(" "), f.Width, "")
}

// callLook is the mark of a call, its tone, and what to say of it.
func callLook(c state.Call, f *Frame) (mark string, style Style, what []piece) {
	t, g := f.Theme, f.Theme.Glyphs
	dot := t.Dot()
	try := ""
	if c.Limit > 1 {
		try = fmt.Sprintf("try %d of %d", c.Attempt, c.Limit)
	}
	switch {
	case c.Running() && !c.Until.IsZero():
		if try == "" {
			try = "trying again"
		}
		if left := c.Until.Sub(f.Now); left > 0 {
			try += " in " + tenths(left)
		}
		if why := cause(c); why != "" {
			what = append(what, piece{why, 1})
		}
		return g.Waits, t.Warn, append(what, piece{try, 0})
	case c.Running() && c.Phase == api.Queued:
		return g.Bullet, t.Muted, parts("waits for its turn", t)
	case c.Running():
		frame := g.Spinner[int(f.Now.UnixMilli()/spinEvery.Milliseconds())%len(g.Spinner)]
		took := tenths(f.Now.Sub(c.Began))
		if try == "" {
			return frame, t.Accent, parts(took, t)
		}
		return frame, t.Accent, parts(try+dot+took, t)
	}
	note := clean.Line(c.Note)
	switch {
	case c.Stopped:
		if note == "" {
			note = "stopped by you"
		}
		return g.Stopped, t.Muted, parts(note, t)
	case c.Phase == api.Done:
		took := lasted(c.Ended.Sub(c.Began))
		if c.Attempt > 1 {
			took += dot + plural(c.Attempt, "try", "tries")
		}
		if note != "" {
			took = note + dot + took
		}
		return g.Done, t.Good, parts(took, t)
	case c.Phase == api.Cancelled:
		if note == "" {
			note = "cancelled"
		}
		return g.Stopped, t.Muted, parts(note, t)
	}
	if note == "" {
		note = cause(c)
		if note == "" {
			note = "failed"
		}
	}
	if c.CanRetry {
		if k := firstKey(f.Keys, keymap.InActivity, keymap.Retry); k != "" {
			note += dot + k + " tries again"
		}
	}
	return g.Failed, t.Danger, parts(note, t)
}

// lasted is how long a call took.
func lasted(d time.Duration) string {
	if d < time.Second {
		return strconv.Itoa(max(0, int(d.Milliseconds()))) + " ms"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// callDetails are the lines about one call, clean.
func callDetails(c state.Call, f *Frame) []string {
	zone := f.Options.zone()
	out := []string{
		clean.Line(c.Title),
		"operation   " + clean.Line(c.Op),
		"began       " + c.Began.In(zone).Format("15:04:05.000"),
	}
	add := func(name, value string) {
		if value = clean.LineMax(value, 300); value != "" {
			out = append(out, name+value)
		}
	}
	if c.Running() {
		add("phase       ", c.Phase.String())
	} else {
		add("ended       ", c.Ended.In(zone).Format("15:04:05.000")+", "+c.Phase.String()+" after "+lasted(c.Ended.Sub(c.Began)))
	}
	if c.Limit > 0 {
		add("attempt     ", fmt.Sprintf("%d of %d", c.Attempt, c.Limit))
	}
	if c.Status > 0 {
		add("status      ", strconv.Itoa(c.Status))
	}
	add("code        ", c.Code)
	add("cause       ", c.Cause)
	add("request id  ", c.Request)
	if c.Bytes > 0 {
		add("read        ", sizeOf(c.Bytes))
	}
	add("note        ", c.Note)
	return out
}

func (s *activity) Context() keymap.Context { return keymap.InActivity }
func (s *activity) Capturing() bool         { return false }

func (s *activity) Title(f *Frame) string {
	run, wait := 0, 0
	for _, c := range s.calls {
		switch {
		case !c.Running():
		case c.Until.IsZero():
			run++
		default:
			wait++
		}
	}
	var parts []string
	if run > 0 {
		parts = append(parts, plural(run, "running", "running"))
	}
	if wait > 0 {
		parts = append(parts, plural(wait, "waiting", "waiting"))
	}
	if len(parts) == 0 {
		return "Activity"
	}
	return "Activity  " + strings.Join(parts, f.Theme.Dot())
}

func (s *activity) Hints(*Frame) []keymap.Action {
	return []keymap.Action{
		keymap.Down, keymap.Up, keymap.Open, keymap.Retry, keymap.Cancel, keymap.CancelAll, keymap.Copy, keymap.Back,
	}
}
