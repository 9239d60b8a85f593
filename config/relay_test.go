package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

const ownAddress = "[local]\naddresses = [\"ada@example.com\"]\n"

func TestRelay(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // host:port, tls, user
	}{
		{"host = \"smtp.example.com\"", "smtp.example.com:587 starttls "},
		{"host = \"SMTP.Example.com\"\ntls = \"implicit\"", "smtp.example.com:465 implicit "},
		{"host = \"127.0.0.1\"\ntls = \"none\"", "127.0.0.1:25 none "},
		{"host = \"[::1]\"\ntls = \"none\"\nport = 1025", "[::1]:1025 none "},
		{"host = \"smtp.example.com\"\nport = 2525\nuser = \"ada\"\npassword_command = [\"printf\", \"pass word\"]", "smtp.example.com:2525 starttls ada"},
	} {
		home(t, ownAddress+"[local.relay]\n"+tt.text+"\n")
		r := mustLoad(t, Flags{}, vars()).Local.Relay
		if got := fmt.Sprintf("%s %s %s", r.Addr(), r.TLS, r.User); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
	home(t, ownAddress)
	if r := mustLoad(t, Flags{}, vars()).Local.Relay; r != nil {
		t.Errorf("without a table: %+v", r)
	}
}

func TestRelayFaults(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"no host", "tls = \"starttls\"", []string{"local.relay: the relay has no host"}},
		{"no name", "host = \"smtp example\"", []string{"config.toml:4:1: local.relay.host", "is not the name of a host"}},
		{"with port", "host = \"smtp.example.com:587\"", []string{"local.relay.host", "line of its own"}},
		{"unspecified", "host = \"0.0.0.0\"", []string{"local.relay.host"}},
		{"unknown TLS", "host = \"h\"\ntls = \"ssl\"", []string{"config.toml:5:1: local.relay.tls", "starttls, implicit, none"}},
		{"clear to another machine", "host = \"smtp.example.com\"\ntls = \"none\"", []string{"local.relay.tls", "in the clear", "starttls or implicit"}},
		{"port", "host = \"h\"\nport = 0", []string{"local.relay.port", "1 to 65535"}},
		{"port as text", "host = \"h\"\nport = \"587\"", []string{"local.relay.port", "a whole number"}},
		{"user alone", "host = \"h\"\nuser = \"ada\"", []string{"local.relay.user", "no password", "password_command"}},
		{"password alone", "host = \"h\"\nkeyring = true", []string{"local.relay.keyring", "no user"}},
		{"two passwords", "host = \"h\"\nuser = \"ada\"\nkeyring = true\npassword_file = \"x\"", []string{"password_file and keyring"}},
		{"empty command", "host = \"h\"\nuser = \"ada\"\npassword_command = []", []string{"local.relay.password_command", "empty"}},
		{"password in the file", "host = \"h\"\nuser = \"ada\"\npassword = \"secret\"", []string{"a credential does not belong in this file", "password_command"}},
		{"unknown key", "host = \"h\"\nname = \"x\"", []string{"local.relay.name", "allowed in [local.relay]: host, keyring, password_command, password_file, port, tls, user"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home(t, ownAddress+"[local.relay]\n"+tt.text+"\n")
			_, err := Load(Flags{}, vars())
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\ndoes not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
	home(t, "[local.relay]\nhost = \"h\"\n")
	if _, err := Load(Flags{}, vars()); err == nil || !strings.Contains(err.Error(), "addresses = ") {
		t.Errorf("without addresses: %v", err)
	}
}

func TestRelayPassword(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte("geheim und lang\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home(t, ownAddress+"[local.relay]\nhost = \"smtp.example.com\"\nuser = \"ada\"\npassword_file = \""+filepath.ToSlash(file)+"\"\n")
	r := mustLoad(t, Flags{}, vars()).Local.Relay
	got, err := r.Password(ctx)
	if err != nil || got.Reveal() != "geheim und lang" || fmt.Sprint(got) != "[redacted]" {
		t.Errorf("%v, %v", got, err)
	}
	// A new password in the file counts once the old one was refused.
	if err := os.WriteFile(file, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Password(ctx); got.Reveal() != "geheim und lang" {
		t.Error("the password was not kept")
	}
	r.Forget()
	if got, _ := r.Password(ctx); got.Reveal() != "new" {
		t.Error("the password was not fetched again")
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		r.Forget()
		var e *Error
		if _, err := r.Password(ctx); !errors.As(err, &e) || !strings.Contains(e.Where, "local.relay, password_file") {
			t.Errorf("a file that others can read: %v", err)
		}
	}

	keyring.MockInit()
	home(t, ownAddress+"[local.relay]\nhost = \"smtp.example.com\"\nuser = \"ada\"\nkeyring = true\n")
	r = mustLoad(t, Flags{}, vars()).Local.Relay
	if _, err := r.Password(ctx); err == nil || !strings.Contains(err.Error(), `"ada@smtp://smtp.example.com:587"`) || !strings.Contains(err.Error(), "store the password") {
		t.Errorf("no entry: %v", err)
	}
	if err := keyring.Set(KeyringService, RelayKeyringUser("ada", "smtp.example.com", 587), "ring"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Password(ctx); err != nil || got.Reveal() != "ring" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (&Relay{}).Password(ctx); err == nil {
		t.Error("a relay without a user has a password")
	}
}
