package local

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

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

	ts := httptest.NewServer(s.HandlerFor(key))
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
