package api

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestUnions: every variant of a union keeps its place and its name, and one that is
// not known comes back as it was.
func TestUnions(t *testing.T) {
	s := readShapes(t)
	for name, union := range map[string]func() any{
		"AutomationCondition": func() any { return new(AutomationCondition) }, "AutomationValue": func() any { return new(AutomationValue) },
		"AutomationWait": func() any { return new(AutomationWait) }, "AutomationStep": func() any { return new(AutomationStep) },
		"AutomationTrigger": func() any { return new(AutomationTrigger) },
	} {
		for _, shape := range alternatives(s[name][0].typ) {
			for _, nulls := range []bool{false, true} {
				want := s.sample(t, shape, "", nulls)
				b, err := json.Marshal(want)
				if err != nil {
					t.Fatal(err)
				}
				u := union()
				if err := json.Unmarshal(b, u); err != nil {
					t.Fatalf("%s: %v", shape, err)
				}
				set := 0
				for i := range reflect.ValueOf(u).Elem().NumField() {
					if !reflect.ValueOf(u).Elem().Field(i).IsZero() {
						set++
					}
				}
				back, err := json.Marshal(u)
				var got any
				if err != nil || json.Unmarshal(back, &got) != nil || !reflect.DeepEqual(got, want) || set != 1 {
					t.Errorf("%s: %s, want %s (%v), %d fields set", shape, back, b, err, set)
				}
			}
		}
		u := union()
		strange := `{"kind":"newer","mode":"newer","source":"newer","x":[1]}`
		if err := json.Unmarshal([]byte(strange), u); err != nil {
			t.Fatal(err)
		}
		if back, err := json.Marshal(u); err != nil || string(back) != strange {
			t.Errorf("%s: %s %v", name, back, err)
		}
		if _, err := json.Marshal(union()); !errors.Is(err, errNoVariant) {
			t.Errorf("%s with nothing set: %v", name, err)
		}
	}
	two := AutomationWait{Duration: &AutomationDurationWait{}, Until: &AutomationUntilWait{}}
	if _, err := json.Marshal(two); !errors.Is(err, errNoVariant) {
		t.Errorf("two variants: %v", err)
	}
}

// TestShapesBesideCalls: what no call answers, webhooks bring.
func TestShapesBesideCalls(t *testing.T) {
	s := readShapes(t)
	for name, v := range map[string]any{
		"EmailOpenedData": new(EmailOpenedData), "EmailClickedData": new(EmailClickedData), "EmailDownloadedData": new(EmailDownloadedData),
		"FileEventData": new(FileEventData), "FormSubmittedEventData": new(FormSubmittedEventData), "FormConfirmedEventData": new(FormConfirmedEventData),
		"SettingsOverrides": new(SettingsOverrides), "TemplateContent": new(TemplateContent), "TemplateFont": new(TemplateFont),
	} {
		for _, nulls := range []bool{false, true} {
			sample := s.sample(t, name, "", nulls).(map[string]any)
			b, err := json.Marshal(sample)
			if err != nil {
				t.Fatal(err)
			}
			reflect.ValueOf(v).Elem().SetZero()
			if err := json.Unmarshal(b, v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkResult(t, sample, v, nulls)
		}
	}
}

// TestCredentialShapes: the key's and the token's description have one type.
func TestCredentialShapes(t *testing.T) {
	s := readShapes(t)
	for _, name := range []string{"ApiKeySelfResource", "OauthTokenSelfResource"} {
		sample := s.sample(t, name, "", false).(map[string]any)
		b, _ := json.Marshal(sample)
		key, err := testClient(t, answering(200, string(b))).Me.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, sample, key, false)
	}
	for _, name := range []string{"ApiKeyPingResource", "OauthTokenPingResource"} {
		sample := s.sample(t, name, "", false).(map[string]any)
		b, _ := json.Marshal(sample)
		pong, err := testClient(t, answering(200, string(b))).Me.Ping(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, sample, pong, false)
	}
}

// TestLenientInstants: an instant in another form than the contract's is read, one that
// cannot be read is none, and neither fails the answer.
func TestLenientInstants(t *testing.T) {
	want := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for text, ok := range map[string]bool{
		`"2026-03-01T09:30:00.000Z"`: true, `"2026-03-01T10:30:00+01:00"`: true, `"2026-03-01 09:30:00"`: true, `"2026-03-01T09:30Z"`: true, `"2026-03-01T09:30"`: true,
		`1772357400`: true, `1772357400000`: true, `"Sun, 01 Mar 2026 09:30:00 +0000"`: true,
		`""`: false, `"soon"`: false, `{}`: false, `[1]`: false, `true`: false, `null`: false,
	} {
		body := `{"data":[{"id":"k1","createdAt":` + text + `,"expiresAt":` + text + `,"totalUses":3,"createdBy":{"id":"u"}}],"hasMore":false}`
		page, err := testClient(t, answering(200, body)).Keys.List(t.Context(), ListParams{})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		k := page.Items[0]
		if ok != k.CreatedAt.Equal(want) || ok != (k.ExpiresAt != nil && k.ExpiresAt.Equal(want)) || !ok && !k.CreatedAt.IsZero() {
			t.Errorf("%s: %v %v", text, k.CreatedAt, k.ExpiresAt)
		}
		if k.CreatedAt.Location() != time.UTC || k.ExpiresAt != nil && k.ExpiresAt.Location() != time.UTC {
			t.Errorf("%s: not in UTC: %v %v", text, k.CreatedAt, k.ExpiresAt)
		}
		if k.ID != "k1" || k.TotalUses != 3 || k.CreatedBy == nil {
			t.Errorf("%s: %+v", text, k)
		}
	}
	// Beside one that is read leniently too.
	k, err := testClient(t, answering(200, `{"id":"k1","createdAt":1772357400,"updatedAt":"2026-03-01T10:30:00+01:00"}`)).Keys.Get(t.Context(), "k1")
	if err != nil || k.UpdatedAt != want {
		t.Errorf("%v %v", k, err)
	}
	// Elsewhere a wrong type fails, whatever the instants.
	for _, body := range []string{`{"id":7,"createdAt":"soon"}`, `{"id":"k","totalUses":"many"}`, `{"scopes":{},"createdAt":""}`} {
		_, err := testClient(t, answering(200, body)).Keys.Get(t.Context(), "k")
		if e := asError(t, err); e.Code != "unrecognised_response" || e.Unwrap() == nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestUnsetNullAndZero: three things in the body of a change.
func TestUnsetNullAndZero(t *testing.T) {
	for _, tt := range []struct {
		body any
		want string
	}{
		{LabelPatch{}, `{}`},
		{LabelPatch{Color: Null[LabelColorInput](), AIInstructions: Set(""), AIEnabled: Set(false)}, `{"color":null,"aiInstructions":"","aiEnabled":false}`},
		{SettingsPatch{Signature: Null[string](), BlockedWords: Set([]string(nil)), TrackOpens: Set(false)}, `{"signature":null,"trackOpens":false,"blockedWords":[]}`},
		{WebhookCreate{URL: "https://x"}, `{"url":"https://x"}`},
		{WebhookCreate{URL: "https://x", EventTypes: []WebhookEvent{}}, `{"url":"https://x","eventTypes":[]}`},
		{RuleCreate{Name: "r"}, `{"name":"r","conditions":[],"actions":[]}`},
		{OutOfOfficeSet{Message: "away", StartsAt: Set(At(when)), EndsAt: Null[Instant]()}, `{"message":"away","startsAt":"2026-03-01T09:30:00.000Z","endsAt":null}`},
		{AutomationDefinition{}, `{"trigger":null,"entry":null,"steps":[]}`},
		{AutomationSendStep{}, `{"key":"","next":null,"templateId":"","templateVersion":null,"from":{"email":""},"replyTo":null,"subject":null,"props":{}}`},
		{APIKeyCreate{Name: "k", ExpiresInMinutes: Set(Minutes(90))}, `{"name":"k","expiresInMinutes":90}`},
	} {
		if b, err := EncodeBody(tt.body); err != nil || !sameJSON(t, string(b), tt.want) {
			t.Errorf("%T: %s %v, want %s", tt.body, b, err, tt.want)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

func TestOpen(t *testing.T) {
	var m map[string]Open
	if err := json.Unmarshal([]byte(`{"s":"x","f":true,"g":false,"n":1.5,"z":null,"o":{"a":[1]}}`), &m); err != nil {
		t.Fatal(err)
	}
	if s, ok := m["s"].Text(); s != "x" || !ok {
		t.Error(s, ok)
	}
	if f, ok := m["f"].Flag(); !f || !ok {
		t.Error(f, ok)
	}
	if f, ok := m["g"].Flag(); f || !ok {
		t.Error(f, ok)
	}
	if n, ok := m["n"].Number(); n != 1.5 || !ok {
		t.Error(n, ok)
	}
	for _, key := range []string{"z", "missing", "o"} {
		_, text := m[key].Text()
		_, flag := m[key].Flag()
		_, number := m[key].Number()
		if text || flag || number || m[key].IsNull() != (key != "o") {
			t.Errorf("%s: %v %v %v", key, text, flag, number)
		}
	}
	var o struct{ A []int }
	if err := m["o"].Decode(&o); err != nil || len(o.A) != 1 || m["o"].String() != `{"a":[1]}` {
		t.Error(o, err, m["o"])
	}
	made, err := OpenOf(map[string]string{"k": "<&>"})
	if err != nil || made.String() != `{"k":"<&>"}` {
		t.Error(made, err)
	}
	if _, err := OpenOf(func() {}); err == nil {
		t.Error("a function became JSON")
	}
	if b, err := json.Marshal(Open(nil)); err != nil || string(b) != "null" {
		t.Errorf("%s %v", b, err)
	}
}

func TestLengthsOfTime(t *testing.T) {
	for got, want := range map[time.Duration]time.Duration{
		Milliseconds(1.5).Duration(): 1500 * time.Microsecond, Seconds(0.25).Duration(): 250 * time.Millisecond, Minutes(2).Duration(): 2 * time.Minute,
		Minutes(1e300).Duration(): century, Seconds(-1e300).Duration(): -century,
	} {
		if got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	rec := &recorder{next: answering(200, `{"object":"settings","language":"de","trackOpens":false,"overrides":{"signature":"Hi","trackOpens":true}}`)}
	c := testClient(t, rec)
	s, err := c.Settings.Get(t.Context(), SettingsParams{Address: "@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	language, _ := s["language"].Text()
	o, err := s.Overrides()
	if err != nil || language != "de" || o.Signature != "Hi" || o.TrackOpens == nil || !*o.TrackOpens || o.TrackClicks != nil {
		t.Errorf("%v %+v %v", language, o, err)
	}
	if q := rec.all()[0].query; q != "address=%40example.com" {
		t.Error(q)
	}
	// A change that was made, whose answer is empty.
	empty, err := testClient(t, answering(204, "")).Settings.Update(t.Context(), SettingsParams{}, SettingsPatch{})
	if err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("%v %v", empty, err)
	}
	if _, err := testClient(t, answering(204, "")).Settings.Get(t.Context(), SettingsParams{}); !errors.Is(err, ErrUnrecognised) {
		t.Error(err)
	}
}

func TestSentBatch(t *testing.T) {
	rec := &recorder{next: answering(200, `{"data":[{"index":0,"status":"ok","email":{"id":"e1","replayed":true}},{"index":1,"status":"error","error":{"type":"validation_error","code":"invalid_field","message":"no","param":"to"}}],"sent":1,"failed":1}`)}
	got, err := testClient(t, rec).Emails.SendBatch(t.Context(), []EmailSend{{Subject: "a"}, {Subject: "b"}}, WithIdempotencyKey("batch:1"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Sent != 1 || got.Failed != 1 || got.IdempotencyKey != "batch:1" || len(got.Items) != 2 || got.Items[0].Email.ID != "e1" || !got.Items[0].Email.Replayed ||
		got.Items[0].Error != nil || got.Items[1].Email != nil || got.Items[1].Error.Param != "to" {
		t.Errorf("%+v", got)
	}
	if body := string(rec.all()[0].body); strings.Count(body, `"subject"`) != 2 {
		t.Error(body)
	}
	// Nothing is still a list.
	if _, err := testClient(t, rec).Emails.SendBatch(t.Context(), nil); err != nil || string(rec.all()[1].body) != `{"emails":[]}` {
		t.Errorf("%s %v", rec.all()[1].body, err)
	}
}
