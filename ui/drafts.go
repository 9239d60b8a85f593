package ui

import (
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
	listing[state.DraftID]
	list []state.DraftRow
	// opening is the draft that is fetched from the server before it can open.
	opening state.DraftID
}

func newDrafts() Screen { return &drafts{} }

func (s *drafts) Init(f *Frame) tea.Cmd {
	s.refresh(f)
	return nil
}

// refresh takes the newest snapshot.
func (s *drafts) refresh(f *Frame) {
	s.list = f.Mail.Drafts()
	ids := make([]state.DraftID, len(s.list))
	for i := range s.list {
		ids[i] = s.list[i].ID
	}
	s.settle(ids)
	s.scroll(f.Height)
}

func (s *drafts) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		s.refresh(f)
		s.resume(f)
	case tea.WindowSizeMsg:
		s.scroll(f.Height)
	case tea.MouseMsg:
		if _, again := s.mouse(msg, f.Height); again {
			s.open(f, s.list[s.at])
		}
	}
	return s, nil
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
	s.refresh(f)
	if s.act(a, f.Height) {
		return s, nil, true
	}
	switch a {
	case keymap.Open:
		if len(s.list) > 0 {
			s.open(f, s.list[s.at])
		}
	case keymap.Trash:
		s.discard(f)
	case keymap.Back:
		if len(s.selected) == 0 {
			return s, nil, false
		}
		s.clear()
	default:
		return s, nil, false
	}
	return s, nil, true
}

// discard asks, then throws away the selected drafts, or the one under the cursor.
func (s *drafts) discard(f *Frame) {
	ids := s.meant()
	var what string
	switch len(ids) {
	case 0:
		return
	case 1:
		what = "the draft " + quoted(s.list[s.index[ids[0]]].Subject)
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
	if len(s.list) == 0 {
		line := "No drafts."
		for _, fo := range f.folders {
			if fo.Role == state.RoleDrafts && fo.Count > 0 {
				return emptyList("Loading"+f.Theme.Keep("…", "..."), f)
			}
		}
		if k := firstKey(f.Keys, keymap.InDrafts, keymap.Compose); k != "" {
			line += " " + k + " begins a message."
		}
		return emptyList(line, f)
	}
	c := newDraftColumns(f.Width)
	var rows []string
	for i := s.top; i < min(s.top+f.Height, len(s.list)); i++ {
		r := &s.list[i]
		rows = append(rows, draftLine(r, c, i == s.at, s.selected[r.ID], f))
	}
	return block(strings.Join(rows, "\n"), f.Width, f.Height)
}

// draftColumns are the widths of a row, in cells. A mark of 0 is left out.
type draftColumns struct {
	to, text, mark, date int
}

func newDraftColumns(width int) draftColumns {
	c := draftColumns{to: min(24, max(width/4, 8)), mark: 11, date: dateLong}
	if width < 52 {
		c.mark = 0
	}
	c.text = width - 3 - c.to - 1 - 1 - c.date - 1
	if c.mark > 0 {
		c.text -= c.mark + 1
	}
	c.text = max(c.text, 1)
	return c
}

// draftLine draws one row.
func draftLine(r *state.DraftRow, c draftColumns, cursor, selected bool, f *Frame) string {
	t := f.Theme
	bar, on := rowStart(t, cursor, true)
	mark, markStyle := "", on
	switch {
	case selected:
		mark, markStyle = t.Glyphs.Selected, t.AccentBold.With(on)
	case r.Files > 0:
		mark = t.Glyphs.Attachment
	}
	line := bar + markStyle.Render(cells.Pad(mark, 2))
	if !r.Filled {
		dots := strings.Repeat(t.Glyphs.Bullet, 3)
		return line + t.Faint.With(on).Render(fit(t, dots, c.to)+" "+fit(t, dots, max(0, f.Width-4-c.to)))
	}
	text := subjectOf(r.Subject)
	if sn := strings.TrimSpace(clean.LineMax(r.Snippet, 300)); sn != "" {
		text += t.Dot() + sn
	}
	words, bad := draftMark(*r)
	date := ""
	if !r.UpdatedAt.IsZero() {
		date = when.Short(r.UpdatedAt, f.Now)
	}
	// The text goes on over columns that are empty: most drafts are simply saved, and a server may not say when.
	if c.mark > 0 && words == "" {
		c.text, c.mark = c.text+c.mark+1, 0
		if date == "" {
			c.text, c.date = c.text+c.date, 0
		}
	}
	line += on.Render(column(t, recipients(clean.LineMax(r.To, 1000)), c.to) + " " + column(t, text, c.text) + " ")
	if c.mark > 0 {
		style := t.Muted
		if bad {
			style = t.Warn
		}
		line += style.With(on).Render(cells.FitLeft(words, c.mark) + " ")
	}
	return line + t.Muted.With(on).Render(cells.PadLeft(cells.Truncate(date, c.date, ""), c.date)+" ")
}

func (s *drafts) Context() keymap.Context { return keymap.InDrafts }
func (s *drafts) Capturing() bool         { return false }

func (s *drafts) Title(f *Frame) string {
	t := "Drafts"
	if n := len(s.list); n > 0 {
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
