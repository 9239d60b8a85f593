package ui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// folders is the sidebar: folders, then labels, with what is unread in each. In a narrow window it is a list of its own.
type folders struct {
	list    []state.Folder
	current state.View // what the threads pane shows
	cursor  folderKey
	top     int
}

// folderKey names a line of the sidebar.
type folderKey struct {
	view state.View
	role state.Role
}

func keyOf(f state.Folder) folderKey { return folderKey{f.View, f.Role} }

func newFolders() *folders { return &folders{} }

// follow notes which view is shown.
func (s *folders) follow(v state.View, _ *Frame) {
	s.current = v
	for _, fo := range s.list {
		if fo.View == v && !apart(fo.Role) {
			s.cursor = keyOf(fo)
		}
	}
}

// point puts the cursor on the line of a role, if there is one.
func (s *folders) point(r state.Role) {
	for _, fo := range s.list {
		if r != "" && fo.Role == r {
			s.cursor = keyOf(fo)
		}
	}
}

// apart reports whether a folder is a screen of its own, not a list of threads.
func apart(r state.Role) bool { return r == state.RoleDrafts || r == state.RoleOutbox }

func (s *folders) refresh(f *Frame) {
	s.list = f.Mail.Folders()
	if s.index() < 0 {
		s.follow(s.current, f)
	}
	s.scroll(f)
}

func (s *folders) index() int {
	for i, fo := range s.list {
		if keyOf(fo) == s.cursor {
			return i
		}
	}
	return -1
}

// row is where a line stands on the screen: a rule parts the labels from the folders.
func (s *folders) row(i int) int {
	for j := 0; j < len(s.list) && j <= i; j++ {
		if s.list[j].Role == state.RoleLabel {
			if j == 0 {
				return i
			}
			return i + 1
		}
	}
	return i
}

func (s *folders) scroll(f *Frame) {
	if len(s.list) == 0 {
		s.top = 0
		return
	}
	s.top = keep(s.top, s.row(max(0, s.index())), s.row(len(s.list)-1)+1, f.Height)
}

func (s *folders) move(to int, f *Frame) {
	if len(s.list) == 0 {
		return
	}
	s.cursor = keyOf(s.list[max(0, min(to, len(s.list)-1))])
	s.scroll(f)
}

func (s *folders) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		s.refresh(f)
	case tea.WindowSizeMsg:
		s.scroll(f)
	case tea.MouseMsg:
		switch msg.Button {
		case tea.MouseButtonWheelUp:
			s.move(s.index()-1, f)
		case tea.MouseButtonWheelDown:
			s.move(s.index()+1, f)
		case tea.MouseButtonLeft:
			for i, fo := range s.list {
				if s.row(i)-s.top == msg.Y {
					s.cursor = keyOf(fo)
					f.Ask(openFolderMsg{fo})
				}
			}
		}
	}
	return s, nil
}

func (s *folders) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	i := max(0, s.index())
	switch a {
	case keymap.Down:
		s.move(i+1, f)
	case keymap.Up:
		s.move(i-1, f)
	case keymap.Top:
		s.move(0, f)
	case keymap.Bottom:
		s.move(len(s.list)-1, f)
	case keymap.HalfPageDown:
		s.move(i+f.Height/2, f)
	case keymap.HalfPageUp:
		s.move(i-f.Height/2, f)
	case keymap.PageDown:
		s.move(i+f.Height-1, f)
	case keymap.PageUp:
		s.move(i-f.Height+1, f)
	case keymap.Open:
		if i < len(s.list) {
			f.Ask(openFolderMsg{s.list[i]})
		}
	default:
		return s, nil, false
	}
	return s, nil, true
}

func (s *folders) View(f *Frame) string {
	t := f.Theme
	var out []string
	width := f.Width
	if !f.wide {
		width = min(width, 40)
	}
	for i, fo := range s.list {
		if fo.Role == state.RoleLabel && i > 0 && s.list[i-1].Role != state.RoleLabel {
			out = append(out, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(0, width-2))))
		}
		out = append(out, s.line(fo, width, f))
	}
	if len(out) == 0 {
		out = append(out, t.Muted.Render(" Loading"+t.Keep("…", "...")))
	}
	top := min(s.top, len(out)-1)
	return block(strings.Join(out[top:], "\n"), f.Width, f.Height)
}

func (s *folders) line(fo state.Folder, width int, f *Frame) string {
	t := f.Theme
	cursor := keyOf(fo) == s.cursor && f.Focused
	current := fo.View == s.current && !apart(fo.Role)
	if f.docked != "" {
		current = fo.Role == f.docked
	}
	name := cells.Stable(strings.TrimSpace(clean.LineMax(fo.Name, 200)))
	style := Style{}
	if fo.Role == state.RoleLabel {
		name, style = "#"+name, t.Label(fo.Color)
	}
	n := fo.Unread
	switch {
	case apart(fo.Role), fo.Role == state.RoleSnoozed:
		n = fo.Count
	case fo.Role == state.RoleSent:
		n = 0
	}
	count := ""
	if n > 0 {
		count = strconv.Itoa(n)
		if n > 99999 {
			count = "99999+"
		}
	}
	if current {
		style = t.AccentBold
	} else if fo.Unread > 0 && n > 0 {
		style = style.With(t.Bold)
	}
	on := Style{}
	bar := " "
	if cursor {
		on, bar = t.Cursor, t.Accent.With(t.Cursor).Render(t.Glyphs.Bar)
	} else if current {
		bar = t.Muted.Render(t.Glyphs.BarDim)
	}
	room := max(1, width-2-len(count)-1)
	return bar + style.With(on).Render(column(t, name, room)) + on.Render(" ") + t.Muted.With(on).Render(count) + on.Render(" ")
}

func (s *folders) Context() keymap.Context { return keymap.InFolders }
func (s *folders) Capturing() bool         { return false }
func (s *folders) Title(*Frame) string     { return "Folders" }

func (s *folders) Hints(*Frame) []keymap.Action {
	return []keymap.Action{
		keymap.Down, keymap.Up, keymap.Open, keymap.Back, keymap.NextPane, keymap.Compose, keymap.Search,
	}
}
