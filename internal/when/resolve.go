package when

import (
	"strconv"
	"strings"
	"time"
)

func (p *parser) resolve() (time.Time, error) {
	loc := p.now.Location()
	y, mo, d := p.now.Date()
	if p.hasLength {
		return p.resolveLength()
	}
	c := p.defaultClock
	if p.hasClock {
		c = p.clock
	}
	switch p.date {
	case noDate:
		if !p.hasClock {
			return time.Time{}, refuse("I do not understand that: %s", examples)
		}
		t := wall(loc, y, int(mo), d, c)
		if !t.After(p.now) {
			t = wall(loc, y, int(mo), d+1, c)
		}
		return t, nil
	case relative:
		return p.date0(p.days, c), nil
	case weekday:
		days := (int(p.wday) - int(p.now.Weekday()) + 7) % 7
		t := p.date0(days, c)
		if !t.After(p.now) || days == 0 && !p.hasClock {
			t = p.date0(days+7, c)
		}
		return t, nil
	case monthDay:
		for i := range 3 {
			first := time.Date(y, mo+time.Month(i), 1, 12, 0, 0, 0, time.UTC)
			if p.day > lastDay(first.Year(), int(first.Month())) {
				continue
			}
			if t := wall(loc, first.Year(), int(first.Month()), p.day, c); t.After(p.now) {
				return p.agree(t)
			}
		}
	case calendar:
		if p.year != 0 {
			return p.agree(wall(loc, p.year, p.month, p.day, c))
		}
		for yy := y; yy <= y+8; yy++ {
			if p.day > lastDay(yy, p.month) {
				continue
			}
			if t := wall(loc, yy, p.month, p.day, c); t.After(p.now) {
				return p.agree(t)
			}
		}
	}
	return time.Time{}, refuse("There is no such day: %s", examples)
}

// agree refuses a date with the wrong weekday beside it.
func (p *parser) agree(t time.Time) (time.Time, error) {
	if p.checkWeekday && t.Weekday() != p.wday {
		return time.Time{}, refuse("%s is a %s, not a %s", t.Format("2 January 2006"), t.Weekday(), p.wday)
	}
	return t, nil
}

func (p *parser) resolveLength() (time.Time, error) {
	if p.hasClock && p.exact != 0 {
		return time.Time{}, refuse("A length of hours and a time of day do not go together: %s", examples)
	}
	if p.lenMonths > 12*maxYears*2 || p.lenDays > 366*maxYears*2 {
		return time.Time{}, refuse("That is more than %d years away", maxYears)
	}
	if p.lenMonths == 0 && p.lenDays == 0 {
		return p.now.Add(p.exact), nil
	}
	y, mo, d := p.now.Date()
	first := time.Date(y, mo+time.Month(p.lenMonths), 1, 12, 0, 0, 0, time.UTC)
	if p.lenMonths > 0 {
		d = min(d, lastDay(first.Year(), int(first.Month())))
	}
	c := Clock{p.now.Hour(), p.now.Minute()}
	rest := time.Duration(p.now.Second())*time.Second + time.Duration(p.now.Nanosecond())
	if p.hasClock {
		c, rest = p.clock, 0
	}
	t := wall(p.now.Location(), first.Year(), int(first.Month()), d+p.lenDays, c)
	return t.Add(rest + p.exact), nil
}

// wall returns the instant at which the clocks of loc show that time of day: the first one when
// they show it twice, and when they leave it out the one that much later. time.Date promises
// neither.
func wall(loc *time.Location, y, m, d int, c Clock) time.Time {
	asUTC := time.Date(y, time.Month(m), d, c.Hour, c.Minute, 0, 0, time.UTC)
	before := asUTC.Add(-offset(loc, asUTC.Add(-26*time.Hour)))
	after := asUTC.Add(-offset(loc, asUTC.Add(26*time.Hour)))
	shows := func(t time.Time) bool {
		return t.Equal(asUTC.Add(-offset(loc, t)))
	}
	first, second := before, after
	if second.Before(first) {
		first, second = second, first
	}
	switch {
	case shows(first):
		return first.In(loc)
	case shows(second):
		return second.In(loc)
	}
	return before.In(loc)
}

func offset(loc *time.Location, t time.Time) time.Duration {
	_, sec := t.In(loc).Zone()
	return time.Duration(sec) * time.Second
}

func lastDay(y, m int) int { return time.Date(y, time.Month(m)+1, 0, 12, 0, 0, 0, time.UTC).Day() }

// atoi reads a whole number of up to seven digits, -1 for anything else.
func atoi(s string) int {
	if s == "" || len(s) > 7 || strings.Trim(s, "0123456789") != "" {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
