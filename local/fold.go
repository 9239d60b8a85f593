package local

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold maps text to the form in which it is compared: without case, accents and invisible characters.
func fold(s string) string {
	if ascii := isASCII(s); ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case droppedMark(r), unicode.Is(unicode.Cf, r), r >= 0xfe00 && r <= 0xfe0f:
		case r < 0x80:
			b.WriteRune(unicode.ToLower(r))
		default:
			if to, ok := foldTable[r]; ok {
				b.WriteString(to)
			} else {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	return norm.NFC.String(b.String())
}

// foldTable holds letters that no decomposition takes apart.
var foldTable = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ı': "i", 'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l", 'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d",
	'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'þ': "th", 'Þ': "th", 'ħ': "h", 'Ħ': "h", 'ŧ': "t", 'Ŧ': "t", 'ς': "σ",
}

// droppedMark reports combining marks that a person leaves out when typing: Latin, Greek and Cyrillic
// accents, Hebrew and Arabic vowel points. Marks that make another letter, as in Japanese, are kept.
func droppedMark(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x591 && r <= 0x5c7 && unicode.Is(unicode.Mn, r) ||
		r >= 0x64b && r <= 0x65f || r == 0x670
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// runKind says how a run of characters is turned into search tokens.
type runKind int

const (
	runNone   runKind = iota
	runWord           // one token
	runPairs          // scripts without blanks between words: overlapping pairs
	runSymbol         // each character a token
)

func kindOf(r rune) runKind {
	switch {
	case r < 0x80:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return runWord
		}
		return runNone
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar), r == 'ー', r == '々':
		return runPairs
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.In(r, unicode.Mn, unicode.Mc, unicode.Co):
		return runWord
	case unicode.Is(unicode.So, r), r >= 0x1f3fb && r <= 0x1f3ff:
		return runSymbol
	}
	return runNone
}

type token struct {
	text  string
	exact bool // must match whole even at the end of a query
}

// tokens splits folded text. With query set, the last run keeps no single last character, so that a
// piece of a longer run is found.
func tokens(folded string, query bool) []token {
	var out []token
	runes := []rune(folded)
	for i := 0; i < len(runes); {
		kind := kindOf(runes[i])
		j := i + 1
		switch kind {
		case runNone:
			// C++ and C# are words of their own.
			if c := runes[i]; (c == '+' || c == '#') && i > 0 && (kindOf(runes[i-1]) == runWord || len(out) > 0 && out[len(out)-1].exact && runes[i-1] == c) {
				out = append(out, token{text: fmt.Sprintf("xsym%x", c), exact: true})
			}
		case runWord:
			for j < len(runes) && kindOf(runes[j]) == runWord {
				j++
			}
			out = append(out, token{text: string(runes[i:j])})
		case runSymbol:
			out = append(out, token{text: fmt.Sprintf("xsym%x", runes[i]), exact: true})
		case runPairs:
			for j < len(runes) && kindOf(runes[j]) == runPairs {
				j++
			}
			for k := i; k+1 < j; k++ {
				out = append(out, token{text: string(runes[k : k+2]), exact: true})
			}
			if j-i == 1 || !query || j < len(runes) {
				out = append(out, token{text: string(runes[j-1 : j])})
			}
		}
		i = j
	}
	return out
}

// indexText gives the words of a text as the search table stores them.
func indexText(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		for _, t := range tokens(fold(p), false) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// searchPhrase is words that follow each other.
type searchPhrase struct {
	words []string
	open  bool // the last word may go on
}

// String gives the phrase as the search index reads it.
func (p searchPhrase) String() string {
	s := `"` + strings.Join(p.words, " ") + `"`
	if p.open {
		s += "*"
	}
	return s
}

// phrase reads a piece of a query. It has no words when nothing in it can be searched for. A whole phrase must end where
// its last word ends; otherwise the last word may go on.
func phrase(s string, whole bool) searchPhrase {
	ts := tokens(fold(s), true)
	if len(ts) == 0 {
		return searchPhrase{}
	}
	var p searchPhrase
	for _, t := range ts {
		p.words = append(p.words, t.text)
	}
	last := ts[len(ts)-1]
	single := kindOf([]rune(last.text)[0]) == runPairs && len([]rune(last.text)) == 1
	p.open = !last.exact && (!whole || single)
	return p
}
