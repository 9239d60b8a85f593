package ui

import (
	"strconv"
	"strings"
)

// Colors is how many colours the terminal shows.
type Colors int

// The depths of colour. The zero value is 256.
const (
	Colors256 Colors = iota
	ColorsNone
	Colors16
	ColorsTrue
)

// Style is how a piece of text looks: SGR codes parted by semicolons, or none.
type Style struct{ codes string }

// Render wraps s, which holds no line end and no other style, in the style.
func (s Style) Render(t string) string {
	if s.codes == "" || t == "" {
		return t
	}
	return "\x1b[" + s.codes + "m" + t + "\x1b[0m"
}

// With adds the codes of o to s; where both set the same thing, o wins.
func (s Style) With(o Style) Style {
	switch {
	case s.codes == "":
		return o
	case o.codes == "":
		return s
	}
	return Style{s.codes + ";" + o.codes}
}

// Glyphs are the marks of the screens, each with its plain stand-in.
type Glyphs struct {
	Bar, BarDim, Unread, Star, Answered, Attachment, Invite, Muted, Pending, Selected string
	Folded, Open, Rule, Vertical, FocusEdge, Foot, Quote, Ellipsis, Bullet            string
	TopLeft, TopRight, BottomLeft, BottomRight                                        string
	Caret, More, Done, Failed, Stopped, Waits                                         string
	Spinner                                                                           []string
}

// Theme holds the semantic tokens that the screens draw with. Colour never carries a meaning alone.
type Theme struct {
	ASCII   bool
	Glyphs  Glyphs
	colors  Colors
	choice  string
	labeled map[string]Style

	Text, Bold, Muted, Faint Style
	Accent, AccentBold       Style
	Danger, Warn, Good       Style
	Cursor                   Style // the background of the row that has the cursor
	CursorDim                Style // the same in a pane without the keys
	Selected                 Style
	Rule                     Style
	Key                      Style // a key in a hint
	Hint                     Style // what the key does
	Link, Quote              Style
	Match                    Style // a hit of a search
	Field                    Style // the label of a field
	Reverse                  Style // the caret, a chosen button
}

// swatch is one colour: for 16, 256 and true colour.
type swatch struct {
	c16  string
	c256 int
	rgb  string // "rrggbb"
}

func (w swatch) fg(c Colors) string { return w.code(c, "38") }
func (w swatch) bg(c Colors) string { return w.code(c, "48") }

func (w swatch) code(c Colors, kind string) string {
	switch c {
	case ColorsNone:
		return ""
	case Colors16:
		return w.c16
	case ColorsTrue:
		return kind + ";2;" + rgbCodes(w.rgb)
	default:
		return kind + ";5;" + strconv.Itoa(w.c256)
	}
}

func rgbCodes(hex string) string {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		n = 0x888888
	}
	return strconv.Itoa(int(n>>16)) + ";" + strconv.Itoa(int(n>>8&255)) + ";" + strconv.Itoa(int(n&255))
}

// NewTheme makes a theme. choice is "dark", "light" or "auto", which reads well on either.
func NewTheme(choice string, colors Colors, ascii bool) *Theme {
	if choice == "" {
		choice = "auto"
	}
	t := &Theme{ASCII: ascii, colors: colors, choice: choice, labeled: map[string]Style{}}
	var muted, faint, rule, accent, danger, warn, good, cursor, dim swatch
	switch choice {
	case "light":
		muted, faint, rule = swatch{"2", 241, "5f6672"}, swatch{"2", 243, "6f7681"}, swatch{"2", 247, "9aa1ab"}
		accent = swatch{"36", 30, "0b7a75"}
		danger, warn, good = swatch{"31", 160, "c4302b"}, swatch{"33", 130, "96600b"}, swatch{"32", 28, "2f7d32"}
		cursor, dim = swatch{"", 254, "e4e9ee"}, swatch{"", 255, "f0f2f5"}
	case "dark":
		muted, faint, rule = swatch{"2", 246, "949ba6"}, swatch{"2", 244, "7e8590"}, swatch{"2", 240, "5b626d"}
		accent = swatch{"36", 79, "5fd3b3"}
		danger, warn, good = swatch{"31", 203, "f2777a"}, swatch{"33", 215, "f0b070"}, swatch{"32", 114, "8fcf8f"}
		cursor, dim = swatch{"", 237, "2f363f"}, swatch{"", 235, "262b32"}
	default:
		muted, faint, rule = swatch{"2", 244, "808791"}, swatch{"2", 243, "767c85"}, swatch{"2", 243, "767c85"}
		accent = swatch{"36", 37, "1a9e96"}
		danger, warn, good = swatch{"31", 167, "d05050"}, swatch{"33", 136, "ab7f1c"}, swatch{"32", 71, "4f9d4f"}
	}
	fg := func(w swatch) Style { return Style{w.fg(colors)} }
	bg := func(w swatch) Style {
		if colors == Colors16 || w.rgb == "" {
			return Style{}
		}
		return Style{w.bg(colors)}
	}
	bold, faintAttr := Style{"1"}, Style{"2"}
	t.Bold = bold
	t.Muted, t.Faint = fg(muted), fg(faint)
	if colors == ColorsNone {
		t.Muted, t.Faint = Style{}, faintAttr
	}
	t.Accent = fg(accent)
	t.AccentBold = bold.With(t.Accent)
	t.Danger, t.Warn, t.Good = fg(danger), fg(warn), fg(good)
	t.Cursor, t.CursorDim = bg(cursor), bg(dim)
	if t.Cursor.codes == "" {
		t.Cursor = bold
	}
	t.Selected = t.Accent
	t.Rule = fg(rule)
	if colors == ColorsNone {
		t.Rule = faintAttr
	}
	t.Key = t.Accent
	if colors == ColorsNone {
		t.Key = bold
	}
	t.Hint = t.Muted
	t.Link = Style{"4"}.With(t.Accent)
	t.Quote = t.Muted
	t.Match = Style{"7"}
	t.Field = t.Muted
	t.Reverse = Style{"7"}
	t.Glyphs = unicodeGlyphs
	if ascii {
		t.Glyphs = asciiGlyphs
	} else if colors == ColorsNone {
		// What colour would tell apart, the marks do.
		t.Glyphs.Bar, t.Glyphs.BarDim, t.Glyphs.FocusEdge = ">", ":", "┃"
		t.Glyphs.Unread, t.Glyphs.Star, t.Glyphs.Answered, t.Glyphs.Attachment, t.Glyphs.Muted = "*", "!", "r", "@", "m"
	}
	return t
}

var unicodeGlyphs = Glyphs{
	Bar: "▌", BarDim: "▏", Unread: "●", Star: "⚑", Answered: "↩", Attachment: "📎", Invite: "◫", Muted: "🔇", Pending: "↑", Selected: "✓",
	Folded: "▸", Open: "▾", Rule: "─", Vertical: "│", FocusEdge: "│", Foot: "┴", Quote: "┊", Ellipsis: "…", Bullet: "·",
	TopLeft: "┌", TopRight: "┐", BottomLeft: "└", BottomRight: "┘",
	Caret: "▏", More: "↓", Done: "✓", Failed: "✗", Stopped: "⦸", Waits: "◷",
	Spinner: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
}

var asciiGlyphs = Glyphs{
	Bar: ">", BarDim: ":", Unread: "*", Star: "!", Answered: "r", Attachment: "@", Invite: "c", Muted: "m", Pending: "^", Selected: "x",
	Folded: "+", Open: "-", Rule: "-", Vertical: "|", FocusEdge: "|", Foot: "+", Quote: "|", Ellipsis: "~", Bullet: "-",
	TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Caret: "_", More: "v", Done: "+", Failed: "x", Stopped: "o", Waits: "w",
	Spinner: []string{"|", "/", "-", "\\"},
}

// Label is the style of a user's label of that colour ("#rrggbb", or empty for the accent).
func (t *Theme) Label(color string) Style {
	if s, ok := t.labeled[color]; ok {
		return s
	}
	s := t.Accent
	hex := strings.TrimPrefix(color, "#")
	if n, err := strconv.ParseUint(hex, 16, 32); err == nil && len(hex) == 6 {
		switch t.colors {
		case ColorsTrue:
			s = Style{"38;2;" + rgbCodes(hex)}
		case Colors256:
			s = Style{"38;5;" + strconv.Itoa(cube(int(n>>16), int(n>>8&255), int(n&255)))}
		}
	}
	// The colours of labels come from the server: bounded, so that they cannot fill the memory.
	if len(t.labeled) < 256 {
		t.labeled[color] = s
	}
	return s
}

// cube is the nearest colour of the 6x6x6 cube of the 256-colour palette.
func cube(r, g, b int) int {
	level := func(v int) int {
		switch {
		case v < 48:
			return 0
		case v < 115:
			return 1
		default:
			return (v - 35) / 40
		}
	}
	return 16 + 36*level(r) + 6*level(g) + level(b)
}

// Hyperlink makes text a link of the terminal (OSC 8), where that may be expected to work. target is what clean.Link gave,
// and is itself in sight.
func (t *Theme) Hyperlink(text, target string) string {
	if t.ASCII || t.colors == ColorsNone || t.colors == Colors16 {
		return text
	}
	return "\x1b]8;;" + target + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// Keep returns s when the theme draws beyond ASCII, else plain.
func (t *Theme) Keep(s, plain string) string {
	if t.ASCII {
		return plain
	}
	return s
}

// Dot is the blank-dot-blank between the parts of a line.
func (t *Theme) Dot() string { return " " + t.Glyphs.Bullet + " " }
