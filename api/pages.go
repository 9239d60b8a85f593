package api

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"time"
)

// TempMessagePage is a page of the messages of a temporary mailbox.
type TempMessagePage struct {
	Page[TempMessage]
	ExpiresAt time.Time `json:"expiresAt"` // when the mailbox ends
}

// UnmarshalJSON reads the wire form.
func (p *TempMessagePage) UnmarshalJSON(b []byte) error {
	var w struct {
		ExpiresAt Instant `json:"expiresAt"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	p.ExpiresAt = w.ExpiresAt.Time
	return json.Unmarshal(b, &p.Page)
}

// TemplateSends is a page of what was sent from a template.
type TemplateSends struct {
	Items    []TemplateSentEmail `json:"items"`
	Total    int                 `json:"total"`    // on all pages
	Page     int                 `json:"page"`     // counted from 1
	PageSize int                 `json:"pageSize"` // items on a full page
}

// UnmarshalJSON reads the wire form, with the list under items or data.
func (t *TemplateSends) UnmarshalJSON(b []byte) error {
	type plain TemplateSends
	w := struct {
		*plain
		Data []TemplateSentEmail `json:"data"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if t.Items == nil {
		t.Items = w.Data
	}
	notNil(&t.Items)
	return nil
}

// SentBatch is the answer of SendBatch. Messages that were refused are in it too.
type SentBatch struct {
	Items  []SentBatchItem `json:"data"`
	Sent   int             `json:"sent"`
	Failed int             `json:"failed"`
	// IdempotencyKey is the key that the batch went out under.
	IdempotencyKey string `json:"-"`
}

// SentBatchItem is the outcome of one message of a batch: Email or Error is set.
type SentBatchItem struct {
	Index  int             `json:"index"`  // its place in the batch, from 0
	Status string          `json:"status"` // "ok" or "error"
	Email  *SentEmail      `json:"email,omitempty"`
	Error  *SentBatchError `json:"error,omitempty"`
}

// SentBatchError says why one message of a batch was refused.
type SentBatchError struct {
	Type    string `json:"type"` // one of the Type constants
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"` // the field; empty: none
}

// ImportListFailuresParams is the query of imports.listFailures. Zero fields are left out.
type ImportListFailuresParams struct {
	After int // the Next of the page before
	Limit int // 0: the server's default of 25; at most 100
}

// ImportFailurePage is a page of what an import could not take.
type ImportFailurePage struct {
	Items []ImportFailure `json:"data"`
	Next  *int            `json:"nextCursor"` // for After; nil: there is no other page
}

// ListFailures returns one page of what an import could not take.
//
// Operation imports.listFailures: GET /imports/:id/failures. A read: a failed attempt is repeated.
func (s ImportsService) ListFailures(ctx context.Context, id string, p ImportListFailuresParams, options ...CallOption) (*ImportFailurePage, error) {
	var q query
	q.number("after", p.After)
	q.number("limit", p.Limit)
	return fetch[ImportFailurePage](ctx, s.core, "imports.listFailures", []string{id}, q, nil, options)
}

// AllFailures walks every page of ListFailures from p.After on. It stops after the first error.
func (s ImportsService) AllFailures(ctx context.Context, id string, p ImportListFailuresParams, options ...CallOption) iter.Seq2[ImportFailure, error] {
	return walk(ctx, strconv.Itoa(p.After), options, func(ctx context.Context, cursor string, options []CallOption) (*Page[ImportFailure], error) {
		next := p
		next.After, _ = strconv.Atoi(cursor)
		got, err := s.ListFailures(ctx, id, next, options...)
		if err != nil {
			return nil, err
		}
		if got.Next == nil {
			return &Page[ImportFailure]{Items: got.Items}, nil
		}
		return pageAt(got.Items, *got.Next, true), nil
	})
}
