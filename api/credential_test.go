package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestInboxTokens: which credential a call on a temporary mailbox carries, and that
// other calls never carry an inbox token.
func TestInboxTokens(t *testing.T) {
	const otherKey = "oe_live_another"
	for _, tt := range []struct {
		name          string
		client        func(*Options)
		options       []CallOption
		inbox, others string // the Authorization; "": refused
	}{
		{"client's key", nil, nil, testKey, testKey},
		{"client's token and key", func(o *Options) { o.InboxToken = "inbox-c" }, nil, "inbox-c", testKey},
		{"call's key", func(o *Options) { o.InboxToken = "inbox-c" }, []CallOption{WithAPIKey(otherKey)}, otherKey, otherKey},
		{"call's token and key", func(o *Options) { o.InboxToken = "inbox-c" }, []CallOption{WithAPIKey(otherKey), WithInboxToken("inbox-call")}, "inbox-call", otherKey},
		{"access token", func(o *Options) { o.APIKey, o.AccessToken = "", "oauth" }, nil, "oauth", "oauth"},
		{"inbox token over access token", func(o *Options) { o.APIKey, o.AccessToken, o.InboxToken = "", "oauth", "inbox-c" }, nil, "inbox-c", "oauth"},
		{"inbox token alone", func(o *Options) { o.APIKey, o.InboxToken = "", "inbox-c" }, nil, "inbox-c", ""},
		{"nothing", func(o *Options) { o.APIKey, o.Anonymous = "", true }, nil, "", ""},
		{"nothing but the call's token", func(o *Options) { o.APIKey, o.Anonymous = "", true }, []CallOption{WithInboxToken("inbox-call")}, "inbox-call", ""},
		{"nothing but the call's key", func(o *Options) { o.APIKey, o.Anonymous = "", true }, []CallOption{WithAPIKey(otherKey)}, otherKey, otherKey},
	} {
		rec := &recorder{next: answering(200, `{}`)}
		c := testClient(t, rec, func(o *Options) {
			if tt.client != nil {
				tt.client(o)
			}
		})
		for i, call := range []func() error{
			func() error { return ignore(c.TempMail.Get(t.Context(), "i1", tt.options...)) },
			func() error { return ignore(c.Threads.Get(t.Context(), "t1", tt.options...)) },
		} {
			want := []string{tt.inbox, tt.others}[i]
			before := len(rec.all())
			err := call()
			if want == "" {
				if !errors.Is(err, ErrNoCredential) || len(rec.all()) != before {
					t.Errorf("%s %d: %v", tt.name, i, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %d: %v", tt.name, i, err)
				continue
			}
			if got := rec.all()[before].header.Get("Authorization"); got != "Bearer "+want {
				t.Errorf("%s %d: %q, want %q", tt.name, i, got, want)
			}
		}
		// Three operations need no credential, and get none whatever there is.
		before := len(rec.all())
		_, err1 := c.TempMail.ListDomains(t.Context(), tt.options...)
		_, err2 := c.TempMail.Create(t.Context(), TempInboxCreate{}, tt.options...)
		_, err3 := c.Forms.Subscribe(t.Context(), "f1", map[string]string{"email": "a@b.c"}, tt.options...)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, r := range rec.all()[before:] {
			if a, ok := r.header["Authorization"]; ok {
				t.Errorf("%s: %s carries %v", tt.name, r.path, a)
			}
		}
	}
}

func TestInboxTokensRefused(t *testing.T) {
	for _, bad := range []string{"", "a b", "a\n", "\x00", "é"} {
		c := testClient(t, answering(200, `{}`))
		if _, err := c.TempMail.Get(t.Context(), "i1", WithInboxToken(bad)); !errors.Is(err, ErrArgument) {
			t.Errorf("call's %q: %v", bad, err)
		}
		if bad == "" {
			continue // none was given
		}
		if _, err := New(Options{InboxToken: bad}); !errors.Is(err, ErrArgument) {
			t.Errorf("client's %q: %v", bad, err)
		}
	}
	if _, err := New(Options{Anonymous: true, APIKey: testKey}); !errors.Is(err, ErrArgument) {
		t.Errorf("anonymous with a key: %v", err)
	}
	if _, err := New(Options{}); !errors.Is(err, ErrNoCredential) {
		t.Errorf("nothing: %v", err)
	}
	if s := fmt.Sprintf("%v %+v %#v", Options{InboxToken: "secret-inbox"}, Options{InboxToken: "secret-inbox"}, Options{InboxToken: "secret-inbox"}); strings.Contains(s, "secret-inbox") {
		t.Error(s)
	}
	c, err := New(Options{InboxToken: "secret-inbox", Transport: answering(401, `{"error":{"code":"no","message":"token secret-inbox is unknown"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.TempMail.Get(t.Context(), "i1"); err == nil || strings.Contains(err.Error(), "secret-inbox") {
		t.Error(err)
	}
	if id := c.Identity(); id.Credential != "none" || id.Mode != "" {
		t.Errorf("%+v", id)
	}
}

// TestTokenFuncOncePerCall: before the first try, not again for a retry, and not for a
// call that carries something else.
func TestTokenFuncOncePerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		rec := &recorder{next: answering(503, "")}
		c := testClient(t, rec, func(o *Options) {
			o.APIKey = ""
			o.TokenFunc = func(context.Context) (string, error) { asked++; return fmt.Sprintf("token-%d", asked), nil }
		})
		_ = ignore(c.Threads.Get(t.Context(), "t1"))
		sent := rec.all()
		if asked != 1 || len(sent) != 3 {
			t.Fatalf("asked %d times for %d tries", asked, len(sent))
		}
		for _, r := range sent {
			if r.header.Get("Authorization") != "Bearer token-1" {
				t.Error(r.header.Get("Authorization"))
			}
		}
		_ = ignore(c.Threads.Get(t.Context(), "t1"))
		if asked != 2 {
			t.Errorf("asked %d times for two calls", asked)
		}
		_ = ignore(c.TempMail.ListDomains(t.Context()))
		_ = ignore(c.TempMail.Get(t.Context(), "i1", WithInboxToken("x")))
		_ = ignore(c.Threads.Get(t.Context(), "t1", WithAPIKey(testKey)))
		_ = ignore(c.Threads.Get(t.Context(), ""))
		if asked != 2 {
			t.Errorf("asked %d times, though nothing needed it", asked)
		}
	})
}

// TestRawCredentials: a raw call says itself which credential it takes.
func TestRawCredentials(t *testing.T) {
	rec := &recorder{next: answering(200, `{}`)}
	c := testClient(t, rec, func(o *Options) { o.InboxToken = "inbox" })
	for auth, want := range map[Auth]string{AuthCredential: "Bearer " + testKey, AuthInbox: "Bearer inbox", AuthNone: ""} {
		if _, err := c.Do(t.Context(), Request{Path: "/x", Auth: auth}); err != nil {
			t.Fatal(err)
		}
		if sent := rec.all(); sent[len(sent)-1].header.Get("Authorization") != want {
			t.Errorf("%q: %v", auth, sent[len(sent)-1].header)
		}
	}
	if _, err := c.Do(t.Context(), Request{Path: "/x", Auth: "both"}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}
