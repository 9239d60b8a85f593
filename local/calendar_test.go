package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// calendarMail is a message of Ada's with a calendar object of one event. Lines replace those of the same property.
func calendarMail(id, method string, lines ...string) []byte {
	event := []string{
		"UID:tea-1@example.com", "DTSTART:20260312T150000Z", "DTEND:20260312T160000Z", "SUMMARY:Tea",
		"ORGANIZER;CN=Ada:mailto:ada@example.com", "ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:" + me,
	}
	property := func(l string) string { return l[:strings.IndexAny(l, ":;")] }
	for _, l := range lines {
		event = slices.DeleteFunc(event, func(was string) bool { return property(was) == property(l) })
	}
	for _, l := range lines {
		if !strings.HasSuffix(l, ":") { // only taken away
			event = append(event, l)
		}
	}
	return []byte("From: Ada <ada@example.com>\r\nTo: " + me + "\r\nSubject: Tea?\r\nDate: Tue, 03 Mar 2026 09:30:00 +0000\r\nMessage-ID: <" + id + "@example.com>\r\n" +
		"MIME-Version: 1.0\r\nContent-Type: text/calendar; method=" + method + "; charset=utf-8\r\n\r\n" +
		"BEGIN:VCALENDAR\r\nMETHOD:" + method + "\r\nBEGIN:VEVENT\r\n" + strings.Join(event, "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
}

// march lists what the calendar shows of March and April: start and summary.
func march(t *testing.T, c *client) string {
	t.Helper()
	var out []string
	for _, o := range rows(t, c, "/calendar/events?from=2026-03-01T00:00:00Z&to=2026-05-01T00:00:00Z") {
		start, err := time.Parse(time.RFC3339, o["start"].(string))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, start.Format("0102T15")+" "+fmt.Sprint(o["summary"]))
	}
	return strings.Join(out, ", ")
}

func partstat(e obj) string { return fmt.Sprint(e["attendees"].([]any)[0].(obj)["partstat"]) }

func TestInvitationIsReplaced(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, calendarMail("1", "REQUEST", "SEQUENCE:1")).ThreadID
		first := c.do(200, "GET", "/threads/"+thread+"/event", nil)
		path := "/calendar/events/" + first["id"].(string)
		c.do(200, "POST", path+"/respond", obj{"response": "TENTATIVE"})

		// The same time: the answer stays. The old id still means the event.
		arrive(t, s, calendarMail("2", "REQUEST", "SEQUENCE:2", "LOCATION:Kitchen"))
		if e := c.do(200, "GET", path, nil); e["location"] != "Kitchen" || partstat(e) != "TENTATIVE" || e["sequence"] != 2.0 {
			t.Errorf("after a change of the place: %v", e)
		}
		// Another time asks again.
		arrive(t, s, calendarMail("3", "REQUEST", "SEQUENCE:3", "DTSTART:20260313T150000Z", "DTEND:20260313T160000Z"))
		if e := c.do(200, "GET", path, nil); partstat(e) != "NEEDS-ACTION" || e["attendees"].([]any)[0].(obj)["respondedAt"] != nil {
			t.Errorf("after a change of the time: %v", e)
		}
		// An older version that comes late is not the event, whichever comes first.
		arrive(t, s, calendarMail("4", "REQUEST", "SEQUENCE:2", "SUMMARY:Stale"))
		if got := march(t, c); got != "0313T15 Tea" {
			t.Errorf("the calendar shows %s", got)
		}
		if e := c.do(200, "GET", path, nil); e["summary"] != "Tea" || e["sequence"] != 3.0 {
			t.Errorf("after a version that came late: %v", e)
		}
		// Of the same sequence the one that was written last counts.
		arrive(t, s, calendarMail("5", "REQUEST", "SEQUENCE:4", "DTSTAMP:20260305T120000Z", "SUMMARY:Late"))
		arrive(t, s, calendarMail("6", "REQUEST", "SEQUENCE:4", "DTSTAMP:20260304T120000Z", "SUMMARY:Early"))
		if got := march(t, c); got != "0312T15 Late" {
			t.Errorf("the calendar shows %s", got)
		}
	})
}

func TestInvitationIsCancelled(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, calendarMail("1", "REQUEST", "SEQUENCE:1", "LOCATION:Kitchen")).ThreadID
		// Somebody who knows the uid is not the organizer.
		arrive(t, s, calendarMail("eve", "CANCEL", "SEQUENCE:9", "ORGANIZER:mailto:eve@example.org"))
		// A cancellation of a version that was replaced.
		arrive(t, s, calendarMail("old", "CANCEL", "SEQUENCE:0"))
		if got := march(t, c); got != "0312T15 Tea" {
			t.Errorf("the calendar shows %s", got)
		}
		// A cancellation says little more than which event it means.
		arrive(t, s, calendarMail("2", "CANCEL", "SEQUENCE:1", "DTSTART:", "DTEND:", "SUMMARY:", "ATTENDEE:"))
		if got := march(t, c); got != "" {
			t.Errorf("the calendar shows %s", got)
		}
		e := c.do(200, "GET", "/threads/"+thread+"/event", nil)
		if e["status"] != "CANCELLED" || e["summary"] != "Tea" || e["location"] != "Kitchen" || e["start"] != "2026-03-12T15:00:00.000Z" || len(e["attendees"].([]any)) != 1 {
			t.Errorf("the cancelled event: %v", e)
		}
		c.refused(409, "event_cancelled", "", "POST", "/calendar/events/"+e["id"].(string)+"/respond", obj{"response": "ACCEPTED"})
	})
}

func TestOccurrencesAreMovedAndCancelled(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		arrive(t, s, calendarMail("1", "REQUEST", "RRULE:FREQ=WEEKLY;COUNT=4", "RDATE:20260401T150000Z", "EXDATE:20260402T150000Z"))
		if got, want := march(t, c), "0312T15 Tea, 0319T15 Tea, 0326T15 Tea, 0401T15 Tea"; got != want {
			t.Fatalf("the calendar shows %s, want %s", got, want)
		}
		arrive(t, s, calendarMail("2", "REQUEST", "RECURRENCE-ID:20260319T150000Z", "DTSTART:20260320T090000Z", "DTEND:20260320T100000Z", "SUMMARY:Tea, early"))
		arrive(t, s, calendarMail("3", "CANCEL", "RECURRENCE-ID:20260326T150000Z", "DTSTART:", "DTEND:"))
		if got, want := march(t, c), "0312T15 Tea, 0320T09 Tea, early, 0401T15 Tea"; got != want {
			t.Errorf("the calendar shows %s, want %s", got, want)
		}
	})
}

func TestDeletedInvitationStaysAway(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, calendarMail("1", "REQUEST", "SEQUENCE:1")).ThreadID
		id := c.do(200, "GET", "/threads/"+thread+"/event", nil)["id"].(string)
		if got := c.do(200, "DELETE", "/calendar/events/"+id, nil); got["deleted"] != true || got["id"] != id {
			t.Errorf("deleted: %v", got)
		}
		c.refused(404, "resource_not_found", "", "GET", "/threads/"+thread+"/event", nil)
		c.refused(404, "resource_not_found", "", "GET", "/calendar/events/"+id, nil)
		c.refused(404, "resource_not_found", "", "DELETE", "/calendar/events/"+id, nil)
		arrive(t, s, calendarMail("2", "REQUEST", "SEQUENCE:1", "DESCRIPTION:More guests"))
		if got := march(t, c); got != "" {
			t.Errorf("the calendar shows %s", got)
		}
		arrive(t, s, calendarMail("3", "REQUEST", "SEQUENCE:2", "SUMMARY:Tea again"))
		if got := march(t, c); got != "0312T15 Tea again" {
			t.Errorf("the calendar shows %s", got)
		}
	})
}

func TestInvitationAmongSpamIsNotShown(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	thread := arrive(t, s, calendarMail("1", "REQUEST")).ThreadID
	c.do(200, "PATCH", "/threads/"+thread, obj{"addLabelIds": []string{"SPAM"}})
	if got := march(t, c); got != "" {
		t.Errorf("the calendar shows %s", got)
	}
	c.do(200, "PATCH", "/threads/"+thread, obj{"removeLabelIds": []string{"SPAM"}})
	if got := march(t, c); got != "0312T15 Tea" {
		t.Errorf("the calendar shows %s", got)
	}
}

// sentCalendar gives the last message of a thread and the calendar object in it.
func sentCalendar(t *testing.T, c *client, thread string) (obj, string) {
	t.Helper()
	messages := c.do(200, "GET", "/threads/"+thread, nil)["messages"].([]any)
	m := messages[len(messages)-1].(obj)
	for _, a := range rows(t, c, "/threads/"+thread+"/messages/"+m["id"].(string)+"/attachments") {
		if a["contentType"] == "text/calendar" {
			raw, err := base64.StdEncoding.DecodeString(a["content"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return m, strings.ReplaceAll(string(raw), "\r\n ", "")
		}
	}
	t.Fatalf("no calendar object in %v", m)
	return nil, ""
}

func deliver(t *testing.T, s *Server) {
	t.Helper()
	if err := s.runDue(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestAnswerGoesToTheOrganizer(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, calendarMail("1", "REQUEST", "SEQUENCE:4")).ThreadID
		path := "/calendar/events/" + c.do(200, "GET", "/threads/"+thread+"/event", nil)["id"].(string)
		if e := c.do(200, "POST", path+"/respond", obj{"response": "ACCEPTED"}); partstat(e) != "ACCEPTED" {
			t.Errorf("the event after the answer: %v", e)
		}
		deliver(t, s)
		m, ics := sentCalendar(t, c, thread)
		if to := m["to"].([]any)[0].(obj); to["email"] != "ada@example.com" || to["name"] != "Ada" || m["subject"] != "Accepted: Tea" || strings.Trim(m["inReplyTo"].(string), "<>") != "1@example.com" || len(m["references"].([]any)) != 1 {
			t.Errorf("the answer: %v", m)
		}
		if text := m["text"].(string); !strings.Contains(text, "Thu 12 Mar 2026 15:00 to 16:00 (UTC, +0000)") {
			t.Errorf("the text of the answer: %s", text)
		}
		for _, want := range []string{"METHOD:REPLY", "UID:tea-1@example.com", "SEQUENCE:4", "ORGANIZER;CN=\"Ada\":mailto:ada@example.com", "PARTSTAT=ACCEPTED:mailto:" + me} {
			if !strings.Contains(ics, want) {
				t.Errorf("the answer lacks %s: %s", want, ics)
			}
		}
		if strings.Count(ics, "ATTENDEE") != 1 {
			t.Errorf("the answer speaks for others: %s", ics)
		}
		// Another time.
		c.refused(422, "invalid_field", "proposedEnd", "POST", path+"/respond", obj{"response": "TENTATIVE", "proposedStart": "2026-03-13T15:00:00Z"})
		e := c.do(200, "POST", path+"/respond", obj{"response": "TENTATIVE", "proposedStart": "2026-03-13T15:00:00Z", "proposedEnd": "2026-03-13T16:00:00Z"})
		if a := e["attendees"].([]any)[0].(obj); a["proposedStart"] != "2026-03-13T15:00:00.000Z" || e["start"] != "2026-03-12T15:00:00.000Z" {
			t.Errorf("the event after the proposal: %v", e)
		}
		deliver(t, s)
		if _, ics := sentCalendar(t, c, thread); !strings.Contains(ics, "METHOD:COUNTER") || !strings.Contains(ics, "DTSTART:20260313T150000Z") {
			t.Errorf("the proposal: %s", ics)
		}
		// The organizer does not want it, and nobody else says so.
		arrive(t, s, []byte(strings.Replace(string(calendarMail("eve", "DECLINECOUNTER", "SEQUENCE:4")), "From: Ada <ada@example.com>", "From: eve@example.org", 1)))
		if a := c.do(200, "GET", path, nil)["attendees"].([]any)[0].(obj); a["proposedStart"] == nil {
			t.Errorf("somebody else took the proposal back: %v", a)
		}
		arrive(t, s, calendarMail("2", "DECLINECOUNTER", "SEQUENCE:4"))
		if a := c.do(200, "GET", path, nil)["attendees"].([]any)[0].(obj); a["proposedStart"] != nil || a["partstat"] != "TENTATIVE" {
			t.Errorf("after the refusal: %v", a)
		}
	})
}

// An invitation that came through a list can be answered by an address that is not on it.
func TestAnswerOfSomebodyNotOnTheList(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, calendarMail("1", "REQUEST", "ATTENDEE:mailto:team@example.com")).ThreadID
		path := "/calendar/events/" + c.do(200, "GET", "/threads/"+thread+"/event", nil)["id"].(string)
		c.refused(422, "invalid_field", "respondingAs", "POST", path+"/respond", obj{"response": "ACCEPTED"})
		c.refused(422, "invalid_field", "respondingAs", "POST", path+"/respond", obj{"response": "ACCEPTED", "respondingAs": "team@example.com"})
		e := c.do(200, "POST", path+"/respond", obj{"response": "ACCEPTED", "respondingAs": me})
		if list := e["attendees"].([]any); len(list) != 2 || list[1].(obj)["email"] != me || list[1].(obj)["partstat"] != "ACCEPTED" {
			t.Errorf("attendees: %v", list)
		}
		if got := rows(t, c, "/calendar/events?from=2026-03-01T00:00:00Z&to=2026-05-01T00:00:00Z"); got[0]["myPartstat"] != "ACCEPTED" || got[0]["attendeeCount"] != 2.0 {
			t.Errorf("occurrence: %v", got)
		}
	})
}

func answerOf(email, uid, method string, lines ...string) []byte {
	raw := string(calendarMail(strings.Join(append(lines, method, email), "-"), method, append([]string{
		"UID:" + uid, "ORGANIZER:mailto:" + me, "ATTENDEE;PARTSTAT=ACCEPTED:mailto:" + email, "SUMMARY:",
	}, lines...)...))
	return []byte(strings.Replace(raw, "From: Ada <ada@example.com>", "From: "+email, 1))
}

func TestAnswersToAnOwnEvent(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		own := c.do(200, "POST", "/calendar/events", obj{
			"summary": "Cake", "start": "2026-03-15T10:00:00Z", "end": "2026-03-15T11:00:00Z",
			"attendees": []any{obj{"email": "bob@example.org", "name": "Bob"}, obj{"email": "eve@example.org"}}, "sendInvites": true,
		})
		path, uid := "/calendar/events/"+own["id"].(string), own["uid"].(string)
		// Programs leave the time out of an answer.
		arrive(t, s, answerOf("bob@example.org", uid, "REPLY", "DTSTART:", "DTEND:"))
		if got := partstat(c.do(200, "GET", path, nil)); got != "ACCEPTED" {
			t.Errorf("Bob: %s", got)
		}
		// Mail of others does not change or call off the event, though it says that it is ours.
		arrive(t, s, calendarMail("x", "REQUEST", "UID:"+uid, "ORGANIZER:mailto:"+me, "SEQUENCE:7", "SUMMARY:Stolen"))
		arrive(t, s, calendarMail("y", "CANCEL", "UID:"+uid, "ORGANIZER:mailto:"+me, "SEQUENCE:7"))
		if e := c.do(200, "GET", path, nil); e["summary"] != "Cake" || e["status"] != "CONFIRMED" {
			t.Errorf("the own event: %v", e)
		}
		// Another time: nobody has answered to it, and answers to the old one are late.
		c.do(200, "PATCH", path, obj{"start": "2026-03-16T10:00:00Z", "end": "2026-03-16T11:00:00Z"})
		if got := partstat(c.do(200, "GET", path, nil)); got != "NEEDS-ACTION" {
			t.Errorf("Bob after the change: %s", got)
		}
		clk.advance(time.Minute)
		arrive(t, s, answerOf("bob@example.org", uid, "REPLY", "DTSTART:20260315T100000Z", "DTEND:20260315T110000Z"))
		if got := partstat(c.do(200, "GET", path, nil)); got != "NEEDS-ACTION" {
			t.Errorf("Bob after a late answer: %s", got)
		}
		clk.advance(time.Minute)
		arrive(t, s, answerOf("bob@example.org", uid, "COUNTER", "SEQUENCE:1", "DTSTART:20260317T100000Z", "DTEND:20260317T110000Z"))
		if a := c.do(200, "GET", path, nil)["attendees"].([]any)[0].(obj); a["proposedStart"] != "2026-03-17T10:00:00.000Z" {
			t.Errorf("Bob's proposal: %v", a)
		}
		c.refused(422, "invalid_field", "attendee", "POST", path+"/decline-proposal", obj{"attendee": "eve@example.org"})
		e := c.do(200, "POST", path+"/decline-proposal", obj{"attendee": "bob@example.org"})
		if a := e["attendees"].([]any)[0].(obj); a["proposedStart"] != nil || e["start"] != "2026-03-16T10:00:00.000Z" {
			t.Errorf("after the proposal was declined: %v", e)
		}
		// Who is not invited any more is told.
		c.do(200, "PATCH", path, obj{"attendees": []any{obj{"email": "bob@example.org"}}, "sendInvites": true})
		deliver(t, s)
		var subjects []string
		for _, email := range []string{"bob@example.org", "eve@example.org"} {
			for _, m := range sentTo(t, c, email) {
				subjects = append(subjects, strings.SplitN(email, "@", 2)[0]+" "+m["subject"].(string))
			}
		}
		slices.Sort(subjects)
		want := []string{"bob Changed: Cake", "bob Invitation: Cake", "bob Stays at its time: Cake", "eve Cancelled: Cake", "eve Invitation: Cake"}
		if !slices.Equal(subjects, want) {
			t.Errorf("mail to the attendees: %q, want %q", subjects, want)
		}
		c.do(200, "POST", path+"/cancel", nil)
		if got := march(t, c); got != "" {
			t.Errorf("the calendar shows %s", got)
		}
	})
}

func TestEventFields(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	event := func(change obj) obj {
		e := obj{"summary": "Cake", "start": "2026-03-15T10:00:00Z", "end": "2026-03-15T11:00:00Z"}
		for k, v := range change {
			e[k] = v
		}
		return e
	}
	for _, tc := range []struct {
		param  string
		change obj
	}{
		{"summary", obj{"summary": ""}},
		{"summary", obj{"summary": strings.Repeat("x", maxEventText+1)}},
		{"start", obj{"start": nil}},
		{"start", obj{"start": "tomorrow"}},
		{"end", obj{"end": "2026-03-15T09:00:00Z"}},
		{"end", obj{"end": "2226-03-15T09:00:00Z"}},
		{"timezone", obj{"timezone": "Moon/Sea"}},
		{"recurrence", obj{"recurrence": "FREQ=SOMETIMES"}},
		{"recurrence", obj{"recurrence": "FREQ=DAILY;BYMONTHDAY=" + strings.Repeat("1,", 1000) + "1"}},
		{"recurrence", obj{"recurrence": "FREQ=DAILY;INTERVAL=999999999999"}},
		{"attendees", obj{"attendees": []any{"nobody"}}},
		{"attendees", obj{"attendees": slices.Repeat([]any{"a@example.org"}, maxAttendees+1)}},
		{"reminders", obj{"reminders": []any{obj{}}}},
		{"reminders", obj{"reminders": []any{obj{"minutesBefore": 1e9}}}},
		{"reminders", obj{"reminders": "soon"}},
		{"transparency", obj{"transparency": "BUSY"}},
		{"from", obj{"from": "ada@example.com"}},
	} {
		c.refused(422, "invalid_field", tc.param, "POST", "/calendar/events", event(tc.change))
	}
	// A whole day is a day, wherever it was written.
	for _, tc := range []struct{ start, end, zone, wantStart, wantEnd string }{
		{"2026-03-15", "2026-03-16", "", "2026-03-15", "2026-03-16"},
		{"2026-03-15T00:00:00+01:00", "2026-03-16T00:00:00+01:00", "", "2026-03-15", "2026-03-16"},
		{"2026-03-14T23:00:00Z", "2026-03-15T23:00:00Z", "Europe/Berlin", "2026-03-15", "2026-03-16"},
		{"2026-03-15", "2026-03-15", "", "2026-03-15", "2026-03-16"},
		{"2026-03-15T08:00:00Z", "2026-03-15T18:00:00Z", "", "2026-03-15", "2026-03-16"},
	} {
		change := obj{"allDay": true, "start": tc.start, "end": tc.end}
		if tc.zone != "" {
			change["timezone"] = tc.zone
		}
		e := c.do(200, "POST", "/calendar/events", event(change))
		if got := fmt.Sprint(e["start"], " ", e["end"]); got != tc.wantStart+"T00:00:00.000Z "+tc.wantEnd+"T00:00:00.000Z" {
			t.Errorf("%v: %s", tc, got)
		}
	}
}

// What is written as a calendar object is read as the same event, by the clock of its zone over the years.
func TestCalendarObjectRoundTrip(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	e := c.do(200, "POST", "/calendar/events", obj{
		"summary": "Tea; with, milk\nand \"sugar\"", "description": strings.Repeat("ä", 100), "start": "2026-03-25T08:00:00Z", "end": "2026-03-25T09:00:00Z",
		"timezone": "Europe/Berlin", "recurrence": "FREQ=WEEKLY;COUNT=3", "attendees": []any{obj{"email": "bob@example.org", "name": "Bob \"B\""}},
		"reminders": []any{obj{"minutesBefore": 10}}, "visibility": "PRIVATE", "url": "https://example.com/tea",
	})
	res, raw := c.raw("GET", "/calendar/events/"+e["id"].(string)+"/ics", "", "Accept", "text/calendar")
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/calendar") {
		t.Fatalf("%d %s", res.StatusCode, raw)
	}
	for _, want := range []string{"TZID:Europe/Berlin", "DTSTART;TZID=Europe/Berlin:20260325T090000", "BEGIN:DAYLIGHT\r\nDTSTART:20260329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("lacks %q: %s", want, raw)
		}
	}
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	n := 0
	for item := range s.readCalendar(raw, maxInviteLines) {
		n++
		for _, name := range []string{"uid", "summary", "description", "start", "end", "timezone", "recurrence", "visibility", "url"} {
			if item.event[name] != e[name] {
				t.Errorf("%s: %q, want %q", name, item.event[name], e[name])
			}
		}
		if a := item.event["alarms"].([]any)[0].(obj); a["minutesBefore"] != 10 {
			t.Errorf("alarm %v", a)
		}
		if a := item.event["attendees"].([]any)[0].(obj); a["name"] != "Bob 'B'" || a["email"] != "bob@example.org" {
			t.Errorf("attendee %v", a)
		}
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// A calendar object that is cut, nested or endless does no harm.
func TestHostileCalendarObjects(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	for name, ics := range map[string]string{
		"cut":     "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:u\r\nDTSTART:20260315T100000Z\r\nSUMM",
		"no ends": strings.Repeat("BEGIN:VEVENT\r\nUID:u\r\nDTSTART:20260315T100000Z\r\n", 500),
		"nested":  strings.Repeat("BEGIN:VALARM\r\n", 5000) + "BEGIN:VEVENT\r\nUID:u\r\n",
		"long":    "BEGIN:VEVENT\r\nUID:u\r\nDTSTART:20260315T100000Z\r\nDURATION:P99999999999W\r\nSUMMARY:" + strings.Repeat("x", 1<<20) + "\r\nEND:VEVENT",
		"guests":  "BEGIN:VEVENT\r\nUID:u\r\nDTSTART:20260315T100000Z\r\n" + strings.Repeat("ATTENDEE:mailto:a@example.org\r\nEXDATE:20260315T100000Z\r\n", 5000) + "END:VEVENT",
		"ends":    strings.Repeat("END:VEVENT\r\n", 100),
		"rule":    "BEGIN:VEVENT\r\nUID:u\r\nDTSTART:19700315T100000Z\r\nRRULE:FREQ=YEARLY;BYMONTH=" + strings.Repeat("1,", 800) + "1\r\nEND:VEVENT",
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for item := range s.readCalendar([]byte(ics), maxInviteLines) {
				n++
				e := item.event
				if summary, _ := e["summary"].(string); len(summary) > maxEventText || len(e["attendees"].([]any)) > maxAttendees || len(e["exdates"].([]string)) > maxExceptions {
					t.Error("more than the limits")
				}
				if item.start {
					occurrences(e, time.Unix(0, 0), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
				}
			}
			if want := strings.Count(ics, "BEGIN:VEVENT"); n != want && name != "nested" {
				t.Errorf("%d events, want %d", n, want)
			}
			in := ingest(t, s, []byte("From: eve@example.org\r\nTo: "+me+"\r\nSubject: "+name+"\r\nContent-Type: text/calendar; method=REQUEST\r\n\r\n"+ics), IngestOptions{Arrival: true, Folder: "inbox"})
			direct(t, s).raw("GET", "/threads/"+in.ThreadID+"/event", "")
		})
	}
}

// The mail of an invitation may be thrown away: what was accepted stays.
func TestAcceptedEventOutlivesItsMail(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	for id, answer := range map[string]string{"one": "ACCEPTED", "two": "DECLINED", "three": ""} {
		thread := arrive(t, s, calendarMail(id, "REQUEST", "UID:"+id, "SUMMARY:"+id)).ThreadID
		if answer != "" {
			c.do(200, "POST", "/calendar/events/"+c.do(200, "GET", "/threads/"+thread+"/event", nil)["id"].(string)+"/respond", obj{"response": answer})
		}
		c.do(200, "DELETE", "/threads/"+thread, nil)
	}
	if got := march(t, c); got != "0312T15 one" {
		t.Errorf("the calendar shows %s", got)
	}
	e := c.do(200, "GET", "/calendar/events/"+rows(t, c, "/calendar/events?from=2026-03-01T00:00:00Z")[0]["eventId"].(string), nil)
	if e["messageId"] != nil || e["threadId"] != nil || partstat(e) != "ACCEPTED" {
		t.Errorf("the event: %v", e)
	}
}

func TestCalendarImport(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		event := func(lines ...string) string {
			return "BEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\n"
		}
		file := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Home\\, sweet\r\nthis line is broken\r\n" +
			event("UID:1", "DTSTART:20260310T100000Z", "SUMMARY:Dentist", "SEQUENCE:2") +
			event("UID:2", "DTSTART;VALUE=DATE:20260311", "SUMMARY:Holiday", "RRULE:FREQ=YEARLY") +
			event("UID:2", "RECURRENCE-ID;VALUE=DATE:20260311", "DTSTART;VALUE=DATE:20260312", "SUMMARY:Holiday, late") +
			event("UID:3", "SUMMARY:Some day") +
			event("UID:1", "DTSTART:20260310T100000Z", "SUMMARY:Dentist") +
			event("DTSTART:20260313T100000Z", "SUMMARY:Nameless") +
			"END:VCALENDAR\r\n"
		upload := func(status int, file string) obj {
			return c.do(status, "POST", "/calendar/imports?filename=home.ics", file, "Content-Type", "text/calendar")
		}
		i := upload(200, file)
		if got := fmt.Sprint(i["counts"]); got != "map[failed:0 imported:4 merged:0 skipped:2 total:6]" {
			t.Errorf("counts %s", got)
		}
		report := i["report"].(obj)
		if got := fmt.Sprint(report["skipped"], report["collections"]); got != "map[duplicate:1 no-start:1] [map[items:6 name:Home, sweet]]" {
			t.Errorf("report %s", got)
		}
		if i["fileName"] != "home.ics" || i["undoable"] != true || i["status"] != "completed" {
			t.Errorf("import %v", i)
		}
		const all = "0310T10 Dentist, 0312T00 Holiday, late, 0313T10 Nameless"
		if got := march(t, c); got != all {
			t.Errorf("the calendar shows %s, want %s", got, all)
		}
		// The same file again brings nothing; a newer version of an event replaces it.
		if got := fmt.Sprint(upload(200, file)["report"].(obj)["skipped"]); got != "map[duplicate:1 no-start:1 uid-taken:4]" {
			t.Errorf("imported again: %s", got)
		}
		newer := upload(200, "BEGIN:VCALENDAR\n"+event("UID:1", "DTSTART:20260310T120000Z", "SUMMARY:Dentist", "SEQUENCE:3")+"END:VCALENDAR\n")
		if got := newer["counts"].(obj)["merged"]; got != 1.0 {
			t.Errorf("merged %v", got)
		}
		if got := march(t, c); !strings.HasPrefix(got, "0310T12 Dentist") {
			t.Errorf("the calendar shows %s", got)
		}
		// What is nobody else's can be changed.
		id := rows(t, c, "/calendar/events?from=2026-03-13T00:00:00Z")[0]["eventId"].(string)
		clk.advance(time.Minute)
		c.do(200, "PATCH", "/calendar/events/"+id, obj{"summary": "Named"})

		path := "/calendar/imports/" + newer["id"].(string)
		if got := c.do(200, "POST", path+"/undo", nil); got["status"] != "undone" || got["undoable"] != false || got["undoneAt"] == nil {
			t.Errorf("undone: %v", got)
		}
		if got := march(t, c); got != strings.Replace(all, "Nameless", "Named", 1) {
			t.Errorf("the calendar shows %s", got)
		}
		c.refused(409, "import_undone", "", "POST", path+"/undo", nil)
		c.do(200, "POST", "/calendar/imports/"+i["id"].(string)+"/undo", nil)
		if got := march(t, c); got != "0313T10 Named" {
			t.Errorf("the calendar shows %s", got)
		}
		if got := rows(t, c, "/calendar/imports?limit=2"); len(got) != 2 || got[0]["id"] != newer["id"] {
			t.Errorf("imports: %v", got)
		}
		c.do(200, "GET", path, nil)
		c.refused(404, "resource_not_found", "", "GET", "/calendar/imports/imp_999", nil)
		c.refused(422, "invalid_field", "body", "POST", "/calendar/imports", "not a calendar")
		c.refused(413, "body_too_large", "", "POST", "/calendar/imports", "BEGIN:VCALENDAR"+strings.Repeat("x", MaxBodyBytes))
	})
}

// A feed is read by its address alone, over the served mailbox only.
func TestCalendarFeed(t *testing.T) {
	const key = "oe_test_0123456789abcdef"
	s := open(t, t.TempDir(), newClock())
	inside := direct(t, s)
	inside.refused(501, "not_available_locally", "", "POST", "/calendar/feeds", obj{"name": "Desk", "mode": "full"})
	arrive(t, s, calendarMail("1", "REQUEST", "LOCATION:Kitchen"))
	arrive(t, s, calendarMail("2", "REQUEST", "UID:off", "SUMMARY:Off"))
	arrive(t, s, calendarMail("3", "CANCEL", "UID:off", "SUMMARY:Off"))
	inside.do(200, "POST", "/calendar/events", obj{"summary": "Free", "start": "2026-03-15T10:00:00Z", "end": "2026-03-15T11:00:00Z", "transparency": "TRANSPARENT"})

	ts := httptest.NewServer(s.HandlerFor(AuthOptions{APIKey: key}))
	defer ts.Close()
	c := &client{t, ts.Client(), ts.URL}
	auth := []string{"Authorization", "Bearer " + key}
	c.refused(422, "invalid_field", "mode", "POST", "/calendar/feeds", obj{"name": "Desk"}, auth...)
	c.refused(422, "invalid_field", "name", "POST", "/calendar/feeds", obj{"name": "", "mode": "full"}, auth...)
	full := c.do(200, "POST", "/calendar/feeds", obj{"name": "Desk", "mode": "full"}, auth...)
	busy := c.do(200, "POST", "/calendar/feeds", obj{"name": "Busy", "mode": "busy"}, auth...)
	read := func(status int, feed obj) string {
		t.Helper()
		address, ok := strings.CutPrefix(feed["url"].(string), ts.URL)
		if !ok || feed["webcalUrl"] != "webcal"+strings.TrimPrefix(feed["url"].(string), "http") {
			t.Fatalf("the address of the feed: %v", feed)
		}
		res, raw := c.raw("GET", address, "")
		if res.StatusCode != status {
			t.Fatalf("status %d: %s", res.StatusCode, raw)
		}
		return string(raw)
	}
	if ics := read(200, full); !strings.Contains(ics, "X-WR-CALNAME:Desk") || !strings.Contains(ics, "LOCATION:Kitchen") || !strings.Contains(ics, "SUMMARY:Free") || strings.Contains(ics, "SUMMARY:Off") {
		t.Errorf("the feed: %s", ics)
	}
	if ics := read(200, busy); !strings.Contains(ics, "SUMMARY:Busy") || strings.Contains(ics, "Kitchen") || strings.Contains(ics, "Tea") || strings.Contains(ics, "ada@") || strings.Count(ics, "BEGIN:VEVENT") != 1 {
		t.Errorf("the busy feed: %s", ics)
	}
	list := c.do(200, "GET", "/calendar/feeds", nil, auth...)["data"].([]any)
	if len(list) != 2 || list[0].(obj)["readCount"] != 1.0 || list[0].(obj)["lastReadAt"] == nil || list[0].(obj)["url"] != full["url"] {
		t.Errorf("feeds: %v", list)
	}
	reset := c.do(200, "POST", "/calendar/feeds/"+full["id"].(string)+"/reset", nil, auth...)
	read(404, full)
	read(200, reset)
	c.do(200, "DELETE", "/calendar/feeds/"+full["id"].(string), nil, auth...)
	read(404, reset)
	c.refused(401, "invalid_api_key", "", "GET", "/calendar/feeds", nil)
	// From within the process the address is that of the server that made it.
	if got := inside.do(200, "GET", "/calendar/feeds", nil)["data"].([]any); len(got) != 1 || got[0].(obj)["url"] != busy["url"] {
		t.Errorf("feeds from within: %v", got)
	}
}
