package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"codeberg.org/teapost/teapost/api"
)

// canned answers every request in memory.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

func Example() {
	client, err := api.New(api.Options{
		APIKey:    "oe_test_example",
		Transport: canned(`{"object":"list","data":[{"object":"thread","id":"t1"},{"object":"thread","id":"t2"}],"hasMore":false}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for thread, err := range client.Threads.All(context.Background(), api.ThreadListParams{Folder: "inbox"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(thread.ID)
	}
	// Output:
	// t1
	// t2
}

func ExampleEmailsService_Send() {
	client, err := api.New(api.Options{
		APIKey:    "oe_test_example",
		Transport: canned(`{"object":"email","id":"e1","status":"sent","replayed":false}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sent, err := client.Emails.Send(context.Background(), api.EmailSend{
		From:    api.Address{Email: "ada@example.com"},
		To:      []api.Address{{Name: "Grace", Email: "grace@example.com"}},
		Subject: "Tea at four?",
		Text:    "Bring the good biscuits.",
	}, api.WithIdempotencyKey("order-4711-confirmation"))
	if errors.Is(err, api.ErrValidation) {
		fmt.Println("refused:", err)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sent.ID, sent.Status, sent.Replayed)
	// Output: e1 sent false
}

func ExampleAsync() {
	client, err := api.New(api.Options{APIKey: "oe_test_example", Transport: canned(`{"id":"t1","messages":[]}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := api.NewAsync(client, api.AsyncOptions{Observer: func(ev api.Event) { fmt.Println(ev.Op, ev.Phase) }})
	_, err = runner.Submit(api.Job{
		Op:       "threads.get",
		Priority: api.Person,
		Key:      "thread/t1",
		Run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Threads.Get(ctx, "t1")
		},
		Done: func(f api.Final) { fmt.Println(f.Value.(*api.Thread).ID, f.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.Drain(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// threads.get queued
	// threads.get started
	// threads.get done
	// t1 <nil>
}
