package local

import (
	"context"
	"database/sql"
	"strings"
)

var inboxCategories = []string{"primary", "promotions", "updates", "social", "forums"}

func scanCategory(row scanner) (map[string]any, error) {
	var sender, category string
	var updated int64
	err := row.Scan(&sender, &category, &updated)
	return map[string]any{"object": "sender_category", "sender": sender, "category": category, "updatedAt": instant(updated)}, err
}

// listSenderCategories gives the senders that a person sorted by hand. Nothing else sorts them here.
func (s *Server) listSenderCategories(c *call) (any, error) {
	data, err := collect(c.ctx, s.reader, scanCategory, "SELECT sender, category, updated_at FROM sender_categories ORDER BY sender")
	return list(data), err
}

func (s *Server) setSenderCategory(c *call) (any, error) {
	email, _, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	category, err := c.body.oneOf("category", "", inboxCategories...)
	if err != nil {
		return nil, err
	}
	if category == "" {
		return nil, invalidField("category", "category must be one of %s.", strings.Join(inboxCategories, ", "))
	}
	err = s.write(c.ctx, func(t *tx) error {
		return t.exec("INSERT OR REPLACE INTO sender_categories(sender, category, updated_at) VALUES(?,?,?)", email, category, t.now)
	})
	if err != nil {
		return nil, err
	}
	return scanCategory(s.reader.QueryRowContext(c.ctx, "SELECT sender, category, updated_at FROM sender_categories WHERE sender = ?", email))
}

func (s *Server) clearSenderCategory(c *call) (any, error) {
	email, _, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error { return t.exec("DELETE FROM sender_categories WHERE sender = ?", email) })
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "sender_category", "sender": email, "deleted": true}, nil
}

// inCategory is the condition that a thread t has mail of a sender of a category; primary is what no other one has.
func inCategory(category string) cond {
	const some = `EXISTS(SELECT 1 FROM messages m JOIN sender_categories sc ON sc.sender = lower(m.from_email) WHERE m.thread_id = t.id AND sc.category `
	if category == "primary" {
		return cond{"NOT " + some + "<> 'primary')", nil}
	}
	return cond{some + "= ?)", []any{category}}
}

// categoryCounts counts the threads of the inbox by category.
func categoryCounts(ctx context.Context, rtx *sql.Tx, count, unread int64) ([]any, error) {
	// From the senders on: there are few that have a category, and the inbox may be large.
	rows, err := rtx.QueryContext(ctx, `SELECT sc.category, count(DISTINCT p.thread_id), count(DISTINCT CASE WHEN p.unread THEN p.thread_id END)
		FROM sender_categories sc CROSS JOIN people pe ON pe.email = sc.sender CROSS JOIN participants x ON x.person_id = pe.id
		CROSS JOIN places p ON p.thread_id = x.thread_id AND p.place = ? WHERE sc.category <> 'primary' AND EXISTS(SELECT 1 FROM messages m
		WHERE m.thread_id = p.thread_id AND lower(m.from_email) = sc.sender) GROUP BY 1`, placeInbox)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	type pair struct{ count, unread int64 }
	counts := map[string]pair{}
	for rows.Next() {
		var category string
		var n pair
		if err := rows.Scan(&category, &n.count, &n.unread); err != nil {
			return nil, err
		}
		counts[category] = n
		count, unread = count-n.count, unread-n.unread
	}
	counts["primary"] = pair{max(0, count), max(0, unread)}
	out := []any{}
	for _, name := range inboxCategories {
		out = append(out, map[string]any{"category": name, "count": counts[name].count, "unread": counts[name].unread})
	}
	return out, rows.Err()
}
