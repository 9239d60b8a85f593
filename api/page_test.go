package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

func TestPageDecoding(t *testing.T) {
	for _, tt := range []struct {
		in    string
		items int
		more  bool
		next  string
	}{
		{`{"data":[{"id":"a"}],"hasMore":true,"nextCursor":"c"}`, 1, true, "c"},
		{`{"data":[{"id":"a"}],"hasMore":true,"nextPageToken":"p"}`, 1, true, "p"},
		{`{"data":[],"nextCursor":"c"}`, 0, true, "c"}, // no hasMore: a cursor means more
		{`{"data":[],"nextCursor":""}`, 0, false, ""},
		{`{"data":null,"hasMore":false,"nextCursor":"c"}`, 0, false, "c"},
		{`{"object":"list"}`, 0, false, ""},
		{`{"data":[{"id":"a","new":1}],"hasMore":true,"nextCursor":null,"other":{}}`, 1, true, ""},
	} {
		var p Page[ThreadSummary]
		if err := json.Unmarshal([]byte(tt.in), &p); err != nil || len(p.Items) != tt.items || p.Items == nil || p.HasMore != tt.more || p.Next != tt.next {
			t.Errorf("%s: %+v %v", tt.in, p, err)
		}
	}
}

// TestWalk: pages until there is no more, no cursor, or one that was followed before.
func TestWalk(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first string
		pages map[string]string
		ids   []string
		calls int
	}{
		{"three pages, one empty", "", map[string]string{
			"":  `{"data":[{"id":"1"},{"id":"2"}],"hasMore":true,"nextPageToken":"a"}`,
			"a": `{"data":[],"hasMore":true,"nextPageToken":"b"}`,
			"b": `{"data":[{"id":"3"}],"hasMore":false,"nextPageToken":"c"}`,
		}, []string{"1", "2", "3"}, 3},
		{"no cursor comes", "", map[string]string{"": `{"data":[{"id":"1"}],"hasMore":true}`}, []string{"1"}, 1},
		{"a loop", "", map[string]string{
			"":  `{"data":[{"id":"1"}],"hasMore":true,"nextPageToken":"a"}`,
			"a": `{"data":[{"id":"2"}],"hasMore":true,"nextPageToken":"b"}`,
			"b": `{"data":[{"id":"3"}],"hasMore":true,"nextPageToken":"a"}`,
		}, []string{"1", "2", "3"}, 3},
		{"back to the first", "a", map[string]string{"a": `{"data":[{"id":"1"}],"hasMore":true,"nextPageToken":"a"}`}, []string{"1"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{next: roundTrip(func(r *http.Request) (*http.Response, error) {
				return reply(200, tt.pages[r.URL.Query().Get("pageToken")]), nil
			})}
			c := testClient(t, rec)
			calls := map[string]int{}
			var ids []string
			for th, err := range c.Threads.All(t.Context(), ThreadListParams{Folder: "inbox", PageToken: tt.first}, WithCallID("first"), WithObserver(func(ev Event) {
				if ev.Phase == Started {
					calls[ev.Call]++
				}
			})) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, th.ID)
			}
			if !slices.Equal(ids, tt.ids) || len(rec.all()) != tt.calls || len(calls) != tt.calls || calls["first"] != 1 {
				t.Errorf("ids %v in %d requests, calls %v", ids, len(rec.all()), calls)
			}
			for _, r := range rec.all() {
				if r.query[:12] != "folder=inbox" {
					t.Errorf("query %s", r.query)
				}
			}
		})
	}
}

func TestWalkStops(t *testing.T) {
	rec := &recorder{next: roundTrip(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Query().Get("cursor") {
		case "":
			return reply(200, `{"data":[{"email":"a"},{"email":"b"}],"hasMore":true,"nextCursor":"x"}`), nil
		}
		return reply(403, `{"error":{"code":"insufficient_scope"}}`), nil
	})}
	c := testClient(t, rec)
	var seen []string
	var failed error
	for p, err := range c.Contacts.AllPeople(t.Context(), PeopleListParams{}) {
		if err != nil {
			failed = err
			continue // nothing follows an error
		}
		seen = append(seen, p.Email)
	}
	if !isTarget(failed, ErrInsufficientScope) || len(seen) != 2 || len(rec.all()) != 2 {
		t.Errorf("%v %v after %d requests", seen, failed, len(rec.all()))
	}
	rec.requests = nil
	for range c.Contacts.AllPeople(t.Context(), PeopleListParams{}) {
		break
	}
	if len(rec.all()) != 1 {
		t.Error("a walk that was left went on")
	}
	for name, walk := range map[string]func() error{
		"drafts":    func() error { return firstError(c.Drafts.All(t.Context(), DraftListParams{PageToken: "x"})) },
		"emails":    func() error { return firstError(c.Emails.All(t.Context(), EmailListParams{Cursor: "x"})) },
		"labels":    func() error { return firstError(c.Labels.All(t.Context(), ListParams{Cursor: "x"})) },
		"addresses": func() error { return firstError(c.Addresses.All(t.Context(), ListParams{Cursor: "x"})) },
	} {
		want := "cursor=x"
		if name == "drafts" {
			want = "pageToken=x"
		}
		rec.requests = nil
		_ = walk()
		if len(rec.all()) == 0 || rec.all()[0].query != want {
			t.Errorf("%s: %+v", name, rec.all())
		}
	}
}

func firstError[T any](seq func(func(T, error) bool)) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}
