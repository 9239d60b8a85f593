package local

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	ruleColumns = "id, name, description, enabled, position, match, conditions, actions, stop, last_matched_at, match_count, created_at, updated_at"
	maxRules    = 500
	maxRulePart = 50
)

func scanRule(row scanner) (id int64, out map[string]any, err error) {
	var name, match, conditions, actions string
	var description sql.NullString
	var enabled, stop bool
	var position, count, created, updated int64
	var matched sql.NullInt64
	err = row.Scan(&id, &name, &description, &enabled, &position, &match, &conditions, &actions, &stop, &matched, &count, &created, &updated)
	if err != nil {
		return 0, nil, err
	}
	return id, map[string]any{
		"object": "rule", "id": wireID("rule", id), "name": name, "description": nullString(description), "enabled": enabled, "position": position,
		"match": match, "conditions": json.RawMessage(conditions), "actions": json.RawMessage(actions), "stopProcessing": stop,
		"lastMatchedAt": instantOrNull(matched), "matchCount": count, "createdAt": instant(created), "updatedAt": instant(updated),
	}, nil
}

// allRules gives every rule in the order in which they act.
func (s *Server) allRules(c *call, where string) ([]any, error) {
	return s.listAll(c, scanRule, "SELECT "+ruleColumns+" FROM rules WHERE "+where+" ORDER BY position, id")
}

func (s *Server) listRules(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	where := "1"
	if on, given, err := c.queryBool("enabled"); err != nil {
		return nil, err
	} else if given && on {
		where = "enabled = 1"
	} else if given {
		where = "enabled = 0"
	}
	data, err := s.allRules(c, where)
	if err != nil {
		return nil, err
	}
	return p.of(data), nil // there are few, and they are ordered by hand
}

// ruleInput is a rule as a request says it.
type ruleInput struct {
	name, match string
	description sql.NullString
	enabled     bool
	conditions  []ruleCondition
	actions     []ruleAction
	stop        bool
}

func (r *ruleInput) read(f fields) error {
	var err error
	if _, given := f["name"]; given || r.name == "" {
		if r.name, err = f.name("A rule"); err != nil {
			return err
		}
	}
	if _, given := f["description"]; given {
		v, err := f.text("description")
		if err != nil {
			return err
		}
		r.description = sql.NullString{String: clip(v, 2000), Valid: v != ""}
	}
	if r.match, err = f.oneOf("match", r.match, "all", "any"); err != nil {
		return err
	}
	for name, into := range map[string]*bool{"enabled": &r.enabled, "stopProcessing": &r.stop} {
		if v, given, err := f.boolean(name); err != nil {
			return err
		} else if given {
			*into = v
		}
	}
	if _, given := f["conditions"]; given || r.conditions == nil {
		if r.conditions, err = readConditions(f["conditions"]); err != nil {
			return err
		}
	}
	if _, given := f["actions"]; given || r.actions == nil {
		if r.actions, err = readActions(f["actions"]); err != nil {
			return err
		}
	}
	return nil
}

// objects reads a list of 1 to maxRulePart objects.
func objects(param string, v any) ([]fields, error) {
	raw, ok := v.([]any)
	if !ok || len(raw) == 0 || len(raw) > maxRulePart {
		return nil, invalidField(param, "%s must be a list of 1 to %d objects.", param, maxRulePart)
	}
	out := make([]fields, 0, len(raw))
	for _, e := range raw {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, invalidField(param, "%s must be a list of objects.", param)
		}
		out = append(out, m)
	}
	return out, nil
}

func readConditions(v any) ([]ruleCondition, error) {
	const param = "conditions"
	parts, err := objects(param, v)
	if err != nil {
		return nil, err
	}
	var out []ruleCondition
	for i, f := range parts {
		var c ruleCondition
		for name, into := range map[string]*string{"field": &c.Field, "op": &c.Op, "value": &c.Value, "header": &c.Header} {
			if *into, err = f.text(name); err != nil {
				return nil, invalidField(param, "The %s of condition %d must be a string.", name, i+1)
			}
		}
		if c.Negate, _, err = f.boolean("negate"); err != nil {
			return nil, invalidField(param, "negate of condition %d must be true or false.", i+1)
		}
		numeric := slices.Contains(numericFields, c.Field)
		_, notNumber := strconv.ParseFloat(strings.TrimSpace(c.Value), 64)
		switch {
		case !slices.Contains(ruleFields, c.Field):
			return nil, invalidField(param, "Condition %d has no known field.", i+1)
		case !slices.Contains(ruleOps, c.Op):
			return nil, invalidField(param, "Condition %d has no known op.", i+1)
		case c.Field == "header" && c.Header == "":
			return nil, invalidField(param, "Condition %d names no header.", i+1)
		case (c.Op == "gt" || c.Op == "lt") && (!numeric || notNumber != nil):
			return nil, invalidField(param, "Condition %d compares something that is no number.", i+1)
		case c.Value == "" && c.Field != "list_id" && c.Field != "subject":
			return nil, invalidField(param, "Condition %d has no value.", i+1)
		}
		if err := c.prepare(); err != nil {
			return nil, invalidField(param, "The pattern of condition %d cannot be read: %s.", i+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func readActions(v any) ([]ruleAction, error) {
	const param = "actions"
	parts, err := objects(param, v)
	if err != nil {
		return nil, err
	}
	var out []ruleAction
	for i, f := range parts {
		var a ruleAction
		for name, into := range map[string]*string{"type": &a.Type, "value": &a.Value} {
			if *into, err = f.text(name); err != nil {
				return nil, invalidField(param, "The %s of action %d must be a string.", name, i+1)
			}
		}
		switch {
		case !slices.Contains(ruleActions, a.Type):
			return nil, invalidField(param, "Action %d has no known type.", i+1)
		case slices.Contains([]string{"label", "remove_label", "reply"}, a.Type) && strings.TrimSpace(a.Value) == "":
			return nil, invalidField(param, "Action %d needs a value.", i+1)
		case a.Type == "forward" && !validAddress(a.Value):
			return nil, invalidField(param, "Action %d needs an email address.", i+1)
		}
		out = append(out, a)
	}
	return out, nil
}

func (r *ruleInput) json() (conditions, actions string, err error) {
	a, err := json.Marshal(r.conditions)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(r.actions)
	return string(a), string(b), err
}

func (s *Server) rule(c *call, id int64) (any, error) {
	_, out, err := scanRule(s.reader.QueryRowContext(c.ctx, "SELECT "+ruleColumns+" FROM rules WHERE id = ?", id))
	return out, found(err, "rule", "")
}

func (s *Server) getRule(c *call) (any, error) {
	id, err := c.id("rule", "rule")
	if err != nil {
		return nil, err
	}
	return s.rule(c, id)
}

func (s *Server) createRule(c *call) (any, error) {
	r := &ruleInput{match: "all", enabled: true}
	if err := r.read(c.body); err != nil {
		return nil, err
	}
	var id int64
	err := s.write(c.ctx, func(t *tx) error {
		var err error
		id, err = t.addRule(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.rule(c, id)
}

func (t *tx) addRule(r *ruleInput) (int64, error) {
	var n int
	var position int64
	if err := t.row("SELECT count(*), coalesce(max(position) + 1, 0) FROM rules", nil, &n, &position); err != nil {
		return 0, err
	}
	if n >= maxRules {
		return 0, &apiError{422, "workspace_limit_reached", fmt.Sprintf("There are %d rules, the most that there can be; delete one first.", maxRules), ""}
	}
	conditions, actions, err := r.json()
	if err != nil {
		return 0, err
	}
	return t.insert(`INSERT INTO rules(name, description, enabled, position, match, conditions, actions, stop, created_at, updated_at)
		VALUES(?,?,?,?,?,?,?,?,?,?)`, r.name, r.description, r.enabled, position, r.match, conditions, actions, r.stop, t.now, t.now)
}

func (s *Server) updateRule(c *call) (any, error) {
	id, err := c.id("rule", "rule")
	if err != nil {
		return nil, err
	}
	position, move, err := c.body.whole("position")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		r := &ruleInput{}
		var conditions, actions string
		err := t.row("SELECT name, description, enabled, match, conditions, actions, stop FROM rules WHERE id = ?", []any{id},
			&r.name, &r.description, &r.enabled, &r.match, &conditions, &actions, &r.stop)
		if err != nil {
			return found(err, "rule", "")
		}
		if err := json.Unmarshal([]byte(conditions), &r.conditions); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(actions), &r.actions); err != nil {
			return err
		}
		if err := r.read(c.body); err != nil {
			return err
		}
		if conditions, actions, err = r.json(); err != nil {
			return err
		}
		err = t.exec(`UPDATE rules SET name = ?, description = ?, enabled = ?, match = ?, conditions = ?, actions = ?, stop = ?, updated_at = ? WHERE id = ?`,
			r.name, r.description, r.enabled, r.match, conditions, actions, r.stop, t.now, id)
		if err != nil || !move {
			return err
		}
		ids, err := t.ids("SELECT id FROM rules WHERE id <> ? ORDER BY position, id", id)
		if err != nil {
			return err
		}
		return t.orderRules(slices.Insert(ids, int(min(max(position, 0), int64(len(ids)))), id))
	})
	if err != nil {
		return nil, err
	}
	return s.rule(c, id)
}

func (t *tx) orderRules(ids []int64) error {
	for i, id := range ids {
		if err := t.exec("UPDATE rules SET position = ? WHERE id = ?", i, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) deleteRule(c *call) (any, error) {
	id, err := c.id("rule", "rule")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.exec("UPDATE subscriptions SET rule_id = NULL WHERE rule_id = ?", id); err != nil {
			return err
		}
		return t.mustChange("rule", "DELETE FROM rules WHERE id = ?", id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "rule", "id": c.params[0], "deleted": true}, nil
}

// reorderRules puts the named rules first, in that order; others follow as they were.
func (s *Server) reorderRules(c *call) (any, error) {
	wires, err := c.body.textsUpTo("ruleIds", maxRules)
	if err != nil {
		return nil, err
	}
	if len(wires) == 0 {
		return nil, invalidField("ruleIds", "ruleIds must be a list of rules.")
	}
	err = s.write(c.ctx, func(t *tx) error {
		have, err := t.ids("SELECT id FROM rules ORDER BY position, id")
		if err != nil {
			return err
		}
		var order []int64
		for _, w := range unique(wires) {
			id, ok := parseID("rule", w)
			if !ok || !slices.Contains(have, id) {
				return notFound("rule", "ruleIds")
			}
			order = append(order, id)
		}
		for _, id := range have {
			if !slices.Contains(order, id) {
				order = append(order, id)
			}
		}
		return t.orderRules(order)
	})
	if err != nil {
		return nil, err
	}
	data, err := s.allRules(c, "1")
	return list(data), err
}

// maxTestedThreads is the most threads that a test of a rule may name.
const maxTestedThreads = 1000

// testRule says on which messages of the last days a rule would have acted. It changes nothing.
func (s *Server) testRule(c *call) (any, error) {
	id, err := c.id("rule", "rule")
	if err != nil {
		return nil, err
	}
	rules, err := loadRules(c.ctx, s.reader, "id = ?", id)
	if err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, notFound("rule", "")
	}
	r := rules[0]
	where, limit, err := s.testedMessages(c)
	if err != nil {
		return nil, err
	}
	rows, err := s.reader.QueryContext(c.ctx, `SELECT m.id, m.thread_id, m.received_at, m.size, m.delivered_to, t.spam, r.encoding, r.data FROM messages m
		JOIN threads t ON t.id = m.thread_id JOIN raws r ON r.message_id = m.id WHERE `+where.String()+" ORDER BY m.received_at DESC, m.id DESC LIMIT ?", append(where.args, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	scanned, messages := 0, []any{}
	sealed := false
	for rows.Next() {
		var m storedMessage
		a := &about{}
		if err := rows.Scan(&m.id, &m.threadID, &m.receivedAt, &a.size, &m.deliveredTo, &a.spam, &m.encoding, &m.data); err != nil {
			return nil, err
		}
		if a.msg, err = m.parse(c.ctx); err != nil {
			return nil, err
		}
		a.body, a.delivered, a.at = fold(clip(readable(a.msg), 1<<20)), m.deliveredTo.String, time.UnixMilli(m.receivedAt).In(s.now().Location())
		scanned++
		sealed = sealed || strings.HasPrefix(a.msg.Encryption, "pgp-") && a.msg.Encryption != "pgp-signed" || a.msg.Encryption == "smime-encrypted"
		if !r.matches(a) {
			continue
		}
		from := ""
		if len(a.msg.From) > 0 {
			from = a.msg.From[0].String()
		}
		messages = append(messages, map[string]any{
			"threadId": wireID("thr", m.threadID), "from": from, "subject": a.msg.Subject, "receivedAt": instant(m.receivedAt),
		})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	apply := []string{}
	if len(messages) > 0 {
		for _, a := range r.actions {
			apply = append(apply, a.String())
		}
	}
	return map[string]any{
		"object": "rule_test", "ruleId": c.params[0], "scanned": scanned, "matched": len(messages), "wouldApply": apply,
		"messages": messages, "warnings": s.ruleWarnings(r, sealed),
	}, nil
}

// testedMessages reads which messages a rule is tried on.
func (s *Server) testedMessages(c *call) (where conditions, limit int64, err error) {
	days, given, err := c.body.whole("days")
	if err != nil || given && days < 1 {
		return where, 0, invalidField("days", "days must be a whole number of at least 1.")
	}
	if !given {
		days = 30
	}
	limit, given, err = c.body.whole("limit")
	if err != nil || given && limit < 1 {
		return where, 0, invalidField("limit", "limit must be a whole number of at least 1.")
	}
	if !given {
		limit = 200
	}
	threads, err := c.body.textsUpTo("threadIds", maxTestedThreads)
	if err != nil {
		return where, 0, err
	}
	where.add("m.incoming = 1")
	if len(threads) == 0 {
		where.add("m.received_at >= ?", s.now().Add(-time.Duration(min(days, 36500))*24*time.Hour).UnixMilli())
	} else {
		var ids []any
		for _, w := range threads {
			id, err := s.lookupThread(c.ctx, w, "threadIds")
			if err != nil {
				return where, 0, err
			}
			ids = append(ids, id)
		}
		where.add("m.thread_id IN (?"+strings.Repeat(",?", len(ids)-1)+")", ids...)
	}
	return where, min(limit, 1000), nil
}

// ruleWarnings says what a test of a rule cannot show; sealed means that some of its messages are encrypted.
func (s *Server) ruleWarnings(r *rule, sealed bool) []any {
	warnings := []any{}
	usesBody := slices.ContainsFunc(r.conditions, func(c ruleCondition) bool { return c.Field == "body" })
	if sealed && usesBody {
		warnings = append(warnings, map[string]any{"code": "body_encrypted", "value": "body"})
	}
	for _, a := range r.actions {
		if a.Type == "forward" && s.own[strings.ToLower(a.Value)] {
			warnings = append(warnings, map[string]any{"code": "forward_loop", "value": a.Value})
		}
	}
	return warnings
}

func (s *Server) listRuleRuns(c *call) (any, error) {
	query, args := "SELECT id, rule_id, rule_name, thread_id, message_id, sender, subject, actions, failures, created_at FROM rule_runs WHERE 1", []any{}
	if v := c.query.Get("ruleId"); v != "" {
		id, ok := parseID("rule", v)
		if !ok {
			return nil, notFound("rule", "ruleId")
		}
		query, args = query+" AND rule_id = ?", append(args, id)
	}
	if v := c.query.Get("threadId"); v != "" {
		id, err := s.lookupThread(c.ctx, v, "threadId")
		if err != nil {
			return nil, err
		}
		query, args = query+" AND thread_id = ?", append(args, id)
	}
	return s.listByID(c, query, args, func(row scanner) (int64, any, error) {
		var id, rule, thread, message, created int64
		var name, sender, subject, actions, failures string
		err := row.Scan(&id, &rule, &name, &thread, &message, &sender, &subject, &actions, &failures, &created)
		return id, map[string]any{
			"object": "rule_run", "id": wireID("run", id), "ruleId": wireID("rule", rule), "ruleName": name, "threadId": wireID("thr", thread),
			"messageId": wireID("msg", message), "sender": sender, "subject": subject, "actions": json.RawMessage(actions),
			"failures": json.RawMessage(failures), "createdAt": instant(created),
		}, err
	})
}
