package cells

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Range is a part of a string, in bytes.
type Range struct{ Start, End int }

// Wrap breaks one line of text into lines of at most width cells: at blanks, which are dropped at the break, and between
// East Asian characters. A longer word is cut at the edge, never inside a grapheme cluster; only a cluster that is wider
// than the whole line is longer than width. Leading blanks stay on the first line. The result has at least one line.
func Wrap(s string, width int) []string {
	ranges := WrapRanges(s, width, width)
	out := make([]string, len(ranges))
	for i, r := range ranges {
		out[i] = s[r.Start:r.End]
	}
	return out
}

// WrapRanges is Wrap with a width for the first line and one for the rest, and tells where the lines stand in s. The
// ranges are in order and do not overlap; only blanks lie between them.
func WrapRanges(s string, first, rest int) []Range {
	first, rest = max(first, 1), max(rest, 1)
	if len(s) <= first && printable(s) {
		return []Range{{0, len(strings.TrimRight(s, " "))}}
	}
	var (
		out     []Range
		limit   = first
		start   = 0     // of the current line
		w       = 0     // cells from start to pos
		brk     = -1    // where the line may end: before the blanks of the last gap
		resume  = 0     // where the next line would begin then
		resumeW = 0     // cells from start to resume
		word    = false // the line holds something other than blanks
		prev    rune    // first code point of the cluster before
	)
	emit := func(end, from int) {
		for end > start && s[end-1] == ' ' {
			end--
		}
		out = append(out, Range{start, end})
		start, limit, brk = from, rest, -1
	}
	for pos := 0; pos < len(s); {
		c, cw := next(s[pos:])
		if c == "" {
			break
		}
		if c == " " {
			if word && (pos == 0 || s[pos-1] != ' ') {
				brk = pos
			}
			w++
			pos++
			resume, resumeW = pos, w
			prev = ' '
			continue
		}
		r, _ := utf8.DecodeRuneInString(c)
		if word && prev != ' ' && breakable(prev, r) {
			brk, resume, resumeW = pos, pos, w
		}
		if w+cw > limit && pos > start {
			switch {
			case brk > start:
				from, fromW := resume, resumeW
				emit(brk, from)
				w -= fromW
			case !word && start == 0 && len(out) == 0 && cw <= rest && w < limit:
				// Only indentation so far: the first cluster of a word does not fit beside it.
				emit(pos, pos)
				w = 0
			default:
				emit(pos, pos)
				w = 0
			}
			// What was carried over may itself be too long, after a narrower first line.
			for w+cw > limit && pos > start {
				end, lw := start, 0
				for end < pos {
					cc, ccw := next(s[end:])
					if lw+ccw > limit && end > start {
						break
					}
					lw += ccw
					end += len(cc)
				}
				emit(end, end)
				w -= lw
			}
		}
		w += cw
		pos += len(c)
		word = true
		prev = r
	}
	if start < len(s) || len(out) == 0 {
		end := len(s)
		for end > start && s[end-1] == ' ' {
			end--
		}
		if end > start || len(out) == 0 {
			out = append(out, Range{start, end})
		}
	}
	return out
}

// breakable reports whether a line may break between two clusters without a blank, given their first code points.
func breakable(a, b rune) bool {
	if a < 0x1100 && b < 0x1100 {
		return false
	}
	if !ideographic(a) && !ideographic(b) {
		return false
	}
	return !strings.ContainsRune(notFirst, b) && !strings.ContainsRune(notLast, a)
}

// Characters that must not begin or end a line in East Asian text.
const (
	notFirst = ",.!?:;)]}%'\"’”»…、。，．：；！？）］｝〕〉》」』】〙〗〟ー々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ・‐゠–〜～％"
	notLast  = "([{'\"‘“«（［｛〔〈《「『【〘〖〝￥＄"
)

func ideographic(r rune) bool {
	switch {
	case r < 0x2e80:
		return false
	case r < 0xa000, r >= 0xf900 && r < 0xfb00, r >= 0xfe30 && r < 0xfe50, r >= 0xff00 && r < 0xfff0, r >= 0x20000 && r < 0x40000:
		return true
	}
	return unicode.Is(unicode.Hangul, r)
}
