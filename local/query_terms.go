package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	isValues  = []string{"unread", "read", "starred", "flagged", "muted", "sent", "snoozed", "answered", "replied"}
	hasValues = []string{"attachment", "attachments", "file"}
	inValues  = []string{"inbox", "archive", "sent", "drafts", "starred", "snoozed", "spam", "trash", "bin", "all", "anywhere"}
)

func begins(list []string, v string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, v) })
}

// misread is the answer to a value that its field does not know.
func misread(t term, known string) error {
	return invalidField("query", "%s: does not know “%s”, but %s.", t.field, printable(t.value), known)
}

// meaning says what a term means. It is nothing while the term is not finished, and an error when it can never be right.
func (s *Server) meaning(ctx context.Context, t term) (meaning, error) {
	v := strings.ToLower(strings.TrimSpace(t.value))
	if v == "" {
		return meaning{}, nil
	}
	message := func(sql string, args ...any) meaning { return meaning{level: levelMessage, cond: cond{sql, args}} }
	switch t.field {
	case "from":
		if v == "me" {
			m := message("m.outgoing = 1")
			m.few = "SELECT thread_id FROM messages WHERE outgoing = 1"
			return m, nil
		}
		return s.textMeaning(ctx, "{sender} : ", t)
	case "to":
		if v == "me" {
			return message("m.incoming = 1"), nil
		}
		return s.textMeaning(ctx, "{recipients copies} : ", t)
	case "cc", "bcc":
		return s.textMeaning(ctx, "{copies} : ", t)
	case "subject":
		return s.textMeaning(ctx, "{subject} : ", t)
	case "body":
		return s.textMeaning(ctx, "{body} : ", t)
	case "filename":
		return s.textMeaning(ctx, "{files} : ", t)
	case "has":
		switch {
		case slices.Contains(hasValues, v):
			return message("EXISTS(SELECT 1 FROM attachments a WHERE a.message_id = m.id AND a.inline = 0)"), nil
		case begins(hasValues, v):
			return meaning{}, nil
		}
		return meaning{}, misread(t, "attachment")
	case "is":
		return isMeaning(t, v)
	case "in", "label":
		return s.placeMeaning(ctx, t, v)
	case "before", "older", "older_than", "after", "newer", "newer_than":
		now := s.now()
		at, ok := queryTime(v, now)
		switch {
		case !ok && unfinishedTime(v, now):
			return meaning{}, nil
		case !ok:
			return meaning{}, misread(t, "2026-03-01, 2026-03, 2026, today, monday, march, 12h, 2d, 3w, 6m and 1y")
		}
		if t.field[0] == 'b' || t.field[0] == 'o' {
			m := message("m.received_at < ?", at.UnixMilli())
			m.until = searchDay(at.UnixMilli()) + 1<<searchDayBits
			m.few = "SELECT thread_id FROM messages WHERE received_at < ?"
			return m, nil
		}
		m := message("m.received_at >= ?", at.UnixMilli())
		m.from = searchDay(at.UnixMilli())
		m.few = "SELECT thread_id FROM messages WHERE received_at >= ?"
		return m, nil
	case "larger", "smaller":
		n, ok := querySize(v)
		if !ok {
			return meaning{}, misread(t, "sizes such as 2000, 500k and 2m")
		}
		if t.field == "smaller" {
			return message("m.size < ?", n), nil
		}
		m := message("m.size > ?", n)
		m.few = "SELECT thread_id FROM messages WHERE size > ?"
		return m, nil
	}
	if name, rest, ok := strings.Cut(t.value, ":"); ok && !t.quoted && rest != "" && !strings.HasPrefix(rest, "//") {
		if near := nearField(strings.ToLower(name)); near != "" {
			return meaning{}, invalidField("query", "There is no %s: to search by; did you mean %s:? In quotes it is looked for as text.", printable(name), near)
		}
	}
	return s.textMeaning(ctx, "", t)
}

func isMeaning(t term, v string) (meaning, error) {
	thread := func(sql, few string) meaning { return meaning{level: levelThread, cond: cond{sql, nil}, few: few} }
	switch v {
	case "unread":
		return thread("t.unread > 0", "SELECT id AS thread_id FROM threads WHERE unread > 0"), nil
	case "read":
		return thread("t.unread = 0", ""), nil
	case "starred", "flagged":
		return thread("t.starred = 1", fmt.Sprintf("SELECT thread_id FROM places WHERE place = %d", placeStarred)), nil
	case "muted":
		return thread("t.muted = 1", ""), nil
	case "sent":
		return thread("t.outgoing > 0", ""), nil
	case "answered", "replied":
		return meaning{level: levelMessage, cond: cond{"m.answered = 1", nil}, few: "SELECT thread_id FROM messages WHERE answered = 1"}, nil
	case "snoozed":
		return meaning{level: levelPlace, place: placeSnoozed}, nil
	}
	if begins(isValues, v) {
		return meaning{}, nil
	}
	return meaning{}, misread(t, "unread, read, starred, snoozed, muted, sent and answered")
}

// placeMeaning is that of in: and label:, which know folders and labels each.
func (s *Server) placeMeaning(ctx context.Context, t term, v string) (meaning, error) {
	p, ok := folderPlace(v)
	if t.field == "label" {
		p, ok = systemPlace(strings.ToUpper(v))
		if v == strings.ToLower(labelDraft) {
			p, ok = placeDraft, true
		}
	}
	switch {
	case t.field == "in" && v == "anywhere":
		return meaning{level: levelAny}, nil
	case ok && p == placeDraft:
		return meaning{level: levelThread, cond: cond{"EXISTS(SELECT 1 FROM drafts d WHERE d.thread_id = t.id)", nil}}, nil
	case ok:
		return meaning{level: levelPlace, place: p}, nil
	}
	// A label is meant by its name, or by that of the label above it. Dashes may stand for blanks.
	f := fold(v)
	ids, err := s.ids(ctx, `SELECT id FROM labels WHERE folded = ?1 OR replace(folded, ' ', '-') = ?1 OR folded LIKE ?2 ESCAPE '\'`, f, escapeLike(f)+"/%")
	if err != nil {
		return meaning{}, err
	}
	if len(ids) > 0 {
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
		return meaning{
			level: levelThread, cond: cond{"EXISTS(SELECT 1 FROM thread_labels l WHERE l.thread_id = t.id AND l.label_id IN (" + list + "))", nil},
			few: "SELECT thread_id FROM thread_labels WHERE label_id IN (" + list + ")",
		}, nil
	}
	if t.field == "in" && begins(inValues, v) {
		return meaning{}, nil
	}
	begun, err := s.ids(ctx, `SELECT id FROM labels WHERE folded LIKE ?1 ESCAPE '\' OR replace(folded, ' ', '-') LIKE ?1 ESCAPE '\' LIMIT 1`, escapeLike(f)+"%")
	switch {
	case err != nil:
		return meaning{}, err
	case len(begun) > 0:
		return meaning{level: levelThread, cond: cond{"0", nil}}, nil
	case t.field == "in":
		return meaning{}, misread(t, strings.Join(inValues, ", ")+" and the labels")
	}
	return meaning{}, invalidField("query", "There is no label “%s”.", printable(t.value))
}

// textMeaning looks for text. What is negated is taken as whole words: half a word would take out too much.
func (s *Server) textMeaning(ctx context.Context, columns string, t term) (meaning, error) {
	p, err := s.expression(ctx, phrase(t.value, t.whole || t.negate))
	if p == "" || err != nil {
		return meaning{}, err
	}
	return meaning{level: levelText, text: columns + p}, nil
}

const (
	// prefixRunes is the longest beginning of a word for which the search index has a list of its own.
	prefixRunes = 3
	// maxWords is up to how many words a longer beginning is replaced by: each of them costs as much as hundreds of hits.
	maxWords = 48
)

// expression gives the search expression for a phrase. The index reads the hits of words one by one and can stop early,
// but for a beginning that has no list of its own it first gathers all of them. So the words that begin so are named.
func (s *Server) expression(ctx context.Context, p searchPhrase) (string, error) {
	if len(p.words) == 0 {
		return "", nil
	}
	last := p.words[len(p.words)-1]
	if !p.open || utf8.RuneCountInString(last) <= prefixRunes {
		return p.String(), nil
	}
	words, err := s.wordsFrom(ctx, last, maxWords)
	if err != nil || len(words) == 0 || len(words) > maxWords {
		return p.String(), err
	}
	var list []string
	for _, w := range words {
		list = append(list, searchPhrase{words: append(slices.Clone(p.words[:len(p.words)-1]), w)}.String())
	}
	return "(" + strings.Join(list, " OR ") + ")", nil
}

// wordsFrom lists words of the search index that begin so, at most one more than limit.
func (s *Server) wordsFrom(ctx context.Context, beginning string, limit int) ([]string, error) {
	var out []string
	// The table has a row for each place of each word: the next word is found from the last one.
	next, err := s.reader.PrepareContext(ctx, "SELECT term FROM mail_words WHERE term >= ? LIMIT 1")
	if err != nil {
		return nil, searchError(err)
	}
	defer next.Close()
	for from := beginning; len(out) <= limit; {
		var word string
		err := next.QueryRowContext(ctx, from).Scan(&word)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !strings.HasPrefix(word, beginning) {
			break
		}
		if err != nil {
			return nil, searchError(err)
		}
		out, from = append(out, word), word+"\x01"
	}
	return out, nil
}

// nearField gives the field that somebody means who typed an unknown one, or nothing.
func nearField(name string) string {
	switch name {
	case "tag", "labels":
		return "label"
	case "folder", "mailbox":
		return "in"
	case "attachment":
		return "filename"
	case "sender":
		return "from"
	}
	for _, f := range []string{"from", "subject", "body", "label", "filename", "before", "after", "older", "newer", "larger", "smaller"} {
		if oneSlip(name, f) {
			return f
		}
	}
	return ""
}

// oneSlip reports that a differs from b by one letter: another, one too many, one too few, or two exchanged.
func oneSlip(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	switch {
	case len(a) == len(b) && len(a) > 0:
		return a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	case len(a) == len(b)+1:
		return a[1:] == b
	case len(a)+1 == len(b):
		return a == b[1:]
	}
	return false
}
