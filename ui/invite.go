package ui

import (
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

const maxInvite = 256 << 10 // bytes of a calendar part that are read

// invite is what a person needs to know of an invitation. Its text is clean.
type invite struct {
	Method, Status           string
	Summary, Place, By, When string
	Repeats                  string
	Guests                   int
}

// inviteOf finds the invitation of a message, if the calendar part came with it.
func inviteOf(m *api.Message, zone *time.Location) (invite, bool) {
	for _, a := range m.Attachments {
		if isCalendar(a) && len(a.Content) > 0 && len(a.Content) <= maxInvite {
			return parseInvite(string(a.Content), zone)
		}
	}
	return invite{}, false
}

// inviteFrom is the invitation as the server has read it.
func inviteFrom(e *api.CalendarEvent, zone *time.Location) invite {
	in := invite{
		Status: strings.ToUpper(clean.LineMax(e.Status, 40)), Summary: oneText(e.Summary), Place: oneText(e.Location), Guests: len(e.Attendees),
	}
	if e.Organizer != nil {
		_, in.By = clean.Address(e.Organizer.Name, e.Organizer.Email)
	}
	start, end := e.Start.In(zone), e.End.In(zone)
	if e.AllDay { // a day is a day, whatever the zone
		start, end = e.Start.UTC(), e.End.UTC()
	}
	if !e.Start.IsZero() {
		in.When = eventTime(start, end, e.AllDay)
	}
	in.Repeats = repeats(e.Recurrence)
	return in
}

func isCalendar(a api.Attachment) bool {
	kind, _, _ := strings.Cut(strings.ToLower(a.ContentType), ";")
	return kind == "text/calendar" || kind == "application/ics" || strings.HasSuffix(strings.ToLower(a.Filename), ".ics")
}

// parseInvite reads the first event of a calendar (RFC 5545), leniently.
func parseInvite(ics string, zone *time.Location) (invite, bool) {
	ics = strings.ReplaceAll(strings.ReplaceAll(ics, "\r\n", "\n"), "\r", "\n")
	ics = strings.ReplaceAll(strings.ReplaceAll(ics, "\n ", ""), "\n\t", "")
	var in invite
	var start, end time.Time
	var allDay, event, nested bool
	for _, line := range strings.Split(ics, "\n") {
		head, value, ok := cutProperty(line)
		if !ok {
			continue
		}
		name, params, _ := strings.Cut(head, ";")
		name = strings.ToUpper(strings.TrimSpace(name))
		switch {
		case name == "METHOD":
			in.Method = strings.ToUpper(clean.LineMax(value, 40))
		case name == "BEGIN":
			if strings.EqualFold(value, "VEVENT") {
				if event {
					continue
				}
				event = true
			} else if event {
				nested = true
			}
		case name == "END":
			if strings.EqualFold(value, "VEVENT") {
				in.When = eventTime(start, end, allDay)
				return in, in.Summary != "" || in.When != ""
			}
			nested = false
		case !event || nested:
		case name == "SUMMARY":
			in.Summary = icsText(value)
		case name == "RRULE":
			in.Repeats = repeats(value)
		case name == "LOCATION":
			in.Place = icsText(value)
		case name == "STATUS":
			in.Status = strings.ToUpper(clean.LineMax(value, 40))
		case name == "ORGANIZER":
			_, in.By = clean.Address(icsParam(params, "CN"), cutMailto(value))
		case name == "ATTENDEE":
			in.Guests++
		case name == "DTSTART":
			start, allDay = icsTime(value, params, zone)
		case name == "DTEND":
			end, _ = icsTime(value, params, zone)
		}
	}
	return invite{}, false
}

// cutProperty parts a line at the colon that is not inside quotation marks.
func cutProperty(line string) (head, value string, ok bool) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			quoted = !quoted
		case ':':
			if !quoted {
				return line[:i], line[i+1:], true
			}
		}
	}
	return "", "", false
}

func cutMailto(s string) string {
	if len(s) >= 7 && strings.EqualFold(s[:7], "mailto:") {
		return s[7:]
	}
	return s
}

func icsParam(params, name string) string {
	for _, p := range strings.Split(params, ";") {
		if k, v, ok := strings.Cut(p, "="); ok && strings.EqualFold(k, name) {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

var icsEscapes = strings.NewReplacer(`\\`, `\`, `\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";")

func icsText(s string) string { return oneText(icsEscapes.Replace(s)) }

func oneText(s string) string {
	return strings.Join(strings.Fields(clean.LineMax(s, 300)), " ")
}

func icsTime(value, params string, zone *time.Location) (t time.Time, allDay bool) {
	value = strings.TrimSpace(value)
	if t, err := time.ParseInLocation("20060102", value, zone); err == nil {
		return t, true
	}
	if u, ok := strings.CutSuffix(value, "Z"); ok {
		t, _ = time.Parse("20060102T150405", u)
		if !t.IsZero() {
			t = t.In(zone)
		}
		return t, false
	}
	in := zone
	if id := icsParam(params, "TZID"); id != "" && len(id) < 64 {
		if l, err := time.LoadLocation(id); err == nil {
			in = l
		}
	}
	if t, err := time.ParseInLocation("20060102T150405", value, in); err == nil {
		return t.In(zone), false
	}
	return time.Time{}, false
}

func eventTime(start, end time.Time, allDay bool) string {
	if start.IsZero() {
		return ""
	}
	if allDay {
		s := start.Format("Mon 2 Jan 2006")
		// The end of an all-day event is the day after its last.
		if last := end.AddDate(0, 0, -1); last.After(start) {
			s += " – " + last.Format("Mon 2 Jan 2006")
		}
		return s + ", all day"
	}
	s := start.Format("Mon 2 Jan 2006 15:04")
	switch {
	case end.IsZero() || !end.After(start):
	case end.YearDay() == start.YearDay() && end.Year() == start.Year():
		s += "–" + end.Format("15:04")
	default:
		s += " – " + end.Format("Mon 2 Jan 2006 15:04")
	}
	return s + " " + start.Format("MST")
}

// repeats says a recurrence rule (RFC 5545, 3.3.10) in words; what it does not have words for is left out.
func repeats(rule string) string {
	parts := map[string]string{}
	rule = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(rule)), "RRULE:")
	for p := range strings.SplitSeq(clean.LineMax(rule, 300), ";") {
		k, v, _ := strings.Cut(p, "=")
		parts[k] = v
	}
	unit := map[string]string{"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}[parts["FREQ"]]
	if unit == "" {
		if rule == "" {
			return ""
		}
		return "yes, by a rule of its own"
	}
	out := "every " + unit
	if n, err := strconv.Atoi(parts["INTERVAL"]); err == nil && n > 1 {
		out = "every " + plural(n, unit, unit+"s")
	}
	var days []string
	for d := range strings.SplitSeq(parts["BYDAY"], ",") {
		if name := weekdays[d]; name != "" {
			days = append(days, name)
		}
	}
	if len(days) > 0 {
		out += " on " + strings.Join(days, ", ")
	}
	if n, err := strconv.Atoi(parts["COUNT"]); err == nil && n > 0 {
		out += ", " + plural(n, "time", "times")
	} else if t, err := time.Parse("20060102", cutAt(parts["UNTIL"], 8)); err == nil {
		out += ", until " + t.Format("Mon 2 Jan 2006")
	}
	return out
}

var weekdays = map[string]string{"MO": "Mon", "TU": "Tue", "WE": "Wed", "TH": "Thu", "FR": "Fri", "SA": "Sat", "SU": "Sun"}

func cutAt(s string, n int) string { return s[:min(len(s), n)] }
