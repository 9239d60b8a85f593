package local

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// cond is a piece of SQL with its arguments. Thread conditions speak of t (threads), message conditions
// of m (messages).
type cond struct {
	sql  string
	args []any
}

// search is a parsed query. What belongs to messages must all hold for one message of a thread.
type search struct {
	place   int64  // named by in: or is:snoozed; 0 when the query names none
	any     bool   // in:anywhere
	match   string // expression for the search index, or empty
	message []cond
	threads []cond
	nothing bool // the query holds nothing that can be searched for
	// The days of the messages, as numbers in the search index. They bound what match reads; the conditions
	// say it exactly.
	from, until int64
}

type term struct {
	field  string
	value  string
	whole  bool // a phrase with both its quotes: its last word does not go on
	negate bool
}

// splitQuery cuts a query into terms. An unfinished quote goes on to the end.
func splitQuery(q string) []term {
	var out []term
	rs := []rune(q)
	for i := 0; i < len(rs); {
		if unicode.IsSpace(rs[i]) {
			i++
			continue
		}
		var t term
		if rs[i] == '-' && i+1 < len(rs) && !unicode.IsSpace(rs[i+1]) {
			t.negate = true
			i++
		}
		start := i
		for i < len(rs) && !unicode.IsSpace(rs[i]) && rs[i] != '"' && rs[i] != ':' {
			i++
		}
		if i < len(rs) && rs[i] == ':' && i > start && knownField(string(rs[start:i])) {
			t.field = strings.ToLower(string(rs[start:i]))
			i++
			start = i
		}
		if i < len(rs) && rs[i] == '"' && i == start {
			i++
			start = i
			for i < len(rs) && rs[i] != '"' {
				i++
			}
			t.value = string(rs[start:i])
			if i < len(rs) {
				t.whole = true
				i++
			}
		} else {
			for i < len(rs) && !unicode.IsSpace(rs[i]) && (rs[i] != '"' || i == start) {
				i++
			}
			t.value = string(rs[start:i])
		}
		out = append(out, t)
	}
	return out
}

func knownField(name string) bool {
	switch strings.ToLower(name) {
	case "from", "to", "cc", "bcc", "subject", "body", "is", "in", "has", "label", "filename",
		"before", "after", "older", "newer", "older_than", "newer_than", "larger", "smaller":
		return true
	}
	return false
}

// parseQuery understands what a person types: words (each may go on), "phrases", field:value, - negates,
// OR between two terms. It never fails: what has no meaning is looked for as text, and what is not
// finished is left out. A negated term says that no message of the thread is so.
func (s *Server) parseQuery(q string) search {
	var out search
	terms := splitQuery(q)
	or := term{value: "OR"}
	searched := false
	var match []string
	if n := len(terms); n > 1 && terms[n-1] == or {
		terms = terms[:n-1] // the other side is still to be typed
	}
	for i := 0; i < len(terms); i++ {
		group := []term{terms[i]}
		for i+2 < len(terms) && terms[i+1] == or {
			group = append(group, terms[i+2])
			i += 2
		}
		var found []meaning
		for _, t := range group {
			if m := s.meaning(t); m.level != levelNone {
				m.negate = t.negate
				found = append(found, m)
			}
		}
		switch {
		case len(found) == 0:
		case len(found) == 1 && found[0].alone(&out):
			searched = true
		default:
			searched = true
			if expr, ok := eitherText(found); ok {
				match = append(match, expr)
				continue
			}
			out.either(found)
		}
	}
	out.match = strings.Join(match, " AND ")
	out.nothing = len(terms) > 0 && !searched
	return out
}

type level int

const (
	levelNone    level = iota
	levelAny           // in:anywhere
	levelPlace         // the place place
	levelThread        // cond of a thread
	levelMessage       // cond of a message
	levelText          // text for the search index
)

// meaning is what one term says.
type meaning struct {
	level  level
	negate bool
	place  int64
	cond   cond
	text   string
	// For an age or a day: bounds in the search index.
	from, until int64
}

// alone adds a term that stands by itself, but for text that the search index looks for.
func (m *meaning) alone(out *search) bool {
	switch {
	case m.level == levelAny && !m.negate:
		out.any = true
	case m.level == levelPlace && !m.negate:
		out.place = m.place
	case m.level == levelMessage && !m.negate:
		out.message = append(out.message, m.cond)
		out.from = max(out.from, m.from)
		if m.until != 0 && (out.until == 0 || m.until < out.until) {
			out.until = m.until
		}
	case m.level == levelText && !m.negate:
		return false
	default:
		out.threads = append(out.threads, m.ofThread())
	}
	return true
}

// ofThread gives the condition of a thread t.
func (m *meaning) ofThread() cond {
	c := m.cond
	not := ""
	if m.negate {
		not = "NOT "
	}
	switch m.level {
	case levelAny:
		c = cond{"1", nil}
	case levelPlace:
		c = cond{"EXISTS(SELECT 1 FROM places x WHERE x.thread_id = t.id AND x.place = ?)", []any{m.place}}
	case levelMessage:
		c = cond{"EXISTS(SELECT 1 FROM messages m WHERE m.thread_id = t.id AND " + c.sql + ")", c.args}
	case levelText:
		// The inner query is run once, and its result looked into for each thread.
		c = cond{`EXISTS(SELECT 1 FROM messages m WHERE m.thread_id = t.id
			AND m.search_id IN (SELECT rowid FROM mail_search WHERE mail_search MATCH ?))`, []any{m.text}}
	case levelNone, levelThread:
	}
	return cond{not + "(" + c.sql + ")", c.args}
}

// either adds terms of which one must hold.
func (out *search) either(group []meaning) {
	var list []cond
	for _, m := range group {
		list = append(list, m.ofThread())
		if m.level == levelPlace {
			out.any = true // the place is said by the term
		}
	}
	out.threads = append(out.threads, joinConds(list, " OR "))
}

// eitherText gives one expression for terms that are all text.
func eitherText(group []meaning) (string, bool) {
	var list []string
	for _, m := range group {
		if m.level != levelText || m.negate {
			return "", false
		}
		list = append(list, "("+m.text+")")
	}
	return "(" + strings.Join(list, " OR ") + ")", true
}

func joinConds(list []cond, with string) cond {
	var parts []string
	var args []any
	for _, c := range list {
		parts = append(parts, "("+c.sql+")")
		args = append(args, c.args...)
	}
	return cond{strings.Join(parts, with), args}
}

var (
	isValues  = []string{"unread", "read", "starred", "flagged", "muted", "sent", "snoozed", "answered", "replied"}
	hasValues = []string{"attachment", "attachments", "file"}
)

func begins(list []string, v string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, v) })
}

func (s *Server) meaning(t term) meaning {
	v := strings.ToLower(strings.TrimSpace(t.value))
	if v == "" {
		return meaning{}
	}
	message := func(sql string, args ...any) meaning { return meaning{level: levelMessage, cond: cond{sql, args}} }
	thread := func(sql string, args ...any) meaning { return meaning{level: levelThread, cond: cond{sql, args}} }
	switch t.field {
	case "":
		return textMeaning("", t)
	case "from":
		if v == "me" {
			return message("m.outgoing = 1")
		}
		return textMeaning("{sender} : ", t)
	case "to":
		if v == "me" {
			return message("m.incoming = 1")
		}
		return textMeaning("{recipients copies} : ", t)
	case "cc", "bcc":
		return textMeaning("{copies} : ", t)
	case "subject":
		return textMeaning("{subject} : ", t)
	case "body":
		return textMeaning("{body} : ", t)
	case "filename":
		return textMeaning("{files} : ", t)
	case "has":
		switch {
		case slices.Contains(hasValues, v):
			return message("EXISTS(SELECT 1 FROM attachments a WHERE a.message_id = m.id AND a.inline = 0)")
		case begins(hasValues, v):
			return meaning{}
		}
	case "is":
		switch v {
		case "unread":
			return thread("t.unread > 0")
		case "read":
			return thread("t.unread = 0")
		case "starred", "flagged":
			return thread("t.starred = 1")
		case "muted":
			return thread("t.muted = 1")
		case "sent":
			return thread("t.outgoing > 0")
		case "answered", "replied":
			return message("m.answered = 1")
		case "snoozed":
			return meaning{level: levelPlace, place: placeSnoozed}
		}
		if begins(isValues, v) {
			return meaning{}
		}
	case "in":
		if v == "anywhere" {
			return meaning{level: levelAny}
		}
		if p, ok := folderPlace(v); ok && p != placeDraft {
			return meaning{level: levelPlace, place: p}
		}
		return labelMeaning(v)
	case "label":
		if p, ok := systemPlace(strings.ToUpper(v)); ok {
			return meaning{level: levelPlace, place: p}
		}
		return labelMeaning(v)
	case "before", "older", "older_than":
		at, ok := queryTime(v, s.now())
		if !ok {
			return meaning{}
		}
		m := message("m.received_at < ?", at.UnixMilli())
		m.until = searchDay(at.UnixMilli()) + 1<<searchDayBits
		return m
	case "after", "newer", "newer_than":
		at, ok := queryTime(v, s.now())
		if !ok {
			return meaning{}
		}
		m := message("m.received_at >= ?", at.UnixMilli())
		m.from = searchDay(at.UnixMilli())
		return m
	case "larger", "smaller":
		n, ok := querySize(v)
		switch {
		case !ok:
			return meaning{}
		case t.field == "larger":
			return message("m.size > ?", n)
		}
		return message("m.size < ?", n)
	}
	t.value = t.field + " " + t.value
	return textMeaning("", t)
}

// labelMeaning finds a label by its name, or by that of the label above it. Dashes may stand for blanks.
func labelMeaning(name string) meaning {
	f := fold(name)
	return meaning{level: levelThread, cond: cond{
		`EXISTS(SELECT 1 FROM thread_labels l JOIN labels n ON n.id = l.label_id
		WHERE l.thread_id = t.id AND (n.folded = ? OR replace(n.folded, ' ', '-') = ? OR n.folded LIKE ? ESCAPE '\'))`,
		[]any{f, f, escapeLike(f) + "/%"},
	}}
}

// textMeaning looks for text. What is negated is taken as whole words: half a word would take out too much.
func textMeaning(columns string, t term) meaning {
	p := phrase(t.value, t.whole || t.negate)
	if p == "" {
		return meaning{}
	}
	return meaning{level: levelText, text: columns + p}
}

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

// placeDraft stands for the folder of drafts, which are no threads.
const placeDraft = -1

// folderPlace gives the place of a folder's name.
func folderPlace(name string) (int64, bool) {
	switch strings.ToLower(name) {
	case "", "all":
		return placeAll, true
	case "inbox":
		return placeInbox, true
	case "archive":
		return placeArchive, true
	case "sent":
		return placeSent, true
	case "spam":
		return placeSpam, true
	case "bin", "trash":
		return placeBin, true
	case "snoozed":
		return placeSnoozed, true
	case "starred":
		return placeStarred, true
	case "draft", "drafts":
		return placeDraft, true
	}
	return 0, false
}

// The ids of the system labels.
const (
	labelInbox   = "INBOX"
	labelStarred = "STARRED"
	labelSpam    = "SPAM"
	labelTrash   = "TRASH"
	labelSent    = "SENT"
	labelDraft   = "DRAFT"
	labelSnoozed = "SNOOZED"
)

var systemLabels = []string{labelInbox, labelStarred, labelSnoozed, labelSent, labelDraft, labelSpam, labelTrash}

func isSystemLabel(id string) bool { return slices.Contains(systemLabels, id) }

// systemPlace gives the place whose threads carry a system label.
func systemPlace(id string) (int64, bool) {
	switch id {
	case labelInbox:
		return placeInbox, true
	case labelStarred:
		return placeStarred, true
	case labelSpam:
		return placeSpam, true
	case labelTrash:
		return placeBin, true
	case labelSent:
		return placeSent, true
	case labelSnoozed:
		return placeSnoozed, true
	}
	return 0, false
}
