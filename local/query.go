package local

import (
	"context"
	"slices"
	"strings"
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
	without []string
	message []cond
	threads []cond
	indexed bool
	few     []cond
	nothing bool // the query holds nothing that can be searched for
	// The days of the messages, as numbers in the search index. They bound what match reads; the conditions
	// say it exactly.
	from, until int64
}

type term struct {
	field  string
	value  string
	quoted bool
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
			t.quoted = true
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
// OR between two terms. What has no meaning is looked for as text, and what is not finished is left out. The error is
// for what can only be a mistake, with what would be right. A negated term says that no message of the thread is so.
func (s *Server) parseQuery(ctx context.Context, q string) (search, error) {
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
			m, err := s.meaning(ctx, t)
			if err != nil {
				return search{}, err
			}
			if m.level != levelNone {
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
	return out, nil
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
	few    string // a query that gives the threads of which some are meant, by an index
	// For an age or a day: bounds in the search index.
	from, until int64
}

// alone adds a term that stands by itself, but for text that the search index looks for.
func (m *meaning) alone(out *search) bool {
	if m.few != "" && !m.negate {
		out.few = append(out.few, cond{m.few, m.cond.args})
	}
	switch {
	case m.level == levelAny && !m.negate:
		out.any = true
	case m.level == levelPlace && !m.negate:
		out.place = m.place
	case m.level == levelMessage && !m.negate:
		out.message = append(out.message, m.cond)
		out.indexed = out.indexed || m.few != ""
		out.from = max(out.from, m.from)
		if m.until != 0 && (out.until == 0 || m.until < out.until) {
			out.until = m.until
		}
	case m.level == levelText && m.negate:
		out.without = append(out.without, m.text)
	case m.level == levelText:
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
