package local

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// icalWriter writes an iCalendar object, folded as RFC 5545, section 3.1, has it.
type icalWriter struct {
	b     strings.Builder
	now   time.Time
	zones []string // that were named
}

func (w *icalWriter) line(name, value string) {
	text := name + ":" + value
	for len(text) > 73 {
		cut := clip(text, 73)
		w.b.WriteString(cut + "\r\n ")
		text = text[len(cut):]
	}
	w.b.WriteString(text + "\r\n")
}

var icalEscape = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// text writes a value that a person wrote, when there is one.
func (w *icalWriter) text(name string, value any) {
	if v, _ := value.(string); v != "" {
		w.line(name, icalEscape.Replace(v))
	}
}

// plain writes a value that is no text, when there is one.
func (w *icalWriter) plain(name string, value any) {
	if v, _ := value.(string); v != "" {
		w.line(name, noControls(v))
	}
}

func icalStamp(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

func icalParam(v string) string { return `"` + strings.ReplaceAll(noControls(v), `"`, "'") + `"` }

// zone is the zone in which the times of an event are written; nil is UTC.
func (w *icalWriter) zone(e map[string]any) *time.Location {
	name, _ := e["timezone"].(string)
	if name == "" || name == "UTC" || e["allDay"] == true || e["recurrence"] == nil && e["recurrenceId"] == nil {
		return nil
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return l
}

func (w *icalWriter) time(name string, e map[string]any, t time.Time) {
	l := w.zone(e)
	switch {
	case e["allDay"] == true:
		w.line(name+";VALUE=DATE", t.UTC().Format("20060102"))
	case l != nil:
		w.line(name+";TZID="+l.String(), t.In(l).Format("20060102T150405"))
	default:
		w.line(name, icalStamp(t))
	}
}

func (w *icalWriter) times(name string, e map[string]any, key string) {
	for _, v := range textsOf(e[key]) {
		if t, ok := parseInstant(v); ok {
			w.time(name, e, t)
		}
	}
}

// textsOf gives the strings of a list, be it made here or decoded from JSON.
func textsOf(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if text, ok := x.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// attendees writes those that are invited; as an answer has it only the one who answers.
func (w *icalWriter) attendees(list []map[string]any, answer bool) {
	for _, a := range list {
		name := "ATTENDEE"
		if cn, _ := a["name"].(string); cn != "" {
			name += ";CN=" + icalParam(cn)
		}
		role, _ := a["role"].(string)
		partstat, _ := a["partstat"].(string)
		name += ";ROLE=" + icalToken(role) + ";PARTSTAT=" + icalToken(partstat)
		if a["rsvp"] == true && !answer {
			name += ";RSVP=TRUE"
		}
		email, _ := a["email"].(string)
		w.line(name, "mailto:"+noControls(email))
	}
}

// event writes an event. With an attendee only that one is in it, and no alarm, as an answer has it.
func (w *icalWriter) event(e map[string]any, attendee map[string]any) {
	w.line("BEGIN", "VEVENT")
	w.plain("UID", e["uid"])
	w.line("SEQUENCE", fmt.Sprint(e["sequence"]))
	w.line("DTSTAMP", icalStamp(w.now))
	w.time("DTSTART", e, eventTime(e, "start"))
	w.time("DTEND", e, eventTime(e, "end"))
	if e["recurrenceId"] != nil {
		w.time("RECURRENCE-ID", e, eventTime(e, "recurrenceId"))
	}
	w.text("SUMMARY", e["summary"])
	w.text("LOCATION", e["location"])
	w.text("DESCRIPTION", e["description"])
	w.plain("URL", e["url"])
	w.plain("RRULE", e["recurrence"])
	w.times("EXDATE", e, "exdates")
	w.times("RDATE", e, "rdates")
	w.plain("STATUS", e["status"])
	w.plain("TRANSP", e["transparency"])
	if v, _ := e["visibility"].(string); v != "PUBLIC" && v != "DEFAULT" {
		w.plain("CLASS", v)
	}
	if o, ok := e["organizer"].(map[string]any); ok {
		name := "ORGANIZER"
		if cn, _ := o["name"].(string); cn != "" {
			name += ";CN=" + icalParam(cn)
		}
		email, _ := o["email"].(string)
		w.line(name, "mailto:"+noControls(email))
	}
	if attendee != nil {
		w.attendees([]map[string]any{attendee}, true)
	} else {
		w.attendees((&storedEvent{event: e}).attendees(), false)
		w.alarms(e)
	}
	w.line("END", "VEVENT")
}

func (w *icalWriter) alarms(e map[string]any) {
	list, _ := e["alarms"].([]any)
	for _, a := range list {
		m, _ := a.(map[string]any)
		minutes, ok := wholeNumber(m["minutesBefore"])
		if !ok {
			continue
		}
		sign := "-"
		if minutes < 0 {
			sign, minutes = "", -minutes
		}
		w.line("BEGIN", "VALARM")
		w.line("ACTION", "DISPLAY")
		w.line("TRIGGER", fmt.Sprintf("%sPT%dM", sign, minutes))
		w.line("DESCRIPTION", "Reminder")
		w.line("END", "VALARM")
	}
}

func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// timezone writes what the clocks of a zone do around some events: from the year before the first one on.
func (w *icalWriter) timezone(l *time.Location, first time.Time) {
	const years = 12
	offset := func(t time.Time) string { return t.In(l).Format("-0700") }
	w.line("BEGIN", "VTIMEZONE")
	w.line("TZID", l.String())
	at := time.Date(first.Year()-1, 1, 1, 0, 0, 0, 0, l)
	last := max(first.Year(), w.now.Year()) + years
	for n := 0; n < 4*years && at.Year() <= last; n++ {
		kind := "STANDARD"
		if at.IsDST() {
			kind = "DAYLIGHT"
		}
		before := at.Add(-time.Second)
		w.line("BEGIN", kind)
		// The clock as it stood just before the change.
		_, was := before.Zone()
		w.line("DTSTART", at.UTC().Add(time.Duration(was)*time.Second).Format("20060102T150405"))
		w.line("TZOFFSETFROM", offset(before))
		w.line("TZOFFSETTO", offset(at))
		w.line("END", kind)
		_, end := at.ZoneBounds()
		if end.IsZero() {
			break
		}
		at = end
	}
	w.line("END", "VTIMEZONE")
}

// writeICS writes an event as an iCalendar object.
func writeICS(e map[string]any, method string, now time.Time, attendee map[string]any) []byte {
	return writeCalendar([]map[string]any{e}, method, "", now, attendee)
}

// writeCalendar writes events as one iCalendar object. A name is what programs show for it.
func writeCalendar(events []map[string]any, method, name string, now time.Time, attendee map[string]any) []byte {
	w := &icalWriter{now: now}
	w.line("BEGIN", "VCALENDAR")
	w.line("VERSION", "2.0")
	w.line("PRODID", "-//teapost//EN")
	if method != "" {
		w.line("METHOD", method)
	}
	w.text("X-WR-CALNAME", name)
	first := map[string]time.Time{}
	for _, e := range events {
		l := w.zone(e)
		if l == nil {
			continue
		}
		if at, known := first[l.String()]; !known || eventTime(e, "start").Before(at) {
			if !known {
				w.zones = append(w.zones, l.String())
			}
			first[l.String()] = eventTime(e, "start")
		}
	}
	slices.Sort(w.zones)
	for _, name := range w.zones {
		if l, err := time.LoadLocation(name); err == nil {
			w.timezone(l, first[name])
		}
	}
	for _, e := range events {
		w.event(e, attendee)
	}
	w.line("END", "VCALENDAR")
	return []byte(w.b.String())
}

func icalToken(v string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, v)
}
