package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

func TestBaseURL(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		local    bool
	}{
		{"https://api.openemail.uk", "https://api.openemail.uk", false},
		{"  https://api.openemail.uk///  ", "https://api.openemail.uk", false},
		{"HTTPS://API.Example.COM/v1/", "https://api.example.com/v1", false},
		{"https://api.example.com:0443", "https://api.example.com:443", false},
		{"https://bücher.example", "https://xn--bcher-kva.example", false},
		{"https://a_b.example.com", "https://a_b.example.com", false},
		{"api.example.com", "https://api.example.com", false},
		{"api.example.com:8443/x", "https://api.example.com:8443/x", false},
		{"localhost", "http://localhost", true},
		{"localhost:2222", "http://localhost:2222", true},
		{"LOCALHOST:2222/", "http://localhost:2222", true},
		{"127.0.0.1:2222", "http://127.0.0.1:2222", true},
		{"127.9.8.7", "http://127.9.8.7", true},
		{"::1", "http://[::1]", true},
		{"[::1]:2222", "http://[::1]:2222", true},
		{"http://[0:0:0:0:0:0:0:1]", "http://[::1]", true},
		{"https://localhost", "https://localhost", true},
		// Spellings that browsers read as this machine.
		{"http://127.1", "http://127.0.0.1", true},
		{"http://0x7f.1:80", "http://127.0.0.1:80", true},
		{"http://2130706433", "http://127.0.0.1", true},
		{"http://0177.0.0.1", "http://127.0.0.1", true},
		{"http://127.0.0.1.", "http://127.0.0.1", true},
		{"http://0X7F000001", "http://127.0.0.1", true},
		{"0x7f.1", "http://127.0.0.1", true},
		{"https://0300.0250.1", "https://192.168.0.1", false},
		{"https://[2001:DB8::1]:444", "https://[2001:db8::1]:444", false},
		{"10.0.0.1", "https://10.0.0.1", false},
		{"https://[fe80::1%25eth0]:8443", "https://[fe80::1%25eth0]:8443", false},
		{"1.2.3.4.example.com", "https://1.2.3.4.example.com", false},
		{"localhost.example.com", "https://localhost.example.com", false},
		{"https://example.com/a%2Fb", "https://example.com/a%2Fb", false},
	} {
		b, err := parseBaseURL(tt.in)
		if err != nil || b.String() != tt.want || b.local != tt.local {
			t.Errorf("%q: got %q local %v, error %v; want %q local %v", tt.in, b.String(), b.local, err, tt.want, tt.local)
		}
	}
}

func TestBaseURLRefused(t *testing.T) {
	for _, tt := range []struct{ in, says string }{
		{"", "empty"},
		{"   ", "empty"},
		{"ftp://example.com", "http://"},
		{"file:///etc/passwd", "http://"},
		{"https://user:hunter2@example.com", "user name"},
		{"user@example.com", "user name"},
		{"https://example.com?x=1", "query"},
		{"https://example.com/?", "query"},
		{"https://example.com#x", "fragment"},
		{"https://", ""},
		{"https:///path", "no host"},
		{"https://example.com:99999", "port"},
		{"https://example.com:x", ""},
		{`https://example.com\@evil.example`, "backslash"},
		{"https://exa mple.com", ""},
		{"https://256.1.1.1", "no address"},
		{"https://1.2.3.4.5", "no address"},
		{"https://1.2.3.08", "no address"},
		{"https://0x100000000", "no address"},
		{"https://[::1", ""},
		{"]", "not valid"},
		{"Xn--", "no host"},
		{"::1%25]", "no address"},
		{"mailto:x@example.com", ""},
		{"http://0.0.0.0:2222", "127.0.0.1:2222"},
		{"0.0.0.0:2222", "http://127.0.0.1:2222"},
		{"http://0", "127.0.0.1"},
		{"http://0x0.0:1", "127.0.0.1:1"},
		{"::", "[::1]"},
		{"http://[::]:2222", "[::1]:2222"},
	} {
		_, err := parseBaseURL(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v, want an error with %q", tt.in, err, tt.says)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the password", tt.in)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	token := func(context.Context) (string, error) { return "t", nil }
	for _, tt := range []struct {
		name string
		o    Options
		says string
	}{
		{"no credential", Options{}, EnvAPIKey},
		{"key and token", Options{APIKey: testKey, AccessToken: "t"}, "more than one"},
		{"token and function", Options{AccessToken: "t", TokenFunc: token}, "more than one"},
		{"not a key", Options{APIKey: "sk_live_secret"}, "oe_live_"},
		{"key with a line end", Options{APIKey: "oe_live_secret\n"}, "blank"},
		{"token that is a key", Options{AccessToken: "oe_live_secret"}, "API key"},
		{"token too long", Options{AccessToken: strings.Repeat("x", 513)}, "513"},
		{"token with a blank", Options{AccessToken: "sec ret"}, "blank"},
		{"cleartext", Options{BaseURL: "http://example.com", APIKey: testKey}, "https"},
		{"cleartext to another loopback-like name", Options{BaseURL: "http://127.0.0.1.example.com", APIKey: testKey}, "https"},
		{"cleartext to a mapped address", Options{BaseURL: "http://[::ffff:127.0.0.1]", APIKey: testKey}, "https"},
		{"cleartext with a function", Options{BaseURL: "http://10.0.0.1", TokenFunc: token}, "https"},
		{"header name", Options{APIKey: testKey, Header: http.Header{"X Y": {"a"}}}, "header name"},
		{"header value", Options{APIKey: testKey, Header: http.Header{"X-Y": {"a\r\nBcc: x"}}}, "control"},
		{"header value C1", Options{APIKey: testKey, Header: http.Header{"X-Y": {"a\u0085b"}}}, "control"},
		{"user agent", Options{APIKey: testKey, UserAgent: "a\nb"}, "user agent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !errors.Is(err, ErrArgument) {
				t.Errorf("%v, want an error with %q", err, tt.says)
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the credential: %v", err)
			}
		})
	}
	if _, err := New(Options{}); !errors.Is(err, ErrNoCredential) {
		t.Errorf("%v is not ErrNoCredential", err)
	}
	if c, err := New(Options{AccessToken: strings.Repeat("x", 512)}); err != nil || c.Mode() != ModeLive || c.BaseURL() != DefaultBaseURL {
		t.Errorf("a long token: %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	setenv := func(env map[string]string) {
		for _, k := range []string{EnvAPIKey, EnvAccessToken, EnvBaseURL} {
			t.Setenv(k, env[k])
		}
	}
	full := map[string]string{EnvAPIKey: "oe_test_env", EnvAccessToken: "tok-env", EnvBaseURL: "localhost:1"}
	for _, tt := range []struct {
		name string
		o    Options
		env  map[string]string
		key  string
		tok  string
		base string
	}{
		{"nothing", Options{}, nil, "", "", ""},
		{"key wins over token", Options{}, full, "oe_test_env", "", "localhost:1"},
		{"empty key counts as unset", Options{}, map[string]string{EnvAPIKey: "", EnvAccessToken: "tok-env"}, "", "tok-env", ""},
		{"key in code", Options{APIKey: "oe_live_code"}, full, "oe_live_code", "", "localhost:1"},
		{"token in code keeps the key out", Options{AccessToken: "tok-code"}, full, "", "tok-code", "localhost:1"},
		{"base URL in code", Options{BaseURL: "https://x.example"}, full, "oe_test_env", "", "https://x.example"},
	} {
		setenv(tt.env)
		if o := FromEnv(tt.o); o.APIKey != tt.key || o.AccessToken != tt.tok || o.BaseURL != tt.base {
			t.Errorf("%s: key %q token %q base %q", tt.name, o.APIKey, o.AccessToken, o.BaseURL)
		}
	}
	setenv(full)
	if o := FromEnv(Options{TokenFunc: func(context.Context) (string, error) { return "", nil }}); o.APIKey != "" || o.AccessToken != "" {
		t.Error("a token function in code does not keep the environment out")
	}
	if o := FromEnv(Options{Anonymous: true}); o.APIKey != "" || o.AccessToken != "" {
		t.Error("an anonymous client took a credential from the environment")
	}
}

// TestNothingPrintsACredential: no printer, dumper or encoder shows it.
func TestNothingPrintsACredential(t *testing.T) {
	const key, token, password = "oe_live_VERYSECRETKEY", "VERYSECRETTOKEN", "VERYSECRETPASSWORD"
	options := Options{APIKey: key, AccessToken: token, BaseURL: "https://u:" + password + "@example.com", Header: http.Header{"X-Auth": {password}}}
	echo := roundTrip(func(r *http.Request) (*http.Response, error) {
		auth := r.Header.Get("Authorization")
		return reply(400, `{"error":{"code":"`+auth+`","message":"got `+auth+`","param":"`+auth+`","docUrl":"`+auth+`","fields":[{"key":"`+auth+`","error":"`+auth+`"}]}}`, "X-Request-Id", auth), nil
	})
	var events []Event
	c, err := New(Options{APIKey: key, Transport: echo, Observer: func(ev Event) { events = append(events, ev) }})
	if err != nil {
		t.Fatal(err)
	}
	callErr := ignore(c.Me.Ping(t.Context()))
	e := asError(t, callErr)
	things := []any{options, &options, c, *c, c.Threads, c.core.cred, callErr, *e, e.Body(), events, c.Identity(), NewAsync(c, AsyncOptions{})}
	for _, thing := range things {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			_, _ = fmt.Fprintf(&out, verb+"\n", thing)
		}
		b, _ := json.Marshal(thing)
		out.Write(b)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "thing", thing)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "thing", thing)
		for _, secret := range []string{key, "VERYSECRET", fmt.Sprintf("%x", "VERYSECRET")} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%T shows %q:\n%s", thing, secret, out.String())
			}
		}
	}
	if !strings.Contains(e.Message, "[redacted]") || !strings.Contains(string(e.Body()), "[redacted]") || e.RequestID != "Bearer [redacted]" {
		t.Errorf("%+v", e)
	}
	if s := fmt.Sprintf("%#v", e); strings.Contains(s, "fields") {
		t.Errorf("the body is printed: %s", s)
	}
}

func TestCredentialOfACall(t *testing.T) { synctest.Test(t, testCredentialOfACall) }

func testCredentialOfACall(t *testing.T) {
	rec := &recorder{next: answering(503, "")}
	calls := 0
	c := testClient(t, rec, func(o *Options) {
		o.APIKey = ""
		o.TokenFunc = func(context.Context) (string, error) { calls++; return fmt.Sprintf("token-%d", calls), nil }
	})
	c.core.random = randomZero
	if err := classCalls[ClassRead](t.Context(), c, WithMaxRetries(1)); err == nil {
		t.Error("no error")
	}
	if err := classCalls[ClassOnce](t.Context(), c); err == nil {
		t.Error("no error")
	}
	if err := classCalls[ClassOnce](t.Context(), c, WithAPIKey("oe_live_other")); err == nil {
		t.Error("no error")
	}
	var seen []string
	for _, r := range rec.all() {
		seen = append(seen, r.header.Get("Authorization"))
	}
	// Once a call, before its first try.
	if want := "[Bearer token-1 Bearer token-1 Bearer token-2 Bearer oe_live_other]"; fmt.Sprint(seen) != want {
		t.Errorf("%v, want %s", seen, want)
	}

	before := len(rec.all())
	if err := classCalls[ClassOnce](t.Context(), c, WithAPIKey("nonsense")); !errors.Is(err, ErrArgument) {
		t.Errorf("%v", err)
	}
	for _, bad := range []func(context.Context) (string, error){
		func(context.Context) (string, error) { return "", errors.New("keyring locked") },
		func(context.Context) (string, error) { return "oe_live_x", nil },
		func(context.Context) (string, error) { return "", nil },
	} {
		c := testClient(t, rec, func(o *Options) { o.APIKey, o.TokenFunc = "", bad })
		err := classCalls[ClassRead](t.Context(), c)
		var arg *ArgumentError
		if !errors.As(err, &arg) || arg.Op != "threads.get" {
			t.Errorf("%v", err)
		}
	}
	if len(rec.all()) != before {
		t.Error("a call without a usable credential was sent")
	}
}

func TestTokenFuncCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := testClient(t, answering(200, "{}"), func(o *Options) {
		o.APIKey = ""
		o.TokenFunc = func(ctx context.Context) (string, error) { cancel(); return "", ctx.Err() }
	})
	if e := asNetworkError(t, classCalls[ClassRead](ctx, c)); !e.Cancelled || e.Op != "threads.get" {
		t.Errorf("%+v", e)
	}
}

func TestHeaders(t *testing.T) {
	rec := &recorder{next: answering(200, "{}")}
	c := testClient(t, rec, func(o *Options) {
		o.UserAgent = "teapost/1.2"
		o.Header = http.Header{
			"x-team": {"  blue  "}, "Accept": {"text/html"}, "authorization": {"Bearer evil"}, "Content-Type": {"text/plain"},
			"Idempotency-Key": {"k"}, "User-Agent": {"other"}, "Accept-Encoding": {"br"}, "Host": {"evil.example"},
		}
	})
	if err := errors.Join(classCalls[ClassRead](t.Context(), c), classCalls[ClassSend](t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	read, send := rec.all()[0].header, rec.all()[1].header
	want := http.Header{"X-Team": {"blue"}, "Accept": {"application/json"}, "Authorization": {"Bearer " + testKey}, "User-Agent": {"teapost/1.2"}}
	if fmt.Sprint(read) != fmt.Sprint(want) {
		t.Errorf("read: %v", read)
	}
	if send.Get("Content-Type") != "application/json" || !strings.HasPrefix(send.Get("Idempotency-Key"), "oe-") {
		t.Errorf("send: %v", send)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	for _, ok := range []string{"a", "oe-1", strings.Repeat("x", 255), "A_z.0:9-", NewIdempotencyKey()} {
		if err := ValidIdempotencyKey(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	rec := &recorder{next: answering(200, "{}")}
	c := testClient(t, rec)
	for _, bad := range []string{"", "a b", "a/b", "é", "a\n", strings.Repeat("x", 256)} {
		if err := ValidIdempotencyKey(bad); !errors.Is(err, ErrInvalidIdempotencyKey) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := classCalls[ClassSend](t.Context(), c, WithIdempotencyKey(bad)); !errors.Is(err, ErrInvalidIdempotencyKey) || !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := classCalls[ClassRepeat](t.Context(), c, WithIdempotencyKey("k")); !errors.Is(err, ErrArgument) {
		t.Errorf("a key on a call that takes none: %v", err)
	}
	if len(rec.all()) != 0 {
		t.Error("something was sent")
	}
}

func TestPathSegments(t *testing.T) {
	for in, want := range map[string]string{
		"abc": "abc", "a@b.c": "a%40b.c", "a/b": "a%2Fb", "-_.!~*'()": "-_.!~*'()", "a b+c": "a%20b%2Bc", "é": "%C3%A9",
		"..a": "..a", "%2e%2e": "%252e%252e", "\x00": "%00", "a?b#c": "a%3Fb%23c", `\`: "%5C", ":id": "%3Aid",
	} {
		if got, err := pathSegment(in); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
	rec := &recorder{next: answering(200, "{}")}
	c := testClient(t, rec)
	for _, bad := range []string{"", ".", "..", "....", "\xff"} {
		if err := ignore(c.Threads.Delete(t.Context(), bad)); !errors.Is(err, ErrArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if len(rec.all()) != 0 {
		t.Error("something was sent")
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"abc", "..", "a/../b", "%2f", "é", "\x00", "//", "a\\b", "?", "#"} {
		f.Add(s)
	}
	rec := &recorder{next: answering(200, `{"id":"x"}`)}
	c, err := New(Options{BaseURL: "https://api.example.com/base", APIKey: testKey, Transport: rec})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id string) {
		rec.requests = nil
		_, err := c.Threads.Get(t.Context(), id)
		if err != nil {
			if !errors.Is(err, ErrArgument) || len(rec.requests) != 0 {
				t.Fatalf("%q: %v after %d requests", id, err, len(rec.requests))
			}
			return
		}
		path := rec.requests[0].path
		rest, ok := strings.CutPrefix(path, "/base/threads/")
		back, err := url.PathUnescape(rest)
		if !ok || strings.Contains(rest, "/") || err != nil || back != id {
			t.Fatalf("%q became %q", id, path)
		}
	})
}

func TestDo(t *testing.T) { synctest.Test(t, testDo) }

func testDo(t *testing.T) {
	rec := &recorder{next: answering(500, "")}
	c := testClient(t, rec)
	c.core.random = randomZero
	for _, tt := range []struct {
		r    Request
		want int
	}{
		{Request{Path: "/x"}, 3},
		{Request{Path: "/x", Method: "POST", Body: []byte("{}")}, 1},
		{Request{Path: "/x", Method: "POST", Body: []byte("{}"), Repeat: true}, 3},
		{Request{Path: "/x", Method: "HEAD"}, 1},
	} {
		rec.requests = nil
		_, err := c.Do(t.Context(), tt.r)
		if e := asError(t, err); e.Op != "raw" || len(rec.all()) != tt.want {
			t.Errorf("%+v: %d requests", tt.r, len(rec.all()))
		}
	}

	rec.requests, rec.next = nil, answering(200, "\xef\xbb\xbf{\"a\":\"\\ud800 \xff\"}")
	a, err := c.Do(t.Context(), Request{Op: "x.y", Path: "/a%2Fb", Query: url.Values{"b": {"1", "", "2 3"}, "a": {""}}})
	var v struct{ A string }
	if err != nil || a.Decode(&v) != nil || v.A != "\uFFFD \uFFFD" || a.Status != 200 || a.Attempts != 1 {
		t.Errorf("%+v %v %q", a, err, v.A)
	}
	if r := rec.all()[0]; r.path != "/a%2Fb" || r.query != "b=1%2C2+3" {
		t.Errorf("%s?%s", r.path, r.query)
	}

	rec.next = answering(200, "\x00\xff bytes")
	if a, err := c.Do(t.Context(), Request{Path: "/content", Bytes: true}); err != nil || string(a.Body) != "\x00\xff bytes" {
		t.Errorf("%q %v", a.Body, err)
	}
	rec.next = answering(204, "")
	var p *int
	if a, err := c.Do(t.Context(), Request{Path: "/x"}); err != nil || a.Body != nil || a.Decode(&p) != nil || p != nil {
		t.Errorf("%+v %v", a, err)
	}

	rec.requests = nil
	for _, bad := range []Request{
		{Path: ""},
		{Path: "x"},
		{Path: "//evil.example/x"},
		{Path: `/\evil.example`},
		{Path: "/x?y"},
		{Path: "/x#y"},
		{Path: "/%zz"},
		{Path: "/\n"},
		{Path: "/x", Method: "get"},
		{Path: "/x", Method: "CONNECT"},
		{Path: "/x", Method: "A B"},
		{Path: "/x", Body: []byte("{}")},
		{Path: "/x", Method: "POST", Body: []byte("[]")},
		{Path: "/x", Method: "POST", Body: []byte("x"), ContentType: "a\nb"},
	} {
		if _, err := c.Do(t.Context(), bad); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if len(rec.all()) != 0 {
		t.Error("something was sent")
	}
}
