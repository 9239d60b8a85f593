package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recurrence is the part of an RRULE (RFC 5545, section 3.3.10) that is expanded here.
type recurrence struct {
	freq     string
	interval int
	count    int // 0: no end
	until    time.Time
	days     []weekdayNumber
	monthDay []int
	months   []int
}

// weekdayNumber is a BYDAY entry: "FR", or with an ordinal "2FR" and "-1FR".
type weekdayNumber struct {
	n   int // 0: every one
	day time.Weekday
}

var icalDays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func readRecurrence(rule string) (*recurrence, error) {
	r := &recurrence{interval: 1}
	for part := range strings.SplitSeq(strings.ToUpper(rule), ";") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "FREQ":
			r.freq = value
		case "INTERVAL":
			r.interval, err = strconv.Atoi(value)
		case "COUNT":
			r.count, err = strconv.Atoi(value)
		case "UNTIL":
			t, _, _, ok := icalTime(icalLine{value: value}, time.UTC)
			if !ok {
				err = errors.New("UNTIL is no time")
			}
			if len(value) == 8 {
				t = t.AddDate(0, 0, 1).Add(-time.Second)
			}
			r.until = t
		case "BYDAY":
			for v := range strings.SplitSeq(value, ",") {
				if len(v) < 2 {
					return nil, errors.New("BYDAY names no day")
				}
				i := slices.Index(icalDays, v[len(v)-2:])
				n := 0
				if len(v) > 2 {
					n, err = strconv.Atoi(v[:len(v)-2])
				}
				if i < 0 || err != nil {
					return nil, errors.New("BYDAY names no day")
				}
				r.days = append(r.days, weekdayNumber{n, time.Weekday(i)})
			}
		case "BYMONTHDAY":
			r.monthDay, err = wholeList(value)
		case "BYMONTH":
			r.months, err = wholeList(value)
		case "WKST", "":
		default:
			return nil, fmt.Errorf("%s is not supported", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", name)
		}
	}
	if !slices.Contains([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}, r.freq) || r.interval < 1 || r.count < 0 {
		return nil, errors.New("FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY, with a positive INTERVAL and COUNT")
	}
	return r, nil
}

func wholeList(v string) ([]int, error) {
	var out []int
	for e := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(e)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// occurrences gives the starts of an event between two instants. A rule that is not understood gives the first one only.
func occurrences(e map[string]any, from, until time.Time) []time.Time {
	first := eventTime(e, "start")
	length := eventTime(e, "end").Sub(first)
	within := func(t time.Time) bool { return t.Before(until) && (t.Add(length).After(from) || !t.Before(from)) }
	var out []time.Time
	rule, _ := e["recurrence"].(string)
	r, err := readRecurrence(strings.TrimPrefix(rule, "RRULE:"))
	if rule == "" || err != nil {
		if within(first) {
			out = append(out, first)
		}
		return out
	}
	zone := time.UTC
	if name, _ := e["timezone"].(string); name != "" {
		if l, err := time.LoadLocation(name); err == nil {
			zone = l
		}
	}
	skip := map[int64]bool{}
	exdates, _ := e["exdates"].([]any)
	for _, x := range exdates {
		if text, ok := x.(string); ok {
			if t, ok := parseInstant(text); ok {
				skip[t.UnixMilli()] = true
			}
		}
	}
	n := 0
	r.each(first.In(zone), until, func(t time.Time) bool {
		n++
		if r.count > 0 && n > r.count || !r.until.IsZero() && t.After(r.until) || len(out) == maxOccurrences {
			return false
		}
		if within(t) && !skip[t.UnixMilli()] {
			out = append(out, t)
		}
		return true
	})
	return out
}

// each calls yield with the starts in order, until it returns false or a start is not before the end.
func (r *recurrence) each(first, end time.Time, yield func(time.Time) bool) {
	day := func(y int, m time.Month, d int) time.Time {
		return time.Date(y, m, d, first.Hour(), first.Minute(), first.Second(), 0, first.Location())
	}
	for step := 0; step < 100_000; step++ {
		var set []time.Time
		var begin time.Time
		switch r.freq {
		case "DAILY":
			begin = day(first.Year(), first.Month(), first.Day()+step*r.interval)
			if len(r.days) == 0 || slices.ContainsFunc(r.days, func(d weekdayNumber) bool { return d.day == begin.Weekday() }) {
				set = append(set, begin)
			}
		case "WEEKLY":
			monday := first.Day() - (int(first.Weekday())+6)%7
			begin = day(first.Year(), first.Month(), monday+step*7*r.interval)
			days := r.days
			if len(days) == 0 {
				days = []weekdayNumber{{0, first.Weekday()}}
			}
			for _, d := range days {
				set = append(set, begin.AddDate(0, 0, (int(d.day)+6)%7))
			}
		case "MONTHLY":
			begin = day(first.Year(), first.Month()+time.Month(step*r.interval), 1)
			set = r.inMonth(begin, first.Day(), day)
		default:
			begin = day(first.Year()+step*r.interval, 1, 1)
			months := r.months
			if len(months) == 0 {
				months = []int{int(first.Month())}
			}
			for _, m := range months {
				set = append(set, r.inMonth(day(begin.Year(), time.Month(m), 1), first.Day(), day)...)
			}
		}
		slices.SortFunc(set, time.Time.Compare)
		for _, t := range set {
			if t.Before(first) || r.freq != "YEARLY" && len(r.months) > 0 && !slices.Contains(r.months, int(t.Month())) {
				continue
			}
			if !t.Before(end) || !yield(t) {
				return
			}
		}
		if !begin.Before(end) {
			return
		}
	}
}

// inMonth gives the days of a month that the rule means.
func (r *recurrence) inMonth(begin time.Time, otherwise int, day func(int, time.Month, int) time.Time) []time.Time {
	y, m := begin.Year(), begin.Month()
	last := day(y, m+1, 0).Day()
	var out []time.Time
	if len(r.days) > 0 {
		for _, d := range r.days {
			var all []time.Time
			for n := 1; n <= last; n++ {
				if t := day(y, m, n); t.Weekday() == d.day {
					all = append(all, t)
				}
			}
			switch {
			case d.n == 0:
				out = append(out, all...)
			case d.n > 0 && d.n <= len(all):
				out = append(out, all[d.n-1])
			case d.n < 0 && -d.n <= len(all):
				out = append(out, all[len(all)+d.n])
			}
		}
		return out
	}
	days := r.monthDay
	if len(days) == 0 {
		days = []int{otherwise}
	}
	for _, d := range days {
		if d < 0 {
			d += last + 1
		}
		if d >= 1 && d <= last {
			out = append(out, day(y, m, d))
		}
	}
	return out
}

func newUID(address string) string { return strings.ToLower(rand.Text()) + "@" + domainOf(address) }

// writeICS writes an event as an iCalendar object. With an attendee only that one is in it, as an answer has it.
func writeICS(e map[string]any, method string, now time.Time, attendee map[string]any) []byte {
	var b strings.Builder
	line := func(name, value string) {
		text := name + ":" + value
		for len(text) > 73 {
			cut := clip(text, 73)
			b.WriteString(cut + "\r\n ")
			text = text[len(cut):]
		}
		b.WriteString(text + "\r\n")
	}
	escape := strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`)
	text := func(name, key string) {
		if v, _ := e[key].(string); v != "" {
			line(name, escape.Replace(v))
		}
	}
	plain := func(v string) string { return noControls(v) }
	stamp := func(t time.Time) string { return t.UTC().Format("20060102T150405Z") }
	instantLine := func(name, key string) {
		t := eventTime(e, key)
		if e["allDay"] == true {
			line(name+";VALUE=DATE", t.UTC().Format("20060102"))
			return
		}
		if zone, _ := e["timezone"].(string); zone != "" && zone != "UTC" && e["recurrence"] != nil {
			if l, err := time.LoadLocation(zone); err == nil {
				line(name+";TZID="+zone, t.In(l).Format("20060102T150405"))
				return
			}
		}
		line(name, stamp(t))
	}
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//teapost//EN")
	if method != "" {
		line("METHOD", method)
	}
	line("BEGIN", "VEVENT")
	uid, _ := e["uid"].(string)
	line("UID", plain(uid))
	line("SEQUENCE", fmt.Sprint(e["sequence"]))
	line("DTSTAMP", stamp(now))
	instantLine("DTSTART", "start")
	instantLine("DTEND", "end")
	if v, _ := e["recurrenceId"].(string); v != "" {
		line("RECURRENCE-ID", stamp(eventTime(e, "recurrenceId")))
	}
	text("SUMMARY", "summary")
	text("LOCATION", "location")
	text("DESCRIPTION", "description")
	for _, p := range [][2]string{{"URL", "url"}, {"RRULE", "recurrence"}, {"STATUS", "status"}, {"TRANSP", "transparency"}} {
		if v, _ := e[p[1]].(string); v != "" {
			line(p[0], plain(v))
		}
	}
	param := func(v string) string { return `"` + strings.ReplaceAll(noControls(v), `"`, "'") + `"` }
	if o, ok := e["organizer"].(map[string]any); ok {
		name := "ORGANIZER"
		if cn, _ := o["name"].(string); cn != "" {
			name += ";CN=" + param(cn)
		}
		email, _ := o["email"].(string)
		line(name, "mailto:"+plain(email))
	}
	list := (&storedEvent{event: e}).attendees()
	if attendee != nil {
		list = []map[string]any{attendee}
	}
	for _, a := range list {
		name := "ATTENDEE"
		if cn, _ := a["name"].(string); cn != "" {
			name += ";CN=" + param(cn)
		}
		role, _ := a["role"].(string)
		partstat, _ := a["partstat"].(string)
		name += ";ROLE=" + icalToken(role) + ";PARTSTAT=" + icalToken(partstat)
		if a["rsvp"] == true && attendee == nil {
			name += ";RSVP=TRUE"
		}
		email, _ := a["email"].(string)
		line(name, "mailto:"+plain(email))
	}
	line("END", "VEVENT")
	line("END", "VCALENDAR")
	return []byte(b.String())
}

func icalToken(v string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, v)
}
