package clean

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxLink  = 8 << 10 // bytes of a link that can be opened
	maxShown = 200     // bytes shown of one that cannot
)

// Link returns what will really be opened for a link in a message: printable ASCII, scheme and host in lower case, the
// host in its xn-- form, no user name before it. scheme is "http", "https" or "mailto" when openable; everything else
// (javascript, data, file, relative, broken) is never opened and target only says what was there.
func Link(href string) (target, scheme string, openable bool) {
	s := trimLink(href)
	scheme, rest := cutScheme(s)
	switch scheme {
	case "http", "https":
		if target, ok := webLink(scheme, rest); ok {
			return target, scheme, true
		}
	case "mailto":
		if target, ok := mailLink(rest); ok {
			return target, scheme, true
		}
	case "":
		// What browsers would resolve against a page, but people mean as an address.
		if strings.HasPrefix(s, "//") {
			if target, ok := webLink("https", s); ok {
				return target, "https", true
			}
		} else if len(s) > 4 && strings.EqualFold(s[:4], "www.") {
			if target, ok := webLink("http", s); ok {
				return target, "http", true
			}
		}
	}
	return LineMax(s, maxShown), scheme, false
}

// trimLink drops what browsers drop: blanks and controls around the link, tabs and line ends inside.
func trimLink(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' || r == 0xa0 || r == 0xfeff })
	if !strings.ContainsAny(s, "\t\r\n") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\r' || r == '\n' {
			return -1
		}
		return r
	}, s)
}

func cutScheme(s string) (scheme, rest string) {
	for i := 0; i < len(s) && i < 32; i++ {
		switch b := s[i] | 0x20; {
		case s[i] == ':' && i > 0:
			return strings.ToLower(s[:i]), s[i+1:]
		case b >= 'a' && b <= 'z':
		case i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return "", s
		}
	}
	return "", s
}

// webLink reads what follows "http:" as a browser does, where any number of slashes and backslashes leads to the host.
func webLink(scheme, rest string) (string, bool) {
	if len(rest) > maxLink {
		return "", false
	}
	rest = strings.TrimLeft(rest, `/\`)
	auth, tail := rest, ""
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		auth, tail = rest[:i], rest[i:]
	}
	auth = auth[strings.LastIndexByte(auth, '@')+1:]
	host, port := auth, ""
	if i := strings.LastIndexByte(auth, ':'); i >= 0 && !strings.HasSuffix(auth, "]") {
		host, port = auth[:i], auth[i+1:]
		if len(port) > 5 || strings.Trim(port, "0123456789") != "" {
			return "", false
		}
	}
	host, ok := hostName(host)
	if !ok {
		return "", false
	}
	if port != "" {
		host += ":" + port
	}
	path, query := tail, ""
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		path, query = tail[:i], tail[i:]
	}
	if path == "" && query == "" {
		return scheme + "://" + host, true
	}
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return scheme + "://" + host + escapeLink(path+query), true
}

func hostName(h string) (string, bool) {
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") && len(h) > 4 && strings.Trim(h[1:len(h)-1], "0123456789abcdefABCDEF:.") == "" {
		return strings.ToLower(h), true
	}
	if strings.ContainsRune(h, '%') {
		u, err := url.PathUnescape(h)
		if err != nil {
			return "", false
		}
		h = u
	}
	h = strings.ToLower(h)
	if plain(h, false) != len(h) {
		a, err := idna.Lookup.ToASCII(h)
		if err != nil {
			return "", false
		}
		h = a
	}
	if h == "" || len(h) > 253 || strings.Trim(h, ".") == "" {
		return "", false
	}
	for i := 0; i < len(h); i++ {
		if b := h[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '.' && b != '_' {
			return "", false
		}
	}
	return h, true
}

// escapeLink writes everything that is not printable ASCII, and what would end a link in text, as %XX.
func escapeLink(s string) string {
	const hex = "0123456789ABCDEF"
	bad := func(b byte) bool { return b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>`{}|\\^", b) >= 0 }
	n := 0
	for i := 0; i < len(s); i++ {
		if bad(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	out := make([]byte, 0, len(s)+2*n)
	for i := 0; i < len(s); i++ {
		if b := s[i]; bad(b) {
			out = append(out, '%', hex[b>>4], hex[b&15])
		} else {
			out = append(out, b)
		}
	}
	return string(out)
}

// mailLink keeps of a mailto link what a draft may take from a stranger: recipients, subject, body and the thread.
func mailLink(rest string) (string, bool) {
	if len(rest) > maxLink {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "#")
	to, query, _ := strings.Cut(rest, "?")
	var kept []string
	for _, f := range strings.Split(query, "&") {
		key, _, found := strings.Cut(f, "=")
		switch strings.ToLower(key) {
		case "to", "cc", "bcc", "subject", "body", "in-reply-to":
			if found {
				kept = append(kept, f)
			}
		}
	}
	out := "mailto:" + to
	if len(kept) > 0 {
		out += "?" + strings.Join(kept, "&")
	}
	return escapeLink(out), to != "" || len(kept) > 0
}
