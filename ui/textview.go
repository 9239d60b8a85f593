package ui

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/text/encoding/charmap"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
)

// maxTextView is how many bytes of a file are shown.
const maxTextView = 1 << 20

// textView shows a file that is text.
type textView struct {
	pager
	name string
	text string // clean
	more bool   // the file goes on
	rows []string
	busy int // the width that a command wraps the text for; 0: none does
}

type (
	// textReadMsg is the answer of readTextCmd; no view: it is not text, or err says why it could not be read.
	textReadMsg struct {
		path string
		view *textView
		err  error
	}
	// textRowsMsg is the answer of the command that wraps a text.
	textRowsMsg struct {
		view  *textView
		width int
		rows  []string
	}
)

// What is text although its type does not begin with "text/", and by its name where the type says nothing.
var (
	textKinds = []string{
		"application/json", "application/xml", "application/x-sh", "application/yaml", "application/x-yaml", "application/toml",
		"application/sql", "application/x-patch", "application/x-diff", "application/csv", "application/mbox", "message/rfc822",
	}
	textEndings = []string{
		".txt", ".log", ".csv", ".tsv", ".md", ".json", ".patch", ".diff", ".xml", ".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg",
		".sh", ".go", ".py", ".c", ".h", ".js", ".ts", ".rs", ".java", ".sql", ".tex", ".rst", ".org", ".eml", ".vcf", ".ics", ".asc", ".srt",
	}
)

// isText reports whether an attachment is shown here rather than given to a program. A page is for a browser.
func isText(a api.Attachment) bool {
	kind, _, _ := strings.Cut(strings.ToLower(a.ContentType), ";")
	switch kind = strings.TrimSpace(kind); {
	case kind == "text/html", kind == "text/rtf":
		return false
	case strings.HasPrefix(kind, "text/"), slices.Contains(textKinds, kind), strings.HasSuffix(kind, "+json"):
		return true
	case kind == "", kind == "application/octet-stream":
		return slices.Contains(textEndings, strings.ToLower(filepath.Ext(fileName(a))))
	}
	return false
}

// readTextCmd reads a file and wraps its text, off the loop.
func readTextCmd(path string, width int) tea.Cmd {
	return func() tea.Msg {
		file, err := os.Open(path)
		if err != nil {
			return textReadMsg{path, nil, err}
		}
		defer file.Close()
		b, err := io.ReadAll(io.LimitReader(file, maxTextView+1))
		if err != nil {
			return textReadMsg{path, nil, err}
		}
		v := &textView{name: filepath.Base(path), more: len(b) > maxTextView}
		text, ok := decoded(b[:min(len(b), maxTextView)])
		if !ok {
			return textReadMsg{path, nil, nil}
		}
		v.text = clean.Text(text)
		v.rows = wrapText(v.text, width)
		return textReadMsg{path, v, nil}
	}
}

// decoded is the text of a file in UTF-8, UTF-16 with its mark, or else the letters of Windows; ok is false when it is no text.
func decoded(b []byte) (text string, ok bool) {
	if order, is := map[string]int{"\xff\xfe": 0, "\xfe\xff": 1}[string(b[:min(len(b), 2)])]; is {
		var units []uint16
		for i := 2; i+1 < len(b); i += 2 {
			units = append(units, uint16(b[i+order])|uint16(b[i+1-order])<<8)
		}
		return string(utf16.Decode(units)), true
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", false
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	whole := b // the last letter may be cut
	for i := 0; i < utf8.UTFMax-1 && len(whole) > 0 && !utf8.Valid(whole); i++ {
		whole = whole[:len(whole)-1]
	}
	if utf8.Valid(whole) {
		return string(whole), true
	}
	if d, err := charmap.Windows1252.NewDecoder().Bytes(b); err == nil {
		return string(d), true
	}
	return string(b), true
}

func wrapText(text string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for _, l := range cells.Wrap(cells.Stable(line), max(width-2, 1)) {
			out = append(out, " "+l)
		}
	}
	return out
}

func (v *textView) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.MouseMsg:
		v.wheel(msg, v.lines(), f.Height)
	case tea.WindowSizeMsg:
		v.clamp(v.lines(), f.Height)
		v.busy = f.Width
		text, width := v.text, f.Width
		return v, func() tea.Msg { return textRowsMsg{v, width, wrapText(text, width)} }
	case textRowsMsg:
		if msg.view == v && msg.width == v.busy {
			v.rows, v.busy = msg.rows, 0
			v.clamp(v.lines(), f.Height)
		}
	}
	return v, nil
}

// lines is how many rows there are, with the last that says that the file goes on.
func (v *textView) lines() int {
	if v.more {
		return len(v.rows) + 2
	}
	return len(v.rows)
}

func (v *textView) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	return v, nil, v.act(a, v.lines(), f.Height)
}

func (v *textView) View(f *Frame) string {
	t := f.Theme
	var out []string
	for i := v.top; i < min(v.lines(), v.top+f.Height); i++ {
		switch {
		case i < len(v.rows):
			out = append(out, cells.Truncate(v.rows[i], f.Width, ""))
		case i == len(v.rows)+1:
			out = append(out, " "+t.Muted.Render(fit(t, "The file goes on; save it to read all of it.", f.Width-2)))
		default:
			out = append(out, "")
		}
	}
	if strings.TrimSpace(v.text) == "" {
		out = []string{" " + t.Muted.Render("The file is empty")}
	}
	return block(strings.Join(out, "\n"), f.Width, f.Height)
}

func (v *textView) Context() keymap.Context { return keymap.InHelp }
func (v *textView) Capturing() bool         { return false }
func (v *textView) Title(*Frame) string     { return cells.Stable(clean.Line(v.name)) }

func (v *textView) Hints(*Frame) []keymap.Action {
	return []keymap.Action{keymap.Down, keymap.Up, keymap.PageDown, keymap.Bottom, keymap.Back}
}
