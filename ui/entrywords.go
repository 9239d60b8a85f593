package ui

import (
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/state"
)

// settled reports that nothing more happens to the entry by itself.
func settled(e state.Entry) bool {
	return e.State == state.EntrySent || e.State == state.EntryCancelled || e.State == state.EntryAccepted
}

// offTheList reports that dropping the entry loses nothing.
func offTheList(e state.Entry) bool {
	return e.State == state.EntrySent || e.State == state.EntryCancelled || e.Ask == state.AskSendAgain
}

// takingBack reports that it was asked to come back and the answer is open.
func takingBack(e state.Entry) bool {
	return e.TakingBack && e.State != state.EntrySent && e.State != state.EntryCancelled && e.State != state.EntryFailed
}

// holdable reports that an entry would go by itself and can be stopped here.
func holdable(e state.Entry) bool {
	return (e.State == state.EntryQueued || e.State == state.EntryWaiting) && e.Ask == state.AskNothing
}

// done says why there is nothing to do.
func done(e state.Entry) string {
	switch e.State {
	case state.EntrySent:
		return "it was sent"
	case state.EntryAccepted:
		return "the server has it already"
	case state.EntryCancelled:
		return "it was taken back"
	case state.EntryFailed:
		return "it was refused; edited, it goes as a new message"
	}
	return notFree(e)
}

// notFree says why an entry cannot be changed.
func notFree(e state.Entry) string {
	switch e.State {
	case state.EntrySaving, state.EntrySending:
		return "it is being sent"
	case state.EntryUnknown:
		return "it may have arrived, so that is found out first"
	case state.EntryWaiting:
		return "a try may have arrived, so that is found out first"
	case state.EntryAccepted, state.EntrySent, state.EntryCancelled:
		return done(e)
	}
	return "the program is busy with it"
}

// entryGlyph is a mark for the state, before the words that say the same, and its tone.
func entryGlyph(t *Theme, e state.Entry) (string, Style) {
	g := t.Glyphs
	switch e.State {
	case state.EntrySent:
		return g.Done, t.Good
	case state.EntryFailed:
		return g.Failed, t.Danger
	case state.EntryUnknown:
		return "?", t.Warn
	case state.EntryHeld:
		return "=", t.Warn
	case state.EntryCancelled:
		return g.Stopped, t.Muted
	case state.EntryWaiting:
		return g.Waits, t.Warn
	}
	if e.Ask != state.AskNothing {
		return "?", t.Warn
	}
	return g.Pending, t.Accent
}

// entryWords says in a few words where an entry stands.
func entryWords(e state.Entry, now time.Time) string {
	if takingBack(e) {
		return "taking it back"
	}
	switch e.Ask {
	case state.AskTryAgain:
		return "asks: send again?"
	case state.AskOverdue:
		return "asks: its time has passed"
	case state.AskEditAsNew:
		return "asks: edit as new?"
	case state.AskSendAgain:
		return "asks: send again?"
	}
	switch e.State {
	case state.EntrySaving:
		return "saving"
	case state.EntryQueued:
		if e.ScheduledAt.After(now) {
			return "for " + when.Format(e.ScheduledAt, now)
		}
		return "goes next"
	case state.EntrySending:
		if e.Attempts > 1 {
			return "sending, try " + itoa(e.Attempts)
		}
		return "sending"
	case state.EntryAccepted:
		switch {
		case e.ScheduledAt.After(now):
			return "goes " + when.Format(e.ScheduledAt, now)
		case e.Until.After(now):
			return "goes in " + seconds(e.Until.Sub(now))
		}
		if e.Why != "" {
			return "the server tries again"
		}
		return "being delivered"
	case state.EntrySent:
		if e.TestMode {
			return "kept in test mode"
		}
		if e.Why != "" {
			return "sent, not to all"
		}
		if !e.SettledAt.IsZero() {
			return "sent " + ago(e.SettledAt, now)
		}
		return "sent"
	case state.EntryWaiting:
		if d := e.Until.Sub(now); d > 0 {
			return "tries again in " + seconds(d)
		}
		return "tries again now"
	case state.EntryHeld:
		return "held"
	case state.EntryUnknown:
		return "not known if it arrived"
	case state.EntryFailed:
		return "refused"
	case state.EntryCancelled:
		return "taken back"
	}
	return clean.Line(string(e.State))
}

// entryStory is the same in whole sentences, with the reason.
func entryStory(e state.Entry, now time.Time) string {
	why := strings.TrimSuffix(clean.Line(e.Why), ".")
	because := ""
	if why != "" {
		because = ": " + why
	}
	if takingBack(e) {
		return "It is being taken back; the server has not answered yet."
	}
	switch e.Ask {
	case state.AskTryAgain:
		s := "It was tried before and may have arrived"
		if !e.CreatedAt.IsZero() {
			s += "; it was written " + when.Format(e.CreatedAt, now)
		}
		return s + ". Nobody can say whether the server still knows it. Shall it be sent again?"
	case state.AskOverdue:
		return "It was to go " + when.Format(e.ScheduledAt, now) + " and nothing was tried. Shall it go now, or at another time?"
	case state.AskEditAsNew:
		return "The server was asked and does not show it. It may still have been sent: edited as a new message, two may arrive."
	case state.AskSendAgain:
		return "It was handed over, and it is not known whether it arrived" + because + ". Sent again, it may arrive twice. Shall it be sent again?"
	}
	switch e.State {
	case state.EntrySaving:
		return "It is being written to the disk."
	case state.EntryQueued:
		if e.ScheduledAt.After(now) {
			return "It is handed to the server now, to go out " + when.Format(e.ScheduledAt, now) + "."
		}
		return "It is safe on disk and goes as soon as the way is free."
	case state.EntrySending:
		return "It is being handed to the server" + because + "."
	case state.EntryAccepted:
		switch {
		case e.ScheduledAt.After(now):
			return "The server has it and sends it " + when.Format(e.ScheduledAt, now) + "."
		case e.Until.After(now):
			return "The server has it and sends it in " + seconds(e.Until.Sub(now)) + "; until then it can be taken back."
		}
		if why != "" {
			return "The server has it and could not deliver it yet" + because + ". It tries again by itself."
		}
		return "The server has it and is delivering it."
	case state.EntrySent:
		switch {
		case e.TestMode:
			return "It was kept as sent in test mode, and not delivered (`teapost doctor` says why)."
		case e.Replayed:
			return "It was sent. It had already arrived, so nothing went twice."
		case why != "":
			return "It was sent, but not to everybody" + because + "."
		}
		return "It was sent."
	case state.EntryWaiting:
		s := "It could not be sent" + because + ". "
		if d := e.Until.Sub(now); d > 0 {
			return s + "The next try is in " + seconds(d) + "; sending again cannot double it."
		}
		return s + "It is tried again now; sending again cannot double it."
	case state.EntryHeld:
		return "It stays here until you send it" + because + "."
	case state.EntryUnknown:
		return "It may have arrived" + because + ". Sending again cannot double it."
	case state.EntryFailed:
		return "The server refused it" + because + ". It was not sent."
	case state.EntryCancelled:
		return "It was taken back and not sent."
	}
	return ""
}
