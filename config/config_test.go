package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

const testKey = "oe_test_0123456789abcdefghijklmnopqrstuv"

// home makes an empty home with the configuration file given, and returns the file's path.
func home(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		t.Setenv("XDG_"+v+"_HOME", filepath.Join(dir, strings.ToLower(v)))
	}
	t.Setenv("XDG_CONFIG_DIRS", filepath.Join(dir, "etc"))
	t.Setenv("HOME", dir)
	path := filepath.Join(dir, "config", "teapost", "config.toml")
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func vars(kv ...string) Env {
	return func(name string) string {
		for i := 0; i+1 < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1]
			}
		}
		return ""
	}
}

func mustLoad(t *testing.T, flags Flags, env Env) *Config {
	t.Helper()
	c, err := Load(flags, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNothingConfiguredOpensTheLocalMailbox(t *testing.T) {
	home(t, "")
	c := mustLoad(t, Flags{}, vars())
	if c.Account.Kind != Local || c.Account.Name != "local" || c.File != "" {
		t.Errorf("got %+v", c.Account)
	}
	if c.UI.Theme != "auto" || !c.UI.Mouse || c.UI.UndoTime != 10*time.Second || !slices.Equal(c.UI.Editor, []string{"vi"}) && runtime.GOOS != "windows" {
		t.Errorf("got %+v", c.UI)
	}
	if c.Snooze.Morning != (Clock{8, 0}) || c.Snooze.Evening != (Clock{18, 0}) || c.Snooze.WeekendDay != time.Saturday {
		t.Errorf("got %+v", c.Snooze)
	}
	if c.DataDir() != filepath.Join(os.Getenv("XDG_DATA_HOME"), "teapost") {
		t.Errorf("data in %s", c.DataDir())
	}
	if got, want := c.StateDir(c.Account.Name), filepath.Join(os.Getenv("XDG_STATE_HOME"), "teapost", "local"); got != want {
		t.Errorf("state in %s, want %s", got, want)
	}
	if got, want := c.CacheDir("x"), filepath.Join(os.Getenv("XDG_CACHE_HOME"), "teapost", "x"); got != want {
		t.Errorf("cache in %s, want %s", got, want)
	}
	if _, _, err := c.Account.Credential(context.Background()); err == nil {
		t.Error("the local mailbox has a credential")
	}
}

const full = `
default_account = "work"

[accounts.work]
base_url = "https://mail.example.com/"
api_key_command = ["printf", "oe_live_abc\nsecond line\n"]
from = "Ada <ada@example.com>"

[accounts.home]
api_key_file = "key"

[keys]
preset = "gmail"

[keys.threads]
archive = ["d", "ctrl+e"]
star = []

[ui]
theme = "light"
ascii = true
mouse = false
undo_seconds = 30
signature = "Ada\nLondon"
confirm_send = true
confirm_discard = false
editor = ["nvim", "-n"]
opener = ["open-it"]

[local]
dir = "~/mail"
addresses = ["ada@example.com", "Ada Lovelace <ada@example.org>"]

[snooze]
morning = "7:30"
evening = "19:00"
weekend = "10:00"
weekend_day = "sunday"
week_day = "Tuesday"
`

func TestFullFile(t *testing.T) {
	path := home(t, full)
	c := mustLoad(t, Flags{LogFile: "x.log"}, vars("EDITOR", "emacs"))
	if c.File != path || c.Account.Name != "work" || c.Account.BaseURL != "https://mail.example.com" || c.Account.From != "Ada <ada@example.com>" || c.Account.Signature != "Ada\nLondon" {
		t.Errorf("got %+v", c.Account)
	}
	if !slices.Equal(c.Accounts, []string{"home", "work", "local"}) {
		t.Errorf("accounts %v", c.Accounts)
	}
	if c.Keys.Preset != "gmail" || !slices.Equal(c.Keys.Overrides["threads"]["archive"], []string{"d", "ctrl+e"}) || c.Keys.Overrides["threads"]["star"] == nil {
		t.Errorf("keys %+v", c.Keys)
	}
	want := UI{"light", true, false, 30 * time.Second, "Ada\nLondon", true, false, []string{"nvim", "-n"}, []string{"open-it"}}
	if fmt.Sprint(c.UI) != fmt.Sprint(want) {
		t.Errorf("ui %+v", c.UI)
	}
	if c.DataDir() != filepath.Join(os.Getenv("HOME"), "mail") || !slices.Equal(c.Local.Addresses, []string{"ada@example.com", "ada@example.org"}) || c.Local.Name != "Ada Lovelace" {
		t.Errorf("local %+v", c.Local)
	}
	if c.Snooze != (Snooze{Clock{7, 30}, Clock{19, 0}, Clock{10, 0}, time.Sunday, time.Tuesday}) {
		t.Errorf("snooze %+v", c.Snooze)
	}
	if !filepath.IsAbs(c.LogFile) {
		t.Errorf("log %q", c.LogFile)
	}
	if got := c.Where("keys", "threads", "archive"); got != path+":16:1: keys.threads.archive" {
		t.Errorf("place %q", got)
	}
}

func TestFaultsNameThePlaceAndTheWayOut(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "[ui]\ntheme = \"dark\"\ncolour = 1\n", []string{"config.toml:3:1: ui.colour", "no such key", "theme", "undo_seconds"}},
		{"a key without its table", "theme = \"dark\"\n", []string{"config.toml:1:1: theme", "below the line [ui]"}},
		{"a key of an account without its table", "keyring = true\n", []string{"config.toml:1:1: keyring", "default_account"}},
		{"a table twice", "[ui]\n[ui]\n", []string{"config.toml:2:2: ui", "twice"}},
		{"a key twice", "[ui]\nmouse = true\nmouse = false\n", []string{"config.toml:3:1: ", "already defined"}},
		{"a text without quotes", "[ui]\ntheme = dark\n", []string{"config.toml:2:9: ", "in quotes"}},
		{"a time without quotes", "[snooze]\nmorning = 08:00:00\n", []string{"snooze.morning", `in quotes, such as "08:00"`}},
		{"unknown table", "[gui]\nx = 1\n", []string{"config.toml:1:2: gui", "accounts, default_account"}},
		{"unknown at the top", "account = \"x\"\n", []string{"config.toml:1:1: account", "default_account"}},
		{"two unknown keys", "[ui]\na = 1\nb = 2\n", []string{"config.toml:2:1: ui.a", "config.toml:3:1: ui.b"}},
		{"wrong type", "[ui]\nmouse = \"yes\"\n", []string{"config.toml:2:", "ui.mouse", "true or false"}},
		{"wrong type of a list", "[ui]\neditor = \"nvim\"\n", []string{"config.toml:2:", "ui.editor", `a list of texts, such as ["nvim"]`}},
		{"wrong type of a number", "[ui]\nundo_seconds = \"5\"\n", []string{"config.toml:2:", "ui.undo_seconds", "whole number"}},
		{"syntax", "[ui\n", []string{"config.toml:1:"}},
		{"value", "[ui]\n  theme = \"pink\"\n", []string{"config.toml:2:3: ui.theme", `"pink"`, "auto, dark, light"}},
		{"range", "[ui]\nundo_seconds = 61\n", []string{"config.toml:2:1: ui.undo_seconds", "0 to 60"}},
		{"empty editor", "[ui]\neditor = []\n", []string{"ui.editor", "empty"}},
		{"clock", "[snooze]\nmorning = \"25:00\"\n", []string{"config.toml:2:1: snooze.morning", "08:00"}},
		{"day", "[snooze]\nweek_day = \"mon\"\n", []string{"snooze.week_day", "monday"}},
		{"address", "[local]\naddresses = [\"ada\"]\n", []string{"config.toml:2:1: local.addresses", `"ada"`}},
		{"key in the file", "[accounts.w]\napi_key = \"oe_live_secret\"\n", []string{"config.toml:2:1: accounts.w.api_key", "api_key_command"}},
		{"account without credential", "[accounts.w]\nfrom = \"a@b.c\"\n", []string{"config.toml:1:11: accounts.w", "api_key_command", "keyring"}},
		{"account with two", "[accounts.w]\nkeyring = true\napi_key_file = \"x\"\n", []string{"accounts.w.keyring", "one credential", "api_key_file and keyring"}},
		{"account name", "[accounts.\"../x\"]\nkeyring = true\n", []string{`accounts."../x"`, "name of an account"}},
		{"name of an account of the environment", "[accounts.env-x]\nkeyring = true\n", []string{"accounts.env-x", "taken"}},
		{"name of another local mailbox", "[accounts.local-x]\nkeyring = true\n", []string{"accounts.local-x", "taken"}},
		{"reserved name", "[accounts.local]\nkeyring = true\n", []string{"accounts.local", "taken"}},
		{"cleartext", "[accounts.w]\nbase_url = \"http://mail.example.com\"\nkeyring = true\n", []string{"config.toml:2:1: accounts.w.base_url", "plain http", "https://mail.example.com"}},
		{"command as text", "[accounts.w]\napi_key_command = \"pass show x\"\n", []string{"accounts.w.api_key_command", `a list of texts, such as ["pass", "show", "mail"]`}},
		{"default account", "default_account = \"x\"\n[accounts.w]\nkeyring = true\n", []string{"config.toml:1:1: default_account", `"x"`, "w, local"}},
		{"no default", "[accounts.v]\nkeyring = true\n[accounts.w]\nkeyring = true\n", []string{"default_account", "several accounts", "v, w, local"}},
		{"keys no table", "[keys]\narchive = [\"e\"]\n", []string{"config.toml:2:1: keys.archive", "preset", "[keys.threads]"}},
		{"keys no list", "[keys.threads]\narchive = \"e\"\n", []string{"config.toml:2:1: keys.threads.archive", "a list of keys"}},
		{"inline", "ui = { theme = \"x\" }\n", []string{"config.toml:1:8: ui.theme"}},
		{"dotted", "ui.theme = \"x\"\n", []string{"config.toml:1:4: ui.theme"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home(t, tt.text)
			c, err := Load(Flags{}, vars())
			if err == nil || c != nil {
				t.Fatal("accepted")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "struct") {
				t.Errorf("%q tells too much", err)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%T is no *Error", err)
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	path := home(t, "x = 1")
	for name, flag := range map[string]string{"absent": filepath.Join(t.TempDir(), "no.toml"), "folder": filepath.Dir(path)} {
		if _, err := Load(Flags{ConfigFile: flag}, vars()); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := os.WriteFile(path, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Flags{}, vars()); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("large: got %v", err)
	}
	if os.Geteuid() != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Flags{}, vars()); err == nil || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("unreadable: got %v", err)
		}
	}
}

const two = `
default_account = "work"
[accounts.work]
base_url = "https://mail.example.com"
api_key_file = "key"
[accounts.home]
api_key_file = "key"
`

func TestWhichAccountOpens(t *testing.T) {
	envKey := func(more ...string) Env { return vars(append(more, EnvAPIKey, testKey)...) }
	tests := []struct {
		name  string
		file  string
		flags Flags
		env   Env
		want  string // name prefix and base URL
		err   []string
	}{
		{name: "default account", file: two, want: "work https://mail.example.com"},
		{name: "flag", file: two, flags: Flags{Account: "home"}, want: "home " + DefaultBaseURL},
		{name: "flag local", file: two, flags: Flags{Account: "local"}, env: envKey(), want: "local "},
		{name: "data means local", file: two, flags: Flags{DataDir: "x"}, env: envKey(), want: "local- "},
		{name: "only account", file: "[accounts.one]\nkeyring = true\n", want: "one " + DefaultBaseURL},
		{name: "default local", file: "default_account = \"local\"\n[accounts.one]\nkeyring = true\n", want: "local "},
		{name: "credential in the environment", env: envKey(), want: "env- " + DefaultBaseURL},
		{name: "and a base URL", env: envKey(EnvBaseURL, "localhost:2222/"), want: "env- http://localhost:2222"},
		{name: "the flag's base URL wins", flags: Flags{BaseURL: "https://a.example"}, env: envKey(EnvBaseURL, "https://b.example"), want: "env- https://a.example"},
		{name: "the environment wins over the file", file: two, env: envKey(), want: "env- " + DefaultBaseURL},
		{name: "a flag wins over the environment", file: two, flags: Flags{Account: "work"}, env: envKey(), want: "work https://mail.example.com"},
		{name: "access token", env: vars(EnvAccessToken, "tok"), want: "env- " + DefaultBaseURL},
		{name: "empty counts as unset", env: vars(EnvAPIKey, "", EnvBaseURL, ""), want: "local "},
		{name: "same base URL is fine", file: two, flags: Flags{BaseURL: "HTTPS://mail.example.com:443/"}, want: "work https://mail.example.com"},

		{
			name: "stored credential elsewhere, flag", file: two, flags: Flags{BaseURL: "https://evil.example"},
			err: []string{"--base-url", "https://evil.example", "https://mail.example.com", `"work"`, EnvAPIKey},
		},
		{
			name: "stored credential elsewhere, environment", file: two, env: vars(EnvBaseURL, "https://evil.example"),
			err: []string{EnvBaseURL, "https://evil.example", "https://mail.example.com"},
		},
		{
			name: "named account elsewhere", file: two, flags: Flags{Account: "work"}, env: envKey(EnvBaseURL, "https://evil.example"),
			err: []string{EnvBaseURL, "https://evil.example", "https://mail.example.com"},
		},
		{name: "base URL without credential", env: vars(EnvBaseURL, "https://a.example"), err: []string{EnvBaseURL, "https://a.example", EnvAPIKey}},
		{name: "local with a base URL", flags: Flags{Account: "local", BaseURL: "https://a.example"}, err: []string{"--base-url", "local mailbox"}},
		{name: "no such account", file: two, flags: Flags{Account: "wrok"}, err: []string{"--account", `"wrok"`, "home, work, local"}},
		{name: "cleartext", env: envKey(EnvBaseURL, "http://a.example"), err: []string{EnvBaseURL, "plain http"}},
		{name: "no API key", env: vars(EnvAPIKey, "sk_secret"), err: []string{EnvAPIKey, "oe_live_", "oe_test_"}},
		{name: "key as a token", env: vars(EnvAccessToken, "oe_live_secret"), err: []string{EnvAccessToken, "does not begin with oe_"}},
		{name: "header injection", env: vars(EnvAPIKey, "oe_test_secret\r\nX: y"), err: []string{EnvAPIKey, "blank"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home(t, tt.file)
			if tt.env == nil {
				tt.env = vars()
			}
			c, err := Load(tt.flags, tt.env)
			if tt.err != nil {
				if err == nil {
					t.Fatalf("accepted: %+v", c.Account)
				}
				for _, w := range tt.err {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q lacks %q", err, w)
					}
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("%q shows the credential", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name, base, _ := strings.Cut(tt.want, " ")
			if !strings.HasPrefix(c.Account.Name, name) || c.Account.BaseURL != base {
				t.Errorf("got %s at %q, want %s at %q", c.Account.Name, c.Account.BaseURL, name, base)
			}
			if (c.Account.Kind == Local) != (base == "") {
				t.Errorf("kind %s", c.Account.Kind)
			}
		})
	}
}

func TestEnvironmentAccountsHaveNamesOfTheirOwn(t *testing.T) {
	home(t, "")
	seen := map[string]string{}
	for _, u := range []string{"http://127.0.0.1:2222", "http://127.0.0.1:2223", "https://127.0.0.1:2222", "https://a.example/x", "https://a.example/x_", "https://" + strings.Repeat("a", 60) + ".example"} {
		c := mustLoad(t, Flags{BaseURL: u}, vars(EnvAPIKey, testKey))
		if other, ok := seen[c.Account.Name]; ok {
			t.Errorf("%s and %s share %s", u, other, c.Account.Name)
		}
		seen[c.Account.Name] = u
		if filepath.Base(c.Account.Name) != c.Account.Name || len(c.Account.Name) > 64 {
			t.Errorf("%q does not fit a folder", c.Account.Name)
		}
	}
}

func TestCredentialFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes")
	}
	path := home(t, "[accounts.w]\napi_key_file = \"key\"\n")
	key := filepath.Join(filepath.Dir(path), "key")
	tests := []struct {
		name string
		make func()
		want string // in the error; empty for success
	}{
		{"absent", func() {}, "no such file"},
		{"readable by others", func() { write(t, key, testKey, 0o644) }, "chmod 600"},
		{"group", func() { write(t, key, testKey, 0o640) }, "0640"},
		{"folder", func() { _ = os.Mkdir(key, 0o700) }, "is not a file"},
		{"empty", func() { write(t, key, "\n", 0o600) }, "empty"},
		{"other text", func() { write(t, key, "secret", 0o600) }, "begins with oe_live_"},
		{"right", func() { write(t, key, "\n  "+testKey+" \nmore\n", 0o600) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.RemoveAll(key)
			tt.make()
			c := mustLoad(t, Flags{}, vars())
			kind, v, err := c.Account.Credential(context.Background())
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "account w, api_key_file") || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || kind != APIKey || v.Reveal() != testKey {
				t.Errorf("got %q %q %v", kind, v.Reveal(), err)
			}
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// The test binary is its own credential command, so that no other program is needed.
func TestMain(m *testing.M) {
	switch os.Getenv("TEAPOST_TEST_COMMAND") {
	case "":
		os.Exit(m.Run())
	case "key":
		fmt.Println(testKey)
		fmt.Println("user: ada")
	case "env":
		for _, kv := range os.Environ() {
			if strings.HasPrefix(strings.ToUpper(kv), "OPENEMAIL_") {
				fmt.Println("oe_test_leaked")
				os.Exit(0)
			}
		}
		fmt.Println("oe_test_clean")
	case "fail":
		fmt.Println("secret on stdout")
		fmt.Fprintln(os.Stderr, "secret on stderr")
		os.Exit(3)
	case "large":
		for range 10_000 {
			fmt.Println(strings.Repeat("x", 100))
		}
	case "token":
		fmt.Printf("token-%d\n", os.Getpid())
	case "hang":
		time.Sleep(time.Minute)
	}
}

func selfCommand(t *testing.T, kind CredentialKind, what string, timeout time.Duration) *Account {
	t.Helper()
	t.Setenv("TEAPOST_TEST_COMMAND", what)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Account{Kind: Remote, Name: "w", src: commandSource(kind, "account w, api_key_command", []string{exe}, timeout)}
}

func TestCredentialCommand(t *testing.T) {
	ctx := context.Background()
	t.Setenv(EnvAPIKey, "oe_test_from_outside")
	t.Setenv("openemail_other", "x")
	if _, v, err := selfCommand(t, APIKey, "key", time.Minute).Credential(ctx); err != nil || v.Reveal() != testKey {
		t.Errorf("key: %q, %v", v.Reveal(), err)
	}
	if _, v, err := selfCommand(t, APIKey, "env", time.Minute).Credential(ctx); err != nil || v.Reveal() != "oe_test_clean" {
		t.Errorf("environment: %q, %v", v.Reveal(), err)
	}
	for _, what := range []string{"fail", "large"} {
		_, _, err := selfCommand(t, APIKey, what, time.Minute).Credential(ctx)
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "xxx") || !strings.Contains(err.Error(), "account w") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := selfCommand(t, APIKey, "hang", 50*time.Millisecond).Credential(ctx); err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Errorf("hang: %v", err)
	}
	cctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := selfCommand(t, APIKey, "hang", time.Minute).Credential(cctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	a := &Account{src: commandSource(APIKey, "l", []string{"teapost-no-such-program"}, time.Minute)}
	if _, _, err := a.Credential(ctx); err == nil || !strings.Contains(err.Error(), "no program") {
		t.Errorf("absent: %v", err)
	}
}

func TestCredentialIsKeptUntilForgotten(t *testing.T) {
	ctx := context.Background()
	a := selfCommand(t, AccessToken, "token", time.Minute)
	kind, first, err := a.Credential(ctx)
	if err != nil || kind != AccessToken {
		t.Fatal(kind, err)
	}
	if _, again, _ := a.Credential(ctx); again != first {
		t.Error("the command ran again")
	}
	a.Forget()
	if _, again, _ := a.Credential(ctx); again == first {
		t.Error("the old token came back")
	}
}

func TestKeyring(t *testing.T) {
	keyring.MockInit()
	home(t, "[accounts.w]\nkeyring = true\nbase_url = \"https://mail.example.com/api\"\n")
	c := mustLoad(t, Flags{}, vars())
	if _, _, err := c.Account.Credential(context.Background()); err == nil || !strings.Contains(err.Error(), "w@https://mail.example.com") {
		t.Errorf("got %v", err)
	}
	if err := keyring.Set(KeyringService, KeyringUser("w", "https://mail.example.com"), testKey); err != nil {
		t.Fatal(err)
	}
	if _, v, err := c.Account.Credential(context.Background()); err != nil || v.Reveal() != testKey {
		t.Errorf("got %v", err)
	}
	home(t, "[accounts.w]\nkeyring = true\nbase_url = \"https://evil.example\"\n")
	c = mustLoad(t, Flags{}, vars())
	if _, v, err := c.Account.Credential(context.Background()); err == nil || v.Reveal() != "" {
		t.Error("the credential of one origin went to another")
	}
	keyring.MockInitWithError(errors.New("no bus, secret"))
	if _, _, err := c.Account.Credential(context.Background()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	home(t, "")
	c := mustLoad(t, Flags{}, vars(EnvAPIKey, testKey))
	_, s, err := c.Account.Credential(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	j, _ := json.Marshal(struct{ S Secret }{s})
	for _, got := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v", &s), string(j),
		fmt.Sprintf("%+v %#v", c.Account, c.Account), fmt.Sprintf("%+v", c),
	} {
		if strings.Contains(got, testKey) || strings.Contains(got, fmt.Sprintf("%x", testKey)) {
			t.Errorf("printed: %s", got)
		}
	}
}

func TestParseBaseURL(t *testing.T) {
	good := map[string]string{
		"https://api.openemail.uk":     "https://api.openemail.uk",
		" https://api.openemail.uk// ": "https://api.openemail.uk",
		"HTTPS://API.OpenEmail.UK:443": "https://api.openemail.uk",
		"api.openemail.uk":             "https://api.openemail.uk",
		"mail.example.com:8443/x/":     "https://mail.example.com:8443/x",
		"localhost:2222":               "http://localhost:2222",
		"127.0.0.1":                    "http://127.0.0.1",
		"127.1:80":                     "http://127.0.0.1",
		"0x7f.1":                       "http://127.0.0.1",
		"http://2130706433":            "http://127.0.0.1",
		"http://0177.0.0.1":            "http://127.0.0.1",
		"[::1]:2222":                   "http://[::1]:2222",
		"http://[0:0:0:0:0:0:0:1]":     "http://[::1]",
		"http://[::ffff:127.0.0.1]:9":  "http://127.0.0.1:9",
		"https://1.2.3.4":              "https://1.2.3.4",
	}
	for in, want := range good {
		if got, err := ParseBaseURL(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	bad := map[string]string{
		"":                         "empty",
		"ftp://x":                  "scheme",
		"http://mail.example.com":  "plain http",
		"http://localhost.example": "plain http",
		"http://127.0.0.1.example": "plain http",
		"http://10.0.0.1":          "plain http",
		"https://u:p@x.example":    "user",
		"https://x.example?a=b":    "query",
		"https://x.example#":       "fragment",
		"https://x.example/#a":     "fragment",
		"http://0.0.0.0:2222":      "http://127.0.0.1:2222",
		"http://0:1":               "http://127.0.0.1:1",
		"[::]:1":                   "http://[::1]:1",
		"https://":                 "not a URL",
		"https://x y":              "blank",
		"https://x\\@y":            "backslash",
		"https://x.example:0":      "port",
		"https://x.example:99999":  "port",
		"https://256.1.1.1":        "host",
		"https://1.2.3.4.5":        "host",
		"https://0x100000000":      "host",
		"https://a..b":             "host",
		"https://bücher.example":   "host",
		"http://[::1%25lo]":        "host",
	}
	for in, want := range bad {
		if got, err := ParseBaseURL(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func FuzzParseBaseURL(f *testing.F) {
	for _, s := range []string{"https://api.openemail.uk", "127.1", "[::1]:1", "http://0x7f.1/a%2fb", "https://u@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseBaseURL(s)
		if err != nil {
			return
		}
		again, err := ParseBaseURL(got)
		if err != nil || again != got {
			t.Fatalf("%q gives %q, which gives %q, %v", s, got, again, err)
		}
		if strings.ContainsAny(got, "@?# \n") && !strings.Contains(got, "/") {
			t.Fatalf("%q gives %q", s, got)
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add(full)
	f.Add("[ui]\nx = 1")
	f.Add("[accounts.\"a\nb\"]")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "c.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Flags{ConfigFile: path}, vars())
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

func TestASCIIByTheLocale(t *testing.T) {
	for _, tt := range []struct {
		file string
		env  []string
		want bool
	}{
		{"", nil, false},
		{"", []string{"LANG", "C"}, true},
		{"", []string{"LANG", "POSIX"}, true},
		{"", []string{"LANG", "C.UTF-8"}, false},
		{"", []string{"LANG", "C.utf8"}, false},
		{"", []string{"LANG", "de_DE.UTF-8@euro"}, false},
		{"", []string{"LANG", "de_DE.ISO-8859-15@euro"}, true},
		{"", []string{"LANG", "en_US"}, false},
		{"", []string{"LANG", "C", "LC_CTYPE", "en_US.UTF-8"}, false},
		{"", []string{"LANG", "en_US.UTF-8", "LC_CTYPE", "C"}, true},
		{"", []string{"LC_ALL", "en_US.UTF-8", "LC_CTYPE", "C", "LANG", "C"}, false},
		{"", []string{"LC_ALL", "C", "LC_CTYPE", "en_US.UTF-8"}, true},
		{"[ui]\nascii = false\n", []string{"LC_ALL", "C"}, false},
		{"[ui]\nascii = true\n", []string{"LANG", "en_US.UTF-8"}, true},
	} {
		home(t, tt.file)
		if got := mustLoad(t, Flags{}, vars(tt.env...)).UI.ASCII; got != tt.want {
			t.Errorf("%v with the file %q: ASCII %v", tt.env, tt.file, got)
		}
	}
}
