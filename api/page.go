package api

import (
	"context"
	"encoding/json"
	"iter"
)

// Page is one page of a list.
type Page[T any] struct {
	Items   []T    `json:"data"`
	HasMore bool   `json:"hasMore"`
	Next    string `json:"nextCursor"` // the cursor or page token of the next page; empty: none
}

// UnmarshalJSON reads the page envelopes of both paging styles, and a plain list.
// A missing list is empty, and without hasMore a cursor means more.
func (p *Page[T]) UnmarshalJSON(b []byte) error {
	var w struct {
		Data          []T     `json:"data"`
		HasMore       *bool   `json:"hasMore"`
		NextCursor    *string `json:"nextCursor"`
		NextPageToken *string `json:"nextPageToken"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*p = Page[T]{Items: w.Data}
	if p.Items == nil {
		p.Items = []T{}
	}
	for _, next := range []*string{w.NextCursor, w.NextPageToken} {
		if p.Next == "" && next != nil {
			p.Next = *next
		}
	}
	p.HasMore = p.Next != ""
	if w.HasMore != nil {
		p.HasMore = *w.HasMore
	}
	return nil
}

// walk hands out the items of all pages. It ends when there is no more, when no
// cursor comes, or when one comes back that was already followed, and with an error
// when ctx ends.
func walk[T any](ctx context.Context, first string, options []CallOption, fetch func(context.Context, string, []CallOption) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		followed := map[string]bool{first: true}
		cursor := first
		for {
			page, err := fetch(ctx, cursor, options)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if ctx.Err() != nil {
					var none T
					yield(none, &NetworkError{Cancelled: true, NotSent: true, Err: contextError(ctx)})
					return
				}
				if !yield(item, nil) {
					return
				}
			}
			if !page.HasMore || page.Next == "" || followed[page.Next] {
				return
			}
			cursor = page.Next
			followed[cursor] = true
			// Each page is a call of its own; an id that was given names the first.
			options = append(options[:len(options):len(options)], WithCallID(""))
		}
	}
}
