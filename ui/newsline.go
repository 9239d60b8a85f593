package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
)

// piece is a part of a line. When there is no room the short forms come first, then the title is cut, then parts with a
// high rank go. Rank 0 stays.
type piece struct {
	text  string
	short string // the same in fewer words, or empty
	rank  int
	least int    // it may be cut down to so many cells before others go; 0: it may not
	stops string // the id of the call that it says esc stops, or empty
}

func newPiece(text string, rank int) piece { return piece{text: text, rank: rank} }

// parts makes pieces of a line at its dots; the last ones go first when there is no room.
func parts(text string, t *Theme) []piece {
	var out []piece
	for i, p := range strings.Split(text, t.Dot()) {
		out = append(out, newPiece(p, i))
	}
	return out
}

// news draws the line of news in at most width cells.
func news(in newsInput, width int) string {
	t := in.Theme
	items := newsItems(in)
	if len(items) == 0 {
		return " " + t.Muted.Render(cutWords(quietNews(in), width-2, t))
	}
	right, room := newsRight(in, items, width)
	text := fitPieces(items[0].pieces, room, t)
	line := " " + items[0].tone(t).Render(text)
	if right != "" {
		line += cells.Blank(width-2-cells.Width(text)-cells.Width(right)) + right
	}
	return line
}

// quietNews is what there is to say when nothing happens.
func quietNews(in newsInput) string {
	var quiet []string
	if n := in.Status.Outbox; n > 0 {
		quiet = append(quiet, plural(n, "message waits", "messages wait")+" in the outbox")
	}
	if n := in.Status.Unsent; n > 0 {
		quiet = append(quiet, plural(n, "change", "changes")+" not on the server yet")
	}
	return strings.Join(quiet, in.Theme.Dot())
}

// newsRight is the end of the line, which tells of what the activity shows besides, and the room for the rest.
func newsRight(in newsInput, items []newsItem, width int) (right string, room int) {
	more := 0
	for _, it := range items[1:] {
		if !it.passes {
			more++
		}
	}
	room = width - 2
	if more == 0 || width < 40 {
		return "", room
	}
	right = in.Theme.Muted.Render(strconv.Itoa(more) + " more")
	if k := in.Key(keymap.Activity); k != "" {
		right = hint(in.Theme, k, strconv.Itoa(more)+" more")
	}
	return right, room - cells.Width(right) - 2
}

// fitPieces joins the parts of a line that there is room for with dots.
func fitPieces(pieces []piece, room int, t *Theme) string {
	return cutWords(joinPieces(fitted(pieces, room, t), t), room, t)
}

func joinPieces(list []piece, t *Theme) string {
	text := make([]string, len(list))
	for i, p := range list {
		text[i] = p.text
	}
	return strings.Join(text, t.Dot())
}

// fitted are the parts that there is room for; what stays may still have to be cut.
func fitted(pieces []piece, room int, t *Theme) []piece {
	list := slices.Clone(pieces)
	for {
		if tight, ok := tightened(list, room, t); ok {
			return tight
		}
		worst := 0
		for i, p := range list {
			if p.rank >= list[worst].rank {
				worst = i
			}
		}
		if list[worst].rank == 0 {
			tight, _ := tightened(list, room, t)
			return tight
		}
		list = slices.Delete(list, worst, worst+1)
	}
}

// tightened brings all the parts into the room by their short forms and by cutting the title, if it can.
func tightened(pieces []piece, room int, t *Theme) (list []piece, ok bool) {
	list = slices.Clone(pieces)
	over := func() int { return cells.Width(joinPieces(list, t)) - room }
	for i := len(list) - 1; i >= 0 && over() > 0; i-- {
		if list[i].short != "" {
			list[i].text = list[i].short
		}
	}
	if n := over(); n > 0 && len(list) > 1 && list[0].least > 0 {
		if w := cells.Width(list[0].text) - n; w >= list[0].least {
			list[0].text = cutWords(list[0].text, w, t)
		}
	}
	return list, over() <= 0
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

// untilNext is how long until a countdown in seconds that stands at d shows another number.
func untilNext(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	if r := d % time.Second; r > 0 {
		return r
	}
	return time.Second
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
