package local

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// Invitations as mail (RFC 5546): what a message that comes in does to the calendar, and what goes out.

const (
	maxInviteLines  = 20_000
	maxInviteEvents = 200 // of one message
)

// noteEvent keeps the events of an invitation, and what others answered to events of this mailbox.
func (s *Server) noteEvent(t *tx, m *mailparse.Message, message, at int64) error {
	n := 0
	for item := range s.readCalendar(m.Calendar, maxInviteLines) {
		if n++; n > maxInviteEvents {
			return nil
		}
		var err error
		switch m.CalendarMethod {
		case "REPLY", "COUNTER":
			err = s.noteAnswer(t, item, m, at)
		case "DECLINECOUNTER":
			err = s.noteRefusal(t, item, m)
		case "REFRESH", "ADD":
		default:
			err = s.noteInvitation(t, item, m, message, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteInvitation keeps a version of somebody else's event.
func (s *Server) noteInvitation(t *tx, item readItem, m *mailparse.Message, message, at int64) error {
	giveUID(item, m)
	e := item.event
	was, err := t.current(keyOf(e))
	if err != nil {
		return err
	}
	if was != nil && was.event["isOrganizer"] == true && !was.message.Valid {
		return nil // it was made here: no mail changes it
	}
	if m.CalendarMethod == "CANCEL" {
		if e, err = t.cancellation(item, was); err != nil || e == nil {
			return err
		}
	} else if !item.start {
		return nil
	}
	stamp := item.stamp
	if stamp == 0 {
		stamp = at
	}
	_, err = t.putEvent(version{event: e, stamp: stamp, message: message, at: at})
	return err
}

// giveUID names an event that has no uid after its message.
func giveUID(item readItem, m *mailparse.Message) {
	if item.event["uid"] == "" {
		item.event["uid"] = fmt.Sprintf("%s@%d", bareID(m.MessageID), eventTime(item.event, "start").Unix())
	}
}

// cancellation is the version that a cancellation makes of an event, or nil. It says little more than which event it means,
// so the rest is that of the version before.
func (t *tx) cancellation(item readItem, was *storedEvent) (map[string]any, error) {
	e := item.event
	e["status"] = "CANCELLED"
	if was == nil && e["recurrenceId"] != nil { // one occurrence of a series
		k := keyOf(e)
		start := eventTime(e, "recurrenceId")
		k.instance = 0
		series, err := t.current(k)
		if err != nil {
			return nil, err
		}
		if series != nil {
			length := eventTime(series.event, "end").Sub(eventTime(series.event, "start"))
			was = &storedEvent{event: maps.Clone(series.event)}
			was.event["recurrence"], was.event["exdates"], was.event["rdates"] = nil, []any{}, []any{}
			was.event["recurrenceId"], was.event["sequence"] = e["recurrenceId"], 0
			was.event["start"], was.event["end"] = instant(start.UnixMilli()), instant(start.Add(length).UnixMilli())
		}
	}
	if was == nil {
		if !item.start {
			return nil, nil
		}
		return e, nil
	}
	e["start"], e["end"], e["allDay"] = was.event["start"], was.event["end"], was.event["allDay"]
	for _, name := range []string{"summary", "description", "location", "url", "timezone", "recurrence"} {
		if e[name] == nil {
			e[name] = was.event[name]
		}
	}
	if len(textsOf(e["exdates"])) == 0 {
		e["exdates"] = was.event["exdates"]
	}
	if list, _ := e["attendees"].([]any); len(list) == 0 {
		e["attendees"] = was.event["attendees"]
	}
	return e, nil
}

// noteAnswer notes the answer of an attendee. Only the attendee may give it.
func (s *Server) noteAnswer(t *tx, item readItem, m *mailparse.Message, at int64) error {
	e, k := item.event, keyOf(item.event)
	attendees, _ := e["attendees"].([]any)
	for _, a := range attendees {
		a, _ := a.(map[string]any)
		email, _ := a["email"].(string)
		name, _ := a["name"].(string)
		partstat, _ := a["partstat"].(string)
		if len(m.From) == 0 || !strings.EqualFold(email, m.From[0].Email) || partstat == "NEEDS-ACTION" && m.CalendarMethod != "COUNTER" {
			continue
		}
		answer := eventAnswer{attendee: email, name: name, partstat: partstat, at: at}
		own, err := t.current(k)
		if err != nil {
			return err
		}
		counter := m.CalendarMethod == "COUNTER"
		if counter && item.start {
			answer.proposedStart = sql.NullInt64{Int64: eventTime(e, "start").UnixMilli(), Valid: true}
			answer.proposedEnd = sql.NullInt64{Int64: eventTime(e, "end").UnixMilli(), Valid: true}
		}
		if own != nil {
			sequence, _ := wholeNumber(e["sequence"])
			now, _ := wholeNumber(own.event["sequence"])
			if sequence < now && (counter || !item.start) {
				return nil // to a version that was replaced
			}
			answer.to(own.event)
			if !counter && item.start {
				answer.start.Int64 = eventTime(e, "start").UnixMilli()
			}
		}
		return t.saveAnswer(k, answer)
	}
	return nil
}

// noteRefusal takes back the other time that was proposed, when the organizer does not want it.
func (s *Server) noteRefusal(t *tx, item readItem, m *mailparse.Message) error {
	k := keyOf(item.event)
	if len(m.From) == 0 || !strings.EqualFold(k.organizer, m.From[0].Email) {
		return nil
	}
	for _, a := range s.addresses {
		if err := t.dropProposal(k, a); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) dropProposal(k eventKey, attendee string) error {
	return t.exec("UPDATE event_answers SET proposed_start = NULL, proposed_end = NULL WHERE uid = ? AND instance = ? AND attendee = ?",
		k.uid, k.instance, strings.ToLower(attendee))
}

// attendeesToTell are those whom an event is written to: everybody with an address but the sender.
func attendeesToTell(e map[string]any, from string) []mailparse.Address {
	var to []mailparse.Address
	for _, a := range (&storedEvent{event: e}).attendees() {
		email, _ := a["email"].(string)
		name, _ := a["name"].(string)
		if !strings.EqualFold(email, from) && validAddress(email) {
			to = append(to, mailparse.Address{Name: name, Email: email})
		}
	}
	return to
}

// tell sends an event to some of its attendees.
func (s *Server) tell(t *tx, from mailparse.Address, to []mailparse.Address, e map[string]any, method, title string) error {
	if len(to) == 0 {
		return nil
	}
	if organizerOf(e) == "" { // it came from a file
		e = maps.Clone(e)
		e["organizer"] = map[string]any{"email": from.Email, "name": nullText(from.Name)}
	}
	return s.enqueue(t, mailparse.Outgoing{
		From: from, To: to, Subject: eventSubject(title, e), Text: s.eventText(e),
		Calendar: writeICS(e, method, time.UnixMilli(t.now), nil), CalendarMethod: method,
	}, 0)
}

func eventSubject(title string, e map[string]any) string {
	summary, _ := e["summary"].(string)
	return title + clip(noControls(oneLine(summary)), 500)
}

// eventText says in words what a calendar object says, for programs that do not read it.
func (s *Server) eventText(e map[string]any) string {
	var b strings.Builder
	summary, _ := e["summary"].(string)
	fmt.Fprintf(&b, "%s\n\n%s\n", summary, s.eventWhen(e))
	for _, k := range []string{"location", "url", "description"} {
		if v, _ := e[k].(string); v != "" {
			fmt.Fprintf(&b, "\n%s\n", v)
		}
	}
	return b.String()
}

func (s *Server) eventWhen(e map[string]any) string {
	const day, clock = "Mon 2 Jan 2006", "15:04"
	start, end := eventTime(e, "start").UTC(), eventTime(e, "end").UTC()
	if e["allDay"] == true {
		if last := end.AddDate(0, 0, -1); last.After(start) {
			return start.Format(day) + " to " + last.Format(day) + ", all day"
		}
		return start.Format(day) + ", all day"
	}
	zone := s.now().Location()
	if name, _ := e["timezone"].(string); name != "" {
		if l, err := time.LoadLocation(name); err == nil {
			zone = l
		}
	}
	start, end = start.In(zone), end.In(zone)
	until := end.Format(day + " " + clock)
	if start.Format(day) == end.Format(day) {
		until = end.Format(clock)
	}
	return start.Format(day+" "+clock) + " to " + until + " (" + start.Format("MST, -0700") + ")"
}

// response is what a request to answer an invitation says.
type response struct {
	answer, as string
	proposed   bool
	start, end int64
}

func readResponse(f fields) (r response, err error) {
	if r.answer, err = f.oneOf("response", "", "ACCEPTED", "DECLINED", "TENTATIVE"); err != nil {
		return r, err
	}
	if r.answer == "" {
		return r, invalidField("response", "response must be ACCEPTED, DECLINED or TENTATIVE.")
	}
	if r.as, err = f.text("respondingAs"); err != nil {
		return r, err
	}
	var end bool
	if r.start, r.proposed, err = f.when("proposedStart"); err != nil {
		return r, err
	}
	if r.end, end, err = f.when("proposedEnd"); err != nil {
		return r, err
	}
	if r.proposed != end || r.proposed && r.end < r.start {
		return r, invalidField("proposedEnd", "proposedStart and proposedEnd go together, in this order.")
	}
	return r, nil
}

// respondToEvent answers an invitation. The answer goes to the organizer as mail, by the way of every other message.
func (s *Server) respondToEvent(c *call) (any, error) {
	r, err := readResponse(c.body)
	if err != nil {
		return nil, err
	}
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	if e.event["isOrganizer"] == true {
		return nil, conflict("is_organizer", "The organizer of an event does not answer it.")
	}
	if e.event["status"] == "CANCELLED" {
		return nil, conflict("event_cancelled", "This event was cancelled by its organizer: there is nothing to answer.")
	}
	me, err := s.answering(e, r.as)
	if err != nil {
		return nil, err
	}
	email, _ := me["email"].(string)
	name, _ := me["name"].(string)
	if err := c.who.maySend(email); err != nil {
		return nil, err
	}
	me["partstat"] = r.answer
	answer := eventAnswer{attendee: email, name: name, partstat: r.answer}
	answer.to(e.event)
	method, title := "REPLY", map[string]string{"ACCEPTED": "Accepted: ", "DECLINED": "Declined: ", "TENTATIVE": "Tentative: "}[r.answer]
	event := e.event
	if r.proposed {
		method, title = "COUNTER", "New time proposed: "
		answer.proposedStart, answer.proposedEnd = sql.NullInt64{Int64: r.start, Valid: true}, sql.NullInt64{Int64: r.end, Valid: true}
		event = maps.Clone(event)
		event["start"], event["end"] = instant(r.start), instant(r.end)
	}
	err = s.write(c.ctx, func(t *tx) error {
		answer.at = t.now
		if err := t.saveAnswer(e.key(), answer); err != nil {
			return err
		}
		return s.sendAnswer(t, e, event, me, method, title)
	})
	if err != nil {
		return nil, err
	}
	return s.getCalendarEvent(c)
}

// sendAnswer writes to the organizer of e in its thread. Without an address there is nobody to tell: the answer is kept.
func (s *Server) sendAnswer(t *tx, e *storedEvent, event, me map[string]any, method, title string) error {
	organizer := organizerOf(e.event)
	if !validAddress(organizer) {
		return nil
	}
	o, _ := e.event["organizer"].(map[string]any)
	name, _ := o["name"].(string)
	email, _ := me["email"].(string)
	out := mailparse.Outgoing{
		From: mailparse.Address{Name: s.asSender(email).Name, Email: email}, To: []mailparse.Address{{Name: name, Email: organizer}},
		Subject: eventSubject(title, event), Text: title + s.eventText(event),
		Calendar: writeICS(event, method, time.UnixMilli(t.now), me), CalendarMethod: method,
	}
	if e.message.Valid {
		err := t.row("SELECT message_id FROM messages WHERE id = ?", []any{e.message.Int64}, &out.InReplyTo)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if out.InReplyTo != "" {
			out.References = []string{out.InReplyTo}
		}
	}
	return s.enqueue(t, out, e.thread.Int64)
}

// answering finds who answers: the attendee that is named, or the first one with an own address. An own address that is not
// on the list may be named: invitations come through lists and aliases too.
func (s *Server) answering(e *storedEvent, as string) (map[string]any, error) {
	as = strings.TrimSpace(as)
	for _, a := range e.attendees() {
		email, _ := a["email"].(string)
		if s.own[strings.ToLower(email)] && (as == "" || strings.EqualFold(as, email)) {
			return a, nil
		}
	}
	switch {
	case as == "":
		return nil, invalidField("respondingAs", "No address of this mailbox is on the list of attendees; respondingAs must say which one answers (%s).", clip(strings.Join(s.addresses, ", "), 500))
	case !s.own[strings.ToLower(as)]:
		return nil, invalidField("respondingAs", "%s is not an address of this mailbox (%s).", clip(as, 200), clip(strings.Join(s.addresses, ", "), 500))
	}
	return newAttendee(strings.ToLower(as), s.asSender(as).Name, false), nil
}

// declineProposal tells an attendee that the event stays at its time.
func (s *Server) declineProposal(c *call) (any, error) {
	attendee, err := c.body.text("attendee")
	if err != nil {
		return nil, err
	}
	e, from, err := s.ownEvent(c)
	if err != nil {
		return nil, err
	}
	w, err := s.wireEvent(c.ctx, e)
	if err != nil {
		return nil, err
	}
	var who map[string]any
	for _, a := range (&storedEvent{event: w}).attendees() {
		if email, _ := a["email"].(string); attendee != "" && strings.EqualFold(email, strings.TrimSpace(attendee)) && a["proposedStart"] != nil {
			who = a
		}
	}
	if who == nil {
		return nil, invalidField("attendee", "attendee must be the address of somebody who proposed another time for this event.")
	}
	email, _ := who["email"].(string)
	name, _ := who["name"].(string)
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.dropProposal(e.key(), email); err != nil || !validAddress(email) {
			return err
		}
		return s.tell(t, from, []mailparse.Address{{Name: name, Email: email}}, w, "DECLINECOUNTER", "Stays at its time: ")
	})
	if err != nil {
		return nil, err
	}
	return s.getCalendarEvent(c)
}
