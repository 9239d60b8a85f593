package when

import "time"

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
func Format(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case days(t, now) == 0:
		return t.Format("today 15:04")
	case t.Year() != now.Year():
		return t.Format("Mon 2 Jan 2006 15:04")
	}
	return t.Format("Mon 2 Jan 15:04")
}

// Short writes a time for a narrow column: the time of day today, the weekday within six days,
// "12 Mar" this year, else "12 Mar 24", or "Mar 1970" when that lies half a century away. The zero time is empty.
func Short(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	switch d := days(t, now); {
	case d == 0:
		return t.Format("15:04")
	case d > -7 && d < 7:
		return t.Format("Mon")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	case t.Year() < now.Year()-50, t.Year() > now.Year()+48: // two digits would name another year
		return t.Format("Jan 2006")
	}
	return t.Format("2 Jan 06")
}
