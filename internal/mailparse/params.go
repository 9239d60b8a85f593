package mailparse

import (
	"sort"
	"strconv"
	"strings"
)

// parsedValue is a header value with parameters, such as Content-Type.
type parsedValue struct {
	value  string // lower case
	params []param
}

type param struct{ name, value string } // name in lower case; value decoded

func (v parsedValue) get(name string) string {
	for _, p := range v.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// parseValue reads a value with parameters leniently: unquoted values may hold blanks, "=", raw 8-bit
// text and encoded words; RFC 2231 continuations and charsets are put together. It never fails.
func parseValue(s, charset string) parsedValue {
	s = rawToUTF8(s, charset)
	head, rest := s, ""
	if i := strings.IndexByte(s, ';'); i >= 0 {
		head, rest = s[:i], s[i+1:]
	}
	if i := strings.IndexByte(head, '('); i >= 0 {
		head = head[:i]
	}
	v := parsedValue{value: strings.ToLower(strings.Trim(head, " \t\"'"))}
	// "type/subtype name=x" without a semicolon.
	if i := strings.IndexAny(v.value, " \t"); i >= 0 {
		if strings.Contains(v.value[i:], "=") {
			rest = strings.TrimSpace(head)[i+1:] + ";" + rest
		}
		v.value = v.value[:i]
	}
	order, segments := splitParams(rest)
	for _, base := range order {
		name, extended := strings.CutSuffix(base, "*")
		if extended {
			v.params = append(v.params, param{name, joinSegments(segments[base])})
		} else if _, better := segments[name+"*"]; !better {
			v.params = append(v.params, param{name, decodeWords(segments[base][0].value)})
		}
	}
	return v
}

const maxParams = 2000

// segment is one piece of a parameter that RFC 2231 cuts into several, or the whole of one.
type segment struct {
	n       int
	value   string
	encoded bool
}

// splitParams reads the parameters; the names of those in the manner of RFC 2231 end in "*".
// Both order and the pieces of a name are as they stand.
func splitParams(rest string) (order []string, segments map[string][]segment) {
	segments = map[string][]segment{}
	for n := 0; rest != "" && n < maxParams; n++ {
		var name, value string
		name, value, rest = nextParam(rest)
		if name == "" {
			continue
		}
		name = strings.ToLower(name)
		base, index, encoded := name, 0, false
		if strings.HasSuffix(base, "*") {
			base, encoded = base[:len(base)-1], true
		}
		if i := strings.IndexByte(base, '*'); i >= 0 {
			k, err := strconv.Atoi(base[i+1:])
			if err != nil || k < 0 || k > maxParams {
				continue
			}
			base, index = base[:i], k
			base += "*" // continuations and single values are different parameters
		} else if encoded {
			base += "*"
		}
		if _, seen := segments[base]; !seen {
			order = append(order, base)
		}
		segments[base] = append(segments[base], segment{index, value, encoded})
	}
	return order, segments
}

// joinSegments puts the pieces of a value together, in their order, and decodes it.
func joinSegments(list []segment) string {
	sort.SliceStable(list, func(i, j int) bool { return list[i].n < list[j].n })
	var raw []byte
	label, anyEncoded := "", false
	last := -1
	for _, seg := range list {
		if seg.n == last {
			continue // a repeat of the same piece
		}
		last = seg.n
		text := seg.value
		if seg.encoded {
			if !anyEncoded {
				if parts := strings.SplitN(text, "'", 3); len(parts) == 3 {
					label, text = parts[0], parts[2]
				}
			}
			anyEncoded = true
			raw = append(raw, unpercent(text)...)
			continue
		}
		raw = append(raw, text...)
	}
	text := decodeText(raw, label)
	if !anyEncoded {
		text = decodeWords(text)
	}
	return text
}

// nextParam takes one "name=value" off s, up to and with the next semicolon.
func nextParam(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t\r\n;")
	i := strings.IndexAny(s, "=;")
	if i < 0 || s[i] == ';' {
		if i < 0 {
			return "", "", ""
		}
		return "", "", s[i+1:]
	}
	name = strings.TrimSpace(s[:i])
	s = strings.TrimLeft(s[i+1:], " \t\r\n")
	if !strings.HasPrefix(s, `"`) {
		i = strings.IndexByte(s, ';')
		if i < 0 {
			return name, strings.TrimSpace(s), ""
		}
		return name, strings.TrimSpace(s[:i]), s[i+1:]
	}
	var b strings.Builder
	for i = 1; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
			b.WriteByte(s[i])
			continue
		}
		if c == '"' {
			break
		}
		b.WriteByte(c)
	}
	if i < len(s) {
		s = s[i+1:]
	} else {
		s = ""
	}
	if i = strings.IndexByte(s, ';'); i >= 0 {
		s = s[i+1:]
	} else {
		s = ""
	}
	return name, b.String(), s
}

func unpercent(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return out
}
