package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	quietFor = 300 * time.Millisecond // a call that is shorter makes no line
	stopFrom = time.Second            // from then on the line of a running call says how to stop it
)

// newsInput is everything that the line of news depends on.
type newsInput struct {
	Status       state.Status
	Now          time.Time
	Zone         *time.Location
	Theme        *Theme
	Key          func(keymap.Action) string // the key of an action here, or empty
	Esc          bool                       // esc would stop a call
	Flash        string
	FlashFailure bool
	FlashAt      time.Time
	Hello        string // shown when there is nothing else
}

// piece is a part of a line; parts with a high rank go first when there is no room. Rank 0 stays.
type piece struct {
	text string
	rank int
}

// newsItem is one candidate for the line of news.
type newsItem struct {
	pieces []piece
	tone   func(*Theme) Style
	stops  bool          // it says that esc stops
	passes bool          // it is said and done: there is no more to see of it
	every  time.Duration // how soon its words change by themselves; 0: never
}

func plainTone(t *Theme) Style  { return t.Text }
func mutedTone(t *Theme) Style  { return t.Muted }
func warnTone(t *Theme) Style   { return t.Warn }
func dangerTone(t *Theme) Style { return t.Danger }

// newsItems are the candidates, the most important first.
func newsItems(in newsInput) []newsItem {
	st, now := in.Status, in.Now
	var flash []newsItem
	if in.Flash != "" {
		it := newsItem{pieces: parts(in.Flash, in.Theme), tone: plainTone, passes: true}
		if in.FlashFailure {
			it.tone = warnTone
		}
		flash = append(flash, it)
	}
	// What happened after the newest failure is shown before it for its few seconds: a failure that nobody dismisses
	// must not hide what a person does next.
	var failedAt time.Time
	if len(st.Failures) > 0 {
		failedAt = st.Failures[0].At
	}
	var waits, runs, behind, results, later []newsItem
	newer := func(at time.Time) bool { return len(st.Failures) > 0 && at.After(failedAt) }
	var first, firstResults, overFlash []newsItem
	for _, c := range st.Calls {
		switch {
		case !c.Until.IsZero():
			it := waitItem(c, in)
			switch {
			case c.Foreground && newer(c.Began):
				first = append(first, it)
			case c.Foreground:
				waits = append(waits, it)
			default:
				behind = append(behind, it)
			}
		case now.Sub(c.Began) >= quietFor:
			it := runItem(c, in)
			switch {
			case c.Foreground && newer(c.Began):
				first = append(first, it)
			case c.Foreground:
				runs = append(runs, it)
			default:
				later = append(later, it)
			}
		}
	}
	for _, n := range st.Results {
		it := noticeItem(n, in)
		it.passes = true
		switch {
		case newer(n.At):
			firstResults = append(firstResults, it)
		case in.Flash != "" && n.At.After(in.FlashAt):
			overFlash = append(overFlash, it)
		default:
			results = append(results, it)
		}
	}
	var items []newsItem
	if len(st.Failures) == 0 {
		items = append(items, waits...)
		items = append(items, runs...)
		items = append(items, overFlash...)
		items = append(items, flash...)
	} else {
		items = append(items, first...)
		items = append(items, flash...)
		items = append(items, firstResults...)
		for _, n := range st.Failures {
			items = append(items, noticeItem(n, in))
		}
		items = append(items, waits...)
		items = append(items, runs...)
	}
	items = append(items, results...)
	if st.Offline {
		items = append(items, offlineItem(in))
	}
	items = append(items, behind...)
	if now.Before(st.LimitedUntil) {
		it := newsItem{tone: warnTone, every: untilNext(st.LimitedUntil.Sub(now), time.Second)}
		it.pieces = []piece{{"Too many requests", 0}, {"slowed down", 1}}
		if k := in.Key(keymap.Retry); k != "" {
			it.pieces = append(it.pieces, piece{k + " tries again", 2})
		}
		items = append(items, it)
	}
	items = append(items, later...)
	if len(items) == 0 && in.Hello != "" {
		items = append(items, newsItem{pieces: parts(in.Hello, in.Theme), tone: mutedTone})
	}
	return items
}

// parts makes pieces of a line at its dots; the last ones go first when there is no room.
func parts(text string, t *Theme) []piece {
	var out []piece
	for i, p := range strings.Split(text, t.Dot()) {
		out = append(out, piece{p, i})
	}
	return out
}

// untilNext is how long until a countdown that stands at d shows another number.
func untilNext(d, unit time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	if r := d % unit; r > 0 {
		return r
	}
	return unit
}

// seconds writes a countdown in whole seconds, or minutes when it is long; never less than 1.
func seconds(d time.Duration) string {
	s := int((d + time.Second - 1) / time.Second)
	switch {
	case s < 1:
		s = 1
		fallthrough
	case s < 100:
		return strconv.Itoa(s) + " s"
	case s < 100*60:
		return strconv.Itoa((s+59)/60) + " min"
	default:
		return strconv.Itoa((s+3599)/3600) + " h"
	}
}

// tenths writes a short countdown: "1.4 s"; a long one in whole seconds.
func tenths(d time.Duration) string {
	if d >= 10*time.Second {
		return seconds(d)
	}
	n := max(0, int((d+99*time.Millisecond)/(100*time.Millisecond)))
	return fmt.Sprintf("%d.%d s", n/10, n%10)
}

func waitItem(c state.Call, in newsInput) newsItem {
	left := c.Until.Sub(in.Now)
	it := newsItem{tone: warnTone}
	switch {
	case left >= 10*time.Second:
		it.every = untilNext(left, time.Second)
	case left > 0:
		it.every = 100 * time.Millisecond
	}
	it.pieces = append(it.pieces, piece{clean.Line(c.Title), 0})
	if why := cause(c); why != "" {
		it.pieces = append(it.pieces, piece{why, 3})
	}
	it.pieces = append(it.pieces, piece{nextTry(c, in.Now), 1})
	return withStop(it, c, in)
}

func runItem(c state.Call, in newsInput) newsItem {
	it := newsItem{tone: plainTone}
	if !c.Foreground {
		it.tone = mutedTone
	}
	title := clean.Line(c.Title)
	if c.Attempt > 1 && c.Limit > 1 {
		it.pieces = append(it.pieces, piece{title, 0}, piece{fmt.Sprintf("try %d of %d", c.Attempt, c.Limit), 1})
	} else {
		it.pieces = append(it.pieces, piece{title + in.Theme.Keep("…", "..."), 0})
	}
	if in.Now.Sub(c.Began) >= stopFrom {
		return withStop(it, c, in)
	}
	it.every = stopFrom - in.Now.Sub(c.Began)
	return it
}

func withStop(it newsItem, c state.Call, in newsInput) newsItem {
	if k := in.Key(keymap.Back); c.Foreground && in.Esc && k != "" {
		it.pieces = append(it.pieces, piece{k + " stops", 2})
		it.stops = true
	}
	return it
}

// cause says in few words why a call waits or failed.
func cause(c state.Call) string { return why(c.Cause, c.Status, c.Wait) }

func why(cause string, status int, wait time.Duration) string {
	if cause == "Retry-After" && wait > 0 {
		return "server asks for " + seconds(wait)
	}
	switch {
	case status == 429:
		return "too many requests (429)"
	case status == 408:
		return "server timed out (408)"
	case status == 503:
		return "server busy (503)"
	case status == 502, status == 504:
		return "server not reachable (" + strconv.Itoa(status) + ")"
	case status >= 400:
		return "server error (" + strconv.Itoa(status) + ")"
	case cause == "timeout":
		return "no answer in time"
	}
	return clean.Line(cause)
}

func noticeItem(n state.Notice, in newsInput) newsItem {
	it := newsItem{tone: plainTone}
	text := clean.Line(n.Text)
	if left := n.Until.Sub(in.Now); !n.Until.IsZero() && left > 0 {
		text += " in " + seconds(left)
		it.every = untilNext(left, time.Second)
	}
	// The parts of a notice may go one by one too, the last first; why something failed stays, if need be cut.
	for i, p := range strings.Split(text, " · ") {
		rank := 0
		if i > 1 || i == 1 && n.Kind != state.NoticeFailure {
			rank = 4 + i
		}
		it.pieces = append(it.pieces, piece{p, rank})
	}
	if k := in.Key(keymap.Undo); n.Undo && k != "" {
		to := n.UndoTo
		if to == "" {
			to = "undoes it"
		}
		it.pieces = append(it.pieces, piece{k + " " + clean.Line(to), 2})
	}
	if k := in.Key(keymap.Retry); n.Retry && k != "" {
		to := n.RetryTo
		if to == "" {
			to = "tries again"
		}
		it.pieces = append(it.pieces, piece{k + " " + clean.Line(to), 2})
	}
	if n.Kind == state.NoticeFailure {
		it.tone = dangerTone
		if k := in.Key(keymap.Dismiss); k != "" {
			it.pieces = append(it.pieces, piece{k + " dismisses", 3})
		}
	}
	return it
}

func offlineItem(in newsInput) newsItem {
	st := in.Status
	it := newsItem{tone: warnTone, pieces: []piece{{"No connection", 0}}}
	if !st.AsOf.IsZero() {
		it.pieces = append(it.pieces, piece{"showing mail from " + clock(st.AsOf.In(in.Zone), in.Now.In(in.Zone)), 1})
	}
	if left := st.NextTry.Sub(in.Now); !st.NextTry.IsZero() && left > 0 {
		it.pieces = append(it.pieces, piece{"trying again in " + seconds(left), 2})
		it.every = untilNext(left, time.Second)
	}
	if n := st.Outbox; n > 0 {
		it.pieces = append(it.pieces, piece{plural(n, "message waits", "messages wait"), 3})
	}
	return it
}

// clock is a time of today, else with its day.
func clock(t, now time.Time) string {
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	if now.Sub(t) < 6*24*time.Hour && now.After(t) {
		return t.Format("Mon 15:04")
	}
	return t.Format("2 Jan 15:04")
}

// news draws the line of news in at most width cells.
func news(in newsInput, width int) string {
	t := in.Theme
	items := newsItems(in)
	more := 0 // what the list of calls shows besides
	for i, it := range items {
		if i > 0 && !it.passes {
			more++
		}
	}
	right := ""
	switch {
	case more > 0:
		right = strconv.Itoa(more) + " more"
		if k := in.Key(keymap.Activity); k != "" {
			right += " " + k
		}
	case len(items) == 0:
		var quiet []string
		if n := in.Status.Outbox; n > 0 {
			quiet = append(quiet, plural(n, "message waits", "messages wait")+" in the outbox")
		}
		if n := in.Status.Unsent; n > 0 {
			quiet = append(quiet, plural(n, "change", "changes")+" not on the server yet")
		}
		if len(quiet) == 0 {
			return ""
		}
		return " " + t.Muted.Render(cutWords(strings.Join(quiet, t.Dot()), width-2, t))
	}
	room := width - 2
	if right != "" && width >= 40 {
		room -= cells.Width(right) + 2
	} else {
		right = ""
	}
	text := fitPieces(items[0].pieces, room, t)
	line := " " + items[0].tone(t).Render(text)
	if right != "" {
		line += cells.Blank(width-2-cells.Width(text)-cells.Width(right)) + t.Muted.Render(right)
	}
	return line
}

// fitPieces joins parts with dots; whole parts go, the least needed first, until the rest fits, and only then is the
// first one cut, between words.
func fitPieces(pieces []piece, room int, t *Theme) string {
	list := slices.Clone(pieces)
	for {
		text := make([]string, len(list))
		for i, p := range list {
			text[i] = p.text
		}
		s := strings.Join(text, t.Dot())
		if cells.Width(s) <= room {
			return s
		}
		worst := 0
		for i, p := range list {
			if p.rank >= list[worst].rank {
				worst = i
			}
		}
		if list[worst].rank == 0 {
			return cutWords(s, room, t)
		}
		list = slices.Delete(list, worst, worst+1)
	}
}

// cutWords cuts s to at most room cells, between words when that does not lose too much.
func cutWords(s string, room int, t *Theme) string {
	if cells.Width(s) <= room {
		return s
	}
	e := t.Glyphs.Ellipsis
	cut := cells.Truncate(s, max(0, room-cells.Width(e)), "")
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return cells.Truncate(strings.TrimRight(cut, " ·")+e, room, "")
}

// stoppable reports whether the line of news says that esc stops a call.
func stoppable(in newsInput) bool {
	items := newsItems(in)
	return len(items) > 0 && items[0].stops
}

// newsEvery is how soon the line of news changes by itself; 0: not before something happens.
func newsEvery(in newsInput) time.Duration {
	var d time.Duration
	soon := func(x time.Duration) {
		if x > 0 && (d == 0 || x < d) {
			d = x
		}
	}
	if items := newsItems(in); len(items) > 0 {
		soon(items[0].every)
	}
	for _, c := range in.Status.Calls {
		soon(quietFor - in.Now.Sub(c.Began))
	}
	return d
}
