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

// search is a parsed query.
type search struct {
	place   int64 // named by in: or is:snoozed; 0 when the query names none
	any     bool  // in:anywhere
	threads []cond
	message []cond // all of them hold for one message
	nothing bool   // the query holds nothing that can be searched for
}

type term struct {
	field  string
	value  string
	quoted bool
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
			t.quoted = true
			i++
			start = i
			for i < len(rs) && rs[i] != '"' {
				i++
			}
			t.value = string(rs[start:i])
			if i < len(rs) {
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
	case "from", "to", "cc", "subject", "body", "is", "in", "has", "label", "filename",
		"before", "after", "older", "newer", "older_than", "newer_than", "larger", "smaller":
		return true
	}
	return false
}

// parseQuery understands what a person types: words (each may go on), "phrases", field:value, - negates,
// OR between two terms. It never fails: what has no meaning is looked for as text.
func (s *Server) parseQuery(q string) search {
	var out search
	terms := splitQuery(q)
	searched := false
	for i := 0; i < len(terms); i++ {
		group := []term{terms[i]}
		for i+2 < len(terms) && terms[i+1] == (term{value: "OR"}) {
			group = append(group, terms[i+2])
			i += 2
		}
		var either []cond
		for _, t := range group {
			c, level := s.termCond(t, &out)
			switch level {
			case levelNone:
				continue
			case levelPlace:
				searched = true
				continue
			case levelThread:
				if len(group) == 1 {
					searched = true
					if t.negate {
						c.sql = "NOT (" + c.sql + ")"
					}
					out.threads = append(out.threads, c)
					continue
				}
				c = cond{"m.thread_id IN (SELECT t.id FROM threads t WHERE " + c.sql + ")", c.args}
			case levelMessage:
			}
			searched = true
			if t.negate {
				// No message of the thread may match.
				c = cond{"m.thread_id NOT IN (SELECT m.thread_id FROM messages m WHERE " + c.sql + ")", c.args}
			}
			either = append(either, c)
		}
		if len(either) > 0 {
			out.message = append(out.message, joinConds(either, " OR "))
		}
	}
	out.nothing = len(terms) > 0 && !searched
	return out
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

type level int

const (
	levelNone level = iota
	levelPlace
	levelThread
	levelMessage
)

func (s *Server) termCond(t term, out *search) (cond, level) {
	v := strings.ToLower(strings.TrimSpace(t.value))
	now := s.now()
	switch t.field {
	case "":
		return textCond("", t)
	case "from":
		if v == "me" {
			return cond{"m.outgoing = 1", nil}, levelMessage
		}
		return textCond("{sender} : ", t)
	case "to":
		if v == "me" {
			return cond{"m.incoming = 1", nil}, levelMessage
		}
		return textCond("{recipients copies} : ", t)
	case "cc":
		return textCond("{copies} : ", t)
	case "subject":
		return textCond("{subject} : ", t)
	case "body":
		return textCond("{body} : ", t)
	case "filename":
		return textCond("{files} : ", t)
	case "has":
		if v == "attachment" || v == "attachments" || v == "file" {
			return cond{"EXISTS(SELECT 1 FROM attachments a WHERE a.message_id = m.id AND a.inline = 0)", nil}, levelMessage
		}
	case "is":
		switch v {
		case "unread":
			return cond{"t.unread > 0", nil}, levelThread
		case "read":
			return cond{"t.unread = 0", nil}, levelThread
		case "starred", "flagged":
			return cond{"t.starred = 1", nil}, levelThread
		case "muted":
			return cond{"t.muted = 1", nil}, levelThread
		case "sent":
			return cond{"t.outgoing > 0", nil}, levelThread
		case "snoozed":
			if t.negate {
				return cond{"t.snoozed_until IS NOT NULL", nil}, levelThread
			}
			out.place = placeSnoozed
			return cond{}, levelPlace
		}
	case "in":
		if v == "anywhere" {
			out.any = true
			return cond{}, levelPlace
		}
		if p, ok := folderPlace(v); ok && p != placeDraft {
			if t.negate {
				return cond{"EXISTS(SELECT 1 FROM places x WHERE x.thread_id = t.id AND x.place = ?)", []any{p}}, levelThread
			}
			out.place = p
			return cond{}, levelPlace
		}
		return cond{"EXISTS(SELECT 1 FROM thread_labels l JOIN labels n ON n.id = l.label_id WHERE l.thread_id = t.id AND n.folded = ?)", []any{fold(v)}}, levelThread
	case "label":
		if p, ok := systemPlace(strings.ToUpper(v)); ok {
			return cond{"EXISTS(SELECT 1 FROM places x WHERE x.thread_id = t.id AND x.place = ?)", []any{p}}, levelThread
		}
		return cond{"EXISTS(SELECT 1 FROM thread_labels l JOIN labels n ON n.id = l.label_id WHERE l.thread_id = t.id AND n.folded = ?)", []any{fold(v)}}, levelThread
	case "before", "older", "older_than":
		if at, ok := queryTime(v, now); ok {
			return cond{"m.received_at < ?", []any{at.UnixMilli()}}, levelMessage
		}
	case "after", "newer", "newer_than":
		if at, ok := queryTime(v, now); ok {
			return cond{"m.received_at >= ?", []any{at.UnixMilli()}}, levelMessage
		}
	case "larger":
		if n, ok := querySize(v); ok {
			return cond{"m.size > ?", []any{n}}, levelMessage
		}
	case "smaller":
		if n, ok := querySize(v); ok {
			return cond{"m.size < ?", []any{n}}, levelMessage
		}
	}
	t.value = t.field + " " + t.value
	return textCond("", t)
}

func textCond(columns string, t term) (cond, level) {
	p := phrase(t.value, t.quoted)
	if p == "" {
		return cond{}, levelNone
	}
	return cond{"m.id IN (SELECT rowid FROM mail_search WHERE mail_search MATCH ?)", []any{columns + p}}, levelMessage
}

// queryTime reads a day (2026-03-01, 2026/3/1) or an age (3d, 2w, 6m, 1y).
func queryTime(v string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{"2006-1-2", "2006/1/2", "2006-1", "2006/1", "2006"} {
		if t, err := time.ParseInLocation(layout, v, now.Location()); err == nil {
			return t, true
		}
	}
	if len(v) < 2 {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(v[:len(v)-1])
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, false
	}
	switch v[len(v)-1] {
	case 'h':
		return now.Add(-time.Duration(n) * time.Hour), true
	case 'd':
		return now.AddDate(0, 0, -n), true
	case 'w':
		return now.AddDate(0, 0, -7*n), true
	case 'm':
		return now.AddDate(0, -n, 0), true
	case 'y':
		return now.AddDate(-n, 0, 0), true
	}
	return time.Time{}, false
}

func querySize(v string) (int64, bool) {
	unit := int64(1)
	v = strings.TrimSuffix(v, "b")
	for suffix, u := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(v, suffix); ok {
			v, unit = rest, u
			break
		}
	}
	n, err := strconv.ParseInt(v, 10, 32)
	return n * unit, err == nil && n >= 0
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
