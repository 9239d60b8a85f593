package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// DefaultBaseURL is the API's own address.
const DefaultBaseURL = "https://api.openemail.uk"

// ParseBaseURL returns the one spelling of a base URL: a scheme (added when missing: http for this
// machine, else https), a lower-case host, no trailing slash. It refuses other schemes, a user or
// password, a query, an unspecified address, and plain http to another machine, because a
// credential must not travel in the clear. The error is an *Error without Where.
func ParseBaseURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	fail := func(what, mend string) (string, error) { return "", &Error{What: what, Mend: mend} }
	if s == "" {
		return fail("the base URL is empty", "write for example "+DefaultBaseURL)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return fail("the base URL holds a blank, a control character or a backslash", "write for example "+DefaultBaseURL)
	}
	withScheme := s
	if !strings.Contains(s, "://") {
		withScheme = "https://" + strings.TrimPrefix(s, "//")
		if u, err := url.Parse(withScheme); err == nil {
			if h, _ := canonicalHost(u.Hostname()); isLoopback(h) || isUnspecified(h) {
				withScheme = "http://" + strings.TrimPrefix(s, "//")
			}
		}
	}
	u, err := url.Parse(withScheme)
	if err != nil || u.Hostname() == "" {
		return fail("this is not a URL", "write for example "+DefaultBaseURL)
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" {
		return fail(fmt.Sprintf("the scheme %q is not supported", u.Scheme), "use https://, or http:// for this machine")
	}
	if u.User != nil {
		return fail("a base URL carries no user or password", "remove what stands before the @")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#") {
		return fail("a base URL has no query and no fragment", "remove what follows ? or #")
	}
	host, ok := canonicalHost(u.Hostname())
	if !ok {
		return fail("the host is not a name or an address", "write for example "+DefaultBaseURL)
	}
	port := u.Port()
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fail("the port is not a number from 1 to 65535", "")
		}
	}
	if isUnspecified(host) {
		better := "127.0.0.1"
		if strings.Contains(host, ":") {
			better = "[::1]"
		}
		if port != "" {
			better += ":" + port
		}
		return fail("an unspecified address is a place to listen, not one to call", "use http://"+better)
	}
	if scheme == "http" && !isLoopback(host) {
		return fail(fmt.Sprintf("plain http to %s would send the credential in the clear", host), "use https://"+host)
	}
	if port == "443" && scheme == "https" || port == "80" && scheme == "http" {
		port = ""
	}
	out := scheme + "://"
	switch {
	case port != "":
		out += net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		out += "[" + host + "]"
	default:
		out += host
	}
	return out + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// origin returns scheme, host and port of a URL that ParseBaseURL returned.
func origin(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return u.Scheme + "://" + u.Host
}

// canonicalHost lower-cases a name, and writes an address the one way, reading the odd forms of
// IPv4 as a browser does (0x7f.1 is 127.0.0.1).
func canonicalHost(h string) (string, bool) {
	h = strings.ToLower(strings.TrimSuffix(h, ".")) // one root dot is allowed
	if strings.Contains(h, ":") {
		a, err := netip.ParseAddr(h)
		if err != nil || a.Zone() != "" {
			return h, false
		}
		if a.Is4In6() {
			return a.Unmap().String(), true
		}
		return a.String(), true
	}
	if a, numeric, ok := oddIPv4(h); numeric {
		return a, ok
	}
	// Other alphabets must come as xn--…, so that what is shown is what is called.
	odd := strings.ContainsFunc(h, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
	if h == "" || odd || strings.Contains(h, "..") || strings.HasPrefix(h, ".") || strings.HasSuffix(h, ".") {
		return h, false
	}
	return h, true
}

// oddIPv4 reads a host whose last part is a number; numeric is false when it is a name.
func oddIPv4(h string) (addr string, numeric, ok bool) {
	parts := strings.Split(h, ".")
	if _, isNumber := ipNumber(parts[len(parts)-1]); !isNumber {
		return "", false, false
	}
	if len(parts) > 4 {
		return "", true, false
	}
	var v uint64
	for i, p := range parts {
		n, isNumber := ipNumber(p)
		last := i == len(parts)-1
		if !isNumber || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return "", true, false
		}
		if last {
			v += n
		} else {
			v += n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String(), true, true
}

func ipNumber(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	base := 10
	digits := s
	if rest, found := strings.CutPrefix(s, "0x"); found {
		if rest == "" {
			return 0, true
		}
		base, digits = 16, rest
	} else if len(s) > 1 && s[0] == '0' {
		base, digits = 8, s[1:]
	}
	n, err := strconv.ParseUint(digits, base, 33)
	if err != nil {
		// All digits but no octal number, or too large: still no name.
		onlyDigits := strings.Trim(s, "0123456789") == ""
		return 1 << 33, onlyDigits
	}
	return n, true
}

func isLoopback(h string) bool {
	if h == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(h)
	return err == nil && a.IsLoopback()
}

func isUnspecified(h string) bool {
	a, err := netip.ParseAddr(h)
	return err == nil && a.IsUnspecified()
}
