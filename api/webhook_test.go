package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	hookSecret = "whsec_0123456789abcdef"
	hookBody   = `{"type":"email.received","data":{"id":"e1"}}`
	hookStamp  = 1772616600 // 2026-03-04T09:30:00Z
	// printf '%s' '1772616600.{"type":"email.received","data":{"id":"e1"}}' | openssl dgst -sha256 -hmac whsec_0123456789abcdef
	hookMAC = "1dbe5b23f268d58835597116c0ea1df0b1d55c3fccee711978dfef6a1d6478ac"
)

func hookHeaders(signatures ...string) http.Header {
	h := http.Header{}
	for _, s := range signatures {
		h.Add(WebhookSignatureHeader, s)
	}
	h.Set(WebhookEventHeader, "email.received")
	h.Set(WebhookDeliveryHeader, "whd_1")
	return h
}

func TestVerifyWebhookAt(t *testing.T) {
	at := time.Unix(hookStamp, 0)
	stamp := "t=" + strconv.Itoa(hookStamp)
	good := "v1=" + hookMAC
	wrong := "v1=" + strings.Repeat("0", 64)
	for _, tt := range []struct {
		name      string
		secret    string
		header    []string
		body      string
		tolerance time.Duration
		now       time.Time
		want      error
	}{
		{"plain", hookSecret, []string{stamp + "," + good}, hookBody, WebhookTolerance, at, nil},
		{"other order", hookSecret, []string{good + "," + stamp}, hookBody, WebhookTolerance, at, nil},
		{"blanks", hookSecret, []string{" " + stamp + " , " + good + " "}, hookBody, WebhookTolerance, at, nil},
		{"the second of two", hookSecret, []string{wrong + "," + stamp + "," + good}, hookBody, WebhookTolerance, at, nil},
		{"the first of two", hookSecret, []string{good + "," + stamp + "," + wrong}, hookBody, WebhookTolerance, at, nil},
		{"two header lines", hookSecret, []string{stamp + "," + wrong, good}, hookBody, WebhookTolerance, at, nil},
		{"one that is no hex", hookSecret, []string{stamp + ",v1=xyz," + good}, hookBody, WebhookTolerance, at, nil},
		{"a newer scheme beside", hookSecret, []string{stamp + ",v2=abc," + good}, hookBody, WebhookTolerance, at, nil},
		{"capital hex", hookSecret, []string{stamp + "," + "v1=" + strings.ToUpper(hookMAC)}, hookBody, WebhookTolerance, at, nil},
		{"as late as may be", hookSecret, []string{stamp + "," + good}, hookBody, WebhookTolerance, at.Add(300 * time.Second), nil},
		{"as early as may be", hookSecret, []string{stamp + "," + good}, hookBody, WebhookTolerance, at.Add(-300 * time.Second), nil},
		{"check off", hookSecret, []string{stamp + "," + good}, hookBody, 0, at.Add(1e6 * time.Hour), nil},

		{"no secret", "", []string{stamp + "," + good}, hookBody, WebhookTolerance, at, ErrWebhookSecret},
		{"no secret comes first", "", nil, "", WebhookTolerance, at, ErrWebhookSecret},
		{"no header", hookSecret, nil, hookBody, WebhookTolerance, at, ErrWebhookHeader},
		{"empty header", hookSecret, []string{"  "}, hookBody, WebhookTolerance, at, ErrWebhookHeader},
		{"no time", hookSecret, []string{good}, hookBody, WebhookTolerance, at, ErrWebhookMalformed},
		{"no signature", hookSecret, []string{stamp}, hookBody, WebhookTolerance, at, ErrWebhookMalformed},
		{"two times", hookSecret, []string{stamp + "," + stamp + "," + good}, hookBody, WebhookTolerance, at, ErrWebhookMalformed},
		{"words", hookSecret, []string{"hello"}, hookBody, WebhookTolerance, at, ErrWebhookMalformed},
		{"negative time", hookSecret, []string{"t=-5," + good}, hookBody, 0, at, ErrWebhookMalformed},
		{"time with a fraction", hookSecret, []string{stamp + ".5," + good}, hookBody, 0, at, ErrWebhookMalformed},
		{"time in other digits", hookSecret, []string{"t=١٢٣," + good}, hookBody, 0, at, ErrWebhookMalformed},
		{"time without end", hookSecret, []string{"t=" + strings.Repeat("9", 40) + "," + good}, hookBody, 0, at, ErrWebhookMalformed},
		{"milliseconds", hookSecret, []string{"t=1772616600000," + good}, hookBody, 0, at, ErrWebhookMalformed},
		{"too late", hookSecret, []string{stamp + "," + good}, hookBody, WebhookTolerance, at.Add(300*time.Second + 1), ErrWebhookTime},
		{"too early", hookSecret, []string{stamp + "," + good}, hookBody, WebhookTolerance, at.Add(-300*time.Second - 1), ErrWebhookTime},
		{"time before signature", hookSecret, []string{"t=1," + wrong}, hookBody, WebhookTolerance, at, ErrWebhookTime},
		{"far future", hookSecret, []string{"t=999999999999," + good}, hookBody, 1<<63 - 1, at, ErrWebhookTime},
		{"negative tolerance", hookSecret, []string{stamp + "," + good}, hookBody, -1, at, ErrWebhookTime},
		{"smallest tolerance", hookSecret, []string{stamp + "," + good}, hookBody, -1 << 63, at.Add(1e6 * time.Hour), ErrWebhookTime},
		{"wrong signature", hookSecret, []string{stamp + "," + wrong}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"empty signature", hookSecret, []string{stamp + ",v1="}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"half a signature", hookSecret, []string{stamp + "," + good[:40]}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"other scheme only", hookSecret, []string{stamp + ",v0=" + hookMAC}, hookBody, WebhookTolerance, at, ErrWebhookMalformed},
		{"other body", hookSecret, []string{stamp + "," + good}, hookBody + " ", WebhookTolerance, at, ErrWebhookSignature},
		{"other secret", hookSecret + "x", []string{stamp + "," + good}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"other time", hookSecret, []string{"t=1772616601," + good}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"time written otherwise", hookSecret, []string{"t=01772616600," + good}, hookBody, WebhookTolerance, at, ErrWebhookSignature},
		{"no JSON, signature wrong", hookSecret, []string{stamp + "," + good}, "hello", WebhookTolerance, at, ErrWebhookSignature},
		{"no JSON", hookSecret, []string{SignWebhook(hookSecret, []byte("hello"), at)}, "hello", WebhookTolerance, at, ErrWebhookBody},
		{"empty body", hookSecret, []string{SignWebhook(hookSecret, nil, at)}, "", WebhookTolerance, at, ErrWebhookBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := VerifyWebhookAt(tt.secret, hookHeaders(tt.header...), []byte(tt.body), tt.now, tt.tolerance)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil {
				var e *WebhookError
				if got != nil || !errors.As(err, &e) || e.Reason != tt.want {
					t.Errorf("%+v with %#v", got, err)
				}
				for _, target := range []error{ErrWebhookSecret, ErrWebhookHeader, ErrWebhookMalformed, ErrWebhookTime, ErrWebhookSignature, ErrWebhookBody} {
					if errors.Is(err, target) != (target == tt.want) {
						t.Errorf("%v and %v", err, target)
					}
				}
				if strings.Contains(err.Error(), tt.secret) && tt.secret != "" || strings.Contains(err.Error(), hookMAC) {
					t.Errorf("the error shows too much: %v", err)
				}
				return
			}
			var v struct{ Data struct{ ID string } }
			if err := got.Decode(&v); err != nil || v.Data.ID != "e1" || got.Event != WebhookEventEmailReceived || got.Delivery != "whd_1" || !got.At.Equal(at) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

func TestSignWebhook(t *testing.T) {
	if got := SignWebhook(hookSecret, []byte(hookBody), time.Unix(hookStamp, 999)); got != "t=1772616600,v1="+hookMAC {
		t.Errorf("%s", got)
	}
}

// TestWebhookBOM: what is signed is the raw body, what is decoded has no BOM.
func TestWebhookBOM(t *testing.T) {
	body := []byte("\xef\xbb\xbf{\"a\":1}\n")
	at := time.Unix(hookStamp, 0)
	got, err := VerifyWebhookAt(hookSecret, hookHeaders(SignWebhook(hookSecret, body, at)), body, at, WebhookTolerance)
	if err != nil || string(got.Payload) != `{"a":1}` {
		t.Errorf("%+v %v", got, err)
	}
}

// FuzzVerifyWebhook: no header without the secret's MAC passes, and none makes it panic.
func FuzzVerifyWebhook(f *testing.F) {
	for _, s := range []string{
		"", "t=1772616600,v1=" + hookMAC, "v1=" + hookMAC + ",t=1772616600", "t=,v1=", "t=1,t=2,v1=00", ",,,", "t=99999999999999999999,v1=00",
		"t=1772616600,v1=" + hookMAC + ",v1=00", "T=1,V1=2", "t==1,v1==2", "t=1772616600;v1=" + hookMAC,
	} {
		f.Add(s, []byte(hookBody))
	}
	at := time.Unix(hookStamp, 0)
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		got, err := VerifyWebhookAt(hookSecret, http.Header{http.CanonicalHeaderKey(WebhookSignatureHeader): {header}}, body, at, WebhookTolerance)
		var e *WebhookError
		if (err == nil) == (got == nil) || err != nil && !errors.As(err, &e) {
			t.Fatalf("%q: %+v %v", header, got, err)
		}
		if err == nil {
			// It can only have passed with the signature of just this time and body.
			want := SignWebhook(hookSecret, body, got.At)
			_, mac, _ := strings.Cut(want, "v1=")
			if !strings.Contains(strings.ToLower(header), mac) || got.At.Sub(at).Abs() > WebhookTolerance {
				t.Fatalf("%q passes for %q", header, body)
			}
		}
	})
}
