package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport returns a round tripper that runs the server's handler in this process. It opens no port. It
// answers as soon as the handler has written its header, and ends with the request's context.
func (s *Server) Transport() http.RoundTripper { return NewTransport(s.Handler()) }

// NewTransport returns a round tripper over any handler. An answer streams through a pipe: the handler waits
// while nobody reads. When the request's context ends, so does the context of the handler, and reading the
// body fails with the context's error. A panic of the handler is a cut connection. The request body is
// closed when the handler has returned, and no goroutine is left then.
func NewTransport(h http.Handler) http.RoundTripper { return &transport{h} }

type transport struct{ handler http.Handler }

// errCut is what a reader sees of a handler that panicked.
var errCut = fmt.Errorf("the connection was cut: %w", io.ErrUnexpectedEOF)

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &onceBody{ReadCloser: r.Body}
	if r.Body == nil {
		body.ReadCloser = http.NoBody
	}
	if err := r.Context().Err(); err != nil {
		return nil, errors.Join(err, body.Close())
	}
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.Body = body
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "in-process"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = r.URL.Host
	}

	pr, pw := io.Pipe()
	w := &pipeWriter{pipe: pw, header: http.Header{}, started: make(chan struct{}), length: -1, noBody: r.Method == http.MethodHead}
	// The body ends with the context even while nobody reads and the handler does not look.
	unhook := context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
	ended := make(chan error, 1)
	go func() {
		err := serve(t.handler, w, in)
		unhook()
		if err == nil {
			err = w.finish()
		}
		if ctxErr := r.Context().Err(); err != nil && ctxErr != nil {
			err = ctxErr
		}
		_ = body.Close()
		if err != nil {
			pw.CloseWithError(err)
		} else {
			pw.Close() // never fails
		}
		ended <- err
		cancel()
	}()

	select {
	case <-w.started:
	case err := <-ended:
		// A handler that returned in peace has started its answer.
		select {
		case <-w.started:
		default:
			return nil, err
		}
	case <-r.Context().Done():
	}
	// Also when both came together: an answer after the end of the context is none.
	if err := r.Context().Err(); err != nil {
		return nil, errors.Join(err, pr.Close())
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          &pipeBody{pr, cancel},
		ContentLength: w.length,
		Request:       r,
	}, nil
}

// serve turns a panic of the handler into an error.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if recover() != nil {
			err = errCut
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// pipeBody ends the handler when the reader goes away early.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *pipeBody) Close() error {
	err := b.PipeReader.Close()
	b.cancel()
	return err
}

// onceBody closes a request body once.
type onceBody struct {
	io.ReadCloser
	once sync.Once
	err  error
}

func (b *onceBody) Close() error {
	b.once.Do(func() { b.err = b.ReadCloser.Close() })
	return b.err
}

// pipeWriter is the handler's side of an answer.
type pipeWriter struct {
	pipe    *io.PipeWriter
	header  http.Header // the handler's
	sent    http.Header // as it was when the answer began
	status  int
	length  int64 // declared, or -1
	written int64
	noBody  bool
	started chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.status != 0 || status >= 100 && status < 200 {
		return
	}
	w.status = status
	w.sent = w.header.Clone()
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		w.noBody = true
	}
	close(w.started)
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.noBody {
		return len(p), nil
	}
	if w.length >= 0 && w.written+int64(len(p)) > w.length {
		return 0, http.ErrContentLength
	}
	n, err := w.pipe.Write(p)
	w.written += int64(n)
	return n, err
}

// Flush starts the answer; what was written is already with the reader.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish reports whether the answer is as long as it said.
func (w *pipeWriter) finish() error {
	w.WriteHeader(http.StatusOK)
	if w.length >= 0 && w.written < w.length && !w.noBody {
		return errCut
	}
	return nil
}
