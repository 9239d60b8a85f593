package local

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// noteSubscription notes that mail of a sender can be unsubscribed from.
func (s *Server) noteSubscription(t *tx, m *mailparse.Message, message, at int64, delivered string) error {
	if m.ListUnsubscribe == "" || len(m.From) == 0 || !validAddress(m.From[0].Email) {
		return nil
	}
	if delivered == "" {
		delivered = s.addresses[0]
	}
	oneClick := strings.EqualFold(strings.TrimSpace(m.ListUnsubscribePost), "List-Unsubscribe=One-Click")
	sender, recipient := strings.ToLower(m.From[0].Email), strings.ToLower(delivered)
	// The newest message says how.
	err := t.exec(`INSERT INTO subscriptions(sender, name, recipient, list_unsubscribe, one_click, last_seen_at) VALUES(?,?,?,?,?,?)
		ON CONFLICT(sender, recipient) DO UPDATE SET
			name = CASE WHEN excluded.last_seen_at >= last_seen_at THEN excluded.name ELSE name END,
			list_unsubscribe = CASE WHEN excluded.last_seen_at >= last_seen_at THEN excluded.list_unsubscribe ELSE list_unsubscribe END,
			one_click = CASE WHEN excluded.last_seen_at >= last_seen_at THEN excluded.one_click ELSE one_click END,
			last_seen_at = max(last_seen_at, excluded.last_seen_at)`,
		sender, strings.TrimSpace(oneLine(m.From[0].Name)), recipient, clip(m.ListUnsubscribe, 4000), oneClick, at)
	if err != nil {
		return err
	}
	return t.exec("UPDATE messages SET subscription_id = (SELECT id FROM subscriptions WHERE sender = ? AND recipient = ?) WHERE id = ?", sender, recipient, message)
}

// unsubscribeWays are the first address and the first web page of a List-Unsubscribe line.
type unsubscribeWays struct {
	mail *url.URL
	page string
}

func readUnsubscribe(header string) unsubscribeWays {
	var w unsubscribeWays
	for part := range strings.SplitSeq(header, ",") {
		u, err := url.Parse(strings.Trim(strings.TrimSpace(part), "<> "))
		if err != nil {
			continue
		}
		switch strings.ToLower(u.Scheme) {
		case "mailto":
			address, err := url.PathUnescape(u.Opaque)
			if w.mail == nil && err == nil && validAddress(address) {
				u.Opaque = address
				w.mail = u
			}
		case "https", "http":
			if w.page == "" && u.Host != "" {
				w.page = u.String()
			}
		}
	}
	return w
}

// method says how the mailbox unsubscribes. It opens no web page by itself, the one-click kind included: a page is for
// the person to open. Mail is written when it can leave the machine, or when there is nothing else.
func (s *Server) method(w unsubscribeWays) string {
	switch {
	case w.mail != nil && (s.relay != nil || w.page == ""):
		return "email"
	case w.page != "":
		return "link"
	}
	return ""
}

const recentMillis = 30 * 24 * 60 * 60 * 1000

const subscriptionColumns = `s.id, s.sender, s.name, s.recipient, s.list_unsubscribe, s.last_seen_at, s.unsubscribed_at, s.unsubscribed_with, s.rule_id,
	r.actions, count(m.id), coalesce(sum(m.unread), 0), coalesce(sum(m.received_at >= ?1), 0), coalesce(sum(m.received_at > s.unsubscribed_at), 0)
	FROM subscriptions s LEFT JOIN messages m ON m.subscription_id = s.id LEFT JOIN rules r ON r.id = s.rule_id`

type subscription struct {
	id                                int64
	sender, name, recipient, header   string
	seen                              int64
	unsubscribed                      sql.NullInt64
	with                              sql.NullString
	rule                              sql.NullInt64
	actions                           sql.NullString
	total, unread, recent, sinceEnded int64
}

func (s *Server) subscriptions(ctx context.Context, where string, args ...any) ([]*subscription, error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT "+subscriptionColumns+" WHERE "+where+" GROUP BY s.id", append([]any{s.now().UnixMilli() - recentMillis}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*subscription
	for rows.Next() {
		u := &subscription{}
		if err := rows.Scan(&u.id, &u.sender, &u.name, &u.recipient, &u.header, &u.seen, &u.unsubscribed, &u.with, &u.rule, &u.actions,
			&u.total, &u.unread, &u.recent, &u.sinceEnded); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, rows.Err()
}

func (s *Server) wireSubscription(u *subscription) map[string]any {
	ways := readUnsubscribe(u.header)
	status := "active"
	if u.unsubscribed.Valid {
		status = "unsubscribed"
	}
	var future any
	var actions []ruleAction
	if u.rule.Valid && json.Unmarshal([]byte(u.actions.String), &actions) == nil {
		f := map[string]any{"ruleId": wireID("rule", u.rule.Int64), "destination": "archive", "labelId": nil}
		for _, a := range actions {
			switch a.Type {
			case "trash":
				f["destination"] = "bin"
			case "label":
				f["destination"], f["labelId"] = "label", a.Value
			}
		}
		future = f
	}
	return map[string]any{
		"object": "subscription", "id": wireID("sub", u.id), "senderEmail": u.sender, "senderName": nullText(u.name), "recipient": u.recipient,
		"status": status, "method": nullText(s.method(ways)), "linkUrl": nullText(ways.page), "unread": u.unread, "recent": u.recent,
		"total": u.total, "sinceUnsubscribed": u.sinceEnded, "lastSeenAt": instant(u.seen), "unsubscribedAt": instantOrNull(u.unsubscribed),
		"unsubscribedWith": nullString(u.with), "future": future,
	}
}

// offset reads where a page of a list with a total begins.
func (c *call) offset() (int, error) {
	v := c.query.Get("offset")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, badRequest("invalid_offset", "offset", "offset must be a whole number.")
	}
	return n, nil
}

// wantedSubscriptions are those that a list asks for in status, q and address, and how many there are of each status.
func (s *Server) wantedSubscriptions(c *call) (out []*subscription, counts map[string]any, err error) {
	where, args := "1", []any{}
	if v := c.query.Get("address"); v != "" {
		where, args = where+" AND s.recipient = ?", append(args, strings.ToLower(v))
	}
	all, err := s.subscriptions(c.ctx, where, args...)
	if err != nil {
		return nil, nil, err
	}
	status := c.query.Get("status")
	switch status {
	case "", "active", "unsubscribed":
	default:
		return nil, nil, invalidField("status", "status must be active or unsubscribed.")
	}
	q := fold(strings.TrimSpace(c.query.Get("q")))
	active := 0
	for _, u := range all {
		if !u.unsubscribed.Valid {
			active++
		}
		if status != "" && (status == "unsubscribed") != u.unsubscribed.Valid || !strings.Contains(fold(u.name+" "+u.sender), q) {
			continue
		}
		out = append(out, u)
	}
	return out, map[string]any{"active": active, "unsubscribed": len(all) - active}, nil
}

// sorted orders by the query value sort; name, seen, total and unread tell how.
func sorted[T any](c *call, in []T, name func(T) string, seen, total, unread func(T) int64) error {
	var less func(a, b T) int
	by := func(f func(T) int64) func(a, b T) int { return func(a, b T) int { return cmp.Compare(f(b), f(a)) } }
	switch c.query.Get("sort") {
	case "", "recent":
		less = by(seen)
	case "most":
		less = by(total)
	case "unread":
		less = by(unread)
	case "name":
		less = func(a, b T) int { return strings.Compare(fold(name(a)), fold(name(b))) }
	default:
		return invalidField("sort", "sort must be recent, most, unread or name.")
	}
	slices.SortStableFunc(in, less)
	return nil
}

// slicePage cuts the page of limit and offset out of a whole list.
func slicePage[T any](c *call, in []T, counts map[string]any, wire func(T) map[string]any) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	offset, err := c.offset()
	if err != nil {
		return nil, err
	}
	data := []any{}
	for i := offset; i < len(in) && len(data) < limit; i++ {
		data = append(data, wire(in[i]))
	}
	return map[string]any{"object": "list", "data": data, "total": len(in), "counts": counts, "hasMore": offset+len(data) < len(in)}, nil
}

func (s *Server) listSubscriptions(c *call) (any, error) {
	all, counts, err := s.wantedSubscriptions(c)
	if err != nil {
		return nil, err
	}
	err = sorted(c, all, func(u *subscription) string { return u.name + " " + u.sender }, func(u *subscription) int64 { return u.seen },
		func(u *subscription) int64 { return u.total }, func(u *subscription) int64 { return u.unread })
	if err != nil {
		return nil, err
	}
	return slicePage(c, all, counts, s.wireSubscription)
}

func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

// listSubscriptionDomains gathers the subscriptions by the domain of the sender.
func (s *Server) listSubscriptionDomains(c *call) (any, error) {
	all, counts, err := s.wantedSubscriptions(c)
	if err != nil {
		return nil, err
	}
	type group struct {
		subscription
		domain                  string
		senders, unsubscribable int
	}
	byDomain := map[string]*group{}
	var groups []*group
	for _, u := range all {
		d := domainOf(u.sender)
		g := byDomain[d]
		if g == nil {
			g = &group{domain: d}
			byDomain[d] = g
			groups = append(groups, g)
		}
		g.senders++
		if !u.unsubscribed.Valid && s.method(readUnsubscribe(u.header)) != "" {
			g.unsubscribable++
		}
		g.total, g.unread, g.recent, g.sinceEnded = g.total+u.total, g.unread+u.unread, g.recent+u.recent, g.sinceEnded+u.sinceEnded
		if u.seen >= g.seen {
			g.seen, g.sender, g.name = u.seen, u.sender, u.name
		}
	}
	err = sorted(c, groups, func(g *group) string { return g.domain }, func(g *group) int64 { return g.seen },
		func(g *group) int64 { return g.total }, func(g *group) int64 { return g.unread })
	if err != nil {
		return nil, err
	}
	return slicePage(c, groups, counts, func(g *group) map[string]any {
		name := g.name
		if name == "" {
			name = g.domain
		}
		return map[string]any{
			"object": "subscription_domain", "domain": g.domain, "name": name, "sampleEmail": g.sender, "senders": g.senders,
			"unsubscribable": g.unsubscribable, "unread": g.unread, "recent": g.recent, "total": g.total, "sinceUnsubscribed": g.sinceEnded,
			"lastSeenAt": instant(g.seen),
		}
	})
}

func (s *Server) subscription(c *call) (*subscription, error) {
	id, err := c.id("sub", "subscription")
	if err != nil {
		return nil, err
	}
	all, err := s.subscriptions(c.ctx, "s.id = ?", id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound("subscription", "")
	}
	return all[0], nil
}

func nothingToUnsubscribe() error {
	return &apiError{422, "nothing_to_unsubscribe", "The sender says neither an address nor a web page to unsubscribe.", ""}
}

// unsubscribe ends one subscription, as its sender asks for.
func (s *Server) unsubscribe(t *tx, u *subscription, bin bool) (method, page string, binned int, err error) {
	ways := readUnsubscribe(u.header)
	method = s.method(ways)
	switch method {
	case "":
		return "", "", 0, nothingToUnsubscribe()
	case "email":
		q := ways.mail.Query()
		subject, body := strings.TrimSpace(noControls(q.Get("subject"))), q.Get("body")
		if subject == "" {
			subject = "unsubscribe"
		}
		if body == "" {
			body = "unsubscribe"
		}
		err := s.enqueue(t, mailparse.Outgoing{
			From: s.asSender(u.recipient), To: []mailparse.Address{{Email: ways.mail.Opaque}}, Subject: clip(subject, 500), Text: clip(body, 4000),
		}, 0)
		if err != nil {
			return "", "", 0, err
		}
	case "link":
		page = ways.page
	}
	if err := t.exec("UPDATE subscriptions SET unsubscribed_at = coalesce(unsubscribed_at, ?), unsubscribed_with = ? WHERE id = ?", t.now, method, u.id); err != nil {
		return "", "", 0, err
	}
	if bin {
		binned, err = t.moveSubscription(u.id, func(th *thread) error { th.trashed = true; return nil })
	}
	return method, page, binned, err
}

// moveSubscription changes the threads of a subscription that nobody here wrote in.
func (t *tx) moveSubscription(id int64, change func(*thread) error) (int, error) {
	ids, err := t.ids("SELECT DISTINCT thread_id FROM messages WHERE subscription_id = ?", id)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, thread := range ids {
		th, err := t.thread(thread)
		if err != nil {
			return 0, err
		}
		if th.outgoing > 0 || th.trashed {
			continue
		}
		if err := change(th); err != nil {
			return 0, err
		}
		if err := t.saveThread(th); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (s *Server) endSubscription(c *call, u *subscription, bin bool) (map[string]any, error) {
	var method, page string
	var binned int
	err := s.write(c.ctx, func(t *tx) error {
		var err error
		method, page, binned, err = s.unsubscribe(t, u, bin)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "unsubscribe", "subscriptionId": wireID("sub", u.id), "method": method, "url": nullText(page), "binned": binned}, nil
}

func (s *Server) unsubscribeOne(c *call) (any, error) {
	bin, _, err := c.body.boolean("bin")
	if err != nil {
		return nil, err
	}
	u, err := s.subscription(c)
	if err != nil {
		return nil, err
	}
	return s.endSubscription(c, u, bin)
}

// unsubscribeThread ends the subscription that the newest message of a thread belongs to.
func (s *Server) unsubscribeThread(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	var m storedMessage
	var subscribed sql.NullInt64
	err = s.reader.QueryRowContext(c.ctx, `SELECT m.id, m.received_at, m.delivered_to, m.subscription_id, r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id
		WHERE m.thread_id = ? AND m.outgoing = 0 ORDER BY m.received_at DESC, m.id DESC LIMIT 1`, thread).
		Scan(&m.id, &m.receivedAt, &m.deliveredTo, &subscribed, &m.encoding, &m.data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nothingToUnsubscribe()
	}
	if err != nil {
		return nil, err
	}
	if !subscribed.Valid {
		msg, err := m.parse(c.ctx)
		if err != nil {
			return nil, err
		}
		err = s.write(c.ctx, func(t *tx) error {
			if err := s.noteSubscription(t, msg, m.id, m.receivedAt, m.deliveredTo.String); err != nil {
				return err
			}
			return t.row("SELECT subscription_id FROM messages WHERE id = ?", []any{m.id}, &subscribed)
		})
		if err != nil {
			return nil, err
		}
	}
	all, err := s.subscriptions(c.ctx, "s.id = ?", subscribed)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, nothingToUnsubscribe()
	}
	out, err := s.endSubscription(c, all[0], false)
	if err != nil {
		return nil, err
	}
	out["threadId"] = c.params[0]
	return out, nil
}

// unsubscribeDomain ends what can be ended without a person: those that need a web page are skipped.
func (s *Server) unsubscribeDomain(c *call) (any, error) {
	bin, _, err := c.body.boolean("bin")
	if err != nil {
		return nil, err
	}
	address, err := c.body.text("address")
	if err != nil {
		return nil, err
	}
	domain := strings.ToLower(c.params[0])
	all, err := s.subscriptions(c.ctx, `(?2 = '' OR s.recipient = ?2) AND s.sender LIKE ?3 ESCAPE '\'`, strings.ToLower(address), "%@"+escapeLike(domain))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound("subscription", "domain")
	}
	done, skipped, binned := 0, 0, 0
	err = s.write(c.ctx, func(t *tx) error {
		for _, u := range all {
			if u.unsubscribed.Valid || s.method(readUnsubscribe(u.header)) != "email" {
				skipped++
				continue
			}
			_, _, n, err := s.unsubscribe(t, u, bin)
			if err != nil {
				return err
			}
			done, binned = done+1, binned+n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "domain_unsubscribe", "domain": domain, "unsubscribed": done, "skipped": skipped, "failed": 0, "binned": binned}, nil
}

// moveOne moves what came of a subscription; with future a rule does so with what will come.
func (s *Server) moveOne(c *call) (any, error) {
	to, err := c.body.oneOf("destination", "", "archive", "bin", "label")
	if err != nil {
		return nil, err
	}
	if to == "" {
		return nil, invalidField("destination", "destination must be archive, bin or label.")
	}
	label, err := c.body.text("labelId")
	if err != nil {
		return nil, err
	}
	if to == "label" && label == "" {
		return nil, invalidField("labelId", "labelId is missing.")
	}
	future, _, err := c.body.boolean("future")
	if err != nil {
		return nil, err
	}
	name, err := c.body.text("ruleName")
	if err != nil {
		return nil, err
	}
	u, err := s.subscription(c)
	if err != nil {
		return nil, err
	}
	if name = clip(strings.TrimSpace(noControls(name)), 200); name == "" {
		name = "Mail from " + u.sender
	}
	actions := map[string][]ruleAction{
		"archive": {{Type: "archive"}}, "bin": {{Type: "trash"}}, "label": {{Type: "label", Value: label}, {Type: "archive"}},
	}[to]
	moved := 0
	var rule sql.NullInt64
	err = s.write(c.ctx, func(t *tx) error {
		moved, err = t.moveSubscription(u.id, func(th *thread) error {
			switch to {
			case "bin":
				th.trashed = true
			case "archive":
				th.inbox = false
			default:
				th.inbox = false
				return t.setLabel(th, label, true)
			}
			return nil
		})
		if err != nil || !future {
			return err
		}
		if u.rule.Valid {
			if err := t.exec("DELETE FROM rules WHERE id = ?", u.rule.Int64); err != nil {
				return err
			}
		}
		rule.Valid = true
		rule.Int64, err = t.addRule(&ruleInput{
			name: name, match: "all", enabled: true, actions: actions,
			conditions: []ruleCondition{{Field: "from", Op: "equals", Value: u.sender}, {Field: "delivered_to", Op: "equals", Value: u.recipient}},
		})
		if err != nil {
			return err
		}
		return t.exec("UPDATE subscriptions SET rule_id = ? WHERE id = ?", rule, u.id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "subscription_move", "subscriptionId": c.params[0], "moved": moved, "ruleId": wireIDOrNull("rule", rule)}, nil
}
