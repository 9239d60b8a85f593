package state

import (
	"context"

	"codeberg.org/teapost/teapost/api"
)

// answers reports that the kind is an answer to an invitation.
func (k ChangeKind) answers() bool { return answerWords[k] != "" }

// answerWords are the answers in the words of the API.
var answerWords = map[ChangeKind]api.CalendarResponse{
	ChangeAccept: api.CalendarResponseAccepted, ChangeTentative: api.CalendarResponseTentative, ChangeDecline: api.CalendarResponseDeclined,
}

// answerCall makes the call of an answer. The server tells the organizer, so it may run only once.
func answerCall(c Change) func(context.Context, *api.Client) (any, error) {
	return func(ctx context.Context, a *api.Client) (any, error) {
		return a.Calendar.RespondToEvent(ctx, c.Event, api.CalendarEventAnswer{Response: answerWords[c.Kind]})
	}
}

// replaceAnswers lets go of earlier answers to the invitations of threads that nobody has had yet, or that are asked
// about: a new one takes their place.
func (m *Mail) replaceAnswers(ids []ThreadID) {
	for _, id := range ids {
		for _, c := range m.changes {
			switch {
			case c.Thread != id || !c.Change.Kind.answers() || !c.open():
			case c.State == changeAsked:
				m.dropAsked(c)
			case m.owner && !c.Attempted && c.call == "":
				c.dropped = true
				m.deleteChange(c)
			}
		}
	}
}

// answered takes over the event as it is after an answer.
func (m *Mail) answered(c *change, e *api.CalendarEvent) {
	if rec := m.rows[c.Thread]; rec != nil {
		rec.event, rec.eventSeq = e, m.next()
		rec.rev = rec.eventSeq
	}
}

// eventArrived takes over the event of a conversation, unless a newer one is here. It settles an answer that was asked
// about when the event has it.
func (m *Mail) eventArrived(id ThreadID, rec *threadRecord, e *api.CalendarEvent, seq uint64) {
	if seq < rec.eventSeq {
		return
	}
	rec.event, rec.eventSeq = e, seq
	rec.rev = m.next()
	for _, c := range m.changes {
		if c.Thread == id && c.State == changeAsked && !c.dropped && c.Change.Event == e.ID && m.answerIn(e) == c.Change.Kind {
			m.dropAsked(c)
		}
	}
}

// lookAtAnswer asks for the event of a thread again: it says whether an answer has arrived.
func (m *Mail) lookAtAnswer(id ThreadID) {
	if rec := m.rows[id]; rec != nil {
		rec.eventFor = 0
		m.loadEvent(id, rec)
	}
}

// answer is the person's own answer to the invitation of a thread, one that is on its way included; empty: none.
func (m *Mail) answer(id ThreadID, rec *threadRecord) ChangeKind {
	var kind ChangeKind
	if rec.event != nil {
		kind = m.answerIn(rec.event)
	}
	for _, c := range m.changes {
		if c.Thread == id && c.open() && c.Change.Kind.answers() {
			kind = c.Change.Kind
		}
	}
	return kind
}

// answerIn is the own answer that an event holds.
func (m *Mail) answerIn(e *api.CalendarEvent) ChangeKind {
	for _, a := range e.Attendees {
		if !m.isMe(a.Email) {
			continue
		}
		for kind, word := range answerWords {
			if a.PartStat == string(word) {
				return kind
			}
		}
	}
	return ""
}
