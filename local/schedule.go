package local

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// A laptop sleeps, and timers with it: the clock is looked at this often while something will be due.
	longestWait = 30 * time.Second
	// How often the file is looked at for what another process wrote.
	watchEvery = time.Second
)

// schedule runs what is due and notices what other processes write, until ctx ends.
func (s *Server) schedule(ctx context.Context) {
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	seen := s.fileState()
	version := s.dataVersion(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.C:
			now := s.fileState()
			if now == seen {
				continue
			}
			seen = now
			v := s.dataVersion(ctx)
			if v == version {
				continue
			}
			version = v
			s.poke(s.changes)
		case <-s.wake:
		case <-timer.C:
		}
		wait := longestWait
		if s.schedules.Load() {
			if err := s.runDue(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("what is due could not run", "error", err)
			} else if next, ok := s.nextDue(ctx); ok {
				wait = min(longestWait, max(0, next.Sub(s.now())))
			}
		}
		timer.Reset(wait)
	}
}

type fileState struct {
	size     int64
	modified time.Time
}

// fileState tells cheaply whether anybody wrote.
func (s *Server) fileState() fileState {
	fi, err := os.Stat(s.path + "-wal")
	if err != nil {
		return fileState{}
	}
	return fileState{fi.Size(), fi.ModTime()}
}

// dataVersion changes when another connection than our writer wrote to the file.
func (s *Server) dataVersion(ctx context.Context) int64 {
	var v int64
	if err := s.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&v); err != nil {
		return -1
	}
	return v
}

func (s *Server) nextDue(ctx context.Context) (time.Time, bool) {
	var at sql.NullInt64
	err := s.reader.QueryRowContext(ctx, `SELECT min(at) FROM (
		SELECT min(snoozed_until) AS at FROM threads WHERE snoozed_until IS NOT NULL
		UNION ALL SELECT min(due_at) FROM emails WHERE status IN ('queued', 'scheduled') AND NOT (remote = 1 AND mode = 'live' AND due_at <= ?1)
		UNION ALL SELECT min(remind_at) FROM follow_ups WHERE status = 'waiting'
		UNION ALL SELECT min(due_at) FROM arrivals)`, s.now().UnixMilli()).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, false
	}
	return time.UnixMilli(at.Int64), true
}

// runDue wakes snoozed threads, sends what is due and takes in what arrives by now. Each job is claimed and
// done in one transaction, so running it from several places does it once. What goes to the relay is work of another
// goroutine, which is told.
func (s *Server) runDue(ctx context.Context) error {
	changed, err := s.wakeDue(ctx)
	if err == nil {
		var some bool
		some, err = s.remindDue(ctx)
		changed = changed || some
	}
	for err == nil {
		var some bool
		if some, err = s.sendNext(ctx); !some {
			break
		}
		changed = true
	}
	for err == nil {
		var some bool
		if some, err = s.arriveNext(ctx); !some {
			break
		}
		changed = true
	}
	if changed {
		s.poke(s.changes)
	}
	if err == nil {
		var some bool
		if _, some, err = s.due(ctx, relayQuery); some {
			s.poke(s.relayWake)
		}
	}
	return err
}

func (s *Server) due(ctx context.Context, query string) (int64, bool, error) {
	var id int64
	err := s.reader.QueryRowContext(ctx, query, s.now().UnixMilli()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

func (s *Server) wakeDue(ctx context.Context) (bool, error) {
	const query = "SELECT id FROM threads WHERE snoozed_until <= ? ORDER BY snoozed_until LIMIT 1000"
	if _, some, err := s.due(ctx, query); err != nil || !some {
		return false, err
	}
	woke := false
	err := s.write(ctx, func(t *tx) error {
		ids, err := t.ids(query, t.now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			th, err := t.thread(id)
			if err != nil {
				return err
			}
			th.inbox = true
			// It comes back on top of the inbox, in the order of the wake-ups.
			th.wokeAt = min(th.snoozedUntil.Int64, t.now)
			if !th.trashed && !th.spam {
				woke = true
			}
			th.snoozedUntil = sql.NullInt64{}
			if err := t.saveThread(th); err != nil {
				return err
			}
		}
		return nil
	})
	return woke && err == nil, err
}

// dueEmail is a message that is to go out.
type dueEmail struct {
	id        int64
	subject   string
	messageID string
	thread    sql.NullInt64
	draft     sql.NullInt64
	raw       []byte
	copied    bool // it is among the sent messages
}

const dueQuery = `SELECT id FROM emails WHERE status IN ('queued', 'scheduled') AND due_at <= ? AND NOT (remote = 1 AND mode = 'live')
	ORDER BY due_at, id LIMIT 1`

// sendNext delivers the email that is due longest and needs no relay; some is false when there is none.
func (s *Server) sendNext(ctx context.Context) (some bool, err error) {
	id, some, err := s.due(ctx, dueQuery)
	if err != nil || !some {
		return false, err
	}
	// What can be read and computed is done before the lock is taken.
	var e dueEmail
	if err := s.loadDue(ctx, s.reader, id, &e); err != nil {
		return false, err
	}
	if taken, err := s.taken(ctx, &e); err != nil || taken {
		return true, err
	}
	p, err := prepare(ctx, e.raw)
	if err != nil {
		return false, err
	}
	return true, s.write(ctx, func(t *tx) error {
		var raw []byte
		var mode string
		err := t.row("SELECT raw, mode FROM emails WHERE id = ? AND status IN ('queued', 'scheduled') AND due_at <= ?", []any{id, t.now}, &raw, &mode)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // cancelled, moved or taken by another process in between
		}
		if err != nil {
			return err
		}
		if string(raw) != string(e.raw) {
			return nil // changed in between: the next round takes the new text
		}
		return s.deliverHere(t, &e, p, mode)
	})
}

// taken reports whether an email that was due has gone out in between.
func (s *Server) taken(ctx context.Context, e *dueEmail) (bool, error) {
	if len(e.raw) > 0 {
		return false, nil
	}
	var due bool
	err := s.reader.QueryRowContext(ctx, "SELECT status IN ('queued', 'scheduled') FROM emails WHERE id = ?", e.id).Scan(&due)
	return !due, err
}

// deliverHere puts the message into sent, and into the inbox when it is for the mailbox itself.
func (s *Server) deliverHere(t *tx, e *dueEmail, p *parsed, mode string) error {
	own, others, err := s.pending(t, e.id)
	if err != nil {
		return err
	}
	if mode == modeLive && len(others) > 0 {
		// They were the mailbox's own when the message was accepted.
		return t.exec("UPDATE emails SET remote = 1 WHERE id = ?", e.id)
	}
	if s.reply != nil && len(others) > 0 {
		var to []string
		for _, r := range append(slices.Clone(own), others...) {
			to = append(to, r.email)
		}
		for _, in := range s.reply(sentInfo(e, p, to, t.now)) {
			for _, r := range others {
				if strings.EqualFold(r.email, in.From) {
					if err := t.delivered(e.id, r, ""); err != nil {
						return err
					}
				}
			}
			if err := t.exec("INSERT INTO arrivals(due_at, raw) VALUES(?,?)", in.At.UnixMilli(), in.Raw); err != nil {
				return err
			}
		}
	}
	if err := s.loopBack(t, e, p, own); err != nil {
		return err
	}
	transport := transportTest
	if mode == modeLive {
		transport = transportLive
	}
	err = t.exec("UPDATE emails SET status = 'sent', transport = ?, attempts = attempts + 1, raw = NULL, request = NULL WHERE id = ?", transport, e.id)
	if err != nil {
		return err
	}
	return t.event(e.id, "email.sent", map[string]any{"status": "sent"})
}

// arriveNext takes in the mail that is due longest; some is false when none is.
func (s *Server) arriveNext(ctx context.Context) (some bool, err error) {
	id, some, err := s.due(ctx, "SELECT id FROM arrivals WHERE due_at <= ? ORDER BY due_at, id LIMIT 1")
	if err != nil || !some {
		return false, err
	}
	var raw []byte
	if err := s.reader.QueryRowContext(ctx, "SELECT raw FROM arrivals WHERE id = ?", id).Scan(&raw); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return true, nil // another process was faster
		}
		return false, err
	}
	p, err := prepare(ctx, raw)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		// It must not hold up what comes after it.
		s.log.Error("mail that arrived is no message and was dropped", "error", err)
	}
	return true, s.write(ctx, func(t *tx) error {
		res, err := t.result("DELETE FROM arrivals WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 || p == nil {
			return err
		}
		_, err = s.ingest(t, p, IngestOptions{ReceivedAt: time.UnixMilli(t.now), Folder: "inbox", Unread: true, Arrival: true})
		return err
	})
}
