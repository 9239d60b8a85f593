package local

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The official Python client drives a served mailbox. TEAPOST_PYTHON names an interpreter that has the package openemail;
// .ci/run makes one where python3 and pip are.
func TestOfficialPythonClient(t *testing.T) {
	python := os.Getenv("TEAPOST_PYTHON")
	if python == "" {
		t.Skip("TEAPOST_PYTHON names no Python interpreter with the package openemail")
	}
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Addresses: []string{me, "second@example.net"}, Schedules: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var log bytes.Buffer
	const key = "oe_test_0123456789abcdef0123456789abcdef"
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() {
		served <- Serve(ctx, s, ServeOptions{
			Addr: "127.0.0.1:0", APIKey: key, Ready: func(addr string) { ready <- addr },
			Log: slog.New(slog.NewJSONHandler(&log, nil)),
		})
	}()
	var addr string
	select {
	case addr = <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, filepath.Join("testdata", "client.py"), "http://"+addr, key)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stdout), &problems
	err = cmd.Run()
	stop()
	if stopped := <-served; stopped != nil {
		t.Errorf("the server ended with %v", stopped)
	}
	if err != nil {
		t.Fatalf("%v\n%s\nthe end of the log:\n%s", err, problems.String(), tail(log.String(), 3000))
	}
	t.Logf("namespaces:\n%s", out.String())
	if strings.Contains(log.String(), key) {
		t.Error("the key is in the log")
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
