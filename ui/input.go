package ui

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
)

// input is a text field of one line. Its zero value is empty.
type input struct {
	text []rune
	pos  int
}

func newInput(text string) input {
	r := []rune(oneLine(text))
	return input{r, len(r)}
}

func (in *input) String() string { return string(in.text) }

func (in *input) Set(text string) { *in = newInput(text) }

// oneLine makes typed or pasted text fit for a field of one line: line ends and tabs become blanks, other control
// characters go.
func oneLine(s string) string {
	s = strings.TrimRight(s, "\r\n")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}

// Insert puts text where the caret is.
func (in *input) Insert(s string) {
	r := []rune(oneLine(s))
	in.text = append(in.text[:in.pos:in.pos], append(r, in.text[in.pos:]...)...)
	in.pos += len(r)
}

// Key handles a key of the field and reports whether the text changed and whether the key was one of its own.
func (in *input) Key(k tea.KeyMsg) (changed, handled bool) {
	if (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && !k.Alt {
		// Letters that came in one piece may spell the name of a key.
		in.Insert(string(k.Runes))
		return len(k.Runes) > 0, true
	}
	switch k.String() {
	case "left", "ctrl+b":
		in.pos = in.before(in.pos)
	case "right", "ctrl+f":
		in.pos = in.after(in.pos)
	case "home", "ctrl+a":
		in.pos = 0
	case "end", "ctrl+e":
		in.pos = len(in.text)
	case "ctrl+left", "alt+b", "alt+left":
		in.pos = in.word(in.pos)
	case "ctrl+right", "alt+f", "alt+right":
		for in.pos < len(in.text) && unicode.IsSpace(in.text[in.pos]) {
			in.pos++
		}
		for in.pos < len(in.text) && !unicode.IsSpace(in.text[in.pos]) {
			in.pos++
		}
	case "backspace", "ctrl+h":
		return in.cut(in.before(in.pos), in.pos), true
	case "delete", "ctrl+d":
		return in.cut(in.pos, in.after(in.pos)), true
	case "ctrl+w", "alt+backspace":
		return in.cut(in.word(in.pos), in.pos), true
	case "ctrl+u":
		return in.cut(0, in.pos), true
	case "ctrl+k":
		return in.cut(in.pos, len(in.text)), true
	default:
		return false, false
	}
	return false, true
}

func (in *input) cut(from, to int) bool {
	if from >= to {
		return false
	}
	in.text = append(in.text[:from:from], in.text[to:]...)
	in.pos = from
	return true
}

// joins reports whether r belongs to the character before it.
func joins(r rune) bool {
	return unicode.Is(unicode.M, r) || r == '\u200d' || r >= 0xfe00 && r <= 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff
}

func (in *input) before(i int) int {
	if i > 0 {
		i--
	}
	for i > 0 && (joins(in.text[i]) || in.text[i-1] == '\u200d') {
		i--
	}
	return i
}

func (in *input) after(i int) int {
	if i < len(in.text) {
		i++
	}
	for i < len(in.text) && (joins(in.text[i]) || in.text[i-1] == '\u200d') {
		i++
	}
	return i
}

func (in *input) word(i int) int {
	for i > 0 && unicode.IsSpace(in.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(in.text[i-1]) {
		i--
	}
	return i
}

// View draws the field in exactly width cells, with the caret always in sight.
func (in *input) View(t *Theme, width int, focused bool) string {
	if width <= 0 {
		return ""
	}
	left, right := string(in.text[:in.pos]), string(in.text[in.pos:])
	if !focused {
		return cells.Fit(left+right, width)
	}
	// The caret stands on the character under it, or on a blank at the end.
	under, rest := " ", ""
	if in.pos < len(in.text) {
		end := in.after(in.pos)
		under, rest = string(in.text[in.pos:end]), string(in.text[end:])
	}
	uw := max(1, cells.Width(under))
	for cells.Width(left)+uw > width && left != "" {
		r := []rune(left)
		left = string(r[1:])
	}
	room := width - cells.Width(left) - uw
	if room < 0 {
		return cells.Fit(under, width)
	}
	return left + t.Reverse.Render(under) + cells.Fit(rest, room)
}
