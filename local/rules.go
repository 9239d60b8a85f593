package local

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

var (
	ruleFields = []string{
		"from", "from_domain", "envelope_from", "to", "cc", "bcc", "recipient", "reply_to", "delivered_to", "subject", "body", "header",
		"list_id", "attachment_name", "attachment_type", "has_attachment", "attachment_size", "message_size", "spam", "hour", "weekday",
	}
	ruleOps     = []string{"matches", "contains", "equals", "starts_with", "ends_with", "gt", "lt"}
	ruleActions = []string{
		"label", "remove_label", "archive", "mark_read", "star", "spam", "trash", "forward", "reply", "block_sender", "reject",
	}
	numericFields = []string{"attachment_size", "message_size", "hour", "weekday"}
	weekdays      = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

type ruleCondition struct {
	Field  string `json:"field"`
	Op     string `json:"op"`
	Value  string `json:"value"`
	Header string `json:"header,omitempty"`
	Negate bool   `json:"negate"`

	folded  string
	pattern *regexp.Regexp
}

type ruleAction struct {
	Type  string `json:"type"`
	Value string `json:"value,omitempty"`
}

// String names an action as runs and tests do: "label:lbl_1".
func (a ruleAction) String() string {
	if a.Value == "" || a.Type == "reply" || a.Type == "reject" {
		return a.Type
	}
	return a.Type + ":" + a.Value
}

// rule is one that is ready to be applied.
type rule struct {
	id         int64
	name       string
	all        bool
	conditions []ruleCondition
	actions    []ruleAction
	stop       bool
}

const maxPattern = 1000

// prepare makes a condition ready; the error is for whoever wrote it.
func (c *ruleCondition) prepare() error {
	c.folded = fold(c.Value)
	if c.Op != "matches" {
		return nil
	}
	if len(c.Value) > maxPattern {
		return fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	p, err := regexp.Compile("(?i)" + c.Value)
	c.pattern = p
	return err
}

// about is what rules look at. A message is parsed once for all of them.
type about struct {
	msg       *mailparse.Message
	size      int
	body      string // folded
	delivered string
	at        time.Time
	spam      bool
}

func addresses(lists ...[]mailparse.Address) []string {
	var out []string
	for _, l := range lists {
		for _, a := range l {
			out = append(out, a.Email, strings.TrimSpace(a.Name+" <"+a.Email+">"))
		}
	}
	return out
}

// values gives what a field of a message holds; a condition holds when it does for one of them.
func (c *ruleCondition) values(a *about) []string {
	m := a.msg
	header := func(names ...string) []string {
		var out []string
		for _, n := range names {
			out = append(out, m.Header(n)...)
		}
		return out
	}
	switch c.Field {
	case "from":
		return addresses(m.From)
	case "from_domain":
		var out []string
		for _, f := range m.From {
			_, domain, _ := strings.Cut(f.Email, "@")
			out = append(out, domain)
		}
		return out
	case "envelope_from":
		var out []string
		for _, v := range header("Return-Path") {
			out = append(out, strings.Trim(strings.TrimSpace(v), "<>"))
		}
		return out
	case "to":
		return addresses(m.To)
	case "cc":
		return addresses(m.Cc)
	case "bcc":
		return addresses(m.Bcc)
	case "recipient":
		return addresses(m.To, m.Cc, m.Bcc)
	case "reply_to":
		return addresses(m.ReplyTo)
	case "delivered_to":
		return []string{a.delivered}
	case "subject":
		return []string{m.Subject}
	case "body":
		return []string{a.body}
	case "header":
		return header(c.Header)
	case "list_id":
		return []string{m.ListID}
	case "attachment_name", "attachment_type", "attachment_size":
		var out []string
		for _, f := range m.Attachments {
			switch c.Field {
			case "attachment_name":
				out = append(out, f.Filename)
			case "attachment_type":
				out = append(out, f.ContentType)
			default:
				out = append(out, strconv.FormatInt(f.Size, 10))
			}
		}
		return out
	case "has_attachment":
		return []string{strconv.FormatBool(slices.ContainsFunc(m.Attachments, func(f mailparse.Attachment) bool { return !f.Inline }))}
	case "message_size":
		return []string{strconv.Itoa(a.size)}
	case "spam":
		return []string{strconv.FormatBool(a.spam)}
	case "hour":
		return []string{strconv.Itoa(a.at.Hour())}
	case "weekday":
		return []string{weekdays[a.at.Weekday()], strconv.Itoa(int(a.at.Weekday()))}
	}
	return nil
}

func (c *ruleCondition) holds(a *about) bool {
	return slices.ContainsFunc(c.values(a), c.fits) != c.Negate
}

func (c *ruleCondition) fits(v string) bool {
	switch c.Op {
	case "matches":
		return c.pattern.MatchString(clip(v, 1<<20))
	case "gt", "lt":
		have, err1 := strconv.ParseFloat(strings.TrimSpace(v), 64)
		want, err2 := strconv.ParseFloat(strings.TrimSpace(c.Value), 64)
		if err1 != nil || err2 != nil {
			return false
		}
		if c.Op == "gt" {
			return have > want
		}
		return have < want
	}
	folded := fold(v)
	switch c.Op {
	case "contains":
		return strings.Contains(folded, c.folded)
	case "starts_with":
		return strings.HasPrefix(folded, c.folded)
	case "ends_with":
		return strings.HasSuffix(folded, c.folded)
	}
	return folded == c.folded
}

func (r *rule) matches(a *about) bool {
	for i := range r.conditions {
		if held := r.conditions[i].holds(a); held != r.all {
			return held
		}
	}
	return r.all
}

// loadRules reads the rules that are on, in their order.
func loadRules(ctx context.Context, db queryer, where string, args ...any) ([]*rule, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, name, match, conditions, actions, stop FROM rules WHERE "+where+" ORDER BY position, id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*rule
	for rows.Next() {
		r := &rule{}
		var match, conditions, actions string
		if err := rows.Scan(&r.id, &r.name, &match, &conditions, &actions, &r.stop); err != nil {
			return nil, err
		}
		r.all = match == "all"
		if err := json.Unmarshal([]byte(conditions), &r.conditions); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(actions), &r.actions); err != nil {
			return nil, err
		}
		for i := range r.conditions {
			if err := r.conditions[i].prepare(); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// ruleSet is what decides about new mail, read once a transaction.
type ruleSet struct {
	rules    []*rule
	settings settingsValues
	words    []string // folded
}

func (t *tx) ruleSet() (*ruleSet, error) {
	if t.rules != nil {
		return t.rules, nil
	}
	var err error
	set := &ruleSet{}
	if set.rules, err = loadRules(t.ctx, t.Tx, "enabled = 1"); err != nil {
		return nil, err
	}
	if set.settings, err = t.settings(""); err != nil {
		return nil, err
	}
	for _, w := range set.settings.texts("blockedWords") {
		if f := strings.TrimSpace(fold(w)); f != "" {
			set.words = append(set.words, f)
		}
	}
	t.rules = set
	return set, nil
}

// blocks tells whether the lists of senders, domains and words call a message spam.
func (set *ruleSet) blocks(a *about) bool {
	for _, f := range a.msg.From {
		if set.settings.blockedBy(f.Email) != nil {
			return true
		}
	}
	if len(set.words) == 0 {
		return false
	}
	text := fold(a.msg.Subject) + "\n" + a.body
	return slices.ContainsFunc(set.words, func(w string) bool { return strings.Contains(text, w) })
}

// applyRules lets the rules act on a new message. Old mail, which an import brings, is sorted, but nothing is sent because
// of it.
func (s *Server) applyRules(t *tx, p *parsed, in Ingested, o IngestOptions, received int64, delivered string) error {
	set, err := t.ruleSet()
	if err != nil {
		return err
	}
	if len(set.rules) == 0 && len(set.words) == 0 && len(set.settings.texts("blockedSenders")) == 0 && len(set.settings.texts("blockedDomains")) == 0 {
		return nil
	}
	thread, _ := parseID("thr", in.ThreadID)
	a := &about{msg: p.msg, size: p.size, body: fold(clip(readable(p.msg), 1<<20)), delivered: delivered, at: time.UnixMilli(received).In(s.now().Location())}
	th, err := t.thread(thread)
	if err != nil {
		return err
	}
	a.spam = th.spam
	if set.blocks(a) && !th.spam {
		a.spam = true
		if err := t.setLabel(th, labelSpam, true); err != nil {
			return err
		}
		if err := t.saveThread(th); err != nil {
			return err
		}
	}
	for _, r := range set.rules {
		if !r.matches(a) {
			continue
		}
		if err := s.runRule(t, r, th, p, in, o.Arrival); err != nil {
			return err
		}
		if r.stop {
			break
		}
	}
	return nil
}

// runRule does what a rule says and keeps a record of it.
func (s *Server) runRule(t *tx, r *rule, th *thread, p *parsed, in Ingested, arrival bool) error {
	done, failures := []string{}, []string{}
	for _, a := range r.actions {
		why, err := s.act(t, a, th, p, in, arrival)
		if err != nil {
			return err
		}
		if why != "" {
			failures = append(failures, a.Type+": "+why)
		} else {
			done = append(done, a.String())
		}
	}
	if err := t.saveThread(th); err != nil {
		return err
	}
	if err := t.exec("UPDATE rules SET last_matched_at = ?, match_count = match_count + 1 WHERE id = ?", t.now, r.id); err != nil {
		return err
	}
	if !arrival {
		return nil // an import of old mail would fill the record
	}
	actions, err := json.Marshal(done)
	if err != nil {
		return err
	}
	failed, err := json.Marshal(failures)
	if err != nil {
		return err
	}
	sender := ""
	if len(p.msg.From) > 0 {
		sender = p.msg.From[0].Email
	}
	return t.exec(`INSERT INTO rule_runs(rule_id, rule_name, thread_id, message_id, sender, subject, actions, failures, created_at)
		VALUES(?,?,?,?,?,?,?,?,?)`, r.id, r.name, th.id, in.message, sender, clip(oneLine(p.msg.Subject), 500), string(actions), string(failed), t.now)
}

// act does one action; why says in plain words that it could not be done.
func (s *Server) act(t *tx, a ruleAction, th *thread, p *parsed, in Ingested, arrival bool) (why string, err error) {
	switch a.Type {
	case "label", "remove_label":
		id, ok, err := t.ruleLabel(a.Value)
		if err != nil {
			return "", err
		}
		if !ok {
			return "there is no such label", nil
		}
		return "", t.setLabel(th, wireID("lbl", id), a.Type == "label")
	case "archive":
		return "", t.setLabel(th, labelInbox, false)
	case "mark_read":
		if err := t.exec("UPDATE messages SET unread = 0 WHERE id = ?", in.message); err != nil {
			return "", err
		}
		return "", t.row("SELECT count(*) FROM messages WHERE thread_id = ? AND unread = 1", []any{th.id}, &th.unread)
	case "star":
		return "", t.setLabel(th, labelStarred, true)
	case "spam":
		return "", t.setLabel(th, labelSpam, true)
	case "trash":
		return "", t.setLabel(th, labelTrash, true)
	case "block_sender":
		if len(p.msg.From) == 0 || s.own[strings.ToLower(p.msg.From[0].Email)] {
			return "the sender cannot be blocked", nil
		}
		_, _, err := t.block(strings.ToLower(p.msg.From[0].Email))
		t.rules = nil // they hold the list
		return "", err
	case "forward", "reply", "reject":
		if !arrival {
			return "nothing is sent because of old mail", nil
		}
		return s.answerRule(t, a, th, p)
	}
	return "unknown", nil
}

// ruleLabel finds the label of an action, by id or by name.
func (t *tx) ruleLabel(v string) (id int64, found bool, err error) {
	n, isID := parseID("lbl", v)
	ids, err := t.ids("SELECT id FROM labels WHERE id = ? AND ? OR folded = ?", n, isID, fold(v))
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	return ids[0], true, nil
}
