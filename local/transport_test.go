package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

type closeCounter struct {
	io.Reader
	closed atomic.Int32
}

func (c *closeCounter) Close() error { c.closed.Add(1); return nil }

func roundTrip(t *testing.T, ctx context.Context, h http.HandlerFunc, body io.Reader) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://local.invalid/x?y=1", body)
	if err != nil {
		t.Fatal(err)
	}
	return NewTransport(h).RoundTrip(req)
}

func TestTransportStreams(t *testing.T) {
	defer goleak.VerifyNone(t)
	next := make(chan struct{})
	res, err := roundTrip(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-A", "1")
		w.WriteHeader(201)
		w.Header().Set("X-A", "too late")
		for range 3 {
			<-next
			_, _ = io.WriteString(w, "tick\n")
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 201 || res.Header.Get("X-A") != "1" || res.ContentLength != -1 {
		t.Errorf("answer at the first header: %v", res)
	}
	buf := make([]byte, 5)
	for range 3 {
		next <- struct{}{}
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "tick\n" {
			t.Fatalf("%q, %v", buf, err)
		}
	}
	if n, err := res.Body.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("end: %d, %v", n, err)
	}
	_ = res.Body.Close()
}

func TestTransportCancelledBeforeTheHeader(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan error, 1)
	body := &closeCounter{Reader: strings.NewReader("x")}
	_, err := roundTrip(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		seen <- r.Context().Err()
	}, body)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := <-seen; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler saw %v", err)
	}
	goleak.VerifyNone(t)
	if body.closed.Load() != 1 {
		t.Errorf("the request body was closed %d times", body.closed.Load())
	}
}

func TestTransportCancelledInTheBody(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	res, err := roundTrip(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		var err error
		for err == nil {
			_, err = w.Write(bytes.Repeat([]byte("x"), 1000))
		}
		ended <- err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1500)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("reading after cancelling: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the handler's write went on")
	}
	_ = res.Body.Close()
}

func TestTransportBodyClosedEarly(t *testing.T) {
	defer goleak.VerifyNone(t)
	ended := make(chan struct{})
	res, err := roundTrip(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for {
			if _, err := w.Write([]byte("more")); err != nil {
				<-r.Context().Done()
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	<-ended
}

func TestTransportPanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, err := roundTrip(t, context.Background(), func(http.ResponseWriter, *http.Request) { panic("early") }, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("panic before the header: %v", err)
	}
	res, err := roundTrip(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	if string(got) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("panic in the body: %q, %v", got, err)
	}
	res, err = roundTrip(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "short")
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) || res.ContentLength != 10 {
		t.Errorf("a short answer: %v", err)
	}
}

func TestTransportRequest(t *testing.T) {
	defer goleak.VerifyNone(t)
	body := &closeCounter{Reader: strings.NewReader("content")}
	res, err := roundTrip(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		r.Header.Set("X-Changed", "yes")
		if string(got) != "content" || r.RequestURI != "/x?y=1" || r.Host != "local.invalid" {
			t.Errorf("request: %q %q %q", got, r.RequestURI, r.Host)
		}
	}, body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
		t.Errorf("empty answer: %d, %v", res.StatusCode, err)
	}
	if res.Request.Header.Get("X-Changed") != "" {
		t.Error("the handler changed the caller's request")
	}
	goleak.VerifyNone(t)
	if body.closed.Load() != 1 {
		t.Errorf("the request body was closed %d times", body.closed.Load())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	body = &closeCounter{Reader: strings.NewReader("content")}
	if _, err := roundTrip(t, ctx, func(http.ResponseWriter, *http.Request) { t.Error("called") }, body); !errors.Is(err, context.Canceled) || body.closed.Load() != 1 {
		t.Errorf("cancelled before: %v, closed %d times", err, body.closed.Load())
	}
}
