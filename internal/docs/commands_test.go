package docs

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/config"
)

// helpOf is what a command of the built program says about itself.
func helpOf(t *testing.T, program string, command ...string) string {
	t.Helper()
	cmd := exec.Command(program, append(command, "--help")...)
	home := t.TempDir()
	cmd.Env = append(config.CleanEnviron(os.Environ()), "HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v --help: %v\n%s", command, err, out)
	}
	return string(out)
}

var (
	commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)
	flagLine    = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?(--[a-z-]+)`)
	namedFlag   = regexp.MustCompile("--[a-z][a-z-]*")
	namedUse    = regexp.MustCompile("(?m)(?:^|`)teapost((?: [a-z]+)*)")
)

// TestCommandLine compares README's page of commands with what the program has.
func TestCommandLine(t *testing.T) {
	program := filepath.Join(t.TempDir(), "teapost")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	commands, flags := []string{""}, []string{}
	for i := 0; i < len(commands); i++ {
		help := helpOf(t, program, strings.Fields(commands[i])...)
		for _, m := range flagLine.FindAllStringSubmatch(help, -1) {
			if !slices.Contains(flags, m[1]) {
				flags = append(flags, m[1])
			}
		}
		_, list, ok := strings.Cut(help, "Available Commands:\n")
		if !ok {
			continue
		}
		list, _, _ = strings.Cut(list, "\n\n")
		for _, m := range commandLine.FindAllStringSubmatch(list, -1) {
			if m[1] != "help" {
				commands = append(commands, strings.TrimSpace(commands[i]+" "+m[1]))
			}
		}
	}
	page := section(t, read(t, "README.md"), "## The command line")
	var named, namedFlags []string
	for _, m := range namedUse.FindAllStringSubmatch(strings.ReplaceAll(page, "mailto:", "MAILTO:"), -1) {
		name := strings.TrimSpace(m[1])
		if strings.HasPrefix(name, "completion") { // cobra's own, which it keeps out of the list
			continue
		}
		if !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	for _, f := range namedFlag.FindAllString(page, -1) {
		if !slices.Contains(namedFlags, f) {
			namedFlags = append(namedFlags, f)
		}
	}
	same(t, "README.md, commands", named, commands)
	same(t, "README.md, flags", namedFlags, flags)
}

// TestReadmeProgramCompiles builds what the README shows as a program.
func TestReadmeProgramCompiles(t *testing.T) {
	programs := blocks(read(t, "README.md"), "go")
	if len(programs) == 0 {
		t.Fatal("README.md shows no program")
	}
	for i, text := range programs {
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), file)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("program %d of README.md: %v\n%s", i+1, err, out)
		}
		if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
			t.Errorf("program %d of README.md is not formatted (%v)", i+1, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	page := section(t, read(t, "README.md"), "## Environment")
	for _, name := range []string{config.EnvAPIKey, config.EnvAccessToken, config.EnvBaseURL} {
		if !slices.Contains(firstCells(page), name) {
			t.Errorf("README.md does not explain %s", name)
		}
	}
}
