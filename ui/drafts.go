package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// drafts lists the messages that are being written.
type drafts struct {
	sel      state.DraftID
	index    int
	top      int
	selected map[state.DraftID]bool
	// opening is the draft that is fetched from the server before it can open.
	opening state.DraftID
}

func newDrafts() Screen { return &drafts{selected: map[state.DraftID]bool{}} }

// cursor is the chosen draft; it holds to the id.
func (s *drafts) cursor(list []state.DraftRow) int {
	for i := range list {
		if list[i].ID == s.sel {
			s.index = i
			return i
		}
	}
	s.index = max(min(s.index, len(list)-1), 0)
	if len(list) > 0 {
		s.sel = list[s.index].ID
	}
	return s.index
}

func (s *drafts) move(to int, list []state.DraftRow) {
	if len(list) > 0 {
		s.index = max(min(to, len(list)-1), 0)
		s.sel = list[s.index].ID
	}
}

func (s *drafts) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		s.prune(f.Mail.Drafts())
		s.resume(f)
	case tea.MouseMsg:
		list := f.Mail.Drafts()
		i := s.cursor(list)
		switch msg.Button {
		case tea.MouseButtonWheelDown:
			s.move(i+1, list)
		case tea.MouseButtonWheelUp:
			s.move(i-1, list)
		case tea.MouseButtonLeft:
			if y := s.top + msg.Y; y < len(list) {
				s.move(y, list)
			}
		}
	}
	return s, nil
}

// prune takes drafts that are gone out of the selection.
func (s *drafts) prune(list []state.DraftRow) {
	for id := range s.selected {
		if !slices.ContainsFunc(list, func(r state.DraftRow) bool { return r.ID == id }) {
			delete(s.selected, id)
		}
	}
}

// resume opens the draft that was waited for.
func (s *drafts) resume(f *Frame) {
	if s.opening == "" || !f.Focused {
		return
	}
	if d, ok := f.Mail.Draft(s.opening); ok {
		s.opening = ""
		f.Ask(openDraftMsg{d})
	}
}

func (s *drafts) open(f *Frame, r state.DraftRow) {
	s.opening = ""
	if r.Filled {
		if d, ok := f.Mail.Draft(r.ID); ok {
			f.Ask(openDraftMsg{d})
			return
		}
	}
	if f.Mail.OpenDraft(r.ID) {
		if d, ok := f.Mail.Draft(r.ID); ok {
			f.Ask(openDraftMsg{d})
			return
		}
		s.opening = r.ID
		f.Flash("Fetching the draft from the server")
		return
	}
	f.Warn("That draft is gone")
}

func (s *drafts) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	list := f.Mail.Drafts()
	i := s.cursor(list)
	h := max(f.Height, 1)
	if to, ok := listMove(a, i, len(list), h); ok {
		s.move(to, list)
		return s, nil, true
	}
	switch a {
	case keymap.Open:
		if len(list) > 0 {
			s.open(f, list[i])
		}
	case keymap.Select:
		if len(list) > 0 {
			if id := list[i].ID; s.selected[id] {
				delete(s.selected, id)
			} else {
				s.selected[id] = true
			}
			s.move(i+1, list)
		}
	case keymap.Trash:
		s.discard(list, i, f)
	case keymap.Back:
		if len(s.selected) == 0 {
			return s, nil, false
		}
		clear(s.selected)
	default:
		return s, nil, false
	}
	return s, nil, true
}

// discard asks, then throws away the selected drafts, or the one under the cursor.
func (s *drafts) discard(list []state.DraftRow, i int, f *Frame) {
	var ids []state.DraftID
	for _, r := range list {
		if s.selected[r.ID] {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 && len(list) > 0 {
		ids = append(ids, list[i].ID)
	}
	what := ""
	switch len(ids) {
	case 0:
		return
	case 1:
		for _, r := range list {
			if r.ID == ids[0] {
				what = "the draft " + quoted(r.Subject)
			}
		}
	default:
		what = itoa(len(ids)) + " drafts"
	}
	m := f.Mail
	discard := func() tea.Msg {
		for _, id := range ids {
			m.DiscardDraft(id)
		}
		return nil
	}
	if f.Options.DiscardUnasked {
		discard()
		return
	}
	f.Dialog(newConfirm("Throw away "+what+"? This cannot be undone.", "throw away", discard))
}

// draftMark says in a word or two how safe a draft is, when it is not simply saved.
func draftMark(r state.DraftRow) (words string, bad bool) {
	switch r.Status.State {
	case state.SaveFailed:
		return "not saved", true
	case state.SaveUnknown:
		return "answer lost", true
	case state.SaveDirty:
		return "saving", false
	case state.SaveDisk:
		return "only here", false
	}
	if !r.OnServer {
		return "only here", false
	}
	return "", false
}

// recipients names the first of a list of addresses as typed, and how many more there are.
func recipients(list string) string {
	first, n := "", 0
	for _, p := range addressParts(list) {
		part := strings.TrimSpace(list[p[0]:p[1]])
		if part == "" {
			continue
		}
		if n++; n > 1 {
			continue
		}
		first = part
		if i := strings.LastIndexByte(part, '<'); i > 0 {
			first = strings.Trim(strings.TrimSpace(part[:i]), `"`)
		}
	}
	switch n {
	case 0:
		return "(nobody yet)"
	case 1:
		return first
	}
	return first + " +" + itoa(n-1)
}

func (s *drafts) View(f *Frame) string {
	t, w := f.Theme, f.Width
	list := f.Mail.Drafts()
	if len(list) == 0 {
		k := firstKey(f.Keys, keymap.InDrafts, keymap.Compose)
		line := "  No drafts."
		if k != "" {
			line += " " + k + " begins a message."
		}
		return "\n" + cells.Truncate(line, w, t.Glyphs.Ellipsis)
	}
	cur := s.cursor(list)
	s.top = keep(s.top, cur, len(list), f.Height)
	const markW, dateW = 11, 9
	toW := min(24, max(w/4, 8))
	restW := max(w-3-toW-1-markW-1-dateW-1, 1)
	if w < 52 {
		restW = max(w-3-toW-1-dateW-1, 1)
	}
	var rows []string
	for i := s.top; i < min(s.top+f.Height, len(list)); i++ {
		r := list[i]
		on := Style{}
		var b strings.Builder
		if i == cur {
			on = t.Cursor
			b.WriteString(t.Accent.With(on).Render(t.Glyphs.Bar))
		} else {
			b.WriteString(" ")
		}
		mark, markStyle := "", on
		switch {
		case s.selected[r.ID]:
			mark, markStyle = t.Glyphs.Selected, t.AccentBold.With(on)
		case r.Files > 0:
			mark = t.Glyphs.Attachment
		}
		b.WriteString(markStyle.Render(cells.Pad(mark, 2)))
		if !r.Filled {
			dots := strings.Repeat(t.Glyphs.Bullet, 3)
			b.WriteString(t.Faint.With(on).Render(fit(t, dots, toW) + " " + fit(t, dots, restW)))
			rows = append(rows, b.String())
			continue
		}
		to := recipients(clean.LineMax(r.To, 1000))
		text := subjectOf(r.Subject)
		if sn := strings.TrimSpace(clean.LineMax(r.Snippet, 300)); sn != "" {
			text += t.Dot() + sn
		}
		words, bad := draftMark(r)
		date := ""
		if !r.UpdatedAt.IsZero() {
			date = when.Short(r.UpdatedAt, f.Now)
		}
		// The text goes on over columns that are empty: most drafts are simply saved, and a server may not say when.
		room, marks := restW, w >= 52
		if marks && words == "" {
			room, marks = room+markW+1, false
			if date == "" {
				room += dateW
			}
		}
		b.WriteString(on.Render(column(t, to, toW) + " " + column(t, text, room) + " "))
		if marks {
			st := t.Muted
			if bad {
				st = t.Warn
			}
			b.WriteString(st.With(on).Render(cells.FitLeft(words, markW) + " "))
		}
		if left := w - 3 - toW - 1 - room - 1; left >= dateW {
			b.WriteString(t.Muted.With(on).Render(cells.PadLeft(cells.Truncate(date, dateW, ""), dateW)))
		}
		rows = append(rows, b.String())
	}
	return strings.Join(rows, "\n")
}

func (s *drafts) Context() keymap.Context { return keymap.InDrafts }
func (s *drafts) Capturing() bool         { return false }

func (s *drafts) Title(f *Frame) string {
	t := "Drafts"
	if n := len(f.Mail.Drafts()); n > 0 {
		t += "  " + itoa(n)
	}
	if n := len(s.selected); n > 0 {
		t += f.Theme.Dot() + itoa(n) + " selected"
	}
	return t
}

func (s *drafts) Hints(f *Frame) []keymap.Action {
	return []keymap.Action{keymap.Open, keymap.Trash, keymap.Select, keymap.Compose, keymap.Back}
}

// Every is seldom: only the dates grow old.
func (s *drafts) Every(f *Frame) time.Duration { return time.Minute }
