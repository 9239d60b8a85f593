// Package config turns defaults, a TOML file, the environment and flags, in this order, into
// one checked Config, and resolves the account to open with its credential.
package config

import (
	"errors"
	"fmt"
	"maps"
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
	Signature      string        // stands under new messages of accounts that have none of their own
	ConfirmSend    bool          // ask before a message is sent
	ConfirmDiscard bool          // ask before a draft is thrown away
	Editor         []string      // argv, never empty; run without a shell
	Opener         []string      // argv of the program that opens links and files; never empty
}

// Clock is a time of day.
type Clock struct{ Hour, Minute int }

// Snooze holds the times that the presets of the snooze picker use.
type Snooze struct {
	Morning, Evening, Weekend Clock
	WeekendDay                time.Weekday // the day of "this weekend"
	WeekDay                   time.Weekday // the day of "next week"
}

// LocalMailbox is the mailbox on this machine.
type LocalMailbox struct {
	Dir       string   // absolute
	Addresses []string // the mailbox's own addresses, without names; none means the server's default
	Name      string   // the person's own name: the first that stands with an address; may be empty
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
	if err := checkHome(); err != nil {
		return nil, err
	}
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

func (c *Config) loadKeys() error {
	c.Keys = Keys{Preset: "default", Overrides: map[string]map[string][]string{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.file.raw.Keys)) {
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
		for _, action := range slices.Sorted(maps.Keys(table)) {
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
		Signature:      or(r.Signature, ""),
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
			return &Error{Where: c.Where("local", "dir"), What: "the path is empty", Mend: "write a path, or leave it out for " + c.Local.Dir}
		}
		dir, err := c.path(*d)
		if err != nil {
			return &Error{Where: c.Where("local", "dir"), What: err.Error(), Mend: "write the whole path"}
		}
		c.Local.Dir = dir
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
		for _, text := range *list {
			a, err := mail.ParseAddress(text)
			if err != nil {
				errs = append(errs, &Error{Where: c.Where("local", "addresses"), What: fmt.Sprintf("%q is no address", text), Mend: `write for example ["Ada <ada@example.com>"]`})
				continue
			}
			c.Local.Addresses = append(c.Local.Addresses, a.Address)
			if c.Local.Name == "" {
				c.Local.Name = a.Name
			}
		}
	}
	return errors.Join(errs...)
}

func checkAddress(s string) error {
	if _, err := mail.ParseAddress(s); err != nil {
		return fmt.Errorf("%q is no address", s)
	}
	return nil
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
