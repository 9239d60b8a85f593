package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// stepUpServer refuses a sensitive call until the right code was verified.
type stepUpServer struct {
	elevated bool
	codes    map[string]string // code to the error code it gets; "": right
	seen     []string
}

func (s *stepUpServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b := make([]byte, 200)
		n, _ := r.Body.Read(b)
		body = string(b[:n])
	}
	s.seen = append(s.seen, r.Method+" "+r.URL.Path+" "+body)
	refuse := func(code string) (*http.Response, error) {
		return reply(403, `{"error":{"type":"permission_error","code":"`+code+`","message":"no"}}`), nil
	}
	switch r.URL.Path {
	case "/security/step-up":
		if r.Method == http.MethodGet {
			return reply(200, `{"object":"step_up","elevated":true,"elevatedUntil":"2026-03-01T09:30:00.000Z","method":"email","minutes":60}`), nil
		}
		return reply(200, `{"object":"step_up_challenge","method":"email","sentTo":"a@b.c","reused":false}`), nil
	case "/security/step-up/verify":
		for code, refusal := range s.codes {
			if strings.Contains(body, `"`+code+`"`) && refusal != "" {
				return refuse(refusal)
			}
		}
		s.elevated = true
		return reply(200, `{"object":"step_up","elevated":true,"elevatedUntil":"2026-03-01T09:30:00.000Z"}`), nil
	}
	if !s.elevated {
		return refuse("step_up_required")
	}
	return reply(200, `{"object":"api_key","id":"k1","deleted":true}`), nil
}

// TestStepUp: the flow from the refusal to the call that is made again.
func TestStepUp(t *testing.T) {
	gone := errors.New("gave up")
	for _, tt := range []struct {
		name  string
		codes map[string]string
		types []string // what the person types; "": gives up
		want  string   // the calls: methods, but RESEND for another challenge
		err   error
	}{
		{"right at once", nil, []string{"111"}, "DELETE POST VERIFY DELETE", nil},
		{"wrong, then right", map[string]string{"111": "step_up_code_invalid"}, []string{"111", "222"}, "DELETE POST VERIFY VERIFY DELETE", nil},
		{"too old", map[string]string{"111": "step_up_code_expired"}, []string{"111", "222"}, "DELETE POST VERIFY RESEND VERIFY DELETE", nil},
		{"wrong for ever", map[string]string{"1": "step_up_code_invalid"}, []string{"1", "1", "1"}, "DELETE POST VERIFY VERIFY VERIFY", ErrStepUpCode},
		{"locked", map[string]string{"1": "step_up_locked"}, []string{"1"}, "DELETE POST VERIFY", ErrPermission},
		{"the person gives up", nil, []string{""}, "DELETE POST", gone},
	} {
		s := &stepUpServer{codes: tt.codes}
		c := testClient(t, s, func(o *Options) { o.APIKey, o.AccessToken = "", "token" })
		var prompts []StepUpPrompt
		err := c.StepUp(t.Context(), func(_ context.Context, p StepUpPrompt) (string, error) {
			prompts = append(prompts, p)
			code := tt.types[len(prompts)-1]
			if code == "" {
				return "", gone
			}
			return code, nil
		}, func(ctx context.Context) error { return ignore(c.Keys.Delete(ctx, "k1")) })
		var calls []string
		for _, line := range s.seen {
			word, _, _ := strings.Cut(line, " ")
			switch {
			case strings.Contains(line, "/verify"):
				word = "VERIFY"
			case strings.Contains(line, `"resend":true`):
				word = "RESEND"
			}
			calls = append(calls, word)
		}
		if got := strings.Join(calls, " "); got != tt.want || !errors.Is(err, tt.err) || len(prompts) != len(tt.types) {
			t.Errorf("%s: %s, %d prompts, %v", tt.name, got, len(prompts), err)
		}
		for i, p := range prompts {
			if p.Try != i+1 || (p.Err != nil) != (i > 0) || p.Challenge.SentTo != "a@b.c" || p.Challenge.Method != StepUpMethodEmail {
				t.Errorf("%s: prompt %+v", tt.name, p)
			}
		}
	}
	// A call that needs none, one that fails otherwise, and a server that cannot challenge.
	c := testClient(t, &stepUpServer{elevated: true})
	never := func(context.Context, StepUpPrompt) (string, error) { t.Error("asked"); return "", nil }
	if err := c.StepUp(t.Context(), never, func(ctx context.Context) error { return ignore(c.Keys.Delete(ctx, "k1")) }); err != nil {
		t.Error(err)
	}
	if err := c.StepUp(t.Context(), never, func(context.Context) error { return gone }); err != gone {
		t.Error(err)
	}
	c = testClient(t, answering(403, `{"error":{"code":"step_up_required"}}`))
	if err := c.StepUp(t.Context(), never, func(ctx context.Context) error { return ignore(c.Keys.Delete(ctx, "k1")) }); !errors.Is(err, ErrStepUp) {
		t.Error(err)
	}
}
