package api

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzBaseURL: what is taken as a base URL is one, in a form that is read the same again;
// it holds no password, and only this machine counts as this machine.
func FuzzBaseURL(f *testing.F) {
	for _, s := range []string{
		"https://api.openemail.uk", " localhost:2222/ ", "0x7f.1", "[::1]:80", "http://127.1/a%2Fb//", "https://u:p@example.com", "http://0",
		"bücher.example", "https://example.com\\@evil.example", "//x", "http:/x", "]", "::1%25]", "Xn--", "::", "http://[fe80::1%25eth0]", "1.2.3.08", "https://xn--a", "a:b:c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		b, err := parseBaseURL(raw)
		if err != nil {
			return
		}
		s := b.String()
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host != b.host || strings.HasSuffix(s, "/") {
			t.Fatalf("%q becomes %q: %v", raw, s, err)
		}
		again, err := parseBaseURL(s)
		if err != nil || again != b {
			t.Fatalf("%q becomes %+v, and that %+v: %v", raw, b, again, err)
		}
		host := u.Hostname()
		addr, err := netip.ParseAddr(host)
		local := host == "localhost" || err == nil && addr.IsLoopback() && !addr.Is4In6()
		if b.local != local || err == nil && addr.IsUnspecified() {
			t.Fatalf("%q becomes %q, local %v", raw, s, b.local)
		}
		// What net/http will connect to is the host that was judged.
		if h, _, err := net.SplitHostPort(hostPort(u)); err != nil || h != host {
			t.Fatalf("%q is connected to as %q", raw, h)
		}
		path, err := pathSegment("a/b")
		if err != nil {
			t.Fatal(err)
		}
		if full, err := url.Parse(s + "/threads/" + path); err != nil || full.Host != b.host || !strings.HasSuffix(full.EscapedPath(), "/threads/a%2Fb") {
			t.Fatalf("%q makes the URL %v: %v", raw, full, err)
		}
	})
}

func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return u.Host
}
