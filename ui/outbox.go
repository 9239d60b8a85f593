package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// outbox lists the messages that have not left yet, and those that just did, with what can be done about each.
type outbox struct {
	sel   state.EntryID
	index int
	top   int
	// editing is the entry that is looked up before its text may open again.
	editing state.EntryID
}

func newOutbox() Screen { return &outbox{} }

// cursor is the chosen entry; it holds to the id, so that news never moves it.
func (o *outbox) cursor(list []state.Entry) int {
	for i := range list {
		if list[i].ID == o.sel {
			o.index = i
			return i
		}
	}
	o.index = max(min(o.index, len(list)-1), 0)
	if len(list) > 0 {
		o.sel = list[o.index].ID
	}
	return o.index
}

func (o *outbox) move(to int, list []state.Entry) {
	if len(list) > 0 {
		o.index = max(min(to, len(list)-1), 0)
		o.sel = list[o.index].ID
	}
}

func (o *outbox) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		o.resume(f)
	case tea.MouseMsg:
		list := f.Mail.Outbox()
		i := o.cursor(list)
		switch msg.Button {
		case tea.MouseButtonWheelDown:
			o.move(i+1, list)
		case tea.MouseButtonWheelUp:
			o.move(i-1, list)
		case tea.MouseButtonLeft:
			if h := o.listHeight(f, list); msg.Y < h {
				o.move(keep(o.top, i, len(list), h)+msg.Y, list)
			}
		}
	}
	return o, nil
}

// resume goes on with an edit that had to wait for the server's answer.
func (o *outbox) resume(f *Frame) {
	if o.editing == "" {
		return
	}
	e, ok := f.Mail.Entry(o.editing)
	switch {
	case !ok:
		o.editing = ""
	case e.Ask == state.AskEditAsNew:
		o.editing = ""
		if f.Focused {
			o.askAsNew(e, f)
		}
	case e.CanEdit:
		o.editing = ""
		if d, ok := f.Mail.EditEntry(e.ID); ok && f.Focused {
			f.Ask(openDraftMsg{d})
		}
	case e.State == state.EntrySent, e.State == state.EntryAccepted, e.State == state.EntryCancelled:
		o.editing = ""
	}
}

// askAsNew warns that two may arrive, then opens the text as a new message.
func (o *outbox) askAsNew(e state.Entry, f *Frame) {
	m, id := f.Mail, e.ID
	f.Dialog(newConfirm(quoted(e.Subject)+" may already have been sent. If you edit it as a new message and send that, two may arrive.",
		"edit as a new message", func() tea.Msg {
			if d, ok := m.EditAsNew(id); ok {
				return openDraftMsg{d}
			}
			return flashMsg{text: "Its text cannot be opened any more", failure: true}
		}))
}

func (o *outbox) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	list := f.Mail.Outbox()
	i := o.cursor(list)
	h := max(o.listHeight(f, list), 1)
	if to, ok := listMove(a, i, len(list), h); ok {
		o.move(to, list)
		return o, nil, true
	}
	switch a {
	case keymap.SendNow, keymap.Hold, keymap.Drop, keymap.Edit, keymap.EditAsNew, keymap.Open, keymap.Undo, keymap.Retry:
		if len(list) == 0 {
			return o, nil, a != keymap.Undo && a != keymap.Retry
		}
		return o, nil, o.do(a, list[i], f)
	case keymap.Select:
		f.Flash("Messages in the outbox are handled one by one")
	default:
		return o, nil, false
	}
	return o, nil, true
}

// do does what can be done with an entry, or says why it cannot.
func (o *outbox) do(a keymap.Action, e state.Entry, f *Frame) bool {
	busy := e.State == state.EntrySaving || e.State == state.EntrySending
	name := quoted(e.Subject)
	switch a {
	case keymap.SendNow, keymap.Retry:
		switch {
		case e.CanSend:
			f.Mail.SendNow(e.ID)
		case a == keymap.Retry:
			return false
		case busy:
			f.Flash(name + " is being sent already")
		default:
			f.Flash(name + ": " + done(e))
		}
	case keymap.Hold:
		switch {
		case e.State == state.EntryHeld:
			f.Flash(name + " is held already")
		case settled(e):
			f.Flash(name + ": " + done(e))
		default:
			f.Mail.Hold(e.ID)
		}
	case keymap.Drop:
		if !e.CanDrop {
			f.Flash(name + " cannot be dropped now: " + notFree(e))
			break
		}
		if offTheList(e) {
			f.Mail.Drop(e.ID)
			break
		}
		m, id := f.Mail, e.ID
		f.Dialog(newConfirm("Drop "+name+"? It is not sent, and its text is lost.", "drop it", func() tea.Msg {
			m.Drop(id)
			return nil
		}))
	case keymap.Edit, keymap.Open:
		if e.Ask == state.AskSendAgain {
			f.Flash(name + " was handed over: send it again, or take it off this list")
			break
		}
		if e.Ask == state.AskEditAsNew {
			o.askAsNew(e, f)
			break
		}
		if a == keymap.Open && !e.CanEdit {
			if settled(e) && e.ThreadID != "" {
				f.Ask(openThreadMsg{e.ThreadID})
			} else {
				f.Flash(name + ": " + notFree(e))
			}
			break
		}
		if settled(e) && !e.CanEdit {
			f.Flash(name + ": " + done(e))
			break
		}
		if d, ok := f.Mail.EditEntry(e.ID); ok {
			f.Ask(openDraftMsg{d})
			break
		}
		o.editing = e.ID
		f.Flash("Finding out first whether " + name + " arrived")
	case keymap.EditAsNew:
		if e.CanEdit {
			if d, ok := f.Mail.EditEntry(e.ID); ok {
				f.Ask(openDraftMsg{d})
				break
			}
		}
		o.askAsNew(e, f)
	case keymap.Undo:
		if !e.CanTakeBack || takingBack(e) {
			return false
		}
		f.Mail.TakeBack(e.ID)
	}
	return true
}

// offTheList reports that dropping the entry loses nothing.
func offTheList(e state.Entry) bool {
	return e.State == state.EntrySent || e.State == state.EntryCancelled || e.Ask == state.AskSendAgain
}

// settled reports that nothing more happens to the entry by itself.
func settled(e state.Entry) bool {
	return e.State == state.EntrySent || e.State == state.EntryCancelled || e.State == state.EntryAccepted
}

// takingBack reports that it was asked to come back and the answer is open.
func takingBack(e state.Entry) bool {
	return e.TakingBack && e.State != state.EntrySent && e.State != state.EntryCancelled && e.State != state.EntryFailed
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

// entryGlyph is a mark for the state, before the words that say the same.
func entryGlyph(t *Theme, e state.Entry) string {
	g := t.Glyphs
	switch e.State {
	case state.EntrySent:
		return t.Good.Render(g.Done)
	case state.EntryFailed:
		return t.Danger.Render(g.Failed)
	case state.EntryUnknown:
		return t.Warn.Render("?")
	case state.EntryHeld:
		return t.Warn.Render("=")
	case state.EntryCancelled:
		return t.Muted.Render(g.Stopped)
	case state.EntryWaiting:
		return t.Warn.Render(g.Waits)
	}
	if e.Ask != state.AskNothing {
		return t.Warn.Render("?")
	}
	return t.Accent.Render(g.Pending)
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

// choices are the keys that make sense for an entry.
func (o *outbox) choices(e state.Entry, f *Frame) string {
	var out []string
	add := func(a keymap.Action, words string) {
		if k := firstKey(f.Keys, keymap.InOutbox, a); k != "" {
			out = append(out, hint(f.Theme, k, words))
		}
	}
	if e.CanTakeBack && !takingBack(e) {
		add(keymap.Undo, "takes it back")
	}
	if e.CanSend {
		switch e.Ask {
		case state.AskTryAgain, state.AskSendAgain:
			add(keymap.SendNow, "sends it again")
		default:
			add(keymap.SendNow, "sends it now")
		}
	}
	switch {
	case e.Ask == state.AskOverdue && e.CanEdit:
		add(keymap.Edit, "opens it for another time")
	case e.Ask == state.AskEditAsNew:
		add(keymap.EditAsNew, "edits it as a new message")
	case e.CanEdit:
		add(keymap.Edit, "edits it")
	case e.Ask == state.AskSendAgain:
	case e.State == state.EntryUnknown || e.State == state.EntryWaiting:
		add(keymap.Edit, "edits it, once it is known")
		add(keymap.EditAsNew, "edits it as a new message")
	}
	if holdable(e) {
		add(keymap.Hold, "holds it")
	}
	if e.CanDrop {
		if offTheList(e) {
			add(keymap.Drop, "takes it off this list")
		} else {
			add(keymap.Drop, "drops it")
		}
	}
	return strings.Join(out, f.Theme.Dot())
}

// detail is the part below the list that speaks of the chosen entry.
func (o *outbox) detail(e state.Entry, f *Frame) []string {
	t, w := f.Theme, max(f.Width-2, 1)
	var out []string
	out = append(out, t.Bold.Render(column(t, subjectOf(e.Subject), w)))
	var to []string
	for _, a := range e.To {
		_, full := clean.Address(a.Name, a.Email)
		to = append(to, full)
	}
	out = append(out, t.Field.Render("To ")+column(t, strings.Join(to, ", "), max(w-3, 1)))
	out = append(out, cells.Wrap(entryStory(e, f.Now), w)...)
	var facts []string
	if e.Attempts > 0 {
		facts = append(facts, plural(e.Attempts, "try", "tries"))
	}
	if e.Status != 0 {
		facts = append(facts, "answer "+itoa(e.Status))
	}
	if e.Request != "" {
		facts = append(facts, clean.LineMax(e.Request, 60))
	}
	if !e.CreatedAt.IsZero() {
		facts = append(facts, "written "+when.Format(e.CreatedAt, f.Now))
	}
	if len(facts) > 0 {
		out = append(out, t.Muted.Render(cells.Truncate(strings.Join(facts, t.Dot()), w, t.Glyphs.Ellipsis)))
	}
	if c := o.choices(e, f); c != "" {
		out = append(out, wrapHints(c, t.Dot(), w)...)
	}
	return out
}

// wrapHints breaks a line of hints between hints.
func wrapHints(s, dot string, width int) []string {
	var out []string
	line := ""
	for _, h := range strings.Split(s, dot) {
		switch {
		case line == "":
			line = h
		case cells.Width(line)+cells.Width(dot)+cells.Width(h) <= width:
			line += dot + h
		default:
			out = append(out, line)
			line = h
		}
	}
	return append(out, line)
}

// listHeight is how many rows the list has: the detail takes what it needs, at most half where there is little room.
func (o *outbox) listHeight(f *Frame, list []state.Entry) int {
	if len(list) == 0 || f.Height < 6 {
		return f.Height
	}
	n := 1 + len(o.detail(list[min(o.index, len(list)-1)], f))
	return max(f.Height-n, min(len(list), 3))
}

func (o *outbox) View(f *Frame) string {
	t, w := f.Theme, f.Width
	list := f.Mail.Outbox()
	if len(list) == 0 {
		return "\n" + cells.Truncate("  Nothing waits to be sent.", w, t.Glyphs.Ellipsis)
	}
	cur := o.cursor(list)
	h := o.listHeight(f, list)
	top := keep(o.top, cur, len(list), h)
	o.top = top
	var rows []string
	stateW := min(30, max(w*2/5, 10))
	toW := 0
	if w >= 56 {
		toW = min(22, w/5)
	}
	subjW := max(w-4-stateW-1-1, 1)
	if toW > 0 {
		subjW = max(subjW-toW-1, 1)
	}
	for i := top; i < min(top+h, len(list)); i++ {
		e := list[i]
		on := Style{}
		bar := " "
		if i == cur {
			bar, on = t.Accent.With(t.Cursor).Render(t.Glyphs.Bar), t.Cursor
		}
		var b strings.Builder
		b.WriteString(bar + entryGlyph(t, e) + " ")
		if toW > 0 {
			b.WriteString(on.Render(column(t, firstOf(e.To), toW)) + " ")
		}
		b.WriteString(on.Render(column(t, subjectOf(e.Subject), subjW)) + " ")
		words := t.Muted
		if e.Ask != state.AskNothing || e.State == state.EntryFailed || e.State == state.EntryUnknown {
			words = t.Warn
		}
		b.WriteString(words.With(on).Render(cells.PadLeft(cells.Truncate(entryWords(e, f.Now), stateW, t.Glyphs.Ellipsis), stateW)))
		rows = append(rows, b.String())
	}
	if h < f.Height {
		for len(rows) < h {
			rows = append(rows, "")
		}
		rows = append(rows, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(w-2, 0))))
		for _, l := range o.detail(list[cur], f) {
			rows = append(rows, " "+l)
		}
	}
	if len(rows) > f.Height {
		rows = rows[:f.Height]
	}
	return strings.Join(rows, "\n")
}

// firstOf names the first of some people, and how many more there are.
func firstOf(to []state.Address) string {
	if len(to) == 0 {
		return "(nobody)"
	}
	s, _ := clean.Address(to[0].Name, to[0].Email)
	if len(to) > 1 {
		s += " +" + itoa(len(to)-1)
	}
	return s
}

func (o *outbox) Context() keymap.Context { return keymap.InOutbox }
func (o *outbox) Capturing() bool         { return false }

func (o *outbox) Title(f *Frame) string {
	n := 0
	for _, e := range f.Mail.Outbox() {
		if e.State != state.EntrySent && e.State != state.EntryCancelled {
			n++
		}
	}
	if n == 0 {
		return "Outbox"
	}
	return "Outbox" + f.Theme.Dot() + plural(n, "message", "messages") + " not sent yet"
}

// Hints are the keys that do something to the chosen entry.
func (o *outbox) Hints(f *Frame) []keymap.Action {
	var out []keymap.Action
	if list := f.Mail.Outbox(); len(list) > 0 {
		e := list[o.cursor(list)]
		if e.CanTakeBack && !takingBack(e) {
			out = append(out, keymap.Undo)
		}
		if e.CanSend {
			out = append(out, keymap.SendNow)
		}
		if holdable(e) {
			out = append(out, keymap.Hold)
		}
		if e.CanEdit {
			out = append(out, keymap.Edit)
		}
		if e.CanDrop {
			out = append(out, keymap.Drop)
		}
	}
	return append(out, keymap.Down, keymap.Up, keymap.Back, keymap.Activity, keymap.Compose)
}

// holdable reports that an entry would go by itself and can be stopped here.
func holdable(e state.Entry) bool {
	return (e.State == state.EntryQueued || e.State == state.EntryWaiting) && e.Ask == state.AskNothing
}

// Every follows the countdowns.
func (o *outbox) Every(f *Frame) time.Duration {
	d := time.Duration(0)
	for _, e := range f.Mail.Outbox() {
		switch {
		case e.Until.After(f.Now):
			return time.Second
		case e.State == state.EntrySent && f.Now.Sub(e.SettledAt) < time.Minute:
			return time.Second
		case !settled(e):
			d = 30 * time.Second
		}
	}
	return d
}
