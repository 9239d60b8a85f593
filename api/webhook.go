package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a webhook request.
const (
	WebhookSignatureHeader = "X-OpenEmail-Signature" // t=<Unix seconds>,v1=<hex>
	WebhookEventHeader     = "X-OpenEmail-Event"     // "email.received"
	WebhookDeliveryHeader  = "X-OpenEmail-Delivery"  // the delivery's id, the same when it is sent again
)

// WebhookTolerance is how far a webhook's time may lie from the receiver's clock,
// either way, by the API's recommendation.
const WebhookTolerance = 300 * time.Second

// Targets for errors.Is on what VerifyWebhook and VerifyWebhookAt return, in the order in which they check.
var (
	ErrWebhookSecret    = errors.New("no webhook secret")
	ErrWebhookHeader    = errors.New("no webhook signature")
	ErrWebhookMalformed = errors.New("malformed webhook signature")
	ErrWebhookTime      = errors.New("webhook too old or too new")
	ErrWebhookSignature = errors.New("wrong webhook signature")
	ErrWebhookBody      = errors.New("the webhook's body is not JSON")
)

// WebhookError is a webhook that VerifyWebhook refused. It matches one of the
// ErrWebhook targets and holds neither the secret nor anything of the request
// but its time.
type WebhookError struct {
	Reason error     // one of the ErrWebhook targets
	At     time.Time // the time the sender claims; zero when none could be read
}

// Error says why the webhook was refused.
func (e *WebhookError) Error() string {
	if e.Reason == ErrWebhookTime {
		return "webhook: " + e.Reason.Error() + ": it says " + FormatInstant(e.At)
	}
	return "webhook: " + e.Reason.Error()
}

// Unwrap returns the reason.
func (e *WebhookError) Unwrap() error { return e.Reason }

// VerifiedWebhook is a webhook whose signature was right. Event and Delivery stand in
// headers that the signature does not cover: trust the payload where they differ.
type VerifiedWebhook struct {
	Event    WebhookEvent    // WebhookEventEmailReceived, for example; empty: the sender does not say
	Delivery string          // use it to recognise a delivery that came before
	At       time.Time       // when it was signed, to the second
	Payload  json.RawMessage // the body, without a BOM
}

// Decode reads the payload into v.
func (w *VerifiedWebhook) Decode(v any) error { return json.Unmarshal(w.Payload, v) }

// VerifyWebhook checks that a webhook comes from who knows the endpoint's secret, and
// that it was signed within [WebhookTolerance] of now. body is the raw body as it arrived:
// limit its size before reading it, and parse it only afterwards. A header may carry
// several signatures, of which one must be right; they are compared in constant time.
// The error is a *WebhookError.
func VerifyWebhook(secret string, header http.Header, body []byte) (*VerifiedWebhook, error) {
	return VerifyWebhookAt(secret, header, body, time.Now(), WebhookTolerance)
}

// VerifyWebhookAt is VerifyWebhook with a clock and a tolerance of the caller's own, for
// stored webhooks and for tests. The signature's time may lie at most tolerance from now,
// either way; 0 turns that check off, and a negative tolerance accepts nothing.
func VerifyWebhookAt(secret string, header http.Header, body []byte, now time.Time, tolerance time.Duration) (*VerifiedWebhook, error) {
	if secret == "" {
		return nil, &WebhookError{Reason: ErrWebhookSecret}
	}
	signed := strings.TrimSpace(strings.Join(header.Values(WebhookSignatureHeader), ","))
	if signed == "" {
		return nil, &WebhookError{Reason: ErrWebhookHeader}
	}
	stamp, at, signatures, ok := parseWebhookSignature(signed)
	if !ok {
		return nil, &WebhookError{Reason: ErrWebhookMalformed}
	}
	// Sub stops at the ends of a Duration, so a distant time cannot wrap around.
	if d := now.Sub(at); tolerance != 0 && (d > tolerance || d < -tolerance) {
		return nil, &WebhookError{Reason: ErrWebhookTime, At: at}
	}
	want := webhookMAC(secret, stamp, body)
	match := false
	for _, s := range signatures {
		got, err := hex.DecodeString(s)
		match = err == nil && hmac.Equal(got, want) || match
	}
	if !match {
		return nil, &WebhookError{Reason: ErrWebhookSignature, At: at}
	}
	payload := cleanJSON(body)
	if !validJSON(payload) {
		return nil, &WebhookError{Reason: ErrWebhookBody, At: at}
	}
	return &VerifiedWebhook{
		Event:    WebhookEvent(header.Get(WebhookEventHeader)),
		Delivery: header.Get(WebhookDeliveryHeader),
		At:       at,
		Payload:  payload,
	}, nil
}

// SignWebhook makes the value of the signature header, for senders and for tests of
// receivers.
func SignWebhook(secret string, body []byte, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(webhookMAC(secret, stamp, body))
}

func webhookMAC(secret, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(stamp + "."))
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// parseWebhookSignature reads t=<Unix seconds>,v1=<hex> in any order. Other schemes
// than v1 are skipped. The stamp is also returned as it was written, for that is what is signed.
func parseWebhookSignature(header string) (stamp string, at time.Time, signatures []string, ok bool) {
	for part := range strings.SplitSeq(header, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found {
			return "", time.Time{}, nil, false
		}
		switch key {
		case "t":
			// Two times would leave open which one was meant; 12 digits last until the year 33658.
			if stamp != "" || !allDigits(value) || len(value) > 12 {
				return "", time.Time{}, nil, false
			}
			stamp = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	if stamp == "" || len(signatures) == 0 {
		return "", time.Time{}, nil, false
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return "", time.Time{}, nil, false
	}
	return stamp, time.Unix(seconds, 0).UTC(), signatures, true
}
