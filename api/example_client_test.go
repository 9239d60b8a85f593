package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// A sensitive call asks the person once more, and goes on by itself afterwards.
func ExampleClient_StepUp() {
	asked := false
	client, err := api.New(api.Options{
		AccessToken: "token",
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			status, answer := 200, `{"object":"step_up","elevated":true,"elevatedUntil":"2026-03-01T10:30:00.000Z"}`
			switch {
			case strings.HasSuffix(r.URL.Path, "/rotate") && !asked:
				status, answer = 403, `{"error":{"type":"permission_error","code":"step_up_required","message":"Please confirm."}}`
			case strings.HasSuffix(r.URL.Path, "/rotate"):
				answer = `{"object":"api_key","id":"key_2"}`
			case !asked:
				answer = `{"object":"step_up_challenge","method":"email","sentTo":"a••@example.com","reused":false}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.StepUp(context.Background(),
		func(_ context.Context, p api.StepUpPrompt) (string, error) {
			asked = true
			fmt.Println("code sent to", p.Challenge.SentTo)
			return "428117", nil
		},
		func(ctx context.Context) error {
			_, err := client.Me.Rotate(ctx)
			return err
		})
	fmt.Println(err)
	// Output:
	// code sent to a••@example.com
	// <nil>
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What went wrong is told by errors.Is; what the server said is in the Error.
func ExampleError() {
	client := connect(server{})
	_, err := client.Threads.Get(context.Background(), "t1")
	var answer *api.Error
	switch {
	case errors.Is(err, api.ErrCancelled):
		// the caller's own doing: nothing to show
	case errors.Is(err, api.ErrRateLimit), errors.Is(err, api.ErrTimeout):
		fmt.Println("try later")
	case errors.As(err, &answer):
		fmt.Println(answer.Message, answer.RequestID, errors.Is(err, api.ErrNotFound))
	}
	fmt.Println(err)
	// Output:
	// There is no such thing. req_1 true
	// threads.get: 404 resource_not_found: There is no such thing. (request req_1)
}

// An operation that has no method is made by hand, with the same credential, checks,
// retries and errors.
func ExampleClient_Do() {
	client := connect(server{"GET /threads/t1/labels": `{"data":["INBOX"]}`})
	answer, err := client.Do(context.Background(), api.Request{Path: "/threads/t1/labels"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var labels struct{ Data []string }
	if err := answer.Decode(&labels); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Status, labels.Data)
	// Output: 200 [INBOX]
}

// The steps of a call, for a status line.
func ExampleWithObserver() {
	tries := 0
	client, err := api.New(api.Options{
		APIKey: "oe_test_example",
		Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			status, body := 503, ""
			if tries++; tries > 1 {
				status, body = 200, `{"ok":true}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"0"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Me.Ping(context.Background(), api.WithObserver(func(ev api.Event) {
		switch ev.Phase {
		case api.Waiting:
			fmt.Printf("try %d of %d in %v (%s)\n", ev.Attempt+1, ev.Limit, ev.Wait, ev.Cause)
		default:
			fmt.Println(ev.Attempt, ev.Phase)
		}
	}))
	fmt.Println(err)
	// Output:
	// 1 started
	// 1 failed
	// try 2 of 3 in 0s (Retry-After)
	// 2 started
	// 2 done
	// <nil>
}

func ExampleVerifyWebhook() {
	const secret = "whsec_example"
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		hook, err := api.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			fmt.Println("refused:", err)
			return
		}
		fmt.Println(hook.Event, string(hook.Payload))
	}

	body := `{"id":"e1"}`
	r, err := http.NewRequest(http.MethodPost, "https://example.org/hook", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Header.Set(api.WebhookEventHeader, "email.received")
	receive(nil, r)
	r.Body = io.NopCloser(strings.NewReader(body))
	r.Header.Set(api.WebhookSignatureHeader, api.SignWebhook(secret, []byte(body), time.Now()))
	receive(nil, r)
	// Output:
	// refused: webhook: no webhook signature
	// email.received {"id":"e1"}
}

// Rows of a list are fetched beside the program's own loop; those scrolled past are
// dropped together.
func ExampleAsync_CancelGroup() {
	release := make(chan struct{})
	client, err := api.New(api.Options{
		APIKey: "oe_test_example",
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/threads/t2" { // never answers
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			<-release
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"id":"t1","messages":[]}`))}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := api.NewAsync(client, api.AsyncOptions{})
	fetch := func(id, group string) {
		_, err := runner.Submit(api.Job{
			Op: "threads.get", Group: group, Priority: api.Visible, Key: "thread/" + id, Resources: []string{"thread/" + id},
			Run: func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.Get(ctx, id) },
			Done: func(f api.Final) {
				if errors.Is(f.Err, api.ErrCancelled) {
					fmt.Println(group, "dropped")
					return
				}
				fmt.Println(group, "arrived", f.Value.(*api.Thread).ID)
			},
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fetch("t1", "on the screen")
	fetch("t2", "scrolled past")
	fmt.Println(runner.CancelGroup("scrolled past"))
	close(release)
	if err := runner.Drain(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 1
	// scrolled past dropped
	// on the screen arrived t1
}
