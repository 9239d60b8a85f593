package ui

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// search asks what to look for; up and down bring back earlier searches.
type search struct {
	in      input
	history []string // newest first
	at      int      // in the history; -1: the new text
	typed   string
	title   string
	help    string
	sign    string // before the text; empty: "/"
	verb    string // what enter does; empty: "searches"
	earlier string // what the history holds; empty: "earlier searches"
	done    func(text string, f *Frame) tea.Cmd
}

// newSearch asks for a search of the mail. It begins empty, so that what is typed is what is searched for; the search
// that is shown is the newest of the history.
func newSearch(history []string) Screen {
	return &search{
		in: newInput(""), history: history, at: -1, title: "Search the mail",
		help: "words   from:ada   subject:plan   is:unread   in:sent",
		done: func(text string, f *Frame) tea.Cmd {
			if text != "" {
				f.Ask(openViewMsg{state.View{Query: text}})
			}
			return nil
		},
	}
}

func (s *search) Update(msg tea.Msg, _ *Frame) (Screen, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok {
		if changed, _ := s.in.Key(k); changed {
			s.at = -1
		}
	}
	return s, nil
}

func (s *search) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Accept:
		f.Pop()
		return s, s.done(strings.TrimSpace(s.in.String()), f), true
	case keymap.Back:
		f.Pop()
	case keymap.Up:
		if s.at+1 < len(s.history) {
			if s.at < 0 {
				s.typed = s.in.String()
			}
			s.at++
			s.in.Set(s.history[s.at])
		}
	case keymap.Down:
		if s.at < 0 {
			break
		}
		s.at--
		if s.at < 0 {
			s.in.Set(s.typed)
		} else {
			s.in.Set(s.history[s.at])
		}
	case keymap.Complete:
		s.complete()
	default:
		return s, nil, false
	}
	return s, nil, true
}

// complete brings the newest earlier search that begins like the text.
func (s *search) complete() {
	text := s.in.String()
	for _, h := range s.history {
		if text != "" && len(h) > len(text) && strings.HasPrefix(h, text) {
			s.in.Set(h)
			return
		}
	}
}

func (s *search) View(f *Frame) string {
	t := f.Theme
	inner := min(64, f.Width-4)
	sign, verb := s.sign, s.verb
	if sign == "" {
		sign = "/"
	}
	if verb == "" {
		verb = "searches"
	}
	body := []string{
		t.Accent.Render(sign+" ") + s.in.View(t, inner-2, true),
	}
	if s.help != "" && f.Height >= 8 {
		body = append(body, "", t.Faint.Render(cutWords(s.help, inner, t)))
	}
	keys := hint(t, "enter", verb) + "   " + hint(t, "esc", "closes")
	if len(s.history) > 0 && inner >= 50 {
		keys += "   " + hint(t, "up", cmp.Or(s.earlier, "earlier searches"))
	}
	return box(t, s.title, append(body, keys), inner)
}

func (s *search) Context() keymap.Context      { return keymap.InSearch }
func (s *search) Capturing() bool              { return true }
func (s *search) Title(*Frame) string          { return "" }
func (s *search) Hints(*Frame) []keymap.Action { return nil }
