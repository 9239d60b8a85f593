package when

import (
	"strconv"
	"strings"
	"time"
)

type dateKind int

const (
	noDate   dateKind = iota
	relative          // days from today
	weekday           // the coming one
	calendar          // day and month, perhaps a year
	monthDay          // a day of the month
)

// parser holds what was read. Each part may come once.
type parser struct {
	o     Options
	now   time.Time
	words []string
	i     int

	date             dateKind
	days             int // relative
	wday             time.Weekday
	year, month, day int
	defaultClock     Clock
	checkWeekday     bool // a weekday stands beside a date and must agree

	hasClock bool
	clock    Clock

	hasLength           bool
	exact               time.Duration
	lenDays, lenMonths  int
	nextWeek, wdayGiven bool
}

var weekdays = map[string]time.Weekday{}

var months = map[string]int{}

func init() {
	for d := time.Sunday; d <= time.Saturday; d++ {
		n := strings.ToLower(d.String())
		weekdays[n], weekdays[n[:3]] = d, d
	}
	weekdays["tues"], weekdays["weds"], weekdays["thur"], weekdays["thurs"] = time.Tuesday, time.Wednesday, time.Thursday, time.Thursday
	for m := time.January; m <= time.December; m++ {
		n := strings.ToLower(m.String())
		months[n], months[n[:3]] = int(m), int(m)
	}
	months["sept"] = int(time.September)
}

var units = map[string]string{
	"m": "minute", "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute",
	"h": "hour", "hr": "hour", "hrs": "hour", "hour": "hour", "hours": "hour",
	"d": "day", "day": "day", "days": "day",
	"w": "week", "wk": "week", "wks": "week", "week": "week", "weeks": "week",
	"mo": "month", "month": "month", "months": "month",
	"y": "year", "yr": "year", "yrs": "year", "year": "year", "years": "year",
}

func (p *parser) peek(n int) string {
	if p.i+n < len(p.words) {
		return p.words[p.i+n]
	}
	return ""
}

func (p *parser) read() error {
	for p.i < len(p.words) {
		before := p.i
		if err := p.part(); err != nil {
			return err
		}
		if p.i == before {
			return refuse("I do not understand %s: %s", sentence(p.words[p.i]), examples)
		}
	}
	return nil
}

func (p *parser) twice(what string) error {
	return refuse("There are two %s in it: %s", what, examples)
}

func (p *parser) setDate(k dateKind) error {
	if p.date == weekday && k == calendar {
		p.date, p.checkWeekday = k, true
		return nil
	}
	if p.date != noDate || p.hasLength {
		return p.twice("days")
	}
	p.date = k
	return nil
}

func (p *parser) setRelative(days int, c Clock) error {
	if err := p.setDate(relative); err != nil {
		return err
	}
	p.days, p.defaultClock = days, c
	return nil
}

func (p *parser) setClock(c Clock) error {
	if p.hasClock {
		return p.twice("times of day")
	}
	p.hasClock, p.clock = true, c
	return nil
}

var night = Clock{20, 0}

// single are the words that say all by themselves.
var single = map[string]func(*parser) error{
	"today":     func(p *parser) error { return p.setRelative(0, p.o.Evening) },
	"tonight":   func(p *parser) error { return p.setRelative(0, night) },
	"eod":       func(p *parser) error { return p.setRelative(0, p.o.Evening) },
	"tomorrow":  tomorrow,
	"tmrw":      tomorrow,
	"tmr":       tomorrow,
	"tom":       tomorrow,
	"tmw":       tomorrow,
	"weekend":   func(p *parser) error { return p.weekend(0) },
	"noon":      noon,
	"midday":    noon,
	"lunch":     noon,
	"lunchtime": noon,
	"midnight":  func(p *parser) error { return p.setClock(Clock{0, 0}) },
	"morning":   func(p *parser) error { return p.setClock(p.o.Morning) },
	"afternoon": func(p *parser) error { return p.setClock(Clock{14, 0}) },
	"evening":   func(p *parser) error { return p.setClock(p.o.Evening) },
	"night":     func(p *parser) error { return p.setClock(night) },
	"eow":       endOfWeek,
	"eom":       endOfMonth,
}

func tomorrow(p *parser) error { return p.setRelative(1, p.o.Morning) }

func noon(p *parser) error { return p.setClock(Clock{12, 0}) }

func endOfWeek(p *parser) error {
	p.wday, p.defaultClock = time.Friday, p.o.Evening
	return p.setDate(weekday)
}

func endOfMonth(p *parser) error {
	y, m, _ := p.now.Date()
	p.year, p.month, p.day = y, int(m), lastDay(y, int(m))
	p.defaultClock = p.o.Evening
	return p.setDate(calendar)
}

// part reads one part at p.i and moves on; it stays when it knows none.
func (p *parser) part() error {
	w, next := p.words[p.i], p.peek(1)
	switch w {
	case "on", "until", "till", "the", "@":
		if next == "" {
			return nil
		}
		p.i++
		return nil
	case "at":
		p.i++
		if c, n, ok, err := p.clockAt(true); err != nil {
			return err
		} else if ok {
			p.i += n
			return p.setClock(c)
		}
		if next == "" {
			return refuse("At what time? %s", examples)
		}
		return nil
	case "in":
		p.i++
		if !p.lengthHere() {
			return refuse("In how long? Try “in 3h” or “in 2 weeks”")
		}
		return p.length()
	case "now":
		return refuse("That is now: %s", examples)
	case "yesterday", "last", "ago":
		return refuse("That is past: %s", examples)
	case "day":
		if next == "after" && (p.peek(2) == "tomorrow" || p.peek(2) == "tmrw") {
			p.i += 3
			return p.setRelative(2, p.o.Morning)
		}
	case "this", "next":
		return p.thisOrNext(w, next)
	case "later":
		p.i++
		if next == "today" {
			p.i++
		}
		return p.setRelative(0, p.o.Evening)
	}
	if set, ok := single[w]; ok {
		p.i++
		return set(p)
	}
	if d, ok := weekdays[w]; ok {
		p.i++
		if p.nextWeek {
			return p.weekdayOfNextWeek(d)
		}
		if p.date == calendar {
			p.wday, p.checkWeekday = d, true
			return nil
		}
		p.wday, p.defaultClock = d, p.o.Morning
		return p.setDate(weekday)
	}
	if m, ok := months[w]; ok {
		p.i++
		return p.monthFirst(m)
	}
	if w[0] >= '0' && w[0] <= '9' || w == "a" || w == "an" || w == "half" || w == "one" {
		return p.number()
	}
	return nil
}

func (p *parser) thisOrNext(w, next string) error {
	p.i += 2
	weeks := 0
	if w == "next" {
		weeks = 1
	}
	if d, ok := weekdays[next]; ok {
		if weeks == 1 {
			return p.weekdayOfNextWeek(d)
		}
		p.wday, p.defaultClock = d, p.o.Morning
		return p.setDate(weekday)
	}
	y, m, _ := p.now.Date()
	switch {
	case next == "weekend":
		return p.weekend(weeks)
	case w == "this" && (next == "morning" || next == "afternoon" || next == "evening"):
		p.i--
		return p.setRelative(0, p.o.Evening)
	case w == "next" && next == "week":
		if p.date == weekday && !p.nextWeek {
			p.date = noDate
			return p.weekdayOfNextWeek(p.wday)
		}
		p.nextWeek = true
		return p.setRelative(p.daysToNextWeek(p.o.WeekDay), p.o.Morning)
	case w == "next" && next == "month":
		p.defaultClock = p.o.Morning
		p.year, p.month, p.day = y, int(m)+1, 1
		if p.month > 12 {
			p.year, p.month = y+1, 1
		}
		return p.setDate(calendar)
	case w == "next" && next == "year":
		p.defaultClock = p.o.Morning
		p.year, p.month, p.day = y+1, 1, 1
		return p.setDate(calendar)
	}
	return refuse("I do not understand %s: %s", sentence(strings.TrimSpace(w+" "+next)), examples)
}

// weekdayOfNextWeek sets a day of the calendar week (from Monday) after this one.
func (p *parser) weekdayOfNextWeek(d time.Weekday) error {
	if p.nextWeek && p.date == relative && !p.wdayGiven {
		p.date = noDate
	}
	p.wdayGiven = true
	return p.setRelative(p.daysToNextWeek(d), p.o.Morning)
}

func (p *parser) daysToNextWeek(d time.Weekday) int {
	fromMonday := func(d time.Weekday) int { return (int(d) + 6) % 7 }
	return 7 - fromMonday(p.now.Weekday()) + fromMonday(d)
}

func (p *parser) weekend(weeks int) error {
	days := (int(p.o.WeekendDay) - int(p.now.Weekday()) + 7) % 7
	start := p.date0(days, p.o.Weekend)
	if weeks == 0 && !start.After(p.now) {
		days += 7
	}
	if weeks == 1 {
		days = p.daysToNextWeek(p.o.WeekendDay)
	}
	return p.setRelative(days, p.o.Weekend)
}

func (p *parser) date0(days int, c Clock) time.Time {
	y, m, d := p.now.Date()
	return wall(p.now.Location(), y, int(m), d+days, c)
}

// number reads what begins with a number: a length, a date or a time of day.
func (p *parser) number() error {
	if p.lengthHere() {
		return p.length()
	}
	w, next := p.words[p.i], p.peek(1)
	if strings.Count(w, "-") == 2 && len(w) == 10 {
		t, err := time.Parse("2006-01-02", w)
		if err != nil {
			return refuse("There is no day %s", sentence(w))
		}
		p.i++
		if next == "t" {
			p.i++
		}
		return p.fullDate(t.Year(), int(t.Month()), t.Day())
	}
	if strings.Contains(w, "/") {
		return p.slashed(w)
	}
	if strings.Count(w, ".") == 2 {
		var d, m, y int
		parts := strings.Split(w, ".")
		d, m = atoi(parts[0]), atoi(parts[1])
		if parts[2] != "" {
			y = atoi(parts[2])
			if len(parts[2]) == 2 {
				y += 2000
			}
		}
		p.i++
		return p.dayMonth(d, m, y)
	}
	if n := atoi(w); n >= 0 {
		skip := 1
		if next == "st" || next == "nd" || next == "rd" || next == "th" {
			skip = 2
		}
		// "24 of december"
		after := skip
		if p.peek(after) == "of" {
			after++
		}
		if m, ok := months[p.peek(after)]; ok {
			p.i += after + 1
			return p.dayMonth(n, m, p.yearHere())
		}
		if skip == 2 {
			p.i += 2
			if n < 1 || n > 31 {
				return refuse("There is no day %d of a month", n)
			}
			p.day, p.defaultClock = n, p.o.Morning
			return p.setDate(monthDay)
		}
	}
	c, n, ok, err := p.clockAt(p.date != noDate || p.hasLength)
	if err != nil {
		return err
	}
	if ok {
		p.i += n
		return p.setClock(c)
	}
	if atoi(w) >= 0 {
		// A number before its day: "9 fri".
		if _, isDay := weekdays[next]; isDay || next == "tomorrow" || next == "today" {
			p.i++
			if atoi(w) > 23 {
				return refuse("There is no hour %s", w)
			}
			return p.setClock(Clock{atoi(w), 0})
		}
		return refuse("%s what? Try “%sam”, “in %s hours” or “fri %s”", w, w, w, w)
	}
	return nil
}

func (p *parser) slashed(w string) error {
	parts := strings.Split(w, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return refuse("I do not understand %s: write the month as a word, such as 24 dec", sentence(w))
	}
	a, b, y := atoi(parts[0]), atoi(parts[1]), 0
	if len(parts) == 3 {
		y = atoi(parts[2])
		if len(parts[2]) == 2 {
			y += 2000
		}
		if len(parts[0]) == 4 {
			p.i++
			return p.fullDate(a, b, y)
		}
	}
	switch {
	case a > 12 && b <= 12:
	case b > 12 && a <= 12:
		a, b = b, a
	case a == b:
	default:
		return refuse("%s can mean two days: write the month as a word, such as 24 dec", sentence(w))
	}
	p.i++
	return p.dayMonth(a, b, y)
}

func (p *parser) monthFirst(m int) error {
	n := atoi(p.peek(0))
	if n < 0 {
		return refuse("Which day of the month? Try “24 dec”")
	}
	p.i++
	switch p.peek(0) {
	case "st", "nd", "rd", "th":
		p.i++
	}
	return p.dayMonth(n, m, p.yearHere())
}

// yearHere reads a year of four digits, when one follows.
func (p *parser) yearHere() int {
	w := p.peek(0)
	if n := atoi(w); len(w) == 4 && n >= 1900 {
		p.i++
		return n
	}
	return 0
}

func (p *parser) dayMonth(d, m, y int) error {
	if y != 0 {
		return p.fullDate(y, m, d)
	}
	// 29 February exists in some year; any other day must exist in each.
	if m < 1 || m > 12 || d < 1 || d > lastDay(2024, m) {
		return refuse("There is no such day of the year: %s", examples)
	}
	p.month, p.day, p.defaultClock = m, d, p.o.Morning
	return p.setDate(calendar)
}

func (p *parser) fullDate(y, m, d int) error {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > lastDay(y, m) {
		return refuse("There is no such day: %s", examples)
	}
	p.year, p.month, p.day, p.defaultClock = y, m, d, p.o.Morning
	return p.setDate(calendar)
}

// clockAt reads a time of day at p.i and says how many words it took. A number alone counts
// only where a time of day must be (bare).
func (p *parser) clockAt(bare bool) (c Clock, n int, ok bool, err error) {
	w, next := p.peek(0), p.peek(1)
	if w == "" || w[0] < '0' || w[0] > '9' {
		return c, 0, false, nil
	}
	half := ""
	switch next {
	case "am", "a.m.", "a":
		half = "am"
	case "pm", "p.m.", "p":
		half = "pm"
	}
	sep := ":"
	if half != "" && strings.Contains(w, ".") {
		sep = "."
	}
	hs, ms, hasMinutes := strings.Cut(w, sep)
	if hasMinutes && strings.Contains(ms, ":") {
		// Seconds are allowed when they are zero: "18:00:00".
		var secs string
		ms, secs, _ = strings.Cut(ms, ":")
		if secs != "00" {
			return c, 0, false, refuse("Give the time to the minute: %s", examples)
		}
	}
	h, m := atoi(hs), 0
	if h < 0 || len(hs) > 2 || hasMinutes && (len(ms) != 2 || atoi(ms) < 0) {
		if hasMinutes {
			return c, 0, false, refuse("There is no time %s: %s", sentence(w), examples)
		}
		return c, 0, false, nil
	}
	if hasMinutes {
		m = atoi(ms)
	}
	if !hasMinutes && half == "" && !bare {
		return c, 0, false, nil
	}
	if m > 59 || h > 23 || half != "" && (h < 1 || h > 12) {
		return c, 0, false, refuse("There is no time %s: %s", sentence(strings.TrimSpace(w+" "+half)), examples)
	}
	n = 1
	if half != "" {
		n = 2
		h %= 12
		if half == "pm" {
			h += 12
		}
	}
	return Clock{h, m}, n, true, nil
}

// lengthHere reports whether a length of time begins at p.i.
func (p *parser) lengthHere() bool {
	w, next := p.peek(0), p.peek(1)
	switch w {
	case "a", "an", "one":
		return units[next] != ""
	case "half":
		return next == "an" && units[p.peek(2)] == "hour"
	}
	// "9 m" and the like is a length, "9 mar" is not: units holds no month's name.
	return w != "" && w[0] >= '0' && w[0] <= '9' && units[next] != "" && (atoi(w) >= 0 || isDecimal(w))
}

func isDecimal(w string) bool {
	_, err := strconv.ParseFloat(w, 64)
	return err == nil && strings.Count(w, ".") == 1
}

func (p *parser) length() error {
	if p.date != noDate || p.hasLength || p.hasClock {
		return refuse("I do not understand a length of time there: %s", examples)
	}
	p.hasLength = true
	for p.lengthHere() {
		w, unit := p.peek(0), units[p.peek(1)]
		n := atoi(w)
		p.i += 2
		switch {
		case w == "a" || w == "an" || w == "one":
			n = 1
		case w == "half":
			p.i++
			p.exact += 30 * time.Minute
			continue
		case n < 0:
			f, _ := strconv.ParseFloat(w, 64)
			if unit != "hour" || f > 100_000 {
				return refuse("Only hours can have a fraction: try “in 1.5 hours”")
			}
			p.exact += time.Duration(f * float64(time.Hour)).Round(time.Second)
			continue
		}
		if n > 1_000_000 {
			return refuse("That is too far away")
		}
		switch unit {
		case "minute":
			p.exact += time.Duration(n) * time.Minute
		case "hour":
			p.exact += time.Duration(n) * time.Hour
		case "day":
			p.lenDays += n
		case "week":
			p.lenDays += 7 * n
		case "month":
			p.lenMonths += n
		case "year":
			p.lenMonths += 12 * n
		}
		if p.peek(0) == "and" {
			p.i++
			if !p.lengthHere() {
				return refuse("I do not understand what follows “and”: %s", examples)
			}
		}
	}
	if p.peek(0) == "from" && p.peek(1) == "now" {
		p.i += 2
	}
	return nil
}
