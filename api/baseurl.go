package api

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// DefaultBaseURL is where the API lives.
const DefaultBaseURL = "https://api.openemail.uk"

// baseURL is a checked base URL. Its host is in the one form that is also dialled,
// so that a spelling such as 0x7f.1 cannot be judged as one host and resolved as another.
type baseURL struct {
	scheme string
	host   string // with the port when one was given
	path   string // escaped, without a trailing slash
	local  bool   // this machine: cleartext is allowed, proxies are not used
}

// String is the URL. Only the zone of an IPv6 address has a percent sign, which URLs escape.
func (b baseURL) String() string {
	return b.scheme + "://" + strings.ReplaceAll(b.host, "%", "%25") + b.path
}

// parseBaseURL checks a base URL as section 1 of the contract says.
func parseBaseURL(raw string) (baseURL, error) {
	given := strings.TrimSpace(raw)
	s := strings.TrimRight(given, "/")
	switch {
	case s == "":
		return baseURL{}, argErr("the base URL is empty")
	case hasScheme(given) && !hasScheme(s):
		return baseURL{}, argErr("the base URL has no host")
	}
	if strings.ContainsRune(s, '\\') {
		return baseURL{}, argErr("the base URL holds a backslash")
	}
	if !hasScheme(s) {
		s = addScheme(s)
	}
	u, err := url.Parse(s)
	if err != nil {
		// url.Error repeats the input, which may hold a password.
		return baseURL{}, argErr("the base URL is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return baseURL{}, argErr("the base URL must begin with http:// or https://, not %s://", u.Scheme)
	case u.User != nil:
		return baseURL{}, argErr("the base URL must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return baseURL{}, argErr("the base URL must not hold a query or a fragment")
	}
	host, kind, err := canonicalHost(u.Hostname())
	if err != nil {
		return baseURL{}, err
	}
	port := u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return baseURL{}, argErr("the base URL has the port %s, which is none", port)
		}
		port = ":" + strconv.FormatUint(n, 10)
	}
	if kind == hostUnspecified {
		use := "127.0.0.1"
		if strings.HasPrefix(host, "[") {
			use = "[::1]"
		}
		return baseURL{}, argErr("the base URL names %s, which is no address to connect to: use %s://%s%s", host, u.Scheme, use, port)
	}
	return baseURL{
		scheme: u.Scheme,
		host:   host + port,
		path:   strings.TrimRight(u.EscapedPath(), "/"),
		local:  kind == hostLocal,
	}, nil
}

func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return false
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		if 'a' <= c && c <= 'z' {
			continue
		}
		if i == 0 || !('0' <= scheme[i] && scheme[i] <= '9' || strings.IndexByte("+-.", scheme[i]) >= 0) {
			return false
		}
	}
	return true
}

// addScheme completes a bare host: http for this machine, https for all others.
func addScheme(s string) string {
	authority, rest := s, ""
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		authority, rest = s[:i], s[i:]
	}
	if addr, err := netip.ParseAddr(authority); err == nil && addr.Is6() {
		authority = "[" + authority + "]"
	}
	host := authority
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, kind, err := canonicalHost(host); err == nil && kind != hostRemote {
		return "http://" + authority + rest
	}
	return "https://" + authority + rest
}

type hostKind int

const (
	hostRemote hostKind = iota
	hostLocal
	hostUnspecified
)

// canonicalHost reads a host as a browser does and says what it is. IPv6 addresses
// come back in brackets.
func canonicalHost(host string) (string, hostKind, error) {
	if host == "" {
		return "", hostRemote, argErr("the base URL has no host")
	}
	if strings.ContainsRune(host, ':') {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" && !plainName(addr.Zone()) {
			return "", hostRemote, argErr("the base URL has a host that is no address")
		}
		kind := hostRemote
		switch addr.WithZone("") {
		case netip.IPv6Loopback():
			kind = hostLocal
		case netip.IPv6Unspecified():
			kind = hostUnspecified
		}
		return "[" + addr.String() + "]", kind, nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Underscores and the like are no names for the Internet, but resolvers know them.
		if !plainName(host) {
			return "", hostRemote, argErr("the base URL has a host name that is not valid")
		}
		ascii = strings.ToLower(host)
	}
	addr, numeric, ok := parseIPv4(ascii)
	switch {
	case strings.Trim(ascii, ".") == "":
		return "", hostRemote, argErr("the base URL has no host")
	case numeric && !ok:
		return "", hostRemote, argErr("the base URL has a host that is no address")
	case !numeric && ascii == "localhost":
		return ascii, hostLocal, nil
	case !numeric:
		return ascii, hostRemote, nil
	case addr.IsUnspecified():
		return addr.String(), hostUnspecified, nil
	case addr.IsLoopback():
		return addr.String(), hostLocal, nil
	}
	return addr.String(), hostRemote, nil
}

func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	})
}

// parseIPv4 follows the IPv4 parser of the WHATWG URL standard: one to four parts,
// each decimal, octal or hexadecimal, the last filling what is left. numeric says
// that the host can only be an address.
func parseIPv4(host string) (addr netip.Addr, numeric, ok bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := parts[len(parts)-1]
	if _, isNumber := ipv4Number(last); !isNumber && !allDigits(last) {
		return addr, false, false
	}
	if len(parts) > 4 {
		return addr, true, false
	}
	var value uint64
	for i, part := range parts {
		n, isNumber := ipv4Number(part)
		if !isNumber {
			return addr, true, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return addr, true, false
			}
			value |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return addr, true, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true, true
}

func ipv4Number(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	base := 10
	switch {
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		s, base = s[2:], 16
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, true
	}
	for i := range len(s) {
		if c := s[i] | 0x20; !('0' <= s[i] && s[i] <= '9' || base == 16 && 'a' <= c && c <= 'f') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		if base == 8 {
			return 0, false // an 8 or a 9
		}
		return 1 << 40, true // too large for any place
	}
	return n, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
