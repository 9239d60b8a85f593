package mailparse

import (
	"strconv"
	"strings"
	"time"
)

var zones = map[string]int{ // hours east of Greenwich, times 60
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0,
	"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AST": -240, "ADT": -180, "NST": -210, "NDT": -150, "AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180, "ART": -180,
	"WEST": 60, "BST": 60, "CET": 60, "MET": 60, "MEZ": 60, "CEST": 120, "MEST": 120, "MESZ": 120, "EET": 120, "SAST": 120, "EEST": 180,
	"MSK": 180, "MSD": 240, "IST": 330, "PKT": 300, "HKT": 480, "SGT": 480, "PHT": 480, "AWST": 480, "JST": 540, "KST": 540,
	"ACST": 570, "ACDT": 630, "AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780,
}

// months knows the names that real mail programs wrote, by their first letters.
var months = map[string]time.Month{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	"maj": 5, "mai": 5, "mei": 5, "mag": 5, "okt": 10, "ott": 10, "dez": 12, "dic": 12, "des": 12, "déc": 12, "fév": 2, "fev": 2,
	"mär": 3, "mrz": 3, "mrt": 3, "avr": 4, "abr": 4, "ago": 8, "aoû": 8, "aou": 8, "set": 9, "out": 10, "gen": 1, "ene": 1, "giu": 6, "lug": 7, "juin": 6, "juil": 7,
}

func monthByName(s string) (time.Month, bool) {
	s = strings.ToLower(strings.TrimRight(s, "."))
	r := []rune(s)
	if len(r) < 3 || len(r) > 12 {
		return 0, false
	}
	if len(r) >= 4 {
		if m, ok := months[string(r[:4])]; ok {
			return m, true
		}
	}
	m, ok := months[string(r[:3])]
	return m, ok
}

// ParseDate reads a date as mail writes it: RFC 5322 with the usual mistakes (two-digit years, comments,
// missing seconds, names of months in some other languages, asctime and ISO order) and named zones. A
// date without a zone is taken for UTC. The result is in UTC; it is not checked for being plausible.
func ParseDate(s string) (time.Time, bool) {
	const maxDate = 200
	if len(s) > maxDate {
		s = s[:maxDate]
	}
	plain, comment := stripComments(s)
	t, ok := parseDateFields(plain, comment)
	if !ok {
		return time.Time{}, false
	}
	return t.UTC(), true
}

func stripComments(s string) (plain, comment string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '(' {
			end := closingComment(s, i)
			if end == 0 {
				break
			}
			if comment == "" {
				comment = strings.TrimSpace(s[i+1 : end])
			}
			b.WriteByte(' ')
			i = end
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String(), comment
}

// dateFields is what the words of a date have said so far.
type dateFields struct {
	year, day  int // -1: not said
	month      time.Month
	clock      time.Duration
	haveClock  bool
	afternoon  bool
	offset     int // of the zone, in minutes
	haveZone   bool
	numbers    []int // what may be the day or the year
	longNumber int   // the index of the first of three digits or more: a year; -1: none
}

func parseDateFields(s, comment string) (time.Time, bool) {
	d := dateFields{year: -1, day: -1, longNumber: -1}
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '\r' || r == '\n' || r == '\u00a0' }) {
		d.read(f)
	}
	if !d.haveZone && comment != "" {
		d.offset, _ = zoneOffset(comment)
	}
	return d.time()
}

// read takes in one word; one that says nothing is passed over.
func (d *dateFields) read(f string) {
	if y, m, day, rest, ok := isoDate(f); ok && d.year < 0 {
		d.year, d.month, d.day = y, m, day
		if rest == "" {
			return
		}
		f = strings.TrimPrefix(rest, "T")
	}
	if d.readDashed(f) || d.readClock(f) {
		return
	}
	switch strings.ToUpper(f) {
	case "PM":
		d.afternoon = true
		return
	case "AM":
		if d.clock >= 12*time.Hour {
			d.clock -= 12 * time.Hour
		}
		return
	}
	if m, ok := monthByName(f); ok && d.month == 0 {
		d.month = m
		return
	}
	digits := strings.TrimRight(f, ".")
	if n, err := strconv.Atoi(digits); err == nil && n >= 0 && digits[0] != '+' {
		if len(digits) >= 3 && d.longNumber < 0 {
			d.longNumber = len(d.numbers)
		}
		d.numbers = append(d.numbers, fullYearOrDay(n, len(digits)))
	}
}

// readDashed reads 3-Mar-2026.
func (d *dateFields) readDashed(f string) bool {
	if strings.Count(f, "-") != 2 || strings.Contains(f, ":") {
		return false
	}
	p := strings.Split(f, "-")
	m, ok := monthByName(p[1])
	day, err1 := strconv.Atoi(p[0])
	y, err2 := strconv.Atoi(p[2])
	if !ok || err1 != nil || err2 != nil {
		return false
	}
	d.day, d.month, d.year = day, m, fullYear(y, len(p[2]))
	return true
}

// readClock reads a time of day with or without its zone, or the zone after one.
func (d *dateFields) readClock(f string) bool {
	if c, zone, ok := clockTime(f); ok && !d.haveClock {
		d.clock, d.haveClock = c, true
		if zone != "" {
			d.offset, d.haveZone = zoneOffset(zone)
		}
		return true
	}
	if d.haveClock && !d.haveZone {
		d.offset, d.haveZone = zoneOffset(f)
		return d.haveZone
	}
	return false
}

// time puts the fields together.
func (d *dateFields) time() (time.Time, bool) {
	if d.year < 0 {
		if d.month == 0 || len(d.numbers) < 2 {
			return time.Time{}, false
		}
		d.day, d.year = d.numbers[0], d.numbers[1]
		if d.longNumber == 0 {
			d.day, d.year = d.numbers[1], d.numbers[0]
		} else if d.year < 100 {
			d.year = fullYear(d.year, 2)
		}
	}
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || d.year < 1 || d.year > 9999 {
		return time.Time{}, false
	}
	if d.afternoon && d.clock < 12*time.Hour {
		d.clock += 12 * time.Hour
	}
	t := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Add(d.clock - time.Duration(d.offset)*time.Minute)
	if t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

func fullYearOrDay(n, digits int) int {
	if digits == 3 {
		return 1900 + n
	}
	return n
}

func fullYear(n, digits int) int {
	switch {
	case digits >= 4:
		return n
	case digits == 3:
		return 1900 + n
	case n < 50:
		return 2000 + n
	}
	return 1900 + n
}

// isoDate reads 2026-03-03 or 2026/03/03 at the start of f and returns what follows.
func isoDate(f string) (y int, m time.Month, d int, rest string, ok bool) {
	if len(f) < 10 || (f[4] != '-' && f[4] != '/') || f[7] != f[4] {
		return
	}
	y, err1 := strconv.Atoi(f[:4])
	mm, err2 := strconv.Atoi(f[5:7])
	d, err3 := strconv.Atoi(f[8:10])
	if err1 != nil || err2 != nil || err3 != nil || mm < 1 || mm > 12 {
		return 0, 0, 0, "", false
	}
	return y, time.Month(mm), d, f[10:], true
}

// clockTime reads 09:30, 9:30:15.5 and 24:30:00 with a zone glued to it perhaps.
func clockTime(f string) (time.Duration, string, bool) {
	i := 0
	var parts [3]float64
	n := 0
	for n < 3 {
		start := i
		for i < len(f) && ('0' <= f[i] && f[i] <= '9' || n == 2 && f[i] == '.') {
			i++
		}
		if i == start || i-start > 12 {
			return 0, "", false
		}
		v, err := strconv.ParseFloat(f[start:i], 64)
		if err != nil {
			return 0, "", false
		}
		parts[n] = v
		n++
		if i >= len(f) || f[i] != ':' || i+1 >= len(f) {
			break
		}
		i++
	}
	if n < 2 || parts[0] > 24 || parts[1] > 59 || parts[2] >= 61 {
		return 0, "", false
	}
	d := time.Duration(parts[0])*time.Hour + time.Duration(parts[1])*time.Minute + time.Duration(parts[2]*float64(time.Second))
	return d, f[i:], true
}

// zoneOffset returns the minutes east of Greenwich of +0530, +05:30, +2, EST or GMT+0200.
func zoneOffset(z string) (int, bool) {
	z = strings.ToUpper(strings.TrimSpace(z))
	if o, ok := zones[z]; ok {
		return o, true
	}
	for _, p := range []string{"GMT", "UTC", "UT"} {
		if rest, ok := strings.CutPrefix(z, p); ok && rest != "" {
			z = rest
			break
		}
	}
	if len(z) < 2 || (z[0] != '+' && z[0] != '-') {
		return 0, false
	}
	digits := strings.ReplaceAll(z[1:], ":", "")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0, false
	}
	h, m := n, 0
	if len(digits) > 2 {
		h, m = n/100, n%100
	}
	if h > 14 || m > 59 {
		return 0, true // a zone that no place has: UTC is the best guess
	}
	if z[0] == '-' {
		return -(h*60 + m), true
	}
	return h*60 + m, true
}
