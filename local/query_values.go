package local

import (
	"strconv"
	"strings"
	"time"
)

// queryTime reads a day (2026-03-01, 2026/3/1, today, yesterday, monday, march) or an age (3d, 2w, 6m, 1y), and gives
// the beginning of that day, month or year.
func queryTime(v string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{"2006-1-2", "2006/1/2", "2.1.2006", "2006-1", "2006/1", "2006"} {
		if t, err := time.ParseInLocation(layout, v, now.Location()); err == nil {
			return t, true
		}
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch v {
	case "today":
		return today, true
	case "yesterday":
		return today.AddDate(0, 0, -1), true
	}
	if len(v) >= 3 {
		for d := range 7 {
			if day := today.AddDate(0, 0, -d); strings.HasPrefix(strings.ToLower(day.Weekday().String()), v) {
				return day, true
			}
		}
		for m := range 12 {
			first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location()).AddDate(0, -m, 0)
			if strings.HasPrefix(strings.ToLower(first.Month().String()), v) {
				return first, true
			}
		}
	}
	number := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, false
	}
	switch strings.TrimSuffix(v[len(number):], "s") {
	case "h", "hour":
		return now.Add(-time.Duration(n) * time.Hour), true
	case "d", "day":
		return now.AddDate(0, 0, -n), true
	case "w", "week":
		return now.AddDate(0, 0, -7*n), true
	case "m", "mo", "month":
		return now.AddDate(0, -n, 0), true
	case "y", "year":
		return now.AddDate(-n, 0, 0), true
	}
	return time.Time{}, false
}

// unfinishedTime reports that v can become what queryTime reads when more is typed.
func unfinishedTime(v string, now time.Time) bool {
	for _, more := range []string{"1", "01", "00", "000", "-1", "1-1", "1.2000", ".1.2000", ".2000", "2000", "h"} {
		if _, ok := queryTime(v+more, now); ok {
			return true
		}
	}
	names := []string{"today", "yesterday"}
	for d := range 7 {
		names = append(names, strings.ToLower(time.Weekday(d).String()))
	}
	for m := range 12 {
		names = append(names, strings.ToLower(time.Month(m+1).String()))
	}
	if number := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyz"); number != "" && strings.Trim(number, "0123456789") == "" {
		v, names = v[len(number):], []string{"hours", "days", "weeks", "months", "years"}
	}
	return begins(names, v)
}

func querySize(v string) (int64, bool) {
	unit := 1.0
	v = strings.TrimSuffix(v, "b")
	for suffix, u := range map[string]float64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(v, suffix); ok {
			v, unit = rest, u
			break
		}
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n*unit < 1<<50) {
		return 0, false
	}
	return int64(n * unit), true
}
