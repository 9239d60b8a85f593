package api

import "time"

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
