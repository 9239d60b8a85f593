package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

func (s *Server) stillOurs(t *tx, a *attempt) error {
	var ours bool
	if err := t.row("SELECT status = 'sending' AND claim IS ? FROM emails WHERE id = ?", []any{s.token, a.id}, &ours); err != nil {
		return err
	}
	if !ours {
		return errClaimLost
	}
	return nil
}

// undoRecord takes back what was written before an end that did not go out.
func (t *tx) undoRecord(a *attempt) error {
	for _, r := range a.to {
		err := t.exec("UPDATE email_recipients SET status = 'pending', error = NULL WHERE email_id = ? AND position = ? AND status = 'uncertain'", a.id, r.position)
		if err != nil {
			return err
		}
	}
	return nil
}

// recordFailure records an attempt in which nothing was handed over.
func (s *Server) recordFailure(t *tx, a *attempt, e *relayError) error {
	if err := t.undoRecord(a); err != nil {
		return err
	}
	if !e.whole {
		if err := t.releaseWaiting(); err != nil {
			return err
		}
	}
	if e.final {
		for _, r := range a.to {
			if err := t.failed(a.id, r, e.text); err != nil {
				return err
			}
		}
		return s.settle(t, a, e.text, 0, "")
	}
	wait, waits := retryWait(a.tries), waitsForRecipient
	if e.careful {
		wait = max(wait, carefulRetry)
	}
	if e.whole {
		waits = waitsForRelay
		// Others would fail alike: the next attempt of any tells for all.
		err := t.exec(`UPDATE emails SET status = 'queued', due_at = max(due_at, ?), last_error = ?, waits = ? WHERE status IN ('queued', 'scheduled')
			AND remote = 1 AND mode = 'live' AND (waits = ? OR due_at <= ?) AND id <> ?`,
			t.now+wait.Milliseconds(), e.text, waitsForRelay, waitsForRelay, t.now, a.id)
		if err != nil {
			return err
		}
	}
	return s.settle(t, a, e.text, wait, waits)
}

// releaseWaiting lets go what waits for the relay: it works.
func (t *tx) releaseWaiting() error {
	return t.exec("UPDATE emails SET due_at = ?, waits = ? WHERE status = 'queued' AND waits = ? AND due_at > ?", t.now, waitsForRecipient, waitsForRelay, t.now)
}

func (t *tx) delivered(id int64, r target, response string) error {
	err := t.exec("UPDATE email_recipients SET status = 'delivered', error = NULL, delivered_at = ? WHERE email_id = ? AND position = ?", t.now, id, r.position)
	if err != nil {
		return err
	}
	data := map[string]any{"recipient": r.email}
	if response != "" {
		data["response"] = response
	}
	return t.event(id, "email.delivered", data)
}

func (t *tx) failed(id int64, r target, why string) error {
	err := t.exec("UPDATE email_recipients SET status = 'failed', error = ? WHERE email_id = ? AND position = ?", why, id, r.position)
	if err != nil {
		return err
	}
	return t.event(id, "email.failed", map[string]any{"recipient": r.email, "error": why})
}

// recordResults records what the relay said to each recipient.
func (s *Server) recordResults(t *tx, a *attempt, results []delivery) error {
	last := ""
	for i, d := range results {
		r := a.to[i]
		var err error
		switch d.outcome {
		case taken:
			err = t.delivered(a.id, r, d.text)
		case refused:
			last = d.text
			err = t.failed(a.id, r, d.text)
		case notKnown:
			last = d.text
			err = t.exec("UPDATE email_recipients SET status = 'uncertain', error = ? WHERE email_id = ? AND position = ?", d.text, a.id, r.position)
			if err == nil {
				err = t.event(a.id, "email.delivery_uncertain", map[string]any{"recipient": r.email, "error": d.text})
			}
		default:
			last = d.text
			err = t.exec("UPDATE email_recipients SET status = 'pending', error = ? WHERE email_id = ? AND position = ?", d.text, a.id, r.position)
		}
		if err != nil {
			return err
		}
	}
	if err := t.releaseWaiting(); err != nil {
		return err
	}
	return s.settle(t, a, last, retryWait(a.tries), waitsForRecipient)
}

// settle gives an email the status that follows from its recipients. While some are pending it waits for its next
// attempt.
func (s *Server) settle(t *tx, a *attempt, lastError string, wait time.Duration, waits string) error {
	n, err := t.tally(a.id)
	if err != nil {
		return err
	}
	if n.pending > 0 && a.tries >= maxTries {
		rest, err := t.targets(a.id, "pending")
		if err != nil {
			return err
		}
		lastError = fmt.Sprintf("Given up after %d attempts: %s", a.tries, lastError)
		for _, r := range rest {
			if err := t.failed(a.id, r, lastError); err != nil {
				return err
			}
		}
		n.failed, n.pending = n.failed+n.pending, 0
	}
	if n.delivered+n.uncertain > 0 && !a.copied {
		if err := s.keepCopy(t, &a.dueEmail, a.parsed, nil); err != nil {
			return err
		}
	}
	if n.pending > 0 {
		due := t.now + wait.Milliseconds()
		err := t.exec("UPDATE emails SET status = 'queued', claim = NULL, due_at = ?, waits = ?, last_error = ?, cancellable_until = NULL WHERE id = ?",
			due, waits, nullText(lastError), a.id)
		if err != nil || lastError == "" {
			return err
		}
		return t.event(a.id, "email.delivery_delayed", map[string]any{"error": lastError, "attempt": a.tries, "nextAttemptAt": instant(due)})
	}
	status := n.status()
	if status == "sent" {
		// What could be sent again is kept for as long as somebody may ask for it.
		err = t.exec("UPDATE emails SET status = 'sent', claim = NULL, waits = NULL, last_error = NULL, raw = NULL, request = NULL WHERE id = ?", a.id)
	} else {
		err = t.exec("UPDATE emails SET status = ?, claim = NULL, waits = NULL, last_error = ?, request = NULL WHERE id = ?", status, nullText(lastError), a.id)
	}
	if err != nil {
		return err
	}
	return t.event(a.id, map[bool]string{true: "email.failed", false: "email.sent"}[status == "failed"], map[string]any{"status": status})
}

// tally counts the recipients of an email by what became of them.
type tally struct{ pending, delivered, failed, uncertain int }

func (t *tx) tally(id int64) (n tally, err error) {
	err = t.row(`SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'delivered'),
		count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'uncertain')
		FROM email_recipients WHERE email_id = ?`, []any{id}, &n.pending, &n.delivered, &n.failed, &n.uncertain)
	return n, err
}

// status is how an email ended that nobody waits for any more.
func (n tally) status() string {
	switch {
	case n.failed+n.uncertain == 0:
		return "sent"
	case n.delivered+n.uncertain == 0:
		return "failed"
	}
	return "partial"
}

// recoverAttempts takes up what attempts left behind that nobody makes any more. What was handed over with its answer
// unknown stays uncertain; the rest is tried again.
func (s *Server) recoverAttempts(ctx context.Context) error {
	query, args := "SELECT id FROM emails WHERE status = 'sending'", []any{}
	if s.recovered {
		// Of this process itself: the record of its outcome could not be written.
		query, args = query+" AND claim = ?", append(args, s.token)
	}
	rows, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		a := &attempt{}
		if err := s.loadDue(ctx, s.reader, id, &a.dueEmail); err != nil {
			return err
		}
		if a.parsed, err = prepare(ctx, a.raw); err != nil {
			return err
		}
		err := s.write(ctx, func(t *tx) error {
			err := t.row("SELECT tries FROM emails WHERE id = ? AND status = 'sending'", []any{id}, &a.tries)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			why := "The program ended during the attempt; nothing was sent."
			open, err := t.targets(id, "uncertain")
			if err != nil {
				return err
			}
			for _, r := range open {
				why = "The program ended before the relay's answer was known. It may have been delivered."
				if err := t.event(id, "email.delivery_uncertain", map[string]any{"recipient": r.email, "error": why}); err != nil {
					return err
				}
			}
			return s.settle(t, a, why, retryWait(a.tries), waitsForRecipient)
		})
		if err != nil {
			return err
		}
		s.poke(s.changes)
	}
	s.recovered = true
	return nil
}

// event notes that something happened to an email.
func (t *tx) event(email int64, kind string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO email_events(email_id, type, data, created_at) VALUES(?,?,?,?)", email, kind, string(raw), t.now)
}
