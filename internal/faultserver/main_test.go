package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// start runs the program and returns its base URL, a writer to its standard input and a reader
// of what it prints after the lines of the start.
func start(t *testing.T, args ...string) (base string, stdin io.Writer, lines *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan int, 1)
	var errOut bytes.Buffer
	go func() { done <- run(ctx, append([]string{"--addr", "127.0.0.1:0"}, args...), inR, outW, &errOut) }()
	lines = bufio.NewScanner(outR)
	for i := 0; i < 3 && lines.Scan(); i++ {
		if u, ok := strings.CutPrefix(lines.Text(), "Ready at "); ok {
			base = u
		}
	}
	t.Cleanup(func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		_ = inW.Close()
		if code := <-done; code != 0 {
			t.Errorf("exit code %d: %s", code, errOut.String())
		}
	})
	if base == "" {
		t.Fatal("it did not say where it listens")
	}
	return base, inW, lines
}

func get(t *testing.T, base, path string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequest("GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer oe_test_x")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, v
}

func TestPlaysAndTellsWhatItPlays(t *testing.T) {
	base, stdin, lines := start(t, "503", "GET /threads: 429")
	seen := make(chan string, 10)
	go func() {
		for lines.Scan() {
			seen <- lines.Text()
		}
		close(seen)
	}()
	if status, _ := get(t, base, "/threads?folder=inbox"); status != 503 {
		t.Errorf("first: %d", status)
	}
	if l := <-seen; !strings.Contains(l, "GET") || !strings.Contains(l, `"/threads"`) || !strings.Contains(l, `"503"`) || strings.Contains(l, "folder") || strings.Contains(l, "oe_test") {
		t.Errorf("printed %q", l)
	}
	status, v := get(t, base, "/threads?folder=inbox")
	if list, _ := v["data"].([]any); status != 200 || len(list) != 6 {
		t.Errorf("then: %d, %v", status, v)
	}
	<-seen
	if _, err := io.WriteString(stdin, "boom\n418, ok\n"); err != nil {
		t.Fatal(err)
	}
	if l := <-seen; !strings.Contains(l, "no such step") {
		t.Errorf("printed %q", l)
	}
	<-seen
	if status, _ := get(t, base, "/ping"); status != 418 {
		t.Errorf("the new script: %d", status)
	}
}

func TestInFrontOfAnotherServer(t *testing.T) {
	hits := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		if r.Header.Get("Authorization") != "Bearer oe_test_x" || r.URL.EscapedPath() != "/a%2Fb" || r.URL.RawQuery != "q=1" {
			w.WriteHeader(400)
		}
		_, _ = io.WriteString(w, `{"up":true}`)
	}))
	defer up.Close()
	base, _, lines := start(t, "--upstream", up.URL, "503, ok")
	go func() {
		for lines.Scan() {
		}
	}()
	if status, _ := get(t, base, "/a%2Fb?q=1"); status != 503 || hits != 0 {
		t.Errorf("first: %d, %d hits", status, hits)
	}
	if status, v := get(t, base, "/a%2Fb?q=1"); status != 200 || v["up"] != true || hits != 1 {
		t.Errorf("then: %d, %v, %d hits", status, v, hits)
	}
}

func TestWrongUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no script":          {},
		"bad script":         {"boom"},
		"unknown flag":       {"--port", "1", "ok"},
		"not this machine":   {"--addr", "0.0.0.0:2223", "ok"},
		"no port":            {"--addr", "127.0.0.1", "ok"},
		"every address":      {"--addr", ":2223", "ok"},
		"cleartext upstream": {"--upstream", "http://mail.example.com", "ok"},
		"odd upstream":       {"--upstream", "x", "ok"},
	} {
		var out bytes.Buffer
		if code := run(context.Background(), args, strings.NewReader(""), &out, &out); code != 2 || out.Len() == 0 {
			t.Errorf("%s: code %d, %q", name, code, out.String())
		}
	}
}

type call struct {
	t *testing.T
	h http.Handler
}

func (c call) do(method, path, key, body string) (int, map[string]any) {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer oe_test_x")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		c.t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
	}
	return w.Code, v
}

func (c call) ids(folder string) []string {
	c.t.Helper()
	_, v := c.do("GET", "/threads?folder="+folder, "", "")
	var out []string
	for _, e := range v["data"].([]any) {
		out = append(out, e.(map[string]any)["id"].(string))
	}
	return out
}

func TestMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := call{t, newMailbox(time.Now).handler()}
		inbox := c.ids("inbox")
		first := inbox[0]
		if _, v := c.do("GET", "/threads/"+first, "", ""); v["messageCount"] != 1.0 || v["hasUnread"] != true {
			t.Errorf("thread %v", v)
		}
		c.do("PATCH", "/threads/"+first, "", `{"read":true,"removeLabelIds":["INBOX"],"addLabelIds":["STARRED"]}`)
		if len(c.ids("inbox")) != 5 || c.ids("archive")[0] != first || c.ids("starred")[0] != first {
			t.Error("archive and star")
		}
		second := inbox[1]
		c.do("POST", "/threads/"+second+"/trash", "", "")
		if c.ids("bin")[0] != second || len(c.ids("inbox")) != 4 {
			t.Error("trash")
		}
		c.do("POST", "/threads/"+second+"/restore", "", "")
		if len(c.ids("inbox")) != 5 {
			t.Error("restore")
		}
		wake := time.Now().Add(time.Minute).UTC().Format(stamp)
		if code, _ := c.do("POST", "/threads/"+second+"/snooze", "", `{"wakeAt":"`+wake+`"}`); code != 200 || len(c.ids("inbox")) != 4 || c.ids("snoozed")[0] != second {
			t.Error("snooze")
		}
		time.Sleep(time.Minute)
		if len(c.ids("inbox")) != 5 || len(c.ids("snoozed")) != 0 {
			t.Error("it did not wake")
		}
		if code, _ := c.do("POST", "/threads/"+second+"/snooze", "", `{"wakeAt":"2000-01-01T00:00:00.000Z"}`); code != 422 {
			t.Error("snoozed into the past")
		}
		if code, _ := c.do("GET", "/threads/none", "", ""); code != 404 {
			t.Error("an unknown thread")
		}
		if _, v := c.do("GET", "/threads?folder=inbox&limit=2&query=grace", "", ""); len(v["data"].([]any)) != 0 {
			t.Error("an archived thread is found in the inbox")
		}
		if _, v := c.do("GET", "/threads?folder=all&limit=4", "", ""); v["hasMore"] != true || v["nextPageToken"] != "4" {
			t.Errorf("paging: %v", v)
		}
	})
}

func TestSendsOncePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := call{t, newMailbox(time.Now).handler()}
		const body = `{"from":"you@example.com","to":["a@b.c"],"subject":"Hi","text":"x","cancellableForSeconds":10,"tags":{"k":"v"}}`
		_, a := c.do("POST", "/emails", "k1", body)
		_, b := c.do("POST", "/emails", "k1", body)
		if a["replayed"] != false || b["replayed"] != true || a["id"] != b["id"] || a["status"] != "queued" || len(c.ids("sent")) != 1 {
			t.Errorf("got %v and %v", a, b)
		}
		if code, v := c.do("POST", "/emails", "k1", `{"text":"other"}`); code != 422 || v["error"].(map[string]any)["code"] != "idempotency_key_reuse" {
			t.Errorf("reuse: %d %v", code, v)
		}
		time.Sleep(11 * time.Second)
		id := a["id"].(string)
		if _, v := c.do("GET", "/emails/"+id, "", ""); v["status"] != "sent" {
			t.Errorf("after the window: %v", v["status"])
		}
		if code, _ := c.do("POST", "/emails/"+id+"/cancel", "", ""); code != 409 {
			t.Errorf("a late cancel: %d", code)
		}
		_, v := c.do("POST", "/emails", "k2", body)
		if _, v = c.do("POST", "/emails/"+v["id"].(string)+"/cancel", "", ""); v["status"] != "cancelled" {
			t.Errorf("cancel: %v", v)
		}
	})
}

func TestEndpointsAnswerObjects(t *testing.T) {
	c := call{t, newMailbox(time.Now).handler()}
	for _, path := range []string{"/ping", "/keys/self", "/addresses", "/contacts/people", "/labels", "/threads/counts", "/drafts", "/emails"} {
		if code, _ := c.do("GET", path, "", ""); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
	_, d := c.do("POST", "/drafts", "", `{"to":["a@b.c"],"text":"x"}`)
	id := d["id"].(string)
	c.do("PATCH", "/drafts/"+id, "", `{"subject":"Hi"}`)
	if _, v := c.do("GET", "/drafts/"+id, "", ""); v["subject"] != "Hi" || v["html"] != "x" {
		t.Errorf("draft %v", v)
	}
	if _, v := c.do("DELETE", "/drafts/"+id, "", ""); v["deleted"] != true {
		t.Errorf("delete %v", v)
	}
	if code, _ := c.do("POST", "/drafts", "", "{"); code != 400 {
		t.Errorf("bad JSON: %d", code)
	}
	r := httptest.NewRequest("GET", "/ping", nil)
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("no key: %d", w.Code)
	}
}
