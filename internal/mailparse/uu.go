package mailparse

import "bytes"

// uuFile is a uuencoded file within a text.
type uuFile struct {
	name string
	data []byte
}

// maxUUFiles bounds how many files one text may hold.
const maxUUFiles = 100

// splitUU takes uuencoded files out of a plain text. Only what is well-formed from its "begin" line to its
// "end" line is a file: a person may write about such lines.
func splitUU(text []byte) (rest []byte, files []uuFile) {
	if !bytes.Contains(text, []byte("begin ")) {
		return text, nil
	}
	kept := 0
	for at := 0; at < len(text) && len(files) < maxUUFiles; {
		line, _ := cutLine(text[at:])
		if bytes.HasPrefix(line, []byte("begin ")) {
			if f, length, ok := uuFileAt(text[at:]); ok {
				rest = append(rest, text[kept:at]...)
				at += length
				kept = at
				files = append(files, f)
				continue
			}
		}
		at += len(line)
	}
	if files == nil {
		return text, nil
	}
	return append(rest, text[kept:]...), files
}

// uuFileAt reads the file at the beginning of b, and returns how many bytes it takes there.
func uuFileAt(b []byte) (f uuFile, length int, ok bool) {
	line, rest := cutLine(b)
	words := bytes.SplitN(bytes.TrimRight(line, "\r\n"), []byte(" "), 3)
	if len(words) != 3 || !isOctal(words[1]) {
		return f, 0, false
	}
	f.name = string(bytes.TrimSpace(words[2]))
	last := false // the line of no bytes was there
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		line = bytes.TrimRight(line, "\r\n")
		if last || len(line) == 0 {
			if string(line) == "end" && last {
				return f, len(b) - len(rest), f.name != "" && len(f.data) > 0
			}
			if last {
				return f, 0, false
			}
		}
		if string(line) == "end" && len(f.data) > 0 {
			return f, len(b) - len(rest), f.name != ""
		}
		if len(line) == 0 || line[0] == '`' || line[0] == ' ' {
			last = true // a line of one blank may have lost it
			continue
		}
		n := int(line[0]-' ') & 63
		want := (n + 2) / 3 * 4
		// Blanks at the end may be gone, and some programs add a checksum.
		if line[0] > '`' || line[0] < ' ' || len(line)-1 > want+1 || len(line)-1 < want/2 {
			return f, 0, false
		}
		for _, c := range line[1:] {
			if c < ' ' || c > '`' {
				return f, 0, false
			}
		}
		f.data = appendUULine(f.data, line)
	}
	return f, 0, false
}

// attachUU makes attachments of the files in a plain text and returns the text around them.
func (c *collector) attachUU(p *part, text []byte) []byte {
	rest, files := splitUU(text)
	for _, f := range files {
		_ = c.attach(&part{ // it cannot fail
			ctype:       parsedValue{value: "application/octet-stream"},
			disposition: parsedValue{value: "attachment"},
			parent:      p.parent,
			data:        f.data,
		}, f.name)
	}
	return rest
}
