package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseRetryAfterCases(t *testing.T) {
	for _, row := range readTSV(t, "testdata/retry/retry-after.tsv") {
		value, outcome := row[0], row[1]
		t.Run(value, func(t *testing.T) {
			now := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
			if strings.Contains(outcome, "09:30:00.400") {
				now = now.Add(400 * time.Millisecond)
			}
			d, ok := parseRetryAfter([]string{value}, now)
			switch {
			case strings.HasPrefix(outcome, "as if absent"), strings.HasPrefix(outcome, "unreadable"):
				if ok {
					t.Errorf("read as %v, want as if absent", d)
				}
			case strings.HasPrefix(outcome, "stop at once"), strings.Contains(outcome, ": stop at once"):
				if !ok || d <= MaxRetryAfter {
					t.Errorf("got %v %v, want more than a minute", d, ok)
				}
				if i := strings.Index(outcome, "report "); i >= 0 {
					want, _ := strconv.ParseFloat(strings.Fields(outcome[i:])[1], 64)
					if d.Seconds() != want {
						t.Errorf("reports %v, want %v s", d, want)
					}
				}
			case strings.Contains(outcome, "try at once"):
				if !ok || d != 0 {
					t.Errorf("got %v %v, want 0", d, ok)
				}
			default:
				i := strings.Index(outcome, "wait ")
				if i < 0 {
					t.Fatalf("unknown outcome %q", outcome)
				}
				want, err := strconv.ParseFloat(strings.Fields(outcome[i:])[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				if !ok || d.Seconds() != want {
					t.Errorf("got %v %v, want %v s", d, ok, want)
				}
			}
		})
	}
}

func TestParseRetryAfterEdges(t *testing.T) {
	now := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		values []string
		want   time.Duration
		ok     bool
	}{
		{nil, 0, false},
		{[]string{"3", "5"}, 0, false},
		{[]string{"5."}, 0, false},
		{[]string{".5"}, 0, false},
		{[]string{"+5"}, 0, false},
		{[]string{"1e1"}, 0, false},
		{[]string{"60.0000000001"}, 60*time.Second + 1, true}, // never less than asked
		{[]string{"60.0000000000"}, 60 * time.Second, true},
		{[]string{"0.000000001"}, 1, true},
		{[]string{"1.1"}, 1100 * time.Millisecond, true},
		{[]string{"٣"}, 0, false},
		{[]string{"-0"}, 0, false},
		{[]string{"Infinity"}, 0, false},
	} {
		if d, ok := parseRetryAfter(tt.values, now); d != tt.want || ok != tt.ok {
			t.Errorf("%q: got %v %v, want %v %v", tt.values, d, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, row := range readTSV(f, "testdata/retry/retry-after.tsv") {
		f.Add(row[0])
	}
	now := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := parseRetryAfter([]string{s}, now)
		if d < 0 || !ok && d != 0 {
			t.Fatalf("%q: %v %v", s, d, ok)
		}
		if n, err := strconv.ParseFloat(strings.Trim(s, " \t"), 64); ok && err == nil && n < 1e6 && d.Seconds() < n-1e-6 {
			t.Fatalf("%q: waits only %v", s, d)
		}
	})
}

func TestBackoff(t *testing.T) {
	for n, ceiling := range []time.Duration{500, 1000, 2000, 4000, 8000, 8000, 8000} {
		ceiling *= time.Millisecond
		low := backoff(n, func(time.Duration) time.Duration { return 0 })
		high := backoff(n, func(d time.Duration) time.Duration { return d })
		if low != ceiling/2 || high != ceiling {
			t.Errorf("try %d: between %v and %v, want %v and %v", n, low, high, ceiling/2, ceiling)
		}
	}
	if d := backoff(1000, randomUpTo); d < 4*time.Second || d > 8*time.Second {
		t.Errorf("try 1000: %v", d)
	}
	seen := map[time.Duration]bool{}
	for range 20 {
		d := backoff(0, randomUpTo)
		if d < 250*time.Millisecond || d > 500*time.Millisecond {
			t.Fatalf("drew %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 5 {
		t.Errorf("the waits are not drawn: %v", seen)
	}
}

// outcome is one way in which every attempt of a call ends.
type outcome struct {
	name    string
	status  int // 0: a fault
	retries bool
	takes   time.Duration
	cause   string
	answer  func() (*http.Response, error)
}

const answerTime = 100 * time.Millisecond

func outcomes() []outcome {
	var list []outcome
	for _, status := range []int{301, 304, 307, 400, 401, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429, 500, 501, 502, 503, 504, 505, 520, 599} {
		o := outcome{name: strconv.Itoa(status), status: status, takes: answerTime, cause: strconv.Itoa(status)}
		switch status {
		case 408, 500, 502, 503, 504:
			o.retries = true
		}
		o.answer = func() (*http.Response, error) {
			return reply(status, `{"error":{"code":"c","message":"m"}}`, "Location", "https://elsewhere.example.com/"), nil
		}
		list = append(list, o)
	}
	return append(list,
		outcome{name: "refused", retries: true, takes: answerTime, cause: "connection refused", answer: func() (*http.Response, error) {
			return nil, syscall.ECONNREFUSED
		}},
		outcome{name: "reset", retries: true, takes: answerTime, cause: "connection reset", answer: func() (*http.Response, error) {
			return nil, syscall.ECONNRESET
		}},
		outcome{name: "cut", retries: true, takes: answerTime, cause: "answer cut short", answer: func() (*http.Response, error) {
			r := reply(200, `{"id":"t1"`)
			r.ContentLength = 400
			return r, nil
		}},
		outcome{name: "cut in chunks", retries: true, takes: answerTime, cause: "answer cut short", answer: func() (*http.Response, error) {
			r := reply(200, "")
			r.ContentLength = -1
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":"t1"}`), errReader{io.ErrUnexpectedEOF}))
			return r, nil
		}},
		outcome{name: "no JSON", takes: answerTime, cause: "answer not understood", answer: func() (*http.Response, error) {
			return reply(200, "<html>Welcome to the hotel</html>"), nil
		}},
	)
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// stall is an attempt that outlasts its time limit.
func stall() outcome {
	return outcome{name: "stall", retries: true, takes: DefaultTimeout, cause: "timeout"}
}

type retryAfterForm struct {
	name  string
	value func() string // nil: no header
	wait  time.Duration
	reads bool // the header is readable
}

func retryAfterForms() []retryAfterForm {
	fixed := func(s string) func() string { return func() string { return s } }
	date := func(d time.Duration) func() string {
		return func() string { return time.Now().UTC().Add(d).Format(http.TimeFormat) }
	}
	return []retryAfterForm{
		{name: "none"},
		{"0", fixed("0"), 0, true},
		{"2", fixed("2"), 2 * time.Second, true},
		{"1.5", fixed("1.5"), 1500 * time.Millisecond, true},
		{"60", fixed("60"), 60 * time.Second, true},
		{"60.001", fixed("60.001"), 60001 * time.Millisecond, true},
		{"61", fixed("61"), 61 * time.Second, true},
		{"huge", fixed("99999999999999999999999999"), century, true},
		{"soon", fixed("soon"), 0, false},
		{"-1", fixed("-1"), 0, false},
		{"date", date(5 * time.Second), 5 * time.Second, true},
		{"past date", date(-time.Minute), 0, true},
		{"far date", date(time.Hour), time.Hour, true},
	}
}

// cancelPoints: in attempt n, in the wait after attempt n, or never.
var cancelPoints = []string{"never", "attempt 1", "wait 1", "attempt 2", "wait 2", "attempt 3"}

// TestSequences drives every outcome × class × Retry-After × cancellation point and
// compares the exact sequence of attempts and waits, with their times.
func TestSequences(t *testing.T) {
	list := append(outcomes(), stall())
	for _, o := range list {
		t.Run(o.name, func(t *testing.T) {
			for class := range classCalls {
				forms := retryAfterForms()
				if o.status == 0 {
					forms = forms[:1]
				}
				for _, form := range forms {
					for _, point := range cancelPoints {
						name := fmt.Sprintf("%s/Retry-After %s/cancel %s", class, form.name, point)
						synctest.Test(t, func(t *testing.T) { checkSequence(t, name, o, class, form, point) })
					}
				}
			}
		})
	}
}

// expectSequence says from the contract alone what must happen.
func expectSequence(o outcome, class Class, form retryAfterForm, point string) (steps []string, cancelAt time.Duration, end string) {
	limit := 3
	if class == ClassOnce {
		limit = 1
	}
	retries := o.retries || o.status == 429 && form.reads
	var at time.Duration
	backoffs := []time.Duration{375 * time.Millisecond, 750 * time.Millisecond} // three quarters of 0.5 s and 1 s
	for n := 1; ; n++ {
		steps = append(steps, fmt.Sprintf("started %d/%d at %v", n, limit, at))
		if point == fmt.Sprintf("attempt %d", n) {
			cancelAt = at + o.takes/2
			return append(steps, fmt.Sprintf("cancelled at %v", cancelAt)), cancelAt, "cancelled"
		}
		at += o.takes
		steps = append(steps, fmt.Sprintf("failed %d/%d at %v: %s", n, limit, at, o.cause))
		pause, why := form.wait, "Retry-After"
		if !form.reads || o.status == 0 {
			pause, why = 0, o.cause
			if n <= 2 {
				pause = backoffs[n-1]
			}
		}
		if !retries || n == limit || form.reads && form.wait > time.Minute {
			return append(steps, fmt.Sprintf("gave up at %v", at)), 0, "gave up"
		}
		steps = append(steps, fmt.Sprintf("waiting %v until %v: %s", pause, at+pause, why))
		if point == fmt.Sprintf("wait %d", n) && pause > 0 {
			cancelAt = at + pause/2
			return append(steps, fmt.Sprintf("cancelled at %v", cancelAt)), cancelAt, "cancelled"
		}
		at += pause
	}
}

func checkSequence(t *testing.T, name string, o outcome, class Class, form retryAfterForm, point string) {
	want, cancelAt, end := expectSequence(o, class, form, point)
	if point != "never" && end != "cancelled" {
		return // the call is over before
	}
	start := time.Now()
	rec := &recorder{next: after(o.takes, func(*http.Request) (*http.Response, error) {
		resp, err := o.answer()
		if err == nil && form.value != nil {
			resp.Header.Set("Retry-After", form.value())
		}
		return resp, err
	})}
	if o.name == "stall" {
		rec.next = after(time.Hour, answering(200, "{}"))
	}
	var got []string
	c := testClient(t, rec, func(opts *Options) {
		opts.Observer = func(ev Event) {
			at := ev.At.Sub(start)
			if ev.Op == "" || ev.Call != "call" {
				t.Errorf("%s: event without names: %+v", name, ev)
			}
			switch ev.Phase {
			case Started:
				got = append(got, fmt.Sprintf("started %d/%d at %v", ev.Attempt, ev.Limit, at))
			case Failed:
				got = append(got, fmt.Sprintf("failed %d/%d at %v: %s", ev.Attempt, ev.Limit, at, ev.Cause))
				if ev.Status != o.status && o.name != "no JSON" {
					t.Errorf("%s: event has status %d", name, ev.Status)
				}
			case Waiting:
				got = append(got, fmt.Sprintf("waiting %v until %v: %s", ev.Wait, ev.Until.Sub(start), ev.Cause))
			default:
				got = append(got, fmt.Sprintf("%v at %v", ev.Phase, at))
			}
		}
	})
	c.core.random = func(d time.Duration) time.Duration { return d / 2 }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if cancelAt > 0 {
		time.AfterFunc(cancelAt, cancel)
	}
	err := classCalls[class](ctx, c, WithCallID("call"))
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("%s: got\n%s\nwant\n%s", name, a, b)
	}

	requests := rec.all()
	starts := 0
	for _, step := range want {
		if strings.HasPrefix(step, "started") {
			starts++
		}
	}
	if len(requests) != starts {
		t.Errorf("%s: %d requests, want %d", name, len(requests), starts)
	}
	for _, r := range requests {
		if r.header.Get("Idempotency-Key") != requests[0].header.Get("Idempotency-Key") || string(r.body) != string(requests[0].body) {
			t.Errorf("%s: the requests differ", name)
		}
		if (r.header.Get("Idempotency-Key") != "") != (class == ClassSend) {
			t.Errorf("%s: idempotency key %q", name, r.header.Get("Idempotency-Key"))
		}
	}

	switch {
	case end == "cancelled":
		e := asNetworkError(t, err)
		if !e.Cancelled || e.Timeout || !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) || errors.Is(err, ErrTimeout) {
			t.Errorf("%s: %+v is not a clear cancellation", name, e)
		}
		if e.Attempts != starts {
			t.Errorf("%s: %d attempts reported, want %d", name, e.Attempts, starts)
		}
	case o.status != 0:
		e := asError(t, err)
		if e.Status != o.status || e.Attempts != starts {
			t.Errorf("%s: status %d after %d attempts", name, e.Status, e.Attempts)
		}
		if e.HasRetryAfter != form.reads || e.RetryAfter != form.wait {
			t.Errorf("%s: Retry-After %v %v", name, e.RetryAfter, e.HasRetryAfter)
		}
	case o.name == "no JSON":
		if e := asError(t, err); e.Status != 200 || e.Code != "unrecognised_response" || e.Type != TypeAPI {
			t.Errorf("%s: %+v", name, e)
		}
	default:
		e := asNetworkError(t, err)
		if e.Cancelled || e.Attempts != starts || e.Timeout != (o.name == "stall") || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestRetryThenSuccess: the answer that comes in the end is the call's.
func TestRetryThenSuccess(t *testing.T) {
	for class, call := range classCalls {
		for failures := range 4 {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				c := testClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
					if n++; n <= failures {
						return reply(503, "busy"), nil
					}
					return reply(200, `{"id":"x"}`), nil
				}))
				err := call(t.Context(), c)
				wantErr := failures > 2 || class == ClassOnce && failures > 0
				if (err != nil) != wantErr {
					t.Errorf("%s after %d failures: %v", class, failures, err)
				}
			})
		}
	}
}

// TestMaxRetries: the client's number, the call's number, and never more for a write
// that may run once.
func TestMaxRetries(t *testing.T) {
	for _, tt := range []struct {
		client  *int
		call    []CallOption
		read    int
		onceToo int
	}{
		{nil, nil, 3, 1},
		{ptr(0), nil, 1, 1},
		{ptr(-5), nil, 1, 1},
		{ptr(5), nil, 6, 1},
		{ptr(5), []CallOption{WithMaxRetries(1)}, 2, 1},
		{nil, []CallOption{WithMaxRetries(-1)}, 1, 1},
		{nil, []CallOption{WithMaxRetries(9)}, 10, 1},
	} {
		for class, want := range map[Class]int{ClassRead: tt.read, ClassOnce: tt.onceToo} {
			synctest.Test(t, func(t *testing.T) {
				rec := &recorder{next: answering(500, "")}
				c := testClient(t, rec, func(o *Options) { o.MaxRetries = tt.client })
				if err := classCalls[class](t.Context(), c, tt.call...); err == nil {
					t.Error("no error")
				}
				if got := len(rec.all()); got != want {
					t.Errorf("%s with %v and %d options: %d requests, want %d", class, tt.client, len(tt.call), got, want)
				}
			})
		}
	}
}

// TestLastFailureIsReported: a call that fails in several ways reports the last.
func TestLastFailureIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := testClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			switch n++; n {
			case 1:
				return nil, syscall.ECONNRESET
			case 2:
				return reply(503, ""), nil
			}
			return reply(404, `{"error":{"type":"not_found_error","code":"resource_not_found","message":"No such thread"}}`), nil
		}))
		err := classCalls[ClassRead](t.Context(), c)
		if e := asError(t, err); e.Status != 404 || e.Attempts != 3 || !errors.Is(err, ErrNotFound) {
			t.Errorf("got %+v", e)
		}
	})
}

// TestTimeouts: the limit is fresh for each attempt, covers the body, and can be
// changed or turned off.
func TestTimeouts(t *testing.T) {
	slowBody := func(d time.Duration) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			resp := reply(200, `{"id":"t1"}`)
			resp.Body = io.NopCloser(&slowReader{ctx: r.Context(), wait: d, rest: strings.NewReader(`{"id":"t1"}`)})
			return resp, nil
		}
	}
	for _, tt := range []struct {
		name      string
		transport roundTrip
		timeout   time.Duration
		options   []CallOption
		took      time.Duration // without waits between attempts
		ok        bool
	}{
		{"headers in time", after(29*time.Second, answering(200, `{}`)), 0, nil, 29 * time.Second, true},
		{"headers too late", after(31*time.Second, answering(200, `{}`)), 0, nil, 90 * time.Second, false},
		{"body too late", slowBody(31 * time.Second), 0, nil, 90 * time.Second, false},
		{"client's limit", slowBody(6 * time.Second), 5 * time.Second, nil, 15 * time.Second, false},
		{"call's limit", slowBody(6 * time.Second), 5 * time.Second, []CallOption{WithTimeout(7 * time.Second)}, 6 * time.Second, true},
		{"client's limit off", slowBody(time.Hour), -1, nil, time.Hour, true},
		{"call's limit off", slowBody(time.Hour), 0, []CallOption{WithTimeout(0)}, time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testClient(t, tt.transport, func(o *Options) { o.Timeout = tt.timeout })
				c.core.random = func(time.Duration) time.Duration { return 0 }
				start := time.Now()
				err := classCalls[ClassRead](t.Context(), c, tt.options...)
				if (err == nil) != tt.ok {
					t.Fatalf("error %v", err)
				}
				want := tt.took
				if !tt.ok {
					want += 250*time.Millisecond + 500*time.Millisecond
					if e := asNetworkError(t, err); !e.Timeout || e.Cancelled || e.Attempts != 3 || !errors.Is(err, ErrTimeout) || errors.Is(err, context.Canceled) {
						t.Errorf("%+v", e)
					}
				}
				if got := time.Since(start); got != want {
					t.Errorf("took %v, want %v", got, want)
				}
			})
		})
	}
}

type slowReader struct {
	ctx  context.Context
	wait time.Duration
	rest io.Reader
}

func (r *slowReader) Read(p []byte) (int, error) {
	if err := wait(r.ctx, r.wait); err != nil {
		return 0, errors.New("read: given up")
	}
	r.wait = 0
	return r.rest.Read(p)
}

// TestCallerEnds: whichever way the caller's context ends, the call ends with it, and says
// which it was and with what cause.
func TestCallerEnds(t *testing.T) {
	why := errors.New("the window was closed")
	for _, tt := range []struct {
		name string
		ends func(context.Context) (context.Context, context.CancelFunc)
		is   []error
		not  []error
	}{
		{
			"deadline",
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 10*time.Second)
			},
			[]error{context.DeadlineExceeded},
			[]error{context.Canceled},
		},
		{
			"deadline with a cause",
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, 10*time.Second, why)
			},
			[]error{context.DeadlineExceeded, why},
			[]error{context.Canceled},
		},
		{
			"cancelled",
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(10*time.Second, cancel)
				return ctx, cancel
			},
			[]error{context.Canceled},
			[]error{context.DeadlineExceeded},
		},
		{
			"cancelled with a cause",
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(10*time.Second, func() { cancel(why) })
				return ctx, func() { cancel(nil) }
			},
			[]error{context.Canceled, why},
			[]error{context.DeadlineExceeded},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &recorder{next: after(time.Hour, answering(200, "{}"))}
				c := testClient(t, rec)
				ctx, cancel := tt.ends(t.Context())
				defer cancel()
				start := time.Now()
				err := classCalls[ClassRead](ctx, c)
				if e := asNetworkError(t, err); !e.Cancelled || e.Timeout {
					t.Errorf("%+v", e)
				}
				for _, target := range append(tt.is, ErrCancelled) {
					if !errors.Is(err, target) {
						t.Errorf("%v is not %v", err, target)
					}
				}
				for _, target := range append(tt.not, ErrTimeout) {
					if errors.Is(err, target) {
						t.Errorf("%v is %v", err, target)
					}
				}
				if d := time.Since(start); d != 10*time.Second || len(rec.all()) != 1 {
					t.Errorf("took %v and %d requests", d, len(rec.all()))
				}
			})
		})
	}
}

// TestCancelledBefore: nothing is sent.
func TestCancelledBefore(t *testing.T) {
	rec := &recorder{next: answering(200, "{}")}
	var phases []Phase
	c := testClient(t, rec, func(o *Options) { o.Observer = func(ev Event) { phases = append(phases, ev.Phase) } })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := classCalls[ClassSend](ctx, c)
	if e := asNetworkError(t, err); !e.Cancelled || e.Attempts != 0 || !e.NotSent || len(rec.all()) != 0 {
		t.Errorf("%+v, %d requests", e, len(rec.all()))
	}
	if len(phases) != 1 || phases[0] != Cancelled {
		t.Errorf("phases %v", phases)
	}
}

// TestCancelInWaitKeepsCause: the log can tell why the call was waiting.
func TestCancelInWaitKeepsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, answering(503, "busy", "Retry-After", "20"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := classCalls[ClassRead](ctx, c)
		if e := asNetworkError(t, err); e.Cause != "503" || !strings.Contains(err.Error(), "503") {
			t.Errorf("%+v", e)
		}
	})
}

// TestUploadTimeout: uploads get ten minutes unless somebody decided otherwise.
func TestUploadTimeout(t *testing.T) {
	for _, tt := range []struct {
		client time.Duration
		call   []CallOption
		want   time.Duration
	}{
		{0, nil, UploadTimeout},
		{time.Hour, nil, time.Hour},
		{-1, nil, 0},
		{0, []CallOption{WithTimeout(time.Second)}, time.Second},
	} {
		c := testClient(t, answering(200, "{}"), func(o *Options) { o.Timeout = tt.client })
		op, _ := OperationByName("files.upload")
		var cfg callConfig
		for _, o := range tt.call {
			o(&cfg)
		}
		p, err := c.core.prepare(t.Context(), call{op: op, path: op.Path}, cfg)
		if err != nil || p.timeout != tt.want {
			t.Errorf("client %v: %v %v, want %v", tt.client, p.timeout, err, tt.want)
		}
	}
}
