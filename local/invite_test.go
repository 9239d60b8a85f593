package local

import (
	"context"
	"encoding/base64"
	"fmt"
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
