package api

import (
	"encoding/json"
	"time"
)

// CalendarEvent is an event as the calendar knows it. Empty strings and nil times
// stand for what the server leaves open.
type CalendarEvent struct {
	ID             string             `json:"id"`
	UID            string             `json:"uid"`
	Sequence       int                `json:"sequence"`
	Summary        string             `json:"summary"`
	Description    string             `json:"description"`
	Location       string             `json:"location"`
	URL            string             `json:"url"`
	Start          time.Time          `json:"start"` // of an all-day event: midnight UTC of its first day
	End            time.Time          `json:"end"`
	AllDay         bool               `json:"allDay"`
	Timezone       string             `json:"timezone"`
	Recurrence     string             `json:"recurrence"` // an RRULE
	ExDates        []string           `json:"exdates"`
	RDates         []string           `json:"rdates"`
	RecurrenceID   string             `json:"recurrenceId"`
	SubscriptionID string             `json:"subscriptionId"`
	Status         string             `json:"status"`
	Transparency   string             `json:"transparency"`
	Visibility     string             `json:"visibility"`
	Organizer      *Address           `json:"organizer"`
	IsOrganizer    bool               `json:"isOrganizer"`
	Source         string             `json:"source"`
	MessageID      string             `json:"messageId"`
	ThreadID       string             `json:"threadId"`
	Alarms         []CalendarAlarm    `json:"alarms"`
	Attendees      []CalendarAttendee `json:"attendees"`
	CreatedAt      time.Time          `json:"createdAt"`
	UpdatedAt      time.Time          `json:"updatedAt"`
}

// UnmarshalJSON reads the wire form.
func (e *CalendarEvent) UnmarshalJSON(b []byte) error {
	type plain CalendarEvent
	w := struct {
		*plain
		Start     Instant `json:"start"`
		End       Instant `json:"end"`
		CreatedAt Instant `json:"createdAt"`
		UpdatedAt Instant `json:"updatedAt"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	e.Start, e.End, e.CreatedAt, e.UpdatedAt = w.Start.Time, w.End.Time, w.CreatedAt.Time, w.UpdatedAt.Time
	return nil
}

// CalendarAlarm is a reminder.
type CalendarAlarm struct {
	MinutesBefore int    `json:"minutesBefore"`
	Action        string `json:"action"`
}

// CalendarAttendee is a person invited to an event.
type CalendarAttendee struct {
	Email         string     `json:"email"`
	Name          string     `json:"name"`
	PartStat      string     `json:"partstat"` // ACCEPTED, DECLINED, TENTATIVE, NEEDS-ACTION, …
	Role          string     `json:"role"`
	RSVP          bool       `json:"rsvp"`
	CUType        string     `json:"cutype"`
	RespondedAt   *time.Time `json:"respondedAt"`
	ProposedStart *time.Time `json:"proposedStart"`
	ProposedEnd   *time.Time `json:"proposedEnd"`
}

// UnmarshalJSON reads the wire form.
func (a *CalendarAttendee) UnmarshalJSON(b []byte) error {
	type plain CalendarAttendee
	w := struct {
		*plain
		RespondedAt   Instant `json:"respondedAt"`
		ProposedStart Instant `json:"proposedStart"`
		ProposedEnd   Instant `json:"proposedEnd"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	a.RespondedAt, a.ProposedStart, a.ProposedEnd = w.RespondedAt.pointer(), w.ProposedStart.pointer(), w.ProposedEnd.pointer()
	return nil
}
