package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Upload is a body of bytes. The client reads Body while it sends and never closes it.
// Where an operation may be repeated, a failed attempt is followed by another only when
// Body is an io.Seeker: the client goes back to where Body stood and sends the same
// bytes; a Body that has changed meanwhile ends the call with a TransferError. The
// client's time limit covers a whole attempt: use WithTimeout for what takes longer.
type Upload struct {
	Body io.Reader
	// Filename names the bytes, for operations that keep a name. FilesService.Upload needs it.
	Filename    string
	ContentType string // empty: application/octet-stream, or what the operation calls for
	// Size is how many bytes Body gives. 0: not known, unless Body is an io.Seeker.
	Size int64
}

// Downloaded describes bytes that were written to a caller's writer. A writer can be
// rewound, so that a failed attempt may be repeated even after its first byte, when it is
// a *bytes.Buffer, or an io.Seeker with Truncate such as *os.File.
type Downloaded struct {
	Bytes       int64
	ContentType string // as the server calls it
	Filename    string // from Content-Disposition; foreign text: clean it; empty: none
}

// TransferError is an upload whose Body, or a download whose writer, failed on this
// side. The call is not repeated.
type TransferError struct {
	Op       string
	Attempts int
	Err      error
}

// Error names the operation and what failed.
func (e *TransferError) Error() string {
	if e.Op == "" {
		return e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error()
}

// Unwrap returns the error of the reader or writer.
func (e *TransferError) Unwrap() error { return e.Err }

var (
	errChanged    = errors.New("what is uploaded has changed since the last attempt")
	errShrunk     = errors.New("what is uploaded ended early")
	errUploadOver = errors.New("the attempt is over")
)

// progressPause is the time between two progress events of an attempt.
const progressPause = 100 * time.Millisecond

// upload sends bytes and decodes the answer.
func upload[T any](ctx context.Context, c *core, name string, args []string, q query, up Upload, options []CallOption) (*T, error) {
	op, _ := OperationByName(name)
	rq := call{op: op, repeats: op.Repeats(), keyed: op.Key, contentType: up.ContentType}
	var early error
	rq.path, early = buildPath(op.Path, args)
	if fixed := fixedContentTypes[name]; fixed != "" {
		rq.contentType = fixed
	}
	if rq.contentType == "" {
		rq.contentType = "application/octet-stream"
	}
	if op.knows("filename") {
		q.text("filename", up.Filename)
	}
	rq.query = q.encode()
	out := new(T)
	rq.decode = decodeObject(op, out)
	if early == nil && name == "files.upload" && strings.TrimSpace(up.Filename) == "" {
		early = argErr("a file needs a name")
	}
	if early == nil {
		rq.upload, early = newSource(up, rq.repeats)
	}
	if rq.upload != nil && rq.upload.seeker == nil {
		rq.repeats = false
	}
	if _, err := c.run(ctx, rq, early, options); err != nil {
		return nil, err
	}
	return out, nil
}

// fixedContentTypes are the operations that take one kind of bytes.
var fixedContentTypes = map[string]string{"calendar.importIcs": "text/calendar", "contacts.importVcf": "text/vcard"}

// source is what an upload sends, over all of its attempts.
type source struct {
	r      io.Reader
	seeker io.Seeker // nil: the bytes can be had only once
	start  int64     // where r stood
	size   int64     // -1: not known
	fail   error     // of r: the call cannot go on

	// The furthest any attempt came, and the digest of the bytes up to there.
	seen   int64
	digest []byte
}

func newSource(up Upload, repeats bool) (*source, error) {
	if up.Body == nil {
		return nil, argErr("an upload needs a body")
	}
	if up.Size < 0 {
		return nil, argErr("the size of an upload is negative")
	}
	s := &source{r: up.Body, size: -1}
	if up.Size > 0 {
		s.size = up.Size
	}
	seeker, ok := up.Body.(io.Seeker)
	if !ok {
		return s, nil
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return s, nil // a pipe, for example, though it has the method
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = seeker.Seek(start, io.SeekStart)
	}
	if err != nil {
		return nil, &ArgumentError{Message: "the upload cannot be read", Err: err}
	}
	if s.size < 0 {
		s.size = max(0, end-start)
	}
	if repeats {
		s.seeker, s.start = seeker, start
	}
	return s, nil
}

// begin readies the body of an attempt. progress may be called from another goroutine
// until end returns.
func (s *source) begin(progress func(sent, total int64)) (*uploadBody, error) {
	if s.seeker != nil {
		if _, err := s.seeker.Seek(s.start, io.SeekStart); err != nil {
			s.fail = err
			return nil, err
		}
	}
	return &uploadBody{source: s, busy: make(chan struct{}, 1), hash: sha256.New(), progress: progress}, nil
}

// uploadBody is the body of one attempt.
type uploadBody struct {
	source   *source
	busy     chan struct{} // holds one while the source is read
	hash     hash.Hash
	sent     int64
	progress func(sent, total int64)

	mu       sync.Mutex // guards what follows, and progress
	over     bool
	reported time.Time
}

// Read gives the next bytes of the source.
func (u *uploadBody) Read(p []byte) (int, error) {
	u.busy <- struct{}{}
	defer func() { <-u.busy }()
	if u.isOver() {
		return 0, errUploadOver
	}
	s := u.source
	if s.fail != nil {
		return 0, s.fail
	}
	if s.size >= 0 {
		if u.sent == s.size {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), s.size-u.sent)]
	}
	n, err := s.r.Read(p)
	if s.seeker != nil && n > 0 {
		if !u.check(p[:n]) {
			s.fail = errChanged
			return 0, errChanged
		}
	}
	u.sent += int64(n)
	if err == io.EOF && s.size >= 0 && u.sent < s.size {
		err = errShrunk
	}
	if err != nil && err != io.EOF {
		s.fail = err
	}
	if n > 0 {
		u.report(err == io.EOF || u.sent == s.size)
	}
	return n, err
}

// check digests the next bytes and reports whether they are those that were sent before.
func (u *uploadBody) check(b []byte) bool {
	s := u.source
	if before := s.seen - u.sent; before > 0 && before <= int64(len(b)) {
		u.hash.Write(b[:before])
		if !bytes.Equal(u.hash.Sum(nil), s.digest) {
			return false
		}
		b = b[before:]
	}
	u.hash.Write(b)
	return true
}

func (u *uploadBody) isOver() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.over
}

func (u *uploadBody) report(last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if u.over || !last && now.Sub(u.reported) < progressPause {
		return
	}
	u.reported = now
	u.progress(u.sent, max(0, u.source.size))
}

// Close leaves the source open.
func (u *uploadBody) Close() error { return nil }

// end stops the attempt from reading. It waits for a read that is under way, but no
// longer than the caller does.
func (u *uploadBody) end(ctx context.Context) {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	select {
	case u.busy <- struct{}{}:
		if s := u.source; s.seeker != nil && u.sent > s.seen {
			s.seen, s.digest = u.sent, u.hash.Sum(nil)
		}
		<-u.busy
	case <-ctx.Done():
	}
}

// sink is where a download goes, over all of its attempts.
type sink struct {
	w      io.Writer
	max    int64
	wrote  int64
	rewind func() error // nil: what was written stays
	fail   error        // of w: the call cannot go on
}

func newSink(w io.Writer, maxBytes int64) (*sink, error) {
	if w == nil {
		return nil, argErr("a download needs a writer")
	}
	if maxBytes <= 0 {
		maxBytes = maxAnswerBytes
	}
	s := &sink{w: w, max: maxBytes}
	switch w := w.(type) {
	case *bytes.Buffer:
		before := w.Len()
		s.rewind = func() error { w.Truncate(before); return nil }
	case interface {
		io.Seeker
		Truncate(size int64) error
	}:
		start, err := w.Seek(0, io.SeekCurrent)
		if err != nil {
			break
		}
		s.rewind = func() error {
			if err := w.Truncate(start); err != nil {
				return err
			}
			_, err := w.Seek(start, io.SeekStart)
			return err
		}
	}
	return s, nil
}

// copy writes an answer's body. The error is one of reading; one of writing is in fail.
// tooLarge says that there is more than may be written.
func (s *sink) copy(resp *http.Response, progress func(got, total int64)) (n int64, tooLarge bool, err error) {
	if s.wrote > 0 {
		if s.fail = s.rewind(); s.fail != nil {
			return 0, false, nil
		}
		s.wrote = 0
	}
	if resp.ContentLength > s.max {
		return 0, true, nil
	}
	buf := make([]byte, 32<<10)
	var reported time.Time
	for {
		got, readErr := resp.Body.Read(buf)
		keep := int(min(int64(got), s.max-n))
		if keep > 0 {
			wrote, writeErr := s.w.Write(buf[:keep])
			s.wrote += int64(max(0, wrote))
			n += int64(keep)
			if writeErr == nil && wrote < keep {
				writeErr = io.ErrShortWrite
			}
			if s.fail = writeErr; writeErr != nil {
				return n, false, nil
			}
		}
		switch {
		case keep < got:
			return n, true, nil
		case readErr == io.EOF && resp.ContentLength > n && !resp.Uncompressed:
			return n, false, errShortBody
		case readErr == io.EOF:
			progress(n, n)
			return n, false, nil
		case readErr != nil:
			return n, false, readErr
		}
		if now := time.Now(); now.Sub(reported) >= progressPause {
			reported = now
			progress(n, max(0, resp.ContentLength))
		}
	}
}

// download writes the bytes of an answer to w.
func download(ctx context.Context, c *core, name string, args []string, q query, w io.Writer, maxBytes int64, options []CallOption) (*Downloaded, error) {
	op, _ := OperationByName(name)
	rq := call{op: op, query: q.encode(), repeats: op.Repeats()}
	var early error
	if rq.path, early = buildPath(op.Path, args); early == nil {
		rq.sink, early = newSink(w, maxBytes)
	}
	out := new(Downloaded)
	rq.decode = func(ans *answer) error {
		*out = Downloaded{Bytes: ans.bytes, ContentType: ans.header.Get("Content-Type")}
		if _, params, err := mime.ParseMediaType(ans.header.Get("Content-Disposition")); err == nil {
			out.Filename = params["filename"]
		}
		return nil
	}
	if _, err := c.run(ctx, rq, early, options); err != nil {
		return nil, err
	}
	return out, nil
}

// fetchText makes a call whose answer is text.
func fetchText(ctx context.Context, c *core, name string, args []string, q query, accept string, options []CallOption) (string, error) {
	op, _ := OperationByName(name)
	rq := call{op: op, query: q.encode(), repeats: op.Repeats(), accept: accept, raw: true}
	var early error
	rq.path, early = buildPath(op.Path, args)
	var out string
	rq.decode = func(ans *answer) error {
		if ans.body == nil {
			return errEmptyAnswer
		}
		out = strings.ToValidUTF8(string(bytes.TrimPrefix(ans.body, bom)), "\uFFFD")
		return nil
	}
	if _, err := c.run(ctx, rq, early, options); err != nil {
		return "", err
	}
	return out, nil
}
