package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"modernc.org/sqlite"
)

// threadQuery is what a thread list asks for.
type threadQuery struct {
	place   int64 // 0 is everywhere
	sort    string
	threads []cond
	message []cond // all of them, and match, hold for one message of the thread
	match   string
	without []string // expressions that no message of the thread matches
	indexed bool     // an index finds what message is about
	few     []cond   // queries of which each gives all threads that can be meant, by an index
	from    int64    // bounds of match; 0 is none
	until   int64
}

// findThreads gives the rows of a list that follow the cursor.
func (s *Server) findThreads(ctx context.Context, q *threadQuery, cur cursor, after bool, limit int) ([]cursor, error) {
	if q.match != "" {
		rows, err := s.findMatching(ctx, q, cur, after, limit)
		return rows, searchError(err)
	}
	conds := slices.Clone(q.threads)
	if len(q.message) > 0 {
		message, most := joinConds(q.message, " AND "), fewHits
		if q.indexed {
			most = fewIndexed
		}
		// The sign keeps SQLite from reading all messages in the order of their threads.
		ids, err := s.ids(ctx, "SELECT DISTINCT +m.thread_id FROM messages m WHERE "+message.sql+" LIMIT ?",
			append(slices.Clone(message.args), most+1)...)
		if err != nil {
			return nil, err
		}
		if len(ids) <= most {
			if ids, err = s.leaveOut(ctx, q.without, ids); err != nil {
				return nil, searchError(err)
			}
			return s.sortThreads(ctx, q, ids, cur, after, limit)
		}
		// So many are better picked out of the sorted folder.
		conds = append(conds, cond{"EXISTS(SELECT 1 FROM messages m WHERE m.thread_id = t.id AND " + message.sql + ")", message.args})
	}
	const from = "places p JOIN threads t ON t.id = p.thread_id"
	if len(q.without) == 0 {
		return s.selectThreads(ctx, q, from, conds, cur, after, limit)
	}
	var out []cursor
	for size := 4 * limit; ; size *= windowGrowth {
		rows, err := s.selectThreads(ctx, q, from, conds, cur, after, size)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		if ids, err = s.leaveOut(ctx, q.without, ids); err != nil {
			return nil, searchError(err)
		}
		for _, r := range rows {
			if len(out) < limit && len(ids) > 0 && ids[0] == r.ID { // they are in the order of the rows
				out, ids = append(out, r), ids[1:]
			}
		}
		if len(out) == limit || len(rows) < size {
			return out, nil
		}
		cur, after = rows[len(rows)-1], true
	}
}

const (
	// fewHits is up to how many threads are found first and sorted then.
	fewHits = 3000
	// fewIndexed is the same where an index finds them.
	fewIndexed = 10_000
	// fewThreads is up to how many threads that a condition leaves are all looked into for a text.
	fewThreads = 1000
	// firstWindow is how many of the newest messages that match are looked at first. Each further window is
	// windowGrowth times as large.
	firstWindow  = 1000
	windowGrowth = 4
)

// findMatching finds threads by the text of their messages. A common word, or the first letter of one, is in
// most of the mail: so the newest messages that match are taken in windows, and the threads of each window
// are sorted like any list. A thread is in the window of its newest message that matches.
func (s *Server) findMatching(ctx context.Context, q *threadQuery, cur cursor, after bool, limit int) ([]cursor, error) {
	size := firstWindow
	if q.sort == "sender" || q.sort == "subject" {
		size, cur.Window = -1, 0
	}
	few, some, err := s.fewMatching(ctx, q)
	if err != nil {
		return nil, err
	}
	if some {
		cur.Window = 0
	}
	seen := map[int64]bool{}
	var out []cursor
	var last int64
	for window := 0; ; window++ {
		threads, end := few, int64(0)
		if !some {
			if threads, end, err = s.matching(ctx, q, last, size); err != nil {
				return nil, err
			}
		}
		var fresh []int64
		for _, id := range threads {
			if !seen[id] {
				fresh = append(fresh, id)
				seen[id] = true
			}
		}
		if window >= cur.Window {
			if fresh, err = s.leaveOut(ctx, q.without, fresh); err != nil {
				return nil, err
			}
			rows, err := s.sortThreads(ctx, q, fresh, cur, after && window == cur.Window, limit-len(out))
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				r.Window = window
				out = append(out, r)
			}
		}
		if some || len(out) >= limit || size < 0 || len(threads) < size {
			return out, nil
		}
		last, size = end, size*windowGrowth
	}
}

// fewMatching finds the threads that match when some condition leaves so few that all their messages can be looked at:
// a common word would have to be followed far back for them.
func (s *Server) fewMatching(ctx context.Context, q *threadQuery) (threads []int64, some bool, err error) {
	all := q.few
	if q.place != 0 {
		all = append(slices.Clone(all), cond{"SELECT thread_id FROM places WHERE place = ?", []any{q.place}})
	}
	for _, c := range all {
		ids, err := s.ids(ctx, "SELECT DISTINCT +thread_id FROM ("+c.sql+") LIMIT ?", append(slices.Clone(c.args), fewThreads+1)...)
		if err != nil {
			return nil, false, err
		}
		if len(ids) > fewThreads {
			continue
		}
		of, err := s.indexRows(ctx, ids, q.message)
		if err != nil {
			return nil, false, err
		}
		hits, err := s.hits(ctx, q.match, of)
		return hits, true, err
	}
	return nil, false, nil
}

// indexRow is a row of the search index and the thread of its message.
type indexRow struct{ row, thread int64 }

// indexRows gives the rows of those messages of threads for which the conditions hold, the newest first.
func (s *Server) indexRows(ctx context.Context, threads []int64, message []cond) ([]indexRow, error) {
	list, _ := json.Marshal(threads) // numbers
	where := joinConds(append([]cond{{"m.search_id IS NOT NULL", nil}}, message...), " AND ")
	rows, err := s.reader.QueryContext(ctx, "SELECT m.search_id, m.thread_id FROM json_each(?) h CROSS JOIN messages m ON m.thread_id = h.value WHERE "+
		where.sql, append([]any{string(list)}, where.args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []indexRow
	for rows.Next() {
		var r indexRow
		if err := rows.Scan(&r.row, &r.thread); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b indexRow) int { return cmp.Compare(b.row, a.row) })
	return out, rows.Err()
}

// hits gives the threads of those rows, sorted as indexRows does, that match. The index reads on from hit to hit much
// faster than it finds a single row, so all hits between the rows are read.
func (s *Server) hits(ctx context.Context, match string, of []indexRow) ([]int64, error) {
	if len(of) == 0 {
		return nil, nil
	}
	rows, err := s.reader.QueryContext(ctx, "SELECT rowid FROM mail_search WHERE mail_search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC",
		match, of[len(of)-1].row, of[0].row)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return nil, err
		}
		for len(of) > 0 && of[0].row > row {
			of = of[1:]
		}
		if len(of) == 0 {
			break
		}
		if of[0].row == row {
			out = append(out, of[0].thread)
		}
	}
	return out, rows.Err()
}

// leaveOut takes out the threads of which a message matches one of the expressions.
func (s *Server) leaveOut(ctx context.Context, without []string, threads []int64) ([]int64, error) {
	if len(without) == 0 || len(threads) == 0 {
		return threads, nil
	}
	of, err := s.indexRows(ctx, threads, nil)
	if err != nil {
		return nil, err
	}
	out := map[int64]bool{}
	for _, match := range without {
		hits, err := s.hits(ctx, match, of)
		if err != nil {
			return nil, err
		}
		for _, id := range hits {
			out[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(threads), func(id int64) bool { return out[id] }), nil
}

// matching gives the threads of the messages that match, the newest message first, at most limit of them behind the
// number after; all without a limit. It returns the number of the last one.
func (s *Server) matching(ctx context.Context, q *threadQuery, after int64, limit int) (threads []int64, end int64, err error) {
	conds := []cond{{"f.mail_search MATCH ?", []any{q.match}}}
	bound := func(sql string, n int64) {
		if n != 0 {
			conds = append(conds, cond{sql, []any{n}})
		}
	}
	bound("f.rowid >= ?", q.from)
	bound("f.rowid < ?", q.until)
	order := "DESC"
	if q.sort == "oldest" {
		order = "ASC"
		bound("f.rowid > ?", after)
	} else {
		bound("f.rowid < ?", after)
	}
	where := joinConds(append(conds, q.message...), " AND ")
	rows, err := s.reader.QueryContext(ctx, "SELECT m.thread_id, f.rowid FROM mail_search f CROSS JOIN messages m ON m.search_id = f.rowid WHERE "+
		where.sql+" ORDER BY f.rowid "+order+" LIMIT ?", append(where.args, limit)...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id, &end); err != nil {
			return nil, 0, err
		}
		threads = append(threads, id)
	}
	return threads, end, rows.Err()
}

// searchError tells a damaged search index from a damaged mailbox.
func searchError(err error) error {
	const codeCorruptIndex = 267 // SQLITE_CORRUPT_VTAB
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == codeCorruptIndex {
		return &apiError{http.StatusInternalServerError, "search_damaged", "The search index is damaged, the mail is not. `teapost doctor --rebuild` makes the index anew.", ""}
	}
	return err
}

// sortThreads lists those of the threads that are where the query looks.
func (s *Server) sortThreads(ctx context.Context, q *threadQuery, ids []int64, cur cursor, after bool, limit int) ([]cursor, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, _ := json.Marshal(ids) // numbers
	from := "json_each(?) h CROSS JOIN threads t ON t.id = h.value CROSS JOIN places p ON p.thread_id = t.id"
	return s.selectThreads(ctx, q, from, append([]cond{{"1", []any{string(list)}}}, q.threads...), cur, after, limit)
}

func (s *Server) selectThreads(ctx context.Context, q *threadQuery, from string, conds []cond, cur cursor, after bool, limit int) ([]cursor, error) {
	key, numeric := "p.sort_at", true
	order := "p.sort_at DESC, p.thread_id DESC"
	compare := "(p.sort_at, p.thread_id) < (?, ?)"
	switch q.sort {
	case "oldest":
		order, compare = "p.sort_at, p.thread_id", "(p.sort_at, p.thread_id) > (?, ?)"
	case "sender", "subject":
		key, numeric = "t.sort_"+q.sort, false
		order, compare = key+", t.id", "("+key+", t.id) > (?, ?)"
	}
	if q.place != 0 {
		conds = append(conds, cond{"p.place = ?", []any{q.place}})
	} else {
		// Each thread is in exactly one of these.
		conds = append(conds, cond{"p.place IN (?, ?, ?, ?)", []any{placeAll, placeSpam, placeBin, placeSnoozed}})
	}
	if after {
		var at any = cur.At
		if !numeric {
			at = cur.Text
		}
		conds = append(conds, cond{compare, []any{at, cur.ID}})
	}
	where := joinConds(conds, " AND ")
	// The key alone is selected, so that a folder is read from its index only.
	query := fmt.Sprintf("SELECT %s, p.thread_id FROM %s WHERE %s ORDER BY %s LIMIT ?", key, from, where.sql, order)
	rows, err := s.reader.QueryContext(ctx, query, append(where.args, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []cursor
	for rows.Next() {
		var r cursor
		var into any = &r.At
		if !numeric {
			into = &r.Text
		}
		if err := rows.Scan(into, &r.ID); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
