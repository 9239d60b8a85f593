package ui

import "strings"

const (
	maxUndoBytes = 8 << 20
	maxUndoSteps = 4000
)

// step is one entry of the undo list: at the place, del was replaced by ins.
type step struct {
	at            place
	del, ins      string
	before, after place
	typed         bool // may grow by further typing
}

// join makes further typing or erasing part of the step, up to the end of a word.
func (s *step) join(t step) bool {
	if !s.typed || s.after != t.before || len(s.ins)+len(s.del) > 200 {
		return false
	}
	switch {
	case t.del == "" && s.del == "" && t.at == after(s.at, s.ins) && !strings.Contains(t.ins, "\n") && !strings.Contains(s.ins, "\n"):
		if endsBlank(s.ins) && !endsBlank(t.ins) {
			return false
		}
		s.ins += t.ins
	case t.ins == "" && s.ins == "" && !strings.Contains(t.del+s.del, "\n") && t.at.row == s.at.row && t.at.col+len(t.del) == s.at.col:
		s.del, s.at = t.del+s.del, t.at
	default:
		return false
	}
	s.after = t.after
	return true
}

func endsBlank(s string) bool { return strings.HasSuffix(s, " ") || strings.HasSuffix(s, "\t") }

// after returns the place behind s when it stands at p.
func after(p place, s string) place {
	n := strings.Count(s, "\n")
	if n == 0 {
		return place{p.row, p.col + len(s)}
	}
	return place{p.row + n, len(s) - strings.LastIndexByte(s, '\n') - 1}
}

func (e *editor) undoStep() bool {
	n := len(e.undo)
	if n == 0 {
		return false
	}
	s := e.undo[n-1]
	e.undo = e.undo[:n-1]
	e.undoBytes -= len(s.ins) + len(s.del)
	s.typed = false
	e.splice(s.at, after(s.at, s.ins), s.del)
	e.redo = append(e.redo, s)
	e.moveTo(s.before)
	return true
}

func (e *editor) redoStep() bool {
	n := len(e.redo)
	if n == 0 {
		return false
	}
	s := e.redo[n-1]
	e.redo = e.redo[:n-1]
	e.splice(s.at, after(s.at, s.del), s.ins)
	e.undo = append(e.undo, s)
	e.undoBytes += len(s.ins) + len(s.del)
	e.moveTo(s.after)
	return true
}

// seal ends the step that typing goes into.
func (e *editor) seal() {
	if n := len(e.undo); n > 0 {
		e.undo[n-1].typed = false
	}
}
