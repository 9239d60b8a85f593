package local

import (
	"cmp"
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
	setPos   []int
	weekFrom time.Weekday // on which the weeks begin
}

// weekdayNumber is a BYDAY entry: "FR", or with an ordinal "2FR" and "-1FR".
type weekdayNumber struct {
	n   int // 0: every one
	day time.Weekday
}

var icalDays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func readRecurrence(rule string) (*recurrence, error) {
	r := &recurrence{interval: 1, weekFrom: time.Monday}
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
				if len(v) < 2 || len(r.days) == maxRuleList {
					return nil, errors.New("BYDAY names no day, or too many")
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
			if slices.ContainsFunc(r.months, func(m int) bool { return m < 1 || m > 12 }) {
				return nil, errors.New("BYMONTH names no month")
			}
		case "BYSETPOS":
			r.setPos, err = wholeList(value)
		case "WKST":
			if i := slices.Index(icalDays, value); i >= 0 {
				r.weekFrom = time.Weekday(i)
			}
		case "":
		default:
			return nil, fmt.Errorf("%s is not supported", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", name)
		}
	}
	r.days = slices.Compact(slices.SortedFunc(slices.Values(r.days), func(a, b weekdayNumber) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.n, b.n))
	}))
	if !slices.Contains([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}, r.freq) || r.interval < 1 || r.interval > 10_000 || r.count < 0 {
		return nil, errors.New("FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY, with a positive INTERVAL (at most 10000) and COUNT")
	}
	return r, nil
}

// maxRuleList is the most entries of one part of a rule: a year has no more days.
const maxRuleList = 366

func wholeList(v string) ([]int, error) {
	var out []int
	for e := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(e)
		if err != nil {
			return nil, err
		}
		if len(out) == maxRuleList {
			return nil, errors.New("too many")
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil // named twice it counts once
}

// occurrences gives the starts of an event between two instants, in order. A rule that is not understood gives the first
// one only.
func occurrences(e map[string]any, from, until time.Time) []time.Time {
	first := eventTime(e, "start")
	length := eventTime(e, "end").Sub(first)
	skip := map[int64]bool{}
	for _, x := range textsOf(e["exdates"]) {
		if t, ok := parseInstant(x); ok {
			skip[t.UnixMilli()] = true
		}
	}
	var out []time.Time
	add := func(t time.Time) {
		if t.Before(until) && (t.Add(length).After(from) || !t.Before(from)) && !skip[t.UnixMilli()] && len(out) < maxOccurrences {
			out = append(out, t)
			skip[t.UnixMilli()] = true // an RDATE may name it again
		}
	}
	rule, _ := e["recurrence"].(string)
	r, err := readRecurrence(strings.TrimPrefix(rule, "RRULE:"))
	if rule == "" || err != nil {
		add(first)
	} else {
		zone := time.UTC
		if name, _ := e["timezone"].(string); name != "" {
			if l, err := time.LoadLocation(name); err == nil {
				zone = l
			}
		}
		n := 0
		r.each(first.In(zone), until, func(t time.Time) bool {
			n++
			if r.count > 0 && n > r.count || !r.until.IsZero() && t.After(r.until) || len(out) == maxOccurrences {
				return false
			}
			add(t)
			return true
		})
	}
	for _, x := range textsOf(e["rdates"]) {
		if t, ok := parseInstant(x); ok {
			add(t)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
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
			onDay := len(r.days) == 0 || slices.ContainsFunc(r.days, func(d weekdayNumber) bool { return d.day == begin.Weekday() })
			if onDay && (len(r.monthDay) == 0 || onMonthDay(begin, r.monthDay)) {
				set = append(set, begin)
			}
		case "WEEKLY":
			since := func(d time.Weekday) int { return (int(d) - int(r.weekFrom) + 7) % 7 }
			begin = day(first.Year(), first.Month(), first.Day()-since(first.Weekday())+step*7*r.interval)
			days := r.days
			if len(days) == 0 {
				days = []weekdayNumber{{0, first.Weekday()}}
			}
			for _, d := range days {
				set = append(set, begin.AddDate(0, 0, since(d.day)))
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
		set = slices.CompactFunc(set, time.Time.Equal)
		for _, t := range r.atPositions(set) {
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

// atPositions keeps those of a period that BYSETPOS names: 1 is the first, -1 the last.
func (r *recurrence) atPositions(set []time.Time) []time.Time {
	if len(r.setPos) == 0 {
		return set
	}
	var out []time.Time
	for i, t := range set {
		if slices.Contains(r.setPos, i+1) || slices.Contains(r.setPos, i-len(set)) {
			out = append(out, t)
		}
	}
	return out
}

// onMonthDay reports whether a day is one of the list; -1 is the last of its month.
func onMonthDay(t time.Time, days []int) bool {
	last := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return slices.Contains(days, t.Day()) || slices.Contains(days, t.Day()-last-1)
}

// inMonth gives the days of a month that the rule means.
func (r *recurrence) inMonth(begin time.Time, otherwise int, day func(int, time.Month, int) time.Time) []time.Time {
	y, m := begin.Year(), begin.Month()
	last := day(y, m+1, 0).Day()
	var out []time.Time
	if len(r.days) > 0 {
		for _, d := range r.days {
			if d.n < -5 || d.n > 5 { // no month has a sixth
				continue
			}
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
		if len(r.monthDay) > 0 { // both: a Friday the 13th
			out = slices.DeleteFunc(out, func(t time.Time) bool { return !onMonthDay(t, r.monthDay) })
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
