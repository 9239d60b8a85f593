// Package when reads times in words ("fri 9", "in 3h", "24 dec") with a small closed grammar
// that refuses what it does not understand, offers the presets of the snooze picker, and
// writes times for lists and sentences. Everything happens in the location of "now".
package when

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Clock is a time of day.
type Clock struct{ Hour, Minute int }

// Options are the times a person means by words. The zero value is midnight for all of them;
// start from DefaultOptions.
type Options struct {
	Morning, Evening, Weekend Clock
	WeekendDay                time.Weekday // the day of "this weekend"
	WeekDay                   time.Weekday // the day of "next week"
}

// DefaultOptions are 08:00, 18:00, Saturday 09:00 and Monday.
func DefaultOptions() Options {
	return Options{Clock{8, 0}, Clock{18, 0}, Clock{9, 0}, time.Saturday, time.Monday}
}

// Error says why a text was refused, in a sentence for the person who typed it.
type Error struct{ Text string }

// Error returns the sentence.
func (e *Error) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

const examples = "try “fri 9”, “tomorrow 8am”, “in 3h” or “24 dec 18:00”"

const (
	maxText  = 100
	maxYears = 20
)

// Parse reads a time in words; the result is after now and in its location. A time of day that
// is past rolls on to the next day, a weekday to the next week, a date without a year to the
// next year; what names a past moment plainly is refused. Lengths of hours and minutes are
// exact; days, weeks and months keep the time of day. A time of day that a change of clocks
// leaves out moves forward, one that comes twice is the first. The error is an *Error.
func (o Options) Parse(text string, now time.Time) (time.Time, error) {
	p := &parser{o: o, now: now}
	if len(text) > maxText || !utf8.ValidString(text) {
		return time.Time{}, refuse("That is no time: %s", examples)
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if t, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil {
		return p.check(t.In(now.Location()), text)
	}
	p.words = split(text)
	if len(p.words) == 0 {
		return time.Time{}, refuse("Type a time: %s", examples)
	}
	if err := p.read(); err != nil {
		return time.Time{}, err
	}
	t, err := p.resolve()
	if err != nil {
		return time.Time{}, err
	}
	return p.check(t, text)
}

func (p *parser) check(t time.Time, text string) (time.Time, error) {
	if !t.After(p.now) {
		return time.Time{}, refuse("%s is past: %s", sentence(text), examples)
	}
	if t.After(p.now.AddDate(maxYears, 0, 0)) {
		return time.Time{}, refuse("%s is more than %d years away", sentence(text), maxYears)
	}
	return t, nil
}

func sentence(s string) string { return "“" + strings.Trim(strconv.Quote(s), `"`) + "”" }

// split cuts a text into words; a number and the letters after it are two words, and so are
// a word and a comma, which is dropped.
func split(s string) []string {
	var out []string
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		for f != "" {
			n := 0
			for n < len(f) && (f[n] >= '0' && f[n] <= '9' || f[n] == '.' || f[n] == ':' || f[n] == '-' || f[n] == '/') {
				n++
			}
			m := n
			if n == 0 {
				for m < len(f) && (f[m] < '0' || f[m] > '9') {
					m++
				}
			}
			out = append(out, f[:m])
			f = f[m:]
		}
	}
	return out
}
