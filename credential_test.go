package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
)

// A key that was changed where it is kept is found without a new start; one that was not is not tried again.
func TestCredentialIsAskedForAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir) // a machine may have none
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := write("key", "oe_test_one\n")
	file := write("config.toml", "default_account = \"w\"\n[accounts.w]\nbase_url = \"https://mail.example.com\"\napi_key_file = \""+filepath.ToSlash(key)+"\"\n")
	cfg, err := config.Load(config.Flags{ConfigFile: file}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	o := api.Options{BaseURL: cfg.Account.BaseURL}
	if err := giveCredential(ctx, &cfg.Account, &o); err != nil {
		t.Fatal(err)
	}
	first, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	renew := renewer(&cfg.Account, o)
	if c, _, err := renew(ctx); c != nil || err != nil {
		t.Errorf("the same key gives %v, %v", c, err)
	}
	write("key", "oe_live_two\n")
	c, from, err := renew(ctx)
	if err != nil || c == nil || c.Mode() != api.ModeLive || from == origin(first) {
		t.Errorf("the new key gives %v from %q, %v", c, from, err)
	}
	if c, _, err := renew(ctx); c != nil || err != nil {
		t.Errorf("the new key again gives %v, %v", c, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if c, _, err := renew(ctx); c != nil || err == nil {
		t.Errorf("no key gives %v, %v", c, err)
	}
}
