package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// SendNow tries a message now, whatever it waits for, and answers its question with yes.
func (m *Mail) SendNow(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(id); e != nil {
		m.sendNow(e)
	}
}

func (m *Mail) sendNow(e *entry) {
	if e.busy() || e.look != "" || e.taken {
		return
	}
	if e.Ask == AskSendAgain || e.stuck(m.now()) {
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		e.AgainWanted = true
		if e.State == EntryAccepted {
			e.Why = ""
		}
		m.saveEntry(e, nil)
		if m.owner {
			m.sendAgain(e)
		}
		return
	}
	switch e.State {
	case EntryQueued, EntryHeld, EntryWaiting, EntryUnknown:
	default:
		return
	}
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	if e.Ask == AskOverdue { // its bytes name a time that has passed: a new message without it
		m.send(e.Draft, SendOptions{}, e)
		return
	}
	if e.Ask == AskTryAgain {
		e.Origin, e.FirstAttempt = m.opts.Origin, m.now()
	}
	e.Ask, e.Stopped, e.NextAt, e.Tries, e.SignIn, e.poked = AskNothing, false, time.Time{}, 0, false, 0
	e.TooLate, e.kept, e.renewed = false, false, false // a wish to take it back stays: the answer to this try names the message
	if e.State == EntryHeld {
		e.State = EntryQueued
		if e.attempted() {
			e.State = EntryUnknown
		}
	}
	if m.now().Before(e.AskedUntil) {
		m.waitAsAsked(e)
		return
	}
	if m.owner {
		m.insist()
		m.try(e)
		return
	}
	m.saveEntry(e, nil)
}

// waitAsAsked keeps a message from being tried before the time that the server named, whoever wishes it.
func (m *Mail) waitAsAsked(e *entry) {
	until := "until " + shortTime(e.AskedUntil, m.now())
	e.State, e.NextAt, e.NetWait, e.Why = EntryWaiting, e.AskedUntil, false, "the server asked to wait "+until
	m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "Not yet: the server asked to wait " + until + " · " + quoted(e.Subject) + " goes then by itself"})
	m.saveEntry(e, nil)
}

// Hold keeps a message from being tried until the person says so. During an attempt it becomes unknown instead.
func (m *Mail) Hold(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil || e.Ask == AskSendAgain {
		return
	}
	if c := m.calls[e.call]; c != nil {
		m.stopCall(c)
		return
	}
	if e.claiming {
		e.holdWanted = true
		return
	}
	if m.hold(e) {
		m.saveEntry(e, nil)
	}
}

func (m *Mail) hold(e *entry) bool {
	switch e.State {
	case EntryQueued, EntryWaiting, EntryUnknown:
		e.State, e.Why = EntryHeld, "held by you"
		if e.attempted() {
			e.State, e.Stopped, e.Why = EntryUnknown, true, "you stopped it"
		}
		m.noMoreTakingBack(e)
		return true
	}
	return false
}

// Drop throws a message away, where that is free. One whose fate is unknown is looked for first.
func (m *Mail) Drop(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil {
		return
	}
	switch {
	case e.free() || e.State == EntrySent && !e.busy() || e.Ask == AskSendAgain && !e.busy():
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		m.dropEntry(e, func(err error) {
			switch {
			case err == nil:
				m.replaceResult(Notice{Kind: NoticeResult, Text: "Dropped " + quoted(e.Subject)})
			case errors.Is(err, errTaken):
				m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not dropped: another teapost changed " + quoted(e.Subject) + " meanwhile"})
			}
		})
	case e.State == EntryUnknown || e.State == EntryWaiting:
		m.askBeforeEdit(e)
	}
}

// TakeBack keeps a message from arriving, as far as that is still possible.
func (m *Mail) TakeBack(id EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(id); e != nil && e.canTakeBack(m.now()) {
		m.takeBack(e)
	}
}

func (m *Mail) takeBack(e *entry) {
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	e.mine = true
	switch {
	case e.State == EntrySaving:
		e.CancelWanted = true
	case !e.attempted() && !e.busy():
		m.dropBack(e)
	default:
		// Accepted, it is cancelled. Else an attempt is open or unanswered: the answer names the message first.
		e.CancelWanted, e.Stopped, e.NextAt, e.Ask = true, false, e.AskedUntil, AskNothing
		m.saveEntry(e, func(err error) { m.takeBackKept(e, err) })
		m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "Taking back " + quoted(e.Subject)})
		m.pumpOutbox(m.now())
	}
}

// takeBackKept goes on with the wish to take a message back when the disk has it, or when another process was quicker.
func (m *Mail) takeBackKept(e *entry, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errTaken):
		m.takeBackLater(e)
	default: // it goes on all the same, but not over a restart
		m.afterAWhile(func() {
			if m.entry(e.ID) == e && e.CancelWanted {
				m.saveEntry(e, nil)
			}
		})
	}
}

// takeBackLater takes a message back as it stands once it is known what another process made of it.
func (m *Mail) takeBackLater(e *entry) {
	m.reloadThen(func() {
		have := m.entry(e.ID)
		switch {
		case have == nil || have.CancelWanted || have.State == EntryCancelled:
		case have.canTakeBack(m.now()):
			m.takeBack(have)
		default:
			have.TooLate = true
			m.addNotice(Notice{Kind: NoticeFailure, Entry: have.ID, Text: "Not known whether " + quoted(have.Subject) + " can still be taken back: another teapost is sending it"})
		}
	})
}

// dropBack takes back a message that was never tried.
func (m *Mail) dropBack(e *entry) {
	rec := m.reopened(e)
	m.removeEntry(e, m.putReopened(rec), func(err error) {
		switch {
		case err == nil:
			m.adoptReopened(rec)
			m.tookBack(e)
		case errors.Is(err, errTaken):
			m.takeBackLater(e)
		default:
			e.State, e.Why = EntryHeld, "it could not be put among the drafts: "+diskReason(err)
			m.heldNotice(e)
		}
	})
}

// cancelEmail cancels an accepted message whose id is known.
func (m *Mail) cancelEmail(e *entry) {
	if e.call != "" {
		return
	}
	id := e.EmailID
	e.call = m.start(want{
		op: "emails.cancel", title: "Taking back " + quoted(e.Subject), purpose: "cancel " + id, priority: api.Person, foreground: true,
		write: true, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Cancel(ctx, id) },
		done: func(f api.Final) {
			e.call = ""
			var ae *api.Error
			switch {
			case f.Err == nil:
				mail := f.Value.(*api.Email)
				if mail.Status != api.EmailCancelled { // it goes all the same, it seems; what became of it will show
					e.CancelWanted, e.TooLate = false, true
				}
				m.emailKnown(e, mail, false)
			case errors.Is(f.Err, context.Canceled) && !errors.Is(f.Err, errStopped):
				// The program ends; the next start goes on.
			case errors.As(f.Err, &ae) && ae.Status >= 400 && ae.Status < 500 && ae.Status != 408 && ae.Status != 429:
				e.CancelWanted, e.TooLate = false, true
				e.followAt = m.now()
				m.saveEntry(e, nil)
			default:
				e.CancelWanted, e.TooLate = false, true
				e.followAt = m.now().Add(2 * time.Second)
				m.saveEntry(e, nil)
				n := Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not known whether %s was taken back: %s", quoted(e.Subject), reason(f.Err))}
				m.addNoticeRetry(n, func() {
					if e.State == EntryAccepted {
						m.takeBack(e)
					}
				})
			}
		},
	})
}

// sendAgain has the server send a message once more to the recipients that may not have it. With the lock held, by the
// owner.
func (m *Mail) sendAgain(e *entry) {
	if e.call != "" {
		return
	}
	id, at := e.EmailID, m.now().Add(2*time.Second)
	e.call = m.start(want{
		op: "emails.reschedule", title: "Sending " + quoted(e.Subject) + " again", purpose: "again " + id, priority: api.Person, foreground: true,
		write: true, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Reschedule(ctx, id, at) },
		done: func(f api.Final) {
			e.call, e.AgainWanted = "", false
			if f.Err == nil {
				m.emailKnown(e, f.Value.(*api.Email), false)
				return
			}
			m.saveEntry(e, nil)
			// Of no entry, so that it stays when the answer below brings the question back.
			m.addNotice(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("Not sent again: %s · %s", quoted(e.Subject), reason(f.Err))})
			if f.Attempts > 0 { // it may have been understood all the same
				m.followEmail(e)
			}
		},
	})
}

// EditEntry opens the text of a message again and takes it out of the outbox, where that is free. One whose fate is
// unknown is looked for first: ok is false then, and when it was not found the entry asks [AskEditAsNew].
func (m *Mail) EditEntry(id EntryID) (d Draft, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil {
		return Draft{}, false
	}
	switch {
	case e.unsaved: // its text never left the drafts
		rec := m.drafts[e.Draft.ID]
		if rec == nil {
			return Draft{}, false
		}
		m.forget(e)
		return rec.Draft, true
	case e.Ask == AskEditAsNew:
		return Draft{}, false
	case e.free() && !m.owner && !e.kept && e.State != EntryFailed && e.State != EntryCancelled:
		m.keep(e)
		return Draft{}, false
	case e.free():
		return m.editAgain(e), true
	case e.State == EntryUnknown || e.State == EntryWaiting:
		m.askBeforeEdit(e)
	}
	return Draft{}, false
}

// keep holds a message that another process would send, so that it can be edited here.
func (m *Mail) keep(e *entry) {
	state, why := e.State, e.Why
	e.State, e.Why, e.claiming = EntryHeld, "held by you", true
	m.saveEntry(e, func(err error) {
		e.claiming, e.kept = false, err == nil
		if err != nil && !errors.Is(err, errTaken) {
			e.State, e.Why = state, why // as the disk has it
		}
		m.changed()
	})
}

// EditAsNew opens the text of a message whose fate is unknown as a new message, after the person was told that two may
// arrive. The old one is never tried again.
func (m *Mail) EditAsNew(id EntryID) (d Draft, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id)
	if e == nil || e.Ask != AskEditAsNew || !e.free() {
		return Draft{}, false
	}
	return m.editAgain(e), true
}

func (m *Mail) askBeforeEdit(e *entry) {
	if e.busy() || e.look != "" || e.Ask == AskSendAgain {
		return
	}
	state, stopped := e.State, e.Stopped
	e.State, e.Stopped = EntryUnknown, true
	m.lookUp(e, func(found bool, err error) {
		switch {
		case err != nil:
			if e.State == EntryUnknown {
				e.State, e.Stopped = state, stopped
			}
		case found:
			m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "It had arrived: " + quoted(e.Subject)})
		default:
			m.noMoreTakingBack(e)
			e.State, e.Stopped, e.Ask, e.Why = EntryUnknown, true, AskEditAsNew, "not found at the server, but it may still arrive"
			m.saveEntry(e, nil)
		}
	})
}
