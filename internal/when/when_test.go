package when

import (
	_ "embed"
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"
)

//go:embed testdata/times.tsv
var timesTSV string

const instant = "2006-01-02T15:04:05.000Z"

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(timesTSV), "\n")[1:]
	if len(lines) < 20 {
		t.Fatalf("only %d rows", len(lines))
	}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		zone, nowUTC, typed, local, want, also := f[0], f[2], f[3], f[4], f[5], f[6]
		t.Run(zone+" "+typed, func(t *testing.T) {
			now, err := time.Parse(instant, nowUTC)
			if err != nil {
				t.Fatal(err)
			}
			now = now.In(location(t, zone))
			got, err := DefaultOptions().Parse(typed, now)
			if want == "-" {
				var e *Error
				if !errors.As(err, &e) || len(e.Error()) < 10 {
					t.Fatalf("got %v, %v, want it refused with a reason", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := got.UTC().Format(instant)
			if s != want && s != also {
				t.Errorf("got %s, want %s", s, want)
			}
			if s == want && got.Format("Mon 2006-01-02 15:04") != local {
				t.Errorf("shows %s, want %s", got.Format("Mon 2006-01-02 15:04"), local)
			}
		})
	}
}

// wednesday is the "now" of the tables below.
func wednesday(t testing.TB) time.Time {
	return time.Date(2026, 12, 2, 9, 41, 30, 0, location(t, "Europe/Berlin"))
}

func TestWords(t *testing.T) {
	now := wednesday(t)
	tests := map[string]string{
		"fri 9":                "Fri 2026-12-04 09:00",
		"Fri 9":                "Fri 2026-12-04 09:00",
		"9 fri":                "Fri 2026-12-04 09:00",
		"fri at 9":             "Fri 2026-12-04 09:00",
		"on friday at 9:30 pm": "Fri 2026-12-04 21:30",
		"friday 9.30pm":        "Fri 2026-12-04 21:30",
		"9pm fri":              "Fri 2026-12-04 21:00",
		"fri 0":                "Fri 2026-12-04 00:00",
		"mon 8am":              "Mon 2026-12-07 08:00",
		"mon 12am":             "Mon 2026-12-07 00:00",
		"mon 12pm":             "Mon 2026-12-07 12:00",
		"mon":                  "Mon 2026-12-07 08:00",
		"monday morning":       "Mon 2026-12-07 08:00",
		"this fri":             "Fri 2026-12-04 08:00",
		"next fri":             "Fri 2026-12-11 08:00",
		"next fri 9am":         "Fri 2026-12-11 09:00",
		"fri next week":        "Fri 2026-12-11 08:00",
		"next week fri 10:15":  "Fri 2026-12-11 10:15",
		"wed":                  "Wed 2026-12-09 08:00",
		"wed 9":                "Wed 2026-12-09 09:00",
		"wed 10":               "Wed 2026-12-02 10:00",
		"in 3h":                "Wed 2026-12-02 12:41",
		"3h":                   "Wed 2026-12-02 12:41",
		"3 hours":              "Wed 2026-12-02 12:41",
		"in 3 hours from now":  "Wed 2026-12-02 12:41",
		"1h30m":                "Wed 2026-12-02 11:11",
		"1 hour and 5 minutes": "Wed 2026-12-02 10:46",
		"in 1.5 hours":         "Wed 2026-12-02 11:11",
		"in an hour":           "Wed 2026-12-02 10:41",
		"in half an hour":      "Wed 2026-12-02 10:11",
		"in a minute":          "Wed 2026-12-02 09:42",
		"in 2 days":            "Fri 2026-12-04 09:41",
		"in 2 days at 8":       "Fri 2026-12-04 08:00",
		"in 2 weeks":           "Wed 2026-12-16 09:41",
		"2w":                   "Wed 2026-12-16 09:41",
		"in a month":           "Sat 2027-01-02 09:41",
		"in 3mo":               "Tue 2027-03-02 09:41",
		"in 1 year":            "Thu 2027-12-02 09:41",
		"next week":            "Mon 2026-12-07 08:00",
		"next month":           "Fri 2027-01-01 08:00",
		"next month 10am":      "Fri 2027-01-01 10:00",
		"next year":            "Fri 2027-01-01 08:00",
		"weekend":              "Sat 2026-12-05 09:00",
		"this weekend":         "Sat 2026-12-05 09:00",
		"next weekend":         "Sat 2026-12-12 09:00",
		"today 18:00":          "Wed 2026-12-02 18:00",
		"today":                "Wed 2026-12-02 18:00",
		"later today":          "Wed 2026-12-02 18:00",
		"later":                "Wed 2026-12-02 18:00",
		"tonight":              "Wed 2026-12-02 20:00",
		"tonight 11pm":         "Wed 2026-12-02 23:00",
		"this evening":         "Wed 2026-12-02 18:00",
		"this afternoon":       "Wed 2026-12-02 14:00",
		"eod":                  "Wed 2026-12-02 18:00",
		"eow":                  "Fri 2026-12-04 18:00",
		"eom":                  "Thu 2026-12-31 18:00",
		"noon":                 "Wed 2026-12-02 12:00",
		"tomorrow noon":        "Thu 2026-12-03 12:00",
		"tomorrow":             "Thu 2026-12-03 08:00",
		"tmrw 8":               "Thu 2026-12-03 08:00",
		"tomorrow evening":     "Thu 2026-12-03 18:00",
		"day after tomorrow":   "Fri 2026-12-04 08:00",
		"midnight":             "Thu 2026-12-03 00:00",
		"8am":                  "Thu 2026-12-03 08:00",
		"9:41":                 "Thu 2026-12-03 09:41",
		"9:42":                 "Wed 2026-12-02 09:42",
		"at 8":                 "Thu 2026-12-03 08:00",
		"at 10pm":              "Wed 2026-12-02 22:00",
		"24 dec":               "Thu 2026-12-24 08:00",
		"dec 24":               "Thu 2026-12-24 08:00",
		"24 dec 18:00":         "Thu 2026-12-24 18:00",
		"24th of december 6pm": "Thu 2026-12-24 18:00",
		"the 24th":             "Thu 2026-12-24 08:00",
		"1st":                  "Fri 2027-01-01 08:00",
		"31st":                 "Thu 2026-12-31 08:00",
		"thu 24 dec":           "Thu 2026-12-24 08:00",
		"24 dec, thu":          "Thu 2026-12-24 08:00",
		"december 24, 2027":    "Fri 2027-12-24 08:00",
		"1 dec":                "Wed 2027-12-01 08:00",
		"29 feb":               "Tue 2028-02-29 08:00",
		"2026-12-24":           "Thu 2026-12-24 08:00",
		"2026-12-24 18:00":     "Thu 2026-12-24 18:00",
		"2026-12-24T18:00":     "Thu 2026-12-24 18:00",
		"2026-12-24T18:00:00Z": "Thu 2026-12-24 19:00",
		"24.12.":               "Thu 2026-12-24 08:00",
		"24.12.2027 9:00":      "Fri 2027-12-24 09:00",
		"24/12":                "Thu 2026-12-24 08:00",
		"12/24/26":             "Thu 2026-12-24 08:00",
		"until fri":            "Fri 2026-12-04 08:00",
		"  FRI   9  ":          "Fri 2026-12-04 09:00",
	}
	for typed, want := range tests {
		got, err := DefaultOptions().Parse(typed, now)
		if err != nil {
			t.Errorf("%q: %v", typed, err)
			continue
		}
		if s := got.Format("Mon 2006-01-02 15:04"); s != want {
			t.Errorf("%q: got %s, want %s", typed, s, want)
		}
	}
}

func TestRefused(t *testing.T) {
	now := wednesday(t)
	tests := map[string]string{ // typed, and a part of the reason
		"":                       "Type a time",
		"   ":                    "Type a time",
		"now":                    "now",
		"asdf":                   "understand “asdf”",
		"fri 9 asdf":             "understand “asdf”",
		"fri mon":                "two days",
		"fri 9 10":               "two times",
		"fri 9:00 10:00":         "two times",
		"tomorrow yesterday":     "past",
		"last friday":            "past",
		"3 hours ago":            "past",
		"fri 25:00":              "no time “25:00”",
		"fri 24:00":              "no time",
		"fri 9:60":               "no time",
		"fri 9:5":                "no time",
		"13pm":                   "no time",
		"0am":                    "no time",
		"32 march":               "no such day",
		"31 feb":                 "no such day",
		"0 dec":                  "no such day",
		"29 feb 2027":            "no such day",
		"2026-02-30":             "no day",
		"2026-12-01":             "past",
		"today 9am":              "past",
		"this morning":           "past",
		"in 0 minutes":           "past",
		"9":                      "9 what",
		"in":                     "how long",
		"in fri":                 "how long",
		"in 3":                   "how long",
		"in 1.5 days":            "hours",
		"in 3h 9am":              "do not go together",
		"in 99999999999999h":     "",
		"in 900000 years":        "20 years",
		"in 30 years":            "20 years",
		"2099-01-01":             "20 years",
		"3/4":                    "two days",
		"fri 24 dec":             "is a Thursday, not a Friday",
		"next":                   "understand “next”",
		"next banana":            "understand “next banana”",
		"at":                     "what time",
		"dec":                    "Which day",
		"13th month":             "",
		"1 hour and":             "and",
		"\x1b[2Jfri":             "understand",
		"fri\u202e9":             "",
		"９ ｆｒｉ":                  "",
		strings.Repeat("f", 200): "no time",
		"fri 9\xff":              "no time",
	}
	for typed, want := range tests {
		got, err := DefaultOptions().Parse(typed, now)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, %v, want it refused", typed, got, err)
			continue
		}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q: %q lacks %q", typed, e, want)
		}
		if strings.ContainsAny(e.Error(), "\x1b\u202e") || !utf8.ValidString(e.Error()) {
			t.Errorf("%q: the reason holds what was typed raw: %q", typed, e)
		}
	}
}

func TestOwnTimesOfDay(t *testing.T) {
	o := Options{Clock{7, 30}, Clock{19, 0}, Clock{11, 0}, time.Sunday, time.Tuesday}
	now := wednesday(t)
	for typed, want := range map[string]string{
		"tomorrow": "Thu 3 Dec 07:30", "eod": "today 19:00", "weekend": "Sun 6 Dec 11:00", "next week": "Tue 8 Dec 07:30", "fri morning": "Fri 4 Dec 07:30",
	} {
		got, err := o.Parse(typed, now)
		if err != nil || Format(got, now) != want {
			t.Errorf("%q: got %v, %v, want %s", typed, got, err, want)
		}
	}
}

func TestPresets(t *testing.T) {
	loc := location(t, "Europe/London")
	tests := []struct {
		now  string
		want string
	}{
		{"Mon 2026-11-30 09:41", "Later today: today 18:00, Tomorrow: Tue 1 Dec 08:00, This weekend: Sat 5 Dec 09:00, Next week: Mon 7 Dec 08:00, In a month: Wed 30 Dec 08:00"},
		{"Mon 2026-11-30 17:31", "Tomorrow: Tue 1 Dec 08:00, This weekend: Sat 5 Dec 09:00, Next week: Mon 7 Dec 08:00, In a month: Wed 30 Dec 08:00"},
		{"Fri 2026-12-04 20:00", "Tomorrow: Sat 5 Dec 08:00, This weekend: Sat 5 Dec 09:00, Next week: Mon 7 Dec 08:00, In a month: Mon 4 Jan 2027 08:00"},
		{"Sat 2026-12-05 07:00", "Later today: today 18:00, Tomorrow: Sun 6 Dec 08:00, Next week: Mon 7 Dec 08:00, In a month: Tue 5 Jan 2027 08:00"},
		{"Sun 2026-12-06 19:00", "Tomorrow: Mon 7 Dec 08:00, In a month: Wed 6 Jan 2027 08:00"},
		{"Sun 2027-01-31 19:00", "Tomorrow: Mon 1 Feb 08:00, In a month: Sun 28 Feb 08:00"},
	}
	for _, tt := range tests {
		now, err := time.ParseInLocation("Mon 2006-01-02 15:04", tt.now, loc)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Presets(now, DefaultOptions()) {
			if !p.Time.After(now) {
				t.Errorf("%s: %s is past", tt.now, p.Label)
			}
			got = append(got, p.Label+": "+Format(p.Time, now))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.now, s, tt.want)
		}
	}
}

func TestFormats(t *testing.T) {
	now := wednesday(t)
	loc := now.Location()
	tests := []struct {
		t           time.Time
		full, short string
	}{
		{time.Date(2026, 12, 2, 8, 5, 0, 0, loc), "today 08:05", "08:05"},
		{time.Date(2026, 12, 2, 23, 30, 0, 0, time.UTC), "Thu 3 Dec 00:30", "Thu"},
		{time.Date(2026, 12, 1, 23, 59, 0, 0, loc), "Tue 1 Dec 23:59", "Tue"},
		{time.Date(2026, 11, 26, 0, 0, 0, 0, loc), "Thu 26 Nov 00:00", "Thu"},
		{time.Date(2026, 11, 25, 23, 0, 0, 0, loc), "Wed 25 Nov 23:00", "25 Nov"},
		{time.Date(2026, 3, 12, 9, 0, 0, 0, loc), "Thu 12 Mar 09:00", "12 Mar"},
		{time.Date(2024, 3, 12, 9, 0, 0, 0, loc), "Tue 12 Mar 2024 09:00", "12 Mar 24"},
		{time.Date(2027, 1, 4, 9, 0, 0, 0, loc), "Mon 4 Jan 2027 09:00", "4 Jan 27"},
	}
	for _, tt := range tests {
		if got := Format(tt.t, now); got != tt.full {
			t.Errorf("Format(%v) = %q, want %q", tt.t, got, tt.full)
		}
		if got := Short(tt.t, now); got != tt.short {
			t.Errorf("Short(%v) = %q, want %q", tt.t, got, tt.short)
		}
	}
	if got := Short(time.Time{}, now); got != "" {
		t.Errorf("zero time: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"fri 9", "in 3h", "24 dec 18:00", "tomorrow 1:30am", "2026-12-24", "next week fri", "12/24/26", "1h30m", "the 24th"} {
		f.Add(s, int64(1_796_000_000), uint8(0))
	}
	zones := []*time.Location{
		time.UTC, location(f, "Europe/London"), location(f, "America/New_York"), location(f, "Australia/Lord_Howe"),
		location(f, "Africa/Cairo"), location(f, "Pacific/Apia"), location(f, "America/St_Johns"),
	}
	f.Fuzz(func(t *testing.T, s string, unix int64, zone uint8) {
		if unix < 0 || unix > 4_000_000_000 {
			return
		}
		now := time.Unix(unix, 0).In(zones[int(zone)%len(zones)])
		got, err := DefaultOptions().Parse(s, now)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T", err)
			}
			return
		}
		if !got.After(now) {
			t.Fatalf("%q at %v gives the past: %v", s, now, got)
		}
		if got.Location() != now.Location() {
			t.Fatalf("%q: location %v", s, got.Location())
		}
		for _, p := range Presets(now, DefaultOptions()) {
			if !p.Time.After(now) {
				t.Fatalf("%s at %v: %v", p.Label, now, p.Time)
			}
		}
	})
}

// Each time of day on each day around the changes of clocks: never earlier than asked, the
// clock reads back as asked whenever it can, and of two such instants the first is taken.
func TestWallAroundChanges(t *testing.T) {
	for _, zone := range []string{"Europe/London", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Europe/Dublin", "America/St_Johns"} {
		loc := location(t, zone)
		for day := range 366 {
			for q := range 48 {
				c := Clock{q / 2, q % 2 * 30}
				got := wall(loc, 2026, 1, 1+day, c)
				want := time.Date(2026, 1, 1+day, c.Hour, c.Minute, 0, 0, time.UTC)
				shown := time.Date(got.Year(), got.Month(), got.Day(), got.Hour(), got.Minute(), 0, 0, time.UTC)
				if shown.Before(want) || shown.Sub(want) > time.Hour {
					t.Fatalf("%s: asked %v, shows %v", zone, want, got)
				}
				for _, earlier := range []time.Duration{30 * time.Minute, time.Hour} {
					e := got.Add(-earlier)
					if time.Date(e.Year(), e.Month(), e.Day(), e.Hour(), e.Minute(), 0, 0, time.UTC).Equal(want) {
						t.Fatalf("%s: %v shows the same time before %v", zone, e, got)
					}
				}
			}
		}
	}
}

func TestWeekendOnASunday(t *testing.T) {
	o := DefaultOptions()
	o.WeekendDay = time.Sunday
	monday := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	offered := func(now time.Time) bool {
		for _, p := range Presets(now, o) {
			if p.Label == "This weekend" {
				return true
			}
		}
		return false
	}
	if !offered(monday) {
		t.Error("no weekend is offered on a Monday")
	}
	if offered(monday.AddDate(0, 0, 6)) {
		t.Error("the weekend is offered on its own day")
	}
}
