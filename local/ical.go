package local

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// icalLine is one property of an iCalendar object (RFC 5545, section 3.1) or of a vCard (RFC 6350, section 3.3).
type icalLine struct {
	name   string
	params map[string]string // a parameter that comes more than once holds its values joined by commas
	value  string
}

// icalLines unfolds and splits an iCalendar object or vCards. Lines that are no property are left out.
func icalLines(data []byte, most int) iter.Seq[icalLine] {
	text := strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "").Replace(string(data))
	return func(yield func(icalLine) bool) {
		n := 0
		for line := range strings.Lines(text) {
			if n++; n > most {
				return
			}
			if l, ok := icalProperty(strings.TrimRight(line, "\r\n")); ok && !yield(l) {
				return
			}
		}
	}
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
				k, v, found := strings.Cut(p, "=")
				if !found { // vCard 2.1 writes TEL;HOME
					k, v = "TYPE", p
				}
				k, v = strings.ToUpper(strings.TrimSpace(k)), strings.Trim(v, `"`)
				if was := l.params[k]; was != "" {
					v = was + "," + v
				}
				l.params[k] = v
			}
			return l, l.name != ""
		}
	}
	return l, false
}

var icalUnescape = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)

func icalText(v string) string { return icalUnescape.Replace(v) }

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
	if name == "" || len(name) > 200 {
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

// icalTime reads a DATE or DATE-TIME of a year that calendars have.
func icalTime(l icalLine, floating *time.Location) (t time.Time, allDay bool, zone string, ok bool) {
	v := strings.TrimSpace(l.value)
	utc, isUTC := strings.CutSuffix(v, "Z")
	var err error
	switch {
	case len(v) == 8:
		allDay = true
		t, err = time.ParseInLocation("20060102", v, time.UTC)
	case isUTC:
		zone = "UTC"
		t, err = time.ParseInLocation("20060102T150405", utc, time.UTC)
	default:
		var loc *time.Location
		loc, zone = icalZone(l.params["TZID"], floating)
		t, err = time.ParseInLocation("20060102T150405", v, loc)
	}
	return t, allDay, zone, err == nil && t.Year() > 1600 && t.Year() < 9000
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
			if err != nil || units[r] == 0 || time.Duration(n) > maxEventLength/units[r] {
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
	maxAttendees   = 500
	maxAlarms      = 50
	maxExceptions  = 2000
	maxEventText   = 64 << 10
	maxEventLength = 100 * 366 * 24 * time.Hour
)

// readItem is an event of an iCalendar object.
type readItem struct {
	event map[string]any
	stamp int64 // when this version was written, in milliseconds; 0 when it does not say
	start bool  // it says when it begins
}

// icalReader collects the events of an iCalendar object.
type icalReader struct {
	floating *time.Location
	own      func(email string) bool
	yield    func(readItem) bool

	inside            []string // the components around the line
	item              readItem
	start, end        time.Time
	haveEnd           bool
	length            time.Duration
	exdates, rdates   []string
	alarms, attendees []any
	alarm             map[string]any
}

// readCalendar gives the events of an iCalendar object in their order. What cannot be read is left out.
func (s *Server) readCalendar(data []byte, mostLines int) iter.Seq[readItem] {
	return func(yield func(readItem) bool) {
		r := &icalReader{floating: s.now().Location(), own: func(email string) bool { return s.own[strings.ToLower(email)] }, yield: yield}
		for l := range icalLines(data, mostLines) {
			if !r.line(l) {
				return
			}
		}
		if slices.Contains(r.inside, "VEVENT") { // it is cut off
			r.finish()
		}
	}
}

func (r *icalReader) line(l icalLine) bool {
	component := ""
	if len(r.inside) > 0 {
		component = r.inside[len(r.inside)-1]
	}
	switch {
	case l.name == "BEGIN":
		name := strings.ToUpper(strings.TrimSpace(l.value))
		if name == "VEVENT" && component == "VEVENT" { // an END is missing
			r.inside = r.inside[:len(r.inside)-1]
			if !r.finish() {
				return false
			}
		}
		if len(r.inside) < 20 {
			r.inside = append(r.inside, name)
		}
		switch name {
		case "VEVENT":
			r.begin()
		case "VALARM":
			r.alarm = map[string]any{"minutesBefore": 0, "action": "DISPLAY"}
		}
	case l.name == "END":
		if len(r.inside) > 0 {
			r.inside = r.inside[:len(r.inside)-1]
		}
		if component == "VEVENT" {
			return r.finish()
		}
	case component == "VALARM" && len(r.inside) > 1 && r.inside[len(r.inside)-2] == "VEVENT":
		r.alarmLine(l)
	case component == "VEVENT":
		r.property(l)
	}
	return true
}

func (r *icalReader) begin() {
	floating, own, yield, inside := r.floating, r.own, r.yield, r.inside
	*r = icalReader{floating: floating, own: own, yield: yield, inside: inside}
	r.item.event = newEvent("email")
	r.exdates, r.rdates, r.alarms, r.attendees = []string{}, []string{}, []any{}, []any{}
}

// newEvent is an event that says nothing yet.
func newEvent(source string) map[string]any {
	return map[string]any{
		"object": "calendar_event", "uid": "", "sequence": 0, "summary": nil, "description": nil, "location": nil, "url": nil,
		"start": nil, "end": nil, "allDay": false, "timezone": nil, "recurrence": nil, "exdates": []any{}, "rdates": []any{}, "recurrenceId": nil,
		"subscriptionId": nil, "status": "CONFIRMED", "transparency": "OPAQUE", "visibility": "PUBLIC", "organizer": nil, "isOrganizer": false,
		"source": source, "alarms": []any{}, "attendees": []any{},
	}
}

func (r *icalReader) alarmLine(l icalLine) {
	switch l.name {
	case "TRIGGER":
		if d, ok := icalDuration(strings.TrimSpace(l.value)); ok && len(r.alarms) < maxAlarms {
			r.alarm["minutesBefore"] = int(-d / time.Minute)
			r.alarms = append(r.alarms, r.alarm)
		}
	case "ACTION":
		if v := icalWord(l.value); v == "EMAIL" || v == "AUDIO" {
			r.alarm["action"] = v
		}
	}
}

func (r *icalReader) property(l icalLine) {
	e := r.item.event
	switch l.name {
	case "UID":
		e["uid"] = clip(noControls(strings.TrimSpace(l.value)), 1000)
	case "SEQUENCE":
		if n, err := strconv.ParseInt(strings.TrimSpace(l.value), 10, 32); err == nil && n >= 0 {
			e["sequence"] = int(n)
		}
	case "DTSTAMP", "LAST-MODIFIED":
		if t, _, _, ok := icalTime(l, time.UTC); ok {
			r.item.stamp = max(r.item.stamp, t.UnixMilli())
		}
	case "SUMMARY", "DESCRIPTION", "LOCATION":
		e[strings.ToLower(l.name)] = nullText(clip(icalText(l.value), maxEventText))
	case "URL":
		e["url"] = nullText(clip(noControls(l.value), 4000))
	case "STATUS", "TRANSP", "CLASS":
		name := map[string]string{"STATUS": "status", "TRANSP": "transparency", "CLASS": "visibility"}[l.name]
		if v := icalWord(l.value); v != "" {
			e[name] = v
		}
	case "RRULE":
		e["recurrence"] = clip(noControls(strings.TrimSpace(l.value)), 2000)
	case "RECURRENCE-ID", "DTSTART", "DTEND", "DURATION", "EXDATE", "RDATE":
		r.times(l)
	case "ORGANIZER":
		email := icalEmail(l.value)
		e["organizer"] = map[string]any{"email": email, "name": nullText(clip(noControls(l.params["CN"]), 500))}
		e["isOrganizer"] = r.own(email)
	case "ATTENDEE":
		if len(r.attendees) < maxAttendees {
			r.attendees = append(r.attendees, icalAttendee(l))
		}
	}
}

func (r *icalReader) times(l icalLine) {
	e := r.item.event
	switch l.name {
	case "RECURRENCE-ID":
		if t, _, _, ok := icalTime(l, r.floating); ok {
			e["recurrenceId"] = instant(t.UnixMilli())
		}
	case "DTSTART":
		t, allDay, zone, ok := icalTime(l, r.floating)
		if !ok {
			return
		}
		r.start, r.item.start, e["allDay"] = t, true, allDay
		if zone != "" {
			e["timezone"] = zone
		}
	case "DTEND":
		r.end, _, _, r.haveEnd = icalTime(l, r.floating)
	case "DURATION":
		r.length, _ = icalDuration(strings.TrimSpace(l.value))
	default:
		for v := range strings.SplitSeq(l.value, ",") {
			v, _, _ = strings.Cut(v, "/") // the start of a period
			t, _, _, ok := icalTime(icalLine{params: l.params, value: v}, r.floating)
			switch {
			case !ok || len(r.exdates)+len(r.rdates) >= maxExceptions:
			case l.name == "EXDATE":
				r.exdates = append(r.exdates, instant(t.UnixMilli()))
			default:
				r.rdates = append(r.rdates, instant(t.UnixMilli()))
			}
		}
	}
}

// finish hands out the event that ends here.
func (r *icalReader) finish() bool {
	e := r.item.event
	if r.item.start {
		end := r.start.Add(max(r.length, 0))
		if r.haveEnd && !r.end.Before(r.start) {
			end = r.end
		}
		if end.Sub(r.start) > maxEventLength {
			end = r.start
		}
		if e["allDay"] == true { // whole days, one at least
			const day = 24 * time.Hour
			end = r.start.AddDate(0, 0, max(1, int((end.Sub(r.start)+day-1)/day)))
		}
		e["start"], e["end"] = instant(r.start.UnixMilli()), instant(end.UnixMilli())
	}
	e["exdates"], e["rdates"], e["alarms"], e["attendees"] = r.exdates, r.rdates, r.alarms, r.attendees
	return r.yield(r.item)
}

// icalWord reads a value that is one word of the standard.
func icalWord(v string) string { return clip(strings.ToUpper(icalToken(v)), 64) }

func icalEmail(v string) string {
	v = strings.TrimSpace(v)
	if len(v) >= 7 && strings.EqualFold(v[:7], "mailto:") {
		v = v[7:]
	}
	return clip(noControls(strings.TrimSpace(v)), 320)
}

func icalAttendee(l icalLine) map[string]any {
	or := func(name, otherwise string) string {
		if v := icalWord(l.params[name]); v != "" {
			return v
		}
		return otherwise
	}
	return map[string]any{
		"object": "calendar_attendee", "email": icalEmail(l.value), "name": nullText(clip(noControls(l.params["CN"]), 500)),
		"partstat": or("PARTSTAT", "NEEDS-ACTION"), "role": or("ROLE", "REQ-PARTICIPANT"), "rsvp": or("RSVP", "FALSE") == "TRUE",
		"cutype": nullText(or("CUTYPE", "")), "respondedAt": nil, "proposedStart": nil, "proposedEnd": nil,
	}
}
