package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// server answers in memory, by method and path, and prints what it was asked to change.
type server map[string]string

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	answer, ok := s[r.Method+" "+r.URL.EscapedPath()]
	if !ok {
		status, answer = http.StatusNotFound, `{"error":{"type":"not_found_error","code":"resource_not_found","message":"There is no such thing.","requestId":"req_1"}}`
	}
	if r.Method != http.MethodGet && r.Body != nil {
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			fmt.Printf("> %s %s %s\n", r.Method, r.URL.EscapedPath(), body)
		}
	}
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(answer)),
	}, nil
}

// connect makes a client of a server in memory. Programs give api.New their key instead.
func connect(s server) *api.Client {
	client, err := api.New(api.Options{APIKey: "oe_test_example", Transport: s})
	if err != nil {
		panic(err)
	}
	return client
}

// The list holds ids only: a row's sender and subject come from the thread.
func ExampleThreadsService_Get() {
	client := connect(server{
		"GET /threads/t1": `{"object":"thread","id":"t1","hasUnread":true,"labels":[{"id":"INBOX","name":"Inbox","color":null}],
			"messages":[{"id":"m1","subject":"Tea at four?","from":{"name":"Ada","email":"ada@example.com"},
				"receivedAt":"2026-03-01T09:30:00.000Z","text":"Bring the good biscuits."}]}`,
	})
	thread, err := client.Threads.Get(context.Background(), "t1")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := thread.Messages[0]
	fmt.Println(m.From.Name, m.ReceivedAt.Format(time.RFC1123))
	fmt.Println(m.Subject)
	fmt.Println(m.Text)
	// Output:
	// Ada Sun, 01 Mar 2026 09:30:00 UTC
	// Tea at four?
	// Bring the good biscuits.
}

// Files come with a call of their own. Their names are the sender's: take what follows the
// last separator, and give those without one a name.
func ExampleThreadsService_ListAttachments() {
	client := connect(server{
		"GET /threads/t1/messages/m1/attachments": `{"object":"list","data":[
			{"attachmentId":"a1","filename":"../notes.txt","contentType":"text/plain","size":5,"inline":false,"content":"aGVsbG8="},
			{"attachmentId":"a2","filename":"","contentType":"image/png","size":0,"inline":true,"content":""}]}`,
	})
	files, err := client.Threads.ListAttachments(context.Background(), "t1", "m1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		name := path.Base(strings.ReplaceAll(f.Filename, `\`, "/"))
		if f.Filename == "" {
			name = f.AttachmentID
		}
		fmt.Printf("%s: %d bytes\n", name, len(f.Content))
	}
	// Output:
	// notes.txt: 5 bytes
	// a2: 0 bytes
}

// To archive is to take the label INBOX off; a star is a label too.
func ExampleThreadsService_Update() {
	client := connect(server{
		"PATCH /threads/t1": `{"object":"thread","id":"t1","addedLabelIds":["STARRED"],"removedLabelIds":["INBOX"]}`,
	})
	updated, err := client.Threads.Update(context.Background(), "t1", api.ThreadPatch{
		Read:           api.Set(true),
		AddLabelIDs:    []string{"STARRED"},
		RemoveLabelIDs: []string{"INBOX"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("added", updated.AddedLabelIDs, "removed", updated.RemovedLabelIDs)
	// Output:
	// > PATCH /threads/t1 {"read":true,"addLabelIds":["STARRED"],"removeLabelIds":["INBOX"]}
	// added [STARRED] removed [INBOX]
}

func ExampleThreadsService_Snooze() {
	client := connect(server{
		"POST /threads/t1/snooze": `{"object":"thread","id":"t1","snoozedUntil":"2026-03-02T08:00:00.000Z"}`,
	})
	monday := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	snoozed, err := client.Threads.Snooze(context.Background(), "t1", monday)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("back on", snoozed.SnoozedUntil.Weekday())
	// Output:
	// > POST /threads/t1/snooze {"wakeAt":"2026-03-02T08:00:00.000Z"}
	// back on Monday
}

// The names and numbers of a sidebar.
func ExampleThreadsService_Counts() {
	client := connect(server{
		"GET /threads/counts": `{"object":"mailbox_counts","folders":[{"label":"inbox","count":12,"unread":3},{"label":"draft","count":2,"unread":0}]}`,
	})
	counts, err := client.Threads.Counts(context.Background(), api.CountsParams{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range counts.Folders {
		fmt.Println(f.Label, f.Count, f.Unread)
	}
	// Output:
	// inbox 12 3
	// draft 2 0
}

// A field that is not set keeps its value; Null and an empty value are two other things.
func ExampleDraftsService_Update() {
	client := connect(server{
		"PATCH /drafts/d1": `{"object":"draft","id":"d1"}`,
	})
	_, err := client.Drafts.Update(context.Background(), "d1", api.DraftInput{
		Subject: api.Set("Tea at five"),
		Cc:      api.Set([]string{}),
	})
	fmt.Println(err)
	// Output:
	// > PATCH /drafts/d1 {"cc":[],"subject":"Tea at five"}
	// <nil>
}

// A send that may be tried again after a restart keeps its key and its bytes: however
// often it is sent, the message goes out once.
func ExampleEmailsService_SendBytes() {
	client := connect(server{
		"POST /emails": `{"object":"email","id":"e1","status":"sent","replayed":true}`,
	})
	// Before the first try, on disk: key and body.
	key := api.NewIdempotencyKey()
	body, err := api.EncodeBody(api.EmailSend{
		From: api.Address{Email: "ada@example.com"},
		To:   []api.Address{{Email: "grace@example.com"}},
		Text: "At four, then.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Now, or after a crash whose outcome nobody knows.
	sent, err := client.Emails.SendBytes(context.Background(), body, api.WithIdempotencyKey(key))
	if err != nil {
		fmt.Println(err)
		return
	}
	if sent.Replayed {
		fmt.Println(sent.ID, "had arrived before; it is", sent.Status)
	}
	// Output:
	// > POST /emails {"from":{"email":"ada@example.com"},"to":[{"email":"grace@example.com"}],"text":"At four, then."}
	// e1 had arrived before; it is sent
}

func ExampleLabelsService_Create() {
	client := connect(server{
		"POST /labels": `{"object":"label","id":"l1","name":"Recipes","type":"user","threadCount":0}`,
	})
	label, err := client.Labels.Create(context.Background(), api.LabelInput{Name: "Recipes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(label.ID, label.Name, label.Type)
	// Output:
	// > POST /labels {"name":"Recipes"}
	// l1 Recipes user
}

// Completes an address while it is typed.
func ExampleContactsService_ListPeople() {
	client := connect(server{
		"GET /contacts/people": `{"object":"list","seen":true,"hasMore":false,"data":[{"object":"person","email":"grace@example.com","displayEmail":"grace@example.com","name":"Grace Hopper","saved":true}]}`,
	})
	people, err := client.Contacts.ListPeople(context.Background(), api.PeopleListParams{Q: "gra", Limit: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range people.Items {
		fmt.Printf("%s <%s>\n", p.Name, p.Email)
	}
	// Output: Grace Hopper <grace@example.com>
}

func ExampleAddressesService_List() {
	client := connect(server{
		"GET /addresses": `{"object":"list","unrestricted":false,"domains":[],"hasMore":false,"data":[{"object":"address","address":"ada@example.com","enabled":true,"canSend":true}]}`,
	})
	addresses, err := client.Addresses.List(context.Background(), api.ListParams{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range addresses.Items {
		fmt.Println(a.Address, a.CanSend)
	}
	// Output: ada@example.com true
}

// Bytes stream in both directions. An upload from something that can seek is sent again
// after a failed attempt if its operation may be repeated, byte for byte the same.
func ExampleFilesService_Upload() {
	client := connect(server{
		"POST /files":           `{"object":"file","id":"f1","filename":"tea.txt","sizeBytes":5}`,
		"GET /files/f1/content": "Darjeeling",
	})
	ctx := context.Background()
	file, err := client.Files.Upload(ctx, api.Upload{Body: strings.NewReader("Assam"), Filename: "tea.txt", ContentType: "text/plain"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var content bytes.Buffer
	got, err := client.Files.Download(ctx, file.ID, &content, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Filename, got.Bytes, content.String())
	// Output:
	// > POST /files Assam
	// tea.txt 10 Darjeeling
}

func ExampleFollowUpsService_Set() {
	client := connect(server{
		"POST /follow-ups": `{"object":"follow_up","id":"fu1","threadId":"t1","status":"waiting","remindAt":"2026-03-05T09:00:00.000Z","createdAt":"2026-03-01T09:00:00.000Z"}`,
	})
	followUp, err := client.FollowUps.Set(context.Background(), api.FollowUpSet{
		ThreadID: "t1",
		RemindAt: api.At(time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(followUp.Status, "until", followUp.RemindAt.Format(time.DateOnly))
	// Output:
	// > POST /follow-ups {"threadId":"t1","remindAt":"2026-03-05T09:00:00.000Z"}
	// waiting until 2026-03-05
}

func ExampleRulesService_Create() {
	client := connect(server{
		"POST /rules": `{"object":"rule","id":"r1","name":"Receipts","enabled":true,"position":0,"match":"all"}`,
	})
	rule, err := client.Rules.Create(context.Background(), api.RuleCreate{
		Name:       "Receipts",
		Conditions: []api.RuleConditionInput{{Field: "subject", Op: "contains", Value: "receipt"}},
		Actions:    []api.RuleAction{{Type: "label", Value: "l1"}, {Type: "archive"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule.ID, rule.Enabled)
	// Output:
	// > POST /rules {"name":"Receipts","conditions":[{"field":"subject","op":"contains","value":"receipt"}],"actions":[{"type":"label","value":"l1"},{"type":"archive"}]}
	// r1 true
}

func ExampleOutOfOfficeService_Set() {
	client := connect(server{
		"PUT /out-of-office": `{"object":"out_of_office","address":"ada@example.com","enabled":true,"active":false,"subject":"Away","message":"Back on Monday."}`,
	})
	away, err := client.OutOfOffice.Set(context.Background(), api.OutOfOfficeSetParams{Address: "ada@example.com"}, api.OutOfOfficeSet{
		Message: "Back on Monday.",
		EndsAt:  api.Set(api.At(time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC))),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(away.Enabled, away.Subject)
	// Output:
	// > PUT /out-of-office {"endsAt":"2026-03-09T00:00:00.000Z","message":"Back on Monday."}
	// true Away
}

// The answer is open: values are decoded by name. Null inherits again.
func ExampleSettingsService_Update() {
	client := connect(server{
		"PATCH /settings": `{"object":"settings","signature":"Ada","trackOpens":false,"overrides":{"trackOpens":false}}`,
	})
	settings, err := client.Settings.Update(context.Background(), api.SettingsParams{Address: "ada@example.com"}, api.SettingsPatch{
		TrackOpens: api.Set(false),
		Signature:  api.Null[string](),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	signature, _ := settings["signature"].Text()
	overrides, err := settings.Overrides()
	fmt.Println(signature, *overrides.TrackOpens, err)
	// Output:
	// > PATCH /settings {"signature":null,"trackOpens":false}
	// Ada false <nil>
}

func ExampleSendersService_Get() {
	client := connect(server{
		"GET /senders/news%40example.com": `{"object":"sender_profile","domain":"example.com","about":"A shop for tea.","updatedAt":"2026-03-01T09:30:00.000Z"}`,
	})
	profile, err := client.Senders.Get(context.Background(), "news@example.com")
	if errors.Is(err, api.ErrNotFound) {
		fmt.Println("a person, not an organisation")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(profile.About)
	// Output: A shop for tea.
}

// Some lists can only be left on the sender's own page.
func ExampleSubscriptionsService_Unsubscribe() {
	client := connect(server{
		"POST /subscriptions/s1/unsubscribe": `{"object":"unsubscribe","subscriptionId":"s1","method":"link","url":"https://example.com/leave","binned":4}`,
	})
	result, err := client.Subscriptions.Unsubscribe(context.Background(), "s1", api.SubscriptionUnsubscribe{Bin: api.Set(true)})
	if err != nil {
		fmt.Println(err)
		return
	}
	if result.Method == "link" {
		fmt.Println("open", result.URL)
	}
	fmt.Println(result.Binned, "messages in the bin")
	// Output:
	// > POST /subscriptions/s1/unsubscribe {"bin":true}
	// open https://example.com/leave
	// 4 messages in the bin
}

func ExampleSuppressionsService_All() {
	client := connect(server{
		"GET /suppressions": `{"object":"list","hasMore":false,"data":[{"object":"suppression","id":"x1","email":"gone@example.com","reason":"bounce","detail":"no such user","removable":true}]}`,
	})
	for s, err := range client.Suppressions.All(context.Background(), api.SuppressionListParams{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Email, s.Reason, s.Detail)
	}
	// Output: gone@example.com bounce no such user
}

func ExampleTemplatesService_Send() {
	client := connect(server{
		"POST /templates/welcome/send": `{"object":"email","id":"e7","status":"queued","replayed":false,"template":{"id":"tpl_1","version":3}}`,
	})
	sent, err := client.Templates.Send(context.Background(), "welcome", api.TemplateSendInput{
		From:  api.Address{Email: "ada@example.com"},
		To:    []api.Address{{Email: "grace@example.com"}},
		Props: map[string]any{"firstName": "Grace"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sent.ID, sent.Status, "key of its own:", strings.HasPrefix(sent.IdempotencyKey, "oe-"))
	// Output:
	// > POST /templates/welcome/send {"from":{"email":"ada@example.com"},"to":[{"email":"grace@example.com"}],"props":{"firstName":"Grace"}}
	// e7 queued key of its own: true
}

// An invitation is answered once: the call is never repeated by itself.
func ExampleCalendarService_RespondToEvent() {
	client := connect(server{
		"GET /threads/t1/event":             `{"object":"calendar_event","id":"ev1","summary":"Tea","start":"2026-03-04T16:00:00.000Z","end":"2026-03-04T17:00:00.000Z"}`,
		"POST /calendar/events/ev1/respond": `{"object":"calendar_event","id":"ev1","status":"CONFIRMED"}`,
	})
	ctx := context.Background()
	event, err := client.Threads.GetEvent(ctx, "t1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.Summary, event.Start.Format(time.Kitchen))
	if _, err = client.Calendar.RespondToEvent(ctx, event.ID, api.CalendarEventAnswer{Response: "ACCEPTED"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Tea 4:00PM
	// > POST /calendar/events/ev1/respond {"response":"ACCEPTED"}
}

// A temporary mailbox needs no account. Its token opens it.
func ExampleTempMailService_Create() {
	memory := server{
		"POST /temp-mail/inboxes":               `{"object":"temp_inbox","id":"tmp_1","address":"fox@temp.example","token":"secret"}`,
		"GET /temp-mail/inboxes/tmp_1/messages": `{"object":"list","hasMore":false,"data":[{"object":"temp_message","id":"tm1","subject":"Your code","from":{"email":"shop@example.com"}}]}`,
	}
	client, err := api.New(api.Options{Anonymous: true, Transport: memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	inbox, err := client.TempMail.Create(ctx, api.TempInboxCreate{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for m, err := range client.TempMail.AllMessages(ctx, inbox.ID, api.ListParams{}, api.WithInboxToken(inbox.Token)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(inbox.Address, m.Subject)
	}
	// Output:
	// > POST /temp-mail/inboxes {}
	// fox@temp.example Your code
}

func ExampleToolsService_ReadVerificationCode() {
	client := connect(server{
		"POST /tools/verification-code": `{"object":"verification_code","code":"428117"}`,
	})
	found, err := client.Tools.ReadVerificationCode(context.Background(), api.VerificationCodeRead{Text: "Your code is 428117."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Code)
	// Output:
	// > POST /tools/verification-code {"text":"Your code is 428117."}
	// 428117
}

// Which key this is, and what it may do.
func ExampleMeService_Ping() {
	client := connect(server{
		"GET /ping": `{"ok":true,"kind":"apiKey","keyId":"key_1","mode":"test","scopes":["threads:read"],"grantedScopes":["threads:read"],"workspaceId":"w1"}`,
	})
	pong, err := client.Me.Ping(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pong.KeyID, pong.Mode, pong.Scopes)
	// Output: key_1 test [threads:read]
}
