package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs the program inside the test with homes of its own.
func command(t *testing.T, ctx context.Context, given ...string) (out, errOut string, code int) {
	t.Helper()
	cmd := rootCommand()
	var o, e bytes.Buffer
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetArgs(given)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		e.WriteString(explain(err))
	}
	return o.String(), e.String(), exitCode(err)
}

func ownHomes(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		t.Setenv("XDG_"+kind+"_HOME", t.TempDir())
	}
	for _, name := range []string{"OPENEMAIL_API_KEY", "OPENEMAIL_ACCESS_TOKEN", "OPENEMAIL_BASE_URL"} {
		t.Setenv(name, "")
	}
}

func TestImportExportBackup(t *testing.T) {
	ownHomes(t)
	ctx := context.Background()
	dir := t.TempDir()
	box := filepath.Join(dir, "old.mbox")
	mail := "From a@example.com Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nSubject: hello\x1b[31m\n\nbody\n\n"
	if err := os.WriteFile(box, []byte(mail+"From a@example.com Tue Mar  3 09:30:00 2026\n\n\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	junk := filepath.Join(dir, "junk.pdf")
	if err := os.WriteFile(junk, []byte("%PDF"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, second := filepath.Join(dir, "data"), filepath.Join(dir, "second")
	out := filepath.Join(dir, "all.mbox")
	for _, step := range []struct {
		given    []string
		code     int
		out, err string
	}{
		{[]string{"export", "--data", data, out}, 1, "", "there is no mailbox in"},
		{[]string{"backup", "--data", data, out}, 1, "", "there is no mailbox in"},
		{[]string{"import", "--data", data, filepath.Join(dir, "nothing")}, 2, "", "nothing cannot be read"},
		{[]string{"import", "--data", data, box}, 0, "1 message imported, 0 there already, 1 could not be read.", "old.mbox, byte 91: the message is empty"},
		{[]string{"import", "--data", data, junk}, 1, "0 messages imported, 0 there already, 1 could not be read.", "nothing could be read"},
		{[]string{"import", "--data", data, junk, box}, 0, "0 messages imported, 1 there already, 2 could not", "no mailbox and no message"},
		{[]string{"import", "--data", data, box}, 0, "0 messages imported, 1 there already", ""},
		{[]string{"export", "--data", data, out}, 0, "", "1 message and 0 drafts"},
		{[]string{"export", "--data", data, out}, 2, "", "is there already and is not overwritten"},
		{[]string{"export", "--data", data, filepath.Join(dir, "no", "folder")}, 2, "", "there is no folder"},
		{[]string{"export", "--data", data, "-"}, 0, "Subject: hello", "standard output"},
		{[]string{"export", "--data", data, filepath.Join(dir, "all.vcf")}, 0, "", "0 contacts written to"},
		{[]string{"export", "--data", data, filepath.Join(dir, "all.vcf")}, 2, "", "is there already and is not overwritten"},
		{[]string{"export", "--data", data, filepath.Join(dir, "all.ICS")}, 0, "", "0 events written to"},
		{[]string{"import", "--data", second, out}, 0, "1 message imported, 0 there already, 0 could", ""},
		{[]string{"backup", "--data", data, filepath.Join(dir, "copy.db")}, 0, "The mailbox is copied to", "To go back to it"},
		{[]string{"backup", "--data", data, filepath.Join(dir, "copy.db")}, 2, "", "is there already"},
		{[]string{"doctor", "--rebuild", "--data", data}, 0, "The search index is new: 1 message.", ""},
	} {
		o, e, code := command(t, ctx, step.given...)
		if code != step.code || !strings.Contains(o, step.out) || !strings.Contains(e, step.err) {
			t.Errorf("%v: code %d, want %d\nout %s\nerr %s", step.given, code, step.code, o, e)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, e, code := command(t, stopped, "import", "--data", data, box); code != 1 || !strings.HasPrefix(e, "stopped: ") {
		t.Errorf("stopped: %d %s", code, e)
	}
}

// Somebody with an account is told how to open what was imported.
func TestImportTellsHowToOpenIt(t *testing.T) {
	for key, want := range map[string]string{"": "`teapost` opens", "oe_test_0123456789abcdef0123456789abcdef": "`teapost --account local` opens"} {
		ownHomes(t)
		t.Setenv("OPENEMAIL_API_KEY", key)
		box := filepath.Join(t.TempDir(), "one.eml")
		if err := os.WriteFile(box, []byte("From: a@example.com\nSubject: hello\n\nbody\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, e, code := command(t, context.Background(), "import", box); code != 0 || !strings.Contains(o, want) {
			t.Errorf("key %q: code %d\nout %s\nerr %s", key, code, o, e)
		}
	}
}
