package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
)

// TestRefusedTokenIsFetchedAgain: a token that the server does not take any more is not kept: what goes on goes with what
// the command says by then.
func TestRefusedTokenIsFetchedAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of this test is cat")
	}
	dir := t.TempDir()
	for _, v := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		t.Setenv("XDG_"+v+"_HOME", filepath.Join(dir, v))
	}
	for _, v := range []string{config.EnvAPIKey, config.EnvAccessToken, config.EnvBaseURL} {
		t.Setenv(v, "")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer second" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "config.toml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, fmt.Sprintf("[accounts.work]\nbase_url = %q\naccess_token_command = [\"cat\", %q]\n", server.URL, token))
	write(token, "first\n")
	cfg, err := config.Load(config.Flags{ConfigFile: file}, config.OSEnv)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openMailbox(t.Context(), cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := b.options.Client.Me.Ping(t.Context()); !errors.Is(err, api.ErrAuthentication) {
		t.Errorf("with the old token: %v", err)
	}
	write(token, "second\n")
	again, _, err := b.options.Renew(t.Context())
	if err != nil || again == nil {
		t.Fatalf("asked for again: %v, %v", again, err)
	}
	if _, err := again.Me.Ping(t.Context()); err != nil {
		t.Errorf("with the new one: %v", err)
	}
}
