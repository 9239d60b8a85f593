package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// An event is kept as the API gives it: one that was made here, or the one of an invitation or a file. Each version is a
// row; which one counts is in schema_calendar.go. What was answered to it is kept apart, so that a newer version that does
// not change the time keeps the answer.

const maxOccurrences = 1000

func newUID(address string) string { return strings.ToLower(rand.Text()) + "@" + domainOf(address) }

// eventTime reads an instant of an event. Unlike other instants it may be before 1970: birthdays begin with a birth.
func eventTime(e map[string]any, name string) time.Time {
	text, _ := e[name].(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// eventKey names an event over its versions. Somebody else's event of the same uid is another one: nobody changes or
// cancels what a person was invited to by another.
type eventKey struct {
	uid, organizer string
	instance       int64 // the first start of the one occurrence that it changes, or 0
}

func keyOf(e map[string]any) eventKey {
	uid, _ := e["uid"].(string)
	k := eventKey{uid: uid, organizer: strings.ToLower(organizerOf(e))}
	if e["recurrenceId"] != nil {
		k.instance = eventTime(e, "recurrenceId").UnixMilli()
	}
	return k
}

func organizerOf(e map[string]any) string {
	o, _ := e["organizer"].(map[string]any)
	email, _ := o["email"].(string)
	return email
}

// storedEvent is a row of calendar_events.
type storedEvent struct {
	id               int64
	message          sql.NullInt64
	thread           sql.NullInt64
	deleted          bool
	event            map[string]any
	created, updated int64
}

const (
	eventColumns = "c.id, c.message_id, m.thread_id, c.deleted, c.event, c.created_at, c.updated_at"
	eventQuery   = "SELECT " + eventColumns + " FROM calendar_events c LEFT JOIN messages m ON m.id = c.message_id WHERE "
	// ofKey and newestFirst choose the version that counts.
	ofKey       = "c.uid = ? AND c.organizer = ? AND c.instance = ?"
	newestFirst = " ORDER BY c.sequence DESC, c.stamp DESC, c.id DESC LIMIT 1"
	// counting is the condition that a row is the version that counts and is shown.
	counting = `c.deleted = 0 AND c.id = (SELECT x.id FROM calendar_events x WHERE x.uid = c.uid AND x.organizer = c.organizer AND x.instance = c.instance
		ORDER BY x.sequence DESC, x.stamp DESC, x.id DESC LIMIT 1)`
)

func scanEvent(row scanner) (*storedEvent, error) {
	e := &storedEvent{}
	var raw string
	if err := row.Scan(&e.id, &e.message, &e.thread, &e.deleted, &raw, &e.created, &e.updated); err != nil {
		return nil, err
	}
	return e, json.Unmarshal([]byte(raw), &e.event)
}

func (e *storedEvent) key() eventKey { return keyOf(e.event) }

func (e *storedEvent) attendees() []map[string]any {
	var out []map[string]any
	list, _ := e.event["attendees"].([]any)
	for _, a := range list {
		if m, ok := a.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// currentEvent gives the version of an event that counts, or sql.ErrNoRows.
func currentEvent(ctx context.Context, db queryRower, k eventKey) (*storedEvent, error) {
	return scanEvent(db.QueryRowContext(ctx, eventQuery+ofKey+newestFirst, k.uid, k.organizer, k.instance))
}

// current is the version that counts, or nil when there is none.
func (t *tx) current(k eventKey) (*storedEvent, error) {
	e, err := currentEvent(t.ctx, t, k)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return e, err
}

// version is an event on its way into the calendar.
type version struct {
	event         map[string]any
	stamp         int64 // when it was written
	message, from int64 // the message or the import that brought it, or 0
	at            int64 // when it came
}

// putEvent keeps an event. A version that is not newer than what somebody deleted stays deleted.
func (t *tx) putEvent(v version) (int64, error) {
	k := keyOf(v.event)
	was, err := t.current(k)
	if err != nil {
		return 0, err
	}
	sequence, _ := wholeNumber(v.event["sequence"])
	deleted := false
	if was != nil && was.deleted {
		before, _ := wholeNumber(was.event["sequence"])
		deleted = sequence <= before && v.message != 0
	}
	raw, err := json.Marshal(v.event)
	if err != nil {
		return 0, err
	}
	return t.insert(`INSERT INTO calendar_events(uid, organizer, instance, sequence, stamp, message_id, import_id, deleted, starts_at, ends_at, repeats, event, created_at, updated_at)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, k.uid, k.organizer, k.instance, sequence, v.stamp, nullID(v.message), nullID(v.from), deleted,
		eventTime(v.event, "start").UnixMilli(), eventTime(v.event, "end").UnixMilli(), repeats(v.event), string(raw), v.at, v.at)
}

func repeats(e map[string]any) bool { return e["recurrence"] != nil || len(textsOf(e["rdates"])) > 0 }

// changeVersion writes an event of this mailbox over the version that it was.
func (t *tx) changeVersion(e *storedEvent) error {
	raw, err := json.Marshal(e.event)
	if err != nil {
		return err
	}
	sequence, _ := wholeNumber(e.event["sequence"])
	return t.mustChange("calendar event", "UPDATE calendar_events SET sequence = ?, stamp = ?, starts_at = ?, ends_at = ?, repeats = ?, event = ?, updated_at = ? WHERE id = ?",
		sequence, t.now, eventTime(e.event, "start").UnixMilli(), eventTime(e.event, "end").UnixMilli(), repeats(e.event), string(raw), t.now, e.id)
}

// eventAnswer is what an attendee said.
type eventAnswer struct {
	attendee, name, partstat string
	start, end               sql.NullInt64 // the time that it was said to; null: any
	proposedStart            sql.NullInt64
	proposedEnd              sql.NullInt64
	at                       int64
}

// to makes it an answer to the time that the event has.
func (a *eventAnswer) to(e map[string]any) {
	a.start = sql.NullInt64{Int64: eventTime(e, "start").UnixMilli(), Valid: true}
	a.end = sql.NullInt64{Int64: eventTime(e, "end").UnixMilli(), Valid: true}
}

// saveAnswer keeps an answer unless a later one is there.
func (t *tx) saveAnswer(k eventKey, a eventAnswer) error {
	return t.exec(`INSERT INTO event_answers(uid, instance, attendee, name, partstat, starts_at, ends_at, proposed_start, proposed_end, responded_at) VALUES(?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT(uid, instance, attendee) DO UPDATE SET name = excluded.name, partstat = excluded.partstat, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
			proposed_start = excluded.proposed_start, proposed_end = excluded.proposed_end, responded_at = excluded.responded_at
		WHERE excluded.responded_at >= event_answers.responded_at`,
		k.uid, k.instance, strings.ToLower(a.attendee), a.name, a.partstat, a.start, a.end, a.proposedStart, a.proposedEnd, a.at)
}

// wireEvent gives the event with the answers to it. An answer to another time than the event has now is none.
func (s *Server) wireEvent(ctx context.Context, e *storedEvent) (map[string]any, error) {
	k := e.key()
	rows, err := s.reader.QueryContext(ctx, `SELECT attendee, name, partstat, proposed_start, proposed_end, responded_at FROM event_answers
		WHERE uid = ? AND instance = ? AND (starts_at IS NULL OR starts_at = ? AND ends_at = ?)`,
		k.uid, k.instance, eventTime(e.event, "start").UnixMilli(), eventTime(e.event, "end").UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a eventAnswer
		if err := rows.Scan(&a.attendee, &a.name, &a.partstat, &a.proposedStart, &a.proposedEnd, &a.at); err != nil {
			return nil, err
		}
		e.putAnswer(s, &a)
	}
	e.event["id"] = wireID("evt", e.id)
	e.event["messageId"], e.event["threadId"] = wireIDOrNull("msg", e.message), wireIDOrNull("thr", e.thread)
	e.event["createdAt"], e.event["updatedAt"] = instant(e.created), instant(e.updated)
	return e.event, rows.Err()
}

// putAnswer notes an answer with its attendee. Somebody of this mailbox who answered without being on the list is put on it.
func (e *storedEvent) putAnswer(s *Server, answer *eventAnswer) {
	said := func(a map[string]any) {
		a["partstat"], a["respondedAt"] = answer.partstat, instant(answer.at)
		a["proposedStart"], a["proposedEnd"] = instantOrNull(answer.proposedStart), instantOrNull(answer.proposedEnd)
	}
	for _, a := range e.attendees() {
		if email, _ := a["email"].(string); strings.EqualFold(email, answer.attendee) {
			said(a)
			return
		}
	}
	if s.own[answer.attendee] && e.event["isOrganizer"] != true {
		a := newAttendee(answer.attendee, answer.name, false)
		said(a)
		list, _ := e.event["attendees"].([]any)
		e.event["attendees"] = append(list, a)
	}
}

func newAttendee(email, name string, optional bool) map[string]any {
	role := "REQ-PARTICIPANT"
	if optional {
		role = "OPT-PARTICIPANT"
	}
	return map[string]any{
		"object": "calendar_attendee", "email": email, "name": nullText(name), "partstat": "NEEDS-ACTION", "role": role, "rsvp": true,
		"cutype": "INDIVIDUAL", "respondedAt": nil, "proposedStart": nil, "proposedEnd": nil,
	}
}
