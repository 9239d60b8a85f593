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

// getEvent gives the newest invitation of a thread, as it stands now: changed or cancelled by what came later.
func (s *Server) getEvent(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	e, err := scanEvent(s.reader.QueryRowContext(c.ctx, eventQuery+"m.thread_id = ? ORDER BY m.received_at DESC, c.message_id DESC, c.id LIMIT 1", thread))
	if errors.Is(err, sql.ErrNoRows) {
		e, err = s.findInvitation(c.ctx, thread)
	}
	if err != nil {
		return nil, found(err, "calendar event", "")
	}
	e, err = currentEvent(c.ctx, s.reader, e.key())
	if err == nil && e.deleted {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, found(err, "calendar event", "")
	}
	return s.wireEvent(c.ctx, e)
}

// findInvitation reads the newest invitation of a thread from its mail: it came before events were kept, or is about an
// event of this mailbox.
func (s *Server) findInvitation(ctx context.Context, thread int64) (*storedEvent, error) {
	msg, message, at, err := s.newestInvitation(ctx, thread)
	if err != nil {
		return nil, err
	}
	e := &storedEvent{}
	for item := range s.readCalendar(msg.Calendar, maxInviteLines) {
		if e.event == nil {
			giveUID(item, msg)
			e.event = item.event
		}
	}
	if e.event == nil {
		return nil, sql.ErrNoRows
	}
	_, err = currentEvent(ctx, s.reader, e.key())
	if errors.Is(err, sql.ErrNoRows) {
		err = s.write(ctx, func(t *tx) error { return s.noteEvent(t, msg, message, at) })
	}
	return e, err
}

func (s *Server) newestInvitation(ctx context.Context, thread int64) (*mailparse.Message, int64, int64, error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT m.id, m.received_at, r.encoding, r.data FROM messages m
		JOIN raws r ON r.message_id = m.id WHERE m.thread_id = ? ORDER BY m.received_at DESC, m.id DESC`, thread)
	if err != nil {
		return nil, 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var m storedMessage
		if err := rows.Scan(&m.id, &m.receivedAt, &m.encoding, &m.data); err != nil {
			return nil, 0, 0, err
		}
		msg, err := m.parse(ctx)
		if err != nil {
			return nil, 0, 0, err
		}
		if len(msg.Calendar) > 0 && !slices.Contains([]string{"REPLY", "COUNTER", "DECLINECOUNTER", "REFRESH", "ADD"}, msg.CalendarMethod) {
			return msg, m.id, m.receivedAt, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, 0, 0, err
	}
	return nil, 0, 0, sql.ErrNoRows
}

// event gives the event that the path names, in the version that counts: an id of an older one means it too.
func (s *Server) event(c *call) (*storedEvent, error) {
	id, err := c.id("evt", "calendar event")
	if err != nil {
		return nil, err
	}
	e, err := scanEvent(s.reader.QueryRowContext(c.ctx, eventQuery+"c.id = ?", id))
	if err == nil {
		e, err = currentEvent(c.ctx, s.reader, e.key())
	}
	if err == nil && e.deleted {
		err = sql.ErrNoRows
	}
	return e, found(err, "calendar event", "")
}

func (s *Server) getCalendarEvent(c *call) (any, error) {
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	return s.wireEvent(c.ctx, e)
}

func (s *Server) getEventICS(c *call) (any, error) {
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	w, err := s.wireEvent(c.ctx, e)
	if err != nil {
		return nil, err
	}
	return &bytesAnswer{contentType: "text/calendar; charset=utf-8", filename: "event.ics", data: writeICS(w, "", s.now(), nil)}, nil
}

// listEvents gives what happens between two instants, repetitions one by one.
func (s *Server) listEvents(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	from, until := s.now(), time.Time{}
	for name, into := range map[string]*time.Time{"from": &from, "to": &until} {
		if t, given, err := c.queryInstant(name); err != nil {
			return nil, err
		} else if given {
			*into = t
		}
	}
	if until.IsZero() {
		until = from.AddDate(0, 0, 31)
	}
	if until.Before(from) || until.Sub(from) > 3*366*24*time.Hour {
		return nil, invalidField("to", "to must be after from, by three years at most; without them it is the next 31 days.")
	}
	if zone := c.query.Get("timezone"); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			return nil, invalidField("timezone", "There is no time zone %q; timezone must be a name such as Europe/Berlin.", clip(zone, 100))
		}
	}
	all, err := s.happens(c.ctx, from, until)
	if err != nil {
		return nil, err
	}
	var data []any
	for _, o := range all {
		data = append(data, o.wire)
	}
	return p.of(data), nil
}

// shownEvents gives the events that are shown and meet a condition. An invitation among spam is not shown.
func (s *Server) shownEvents(ctx context.Context, condition string, args ...any) ([]*storedEvent, error) {
	return collect(ctx, s.reader, scanEvent, eventQuery+counting+` AND `+condition+`
		AND NOT EXISTS(SELECT 1 FROM threads th WHERE th.id = m.thread_id AND th.spam = 1) ORDER BY c.starts_at, c.id`, args...)
}

// occurrence is one time at which an event happens.
type occurrence struct {
	start time.Time
	wire  map[string]any
}

// happens gives what happens between two instants, in order. What was cancelled does not happen.
func (s *Server) happens(ctx context.Context, from, until time.Time) ([]occurrence, error) {
	events, err := s.shownEvents(ctx, "c.starts_at < ?2 AND (c.ends_at > ?1 OR c.starts_at >= ?1 OR c.repeats = 1)", from.UnixMilli(), until.UnixMilli())
	if err != nil {
		return nil, err
	}
	// The occurrences of a series that another event stands for, wherever it was moved to.
	exceptions, err := s.shownEvents(ctx, "c.instance <> 0")
	if err != nil {
		return nil, err
	}
	replaced := map[eventKey]bool{}
	for _, e := range exceptions {
		replaced[e.key()] = true
	}
	var all []occurrence
	for _, e := range events {
		if e.event["status"] == "CANCELLED" {
			continue
		}
		w, err := s.wireEvent(ctx, e)
		if err != nil {
			return nil, err
		}
		k := e.key()
		length := eventTime(w, "end").Sub(eventTime(w, "start"))
		for _, start := range occurrences(w, from, until) {
			if one := (eventKey{k.uid, k.organizer, start.UnixMilli()}); k.instance != 0 || !replaced[one] {
				all = append(all, occurrence{start, s.wireOccurrence(e, w, start, start.Add(length))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.start.Compare(b.start) })
	return all, nil
}

func (s *Server) wireOccurrence(e *storedEvent, w map[string]any, start, end time.Time) map[string]any {
	out := map[string]any{
		"object": "calendar_occurrence", "eventId": w["id"], "uid": w["uid"], "start": instant(start.UnixMilli()), "end": instant(end.UnixMilli()),
		"recurring": repeats(w) || w["recurrenceId"] != nil, "organizerEmail": nullText(organizerOf(w)), "myPartstat": nil, "attendeeCount": len(e.attendees()),
	}
	for _, k := range []string{"allDay", "summary", "location", "status", "transparency", "isOrganizer", "subscriptionId"} {
		out[k] = w[k]
	}
	if mine := s.myPartstat(e); mine != "" {
		out["myPartstat"] = mine
	}
	return out
}

// myPartstat is what this mailbox answered to an event; empty when it is not invited.
func (s *Server) myPartstat(e *storedEvent) string {
	for _, a := range e.attendees() {
		if email, _ := a["email"].(string); s.own[strings.ToLower(email)] {
			answer, _ := a["partstat"].(string)
			return answer
		}
	}
	return ""
}
