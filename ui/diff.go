package ui

import (
	"regexp"
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/internal/bodytext"
)

// What a line of a patch is.
const (
	diffAdded   = '+'
	diffRemoved = '-'
	diffHunk    = '@'
	diffFile    = 'f' // names the file and what is done to it
)

var hunkLine = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// diffMarks finds the patches in a text: it says for each line what it is, 0 for all that belongs to none. nil: there is no
// patch. A line counts only when a hunk says that it belongs to it, so that a list with dashes stays a list.
func diffMarks(lines []bodytext.Line) []byte {
	var marks []byte
	for i := 0; i < len(lines); i++ {
		m := hunkLine.FindStringSubmatch(lines[i].Text)
		if m == nil || lines[i].Cont || lines[i].Quoted {
			continue
		}
		if marks == nil {
			marks = make([]byte, len(lines))
		}
		marks[i] = diffHunk
		for j := i - 1; j >= 0 && marks[j] == 0 && fileLine(lines[j]); j-- {
			marks[j] = diffFile
		}
		i = markHunk(lines, marks, i+1, hunkCount(m[1]), hunkCount(m[2])) - 1
	}
	return marks
}

func hunkCount(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// markHunk marks the lines of a hunk and gives the first line behind it.
func markHunk(lines []bodytext.Line, marks []byte, i, removed, added int) int {
	for ; i < len(lines) && !lines[i].Quoted; i++ {
		if lines[i].Cont {
			marks[i] = marks[i-1]
			continue
		}
		if removed <= 0 && added <= 0 {
			break
		}
		switch text := lines[i].Text; {
		case strings.HasPrefix(text, "+"):
			marks[i] = diffAdded
			added--
		case strings.HasPrefix(text, "-"):
			marks[i] = diffRemoved
			removed--
		case text == "" || text[0] == ' ':
			removed, added = removed-1, added-1
		case text[0] != '\\':
			return i
		}
	}
	return i
}

// fileLine reports whether a line stands between "diff" and the first hunk of a file.
func fileLine(l bodytext.Line) bool {
	if l.Quoted {
		return false
	}
	for _, p := range []string{"diff ", "index ", "--- ", "+++ ", "new file ", "deleted file ", "old mode ", "new mode ", "similarity ", "rename "} {
		if strings.HasPrefix(l.Text, p) {
			return true
		}
	}
	return l.Cont
}

// diffStyle is the colour of a line of a patch; its first character says the same.
func diffStyle(t *Theme, mark byte) (Style, bool) {
	switch mark {
	case diffAdded:
		return t.Good, true
	case diffRemoved:
		return t.Danger, true
	case diffHunk:
		return t.Accent, true
	case diffFile:
		return t.Bold, true
	}
	return Style{}, false
}
