package config

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// CredentialKind says how a credential is to be used.
type CredentialKind string

// The kinds.
const (
	APIKey      CredentialKind = "API key"
	AccessToken CredentialKind = "access token"
)

// Secret holds the value of a credential and prints as [redacted] whatever the verb.
type Secret struct{ value string }

// Reveal returns the value itself, for the Authorization header alone.
func (s Secret) Reveal() string { return s.value }

// String returns [redacted].
func (s Secret) String() string { return "[redacted]" }

// GoString returns [redacted].
func (s Secret) GoString() string { return "[redacted]" }

// Format writes [redacted] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// MarshalText returns [redacted].
func (s Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

const (
	// commandTimeout bounds a credential command; a person may have to unlock a store.
	commandTimeout = 60 * time.Second
	// tokenLifetime is how long an access token is used before its command runs again.
	tokenLifetime = 5 * time.Minute
	maxSecret     = 64 << 10
)

// source fetches a credential. It is safe for concurrent use; one fetch runs at a time.
type source struct {
	kind   CredentialKind
	label  string // where it comes from, for a person
	ttl    time.Duration
	fetch  func(context.Context) (string, error)
	turn   chan struct{}
	mu     sync.Mutex
	value  string
	gotAt  time.Time
	loaded bool
}

func newSource(kind CredentialKind, label string, fetch func(context.Context) (string, error)) *source {
	s := &source{kind: kind, label: label, fetch: fetch, turn: make(chan struct{}, 1)}
	if kind == AccessToken {
		s.ttl = tokenLifetime
	}
	return s
}

func (s *source) cached() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.loaded && (s.ttl == 0 || time.Since(s.gotAt) < s.ttl)
}

func (s *source) get(ctx context.Context) (string, error) {
	if v, ok := s.cached(); ok {
		return v, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if v, ok := s.cached(); ok {
		return v, nil
	}
	v, err := s.fetch(ctx)
	if err != nil {
		return "", err
	}
	if err := checkCredential(s.kind, v); err != nil {
		return "", &Error{Where: s.label, What: err.Error(), Mend: "check what is stored there"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.gotAt, s.loaded = v, time.Now(), true
	return v, nil
}

func (s *source) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.loaded = "", false
}

// checkCredential holds a credential to the contract's rules without showing it.
func checkCredential(kind CredentialKind, v string) error {
	if kind == Password {
		if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("the password is empty or holds a control character")
		}
		return nil
	}
	if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fmt.Errorf("the %s holds a blank or a character that no %s has", kind, kind)
	}
	switch {
	case v == "":
		return fmt.Errorf("the %s is empty", kind)
	case kind == APIKey && !strings.HasPrefix(v, "oe_live_") && !strings.HasPrefix(v, "oe_test_"):
		return fmt.Errorf("an API key begins with oe_live_ or oe_test_, this one does not")
	case kind == AccessToken && strings.HasPrefix(v, "oe_"):
		return fmt.Errorf("an access token does not begin with oe_; an API key goes into api_key_command, api_key_file or OPENEMAIL_API_KEY")
	case kind == AccessToken && len(v) > 512:
		return fmt.Errorf("an access token has 512 characters at most")
	}
	return nil
}

// commandSource runs argv without a shell, without OPENEMAIL_* in its environment and with a
// time limit. Its first line of output is the credential; none of its output is ever shown.
func commandSource(kind CredentialKind, label string, argv []string, timeout time.Duration) *source {
	return newSource(kind, label, func(ctx context.Context) (string, error) {
		tctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		cmd := exec.CommandContext(tctx, argv[0], argv[1:]...)
		cmd.Env = CleanEnviron(os.Environ())
		cmd.WaitDelay = 2 * time.Second
		var out limited
		cmd.Stdout = &out
		err := cmd.Run()
		mend := fmt.Sprintf("its output is never shown here: run %s yourself to see what it says", argv[0])
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case tctx.Err() != nil:
			return "", &Error{Where: label, What: fmt.Sprintf("the command %s took longer than %s and was ended", argv[0], timeout), Mend: mend}
		case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
			return "", &Error{Where: label, What: fmt.Sprintf("there is no program %s", argv[0]), Mend: "install it, or write its full path; a command is a list and no shell reads it"}
		case errors.As(err, &exit):
			return "", &Error{Where: label, What: fmt.Sprintf("the command %s ended with %s", argv[0], exit.ProcessState), Mend: mend}
		case err != nil:
			return "", &Error{Where: label, What: fmt.Sprintf("the command %s could not be run", argv[0]), Mend: mend}
		}
		return firstLine(out.buf.Bytes()), nil
	})
}

// limited keeps the first maxSecret bytes and drops the rest.
type limited struct{ buf bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxSecret - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// CleanEnviron returns the environment without the OPENEMAIL_ variables, for programs that
// are started: editor, opener, credential command.
func CleanEnviron(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, kv := range environ {
		if len(kv) < 10 || !strings.EqualFold(kv[:10], "OPENEMAIL_") {
			out = append(out, kv)
		}
	}
	return out
}

func firstLine(b []byte) string {
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, maxSecret+1)
	for sc.Scan() {
		if l := strings.TrimSpace(sc.Text()); l != "" {
			return l
		}
	}
	return ""
}

func fileSource(kind CredentialKind, label, path string) *source {
	return newSource(kind, label, func(context.Context) (string, error) {
		// Opened without waiting, so that a pipe in its place cannot hold the program.
		h, err := openKeyFile(path)
		if err != nil {
			e := fileError(path, err)
			return "", &Error{Where: label, What: e.Error()}
		}
		defer h.Close()
		st, err := h.Stat()
		if err != nil {
			return "", &Error{Where: label, What: fileError(path, err).Error()}
		}
		if !st.Mode().IsRegular() {
			return "", &Error{Where: label, What: path + " is not a file", Mend: fmt.Sprintf("give the path of a file with the %s in its first line", kind)}
		}
		if err := onlyOwner(path, st); err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.Where = label
			}
			return "", err
		}
		data, err := io.ReadAll(io.LimitReader(h, maxSecret))
		if err != nil {
			return "", &Error{Where: label, What: fileError(path, err).Error()}
		}
		return firstLine(data), nil
	})
}

// KeyringService is the service under which the system's keyring holds the credentials; the user
// is KeyringUser.
const KeyringService = "teapost"

// KeyringUser names the entry of an account in the keyring. It holds the origin, so that the
// credential cannot go elsewhere when the base URL in the file is changed.
func KeyringUser(account, baseURL string) string { return account + "@" + origin(baseURL) }

// keyringSource asks the keyring for the entry of user; instead names the other ways.
func keyringSource(kind CredentialKind, label, user, instead string) *source {
	return newSource(kind, label, func(ctx context.Context) (string, error) {
		type result struct {
			v   string
			err error
		}
		// The keyring may ask the person and knows no context.
		ch := make(chan result, 1)
		go func() {
			v, err := keyring.Get(KeyringService, user)
			ch <- result{v, err}
		}()
		t := time.NewTimer(commandTimeout)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-t.C:
			return "", &Error{Where: label, What: "the system's keyring did not answer", Mend: "unlock it, or use " + instead}
		case r := <-ch:
			switch {
			case errors.Is(r.err, keyring.ErrNotFound):
				return "", &Error{
					Where: label, What: fmt.Sprintf("the system's keyring has no entry for service %q and user %q", KeyringService, user),
					Mend: fmt.Sprintf("store the %s under these names", kind),
				}
			case r.err != nil:
				return "", &Error{Where: label, What: "the system's keyring cannot be reached", Mend: "use " + instead + " here"}
			}
			return strings.TrimSpace(r.v), nil
		}
	})
}
