package ui

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	maxDirEntries  = 5000 // how much of a folder is read for a completion
	maxPathMatches = 200
)

// pathPrompt is a dialog that asks for a path, with completion by tab. Folders are read by a command.
type pathPrompt struct {
	title, verb string
	note        string
	in          input
	folders     bool // only folders are wanted
	file        bool // a file that is there is wanted: it is looked at before the dialog closes
	matches     []pathMatch
	sel         int // the chosen match; -1: what is typed
	gen         int // of the last question; older answers are dropped
	problem     string
	done        func(path string, f *Frame) tea.Cmd
	owner       *int // tells this prompt's answers from those of another
}

// pathMatch is one file or folder that a path may be completed to.
type pathMatch struct {
	name string
	dir  bool
}

// pathsFoundMsg is the answer of findPathsCmd.
type pathsFoundMsg struct {
	owner   *int
	gen     int
	text    string // what was typed when it was asked
	matches []pathMatch
	err     error
}

// pathCheckedMsg is the answer of checkFileCmd: what is wrong with the path, in a sentence, or nothing.
type pathCheckedMsg struct {
	owner         *int
	gen           int
	path, problem string
}

// checkFileCmd looks whether path is a file that can be attached, off the loop.
func checkFileCmd(owner *int, gen int, path string) tea.Cmd {
	return func() tea.Msg {
		msg := pathCheckedMsg{owner: owner, gen: gen, path: path}
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			msg.problem = "There is no such file."
		case err != nil:
			msg.problem = "That file cannot be read."
		case info.IsDir():
			msg.problem = "That is a folder; tab lists what is in it."
		case info.Mode().IsRegular() && info.Size() > state.MaxFiles:
			msg.problem = "It has " + units.Bytes(info.Size()) + "; at most " + units.Bytes(state.MaxFiles) + " can be sent."
		case info.Mode().IsRegular() && !readable(path):
			msg.problem = "That file cannot be read."
		}
		return msg
	}
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// newAttach asks for a file to attach.
func newAttach(done func(path string, f *Frame) tea.Cmd) Screen {
	return &pathPrompt{title: "Attach a file", verb: "attaches it", file: true, sel: -1, owner: new(int), done: done}
}

// typedPath is the path that a person meant: quotes of a shell, backslashes before blanks and file: URLs are what a
// terminal makes of a file that is dropped on it.
func typedPath(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	} else if rest, ok := strings.CutPrefix(s, "file://"); ok {
		if p, err := url.PathUnescape(strings.TrimPrefix(rest, "localhost")); err == nil {
			s = p
		}
	} else if os.PathSeparator == '/' {
		s = strings.ReplaceAll(s, `\ `, " ")
	}
	if s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "~"+string(os.PathSeparator)) {
		if home, err := os.UserHomeDir(); err == nil {
			s = home + s[1:]
		}
	}
	return s
}

// findPathsCmd reads the folder that the typed path is in, off the loop.
func findPathsCmd(owner *int, gen int, text string, folders bool) tea.Cmd {
	return func() tea.Msg {
		m, err := findPaths(typedPath(text), folders)
		return pathsFoundMsg{owner, gen, text, m, err}
	}
}

func findPaths(path string, folders bool) ([]pathMatch, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxDirEntries)
	if err != nil && len(entries) == 0 {
		// An empty folder ends at once.
		return nil, nil
	}
	var out []pathMatch
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(strings.ToLower(name), strings.ToLower(base)) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		isDir := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil {
				isDir = st.IsDir()
			}
		}
		if folders && !isDir {
			continue
		}
		out = append(out, pathMatch{name, isDir})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].dir != out[j].dir {
			return out[i].dir
		}
		return out[i].name < out[j].name
	})
	if len(out) > maxPathMatches {
		out = out[:maxPathMatches]
	}
	return out, nil
}

// beforeName is what is typed up to the name that is completed.
func beforeName(text string) string {
	return text[:strings.LastIndexAny(text, "/"+string(os.PathSeparator))+1]
}

// commonStart is the longest beginning that all names share, whatever the case.
func commonStart(ms []pathMatch) string {
	s := []rune(ms[0].name)
	for _, m := range ms[1:] {
		r := []rune(m.name)
		n := 0
		for n < len(s) && n < len(r) && strings.EqualFold(string(s[n]), string(r[n])) {
			n++
		}
		s = s[:n]
	}
	return string(s)
}

func (p *pathPrompt) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if changed, _ := p.in.Key(msg); changed {
			p.problem, p.matches, p.sel = "", nil, -1
			p.gen++
		}
	case pathsFoundMsg:
		if msg.owner == p.owner && msg.gen == p.gen {
			p.found(msg)
		}
	case pathCheckedMsg:
		if msg.owner != p.owner || msg.gen != p.gen {
			break
		}
		if p.problem = msg.problem; p.problem == "" {
			f.Pop()
			return p, p.done(msg.path, f)
		}
	}
	return p, nil
}

// found completes what is typed as far as it is sure, and lists the rest.
func (p *pathPrompt) found(msg pathsFoundMsg) {
	p.matches, p.sel = nil, -1
	switch {
	case msg.err != nil:
		p.problem = "That folder cannot be read."
		return
	case len(msg.matches) == 0:
		p.problem = "Nothing there begins like that."
		return
	}
	text := strings.TrimSpace(msg.text)
	if typedPath(text) != text && !strings.HasPrefix(text, "~") {
		text = typedPath(text)
	}
	if text == "~" {
		text = "~/"
	}
	if len(msg.matches) == 1 {
		p.in.Set(beforeName(text) + msg.matches[0].name)
		if msg.matches[0].dir {
			p.in.Insert(string(os.PathSeparator))
		}
		return
	}
	if common := commonStart(msg.matches); len(common) >= len(text)-len(beforeName(text)) {
		p.in.Set(beforeName(text) + common)
	}
	p.matches = msg.matches
}

func (p *pathPrompt) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Complete:
		if p.sel >= 0 {
			p.choose()
			return p, nil, true
		}
		p.gen++
		return p, findPathsCmd(p.owner, p.gen, p.in.String(), p.folders), true
	case keymap.Down:
		if len(p.matches) > 0 {
			p.sel = (p.sel + 1) % len(p.matches)
		}
	case keymap.Up:
		if len(p.matches) > 0 {
			p.sel = (max(p.sel, 0) + len(p.matches) - 1) % len(p.matches)
		}
	case keymap.Accept:
		if p.sel >= 0 {
			if dir := p.choose(); dir && !p.folders {
				return p, nil, true
			}
		}
		path := typedPath(p.in.String())
		if path == "" {
			p.problem = "Type a path first."
			return p, nil, true
		}
		if p.file {
			p.gen++
			return p, checkFileCmd(p.owner, p.gen, path), true
		}
		f.Pop()
		return p, p.done(path, f), true
	case keymap.Back:
		if p.sel >= 0 {
			p.sel = -1
			return p, nil, true
		}
		f.Pop()
	default:
		return p, nil, false
	}
	return p, nil, true
}

// choose takes the chosen match into the field and reports whether it is a folder.
func (p *pathPrompt) choose() bool {
	m := p.matches[p.sel]
	text := beforeName(p.in.String()) + m.name
	if m.dir {
		text += string(os.PathSeparator)
	}
	p.in.Set(text)
	p.matches, p.sel = nil, -1
	p.gen++
	return m.dir
}

func (p *pathPrompt) View(f *Frame) string {
	t := f.Theme
	inner := min(66, f.Width-4)
	var body []string
	if p.note != "" {
		body = append(body, wrapStyled(t.Muted, p.note, inner)...)
	}
	body = append(body, t.Accent.Render(">")+" "+p.in.View(t, max(inner-2, 1), true))
	height := max(min(len(p.matches), 8, f.Height-5-len(body)), 0)
	top := keep(0, max(p.sel, 0), len(p.matches), height)
	for i := top; i < top+height; i++ {
		m := p.matches[i]
		name := clean.Line(m.name)
		if m.dir {
			name += string(os.PathSeparator)
		}
		name = column(t, name, max(inner-4, 1))
		if i == p.sel {
			body = append(body, t.Accent.Render(t.Glyphs.Bar)+"   "+t.Bold.Render(name))
		} else {
			body = append(body, "    "+name)
		}
	}
	if n := len(p.matches) - top - height; n > 0 {
		body = append(body, t.Muted.Render("    "+itoa(n)+" more"))
	}
	if p.problem != "" {
		body = append(body, wrapStyled(t.Danger, p.problem, inner)...)
	}
	keys := hint(t, "tab", "completes") + t.Dot() + hint(t, "enter", p.verb) + t.Dot() + hint(t, "esc", "back")
	body = append(body, cells.Truncate(keys, inner, ""))
	return box(t, p.title, body, inner)
}

func (p *pathPrompt) Context() keymap.Context      { return keymap.InSearch }
func (p *pathPrompt) Capturing() bool              { return true }
func (p *pathPrompt) Title(*Frame) string          { return "" }
func (p *pathPrompt) Hints(*Frame) []keymap.Action { return nil }
