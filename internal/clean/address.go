package clean

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

const (
	maxNameBytes = 200
	maxAddrBytes = 320
)

// Address returns how a mail address is shown: row for a narrow column, full where there is room. The row is the name,
// unless the name could pass for something else (another address, a web address, a mixture of scripts, text turned
// round): then it is the address itself. full always ends in the address.
func Address(name, email string) (row, full string) {
	addr := Email(email)
	shown := strings.Join(strings.Fields(LineMax(name, maxNameBytes)), " ")
	for len(shown) >= 2 && (shown[0] == '"' || shown[0] == '\'') && shown[len(shown)-1] == shown[0] {
		shown = strings.TrimSpace(shown[1 : len(shown)-1])
	}
	switch {
	case addr == "" && shown == "":
		return "", ""
	case addr == "":
		return shown, shown
	case shown == "" || strings.EqualFold(shown, addr):
		return addr, addr
	}
	quoted := shown
	if strings.ContainsAny(shown, `<>@"\`) || strings.ContainsAny(shown, "＜＞＠﹫") {
		quoted = `"` + strings.Map(func(r rune) rune {
			switch r {
			case '<', '＜':
				return '('
			case '>', '＞':
				return ')'
			case '"', '\\':
				return '\''
			}
			return r
		}, shown) + `"`
	}
	full = quoted + " <" + addr + ">"
	if strings.ContainsFunc(name, bidi) || misleading(shown) {
		return addr, full
	}
	return shown, full
}

// Email returns an address for display: one line, without blanks, its domain as Domain gives it.
func Email(email string) string {
	email = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(email), "<"), ">")
	email = strings.ReplaceAll(LineMax(email, maxAddrBytes), " ", "")
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email
	}
	return email[:at+1] + Domain(email[at+1:])
}

// misleading reports whether a display name may be taken for something other than a name.
func misleading(name string) bool {
	if strings.ContainsAny(name, "@<>＠﹫＜＞") || strings.Contains(name, "://") {
		return true
	}
	letters := false
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		letters = true
		if mixed(word) {
			return true
		}
	}
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, "www.") || !letters && !strings.ContainsFunc(name, unicode.IsDigit) && !strings.ContainsFunc(name, unicode.IsSymbol) {
		return true
	}
	return false
}

func bidi(r rune) bool {
	return r == 0x61c || r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Domain returns the name of a host for display, in lower case. A label of an international name is shown in its letters
// when they are of one script that cannot be taken for another, else in its xn-- form.
func Domain(d string) string {
	d = strings.ReplaceAll(LineMax(d, 255), " ", "")
	lower := strings.ToLower(d)
	if plain(lower, false) == len(lower) && !strings.Contains(lower, "xn--") {
		return lower
	}
	ascii, err := idna.Lookup.ToASCII(d)
	if err != nil {
		if ascii, err = idna.Punycode.ToASCII(lower); err != nil {
			return lower
		}
	}
	labels := strings.Split(ascii, ".")
	latinZone := plain(decode(labels[len(labels)-1]), false) == len(decode(labels[len(labels)-1]))
	for i, l := range labels {
		if u := decode(l); u != l && showable(u, latinZone) {
			labels[i] = u
		}
	}
	return strings.Join(labels, ".")
}

// decode returns the letters of an xn-- label; a label that is broken, or written in a way that no name is, stays.
func decode(label string) string {
	if !strings.HasPrefix(label, "xn--") {
		return label
	}
	u, err := idna.Lookup.ToUnicode(label)
	if err != nil || u != Line(u) {
		return label
	}
	if back, err := idna.Lookup.ToASCII(u); err != nil || back != label {
		return label
	}
	return u
}

// showable reports whether the letters of a label may be shown. latinZone: the top domain is written in ASCII.
func showable(u string, latinZone bool) bool {
	if mixed(u) || strings.ContainsFunc(u, strange) {
		return false
	}
	return !latinZone || strings.ContainsFunc(u, func(r rune) bool { return r > 0x7f && !lookalike(r) })
}

// strange reports whether r is no letter in common use in names of hosts: signs, and Latin letters that are easily
// overlooked.
func strange(r rune) bool {
	switch {
	case r <= 0x7f:
		return false
	case r == 'þ', r == 'ð', r == 0x131, r == 0x138, r == 0x140, r == 0x149, r == 0x17f:
		return true
	case unicode.Is(unicode.Latin, r):
		return r > 0x17f
	case unicode.Is(unicode.Common, r):
		return r != 0x30fb && r != 0x30fc
	}
	return !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// lookalike reports whether a letter looks like a Latin one. Words made of nothing else pass for Latin words.
func lookalike(r rune) bool {
	return strings.ContainsRune("асԁеһіјӏорԛѕԝхуъьҽпгѵѡкмтвнАВЕЅІЈКМНОРСТХУԌԚԜαορνικυτωηεχγβΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհցզյլ", r)
}

var scripts = []struct {
	table *unicode.RangeTable
	group uint8 // scripts of one group are written together
}{
	{unicode.Latin, 1},
	{unicode.Han, 2},
	{unicode.Hiragana, 2},
	{unicode.Katakana, 2},
	{unicode.Bopomofo, 2},
	{unicode.Hangul, 2},
	{unicode.Cyrillic, 3},
	{unicode.Greek, 4},
	{unicode.Armenian, 5},
	{unicode.Hebrew, 6},
	{unicode.Arabic, 7},
	{unicode.Devanagari, 8},
	{unicode.Thai, 9},
	{unicode.Georgian, 10},
	{unicode.Cherokee, 11},
	{unicode.Coptic, 12},
	{unicode.Canadian_Aboriginal, 13},
	{unicode.Lisu, 14},
}

// mixed reports whether a word holds letters of scripts that are not written together. East Asian and Latin letters are.
func mixed(word string) bool {
	seen := uint8(0)
	for _, r := range word {
		g := uint8(0)
		switch {
		case r <= 0x7f:
			if unicode.IsLetter(r) {
				g = 1
			}
		case unicode.Is(unicode.Common, r), unicode.Is(unicode.Inherited, r):
		default:
			g = 255
			for _, s := range scripts {
				if unicode.Is(s.table, r) {
					g = s.group
					break
				}
			}
		}
		switch {
		case g == 0 || g == seen:
		case seen == 0:
			seen = g
		case seen+g == 3: // Latin and East Asian
		default:
			return true
		}
	}
	return false
}
