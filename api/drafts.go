package api

import (
	"context"
	"encoding/json"
)

// DraftsService holds the calls on drafts.
type DraftsService struct{ core *core }

// DraftListParams narrows a list of drafts. Zero fields are left out.
type DraftListParams struct {
	Query     string
	Limit     int // 0: the server's default of 25; at most 100
	PageToken string
}

// DraftSummary is a row of a list of drafts: its id and nothing else.
type DraftSummary struct {
	ID string `json:"id"`
}

// Draft is an unsent message. There is no plain text in it, only HTML.
type Draft struct {
	ID          string            `json:"id"`
	To          []string          `json:"to"`
	Cc          []string          `json:"cc"`
	Bcc         []string          `json:"bcc"`
	Subject     string            `json:"subject"`
	HTML        string            `json:"html"`
	ThreadID    string            `json:"threadId"`
	ForwardOf   string            `json:"forwardOf"` // a message id
	From        string            `json:"from"`
	Attachments []DraftAttachment `json:"attachments"`
}

// DraftAttachment is a file of a draft; what the server does not know is zero.
type DraftAttachment struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	Size        int64  `json:"size"` // bytes
}

// DraftInput creates or changes a draft. What is left zero is not sent, so an update
// keeps it.
type DraftInput struct {
	To       Opt[[]string] `json:"to,omitzero"`
	Cc       Opt[[]string] `json:"cc,omitzero"`
	Bcc      Opt[[]string] `json:"bcc,omitzero"`
	Subject  Opt[string]   `json:"subject,omitzero"`
	HTML     Opt[string]   `json:"html,omitzero"`
	Text     Opt[string]   `json:"text,omitzero"`
	From     Opt[string]   `json:"from,omitzero"`
	ThreadID Opt[string]   `json:"threadId,omitzero"`
	// ForwardOf is a message id inside ThreadID; only a new draft takes it.
	ForwardOf Opt[string] `json:"forwardOf,omitzero"`
}

// SavedDraft carries the draft's id. It may differ from the one that was updated:
// always go on with this one. Empty: not saved, keep the local copy.
type SavedDraft struct {
	ID string `json:"id"`
}

func (p DraftListParams) query() query {
	var q query
	q.text("query", p.Query)
	q.number("limit", p.Limit)
	q.text("pageToken", p.PageToken)
	return q
}

// Update changes a draft; ForwardOf is not sent. Go on with the id of the answer.
//
// Operation drafts.update: PATCH /drafts/:id. Once: there is no second attempt.
func (s DraftsService) Update(ctx context.Context, id string, in DraftInput, options ...CallOption) (*SavedDraft, error) {
	in.ForwardOf = Opt[string]{}
	return fetch[SavedDraft](ctx, s.core, "drafts.update", []string{id}, query{}, in, options)
}

// UnmarshalJSON reads the wire form; missing lists are empty.
func (d *Draft) UnmarshalJSON(b []byte) error {
	type plain Draft
	if err := json.Unmarshal(b, (*plain)(d)); err != nil {
		return err
	}
	notNil(&d.To)
	notNil(&d.Cc)
	notNil(&d.Bcc)
	notNil(&d.Attachments)
	return nil
}
