package ui

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

const (
	quietFor   = 300 * time.Millisecond // a call that is shorter makes no line
	stopFrom   = time.Second            // from then on the line of a running call says how to stop it
	clockFrom  = 3 * time.Second        // and from then on how long it has been running
	titleLeast = 16                     // cells of a title that stay when the line is too long
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
	FlashYields  bool   // the flash only fills the time until there is something to see
	Hello        string // shown when there is nothing else
}

// newsItem is one candidate for the line of news.
type newsItem struct {
	pieces []piece
	tone   func(*Theme) Style
	passes bool          // it is said and done: there is no more to see of it
	every  time.Duration // how soon its words change by themselves; 0: never
}

func plainTone(t *Theme) Style { return t.Text }

func mutedTone(t *Theme) Style { return t.Muted }

func warnTone(t *Theme) Style { return t.Warn }

func dangerTone(t *Theme) Style { return t.Danger }

// candidates are the items of the line of news by kind; each list has the most important first.
type candidates struct {
	waits, runs   []newsItem // of calls that a person asked for
	newerCalls    []newsItem // the same, begun after the newest failure
	behind        []newsItem // one of the calls that run by themselves, waits before runs
	results       []newsItem
	newerResults  []newsItem // after the newest failure
	overFlash     []newsItem // after the flash
	flash         []newsItem
	failedBetween bool // there is a failure
}

// newsItems are the candidates in order, the most important first.
func newsItems(in newsInput) []newsItem {
	st := in.Status
	c := candidates{failedBetween: len(st.Failures) > 0}
	c.calls(in)
	c.said(in)
	var items []newsItem
	add := func(lists ...[]newsItem) { items = append(items, slices.Concat(lists...)...) }
	if !c.failedBetween {
		add(c.waits, c.runs, c.overFlash)
	} else {
		// What happened after the newest failure is shown before it for its few seconds: a failure that nobody dismisses
		// must not hide what a person does next.
		add(c.newerCalls)
	}
	if !in.FlashYields || len(c.behind) == 0 {
		add(c.flash)
	}
	if c.failedBetween {
		add(c.newerResults)
		for _, n := range st.Failures {
			add([]newsItem{noticeItem(n, in)})
		}
		add(c.waits, c.runs)
	}
	add(c.results)
	if st.Offline {
		add([]newsItem{offlineItem(in)})
	}
	if limited, ok := limitedItem(in); ok {
		add([]newsItem{limited})
	}
	add(c.behind)
	if len(items) == 0 && in.Hello != "" {
		add([]newsItem{{pieces: parts(in.Hello, in.Theme), tone: mutedTone}})
	}
	return items
}

// newer reports whether something happened after the newest failure.
func newer(at time.Time, in newsInput) bool {
	return len(in.Status.Failures) > 0 && at.After(in.Status.Failures[0].At)
}

// calls makes the items of the calls that run or wait. Those that run by themselves share one: which of them is on its
// way changes several times a second when the network is bad, and nobody asked.
func (l *candidates) calls(in newsInput) {
	var waits, runs []state.Call
	for _, c := range in.Status.Calls {
		waiting := !c.Until.IsZero()
		switch {
		case !waiting && in.Now.Sub(c.Began) < quietFor:
		case !c.Foreground && waiting:
			waits = append(waits, c)
		case !c.Foreground:
			runs = append(runs, c)
		case newer(c.Began, in):
			l.newerCalls = append(l.newerCalls, callItem(c, in))
		case waiting:
			l.waits = append(l.waits, callItem(c, in))
		default:
			l.runs = append(l.runs, callItem(c, in))
		}
	}
	for i, c := range append(waits, runs...) {
		if i == 0 && len(waits)+len(runs) > 1 {
			c.Title = "Fetching mail"
		}
		l.behind = append(l.behind, callItem(c, in))
	}
}

func callItem(c state.Call, in newsInput) newsItem {
	if c.Until.IsZero() {
		return runItem(c, in)
	}
	return waitItem(c, in)
}

// said makes the items of what was done, and of the flash.
func (l *candidates) said(in newsInput) {
	if in.Flash != "" {
		it := newsItem{pieces: parts(in.Flash, in.Theme), tone: plainTone, passes: true}
		if in.FlashFailure {
			it.tone = warnTone
		}
		l.flash = append(l.flash, it)
	}
	for _, n := range in.Status.Results {
		it := noticeItem(n, in)
		it.passes = true
		switch {
		case newer(n.At, in):
			l.newerResults = append(l.newerResults, it)
		case in.Flash != "" && n.At.After(in.FlashAt):
			l.overFlash = append(l.overFlash, it)
		default:
			l.results = append(l.results, it)
		}
	}
}

// limitedItem says that the server asked for fewer requests.
func limitedItem(in newsInput) (newsItem, bool) {
	left := in.Status.LimitedUntil.Sub(in.Now)
	if left <= 0 {
		return newsItem{}, false
	}
	it := newsItem{tone: warnTone, every: untilNext(left)}
	it.pieces = []piece{newPiece("Too many requests", 0), newPiece("slowed down", 1)}
	if in.Status.AskedUntil.After(in.Now) {
		it.pieces[1] = newPiece("the server asked to wait", 1)
	} else if k := in.Key(keymap.Retry); k != "" {
		it.pieces = append(it.pieces, newPiece(k+" tries again", 2))
	}
	it.pieces = append(it.pieces, newPiece("goes on in "+seconds(left), 3))
	return it, true
}

func waitItem(c state.Call, in newsInput) newsItem {
	left := c.Until.Sub(in.Now)
	it := newsItem{tone: warnTone}
	switch {
	case left >= 10*time.Second:
		it.every = untilNext(left)
	case left > 0:
		it.every = 100 * time.Millisecond
	}
	it.pieces = append(it.pieces, piece{text: clean.Line(c.Title), least: titleLeast})
	if why := cause(c); why != "" {
		it.pieces = append(it.pieces, piece{text: why, short: longWhy.ReplaceAllString(why, ""), rank: 2})
	}
	it.pieces = append(it.pieces, newPiece(nextTry(c, in.Now), 1))
	return withStop(it, c, in)
}

func runItem(c state.Call, in newsInput) newsItem {
	it := newsItem{tone: plainTone}
	if !c.Foreground {
		it.tone = mutedTone
	}
	title := clean.Line(c.Title)
	if c.Attempt > 1 && c.Limit > 1 {
		it.pieces = append(it.pieces, piece{text: title, least: titleLeast}, newPiece(fmt.Sprintf("try %d of %d", c.Attempt, c.Limit), 1))
	} else {
		it.pieces = append(it.pieces, piece{text: title + in.Theme.Keep("…", "..."), least: titleLeast})
	}
	took := in.Now.Sub(c.Began)
	switch {
	case took < stopFrom:
		it.every = stopFrom - took
		return it
	case took < clockFrom:
		it.every = clockFrom - took
		return withStop(it, c, in)
	}
	it = withStop(it, c, in)
	it.pieces = append(it.pieces, newPiece(seconds(took.Truncate(time.Second)), 2))
	it.every = untilNext(time.Hour - took)
	return it
}

func withStop(it newsItem, c state.Call, in newsInput) newsItem {
	if k := in.Key(keymap.Back); c.Stoppable && in.Esc && k != "" {
		it.pieces = append(it.pieces, piece{text: k + " stops", rank: 3, stops: c.ID})
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
		it.every = untilNext(left)
	}
	// The parts of a notice may go one by one too, the last first; why something failed stays, if need be cut.
	for i, p := range strings.Split(text, " · ") {
		rank := 0
		if i > 1 || i == 1 && n.Kind != state.NoticeFailure {
			rank = 4 + i
		}
		it.pieces = append(it.pieces, piece{text: p, short: requestID.ReplaceAllString(p, ""), rank: rank})
	}
	offer := func(a keymap.Action, does, otherwise string, rank int) {
		if k := in.Key(a); k != "" {
			it.pieces = append(it.pieces, newPiece(k+" "+cmp.Or(clean.Line(does), otherwise), rank))
		}
	}
	if n.Undo {
		offer(keymap.Undo, n.UndoTo, "undoes it", 2)
	}
	if n.Retry {
		offer(keymap.Retry, n.RetryTo, "tries again", 2)
	}
	if n.Kind == state.NoticeFailure {
		it.tone = dangerTone
		does := "dismisses"
		if more := len(in.Status.Failures); more > 1 {
			does += " all " + strconv.Itoa(more)
		}
		offer(keymap.Dismiss, does, "", 3)
	}
	return it
}

// longWhy is what a reason can do without.
var longWhy = regexp.MustCompile(`^server | \(\d+\)$`)

// requestID is the server's name for an attempt within a sentence; the activity has it too.
var requestID = regexp.MustCompile(` \(req_[^)]*\)`)

func offlineItem(in newsInput) newsItem {
	st := in.Status
	it := newsItem{tone: warnTone, pieces: []piece{newPiece("No connection", 0)}}
	if !st.AsOf.IsZero() {
		it.pieces = append(it.pieces, newPiece("showing mail from "+clock(st.AsOf.In(in.Zone), in.Now.In(in.Zone)), 1))
	}
	if left := st.NextTry.Sub(in.Now); !st.NextTry.IsZero() && left > 0 {
		it.pieces = append(it.pieces, newPiece("trying again in "+seconds(left), 2))
		it.every = untilNext(left)
	}
	if n := st.Outbox; n > 0 {
		it.pieces = append(it.pieces, newPiece(plural(n, "message waits", "messages wait"), 3))
	}
	return it
}

// stoppable is the call of which the line of news, as wide as it is, says that esc stops it; empty when it says it of none.
func stoppable(in newsInput, width int) string {
	items := newsItems(in)
	if len(items) == 0 {
		return ""
	}
	_, room := newsRight(in, items, width)
	for _, p := range fitted(items[0].pieces, room, in.Theme) {
		if p.stops != "" {
			return p.stops
		}
	}
	return ""
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
