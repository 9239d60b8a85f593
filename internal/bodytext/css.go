package bodytext

import (
	"strconv"
	"strings"
)

// colour is 0xRRGGBB, or unknown.
type colour int32

const unknown colour = -1

// same reports whether text of one colour on a ground of the other cannot be seen.
func (c colour) same(ground colour) bool {
	if c == unknown || ground == unknown {
		return false
	}
	for shift := 0; shift <= 16; shift += 8 {
		if d := int(c>>shift&0xff) - int(ground>>shift&0xff); d > 6 || d < -6 {
			return false
		}
	}
	return true
}

var named = map[string]colour{
	"white": 0xffffff, "black": 0, "red": 0xff0000, "green": 0x008000, "blue": 0x0000ff, "yellow": 0xffff00, "gray": 0x808080,
	"grey": 0x808080, "silver": 0xc0c0c0, "snow": 0xfffafa, "ivory": 0xfffff0, "whitesmoke": 0xf5f5f5, "ghostwhite": 0xf8f8ff,
}

func parseColour(s string) (colour, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if c, ok := named[s]; ok {
		return c, true
	}
	if args, ok := strings.CutPrefix(s, "rgb"); ok {
		args = strings.TrimRight(strings.TrimLeft(args, "a("), ")")
		f := strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == ' ' || r == '/' })
		if len(f) < 3 {
			return unknown, false
		}
		var c colour
		for _, v := range f[:3] {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 255 {
				return unknown, false
			}
			c = c<<8 | colour(n)
		}
		if len(f) > 3 && f[3] != "1" {
			return unknown, false
		}
		return c, true
	}
	hex := strings.TrimPrefix(s, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	if len(hex) != 6 {
		return unknown, false
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return unknown, false
	}
	return colour(n), true
}

// declarations calls f for each property of a style attribute.
func declarations(css string, f func(key, value string)) {
	for d := range strings.SplitSeq(css, ";") {
		key, value, ok := strings.Cut(d, ":")
		if !ok {
			continue
		}
		value = strings.ToLower(strings.TrimSpace(value))
		value = strings.TrimSpace(strings.TrimSuffix(value, "!important"))
		f(strings.ToLower(strings.TrimSpace(key)), value)
	}
}

// css applies a style attribute: what hides text, and what keeps its blanks.
func (st *style) css(css string) {
	clipped, flat := false, false
	declarations(css, func(key, v string) {
		switch key {
		case "display":
			st.hidden = st.hidden || v == "none"
		case "visibility":
			switch v {
			case "hidden", "collapse":
				st.unseen = true
			case "visible", "initial":
				st.unseen = false
			}
		case "opacity":
			if n, ok := number(v); ok && n == 0 {
				st.hidden = true
			}
		case "font-size":
			st.fontSize(v)
		case "font":
			for f := range strings.FieldsSeq(v) {
				if size, _, _ := strings.Cut(f, "/"); size == "0" || size != "" && (size[0] >= '0' && size[0] <= '9' || size[0] == '.') && strings.Trim(size, "0123456789.") != "" {
					st.fontSize(size)
				}
			}
		case "color":
			switch c, ok := parseColour(v); {
			case v == "transparent":
				st.hidden = true
			case ok:
				st.fg = c
			case v != "inherit":
				st.fg = unknown
			}
		case "background-color":
			if c, ok := parseColour(v); ok {
				st.bg = c
			} else if v != "transparent" && v != "inherit" && v != "none" {
				st.bg = unknown
			}
		case "background":
			if c, ok := parseColour(v); ok {
				st.bg = c
			} else if v != "transparent" && v != "inherit" && v != "none" {
				st.bg = unknown
			}
		case "background-image":
			if v != "none" {
				st.bg = unknown
			}
		case "overflow":
			clipped = v == "hidden"
		case "max-height", "height", "max-width", "width":
			if n, ok := number(v); ok && n == 0 {
				flat = true
			}
		case "text-indent", "left", "top", "margin-left":
			if n, ok := number(v); ok && n <= -900 {
				st.hidden = true
			}
		case "white-space":
			switch v {
			case "pre", "pre-wrap", "pre-line", "break-spaces":
				st.pre = true
			case "normal", "nowrap":
				st.pre = false
			}
		case "font-weight":
			n, ok := number(v)
			switch {
			case v == "bold", v == "bolder", ok && n >= 600:
				st.attr |= Bold
			case v == "normal", v == "lighter", ok:
				st.attr &^= Bold
			}
		case "font-style":
			if v == "italic" || v == "oblique" {
				st.attr |= Italic
			} else if v == "normal" {
				st.attr &^= Italic
			}
		case "text-decoration", "text-decoration-line":
			if strings.Contains(v, "line-through") {
				st.attr |= Strike
			}
		}
	})
	if clipped && flat {
		st.hidden = true
	}
}

// fontSize: a size of nothing is inherited, so that what is inside may have a size again.
func (st *style) fontSize(v string) {
	n, ok := number(v)
	relative := strings.HasSuffix(v, "%") || strings.HasSuffix(v, "em") && !strings.HasSuffix(v, "rem")
	switch {
	case ok && n == 0, ok && strings.HasSuffix(v, "px") && n <= 1:
		st.tiny = true
	case relative, v == "inherit", v == "larger", v == "smaller":
	default:
		st.tiny = false
	}
}

// number reads the number at the start of a value such as "0px".
func number(v string) (float64, bool) {
	end := 0
	for end < len(v) && (v[end] >= '0' && v[end] <= '9' || v[end] == '.' || end == 0 && (v[end] == '-' || v[end] == '+')) {
		end++
	}
	n, err := strconv.ParseFloat(v[:end], 64)
	return n, err == nil
}

// indentation reports whether the style of a blockquote says that it is used to move text to the right.
func indentation(css string) bool {
	plain := false
	declarations(css, func(key, v string) {
		if key == "border" && (v == "none" || strings.HasPrefix(v, "0") || strings.HasPrefix(v, "medium none")) {
			plain = true
		}
		if strings.HasPrefix(key, "border-left") && v != "none" && !strings.HasPrefix(v, "0") {
			plain = false
		}
	})
	return plain
}
