package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The official Python client drives `teapost serve`. TEAPOST_PYTHON names an interpreter that has the package openemail;
// .ci/run makes one where python3 and pip are.
func TestOfficialPythonClient(t *testing.T) {
	python := os.Getenv("TEAPOST_PYTHON")
	if python == "" {
		t.Skip("TEAPOST_PYTHON names no Python interpreter with the package openemail")
	}
	dir := t.TempDir()
	const key = "oe_test_0123456789abcdef0123456789abcdef"
	program, config, log := filepath.Join(dir, "teapost"), filepath.Join(dir, "config.toml"), filepath.Join(dir, "log")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := fmt.Sprintf("[local]\naddresses = [%q, %q]\n", me, "second@example.net")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	serve := exec.CommandContext(ctx, program, "--config", config, "--data", filepath.Join(dir, "data"), "--log", log, "serve", "--addr", "127.0.0.1:0")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OPENEMAIL_") && !strings.HasPrefix(v, "XDG_") {
			serve.Env = append(serve.Env, v)
		}
	}
	serve.Env = append(serve.Env, "OPENEMAIL_API_KEY="+key, "HOME="+dir)
	var problems strings.Builder
	serve.Stderr = &problems
	stdout, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v\n%v\n%s", err, serve.Wait(), problems.String())
	}
	client := exec.CommandContext(ctx, python, filepath.Join("testdata", "client.py"), strings.TrimSpace(address), key)
	var out, clientProblems strings.Builder
	client.Stdout, client.Stderr = io.MultiWriter(&out, os.Stdout), &clientProblems
	ran := client.Run()
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("teapost serve ended with %v\n%s", err, problems.String())
	}
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
	}
	if ran != nil {
		t.Fatalf("%v\n%s\nthe end of the log:\n%s", ran, clientProblems.String(), lines[max(0, len(lines)-3000):])
	}
	t.Logf("namespaces:\n%s", out.String())
	if s := string(lines); strings.Contains(s, key) || strings.Contains(s, "Milk?") || !strings.Contains(s, `"request":"req_`) {
		t.Error("the log holds the key, or a text, or no ids of requests")
	}
}
