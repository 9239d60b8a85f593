package mailparse

import (
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// IsMaildir reports whether the folder is a Maildir: it holds the folders cur and new.
func IsMaildir(dir string) bool {
	for _, name := range []string{"cur", "new"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

// WalkMaildir calls fn for each message file of one Maildir, those in cur first, in no particular order.
// Folders below it are not entered, and tmp is left alone. Memory does not grow with the number of files.
// An error of fn ends the walk and is returned.
func WalkMaildir(dir string, fn func(path string, flags Flags) error) error {
	for _, sub := range []string{"cur", "new"} {
		if err := walkMaildirFolder(filepath.Join(dir, sub), sub, fn); err != nil {
			return err
		}
	}
	return nil
}

func walkMaildirFolder(dir, sub string, fn func(string, Flags) error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		const batch = 1000
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			flags := Flags{Known: true}
			if sub == "cur" {
				flags = MaildirFlags(e.Name())
			}
			if err := fn(filepath.Join(dir, e.Name()), flags); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// MaildirFlags reads the flags at the end of a file name, after ":2," or, as on file systems without
// colons, ";2," or "!2,".
func MaildirFlags(name string) Flags {
	f := Flags{Known: true}
	i := strings.LastIndex(name, "2,")
	if i < 1 || !strings.ContainsRune(":;!", rune(name[i-1])) {
		return f
	}
	for _, c := range name[i+2:] {
		switch c {
		case 'S':
			f.Seen = true
		case 'R':
			f.Answered = true
		case 'F':
			f.Flagged = true
		case 'D':
			f.Draft = true
		case 'T':
			f.Deleted = true
		}
	}
	return f
}

// MaildirFolder turns the path of a Maildir below its root into the name of the folder, parts separated
// by "/": ".Lists.Go" of Maildir++ and "Lists/Go" both give "Lists/Go". Names in the modified UTF-7 of
// IMAP are decoded. The root gives "".
func MaildirFolder(rel string) string {
	rel = filepath.ToSlash(filepath.Clean(rel))
	if rel == "." || rel == "" {
		return ""
	}
	var parts []string
	for _, p := range strings.Split(rel, "/") {
		if plus, ok := strings.CutPrefix(p, "."); ok && plus != "" {
			parts = append(parts, strings.Split(plus, ".")...)
			continue
		}
		parts = append(parts, p)
	}
	for i := range parts {
		parts[i] = decodeIMAPName(parts[i])
	}
	if len(parts) > 0 && strings.EqualFold(parts[0], "INBOX") && len(parts) > 1 {
		parts = parts[1:]
	}
	return strings.Join(parts, "/")
}

// decodeIMAPName reads modified UTF-7 (RFC 3501, section 5.1.3); what is wrong stays as it is.
func decodeIMAPName(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var out strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			break
		}
		out.WriteString(s[:i])
		s = s[i:]
		end := strings.IndexByte(s, '-')
		if end < 0 {
			break
		}
		if end == 1 {
			out.WriteByte('&')
			s = s[2:]
			continue
		}
		raw, err := base64.RawStdEncoding.DecodeString(strings.ReplaceAll(s[1:end], ",", "/"))
		if err != nil || len(raw)%2 != 0 {
			out.WriteString(s[:end+1])
		} else {
			out.WriteString(decodeUTF16(raw, "utf-16be"))
		}
		s = s[end+1:]
	}
	out.WriteString(s)
	return out.String()
}
