package when

import (
	"fmt"
	"time"
)

// Style says how times of day are written. The zero value writes 24 hours.
type Style struct{ TwelveHour bool }

func (s Style) clock(t time.Time) string {
	if s.TwelveHour {
		return t.Format("3:04pm")
	}
	return t.Format("15:04")
}

// days returns how many midnights lie between now and t; negative for the past.
func days(t, now time.Time) int {
	y, m, d := t.Date()
	ny, nm, nd := now.Date()
	a := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	b := time.Date(ny, nm, nd, 0, 0, 0, 0, time.UTC)
	return int(a.Sub(b) / (24 * time.Hour))
}

// Format writes a time in full: "today 18:00", "Fri 4 Dec 09:00", and with the year when it is
// another one. t is shown in now's location.
func (s Style) Format(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case days(t, now) == 0:
		return "today " + s.clock(t)
	case t.Year() != now.Year():
		return t.Format("Mon 2 Jan 2006 ") + s.clock(t)
	}
	return t.Format("Mon 2 Jan ") + s.clock(t)
}

// Short writes a time for a narrow column: the time of day today, the weekday within six days,
// "12 Mar" this year, else "12 Mar 24", or "Mar 1970" when that lies half a century away. The zero time is empty.
func (s Style) Short(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	switch d := days(t, now); {
	case d == 0:
		return s.clock(t)
	case d > -7 && d < 7:
		return t.Format("Mon")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	case t.Year() < now.Year()-50, t.Year() > now.Year()+48: // two digits would name another year
		return t.Format("Jan 2006")
	}
	return t.Format("2 Jan 06")
}

// Format writes a time in full with 24 hours; see Style.Format.
func Format(t, now time.Time) string { return Style{}.Format(t, now) }

// Short writes a time for a narrow column with 24 hours; see Style.Short.
func Short(t, now time.Time) string { return Style{}.Short(t, now) }

// Ago says how long ago t was ("3 s ago", "just now"), or how far away it is ("in 2 h").
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return "in " + Length(-d)
	case d < time.Second:
		return "just now"
	case d < 10*time.Second:
		d = d.Truncate(time.Second)
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	}
	return Length(d) + " ago"
}

// Length writes a length of time for a person with one unit: "1.4 s" below ten seconds, then
// "19 s", "3 min", "2 h", "5 days". A length that is left is never written as zero.
func Length(d time.Duration) string {
	switch {
	case d < 0:
		return Length(-d)
	case d < 10*time.Second:
		tenths := (d + 100*time.Millisecond - 1) / (100 * time.Millisecond)
		if tenths%10 == 0 {
			return fmt.Sprintf("%d s", tenths/10)
		}
		return fmt.Sprintf("%d.%d s", tenths/10, tenths%10)
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", (d+time.Second-1)/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", (d+30*time.Second)/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", (d+30*time.Minute)/time.Hour)
	}
	return fmt.Sprintf("%d days", (d+12*time.Hour)/(24*time.Hour))
}
