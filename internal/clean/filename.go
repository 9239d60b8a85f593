package clean

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxName = 200 // bytes of a file name
	maxExt  = 20  // bytes of its ending, the dot included
	madeUp  = "attachment"
)

// Filename makes a name that someone else chose safe to create in a folder on any system: only its last element, no
// separators or characters that Windows forbids, no leading or trailing dots and blanks, no device names, at most 200
// bytes with the ending kept. Letters of all scripts stay. A name of which nothing is left becomes "attachment".
func Filename(s string) string {
	s = norm.NFC.String(Line(s))
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' })
	name := ""
	for i := len(parts) - 1; i >= 0 && name == ""; i-- {
		name = element(parts[i])
	}
	if name == "" {
		return madeUp
	}
	return name
}

func element(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	s = Line(strings.TrimLeft(strings.TrimRight(s, " ."), " ."))
	if s == "" {
		return ""
	}
	s = shorten(s, maxName)
	if device(s) {
		s = "_" + s
	}
	return s
}

// shorten cuts a name before its ending to at most max bytes.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	stem, ext := split(s)
	end := max - len(ext)
	for end > 0 && !utf8.RuneStart(stem[end]) {
		end--
	}
	return Line(strings.TrimRight(stem[:end], " .")) + ext
}

// split cuts a name into its stem and its ending with the dot, such as ".pdf" or ".tar.gz".
func split(s string) (stem, ext string) {
	ext = path.Ext(s)
	if ext == s || len(ext) < 2 || len(ext) > maxExt || strings.ContainsRune(ext, ' ') {
		return s, ""
	}
	stem = s[:len(s)-len(ext)]
	if strings.EqualFold(path.Ext(stem), ".tar") && len(stem) > len(".tar") {
		ext = stem[len(stem)-len(".tar"):] + ext
		stem = stem[:len(stem)-len(".tar")]
	}
	return stem, ext
}

// device reports whether Windows takes the name for a device, whatever its ending.
func device(s string) bool {
	base, _, _ := strings.Cut(s, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if rest, ok := strings.CutPrefix(base, "COM"); ok {
		base = rest
	} else if base, ok = strings.CutPrefix(base, "LPT"); !ok {
		return false
	}
	switch base {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return true
	}
	return false
}

// FoldFilename returns a key that is equal for names which a file system without case, or one that composes letters,
// takes for the same file.
func FoldFilename(name string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

// UniqueFilename returns Filename(name), with a number before its ending when exists says that the name is taken. exists
// should compare by FoldFilename, as Names does; it is asked about one candidate at a time.
func UniqueFilename(exists func(name string) bool, name string) string {
	name = Filename(name)
	if !exists(name) {
		return name
	}
	stem, ext := split(name)
	for i := 2; ; i++ {
		number := " (" + strconv.Itoa(i) + ")"
		next := shorten(stem, maxName-len(number)-len(ext)) + number + ext
		if !exists(next) {
			return next
		}
	}
}

// Names is a set of file names of one folder, compared without case. The zero value is an empty set. It is not safe for
// concurrent use.
type Names struct{ seen map[string]bool }

// Add marks a name as taken, for example by a file that is there already.
func (n *Names) Add(name string) {
	if n.seen == nil {
		n.seen = make(map[string]bool)
	}
	n.seen[FoldFilename(name)] = true
}

// Has reports whether the name is taken.
func (n *Names) Has(name string) bool { return n.seen[FoldFilename(name)] }

// Unique cleans a name, makes it different from all others in the set, adds it and returns it.
func (n *Names) Unique(name string) string {
	name = UniqueFilename(n.Has, name)
	n.Add(name)
	return name
}
