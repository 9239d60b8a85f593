package local

import (
	"errors"
	"image/color"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// The calls around calendar and contacts, as the project's own client makes and reads them.
func TestCalendarAndContactsByTheClient(t *testing.T) {
	const key = "oe_test_0123456789abcdef"
	s := open(t, t.TempDir(), newClock())
	ts := httptest.NewServer(s.HandlerFor(key))
	defer ts.Close()
	client, err := api.New(api.Options{BaseURL: ts.URL, APIKey: key, Transport: ts.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, status int, code, param string) {
		t.Helper()
		var e *api.Error
		if !errors.As(err, &e) || e.Status != status || e.Code != code || e.Param != param {
			t.Errorf("the error is %v, want %d %s %q", err, status, code, param)
		}
	}

	thread := arrive(t, s, calendarMail("1", "REQUEST")).ThreadID
	e, err := client.Threads.GetEvent(ctx, thread)
	must(err)
	e, err = client.Calendar.RespondToEvent(ctx, e.ID, api.CalendarEventAnswer{Response: "ACCEPTED"})
	must(err)
	if len(e.Attendees) != 1 || e.Attendees[0].PartStat != "ACCEPTED" || e.Attendees[0].RespondedAt == nil || e.ThreadID != thread {
		t.Errorf("the event after the answer: %+v", e)
	}
	arrive(t, s, calendarMail("2", "CANCEL"))
	_, err = client.Calendar.RespondToEvent(ctx, e.ID, api.CalendarEventAnswer{Response: "DECLINED"})
	refused(err, 409, "event_cancelled", "")

	start := time.Date(2026, 3, 20, 10, 0, 0, 0, time.UTC)
	_, err = client.Calendar.CreateEvent(ctx, api.CalendarEventCreate{Summary: "Cake", Start: api.At(start), End: api.At(start.Add(-time.Hour))})
	refused(err, 422, "invalid_field", "end")
	ics := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260321T100000Z\r\nRRULE:FREQ=DAILY;COUNT=3\r\nSUMMARY:Dentist\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	imported, err := client.Calendar.ImportICS(ctx, api.Upload{Body: strings.NewReader(ics), Filename: "home.ics"})
	must(err)
	if imported.Counts.Imported != 1 || imported.FileName != "home.ics" || !imported.Undoable {
		t.Errorf("the import: %+v", imported)
	}
	n := 0
	for o, err := range client.Calendar.AllEvents(ctx, api.CalendarListEventsParams{From: start, To: start.AddDate(0, 0, 30), Limit: 2}) {
		must(err)
		n++
		if o.Summary != "Dentist" || !o.Recurring {
			t.Errorf("an occurrence: %+v", o)
		}
	}
	if n != 3 {
		t.Errorf("%d occurrences", n)
	}
	feed, err := client.Calendar.CreateFeed(ctx, api.CalendarFeedCreate{Name: "Desk", Mode: "full"})
	must(err)
	if !strings.HasPrefix(feed.URL, ts.URL) || feed.LastReadAt != nil {
		t.Errorf("the feed: %+v", feed)
	}
	_, err = client.Calendar.ListSubscriptions(ctx)
	refused(err, 501, "not_available_locally", "")

	card, err := client.Contacts.CreateCard(ctx, api.ContactCardCreate{Name: api.Set("Ada"), Emails: []api.ContactCardValueInput{{Value: "ada@example.com", Label: "work"}}})
	must(err)
	if card.Email != "ada@example.com" || len(card.Emails) != 1 || card.Emails[0].Label != "work" || card.NameParts != nil {
		t.Errorf("the card: %+v", card)
	}
	contact, err := client.Contacts.SetPhoto(ctx, "ada@example.com", api.Upload{Body: strings.NewReader(string(picture(t, 10, 10, color.Black))), ContentType: "image/png"})
	must(err)
	if !strings.HasPrefix(contact.PhotoURL, "data:image/jpeg;base64,") {
		t.Errorf("the contact: %+v", contact)
	}
	_, err = client.Contacts.ImportVCF(ctx, api.Upload{Body: strings.NewReader("nothing")})
	refused(err, 422, "invalid_field", "body")
	code, err := client.Tools.ReadVerificationCode(ctx, api.VerificationCodeRead{Subject: "Your code", Text: "482913"})
	must(err)
	if code.Code != "482913" {
		t.Errorf("the code: %+v", code)
	}
}
