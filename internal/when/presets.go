package when

import (
	"slices"
	"time"
)

// Preset is one line of the snooze picker.
type Preset struct {
	Label string
	Time  time.Time
}

// laterMargin is how far off "later today" must be to be worth offering.
const laterMargin = 30 * time.Minute

// Presets returns the times on offer, soonest first. What makes no sense now (later today in the
// evening, this weekend on a weekend) is left out.
func Presets(now time.Time, o Options) []Preset {
	p := &parser{o: o, now: now}
	var out []Preset
	add := func(label string, t time.Time) {
		for _, have := range out {
			if have.Time.Equal(t) {
				return
			}
		}
		if t.After(now) {
			out = append(out, Preset{label, t})
		}
	}
	if t := p.date0(0, o.Evening); t.Sub(now) >= laterMargin {
		add("Later today", t)
	}
	add("Tomorrow", p.date0(1, o.Morning))
	toWeekend := (int(o.WeekendDay) - int(now.Weekday()) + 7) % 7
	// The day after it belongs to the weekend too, except after a Sunday.
	over := toWeekend == 0 || toWeekend == 6 && o.WeekendDay != time.Sunday
	if !over {
		add("This weekend", p.date0(toWeekend, o.Weekend))
	}
	add("Next week", p.date0(p.daysToNextWeek(o.WeekDay), o.Morning))
	y, m, d := now.Date()
	first := time.Date(y, m+1, 1, 12, 0, 0, 0, time.UTC)
	d = min(d, lastDay(first.Year(), int(first.Month())))
	add("In a month", wall(now.Location(), first.Year(), int(first.Month()), d, o.Morning))
	slices.SortStableFunc(out, func(a, b Preset) int { return a.Time.Compare(b.Time) })
	return out
}
