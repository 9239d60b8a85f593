package api

import (
	"context"
	"encoding/json"
	"time"
)

// EmailsService holds the calls on sent and scheduled mail.
type EmailsService struct{ core *core }

// EmailStatus is where an email is on its way. Unknown values are kept.
type EmailStatus string

// The known statuses of an email.
const (
	EmailQueued    EmailStatus = "queued"
	EmailScheduled EmailStatus = "scheduled"
	EmailSending   EmailStatus = "sending"
	EmailSent      EmailStatus = "sent"
	EmailPartial   EmailStatus = "partial"
	EmailBounced   EmailStatus = "bounced"
	EmailCancelled EmailStatus = "cancelled"
	EmailFailed    EmailStatus = "failed"
)

// RecipientStatus is where one recipient's copy is. Unknown values are kept.
type RecipientStatus string

// The known statuses of a recipient.
const (
	RecipientPending    RecipientStatus = "pending"
	RecipientSuppressed RecipientStatus = "suppressed"
	RecipientDelivered  RecipientStatus = "delivered"
	RecipientFailed     RecipientStatus = "failed"
	RecipientBounced    RecipientStatus = "bounced"
	RecipientComplained RecipientStatus = "complained"
	RecipientUncertain  RecipientStatus = "uncertain"
)

// EmailSend is a message to send. EncodeBody gives the bytes that Send would send.
type EmailSend struct {
	From                  Address                `json:"from"`
	To                    []Address              `json:"to"`
	Cc                    []Address              `json:"cc,omitempty"`
	Bcc                   []Address              `json:"bcc,omitempty"`
	ReplyTo               *Address               `json:"replyTo,omitempty"`
	Subject               string                 `json:"subject,omitempty"`
	HTML                  string                 `json:"html,omitempty"`
	Text                  string                 `json:"text,omitempty"`
	Headers               map[string]string      `json:"headers,omitempty"`
	Attachments           []SendAttachment       `json:"attachments,omitempty"`
	AttachmentDelivery    AttachmentDeliveryMode `json:"attachmentDelivery,omitempty"`
	ThreadID              string                 `json:"threadId,omitempty"` // makes it a reply
	DraftID               string                 `json:"draftId,omitempty"`
	Template              *SendTemplate          `json:"template,omitempty"`
	ScheduledAt           Instant                `json:"scheduledAt,omitzero"`
	FollowUpAt            Instant                `json:"followUpAt,omitzero"`
	CancellableForSeconds int                    `json:"cancellableForSeconds,omitempty"`
	Tracking              *SendTracking          `json:"tracking,omitempty"`
	Signature             *bool                  `json:"signature,omitempty"`
	Tags                  map[string]string      `json:"tags,omitempty"`
	Translate             *SendTranslate         `json:"translate,omitempty"`
	Stream                SendStream             `json:"stream,omitempty"`
}

// MarshalJSON writes the body; to is always an array.
func (e EmailSend) MarshalJSON() ([]byte, error) {
	type plain EmailSend
	notNil(&e.To)
	return marshalPlain(plain(e))
}

// SendAttachment is a stored file, or a file that travels in the body.
type SendAttachment struct {
	FileID      string // the other fields are then ignored
	Filename    string
	Content     []byte
	ContentType string // empty: the server decides
}

// MarshalJSON writes one of the two forms.
func (a SendAttachment) MarshalJSON() ([]byte, error) {
	if a.FileID != "" {
		return marshalPlain(map[string]string{"fileId": a.FileID})
	}
	content := a.Content
	notNil(&content)
	return marshalPlain(struct {
		Filename    string `json:"filename"`
		Content     []byte `json:"content"`
		ContentType string `json:"contentType,omitempty"`
	}{a.Filename, content, a.ContentType})
}

// SendTemplate fills a stored template.
type SendTemplate struct {
	ID      string         `json:"id"`
	Version int            `json:"version,omitempty"`
	Props   map[string]any `json:"props,omitempty"`
	Slots   map[string]any `json:"slots,omitempty"`
}

// SendTracking asks for or against tracking; nil: as the settings say.
type SendTracking struct {
	Opens  *bool `json:"opens,omitempty"`
	Clicks *bool `json:"clicks,omitempty"`
}

// SendTranslate has the server translate the message before it goes out.
type SendTranslate struct {
	To              string `json:"to"`
	From            string `json:"from,omitempty"`
	IncludeOriginal *bool  `json:"includeOriginal,omitempty"`
	Subject         *bool  `json:"subject,omitempty"`
}

// Email is a message that the server has taken. Empty strings and nil times stand
// for what is not known or does not apply.
type Email struct {
	ID               string            `json:"id"`
	Status           EmailStatus       `json:"status"`
	Mode             Mode              `json:"mode"`
	From             string            `json:"from"`
	Subject          string            `json:"subject"`
	MessageID        string            `json:"messageId"`
	ThreadID         string            `json:"threadId"`
	Transport        EmailTransport    `json:"transport"`
	Attempts         int               `json:"attempts"`
	LastError        string            `json:"lastError"`
	ScheduledAt      *time.Time        `json:"scheduledAt"`
	CancellableUntil *time.Time        `json:"cancellableUntil"`
	SentAt           *time.Time        `json:"sentAt"`
	Tags             map[string]string `json:"tags"`
	BroadcastID      string            `json:"broadcastId"`
	Source           EmailSource       `json:"source"`
	Stream           SendStream        `json:"stream"`
	CreatedAt        time.Time         `json:"createdAt"`
	Recipients       []EmailRecipient  `json:"recipients"` // empty in lists of some servers
	// Tracking has the counts alone filled in by some calls; nil: not tracked.
	Tracking    *TrackingSummary  `json:"tracking"`
	Translation *EmailTranslation `json:"translation"` // nil: none
}

// EmailRecipient is one recipient's copy of an email.
type EmailRecipient struct {
	Email       string          `json:"email"`
	Name        string          `json:"name"`
	Kind        RecipientKind   `json:"kind"` // to, cc, bcc
	Status      RecipientStatus `json:"status"`
	Error       string          `json:"error"`
	DeliveredAt *time.Time      `json:"deliveredAt"`
}

// SentEmail is the answer of a send.
type SentEmail struct {
	Email
	// Replayed says that the server had this message already and answers how it stands now.
	Replayed bool `json:"replayed"`
	// IdempotencyKey is the key that the send went out under.
	IdempotencyKey string `json:"-"`
}

// EmailListParams narrows a list of emails. Zero fields are left out.
type EmailListParams struct {
	Status        []EmailStatus
	From          string
	BroadcastID   string
	ScheduledFrom time.Time
	ScheduledTo   time.Time
	Limit         int // 0: the server's default of 25; at most 100
	Cursor        string
}

func (p EmailListParams) query() query {
	status := make([]string, len(p.Status))
	for i, s := range p.Status {
		status[i] = string(s)
	}
	var q query
	q.list("status", status)
	q.text("from", p.From)
	q.text("broadcastId", p.BroadcastID)
	q.instant("scheduledFrom", p.ScheduledFrom)
	q.instant("scheduledTo", p.ScheduledTo)
	q.number("limit", p.Limit)
	q.text("cursor", p.Cursor)
	return q
}

// Send sends a message. All attempts carry one idempotency key, made for this call
// unless WithIdempotencyKey gives one. When the answer is a success without a body,
// the email returned has no ID.
//
// Operation emails.send: POST /emails. A send: a failed attempt is repeated under the same idempotency key.
func (s EmailsService) Send(ctx context.Context, e EmailSend, options ...CallOption) (*SentEmail, error) {
	return s.send(ctx, e, options)
}

// SendBytes sends a body exactly as it is: a JSON object that EncodeBody made, now or
// before a restart. It is emails.send like Send.
func (s EmailsService) SendBytes(ctx context.Context, body []byte, options ...CallOption) (*SentEmail, error) {
	if body == nil {
		body = []byte{}
	}
	return s.send(ctx, json.RawMessage(body), options)
}

func (s EmailsService) send(ctx context.Context, body any, options []CallOption) (*SentEmail, error) {
	out := new(SentEmail)
	key, err := s.core.invoke(ctx, "emails.send", nil, query{}, body, out, options)
	if err != nil {
		return nil, err
	}
	out.IdempotencyKey = key
	return out, nil
}
