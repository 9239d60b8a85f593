package ui

import (
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// The terminal is asked for its background once, without waiting: what it answers comes among the keys. Where none
// answers the theme that reads well on either stays.

const (
	askBackground = "\x1b]11;?\x07"
	answerGap     = 3 * time.Second // between the parts of an answer on a slow line or a busy machine
	maxAnswer     = 40
)

// background waits for the terminal's answer.
type background struct {
	// asked stays until the answer has come, however late: on a slow line, or after the program was stopped in
	// between, its letters would be taken for actions.
	asked bool
	next  time.Time // of waiting for the next part of one that has begun; zero: none has
	text  string
}

// askCmd asks the terminal. A person who chose a theme is not second-guessed.
func (a *app) askCmd() tea.Cmd {
	query := a.o.Query
	if query == nil || a.o.Theme != "" && a.o.Theme != "auto" || a.o.Colors == ColorsNone || a.o.Colors == Colors16 {
		return nil
	}
	a.background.asked = true
	return func() tea.Msg {
		// A terminal that cannot be asked is one that does not answer.
		_ = query(askBackground)
		return nil
	}
}

// take looks whether a key is a part of the answer and keeps it from being an action; dark is told once it is complete.
func (b *background) take(k tea.KeyMsg, now time.Time) (taken, known, dark bool) {
	if !b.asked || k.Paste {
		return false, false, false
	}
	text := string(k.Runes)
	if b.next.IsZero() || now.After(b.next) {
		b.text = ""
		switch {
		case k.Type == tea.KeyRunes && k.Alt && text == "]":
		case k.Type == tea.KeyRunes && !k.Alt && strings.HasPrefix(text, "]11;"):
			b.text = text[1:] // the escape before it came alone
		case k.Type == tea.KeyRunes && !k.Alt && strings.HasPrefix(text, "11;rgb:"):
			b.text = text // what stands before it came long ago
		default:
			return false, false, false
		}
		b.next = now.Add(answerGap)
		return true, false, false
	}
	switch {
	case k.Type == tea.KeyRunes && !k.Alt && len(b.text)+len(text) <= maxAnswer && begins(b.text+text, "11;"):
		b.text += text
		b.next = now.Add(answerGap)
		return true, false, false
	case k.Type == tea.KeyCtrlG, k.Type == tea.KeyRunes && k.Alt && text == `\`:
		dark, known = parseBackground(b.text)
		*b = background{}
		return true, known, dark
	}
	*b = background{asked: true}
	return false, false, false
}

// begins reports whether a text that may go on can begin with head.
func begins(text, head string) bool {
	return strings.HasPrefix(text, head) || strings.HasPrefix(head, text)
}

// parseBackground reads "11;rgb:1e1e/1e1e/2e2e".
func parseBackground(s string) (dark, ok bool) {
	rest, ok := strings.CutPrefix(s, "11;rgb:")
	if !ok {
		return false, false
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 {
		return false, false
	}
	light := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		if len(parts[i]) < 1 || len(parts[i]) > 4 {
			return false, false
		}
		n, err := strconv.ParseUint(parts[i], 16, 32)
		if err != nil {
			return false, false
		}
		light += weight * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return light < 0.5, true
}
