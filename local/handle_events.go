package local

import (
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// Events of this mailbox: made, changed, called off.

// eventFields changes an event by what a request gives.
func (s *Server) eventFields(f fields, e map[string]any) error {
	if err := eventTexts(f, e); err != nil {
		return err
	}
	if err := eventTimes(f, e); err != nil {
		return err
	}
	for name, words := range map[string][]string{"transparency": {"OPAQUE", "TRANSPARENT"}, "visibility": {"PUBLIC", "PRIVATE", "CONFIDENTIAL"}} {
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
		list, err := readReminders(f["reminders"])
		if err != nil {
			return err
		}
		e["alarms"] = list
	}
	return nil
}

func eventTexts(f fields, e map[string]any) error {
	for _, name := range []string{"summary", "description", "location", "url", "timezone", "recurrence"} {
		if _, given := f[name]; !given {
			continue
		}
		v, err := f.text(name)
		if err != nil {
			return err
		}
		if len(v) > maxEventText {
			return invalidField(name, "%s may have %d bytes at most.", name, maxEventText)
		}
		e[name] = nullText(v)
	}
	if e["summary"] == nil {
		return invalidField("summary", "An event needs a summary.")
	}
	if zone, _ := e["timezone"].(string); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			return invalidField("timezone", "There is no time zone %q; timezone must be a name such as Europe/Berlin.", clip(zone, 100))
		}
	}
	if rule, _ := e["recurrence"].(string); rule != "" {
		rule = strings.TrimPrefix(rule, "RRULE:")
		if _, err := readRecurrence(rule); err != nil {
			return invalidField("recurrence", "recurrence cannot be read: %s. It must be a rule such as FREQ=WEEKLY;BYDAY=MO;COUNT=10.", err)
		}
		e["recurrence"] = rule
	}
	return nil
}

func eventTimes(f fields, e map[string]any) error {
	if v, given, err := f.boolean("allDay"); err != nil {
		return err
	} else if given {
		e["allDay"] = v
	}
	for _, name := range []string{"start", "end"} {
		at, given, err := f.when(name)
		if err != nil {
			return err
		}
		if given {
			e[name] = instant(at)
			if e["allDay"] == true {
				e[name] = wholeDay(f, name, e)
			}
		}
		if e[name] == nil {
			return invalidField(name, "%s is missing: an event needs an instant such as 2026-03-01T09:30:00.000Z.", name)
		}
	}
	if e["allDay"] == true && e["start"] == e["end"] {
		e["end"] = instant(eventTime(e, "start").AddDate(0, 0, 1).UnixMilli())
	}
	if eventTime(e, "end").Before(eventTime(e, "start")) {
		return invalidField("end", "end must not be before start.")
	}
	if eventTime(e, "end").Sub(eventTime(e, "start")) > maxEventLength {
		return invalidField("end", "An event may last a hundred years at most.")
	}
	return nil
}

// wholeDay is the beginning of the day that an instant is on, as the request wrote it or in the zone of the event. An end
// within a day means that the day is the last one.
func wholeDay(f fields, name string, e map[string]any) string {
	text, _ := f[name].(string)
	t, _ := parseInstant(text)
	if zone, _ := e["timezone"].(string); zone != "" {
		if l, err := time.LoadLocation(zone); err == nil {
			t = t.In(l)
		}
	}
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	if name == "end" && (t.Hour() > 0 || t.Minute() > 0 || t.Second() > 0) {
		day = day.AddDate(0, 0, 1)
	}
	return instant(day.UnixMilli())
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
		m, _ := e.(map[string]any)
		out = append(out, newAttendee(a.Email, a.Name, m["optional"] == true))
	}
	return out, nil
}

const maxReminder = 366 * 24 * 60 // minutes

func readReminders(v any) ([]any, error) {
	list, ok := v.([]any)
	if v != nil && !ok || len(list) > maxAlarms {
		return nil, invalidField("reminders", "reminders must be a list of at most %d objects.", maxAlarms)
	}
	alarms := []any{}
	for _, r := range list {
		m, _ := r.(map[string]any)
		minutes, ok, err := fields(m).whole("minutesBefore")
		if err != nil || !ok || minutes > maxReminder || minutes < -maxReminder {
			return nil, invalidField("reminders", "A reminder needs minutesBefore, a whole number of at most %d.", maxReminder)
		}
		action, err := fields(m).oneOf("action", "DISPLAY", "DISPLAY", "EMAIL", "AUDIO")
		if err != nil {
			return nil, invalidField("reminders", "The action of a reminder must be DISPLAY, EMAIL or AUDIO.")
		}
		alarms = append(alarms, map[string]any{"minutesBefore": minutes, "action": action})
	}
	return alarms, nil
}

// eventSender reads the own address that invitations go out from.
func (s *Server) eventSender(c *call, e map[string]any) (mailparse.Address, error) {
	from, err := c.body.text("from")
	if err != nil {
		return mailparse.Address{}, err
	}
	if from == "" {
		from = organizerOf(e)
	}
	if from == "" {
		from = s.addresses[0]
	}
	if !s.own[strings.ToLower(from)] {
		return mailparse.Address{}, invalidField("from", "%s is not an address of this mailbox (%s).", clip(from, 200), clip(strings.Join(s.addresses, ", "), 500))
	}
	return s.asSender(from), c.who.maySend(from)
}

func (s *Server) createEvent(c *call) (any, error) {
	from, err := s.eventSender(c, nil)
	if err != nil {
		return nil, err
	}
	e := newEvent("api")
	e["uid"], e["isOrganizer"] = newUID(from.Email), true
	e["organizer"] = map[string]any{"email": from.Email, "name": nullText(from.Name)}
	if err := s.eventFields(c.body, e); err != nil {
		return nil, err
	}
	invite, _, err := c.body.boolean("sendInvites")
	if err != nil {
		return nil, err
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		if id, err = t.putEvent(version{event: e, stamp: t.now, at: t.now}); err != nil || !invite {
			return err
		}
		return s.tell(t, from, attendeesToTell(e, from.Email), e, "REQUEST", "Invitation: ")
	})
	if err != nil {
		return nil, err
	}
	c.params = []string{wireID("evt", id)}
	return s.getCalendarEvent(c)
}

// ownEvent gives the event of the path if it is one of this mailbox, and who sends news of it.
func (s *Server) ownEvent(c *call) (*storedEvent, mailparse.Address, error) {
	e, err := s.event(c)
	if err != nil {
		return nil, mailparse.Address{}, err
	}
	if e.event["isOrganizer"] != true {
		return nil, mailparse.Address{}, conflict("not_organizer", "This event is somebody else's: it can be answered, not changed.")
	}
	from, err := s.eventSender(c, e.event)
	return e, from, err
}

// changeEvent changes an event of this mailbox and tells its attendees when tell is true. Who is not invited any more is
// told that it is cancelled.
func (s *Server) changeEvent(c *call, tell bool, method, title string, change func(map[string]any) error) (any, error) {
	e, from, err := s.ownEvent(c)
	if err != nil {
		return nil, err
	}
	before := attendeesToTell(e.event, from.Email)
	if err := change(e.event); err != nil {
		return nil, err
	}
	sequence, _ := wholeNumber(e.event["sequence"])
	e.event["sequence"] = sequence + 1
	now := attendeesToTell(e.event, from.Email)
	gone := slices.DeleteFunc(before, func(a mailparse.Address) bool {
		return slices.ContainsFunc(now, func(b mailparse.Address) bool { return strings.EqualFold(a.Email, b.Email) })
	})
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.changeVersion(e); err != nil || !tell {
			return err
		}
		if err := s.tell(t, from, now, e.event, method, title); err != nil {
			return err
		}
		return s.tell(t, from, gone, e.event, "CANCEL", "Cancelled: ")
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

// deleteEvent takes an event out of the calendar. One that came as mail is only marked, so that the same mail does not
// bring it back.
func (s *Server) deleteEvent(c *call) (any, error) {
	e, err := s.event(c)
	if err != nil {
		return nil, err
	}
	k := e.key()
	err = s.write(c.ctx, func(t *tx) error {
		const these = " WHERE uid = ? AND organizer = ? AND (instance = ? OR ? = 0)"
		if err := t.exec("DELETE FROM calendar_events"+these+" AND message_id IS NULL", k.uid, k.organizer, k.instance, k.instance); err != nil {
			return err
		}
		return t.exec("UPDATE calendar_events SET deleted = 1"+these, k.uid, k.organizer, k.instance, k.instance)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "calendar_event", "id": c.params[0], "deleted": true}, nil
}
