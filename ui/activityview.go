package ui

import (
	"fmt"
	"strconv"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func (s *activity) View(f *Frame) string {
	if len(s.rows) == 0 {
		return emptyList("Nothing has been asked of the server yet.", f)
	}
	var rows []string
	for i := s.top; i < min(len(s.rows), s.top+s.listHeight(f)); i++ {
		rows = append(rows, s.row(s.rows[i], i == s.at, f))
	}
	return withDetail(rows, s.detail(f), f)
}

// detail are the lines about what has the cursor, if they are shown.
func (s *activity) detail(f *Frame) []string {
	line, calls := s.chosen()
	if !s.details || len(calls) == 0 {
		return nil
	}
	t := f.Theme
	var out []string
	if len(calls) == 1 {
		out = callDetails(calls[0], f)
	} else {
		_, _, what := lineLook(line, f)
		out = []string{clean.Line(line.title), plural(len(calls), "call", "calls") + t.Dot() + fitPieces(what, max(1, f.Width-20), t)}
	}
	for i, l := range out {
		l = cells.Truncate(l, f.Width-2, t.Glyphs.Ellipsis)
		if i == 0 {
			out[i] = t.Bold.Render(l)
		} else {
			out[i] = t.Text.Render(l)
		}
	}
	return out
}

// row draws a line, or one of its calls below it.
func (s *activity) row(r activityRow, cursor bool, f *Frame) string {
	t, line := f.Theme, s.lines[r.line]
	bar, on := rowStart(t, cursor, true)
	title, request := clean.Line(line.title), ""
	var mark string
	var style Style
	var what []piece
	if r.call >= 0 || len(line.calls) == 1 {
		c := line.calls[max(0, r.call)]
		mark, style, what = callLook(c, f)
		if f.Width >= 70 && !c.Running() {
			request = clean.LineMax(c.Request, 40)
		}
		if r.call >= 0 {
			title = "  " + clean.Line(c.Title)
		}
	} else {
		mark, style, what = lineLook(line, f)
		fold := t.Glyphs.Folded
		if s.open[line.id] {
			fold = t.Glyphs.Open
		}
		title += " " + fold
	}
	requestWidth := 0
	if request != "" {
		requestWidth = 1 + max(14, f.Width/5)
	}
	room := f.Width - 4 - requestWidth
	titleWidth := min(48, f.Width*42/100)
	if f.Width < 50 {
		titleWidth = room / 2
	}
	room = max(0, room-titleWidth-1)
	out := bar + style.With(on).Render(cells.Pad(mark, 1)) + on.Render(" "+column(t, title, titleWidth)+" ") +
		t.Muted.With(on).Render(cells.Pad(fitPieces(what, room, t), room))
	if requestWidth > 0 {
		out += t.Muted.With(on).Render(" " + fit(t, request, requestWidth-1))
	}
	return out + on.Render(" ")
}

// tally counts calls by where they stand.
type tally struct {
	running, waiting, queued, done, failed, stopped int
}

func (n *tally) add(calls []state.Call) {
	for _, c := range calls {
		switch {
		case c.Running() && !c.Until.IsZero():
			n.waiting++
		case c.Running() && c.Phase == api.Queued:
			n.queued++
		case c.Running():
			n.running++
		case c.Phase == api.Done:
			n.done++
		case c.Stopped || c.Phase == api.Cancelled:
			n.stopped++
		default:
			n.failed++
		}
	}
}

// lineLook is the mark of several calls of one purpose, its tone, and what to say of them.
func lineLook(l callLine, f *Frame) (mark string, style Style, what []piece) {
	t, g := f.Theme, f.Theme.Glyphs
	var n tally
	n.add(l.calls)
	say := func(count int, words string, rank int) {
		if count > 0 {
			what = append(what, newPiece(itoa(count)+" "+words, rank))
		}
	}
	say(n.running, "running", 0)
	if n.waiting > 0 {
		what = append(what, newPiece(plural(n.waiting, "waits", "wait"), 0))
		next := l.calls[0]
		for _, c := range l.calls {
			if !c.Until.IsZero() && c.Until.Before(next.Until) {
				next = c
			}
		}
		if left := next.Until.Sub(f.Now); left > 0 {
			what = append(what, newPiece("next try in "+tenths(left), 1))
		}
		if why := cause(next); why != "" {
			what = append(what, newPiece(why, 4))
		}
	}
	say(n.queued, "to come", 3)
	say(n.failed, "failed", 2)
	say(n.stopped, "stopped", 3)
	say(n.done, "done", 5)
	switch {
	case n.waiting > 0:
		return g.Waits, t.Warn, what
	case n.running > 0:
		return spin(f), t.Accent, what
	case n.queued > 0:
		return g.Bullet, t.Muted, what
	}
	began, ended := l.calls[0].Began, time.Time{}
	again := false
	for _, c := range l.calls {
		if c.Began.Before(began) {
			began = c.Began
		}
		if c.Ended.After(ended) {
			ended = c.Ended
		}
		again = again || c.CanRetry
	}
	switch {
	case n.failed > 0:
		if k := firstKey(f.Keys, keymap.InActivity, keymap.Retry); again && k != "" {
			what = append(what, newPiece(k+" tries again", 2))
		}
		return g.Failed, t.Danger, what
	case n.done == 0:
		return g.Stopped, t.Muted, what
	}
	return g.Done, t.Good, append(what, newPiece(lasted(ended.Sub(began)), 6))
}

func spin(f *Frame) string {
	frames := f.Theme.Glyphs.Spinner
	return frames[int(f.Now.UnixMilli()/spinEvery.Milliseconds())%len(frames)]
}

// callLook is the mark of a call, its tone, and what to say of it.
func callLook(c state.Call, f *Frame) (mark string, style Style, what []piece) {
	t, g := f.Theme, f.Theme.Glyphs
	switch {
	case c.Running() && !c.Until.IsZero():
		if why := cause(c); why != "" {
			what = append(what, newPiece(why, 1))
		}
		return g.Waits, t.Warn, append(what, newPiece(nextTry(c, f.Now), 0))
	case c.Running() && c.Phase == api.Queued:
		return g.Bullet, t.Muted, parts("waits for its turn", t)
	case c.Running():
		took := tenths(f.Now.Sub(c.Began))
		if c.Limit > 1 {
			took = fmt.Sprintf("try %d of %d", c.Attempt, c.Limit) + t.Dot() + took
		}
		return spin(f), t.Accent, parts(took, t)
	}
	note := clean.Line(c.Note)
	switch {
	case c.Phase == api.Done:
		if note != "" {
			what = append(what, newPiece(note, 0))
		}
		what = append(what, newPiece(lasted(c.Ended.Sub(c.Began)), len(what)))
		if c.Attempt > 1 {
			what = append(what, newPiece(plural(c.Attempt, "try", "tries"), 2))
		}
		return g.Done, t.Good, what
	case c.Stopped || c.Phase == api.Cancelled:
		if note == "" && c.Stopped {
			note = "stopped by you"
		} else if note == "" {
			note = "cancelled"
		}
		return g.Stopped, t.Muted, parts(note, t)
	}
	if note == "" {
		if note = cause(c); note == "" {
			note = "failed"
		}
	}
	what = parts(note, t)
	if k := firstKey(f.Keys, keymap.InActivity, keymap.Retry); c.CanRetry && k != "" {
		what = append(what, newPiece(k+" tries again", len(what)))
	}
	return g.Failed, t.Danger, what
}

// nextTry says which attempt a wait leads to, and when.
func nextTry(c state.Call, now time.Time) string {
	try := "trying again"
	if c.Limit > 1 {
		try = fmt.Sprintf("try %d of %d", c.Attempt, c.Limit)
	}
	if left := c.Until.Sub(now); left > 0 {
		try += " in " + tenths(left)
	}
	return try
}

// lasted is how long a call took.
func lasted(d time.Duration) string {
	if d < time.Second {
		return strconv.Itoa(max(0, int(d.Milliseconds()))) + " ms"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// callDetails are the lines about one call, clean: what it does, each of its attempts, what became of it.
func callDetails(c state.Call, f *Frame) []string {
	zone, dot := f.Options.zone(), f.Theme.Dot()
	stamp := func(at time.Time) string { return at.In(zone).Format("15:04:05.000") }
	out := []string{clean.Line(c.Title)}
	add := func(name string, facts ...string) {
		line := ""
		for _, x := range facts {
			if x = clean.LineMax(x, 300); x == "" {
				continue
			}
			if line != "" {
				line += dot
			}
			line += x
		}
		if line != "" {
			out = append(out, cells.Pad(name, 12)+line)
		}
	}
	add("operation", c.Op)
	add("began", stamp(c.Began))
	for _, t := range c.Tries {
		add("try "+itoa(t.N), stamp(t.EndedAt), why(t.Cause, t.Status, t.Wait), t.Request, "waited "+lasted(t.Wait), t.Code)
	}
	last := "try " + itoa(c.Attempt)
	if c.Limit > 1 {
		last += " of " + itoa(c.Limit)
	}
	read := ""
	if c.Bytes > 0 {
		read = "read " + units.Bytes(c.Bytes)
	}
	answer := ""
	if c.Status > 0 {
		answer = "answer " + itoa(c.Status)
	}
	switch {
	case c.Running() && !c.Until.IsZero():
		if len(c.Tries) == 0 {
			add("waits", cause(c), c.Code, c.Request)
		}
		add(last, "in "+tenths(max(0, c.Until.Sub(f.Now))))
	case c.Running() && c.Phase == api.Queued:
		add("now", "waits for its turn")
	case c.Running():
		add(last, "running for "+tenths(f.Now.Sub(c.Began)), read)
	default:
		add(last, stamp(c.Ended), endedWords(c), answer, c.Code, c.Request)
		add("took", lasted(c.Ended.Sub(c.Began)), read)
		if c.Status == 0 {
			add("cause", c.Cause)
		}
	}
	add("note", c.Note)
	return out
}

// endedWords says how a call ended.
func endedWords(c state.Call) string {
	switch {
	case c.Stopped:
		return "stopped by you"
	case c.Phase == api.Done:
		return "done"
	case c.Phase == api.Cancelled:
		return "cancelled"
	}
	return "failed"
}
