package local

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func invitation(id, method string, extra ...string) []byte {
	lines := append([]string{
		"BEGIN:VCALENDAR", "METHOD:" + method, "BEGIN:VEVENT", "UID:tea-1@example.com", "DTSTART:20260312T150000Z", "DTEND:20260312T160000Z", "SUMMARY:Tea",
		"ORGANIZER;CN=Ada:mailto:ada@example.com", "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:" + me,
	}, extra...)
	ics := strings.Join(append(lines, "END:VEVENT", "END:VCALENDAR"), "\r\n")
	return []byte("From: Ada <ada@example.com>\r\nTo: " + me + "\r\nSubject: Tea?\r\nDate: Tue, 03 Mar 2026 09:30:00 +0000\r\nMessage-ID: <" + id + ">\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: text/calendar; method=" + method + "; charset=utf-8\r\n\r\n" + ics + "\r\n")
}

func TestCalendar(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		thread := arrive(t, s, invitation("i@example.com", "REQUEST", "RRULE:FREQ=WEEKLY;COUNT=3")).ThreadID
		e := c.do(200, "GET", "/threads/"+thread+"/event", nil)
		const keys = "object id uid sequence summary description location url start end allDay timezone recurrence exdates rdates recurrenceId subscriptionId status transparency visibility organizer isOrganizer source messageId threadId alarms attendees createdAt updatedAt"
		wantKeys(t, "event", e, keys)
		path := "/calendar/events/" + e["id"].(string)
		c.refused(422, "invalid_field", "response", "POST", path+"/respond", obj{"response": "MAYBE"})
		c.refused(422, "invalid_field", "respondingAs", "POST", path+"/respond", obj{"response": "ACCEPTED", "respondingAs": "ada@example.com"})
		got := c.do(200, "POST", path+"/respond", obj{"response": "ACCEPTED"})
		if a := got["attendees"].([]any)[0].(obj); a["partstat"] != "ACCEPTED" || a["respondedAt"] == nil {
			t.Errorf("attendee: %v", a)
		}
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		mails := sentTo(t, c, "ada@example.com")
		if len(mails) != 1 || mails[0]["subject"] != "Accepted: Tea" || mails[0]["threadId"] != thread {
			t.Fatalf("answers: %v", mails)
		}
		if again := c.do(200, "GET", "/threads/"+thread+"/event", nil); again["id"] != e["id"] {
			t.Errorf("the answer hides the invitation: %v", again)
		}
		list := rows(t, c, "/calendar/events?from=2026-03-10T00:00:00Z&to=2026-04-10T00:00:00Z")
		if len(list) != 3 || list[2]["start"] != "2026-03-26T15:00:00.000Z" || list[0]["myPartstat"] != "ACCEPTED" {
			t.Errorf("occurrences: %v", list)
		}
		wantKeys(t, "occurrence", list[0], "object eventId uid start end allDay summary location status transparency isOrganizer organizerEmail recurring myPartstat attendeeCount subscriptionId")
		c.refused(409, "not_organizer", "", "PATCH", path, obj{"summary": "Coffee"})

		own := c.do(200, "POST", "/calendar/events", obj{
			"summary": "Cake; and, more", "start": "2026-03-15T10:00:00Z", "end": "2026-03-15T11:00:00Z", "attendees": []any{obj{"email": "bob@example.org", "name": "Bob"}},
			"reminders": []any{obj{"minutesBefore": 10}}, "sendInvites": true,
		})
		wantKeys(t, "own event", own, keys)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := sentTo(t, c, "bob@example.org"); len(got) != 1 || got[0]["subject"] != "Invitation: Cake; and, more" {
			t.Fatalf("invitations: %v", got)
		}
		ownPath := "/calendar/events/" + own["id"].(string)
		res, raw := c.raw("GET", ownPath+"/ics", "", "Accept", "text/calendar")
		if res.StatusCode != http.StatusOK || !strings.Contains(string(raw), `SUMMARY:Cake\; and\, more`) {
			t.Errorf("ics: %s", raw)
		}
		// Bob's answer is taken from Bob only.
		reply := func(id, from string) []byte {
			return []byte("From: " + from + "\r\nTo: " + me + "\r\nSubject: Re\r\nMessage-ID: <" + id + ">\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; method=REPLY\r\n\r\n" +
				"BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nUID:" + own["uid"].(string) + "\r\nDTSTART:20260315T100000Z\r\nATTENDEE;PARTSTAT=DECLINED:mailto:bob@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
		}
		arrive(t, s, reply("eve@example.org", "eve@example.org"))
		if a := c.do(200, "GET", ownPath, nil)["attendees"].([]any)[0].(obj); a["partstat"] != "NEEDS-ACTION" {
			t.Errorf("somebody else answered for Bob: %v", a)
		}
		arrive(t, s, reply("bob@example.org", "bob@example.org"))
		if a := c.do(200, "GET", ownPath, nil)["attendees"].([]any)[0].(obj); a["partstat"] != "DECLINED" {
			t.Errorf("Bob's answer: %v", a)
		}
		if got := c.do(200, "PATCH", ownPath, obj{"location": "Garden"}); got["location"] != "Garden" || got["sequence"] != 1.0 {
			t.Errorf("changed: %v", got)
		}
		if got := c.do(200, "POST", ownPath+"/cancel", nil); got["status"] != "CANCELLED" {
			t.Errorf("cancelled: %v", got)
		}
		c.do(200, "DELETE", ownPath, nil)
		c.refused(404, "resource_not_found", "", "GET", ownPath, nil)
		// An invitation that is changed shows once.
		arrive(t, s, invitation("j@example.com", "REQUEST", "SEQUENCE:1", "LOCATION:Kitchen"))
		if list := rows(t, c, "/calendar/events?from=2026-03-10T00:00:00Z&to=2026-04-10T00:00:00Z"); len(list) != 1 || list[0]["location"] != "Kitchen" || list[0]["myPartstat"] != "ACCEPTED" {
			t.Errorf("after the change: %v", list)
		}
	})
}

func TestRecurrence(t *testing.T) {
	for _, tc := range []struct{ rule, want string }{
		{"FREQ=DAILY;COUNT=3", "03-02 03-03 03-04"},
		{"FREQ=DAILY;INTERVAL=10;UNTIL=20260322", "03-02 03-12 03-22"},
		{"FREQ=WEEKLY;BYDAY=MO,FR;COUNT=4", "03-02 03-06 03-09 03-13"},
		{"FREQ=MONTHLY;BYDAY=-1FR;COUNT=2", "03-27 04-24"},
		{"FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", "03-31 05-31"},
		{"FREQ=YEARLY;COUNT=2", "03-02"},
		{"FREQ=HOURLY", "03-02"},
		{"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=2", "03-31 04-30"},
		{"FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=1", "03-13"},
		{"FREQ=DAILY;BYMONTHDAY=-1;COUNT=2", "03-31 04-30"},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU;COUNT=2", "03-15 03-29"},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;COUNT=2", "03-08 03-22"},
		// What is named twice happens once.
		{"FREQ=WEEKLY;BYDAY=MO,MO;COUNT=2", "03-02 03-09"},
		{"FREQ=MONTHLY;BYDAY=MO,1MO;COUNT=2", "03-02 03-09"},
		{"FREQ=YEARLY;BYMONTH=3,4,3;BYMONTHDAY=2,2;COUNT=2", "03-02 04-02"},
		{"FREQ=YEARLY;BYMONTH=3,15;COUNT=2", "03-02"},
	} {
		e := obj{"start": "2026-03-02T09:00:00.000Z", "end": "2026-03-02T10:00:00.000Z", "recurrence": tc.rule}
		var got []string
		for _, o := range occurrences(e, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)) {
			got = append(got, o.Format("01-02"))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s gives %v, want %s", tc.rule, got, tc.want)
		}
	}
	// A birthday comes every year since the birth.
	birthday := obj{"start": "1950-03-12T00:00:00.000Z", "end": "1950-03-13T00:00:00.000Z", "recurrence": "FREQ=YEARLY", "allDay": true}
	if got := occurrences(birthday, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)); len(got) != 1 || got[0].Format("2006-01-02") != "2026-03-12" {
		t.Errorf("the birthday: %v", got)
	}
	// Nine o'clock stays nine o'clock when summer time begins.
	e := obj{"start": "2026-03-25T08:00:00.000Z", "end": "2026-03-25T09:00:00.000Z", "recurrence": "FREQ=WEEKLY;COUNT=2", "timezone": "Europe/Berlin"}
	got := occurrences(e, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	if len(got) != 2 || instant(got[1].UnixMilli()) != "2026-04-01T07:00:00.000Z" {
		t.Errorf("over the change of the clock: %v", got)
	}
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

// The events and answers of a file from before versions were told apart are there as they were.
func TestCalendarOfAnOlderFormat(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, FileName), false))
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Index(migrations, calendarTables)
	const event = `{"object":"calendar_event","uid":"u1","sequence":%d,"summary":%q,"start":"2026-03-12T15:00:00.000Z","end":"2026-03-12T16:00:00.000Z",
		"allDay":false,"location":null,"description":null,"url":null,"timezone":null,"subscriptionId":null,"recurrence":%s,"recurrenceId":%s,"exdates":[],"rdates":[],"status":"CONFIRMED","transparency":"OPAQUE","visibility":"PUBLIC","isOrganizer":false,"source":"email",
		"organizer":{"email":"Ada@example.com","name":null},"alarms":[],"attendees":[{"object":"calendar_attendee","email":"` + me + `","name":null,"partstat":"NEEDS-ACTION","role":"REQ-PARTICIPANT","rsvp":true,"cutype":null,"respondedAt":null,"proposedStart":null,"proposedEnd":null}]}`
	at := time.Date(2026, 3, 12, 15, 0, 0, 0, time.UTC).UnixMilli()
	statements := append(slices.Clone(migrations[:before]),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", before),
		fmt.Sprintf("INSERT INTO calendar_answers VALUES('u1', '%s', 'ACCEPTED', NULL, NULL, 1)", me))
	for i, e := range []string{
		fmt.Sprintf(event, 1, "Newer", `"FREQ=WEEKLY;COUNT=2"`, "null"), fmt.Sprintf(event, 0, "Older", "null", "null"),
		fmt.Sprintf(event, 1, "Moved", "null", `"2026-03-19T15:00:00.000Z"`),
	} {
		statements = append(statements, fmt.Sprintf("INSERT INTO calendar_events VALUES(%d, 'u1', %d, %d, %d, 1, '%s', 1, 1)", i+7, i+1, at, at+3_600_000, e))
	}
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%.60s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c := direct(t, open(t, dir, newClock()))
	if got := march(t, c); got != "0312T15 Newer, 0312T15 Moved" {
		t.Errorf("the calendar shows %s", got)
	}
	if e := c.do(200, "GET", "/calendar/events/evt_7", nil); partstat(e) != "ACCEPTED" || e["id"] != "evt_7" {
		t.Errorf("the event: %v", e)
	}
}
