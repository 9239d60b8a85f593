package docs

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/keymap"
)

// codes are the words between back quotes.
func codes(s string) []string {
	var out []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

// emptyHome keeps a person's own configuration out.
func emptyHome(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS"} {
		t.Setenv(name, t.TempDir())
	}
}

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Flags{ConfigFile: file}, func(string) string { return "" })
}

// knownKeys asks the configuration itself which keys a table may have.
func knownKeys(t *testing.T, table string) []string {
	t.Helper()
	text := "no_such_key = 1\n"
	if table != "" {
		text = "[" + table + "]\n" + text
	}
	_, err := load(t, text)
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("[%s] with an unknown key: %v", table, err)
	}
	_, list, ok := strings.Cut(e.Mend, ": ")
	if !ok {
		t.Fatalf("[%s]: %q does not list what is allowed", table, e.Mend)
	}
	return strings.Split(list, ", ")
}

// tables are the headings of docs/configuration.md with the tables of the file.
var tables = map[string]string{"### Top level": "", "### [accounts.NAME]": "accounts.work", "### [ui]": "ui", "### [snooze]": "snooze", "### [local]": "local", "### [local.relay]": "local.relay"}

func TestEveryOptionIsDocumented(t *testing.T) {
	emptyHome(t)
	page := read(t, "docs/configuration.md")
	example := read(t, "docs/config.toml")
	var top []string
	for heading, table := range tables {
		real := knownKeys(t, table)
		if table == "" {
			for _, key := range real {
				if key == "keys" || slices.ContainsFunc(slices.Collect(maps.Values(tables)), func(name string) bool { return strings.HasPrefix(name, key) }) {
					continue // a table, which has a heading of its own
				}
				top = append(top, key)
			}
			real = top
		}
		// A table within a table has a heading of its own.
		real = slices.DeleteFunc(real, func(key string) bool {
			return table != "" && slices.Contains(slices.Collect(maps.Values(tables)), table+"."+key)
		})
		same(t, "docs/configuration.md, "+heading, firstCells(section(t, page, heading)), real)
		for _, key := range real {
			if !regexp.MustCompile(`(?m)^(# (or )?)?` + key + ` = `).MatchString(example) {
				t.Errorf("docs/config.toml does not show %s of [%s]", key, table)
			}
		}
	}
}

func TestExamplesLoad(t *testing.T) {
	emptyHome(t)
	examples := map[string]string{"docs/config.toml": read(t, "docs/config.toml")}
	for name, page := range pages(t) {
		for i, text := range blocks(page, "toml") {
			examples[name+" #"+string(rune('1'+i))] = text
		}
	}
	if len(examples) < 2 {
		t.Error("no page shows a configuration")
	}
	for name, text := range examples {
		c, err := load(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := keymap.New(c.Keys.Preset, c.Keys.Overrides); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The full example says what holds without it, so that a person can see what a line changes. With the lines that are
// switched off it must still be a configuration.
func TestFullExample(t *testing.T) {
	emptyHome(t)
	text := read(t, "docs/config.toml")
	got, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Load(config.Flags{}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{{"[ui]", got.UI, want.UI}, {"[snooze]", got.Snooze, want.Snooze}, {"[local]", got.Local, want.Local}, {"[keys]", got.Keys, want.Keys}} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("docs/config.toml, %s is %+v; the default is %+v", c.what, c.got, c.want)
		}
	}
	if got.Account.Kind != config.Local {
		t.Errorf("docs/config.toml opens %s", got.Account.Name)
	}

	all := regexp.MustCompile(`(?m)^# (\[|[a-z_-]+ = )`).ReplaceAllString(text, "$1")
	c, err := load(t, all)
	if err != nil {
		t.Fatalf("docs/config.toml with every line switched on: %v", err)
	}
	if _, err := keymap.New(c.Keys.Preset, c.Keys.Overrides); err != nil {
		t.Errorf("docs/config.toml with every line switched on: %v", err)
	}
	if c.Account.Kind != config.Remote || c.Account.BaseURL != config.DefaultBaseURL {
		t.Errorf("with every line switched on it opens %+v", c.Account)
	}
}
