package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// An event is kept as the API gives it: one that was made here, or the one of an invitation. What was answered to it is
// kept apart, so that a newer version of an invitation keeps the answer.

const maxOccurrences = 1000

// noteEvent keeps the event of an invitation, and what others answered to events of this mailbox.
func (s *Server) noteEvent(t *tx, m *mailparse.Message, message, at int64) error {
	if len(m.Calendar) == 0 {
		return nil
	}
	e, ok := s.readEvent(m)
	if !ok {
		return nil
	}
	uid, _ := e["uid"].(string)
	switch m.CalendarMethod {
	case "REPLY", "COUNTER":
		return t.noteAnswer(uid, e, m)
	case "DECLINECOUNTER", "REFRESH", "ADD":
		return nil
	}
	_, err := t.putEvent(e, message, at)
	return err
}

// noteAnswer notes the answer of an attendee. Only the attendee may give it.
func (t *tx) noteAnswer(uid string, e map[string]any, m *mailparse.Message) error {
	if len(m.From) == 0 {
		return nil
	}
	attendees, _ := e["attendees"].([]any)
	for _, a := range attendees {
		a, _ := a.(map[string]any)
		email, _ := a["email"].(string)
		partstat, _ := a["partstat"].(string)
		if !strings.EqualFold(email, m.From[0].Email) || partstat == "NEEDS-ACTION" && m.CalendarMethod != "COUNTER" {
			continue
		}
		var start, end any
		if m.CalendarMethod == "COUNTER" {
			start, end = eventTime(e, "start").UnixMilli(), eventTime(e, "end").UnixMilli()
		}
		return t.saveAnswer(uid, email, partstat, start, end)
	}
	return nil
}

func (t *tx) saveAnswer(uid, attendee, partstat string, start, end any) error {
	return t.exec("INSERT OR REPLACE INTO calendar_answers(uid, attendee, partstat, proposed_start, proposed_end, responded_at) VALUES(?,?,?,?,?,?)",
		uid, strings.ToLower(attendee), partstat, start, end, t.now)
}

func eventTime(e map[string]any, name string) time.Time {
	text, _ := e[name].(string)
	t, _ := parseInstant(text)
	return t
}

// putEvent keeps an event; message is 0 for one that was made here.
func (t *tx) putEvent(e map[string]any, message, at int64) (int64, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return t.insert(`INSERT OR REPLACE INTO calendar_events(uid, message_id, starts_at, ends_at, repeats, event, created_at, updated_at) VALUES(?,?,?,?,?,?,?,?)`,
		e["uid"], nullID(message), eventTime(e, "start").UnixMilli(), eventTime(e, "end").UnixMilli(), e["recurrence"] != nil, string(raw), at, at)
}

// storedEvent is a row of calendar_events.
type storedEvent struct {
	id               int64
	message          sql.NullInt64
	thread           sql.NullInt64
	event            map[string]any
	created, updated int64
}

const eventQuery = `SELECT c.id, c.message_id, m.thread_id, c.event, c.created_at, c.updated_at FROM calendar_events c
	LEFT JOIN messages m ON m.id = c.message_id WHERE `

func scanEvent(row scanner) (*storedEvent, error) {
	e := &storedEvent{}
	var raw string
	if err := row.Scan(&e.id, &e.message, &e.thread, &raw, &e.created, &e.updated); err != nil {
		return nil, err
	}
	return e, json.Unmarshal([]byte(raw), &e.event)
}

func (e *storedEvent) uid() string { uid, _ := e.event["uid"].(string); return uid }

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

func (e *storedEvent) organizer() string {
	o, _ := e.event["organizer"].(map[string]any)
	email, _ := o["email"].(string)
	return email
}

// wireEvent gives the event with the answers to it.
func (s *Server) wireEvent(ctx context.Context, e *storedEvent) (map[string]any, error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT attendee, partstat, proposed_start, proposed_end, responded_at FROM calendar_answers WHERE uid = ?", e.uid())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var attendee, partstat string
		var start, end sql.NullInt64
		var at int64
		if err := rows.Scan(&attendee, &partstat, &start, &end, &at); err != nil {
			return nil, err
		}
		for _, a := range e.attendees() {
			email, _ := a["email"].(string)
			if strings.EqualFold(email, attendee) {
				a["partstat"], a["respondedAt"], a["proposedStart"], a["proposedEnd"] = partstat, instant(at), instantOrNull(start), instantOrNull(end)
			}
		}
	}
	e.event["id"] = wireID("evt", e.id)
	e.event["messageId"], e.event["threadId"] = wireIDOrNull("msg", e.message), wireIDOrNull("thr", e.thread)
	e.event["createdAt"], e.event["updatedAt"] = instant(e.created), instant(e.updated)
	return e.event, rows.Err()
}

// getEvent gives the newest invitation of a thread.
func (s *Server) getEvent(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	msg, message, at, err := s.newestInvitation(c.ctx, thread)
	if err != nil {
		return nil, err
	}
	e, err := scanEvent(s.reader.QueryRowContext(c.ctx, eventQuery+"c.message_id = ?", message))
	if errors.Is(err, sql.ErrNoRows) {
		// It came before events were kept.
		err = s.write(c.ctx, func(t *tx) error {
			if got, ok := s.readEvent(msg); ok {
				_, err := t.putEvent(got, message, at)
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		e, err = scanEvent(s.reader.QueryRowContext(c.ctx, eventQuery+"c.message_id = ?", message))
	}
	if err != nil {
		return nil, found(err, "calendar event", "")
	}
	return s.wireEvent(c.ctx, e)
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
		if slices.Contains([]string{"REPLY", "COUNTER", "DECLINECOUNTER", "REFRESH"}, msg.CalendarMethod) {
			continue
		}
		if _, ok := s.readEvent(msg); ok {
			return msg, m.id, m.receivedAt, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, 0, 0, err
	}
	return nil, 0, 0, notFound("calendar event", "")
}

func (s *Server) event(c *call) (*storedEvent, error) {
	id, err := c.id("evt", "calendar event")
	if err != nil {
		return nil, err
	}
	e, err := scanEvent(s.reader.QueryRowContext(c.ctx, eventQuery+"c.id = ?", id))
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
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, _, err := c.cursor("cursor")
	if err != nil {
		return nil, err
	}
	from, until := s.now(), time.Time{}
	for name, into := range map[string]*time.Time{"from": &from, "to": &until} {
		if v := c.query.Get(name); v != "" {
			t, ok := parseInstant(v)
			if !ok {
				return nil, invalidField(name, "%s must be an instant.", name)
			}
			*into = t
		}
	}
	if until.IsZero() {
		until = from.AddDate(0, 0, 31)
	}
	if until.Before(from) || until.Sub(from) > 3*366*24*time.Hour {
		return nil, invalidField("to", "to must be after from, by three years at most.")
	}
	if zone := c.query.Get("timezone"); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			return nil, invalidField("timezone", "There is no such time zone.")
		}
	}
	// Of an invitation that was changed the newest one counts.
	rows, err := s.reader.QueryContext(c.ctx, eventQuery+`c.starts_at < ?2 AND (c.ends_at > ?1 OR c.starts_at >= ?1 OR c.repeats = 1)
		AND c.id = (SELECT max(x.id) FROM calendar_events x WHERE x.uid = c.uid)`, from.UnixMilli(), until.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []*storedEvent
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	type occurrence struct {
		start time.Time
		wire  map[string]any
	}
	var all []occurrence
	for _, e := range events {
		w, err := s.wireEvent(c.ctx, e)
		if err != nil {
			return nil, err
		}
		length := eventTime(w, "end").Sub(eventTime(w, "start"))
		for _, start := range occurrences(w, from, until) {
			all = append(all, occurrence{start, s.wireOccurrence(e, w, start, start.Add(length))})
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.start.Compare(b.start) })
	var data []any
	for i := int(cur.At); i < len(all) && len(data) < limit; i++ {
		data = append(data, all[i].wire)
	}
	end := int(cur.At) + len(data)
	return page(data, end < len(all), "nextCursor", cursor{At: int64(end), ID: 1}), nil
}

func (s *Server) wireOccurrence(e *storedEvent, w map[string]any, start, end time.Time) map[string]any {
	out := map[string]any{
		"object": "calendar_occurrence", "eventId": w["id"], "uid": w["uid"], "start": instant(start.UnixMilli()), "end": instant(end.UnixMilli()),
		"recurring": w["recurrence"] != nil, "organizerEmail": nullText(e.organizer()), "myPartstat": nil, "attendeeCount": len(e.attendees()),
	}
	for _, k := range []string{"allDay", "summary", "location", "status", "transparency", "isOrganizer", "subscriptionId"} {
		out[k] = w[k]
	}
	for _, a := range e.attendees() {
		if email, _ := a["email"].(string); s.own[strings.ToLower(email)] {
			out["myPartstat"] = a["partstat"]
		}
	}
	return out
}

// eventFields changes an event by what a request gives.
func (s *Server) eventFields(f fields, e map[string]any) error {
	for name, field := range map[string]string{"summary": "summary", "description": "description", "location": "location", "url": "url", "timezone": "timezone", "recurrence": "recurrence"} {
		if _, given := f[name]; !given {
			continue
		}
		v, err := f.text(name)
		if err != nil {
			return err
		}
		if len(v) > 64<<10 {
			return invalidField(name, "%s is too long.", name)
		}
		e[field] = nullText(v)
	}
	if e["summary"] == nil {
		return invalidField("summary", "An event needs a summary.")
	}
	if zone, _ := e["timezone"].(string); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			return invalidField("timezone", "There is no such time zone.")
		}
	}
	if rule, _ := e["recurrence"].(string); rule != "" {
		rule = strings.TrimPrefix(rule, "RRULE:")
		if _, err := readRecurrence(rule); err != nil {
			return invalidField("recurrence", "recurrence cannot be read: %s.", err)
		}
		e["recurrence"] = rule
	}
	for _, name := range []string{"start", "end"} {
		if at, given, err := f.when(name); err != nil {
			return err
		} else if given {
			e[name] = instant(at)
		}
		if e[name] == nil {
			return invalidField(name, "%s is missing.", name)
		}
	}
	if eventTime(e, "end").Before(eventTime(e, "start")) {
		return invalidField("end", "end must not be before start.")
	}
	if v, given, err := f.boolean("allDay"); err != nil {
		return err
	} else if given {
		e["allDay"] = v
	}
	for name, words := range map[string][]string{"transparency": {"OPAQUE", "TRANSPARENT"}, "visibility": {"PUBLIC", "PRIVATE", "CONFIDENTIAL", "DEFAULT"}} {
		was, _ := e[name].(string)
		v, err := f.oneOf(name, was, words...)
		if err != nil {
			return err
		}
		e[name] = v
	}
	if _, given := f["attendees"]; given {
		list, err := readAttendees(f["attendees"])
		if err != nil {
			return err
		}
		e["attendees"] = list
	}
	if _, given := f["reminders"]; given {
		list, _ := f["reminders"].([]any)
		alarms := []any{}
		for _, r := range list {
			m, _ := r.(map[string]any)
			minutes, ok, err := fields(m).whole("minutesBefore")
			if err != nil || !ok {
				return invalidField("reminders", "A reminder needs minutesBefore, a whole number.")
			}
			alarms = append(alarms, map[string]any{"minutesBefore": minutes, "action": "DISPLAY"})
		}
		e["alarms"] = alarms
	}
	return nil
}

func readAttendees(v any) ([]any, error) {
	list, ok := v.([]any)
	if v != nil && !ok || len(list) > maxAttendees {
		return nil, invalidField("attendees", "attendees must be a list of at most %d objects.", maxAttendees)
	}
	out := []any{}
	for _, e := range list {
		a, err := readRecipient("attendees", e)
		if err != nil {
			return nil, err
		}
		role := "REQ-PARTICIPANT"
		if m, ok := e.(map[string]any); ok && m["optional"] == true {
			role = "OPT-PARTICIPANT"
		}
		out = append(out, map[string]any{
			"object": "calendar_attendee", "email": a.Email, "name": nullText(a.Name), "partstat": "NEEDS-ACTION", "role": role, "rsvp": true,
			"cutype": "INDIVIDUAL", "respondedAt": nil, "proposedStart": nil, "proposedEnd": nil,
		})
	}
	return out, nil
}

// sender reads the own address that invitations go out from.
func (s *Server) eventSender(c *call, e map[string]any) (mailparse.Address, error) {
	from, err := c.body.text("from")
	if err != nil {
		return mailparse.Address{}, err
	}
	if from == "" {
		o, _ := e["organizer"].(map[string]any)
		from, _ = o["email"].(string)
	}
	if from == "" {
		from = s.addresses[0]
	}
	if !s.own[strings.ToLower(from)] {
		return mailparse.Address{}, invalidField("from", "%s is not an address of this mailbox.", clip(from, 200))
	}
	return s.asSender(from), c.who.maySend(from)
}

func (s *Server) createEvent(c *call) (any, error) {
	from, err := s.eventSender(c, nil)
	if err != nil {
		return nil, err
	}
	e := map[string]any{
		"object": "calendar_event", "uid": newUID(from.Email), "sequence": 0, "summary": nil, "description": nil, "location": nil, "url": nil,
		"start": nil, "end": nil, "allDay": false, "timezone": nil, "recurrence": nil, "exdates": []any{}, "rdates": []any{}, "recurrenceId": nil,
		"subscriptionId": nil, "status": "CONFIRMED", "transparency": "OPAQUE", "visibility": "PUBLIC", "isOrganizer": true, "source": "api",
		"organizer": map[string]any{"email": from.Email, "name": nullText(from.Name)}, "alarms": []any{}, "attendees": []any{},
	}
	if err := s.eventFields(c.body, e); err != nil {
		return nil, err
	}
	invite, _, err := c.body.boolean("sendInvites")
	if err != nil {
		return nil, err
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		if id, err = t.putEvent(e, 0, t.now); err != nil || !invite {
			return err
		}
		return s.invite(t, from, e, "REQUEST", "Invitation: ")
	})
	if err != nil {
		return nil, err
	}
	c.params = []string{wireID("evt", id)}
	return s.getCalendarEvent(c)
}

// invite writes to the attendees of an event.
func (s *Server) invite(t *tx, from mailparse.Address, e map[string]any, method, title string) error {
	var to []mailparse.Address
	for _, a := range (&storedEvent{event: e}).attendees() {
		email, _ := a["email"].(string)
		name, _ := a["name"].(string)
		if !strings.EqualFold(email, from.Email) {
			to = append(to, mailparse.Address{Name: name, Email: email})
		}
	}
	if len(to) == 0 {
		return nil
	}
	summary, _ := e["summary"].(string)
	_, err := s.enqueue(t, mailparse.Outgoing{
		From: from, To: to, Subject: title + clip(noControls(oneLine(summary)), 500), Text: eventText(e),
		Calendar: writeICS(e, method, time.UnixMilli(t.now), nil), CalendarMethod: method,
	}, 0)
	return err
}

func eventText(e map[string]any) string {
	var b strings.Builder
	summary, _ := e["summary"].(string)
	fmt.Fprintf(&b, "%s\n\n%s to %s\n", summary, e["start"], e["end"])
	for _, k := range []string{"location", "url", "description"} {
		if v, _ := e[k].(string); v != "" {
			fmt.Fprintf(&b, "\n%s\n", v)
		}
	}
	return b.String()
}

// changeEvent changes an event of this mailbox and tells its attendees when tell is true.
func (s *Server) changeEvent(c *call, tell bool, method, title string, change func(map[string]any) error) (any, error) {
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	if e.event["isOrganizer"] != true {
		return nil, conflict("not_organizer", "This event is somebody else's: it can be answered, not changed.")
	}
	from, err := s.eventSender(c, e.event)
	if err != nil {
		return nil, err
	}
	if err := change(e.event); err != nil {
		return nil, err
	}
	sequence, _ := e.event["sequence"].(float64)
	e.event["sequence"] = int64(sequence) + 1
	raw, err := json.Marshal(e.event)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		err := t.mustChange("calendar event", "UPDATE calendar_events SET starts_at = ?, ends_at = ?, repeats = ?, event = ?, updated_at = ? WHERE id = ?",
			eventTime(e.event, "start").UnixMilli(), eventTime(e.event, "end").UnixMilli(), e.event["recurrence"] != nil, string(raw), t.now, e.id)
		if err != nil || !tell {
			return err
		}
		return s.invite(t, from, e.event, method, title)
	})
	if err != nil {
		return nil, err
	}
	return s.getCalendarEvent(c)
}

func (s *Server) updateEvent(c *call) (any, error) {
	invite, _, err := c.body.boolean("sendInvites")
	if err != nil {
		return nil, err
	}
	return s.changeEvent(c, invite, "REQUEST", "Changed: ", func(e map[string]any) error { return s.eventFields(c.body, e) })
}

func (s *Server) cancelEvent(c *call) (any, error) {
	return s.changeEvent(c, true, "CANCEL", "Cancelled: ", func(e map[string]any) error { e["status"] = "CANCELLED"; return nil })
}

func (s *Server) deleteEvent(c *call) (any, error) {
	return s.deleteRow(c, "evt", "calendar_event", "calendar event", "DELETE FROM calendar_events WHERE id = ?")
}

// respondToEvent answers an invitation. The answer goes to the organizer as mail, by the way of every other message.
func (s *Server) respondToEvent(c *call) (any, error) {
	answer, err := c.body.oneOf("response", "", "ACCEPTED", "DECLINED", "TENTATIVE")
	if err != nil {
		return nil, err
	}
	if answer == "" {
		return nil, invalidField("response", "response must be ACCEPTED, DECLINED or TENTATIVE.")
	}
	as, err := c.body.text("respondingAs")
	if err != nil {
		return nil, err
	}
	start, proposed, err := c.body.when("proposedStart")
	if err != nil {
		return nil, err
	}
	end, both, err := c.body.when("proposedEnd")
	if err != nil {
		return nil, err
	}
	if proposed != both || proposed && end < start {
		return nil, invalidField("proposedEnd", "proposedStart and proposedEnd go together, in this order.")
	}
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	if e.event["isOrganizer"] == true {
		return nil, conflict("is_organizer", "The organizer of an event does not answer it.")
	}
	if e.event["status"] == "CANCELLED" {
		return nil, conflict("event_cancelled", "This event is cancelled.")
	}
	me := s.attendee(e, as)
	if me == nil {
		return nil, invalidField("respondingAs", "No address of this mailbox is invited; respondingAs must be one that is.")
	}
	email, _ := me["email"].(string)
	from := s.asSender(email)
	from.Email = email
	if err := c.who.maySend(email); err != nil {
		return nil, err
	}
	me["partstat"] = answer
	method, title := "REPLY", map[string]string{"ACCEPTED": "Accepted: ", "DECLINED": "Declined: ", "TENTATIVE": "Tentative: "}[answer]
	event := e.event
	var proposedStart, proposedEnd any
	if proposed {
		method, title = "COUNTER", "New time proposed: "
		proposedStart, proposedEnd = start, end
		event = maps.Clone(event)
		event["start"], event["end"] = instant(start), instant(end)
	}
	summary, _ := event["summary"].(string)
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.saveAnswer(e.uid(), email, answer, proposedStart, proposedEnd); err != nil {
			return err
		}
		organizer := e.organizer()
		if !validAddress(organizer) {
			return nil // nobody to tell: the answer is kept
		}
		thread := int64(0)
		if e.thread.Valid {
			thread = e.thread.Int64
		}
		_, err := s.enqueue(t, mailparse.Outgoing{
			From: from, To: []mailparse.Address{{Email: organizer}}, Subject: title + clip(noControls(oneLine(summary)), 500),
			Text: title + summary + "\n\n" + eventText(event), Calendar: writeICS(event, method, time.UnixMilli(t.now), me), CalendarMethod: method,
		}, thread)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.getCalendarEvent(c)
}

// attendee finds who of the attendees answers: the one that is named, or the first own address.
func (s *Server) attendee(e *storedEvent, as string) map[string]any {
	for _, a := range e.attendees() {
		email, _ := a["email"].(string)
		own := s.own[strings.ToLower(email)]
		if own && (as == "" || strings.EqualFold(as, email)) {
			return a
		}
	}
	return nil
}
