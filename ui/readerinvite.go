package ui

import (
	"slices"
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// inviteAnswers are the ways to answer an invitation, in the order of the screen.
var inviteAnswers = []struct {
	action keymap.Action
	kind   state.ChangeKind
	verb   string
	done   string
}{
	{keymap.InviteAccept, state.ChangeAccept, "accept", "You accepted"},
	{keymap.InviteMaybe, state.ChangeTentative, "maybe", "You said maybe"},
	{keymap.InviteDecline, state.ChangeDecline, "decline", "You declined"},
}

// invitation draws the card of the invitation that came with a message; false: there is none.
func (r *reader) invitation(m *api.Message, f *Frame) bool {
	in, invited := inviteOf(m, f.Options.zone())
	e := r.th.Event
	switch {
	case invited:
	case e != nil && e.MessageID == m.ID:
		in = inviteFrom(e, f.Options.zone())
	default:
		return false
	}
	t := f.Theme
	what := "Invitation"
	switch {
	case in.Method == "CANCEL" || in.Status == "CANCELLED":
		what = "Cancelled"
	case in.Method == "REPLY":
		what = "Answer to an invitation"
	case in.Method == "COUNTER":
		what = "Another time proposed"
	}
	r.cardRow(t.Glyphs.Invite+" ", what+": "+in.Summary, t.Bold, f)
	r.card("When", strings.ReplaceAll(in.When, "–", t.Keep("–", "-")), t.Text, f)
	r.card("Repeats", in.Repeats, t.Text, f)
	r.card("Where", in.Place, t.Text, f)
	r.card("From", in.By, t.Text, f)
	asks := r.asks(m, in)
	if in.Guests > 0 {
		guests := strconv.Itoa(in.Guests)
		if asks {
			guests += r.answers(f)
		}
		r.card("Guests", guests, t.Text, f)
	}
	if asks {
		r.card("Answer", r.answerLine(f), t.Accent, f)
	}
	r.add("", "")
	return invited
}

// card adds rows of an invitation: a name and what it says.
func (r *reader) card(label, value string, style Style, f *Frame) {
	if value != "" {
		r.cardRow(fit(f.Theme, label, 9), value, style, f)
	}
}

// cardRow adds rows of an invitation that begin with the label.
func (r *reader) cardRow(label, value string, style Style, f *Frame) {
	t := f.Theme
	width := cells.Width(label)
	for _, l := range cells.Wrap(cells.Stable(value), max(8, textWidth(f)-3-width)) {
		r.add(cells.Blank(indent(f))+t.Accent.Render(t.Glyphs.Vertical)+" "+t.Field.Render(label)+style.Render(l), l)
		label = cells.Blank(width)
	}
}

// answers says how many guests have answered what.
func (r *reader) answers(f *Frame) string {
	count := map[string]int{}
	for _, a := range r.th.Event.Attendees {
		count[strings.ToUpper(a.PartStat)]++
	}
	out := ""
	for _, a := range []struct{ status, word string }{{"ACCEPTED", "accepted"}, {"TENTATIVE", "maybe"}, {"DECLINED", "declined"}} {
		if n := count[a.status]; n > 0 {
			out += f.Theme.Dot() + strconv.Itoa(n) + " " + a.word
		}
	}
	return out
}

// asks reports that a message is the one whose invitation can be answered.
func (r *reader) asks(m *api.Message, in invite) bool {
	e := r.th.Event
	if r.whyNoAnswer() != "" || in.Method != "" && in.Method != "REQUEST" && in.Method != "PUBLISH" {
		return false
	}
	return e.MessageID == m.ID || !slices.ContainsFunc(r.th.Messages, func(o api.Message) bool { return o.ID == e.MessageID })
}

// answerLine says what was answered, and the keys that answer.
func (r *reader) answerLine(f *Frame) string {
	var parts []string
	for _, a := range inviteAnswers {
		if a.kind == r.th.Answer {
			parts = append([]string{a.done}, parts...)
		} else if k := firstKey(f.Keys, keymap.InReader, a.action); k != "" {
			parts = append(parts, k+" "+a.verb)
		}
	}
	return strings.Join(parts, f.Theme.Dot())
}

// whyNoAnswer says why the invitation in the conversation cannot be answered; empty: it can.
func (r *reader) whyNoAnswer() string {
	e := r.th.Event
	switch {
	case e == nil && !r.th.Row.Invite:
		return "There is no invitation in this conversation"
	case e == nil && !r.th.NoEvent:
		return "The invitation is not here yet: try again in a moment"
	case e == nil:
		return "The server does not know this invitation as an event: answer it with a message"
	case e.IsOrganizer:
		return "This event is your own"
	case strings.EqualFold(e.Status, "CANCELLED"):
		return "This event is cancelled"
	}
	return ""
}

// answer answers the invitation of the conversation.
func (r *reader) answer(action keymap.Action, f *Frame) {
	if why := r.whyNoAnswer(); why != "" {
		f.Flash(why)
		return
	}
	for _, a := range inviteAnswers {
		switch {
		case a.action != action:
		case a.kind == r.th.Answer:
			f.Flash(a.done + " already")
		default:
			f.Mail.Do([]state.ThreadID{r.id}, state.Change{Kind: a.kind, Event: r.th.Event.ID})
		}
	}
}
