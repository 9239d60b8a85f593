package local

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// icalLine is one property of an iCalendar object (RFC 5545, section 3.1).
type icalLine struct {
	name   string
	params map[string]string
	value  string
}

const maxIcalLines = 20_000

// icalLines unfolds and splits an iCalendar object. Lines that are no property are left out.
func icalLines(data []byte) []icalLine {
	text := strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "").Replace(string(data))
	var out []icalLine
	for line := range strings.Lines(text) {
		if len(out) == maxIcalLines {
			break
		}
		if l, ok := icalProperty(strings.TrimRight(line, "\r\n")); ok {
			out = append(out, l)
		}
	}
	return out
}

func icalProperty(line string) (icalLine, bool) {
	l := icalLine{params: map[string]string{}}
	quoted := false
	var parts []string
	start := 0
	for i := range len(line) {
		switch ch := line[i]; {
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == ';':
			parts = append(parts, line[start:i])
			start = i + 1
		case ch == ':':
			parts = append(parts, line[start:i])
			l.value = line[i+1:]
			l.name = strings.ToUpper(strings.TrimSpace(parts[0]))
			for _, p := range parts[1:] {
				k, v, _ := strings.Cut(p, "=")
				l.params[strings.ToUpper(k)] = strings.Trim(v, `"`)
			}
			return l, l.name != ""
		}
	}
	return l, false
}

func icalText(v string) string {
	return strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(v)
}

// windowsZones are the names that Outlook gives the commonest zones.
var windowsZones = map[string]string{
	"UTC": "UTC", "GMT Standard Time": "Europe/London", "Greenwich Standard Time": "Atlantic/Reykjavik",
	"W. Europe Standard Time": "Europe/Berlin", "Romance Standard Time": "Europe/Paris",
	"Central Europe Standard Time": "Europe/Budapest", "Central European Standard Time": "Europe/Warsaw",
	"E. Europe Standard Time": "Europe/Chisinau", "FLE Standard Time": "Europe/Kyiv", "GTB Standard Time": "Europe/Bucharest",
	"Russian Standard Time": "Europe/Moscow", "Turkey Standard Time": "Europe/Istanbul", "Israel Standard Time": "Asia/Jerusalem",
	"South Africa Standard Time": "Africa/Johannesburg", "Egypt Standard Time": "Africa/Cairo",
	"Arabian Standard Time": "Asia/Dubai", "India Standard Time": "Asia/Kolkata", "China Standard Time": "Asia/Shanghai",
	"Singapore Standard Time": "Asia/Singapore", "Tokyo Standard Time": "Asia/Tokyo", "Korea Standard Time": "Asia/Seoul",
	"AUS Eastern Standard Time": "Australia/Sydney", "E. Australia Standard Time": "Australia/Brisbane",
	"New Zealand Standard Time": "Pacific/Auckland", "Hawaiian Standard Time": "Pacific/Honolulu",
	"Alaskan Standard Time": "America/Anchorage", "Pacific Standard Time": "America/Los_Angeles",
	"Mountain Standard Time": "America/Denver", "US Mountain Standard Time": "America/Phoenix",
	"Central Standard Time": "America/Chicago", "Eastern Standard Time": "America/New_York",
	"Atlantic Standard Time": "America/Halifax", "SA Pacific Standard Time": "America/Bogota",
	"E. South America Standard Time": "America/Sao_Paulo", "Argentina Standard Time": "America/Buenos_Aires",
}

func icalZone(name string, floating *time.Location) (*time.Location, string) {
	if name == "" {
		return floating, ""
	}
	if iana, ok := windowsZones[name]; ok {
		name = iana
	}
	// Some programs put their own path in front: /mozilla.org/20050126_1/Europe/Berlin.
	for n := name; n != ""; {
		if l, err := time.LoadLocation(n); err == nil && n != "Local" {
			return l, n
		}
		_, rest, ok := strings.Cut(strings.TrimPrefix(n, "/"), "/")
		if !ok {
			break
		}
		n = rest
	}
	return floating, ""
}

// icalTime reads a DATE or DATE-TIME.
func icalTime(l icalLine, floating *time.Location) (t time.Time, allDay bool, zone string, ok bool) {
	v := strings.TrimSpace(l.value)
	if len(v) == 8 {
		t, err := time.ParseInLocation("20060102", v, time.UTC)
		return t, true, "", err == nil
	}
	if utc, found := strings.CutSuffix(v, "Z"); found {
		t, err := time.ParseInLocation("20060102T150405", utc, time.UTC)
		return t, false, "UTC", err == nil
	}
	loc, zone := icalZone(l.params["TZID"], floating)
	t, err := time.ParseInLocation("20060102T150405", v, loc)
	return t, false, zone, err == nil
}

// icalDuration reads a DURATION such as P1DT2H30M or -PT15M.
func icalDuration(v string) (time.Duration, bool) {
	neg := strings.HasPrefix(v, "-")
	v, ok := strings.CutPrefix(strings.TrimLeft(v, "+-"), "P")
	if !ok {
		return 0, false
	}
	total, digits := time.Duration(0), ""
	units := map[rune]time.Duration{'W': 7 * 24 * time.Hour, 'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}
	for _, r := range v {
		switch {
		case r >= '0' && r <= '9':
			digits += string(r)
		case r == 'T':
		default:
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil || units[r] == 0 {
				return 0, false
			}
			total += time.Duration(n) * units[r]
			digits = ""
		}
	}
	if neg {
		total = -total
	}
	return total, digits == ""
}

const (
	maxAttendees = 500
	maxAlarms    = 50
)

// readEvent reads the first event of a message's calendar part.
func (s *Server) readEvent(msg *mailparse.Message) (map[string]any, bool) {
	if len(msg.Calendar) == 0 {
		return nil, false
	}
	floating := s.now().Location()
	e := map[string]any{
		"object": "calendar_event", "uid": "", "sequence": 0, "summary": nil, "description": nil, "location": nil, "url": nil,
		"allDay": false, "timezone": nil, "recurrence": nil, "recurrenceId": nil, "subscriptionId": nil, "status": "CONFIRMED",
		"transparency": "OPAQUE", "visibility": "PUBLIC", "organizer": nil, "isOrganizer": false, "source": "email",
	}
	if msg.CalendarMethod == "CANCEL" {
		e["status"] = "CANCELLED"
	}
	exdates, rdates, alarms, attendees := []string{}, []string{}, []any{}, []any{}
	var start, end time.Time
	var inside []string
	haveStart, haveEnd, done := false, false, false
	for _, l := range icalLines(msg.Calendar) {
		component := ""
		if len(inside) > 0 {
			component = inside[len(inside)-1]
		}
		switch {
		case l.name == "BEGIN":
			inside = append(inside, strings.ToUpper(strings.TrimSpace(l.value)))
			continue
		case l.name == "END":
			if len(inside) > 0 {
				inside = inside[:len(inside)-1]
			}
			done = component == "VEVENT"
		case component == "VALARM" && l.name == "TRIGGER" && len(alarms) < maxAlarms:
			if d, ok := icalDuration(l.value); ok {
				alarms = append(alarms, map[string]any{"minutesBefore": int(-d / time.Minute), "action": "DISPLAY"})
			}
		case component != "VEVENT":
			continue
		}
		if done {
			break
		}
		switch l.name {
		case "UID":
			e["uid"] = l.value
		case "SEQUENCE":
			if n, err := strconv.Atoi(strings.TrimSpace(l.value)); err == nil {
				e["sequence"] = n
			}
		case "SUMMARY":
			e["summary"] = icalText(l.value)
		case "DESCRIPTION":
			e["description"] = icalText(l.value)
		case "LOCATION":
			e["location"] = icalText(l.value)
		case "URL":
			e["url"] = l.value
		case "STATUS", "TRANSP", "CLASS":
			name := map[string]string{"STATUS": "status", "TRANSP": "transparency", "CLASS": "visibility"}[l.name]
			e[name] = strings.ToUpper(strings.TrimSpace(l.value))
		case "RRULE":
			e["recurrence"] = l.value
		case "RECURRENCE-ID":
			if t, _, _, ok := icalTime(l, floating); ok {
				e["recurrenceId"] = instant(t.UnixMilli())
			}
		case "DTSTART":
			t, allDay, zone, ok := icalTime(l, floating)
			if ok {
				start, haveStart = t, true
				e["allDay"] = allDay
				if zone != "" {
					e["timezone"] = zone
				}
			}
		case "DTEND":
			end, _, _, haveEnd = icalTime(l, floating)
		case "DURATION":
			if d, ok := icalDuration(l.value); ok && haveStart {
				end, haveEnd = start.Add(d), true
			}
		case "EXDATE", "RDATE":
			for v := range strings.SplitSeq(l.value, ",") {
				t, _, _, ok := icalTime(icalLine{params: l.params, value: v}, floating)
				if ok && l.name == "EXDATE" {
					exdates = append(exdates, instant(t.UnixMilli()))
				} else if ok {
					rdates = append(rdates, instant(t.UnixMilli()))
				}
			}
		case "ORGANIZER":
			email := icalEmail(l.value)
			e["organizer"] = map[string]any{"email": email, "name": nullText(l.params["CN"])}
			e["isOrganizer"] = s.own[strings.ToLower(email)]
		case "ATTENDEE":
			if len(attendees) < maxAttendees {
				attendees = append(attendees, icalAttendee(l))
			}
		}
	}
	if !haveStart {
		return nil, false
	}
	if !haveEnd {
		end = start
		if e["allDay"] == true {
			end = start.AddDate(0, 0, 1)
		}
	}
	e["start"], e["end"] = instant(start.UnixMilli()), instant(end.UnixMilli())
	e["exdates"], e["rdates"], e["alarms"], e["attendees"] = exdates, rdates, alarms, attendees
	if e["uid"] == "" {
		e["uid"] = fmt.Sprintf("%s@%d", bareID(msg.MessageID), start.Unix())
	}
	return e, true
}

func icalEmail(v string) string {
	if len(v) >= 7 && strings.EqualFold(v[:7], "mailto:") {
		v = v[7:]
	}
	return strings.TrimSpace(v)
}

func icalAttendee(l icalLine) map[string]any {
	or := func(name, otherwise string) string {
		if v := strings.ToUpper(l.params[name]); v != "" {
			return v
		}
		return otherwise
	}
	return map[string]any{
		"object": "calendar_attendee", "email": icalEmail(l.value), "name": nullText(l.params["CN"]),
		"partstat": or("PARTSTAT", "NEEDS-ACTION"), "role": or("ROLE", "REQ-PARTICIPANT"), "rsvp": or("RSVP", "FALSE") == "TRUE",
		"cutype": nullText(strings.ToUpper(l.params["CUTYPE"])), "respondedAt": nil, "proposedStart": nil, "proposedEnd": nil,
	}
}
