// Package config turns defaults, a TOML file, the environment and flags, in this order, into
// one checked Config, and resolves the account to open with its credential.
package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adrg/xdg"
)

// Flags are the flags that every command has. Empty ones are unset.
type Flags struct {
	ConfigFile string // --config
	Account    string // --account
	BaseURL    string // --base-url
	DataDir    string // --data
	LogFile    string // --log
}

// Env looks up an environment variable; an empty value counts as unset.
type Env func(name string) string

// OSEnv is the environment of the process.
func OSEnv(name string) string { return os.Getenv(name) }

// The variables that carry an account.
const (
	EnvAPIKey      = "OPENEMAIL_API_KEY"
	EnvAccessToken = "OPENEMAIL_ACCESS_TOKEN"
	EnvBaseURL     = "OPENEMAIL_BASE_URL"
)

// Kind says where the mail of an account is.
type Kind string

// The kinds of accounts.
const (
	Local  Kind = "local"  // the embedded server over a mailbox on this machine
	Remote Kind = "remote" // a server that speaks the OpenEmail API
)

// LocalName is the name of the local mailbox, for --account and default_account.
const LocalName = "local"

// Account is the account to open.
type Account struct {
	Kind    Kind
	Name    string // unique among a person's accounts and fit for a folder's name
	BaseURL string // as ParseBaseURL writes it; empty for a local one
	From    string // the address to write from; may be empty
	// Source says in words where the credential comes from: a variable, a file, a command.
	Source string

	src *source
}

// Credential returns the credential of a remote account. It may run a command, read a file or
// ask the keyring, so it must not be called on the render loop; what it got is kept (an access
// token for five minutes). It is safe for concurrent use. The error is an *Error, or the
// context's.
func (a *Account) Credential(ctx context.Context) (CredentialKind, Secret, error) {
	if a.src == nil {
		return "", Secret{}, &Error{Where: "account " + a.Name, What: "the local mailbox has no credential"}
	}
	v, err := a.src.get(ctx)
	if err != nil {
		return a.src.kind, Secret{}, err
	}
	return a.src.kind, Secret{v}, nil
}

// CredentialKind says which kind Credential will return; empty for a local account.
func (a *Account) CredentialKind() CredentialKind {
	if a.src == nil {
		return ""
	}
	return a.src.kind
}

// Forget drops a credential that was refused, so that the next call fetches it again.
func (a *Account) Forget() {
	if a.src != nil {
		a.src.forget()
	}
}

// Keys is what the file says about keys, for keymap.New.
type Keys struct {
	Preset    string // "default" when the file says nothing
	Overrides map[string]map[string][]string
}

// UI is how the program looks and behaves.
type UI struct {
	Theme          string // auto, dark or light
	ASCII          bool   // no characters beyond ASCII in the program's own drawing; by the locale when the file says nothing
	Mouse          bool
	UndoTime       time.Duration // how long a send can be taken back; 0 to 60 s
	ConfirmSend    bool          // ask before a message is sent
	ConfirmDiscard bool          // ask before a draft is thrown away
	Editor         []string      // argv, never empty; run without a shell
	Opener         []string      // argv of the program that opens links and files; never empty
}

// Clock is a time of day.
type Clock struct{ Hour, Minute int }

// String writes the time of day as 08:00.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c.Hour, c.Minute) }

// Snooze holds the times that the presets of the snooze picker use.
type Snooze struct {
	Morning, Evening, Weekend Clock
	WeekendDay                time.Weekday // the day of "this weekend"
	WeekDay                   time.Weekday // the day of "next week"
}

// LocalMailbox is the mailbox on this machine.
type LocalMailbox struct {
	Dir       string   // absolute
	Addresses []string // the mailbox's own addresses; none means the server's default
	Relay     *Relay   // nil: mail to others stays here
}

// Config is the whole configuration, checked. It does not change after Load.
type Config struct {
	File     string   // the file that was read; empty when there is none
	Account  Account  // the one to open
	Accounts []string // the names of all accounts of the file, in order, and the local mailbox
	Keys     Keys
	UI       UI
	Snooze   Snooze
	Local    LocalMailbox
	LogFile  string // absolute; empty for no log

	file *file
}

// Load reads and checks everything. Each fault is an *Error; several are joined. It runs no
// command and touches no network: a credential is fetched when it is first asked for.
func Load(flags Flags, env Env) (*Config, error) {
	xdg.Reload()
	path, err := findFile(flags.ConfigFile)
	if err != nil {
		return nil, err
	}
	f, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c := &Config{File: path, file: f}
	var errs []error
	add := func(e error) {
		if e != nil {
			errs = append(errs, e)
		}
	}
	add(c.loadKeys())
	add(c.loadUI(env))
	add(c.loadSnooze())
	add(c.loadLocal(flags))
	add(c.loadRelay())
	if flags.LogFile != "" {
		abs, err := filepath.Abs(flags.LogFile)
		if err != nil {
			add(&Error{Where: "--log", What: err.Error()})
		}
		c.LogFile = abs
	}
	accounts, err := c.checkAccounts()
	add(err)
	if len(errs) == 0 {
		add(c.resolve(flags, env, accounts))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// Where names the file and, when the key is written in it, the line and column of the key,
// for faults that others find (a conflict of keys).
func (c *Config) Where(key ...string) string { return c.file.where(key...) }

func findFile(flag string) (string, error) {
	if flag != "" {
		abs, err := filepath.Abs(flag)
		if err != nil {
			return "", &Error{Where: "--config", What: err.Error()}
		}
		if _, err := os.Stat(abs); err != nil {
			e := fileError(abs, err)
			return "", &Error{Where: "--config", What: e.Error()}
		}
		return abs, nil
	}
	for _, dir := range append([]string{xdg.ConfigHome}, xdg.ConfigDirs...) {
		p := filepath.Join(dir, "teapost", "config.toml")
		_, err := os.Stat(p)
		if err == nil {
			return p, nil
		}
		// A file of a person's own that cannot be reached is told; silence would open another mailbox.
		if dir == xdg.ConfigHome && errors.Is(err, os.ErrPermission) {
			return "", fileError(p, err)
		}
	}
	return "", nil
}

func (c *Config) loadKeys() error {
	c.Keys = Keys{Preset: "default", Overrides: map[string]map[string][]string{}}
	var errs []error
	for _, name := range sortedKeys(c.file.raw.Keys) {
		v := c.file.raw.Keys[name]
		if name == "preset" {
			s, ok := v.(string)
			if !ok {
				errs = append(errs, &Error{Where: c.Where("keys", "preset"), What: "the value has the wrong type", Mend: `expected a text such as "gmail"`})
			}
			c.Keys.Preset = s
			continue
		}
		table, ok := v.(map[string]any)
		if !ok {
			errs = append(errs, &Error{
				Where: c.Where("keys", name), What: "there is no such key",
				Mend: `allowed in [keys]: preset, and a table for a screen such as [keys.threads] with archive = ["e"]`,
			})
			continue
		}
		c.Keys.Overrides[name] = map[string][]string{}
		for _, action := range sortedKeys(table) {
			list, ok := stringList(table[action])
			if !ok {
				errs = append(errs, &Error{Where: c.Where("keys", name, action), What: "the value has the wrong type", Mend: `expected a list of keys, such as ["e", "ctrl+e"]`})
				continue
			}
			c.Keys.Overrides[name][action] = list
		}
	}
	return errors.Join(errs...)
}

func stringList(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func (c *Config) loadUI(env Env) error {
	r := c.file.raw.UI
	c.UI = UI{
		Theme:          or(r.Theme, "auto"),
		ASCII:          or(r.ASCII, plainLocale(env)),
		Mouse:          or(r.Mouse, true),
		UndoTime:       10 * time.Second,
		ConfirmSend:    or(r.ConfirmSend, false),
		ConfirmDiscard: or(r.ConfirmDiscard, true),
	}
	var errs []error
	if !slices.Contains([]string{"auto", "dark", "light"}, c.UI.Theme) {
		errs = append(errs, &Error{Where: c.Where("ui", "theme"), What: fmt.Sprintf("%q is no theme", c.UI.Theme), Mend: "allowed: auto, dark, light"})
	}
	if n := r.UndoSeconds; n != nil {
		if *n < 0 || *n > 60 {
			errs = append(errs, &Error{Where: c.Where("ui", "undo_seconds"), What: fmt.Sprintf("%d is out of range", *n), Mend: "allowed: 0 to 60"})
		}
		c.UI.UndoTime = time.Duration(*n) * time.Second
	}
	for _, p := range []struct {
		key      string
		set      *[]string
		fallback []string
		to       *[]string
	}{
		{"editor", r.Editor, defaultEditor(env), &c.UI.Editor},
		{"opener", r.Opener, defaultOpener(), &c.UI.Opener},
	} {
		*p.to = p.fallback
		if p.set != nil {
			*p.to = *p.set
			if err := checkArgv(*p.set); err != nil {
				errs = append(errs, &Error{Where: c.Where("ui", p.key), What: err.Error(), Mend: `write a list such as ["nvim"]; no shell reads it`})
			}
		}
	}
	return errors.Join(errs...)
}

// plainLocale reports whether the locale has no characters beyond ASCII that may be drawn with: C, POSIX, or one whose
// character set is not UTF-8. Where no locale is named the terminal is taken for one of today.
func plainLocale(env Env) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v := env(name)
		if v == "" {
			continue
		}
		_, set, named := strings.Cut(v, ".")
		set, _, _ = strings.Cut(set, "@")
		return v == "C" || v == "POSIX" || named && !strings.EqualFold(strings.ReplaceAll(set, "-", ""), "utf8")
	}
	return false
}

func checkArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return fmt.Errorf("the command is empty")
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("the command holds a zero byte")
		}
	}
	return nil
}

func defaultEditor(env Env) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if argv := strings.Fields(env(name)); len(argv) > 0 {
			return argv
		}
	}
	if runtime.GOOS == "windows" {
		return []string{"notepad"}
	}
	return []string{"vi"}
}

func defaultOpener() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

func (c *Config) loadSnooze() error {
	r := c.file.raw.Snooze
	var errs []error
	clock := func(key string, v *string, def Clock) Clock {
		if v == nil {
			return def
		}
		got, ok := parseClock(*v)
		if !ok {
			errs = append(errs, &Error{Where: c.Where("snooze", key), What: fmt.Sprintf("%q is no time of day", *v), Mend: `write it as "08:00", from 00:00 to 23:59`})
		}
		return got
	}
	day := func(key string, v *string, def time.Weekday) time.Weekday {
		if v == nil {
			return def
		}
		for d := time.Sunday; d <= time.Saturday; d++ {
			if strings.EqualFold(*v, d.String()) {
				return d
			}
		}
		errs = append(errs, &Error{
			Where: c.Where("snooze", key), What: fmt.Sprintf("%q is no day", *v),
			Mend: "allowed: monday, tuesday, wednesday, thursday, friday, saturday, sunday",
		})
		return def
	}
	c.Snooze = Snooze{
		Morning:    clock("morning", r.Morning, Clock{8, 0}),
		Evening:    clock("evening", r.Evening, Clock{18, 0}),
		Weekend:    clock("weekend", r.Weekend, Clock{9, 0}),
		WeekendDay: day("weekend_day", r.WeekendDay, time.Saturday),
		WeekDay:    day("week_day", r.WeekDay, time.Monday),
	}
	return errors.Join(errs...)
}

var clockForm = regexp.MustCompile(`^([0-9]{1,2}):([0-9]{2})$`)

func parseClock(s string) (Clock, bool) {
	m := clockForm.FindStringSubmatch(s)
	if m == nil {
		return Clock{}, false
	}
	h, _ := strconv.Atoi(m[1])
	m2, _ := strconv.Atoi(m[2])
	return Clock{h, m2}, h < 24 && m2 < 60
}

func (c *Config) loadLocal(flags Flags) error {
	c.Local.Dir = filepath.Join(xdg.DataHome, "teapost")
	if d := c.file.raw.Local.Dir; d != nil {
		if *d == "" {
			return &Error{Where: c.Where("local", "dir"), What: "the folder is empty", Mend: "write a path, or leave it out for " + c.Local.Dir}
		}
		c.Local.Dir = expand(*d, filepath.Dir(c.File), xdg.Home)
	}
	if flags.DataDir != "" {
		abs, err := filepath.Abs(flags.DataDir)
		if err != nil {
			return &Error{Where: "--data", What: err.Error()}
		}
		c.Local.Dir = abs
	}
	c.Local.Dir = filepath.Clean(c.Local.Dir)
	var errs []error
	if list := c.file.raw.Local.Addresses; list != nil {
		for _, a := range *list {
			if err := checkAddress(a, true); err != nil {
				errs = append(errs, &Error{Where: c.Where("local", "addresses"), What: err.Error(), Mend: `write for example ["ada@example.com"]`})
			}
		}
		c.Local.Addresses = *list
	}
	return errors.Join(errs...)
}

func checkAddress(s string, bare bool) error {
	a, err := mail.ParseAddress(s)
	if err != nil || bare && a.Address != s {
		return fmt.Errorf("%q is no address", s)
	}
	return nil
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// checkAccounts checks every account of the file, the one to open or not.
func (c *Config) checkAccounts() (map[string]Account, error) {
	out := map[string]Account{}
	var errs []error
	for _, name := range sortedKeys(c.file.raw.Accounts) {
		r := c.file.raw.Accounts[name]
		at := func(key string) string { return c.Where("accounts", name, key) }
		if !accountName.MatchString(name) || name == LocalName || strings.HasPrefix(name, "local-") || strings.HasPrefix(name, "env-") {
			errs = append(errs, &Error{
				Where: c.Where("accounts", name), What: "this cannot be the name of an account",
				Mend: "use up to 64 of a-z 0-9 . _ -, beginning with a letter or digit; local, local-… and env-… are taken",
			})
			continue
		}
		a := Account{Kind: Remote, Name: name, BaseURL: DefaultBaseURL, From: or(r.From, "")}
		if r.BaseURL != nil {
			u, err := ParseBaseURL(*r.BaseURL)
			if err != nil {
				errs = append(errs, placed(at("base_url"), err))
			}
			a.BaseURL = u
		}
		if a.From != "" {
			if err := checkAddress(a.From, false); err != nil {
				errs = append(errs, &Error{Where: at("from"), What: err.Error(), Mend: `write for example "Ada <ada@example.com>"`})
			}
		}
		label := func(key string) string { return fmt.Sprintf("account %s, %s", name, key) }
		var given []string
		for _, cmd := range []struct {
			key  string
			argv *[]string
			kind CredentialKind
		}{{"api_key_command", r.APIKeyCommand, APIKey}, {"access_token_command", r.AccessTokenCommand, AccessToken}} {
			if cmd.argv == nil {
				continue
			}
			given = append(given, cmd.key)
			if err := checkArgv(*cmd.argv); err != nil {
				errs = append(errs, &Error{Where: at(cmd.key), What: err.Error(), Mend: `write a list such as ["pass", "show", "openemail"]; no shell reads it`})
				continue
			}
			a.src = commandSource(cmd.kind, label(cmd.key), *cmd.argv, commandTimeout)
		}
		if r.APIKeyFile != nil {
			given = append(given, "api_key_file")
			if *r.APIKeyFile == "" {
				errs = append(errs, &Error{Where: at("api_key_file"), What: "the path is empty"})
			}
			a.src = fileSource(APIKey, label("api_key_file"), expand(*r.APIKeyFile, filepath.Dir(c.File), xdg.Home))
		}
		if or(r.Keyring, false) {
			given = append(given, "keyring")
			a.src = keyringSource(APIKey, label("keyring"), KeyringUser(name, a.BaseURL), "api_key_command or api_key_file")
		}
		const ways = "one of api_key_command, api_key_file, keyring = true, access_token_command"
		switch {
		case len(given) == 0:
			errs = append(errs, &Error{Where: c.Where("accounts", name), What: "the account says nothing about its credential", Mend: "give " + ways})
		case len(given) > 1:
			errs = append(errs, &Error{Where: at(given[1]), What: "an account has one credential, here are " + strings.Join(given, " and "), Mend: "keep " + ways})
		}
		if a.src != nil {
			a.Source = a.src.label
		}
		out[name] = a
	}
	c.Accounts = append(sortedKeys(c.file.raw.Accounts), LocalName)
	if d := c.file.raw.DefaultAccount; d != nil && !slices.Contains(c.Accounts, *d) {
		errs = append(errs, &Error{Where: c.Where("default_account"), What: fmt.Sprintf("there is no account %q", *d), Mend: "allowed: " + strings.Join(c.Accounts, ", ")})
	}
	return out, errors.Join(errs...)
}

// placed puts the place on an *Error that has none.
func placed(where string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Where: where, What: e.What, Mend: e.Mend}
	}
	return &Error{Where: where, What: err.Error()}
}

// resolve chooses the account: --account, then --data (the local mailbox), then a credential
// in the environment, then default_account or the only account, then the local mailbox.
func (c *Config) resolve(flags Flags, env Env, accounts map[string]Account) error {
	base, baseFrom, err := overrideBase(flags, env)
	if err != nil {
		return err
	}
	local := c.localAccount()
	if flags.Account == "" && flags.DataDir != "" {
		flags.Account = LocalName
	}
	if flags.Account == LocalName {
		if flags.BaseURL != "" {
			return &Error{Where: "--base-url", What: "the local mailbox has no base URL", Mend: "leave out --base-url, or --account local and --data"}
		}
		c.Account = local
		return nil
	}
	if flags.Account == "" {
		if a, ok, err := envAccount(env, base); ok || err != nil {
			c.Account = a
			return err
		}
	}
	name := flags.Account
	if name == "" {
		name = or(c.file.raw.DefaultAccount, "")
	}
	if name == "" && len(accounts) > 1 {
		return &Error{
			Where: c.Where("default_account"), What: "there are several accounts and none is the default",
			Mend: fmt.Sprintf("write default_account = %q at the top, or use --account; accounts: %s", c.Accounts[0], strings.Join(c.Accounts, ", ")),
		}
	}
	if name == "" && len(accounts) == 1 {
		name = c.Accounts[0]
	}
	if name == "" || name == LocalName {
		if base != "" {
			return &Error{
				Where: baseFrom, What: fmt.Sprintf("there is a base URL, %s, but no credential for it", base),
				Mend: "put one in " + EnvAPIKey + " or " + EnvAccessToken + ", or leave the base URL away for the local mailbox",
			}
		}
		c.Account = local
		return nil
	}
	a, ok := accounts[name]
	if !ok {
		return &Error{Where: "--account", What: fmt.Sprintf("there is no account %q", name), Mend: "accounts: " + strings.Join(c.Accounts, ", ")}
	}
	if base != "" && base != a.BaseURL {
		return &Error{
			Where: baseFrom,
			What:  fmt.Sprintf("the base URL %s is not where the credential of account %q belongs, which is stored for %s", base, name, a.BaseURL),
			Mend:  "leave the base URL away, or leave --account away and give a credential in " + EnvAPIKey + " or " + EnvAccessToken,
		}
	}
	c.Account = a
	return nil
}

func overrideBase(flags Flags, env Env) (base, from string, err error) {
	v, from := flags.BaseURL, "--base-url"
	if v == "" {
		v, from = env(EnvBaseURL), EnvBaseURL
	}
	if v == "" {
		return "", "", nil
	}
	base, err = ParseBaseURL(v)
	if err != nil {
		return "", from, placed(from, err)
	}
	return base, from, nil
}

func (c *Config) localAccount() Account {
	a := Account{Kind: Local, Name: LocalName}
	if c.Local.Dir != filepath.Join(xdg.DataHome, "teapost") {
		// Each local mailbox has a lock and an outbox of its own.
		sum := sha256.Sum256([]byte(c.Local.Dir))
		a.Name = "local-" + hex.EncodeToString(sum[:6])
	}
	if len(c.Local.Addresses) > 0 {
		a.From = c.Local.Addresses[0]
	}
	return a
}

// envAccount is the account of the environment. Its name follows from the base URL alone, so
// that the outbox is found again under a new key.
func envAccount(env Env, base string) (Account, bool, error) {
	kind, name := APIKey, EnvAPIKey
	v := strings.TrimSpace(env(EnvAPIKey))
	if v == "" {
		kind, name = AccessToken, EnvAccessToken
		v = strings.TrimSpace(env(EnvAccessToken))
	}
	if v == "" {
		return Account{}, false, nil
	}
	if err := checkCredential(kind, v); err != nil {
		return Account{}, false, &Error{Where: name, What: err.Error(), Mend: "set it right, or unset it"}
	}
	if base == "" {
		base = DefaultBaseURL
	}
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(strings.TrimPrefix(base, "https://")))
	if len(clean) > 40 {
		clean = clean[:40]
	}
	sum := sha256.Sum256([]byte(base))
	return Account{
		Kind: Remote, Name: "env-" + clean + "-" + hex.EncodeToString(sum[:3]), BaseURL: base, Source: name,
		src: newSource(kind, name, func(context.Context) (string, error) { return v, nil }),
	}, true, nil
}

// ConfigDir is the folder of a person's configuration file, whether it exists or not.
func (c *Config) ConfigDir() string {
	if c.File != "" {
		return filepath.Dir(c.File)
	}
	return filepath.Join(xdg.ConfigHome, "teapost")
}

// StateDir is the folder of what must not be lost for the account: outbox, drafts, changes.
// It may not exist yet; make it with mode 0700.
func (c *Config) StateDir(account string) string {
	return filepath.Join(xdg.StateHome, "teapost", account)
}

// CacheDir is the folder of what may be deleted at any time for the account.
func (c *Config) CacheDir(account string) string {
	return filepath.Join(xdg.CacheHome, "teapost", account)
}

// DataDir is the folder of the local mailbox.
func (c *Config) DataDir() string { return c.Local.Dir }

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
