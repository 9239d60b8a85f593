package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"
)

// The limits of the contract, section 5.
const (
	DefaultTimeout    = 30 * time.Second  // per attempt, the whole body included
	UploadTimeout     = 600 * time.Second // at least, for uploads
	DefaultMaxRetries = 2                 // attempts after the first
	MaxRetryAfter     = 60 * time.Second  // a longer wait is reported instead
)

// DefaultUserAgent is sent when Options.UserAgent is empty.
const DefaultUserAgent = "teapost"

const redacted = "[redacted]"

// Environment variables that FromEnv reads.
const (
	EnvAPIKey      = "OPENEMAIL_API_KEY"
	EnvAccessToken = "OPENEMAIL_ACCESS_TOKEN"
	EnvBaseURL     = "OPENEMAIL_BASE_URL"
)

// Options says how to reach the API. Exactly one of APIKey, AccessToken and TokenFunc is
// needed, or none beside InboxToken or Anonymous. Printing Options shows no credential and
// no header value.
type Options struct {
	BaseURL     string // empty: DefaultBaseURL
	APIKey      string // begins oe_live_ or oe_test_
	AccessToken string // an OAuth access token
	// TokenFunc gives an OAuth access token. It is called once a call, before the first attempt.
	TokenFunc func(context.Context) (string, error)
	// InboxToken opens a temporary mailbox: its calls take it before the credentials above,
	// but after a key or token of the call's own.
	InboxToken string
	// Anonymous makes a client without a credential, for calls that need none or bring their own.
	Anonymous bool

	// Transport makes the requests; nil: one of the client's own. It must end a
	// request when its context ends, and must not repeat one by itself.
	Transport http.RoundTripper
	UserAgent string        // empty: DefaultUserAgent
	Header    http.Header   // sent with each request; the client's own headers win
	Timeout   time.Duration // for one attempt; 0: DefaultTimeout, negative: none
	// MaxRetries is the number of attempts after the first; nil: DefaultMaxRetries, negative counts as 0.
	MaxRetries *int
	// Observer hears of each step of each call. It must return at once and may be
	// called from many goroutines. Under an Async with an observer of its own that one hears instead.
	Observer func(Event)
}

// FromEnv fills what o leaves open from the environment: BaseURL from OPENEMAIL_BASE_URL, and,
// unless o holds a credential or is Anonymous, APIKey from OPENEMAIL_API_KEY or else AccessToken
// from OPENEMAIL_ACCESS_TOKEN. An empty value counts as unset.
func FromEnv(o Options) Options {
	if o.BaseURL == "" {
		o.BaseURL = os.Getenv(EnvBaseURL)
	}
	if o.APIKey == "" && o.AccessToken == "" && o.TokenFunc == nil && !o.Anonymous {
		o.APIKey = os.Getenv(EnvAPIKey)
		if o.APIKey == "" {
			o.AccessToken = os.Getenv(EnvAccessToken)
		}
	}
	return o
}

// String shows the options without any secret.
func (o Options) String() string {
	show := func(set bool) string {
		if set {
			return redacted
		}
		return "none"
	}
	base := o.BaseURL
	if b, err := parseBaseURL(base); err == nil {
		base = b.String()
	} else if base != "" {
		base = "[invalid]"
	}
	return fmt.Sprintf("api.Options{BaseURL:%q APIKey:%s AccessToken:%s TokenFunc:%s InboxToken:%s Headers:%d Timeout:%s}",
		base, show(o.APIKey != ""), show(o.AccessToken != ""), show(o.TokenFunc != nil), show(o.InboxToken != ""), len(o.Header), o.Timeout)
}

// GoString is String.
func (o Options) GoString() string { return o.String() }

// Format prints String under every verb.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// LogValue is String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalJSON writes String.
func (o Options) MarshalJSON() ([]byte, error) { return marshalPlain(o.String()) }

// Mode is what a credential works on.
type Mode string

// The modes of a credential.
const (
	ModeLive Mode = "live"
	ModeTest Mode = "test"
)

// Identity tells whether two clients act for the same account at the same place.
// Values compare with ==.
type Identity struct {
	BaseURL string
	Mode    Mode
	// Credential is a fingerprint, not the credential: "key:" or "token:" and part of
	// a hash. For a TokenFunc it is "token:function", whatever token comes; "none": there is none.
	Credential string
}

// secret keeps a credential where no printer and no dumper finds it.
type secret func() string

func newSecret(s string) secret { return func() string { return s } }

// credential is what a call signs itself with.
type credential struct {
	mode  Mode
	token func(context.Context) (string, error)
	print string // fingerprint
}

func keyCredential(key string) (credential, error) {
	mode := ModeLive
	switch {
	case strings.HasPrefix(key, "oe_live_"):
	case strings.HasPrefix(key, "oe_test_"):
		mode = ModeTest
	default:
		return credential{}, argErr("an API key begins with oe_live_ or oe_test_")
	}
	if !headerToken(key) {
		return credential{}, argErr("the API key holds a blank or a character that cannot be in a key")
	}
	s := newSecret(key)
	return credential{
		mode:  mode,
		token: func(context.Context) (string, error) { return s(), nil },
		print: "key:" + fingerprint(key),
	}, nil
}

func tokenCredential(token string) (credential, error) {
	if err := checkToken(token); err != nil {
		return credential{}, err
	}
	s := newSecret(token)
	return credential{
		mode:  ModeLive,
		token: func(context.Context) (string, error) { return s(), nil },
		print: "token:" + fingerprint(token),
	}, nil
}

// inboxCredential takes any token that can stand in a header: what one looks like is
// the server's affair.
func inboxCredential(token string) (credential, error) {
	if token == "" || !headerToken(token) {
		return credential{}, argErr("the inbox token is empty, or holds a blank or a character that cannot be in a token")
	}
	s := newSecret(token)
	return credential{token: func(context.Context) (string, error) { return s(), nil }}, nil
}

func checkToken(token string) error {
	switch {
	case token == "" || len(token) > 512:
		return argErr("an access token has 1 to 512 characters, this one has %d", len(token))
	case strings.HasPrefix(token, "oe_"):
		return argErr("an access token does not begin with oe_: that is an API key")
	case !headerToken(token):
		return argErr("the access token holds a blank or a character that cannot be in a token")
	}
	return nil
}

func fingerprint(s string) string {
	sum := sha256.Sum256([]byte("teapost credential\x00" + s))
	return hex.EncodeToString(sum[:8])
}

// headerToken reports whether s can stand in an Authorization header as one word.
func headerToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func optionsCredential(o Options) (credential, error) {
	given := 0
	for _, set := range []bool{o.APIKey != "", o.AccessToken != "", o.TokenFunc != nil} {
		if set {
			given++
		}
	}
	switch {
	case given == 0 && (o.Anonymous || o.InboxToken != ""):
		return credential{print: "none"}, nil
	case o.Anonymous:
		return credential{}, argErr("a credential was given to a client that is to have none")
	case given == 0:
		return credential{}, &ArgumentError{Code: codeNoCredential, Message: "no credential: set " + EnvAPIKey + " or " + EnvAccessToken + ", or give one in the options"}
	case given > 1:
		return credential{}, argErr("more than one credential was given: a client has either an API key or an access token")
	case o.APIKey != "":
		return keyCredential(o.APIKey)
	case o.AccessToken != "":
		return tokenCredential(o.AccessToken)
	}
	return credential{
		mode: ModeLive,
		token: func(ctx context.Context) (string, error) {
			token, err := o.TokenFunc(ctx)
			if err != nil {
				return "", err
			}
			return token, checkToken(token)
		},
		print: "token:function",
	}, nil
}

// ownHeaders are set by the client or by net/http, never by the user.
var ownHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Authorization": true, "Connection": true, "Content-Length": true,
	"Content-Type": true, "Host": true, "Idempotency-Key": true, "Trailer": true, "Transfer-Encoding": true, "User-Agent": true,
}

// extraHeaders checks the user's headers and leaves out those that the client sets.
func extraHeaders(h http.Header) (http.Header, error) {
	out := make(http.Header, len(h))
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, argErr("the header name %q is not valid", name)
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if canonical == "X-Idempotency-Key" {
			return nil, argErr("the header %s would let net/http repeat requests by itself: use WithIdempotencyKey", canonical)
		}
		for _, v := range values {
			v = strings.TrimSpace(v)
			if strings.ContainsFunc(v, unicode.IsControl) || !httpguts.ValidHeaderFieldValue(v) {
				return nil, argErr("the value of the header %s holds a control character", canonical)
			}
			if !ownHeaders[canonical] {
				out[canonical] = append(out[canonical], v)
			}
		}
	}
	return out, nil
}
