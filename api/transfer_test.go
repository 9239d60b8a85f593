package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const fileAnswer = `{"object":"file","id":"f1","filename":"a.txt","sizeBytes":5}`

// onlyReader hides every other method of a reader.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(p []byte) (int, error) { return o.r.Read(p) }

func photo(ctx context.Context, c *Client, body io.Reader, options ...CallOption) error {
	return ignore(c.Account.SetPhoto(ctx, Upload{Body: body, ContentType: "image/png"}, options...))
}

// TestUploadsRepeatTheSameBytes: a body that can be rewound is sent again from where it
// stood, another is not sent twice, and a file is uploaded once.
func TestUploadsRepeatTheSameBytes(t *testing.T) {
	file := func(t *testing.T) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "photo"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if _, err := f.WriteString("xxpicture"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(2, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, tt := range []struct {
		name string
		body func(*testing.T) io.Reader
		want int
	}{
		{"bytes", func(*testing.T) io.Reader { return bytes.NewReader([]byte("picture")) }, 3},
		{"file from its third byte", func(t *testing.T) io.Reader { return file(t) }, 3},
		{"stream", func(*testing.T) io.Reader { return onlyReader{strings.NewReader("picture")} }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body(t)
			synctest.Test(t, func(t *testing.T) {
				rec := &recorder{next: answering(503, "")}
				err := photo(t.Context(), testClient(t, rec), body)
				if e := asError(t, err); e.Attempts != tt.want || len(rec.all()) != tt.want {
					t.Errorf("%d requests: %v", len(rec.all()), err)
				}
				for _, r := range rec.all() {
					if string(r.body) != "picture" || r.header.Get("Content-Type") != "image/png" {
						t.Errorf("sent %q as %s", r.body, r.header.Get("Content-Type"))
					}
				}
			})
		})
	}
	rec := &recorder{next: answering(503, "")}
	_, err := testClient(t, rec).Files.Upload(t.Context(), Upload{Body: strings.NewReader("x"), Filename: "ä b.txt"})
	if e := asError(t, err); e.Attempts != 1 || len(rec.all()) != 1 {
		t.Errorf("%v", err)
	}
	if r := rec.all()[0]; r.query != "filename=%C3%A4+b.txt" || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%s %v", r.query, r.header)
	}
}

// TestUploadOnTheWire: the length is announced when it is known.
func TestUploadOnTheWire(t *testing.T) {
	var lengths []int64
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		lengths, bodies = append(lengths, r.ContentLength), append(bodies, string(b))
		_, _ = io.WriteString(w, fileAnswer)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	for _, up := range []Upload{
		{Body: strings.NewReader("hello")},
		{Body: onlyReader{strings.NewReader("hello")}},
		{Body: onlyReader{strings.NewReader("hello")}, Size: 5},
		{Body: strings.NewReader("")},
		{Body: onlyReader{strings.NewReader("hello and more")}, Size: 5},
	} {
		up.Filename = "a"
		if f, err := c.Files.Upload(t.Context(), up); err != nil || f.ID != "f1" || f.SizeBytes != 5 {
			t.Fatalf("%+v %v", f, err)
		}
	}
	for i, want := range []int64{5, -1, 5, 0, 5} {
		if lengths[i] != want || bodies[i] != "hello"[:min(5, max(0, want)*5, 5)] && want != -1 {
			t.Errorf("upload %d: length %d, body %q", i, lengths[i], bodies[i])
		}
	}
}

// changing gives other bytes after each rewind.
type changing struct {
	*strings.Reader
	versions []string
}

func (c *changing) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart && len(c.versions) > 0 {
		c.Reader = strings.NewReader(c.versions[0])
		c.versions = c.versions[1:]
	}
	return c.Reader.Seek(offset, whence)
}

// TestUploadThatChanged: other bytes than the first attempt's never arrive whole.
func TestUploadThatChanged(t *testing.T) {
	for name, second := range map[string]string{"other bytes": "pictura", "cut": "pic"} {
		synctest.Test(t, func(t *testing.T) {
			// Opened, measured, rewound for the first attempt, and for the second.
			body := &changing{strings.NewReader("picture"), []string{"picture", "picture", second}}
			rec := &recorder{next: answering(503, "")}
			err := photo(t.Context(), testClient(t, rec), body)
			var e *TransferError
			if !errors.As(err, &e) || e.Attempts != 2 || e.Op != "account.setPhoto" || !strings.HasPrefix(e.Error(), "account.setPhoto: ") {
				t.Errorf("%s: %v", name, err)
			}
			sent := rec.all()
			if len(sent) != 2 || string(sent[0].body) != "picture" || string(sent[1].body) == second && len(second) == 7 {
				t.Errorf("%s: sent %d, %q", name, len(sent), sent[len(sent)-1].body)
			}
		})
	}
	// What the first attempt had not reached may differ: nobody saw it.
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		var got string
		c := testClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				_, _ = io.ReadFull(r.Body, make([]byte, 3))
				return reply(503, ""), nil
			}
			b, err := io.ReadAll(r.Body)
			got = string(b)
			return reply(200, `{}`), err
		}))
		if err := photo(t.Context(), c, &changing{strings.NewReader("picture"), []string{"picture", "picture", "picTURE"}}); err != nil || got != "picTURE" {
			t.Errorf("%q %v", got, err)
		}
	})
}

type failing struct {
	r   io.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// TestUploadWhoseSourceFails is no network failure, and is not repeated.
func TestUploadWhoseSourceFails(t *testing.T) {
	broken := errors.New("disk on fire")
	rec := &recorder{next: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("body failed") })}
	var phases []Phase
	err := photo(t.Context(), testClient(t, rec), failing{strings.NewReader("pic"), broken}, WithObserver(func(ev Event) { phases = append(phases, ev.Phase) }))
	var e *TransferError
	if !errors.As(err, &e) || !errors.Is(err, broken) || len(rec.all()) != 1 {
		t.Errorf("%v", err)
	}
	if phases[len(phases)-1] != GaveUp {
		t.Errorf("%v", phases)
	}
	for _, up := range []Upload{{}, {Body: strings.NewReader("x"), Size: -1}} {
		if _, err := testClient(t, rec).Account.SetPhoto(t.Context(), up); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", up, err)
		}
	}
	for _, name := range []string{"", " \t"} {
		if _, err := testClient(t, rec).Files.Upload(t.Context(), Upload{Body: strings.NewReader("x"), Filename: name}); !errors.Is(err, ErrArgument) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if _, err := testClient(t, rec).Account.SetPhoto(t.Context(), Upload{Body: strings.NewReader("x"), ContentType: "a\r\nb: c"}); !errors.Is(err, ErrArgument) {
		t.Errorf("content type: %v", err)
	}
	if len(rec.all()) != 1 {
		t.Error("something was sent")
	}
}

// slow gives one byte a pause.
type slow struct {
	r     io.Reader
	pause time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.r.Read(p[:1])
}

// TestProgress: an upload and a download tell how far they are, at most ten times a
// second, before the call's final event, and with the whole at the end.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		observe := WithObserver(func(ev Event) { events = append(events, ev) })
		c := testClient(t, &recorder{next: answering(200, fileAnswer)})
		up := Upload{Body: slow{strings.NewReader(strings.Repeat("x", 100)), 20 * time.Millisecond}, Size: 100, Filename: "a"}
		if _, err := c.Files.Upload(t.Context(), up, observe); err != nil {
			t.Fatal(err)
		}
		checkProgress(t, events, 100, 100)

		events = nil
		c = testClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			resp := reply(200, "")
			resp.ContentLength = 100
			resp.Body = io.NopCloser(slow{strings.NewReader(strings.Repeat("x", 100)), 20 * time.Millisecond})
			return resp, nil
		}))
		if _, err := c.Files.Download(t.Context(), "f1", io.Discard, 0, observe); err != nil {
			t.Fatal(err)
		}
		checkProgress(t, events, 100, 100)
	})
}

func checkProgress(t *testing.T, events []Event, bytes, total int64) {
	t.Helper()
	var last Event
	n := 0
	for i, ev := range events {
		if ev.Phase != Progress {
			continue
		}
		if n++; ev.Bytes <= last.Bytes || ev.Total != total || i == len(events)-1 {
			t.Errorf("event %d: %+v", i, ev)
		}
		last = ev
	}
	if n < 10 || n > 25 || last.Bytes != bytes {
		t.Errorf("%d events of progress, the last %+v", n, last)
	}
	if Progress.Final() || Progress.String() != "progress" {
		t.Error("progress ends a call")
	}
}

// TestUploadCancelled: a call that is cancelled returns at once and reads no more, even
// from a source that blocks.
func TestUploadCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		var wg sync.WaitGroup
		var final []Event
		c := testClient(t, roundTrip(func(req *http.Request) (*http.Response, error) {
			wg.Go(func() { _, _ = io.Copy(io.Discard, req.Body) })
			<-req.Context().Done()
			return nil, req.Context().Err()
		}))
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		err := photo(ctx, c, r, WithObserver(func(ev Event) { final = append(final, ev) }))
		if !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		n := len(final)
		_, _ = w.Write([]byte("late"))
		_ = w.Close()
		wg.Wait()
		if len(final) != n || final[n-1].Phase != Cancelled {
			t.Errorf("%v", final)
		}
	})
}

// TestUploadTimeouts: two operations get ten minutes, unless the call or the client says otherwise.
func TestUploadTimeouts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		client  time.Duration
		options []CallOption
		photo   bool
		want    time.Duration // 0: none
	}{
		{name: "default", want: 600 * time.Second},
		{name: "longer client", client: 900 * time.Second, want: 900 * time.Second},
		{name: "call's own", options: []CallOption{WithTimeout(time.Second)}, want: time.Second},
		{name: "off", client: -1, want: 0},
		{name: "another upload", photo: true, want: 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := testClient(t, after(time.Hour, answering(200, fileAnswer)), func(o *Options) { o.Timeout, o.MaxRetries = tt.client, ptr(0) })
			start := time.Now()
			var err error
			if tt.photo {
				err = photo(t.Context(), c, strings.NewReader("x"), tt.options...)
			} else {
				_, err = c.Files.Upload(t.Context(), Upload{Body: strings.NewReader("x"), Filename: "a"}, tt.options...)
			}
			took := time.Since(start)
			if tt.want == 0 && (err != nil || took != time.Hour) || tt.want > 0 && (!errors.Is(err, ErrTimeout) || took != tt.want) {
				t.Errorf("%s: %v after %v", tt.name, err, took)
			}
		})
	}
}

// TestEarlyAnswer: a server that answers before it has read everything is heard, and
// nothing reads the caller's body afterwards.
func TestEarlyAnswer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(413)
		_, _ = io.WriteString(w, `{"error":{"code":"body_too_large","message":"too much"}}`)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey, MaxRetries: ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var reads atomic.Int64
	body := counting{bytes.NewReader(make([]byte, 8<<20)), &reads}
	_, err = c.Files.Upload(t.Context(), Upload{Body: body, Filename: "big"})
	n := reads.Load()
	var answer *Error
	var network *NetworkError // the connection may be cut before the answer is read
	if !errors.As(err, &answer) && !errors.As(err, &network) || answer != nil && answer.Code != "body_too_large" {
		t.Errorf("%v", err)
	}
	time.Sleep(10 * time.Millisecond)
	if reads.Load() != n {
		t.Error("the body was read after the call")
	}
}

type counting struct {
	r     io.Reader
	reads *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) { c.reads.Add(1); return c.r.Read(p) }

// stepwise answers with each of its functions in turn, and the last from then on.
func stepwise(steps ...roundTrip) (roundTrip, *int) {
	calls := new(int)
	return func(r *http.Request) (*http.Response, error) {
		step := steps[min(*calls, len(steps)-1)]
		*calls++
		return step(r)
	}, calls
}

// cut answers with a body that ends too early.
func cut(body string, length int64) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		resp := reply(200, body)
		resp.ContentLength = length
		return resp, nil
	}
}

// TestDownloads: bytes go to the writer as they are, and an attempt is repeated only
// when what was written can be taken back.
func TestDownloads(t *testing.T) {
	file := func(t *testing.T) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		_, _ = f.WriteString("head:")
		return f
	}
	content := "\xef\xbb\xbfbytes \x00\xff"
	for _, tt := range []struct {
		name  string
		steps []roundTrip
		kind  string // buffer, file, stream
		want  string // what was written, without the head
		calls int
		err   error
	}{
		{"at once", []roundTrip{answering(200, content, "Content-Type", "image/png", "Content-Disposition", `attachment; filename="a.png"`)}, "stream", content, 1, nil},
		{"busy first", []roundTrip{answering(503, "busy"), answering(200, content)}, "stream", content, 2, nil},
		{"cut, to a buffer", []roundTrip{cut("byt", 12), answering(200, content)}, "buffer", content, 2, nil},
		{"cut, to a file", []roundTrip{cut("longer than the rest of it", 40), answering(200, content)}, "file", content, 2, nil},
		{"cut, to a stream", []roundTrip{cut("byt", 12), answering(200, content)}, "stream", "byt", 1, errShortBody},
		{"cut before the first byte", []roundTrip{cut("", 12), answering(200, content)}, "stream", content, 2, nil},
		{"cut for ever", []roundTrip{cut("byt", 12)}, "buffer", "byt", 3, errShortBody},
		{"not there", []roundTrip{answering(404, "")}, "buffer", "", 1, ErrNotFound},
		{"empty", []roundTrip{answering(200, "")}, "buffer", "", 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var buf bytes.Buffer
			buf.WriteString("head:")
			var w io.Writer = &buf
			var f *os.File
			switch tt.kind {
			case "stream":
				w = struct{ io.Writer }{&buf}
			case "file":
				f = file(t)
				w = f
			}
			synctest.Test(t, func(t *testing.T) {
				transport, calls := stepwise(tt.steps...)
				got, err := testClient(t, transport).Files.Download(t.Context(), "f1", w, 0)
				if !errors.Is(err, tt.err) || *calls != tt.calls {
					t.Errorf("%d calls, %v", *calls, err)
				}
				if err == nil && got.Bytes != int64(len(tt.want)) {
					t.Errorf("%+v", got)
				}
				if tt.name == "at once" && (got.ContentType != "image/png" || got.Filename != "a.png") {
					t.Errorf("%+v", got)
				}
			})
			written := buf.String()
			if f != nil {
				b, err := os.ReadFile(f.Name())
				if err != nil {
					t.Fatal(err)
				}
				written = string(b)
			}
			if written != "head:"+tt.want {
				t.Errorf("wrote %q, want %q", written, tt.want)
			}
		})
	}
}

// TestDownloadLimit: no byte beyond the limit is written, and nothing at all when the
// server announces too many.
func TestDownloadLimit(t *testing.T) {
	unknown := func(*http.Request) (*http.Response, error) {
		resp := reply(200, "0123456789")
		resp.ContentLength = -1
		return resp, nil
	}
	for _, tt := range []struct {
		name      string
		transport roundTrip
		limit     int64
		want      string
		fits      bool
	}{
		{"just fits", answering(200, "0123456789"), 10, "0123456789", true},
		{"announced", answering(200, "0123456789"), 9, "", false},
		{"not announced", unknown, 4, "0123", false},
		{"not announced, fits", unknown, 10, "0123456789", true},
	} {
		var buf bytes.Buffer
		_, err := testClient(t, tt.transport).Exports.Download(t.Context(), "x1", &buf, tt.limit)
		if tt.fits != (err == nil) || err != nil && !errors.Is(err, ErrTooLarge) || buf.String() != tt.want {
			t.Errorf("%s: %q %v", tt.name, buf.String(), err)
		}
	}
	if _, err := testClient(t, answering(200, "x")).Files.Download(t.Context(), "f", nil, 0); !errors.Is(err, ErrArgument) {
		t.Errorf("%v", err)
	}
}

type badWriter struct{ n int }

func (b badWriter) Write(p []byte) (int, error) {
	if b.n < len(p) {
		return b.n, nil
	}
	return 0, errors.New("disk full")
}

// TestDownloadWhoseWriterFails is not repeated.
func TestDownloadWhoseWriterFails(t *testing.T) {
	for _, w := range []io.Writer{badWriter{n: 1 << 20}, badWriter{n: 1}} {
		transport, calls := stepwise(answering(200, "some bytes"))
		_, err := testClient(t, transport).Files.Download(t.Context(), "f", w, 0)
		var e *TransferError
		if !errors.As(err, &e) || *calls != 1 || e.Op != "files.download" || e.Attempts != 1 {
			t.Errorf("%d calls, %v", *calls, err)
		}
	}
}

// TestEventText: the text of an event is not JSON, and is made valid.
func TestEventText(t *testing.T) {
	got, err := testClient(t, answering(200, "\xef\xbb\xbfBEGIN:VCALENDAR\r\nX:\xff\r\n")).Calendar.GetEventICS(t.Context(), "e1")
	if err != nil || got != "BEGIN:VCALENDAR\r\nX:\uFFFD\r\n" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := testClient(t, answering(200, "")).Calendar.GetEventICS(t.Context(), "e1"); !errors.Is(err, ErrUnrecognised) {
		t.Error(err)
	}
}

// TestImportFiles: create, every piece of every file in order, start.
func TestImportFiles(t *testing.T) {
	const made = `{"object":"import","id":"i/1","chunkBytes":4,"status":"uploading"}`
	answers := func(failAt string) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			switch path := r.URL.EscapedPath(); {
			case strings.Contains(path, failAt) && failAt != "":
				return reply(400, `{"error":{"code":"no"}}`), nil
			case strings.Contains(path, "/chunks/"):
				return reply(200, `{"object":"import_chunk"}`), nil
			case strings.HasSuffix(path, "/start"):
				return reply(200, strings.Replace(made, "uploading", "running", 1)), nil
			}
			return reply(200, made), nil
		}
	}
	in := ImportFilesInput{AddressID: "a1", Files: []ImportSource{
		{Name: "one.mbox", Body: strings.NewReader("0123456789"), Size: 10}, {Name: "empty", Body: strings.NewReader("")}, {Name: "two.eml", Body: strings.NewReader("abcd"), Size: 4},
	}, Options: &ImportOptions{KeepInbox: Set(true)}}
	var progress []int64
	in.Progress = func(sent, total int64) {
		if progress = append(progress, sent); total != 14 {
			t.Errorf("total %d", total)
		}
	}
	rec := &recorder{next: answers("")}
	calls := map[string]bool{}
	got, err := testClient(t, rec).Imports.ImportFiles(t.Context(), in, WithCallID("c1"), WithObserver(func(e Event) {
		if e.Phase.Final() {
			calls[e.Call] = true
		}
	}))
	if err != nil || got.Status != "running" {
		t.Fatalf("%+v %v", got, err)
	}
	if len(calls) != len(rec.all()) || !calls["c1"] || calls[""] {
		t.Errorf("%d requests are the calls %v", len(rec.all()), calls)
	}
	var lines []string
	for _, r := range rec.all() {
		lines = append(lines, r.method+" "+r.path+" "+string(r.body))
	}
	want := `POST /imports {"addressId":"a1","files":[{"name":"one.mbox","bytes":10},{"name":"empty","bytes":0},{"name":"two.eml","bytes":4}],"options":{"keepInbox":true}}
PUT /imports/i%2F1/files/0/chunks/0 0123
PUT /imports/i%2F1/files/0/chunks/1 4567
PUT /imports/i%2F1/files/0/chunks/2 89
PUT /imports/i%2F1/files/2/chunks/0 abcd
POST /imports/i%2F1/start `
	if strings.Join(lines, "\n") != want {
		t.Errorf("sent\n%s", strings.Join(lines, "\n"))
	}
	if len(progress) != 4 || progress[3] != 14 {
		t.Errorf("progress %v", progress)
	}
	for _, failAt := range []string{"/files/0/chunks/1", "/start"} {
		got, err := testClient(t, answers(failAt)).Imports.ImportFiles(t.Context(), in)
		if err == nil || got == nil || got.ID != "i/1" {
			t.Errorf("%s: %+v %v", failAt, got, err)
		}
	}
	if got, err := testClient(t, answering(200, `{"id":"i1"}`)).Imports.ImportFiles(t.Context(), in); err == nil || got.ID != "i1" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := testClient(t, answering(500, "")).Imports.ImportFiles(t.Context(), in); err == nil {
		t.Error("no error")
	}
}
