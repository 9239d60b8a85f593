package local

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// How a message reaches addresses that are not the mailbox's own.
//
// A message accepted in the mode live goes to the relay in attempts. Each attempt is claimed in a transaction of its
// own, which makes the email "sending". What the relay said to each recipient is recorded twice: right before the end
// of the message goes out, with those it took as uncertain, and when its answer is there. A program that dies between
// the two leaves them uncertain, which is the truth, and nothing repeats them but a person: PATCH /emails/:id with a
// scheduledAt alone is that decision for all recipients that do not have the message yet. It goes out again with the
// same Message-ID and the same bytes.
//
// The transport of such mail is called "dev": of the names that the contract knows it is the one that is neither a
// hosted service nor the test mode.

const (
	modeLive = "live"
	modeTest = "test"

	transportLive = "dev"
	transportTest = "test"

	// The waits between attempts, and how many there are before a message has failed: about five days of a
	// machine that is awake.
	firstRetry   = 15 * time.Second
	lastRetry    = 15 * time.Minute
	carefulRetry = 5 * time.Minute
	maxTries     = 480

	// What an email waits for between two attempts.
	waitsForRelay     = "relay"      // any message can tell whether it works again
	waitsForRecipient = "recipients" // the relay took the session, but not this message or not for everybody
)

// retryWait is the pause after the given number of attempts.
func retryWait(tries int) time.Duration {
	d := firstRetry
	for ; tries > 1 && d < lastRetry; tries-- {
		d *= 2
	}
	return min(d, lastRetry)
}

// errNoRelay stands for a relay that was there when the message was accepted.
var errNoRelay = &relayError{text: "No relay is configured any more; the message waits for one.", whole: true, careful: true}

// errClaimLost says that another process took the message over.
var errClaimLost = errors.New("another process took the message over")

// target is a recipient of an attempt.
type target struct {
	position int64
	email    string
}

// attempt is a claimed email.
type attempt struct {
	dueEmail
	parsed *parsed
	to     []target
	tries  int
}

// relayWork runs what is to go to the relay, until ctx ends. It is the only goroutine that delivers.
func (s *Server) relayWork(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.relayWake:
		}
		if err := s.relayDue(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("what is to go to the relay could not be handled", "error", err)
		}
	}
}

// relayDue makes every attempt that is due, if this process is the one to do so. It is interrupted by stopDelivery.
func (s *Server) relayDue(ctx context.Context) error {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.attemptMu.Lock()
	s.stopAttempt = cancel
	s.attemptMu.Unlock()
	// Asked only now, so that stopDelivery either is seen here or ends what follows.
	if !s.schedules.Load() {
		return nil
	}
	if err := s.recoverAttempts(ctx); err != nil {
		return err
	}
	for s.schedules.Load() {
		a, some, err := s.claimNext(ctx)
		if err != nil || !some {
			return err
		}
		if a != nil {
			if err := s.attempt(ctx, a); err != nil {
				return err
			}
		}
		s.poke(s.changes)
	}
	return nil
}

// stopDelivery ends an attempt that is under way and waits for that. A message that the relay is just accepting gets
// a moment.
func (s *Server) stopDelivery() {
	s.attemptMu.Lock()
	if s.stopAttempt != nil {
		s.stopAttempt()
	}
	s.attemptMu.Unlock()
	s.delivering.Lock()
	defer s.delivering.Unlock()
	s.recovered = false // another process may deliver from here on
}

const relayQuery = `SELECT id FROM emails WHERE status IN ('queued', 'scheduled') AND due_at <= ? AND remote = 1 AND mode = 'live'
	ORDER BY due_at, id LIMIT 1`

// claimNext claims the email that is due longest. With some but no attempt there was nothing to hand to the relay.
func (s *Server) claimNext(ctx context.Context) (a *attempt, some bool, err error) {
	id, some, err := s.due(ctx, relayQuery)
	if err != nil || !some {
		return nil, false, err
	}
	a = &attempt{}
	if err := s.loadDue(ctx, s.reader, id, &a.dueEmail); err != nil {
		return nil, false, err
	}
	if taken, err := s.taken(ctx, &a.dueEmail); err != nil || taken {
		return nil, true, err
	}
	if a.parsed, err = prepare(ctx, a.raw); err != nil {
		return nil, false, err
	}
	claimed := false
	err = s.write(ctx, func(t *tx) error {
		a.to = nil
		var raw []byte
		var again bool
		err := t.row(`SELECT raw, tries, again FROM emails WHERE id = ? AND status IN ('queued', 'scheduled') AND due_at <= ? AND mode = 'live'`,
			[]any{id, t.now}, &raw, &a.tries, &again)
		if errors.Is(err, sql.ErrNoRows) || err == nil && string(raw) != string(a.raw) {
			return nil // cancelled, moved, changed or taken in between
		}
		if err != nil {
			return err
		}
		if again {
			if err := t.exec("UPDATE email_recipients SET status = 'pending', error = NULL WHERE email_id = ? AND status IN ('failed', 'uncertain')", id); err != nil {
				return err
			}
		}
		var own []target
		if own, a.to, err = s.pending(t, id); err != nil {
			return err
		}
		if len(own) > 0 {
			if err := s.loopBack(t, &a.dueEmail, a.parsed, own); err != nil {
				return err
			}
		}
		if err := t.exec("UPDATE emails SET transport = ?, again = 0 WHERE id = ?", transportLive, id); err != nil {
			return err
		}
		if len(a.to) == 0 {
			return s.settle(t, a, "", 0, "")
		}
		claimed = true
		a.tries++
		return t.exec("UPDATE emails SET status = 'sending', claim = ?, attempts = attempts + 1, tries = ?, waits = NULL WHERE id = ?", s.token, a.tries, id)
	})
	if err != nil || !claimed {
		return nil, true, err
	}
	return a, true, nil
}

func (s *Server) loadDue(ctx context.Context, db queryRower, id int64, e *dueEmail) error {
	var subject sql.NullString
	e.id = id
	err := db.QueryRowContext(ctx, "SELECT subject, message_id, thread_id, draft_id, raw, copied FROM emails WHERE id = ?", id).
		Scan(&subject, &e.messageID, &e.thread, &e.draft, &e.raw, &e.copied)
	e.subject = subject.String
	return err
}

// pending gives the recipients that do not have the message yet: the mailbox's own and the others.
func (s *Server) pending(t *tx, id int64) (own, others []target, err error) {
	all, err := t.targets(id, "pending")
	for _, r := range all {
		if s.here(r.email) {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others, err
}

func (t *tx) targets(id int64, status string) ([]target, error) {
	st, err := t.prepare("SELECT position, email FROM email_recipients WHERE email_id = ? AND status = ? ORDER BY position")
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(t.ctx, id, status)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []target
	for rows.Next() {
		var r target
		if err := rows.Scan(&r.position, &r.email); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// loopBack delivers to addresses of the mailbox itself.
func (s *Server) loopBack(t *tx, e *dueEmail, p *parsed, own []target) error {
	var inbox []target
	for _, r := range own {
		if !isTemp(r.email) {
			inbox = append(inbox, r)
		}
	}
	if err := s.keepCopy(t, e, p, inbox); err != nil {
		return err
	}
	for _, r := range own {
		there := true
		if isTemp(r.email) {
			var err error
			if there, err = t.deliverTemp(r.email, withoutBcc(e.raw), p.snippet); err != nil {
				return err
			}
		}
		err := t.delivered(e.id, r, "")
		if !there {
			err = t.failed(e.id, r, "There is no such temporary mailbox, or it is full.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepCopy puts the message into sent, and into the inbox when it is for the mailbox itself. The draft that it was
// made from goes.
func (s *Server) keepCopy(t *tx, e *dueEmail, p *parsed, own []target) error {
	if e.copied {
		return nil
	}
	o := IngestOptions{ReceivedAt: time.UnixMilli(t.now), Folder: "sent", outgoing: true}
	if len(own) > 0 {
		o.incoming, o.Arrival, o.Unread, o.Folder, o.deliveredTo = true, true, true, "inbox", strings.ToLower(own[0].email)
	}
	if e.thread.Valid {
		id, err := t.resolve(e.thread.Int64)
		if err != nil {
			return err
		}
		if _, err := t.thread(id); err == nil {
			o.threadID = id
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	in, err := s.ingest(t, p, o)
	if err != nil {
		return err
	}
	if e.draft.Valid {
		if err := t.exec("DELETE FROM drafts WHERE id = ?", e.draft.Int64); err != nil {
			return err
		}
	}
	thread, _ := parseID("thr", in.ThreadID)
	e.copied = true
	return t.exec("UPDATE emails SET copied = 1, thread_id = ?, sent_at = ? WHERE id = ?", thread, t.now, e.id)
}

// attempt speaks to the relay and records what came of it. The error is one of the database.
func (s *Server) attempt(ctx context.Context, a *attempt) error {
	s.step("claimed")
	results, leave, failure := s.handOver(ctx, a)
	defer leave() // after the record: what is known must not wait for good manners
	s.step("answered")
	// What is known must be written even when the program is about to end.
	ctx, stopped := context.WithoutCancel(ctx), ctx.Err() != nil
	var relay *relayError
	if failure != nil && !errors.As(failure, &relay) {
		if errors.Is(failure, errClaimLost) {
			s.log.Warn("a message was taken over by another process", "email", wireID("eml", a.id))
			return nil
		}
		// The record could not be written, so the end of the message was not sent.
		relay = &relayError{text: "The attempt could not be recorded, so it was broken off.", whole: true}
		s.log.Error("an attempt to send was broken off", "email", wireID("eml", a.id), "error", failure)
	}
	err := s.write(ctx, func(t *tx) error {
		if err := s.stillOurs(t, a); err != nil {
			return err
		}
		if relay != nil && stopped && results == nil {
			// It was not the relay's fault: the attempt does not count, and goes on where the program does.
			a.tries--
			if err := t.exec("UPDATE emails SET tries = ? WHERE id = ?", a.tries, a.id); err != nil {
				return err
			}
			if err := t.undoRecord(a); err != nil {
				return err
			}
			return s.settle(t, a, "", 0, waitsForRecipient)
		}
		if relay != nil {
			return s.recordFailure(t, a, relay)
		}
		return s.recordResults(t, a, results)
	})
	if errors.Is(err, errClaimLost) {
		s.log.Warn("a message was taken over by another process", "email", wireID("eml", a.id))
		return nil
	}
	if err == nil {
		s.step("recorded")
	}
	return err
}

// handOver opens a session and sends the message. leave ends the session.
func (s *Server) handOver(ctx context.Context, a *attempt) (results []delivery, leave func(), err error) {
	if s.relay == nil {
		return nil, func() {}, errNoRelay
	}
	c, err := s.relay.open(ctx)
	if err != nil {
		return nil, func() {}, err
	}
	s.step("connected")
	e := envelope{raw: withoutBcc(a.raw)}
	for _, r := range a.to {
		e.to = append(e.to, r.email)
	}
	if len(a.parsed.msg.From) > 0 {
		e.from = a.parsed.msg.From[0].Email
	}
	if !validAddress(e.from) {
		return nil, c.quit, &relayError{text: "The message has no sender that a relay takes.", final: true}
	}
	results, err = c.send(e, func(known []delivery) error {
		// Beyond cancelling: what follows must find it written.
		err := s.write(context.WithoutCancel(ctx), func(t *tx) error {
			if err := s.stillOurs(t, a); err != nil {
				return err
			}
			for i, d := range known {
				if d.outcome != notKnown {
					continue
				}
				err := t.exec("UPDATE email_recipients SET status = 'uncertain', error = ? WHERE email_id = ? AND position = ?",
					"The program ended before the relay's answer was known. It may have been delivered.", a.id, a.to[i].position)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			s.step("before the end")
		}
		return err
	})
	var reply *relayError
	unknown := func(d delivery) bool { return d.outcome == notKnown }
	if err == nil && !slices.ContainsFunc(results, unknown) || errors.As(err, &reply) && !reply.gone {
		return results, c.quit, err
	}
	return results, c.close, err
}

// step is where tests stop the program.
func (s *Server) step(name string) {
	if s.at != nil {
		s.at(name)
	}
}

// sentInfo describes a message for Options.Reply.
func sentInfo(e *dueEmail, p *parsed, to []string, now int64) Sent {
	sent := Sent{
		EmailID: wireID("eml", e.id), To: to, Subject: e.subject, MessageID: e.messageID,
		References: p.msg.References, SentAt: time.UnixMilli(now), Raw: withoutBcc(e.raw),
	}
	if len(p.msg.From) > 0 {
		sent.From = mailparse.Address{Name: p.msg.From[0].Name, Email: p.msg.From[0].Email}
	}
	return sent
}
