package mailparse

import "strings"

// ParseAddressList reads the addresses of a header value, groups included. It never fails: what holds no
// address becomes a name without Email, a bare word such as "root" an Email without host.
func ParseAddressList(s string) []Address { return parseAddresses(s, "") }

func parseAddresses(s, charset string) []Address {
	s = rawToUTF8(s, charset)
	var out []Address
	for _, piece := range splitAddresses(s) {
		if a := parseAddress(piece); a != (Address{}) {
			out = append(out, a)
		}
	}
	return out
}

// splitAddresses cuts at the commas and semicolons between addresses and drops the names of groups.
func splitAddresses(s string) []string {
	var (
		out    []string
		start  int
		angle  bool
		at     bool // an @ was seen in this piece, outside quotes and comments
		inside int  // where the angle address began
	)
	cut := func(i int) {
		if piece := strings.TrimSpace(s[start:i]); piece != "" {
			out = append(out, piece)
		}
		start, angle, at = i+1, false, false
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if end := closingQuote(s, i); end > 0 {
				i = end
			}
		case '(':
			if end := closingComment(s, i); end > 0 {
				i = end
			}
		case '=':
			if !angle && strings.HasPrefix(s[i:], "=?") {
				if _, n := scanWord(s[i:]); n > 0 && !strings.ContainsAny(s[i:i+n], " \t") {
					i += n - 1
				}
			}
		case '<':
			angle, inside = true, i
		case '>':
			angle = false
		case '@':
			at = true
		case ':':
			if !angle && !at {
				start = i + 1
			}
		case ',', ';':
			// A comma within <…> belongs to a source route, or a ">" is missing.
			if angle && s[i] == ',' && strings.HasPrefix(strings.TrimLeft(s[inside+1:], " "), "@") {
				continue
			}
			cut(i)
		}
	}
	cut(len(s))
	return out
}

// closingQuote returns the index of the quote that ends the string at i, or 0 when it never ends.
func closingQuote(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return 0
}

// maxComment bounds a comment, so that a field of open parentheses costs no quadratic time.
const maxComment = 1000

// closingComment returns the index of the parenthesis that ends the comment at i, or 0.
func closingComment(s string, i int) int {
	depth := 0
	for end := min(len(s), i+maxComment); i < end; i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

func parseAddress(s string) Address {
	var name, comment strings.Builder
	email, hasAngle := "", false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			end := closingQuote(s, i)
			if end == 0 {
				continue
			}
			// The local part may be quoted: "a b"@example.com.
			if !hasAngle && end+1 < len(s) && s[end+1] == '@' {
				rest := s[i:]
				if j := strings.IndexAny(rest[end-i+1:], " \t(<"); j >= 0 {
					rest = rest[:end-i+1+j]
				}
				name.WriteString(rest)
				i += len(rest) - 1
				continue
			}
			name.WriteString(unquote(s[i+1 : end]))
			i = end
		case '(':
			end := closingComment(s, i)
			if end == 0 {
				name.WriteByte(c)
				continue
			}
			if comment.Len() > 0 {
				comment.WriteByte(' ')
			}
			comment.WriteString(unquote(s[i+1 : end]))
			i = end
		case '<':
			if hasAngle {
				continue
			}
			rest := s[i+1:]
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				end = len(rest)
			}
			email, hasAngle = rest[:end], true
			i += end + 1
		default:
			name.WriteByte(c)
		}
	}
	a := Address{Name: cleanName(name.String())}
	if hasAngle {
		a.Email = cleanEmail(email)
	} else {
		a = bareAddress(name.String())
	}
	if a.Name == "" {
		a.Name = cleanName(comment.String())
	}
	if strings.EqualFold(a.Name, a.Email) {
		a.Name = ""
	}
	return a
}

// bareAddress reads an address without angle brackets, which may have its name beside it.
func bareAddress(s string) Address {
	text := cleanName(s)
	if strings.HasPrefix(text, `"`) && strings.Contains(text, `"@`) {
		return Address{Email: text}
	}
	words := strings.Fields(text)
	if len(words) == 1 {
		return Address{Email: text}
	}
	for i, w := range words {
		if strings.Contains(strings.Trim(w, "@"), "@") {
			rest := append(append([]string{}, words[:i]...), words[i+1:]...)
			return Address{Name: strings.Join(rest, " "), Email: cleanEmail(w)}
		}
	}
	return Address{Name: text}
}

func cleanEmail(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "@") {
		if i := strings.IndexByte(s, ':'); i >= 0 {
			s = s[i+1:] // a source route
		}
	}
	if len(s) > 7 && strings.EqualFold(s[:7], "mailto:") {
		s = s[7:]
	}
	if strings.ContainsAny(s, " \t") && !strings.HasPrefix(s, `"`) {
		for _, w := range strings.Fields(s) {
			if strings.Contains(w, "@") {
				s = w
				break
			}
		}
		s = strings.Join(strings.Fields(s), "")
	}
	return decodeWords(strings.Trim(s, "<>,;"))
}

func cleanName(s string) string {
	s = strings.TrimSpace(decodeWords(strings.TrimSpace(s)))
	if n := len(s); n > 2 && (s[0] == '\'' && s[n-1] == '\'' || s[0] == '"' && s[n-1] == '"') {
		s = strings.TrimSpace(s[1 : n-1])
	}
	return s
}

func unquote(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
