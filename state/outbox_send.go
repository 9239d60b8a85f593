package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// pumpOutbox tries what may be tried now and follows what was accepted. With the lock held.
func (m *Mail) pumpOutbox(now time.Time) {
	for _, e := range append([]*entry(nil), m.outbox...) {
		if !e.live() {
			if !e.unsaved && m.owner && !e.busy() && !e.SettledAt.IsZero() && now.Sub(e.SettledAt) > keepSettled {
				m.dropEntry(e, func(err error) {
					if err != nil {
						e.SettledAt = m.now() // another day
					}
				})
			}
			continue
		}
		if !m.owner || m.closing || e.busy() || e.look != "" || e.taken {
			continue
		}
		switch {
		case e.AgainWanted:
			m.sendAgain(e)
		case e.State == EntryAccepted:
			if e.CancelWanted {
				m.cancelEmail(e)
			} else if e.follow == "" && !now.Before(e.followAt) && !m.quiet() {
				m.followEmail(e)
			}
		case m.mayTry(e, now):
			m.try(e)
		}
	}
}

// mayTry says whether an attempt may begin now, and puts the question where the person must be asked first.
func (m *Mail) mayTry(e *entry, now time.Time) bool {
	switch e.State {
	case EntryQueued, EntryWaiting:
	case EntryUnknown:
		if e.Stopped {
			return false
		}
	default:
		return false
	}
	if e.Ask != AskNothing || now.Before(e.NextAt) || m.quiet() && e.State != EntryQueued {
		return false
	}
	if !e.attempted() {
		if !e.ScheduledAt.IsZero() && !now.Before(e.ScheduledAt) {
			e.Ask = AskOverdue
			m.saveEntry(e, nil)
			return false
		}
		return true
	}
	late := now.Sub(e.FirstAttempt) > askAfter || e.Origin != m.opts.Origin
	if !late && (!e.CancelWanted || e.Window || now.Before(e.ScheduledAt)) {
		return true
	}
	m.lookUp(e, func(found bool, err error) {
		if found || err != nil {
			return
		}
		e.State, e.Ask = EntryUnknown, AskTryAgain
		switch {
		case e.CancelWanted: // tried again it might go out, and it is not wanted
			e.CancelWanted, e.TooLate, e.Stopped, e.Ask = false, true, true, AskEditAsNew
			e.Why = "not found at the server, but it may still arrive"
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not known whether " + quoted(e.Subject) + " was taken back: the server does not show it"})
		case e.Origin != m.opts.Origin:
			e.Why = "it may have arrived, and the account has changed since"
		default:
			e.Why = "it may have arrived, and it was first tried over a day ago"
		}
		m.saveEntry(e, nil)
	})
	return false
}

func (m *Mail) dueOutbox() time.Time {
	var due time.Time
	if !m.owner {
		return due
	}
	now := m.now()
	for _, e := range m.outbox {
		if !e.live() || e.busy() || e.look != "" || e.taken || e.Ask != AskNothing {
			continue
		}
		switch e.State {
		case EntryQueued, EntryWaiting:
			due = sooner(due, latest(e.NextAt, now))
		case EntryUnknown:
			if !e.Stopped {
				due = sooner(due, latest(e.NextAt, now))
			}
		case EntryAccepted:
			if e.follow == "" {
				due = sooner(due, latest(e.followAt, now))
			}
		}
	}
	if due.Before(m.limitedUntil) && !due.IsZero() {
		due = m.limitedUntil
	}
	return due
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// pokeOutbox lets what waits for a connection go now.
func (m *Mail) pokeOutbox() {
	now := m.now()
	for _, e := range m.outbox {
		if e.State != EntryWaiting && e.State != EntryUnknown {
			continue
		}
		pause := time.Duration(0) // grows when the others get through and this one does not
		if e.poked > 0 || e.Status != 0 {
			pause = growing(15*time.Second, 15*time.Minute, e.poked)
		}
		if e.NetWait && now.Before(e.NextAt) && now.Sub(e.LastTry) > pause {
			e.NextAt = time.Time{}
			e.poked++
		}
	}
}

// try begins an attempt: first the disk learns that one begins, then the bytes go out.
func (m *Mail) try(e *entry) {
	before := *e
	e.claiming, e.holdWanted, e.fresh = true, false, !e.attempted()
	if e.fresh {
		e.FirstAttempt, e.Origin = m.now(), m.opts.Origin
	}
	e.LastTry = m.now()
	e.State, e.Stopped, e.Why, e.Status, e.Code, e.NetWait, e.SignIn = EntrySending, false, "", 0, "", false, false
	m.saveEntry(e, func(err error) {
		e.claiming = false
		if err != nil {
			m.notTried(e, before)
			if !errors.Is(err, errTaken) {
				e.NextAt = m.now().Add(15 * time.Second) // the disk is full: the bytes must not leave unrecorded
			}
			m.changed()
			return
		}
		m.sendBytes(e, before)
	})
}

// notTried puts an entry back to how it was before an attempt that was not made.
func (m *Mail) notTried(e *entry, before entry) {
	cancel, rev := e.CancelWanted, e.Rev
	before.entryRun = e.entryRun
	*e = before
	e.CancelWanted, e.Rev = cancel, rev
}

func (m *Mail) sendBytes(e *entry, before entry) {
	e.claiming = true
	var body []byte
	id := string(e.ID)
	m.state.read(func(db *sql.DB) error {
		return db.QueryRow("SELECT body FROM outbox WHERE id = ?", id).Scan(&body)
	}, func(err error) {
		m.post(func() {
			e.claiming = false
			if m.closing || e.holdWanted {
				m.notTried(e, before)
				if e.holdWanted {
					m.hold(e)
				}
				m.saveEntry(e, nil)
				return
			}
			if err != nil {
				m.notTried(e, before)
				e.State, e.SettledAt, e.Why = EntryFailed, m.now(), "its text cannot be read from the disk: "+diskReason(err)
				if e.attempted() {
					e.State, e.Stopped = EntryUnknown, true
				}
				m.failedNotice(e)
				m.saveEntry(e, nil)
				return
			}
			key := e.Key
			e.call = m.start(want{
				op: "emails.send", title: "Sending to " + recipients(e.To), purpose: "send " + id, priority: api.Person, foreground: true,
				write: true, resources: []string{"threads", "thread/" + string(e.Thread)},
				run: func(ctx context.Context, c *api.Client) (any, error) {
					return c.Emails.SendBytes(ctx, body, api.WithIdempotencyKey(key))
				},
				done: func(f api.Final) { m.sendAnswered(e, f) },
			})
		})
	})
}

// sendAnswered gives the entry the state that the answer to its send means. See the table in docs/architecture.md.
func (m *Mail) sendAnswered(e *entry, f api.Final) {
	e.call = ""
	e.Attempts += f.Attempts
	none := e.fresh && notSent(f)      // nothing left this machine, now or before
	only := e.fresh && f.Attempts == 1 // no attempt but this one was ever made
	if none {
		e.FirstAttempt = time.Time{}
	}
	if f.Err == nil {
		sent := f.Value.(*api.SentEmail)
		if sent.ID == "" { // taken, it seems, but it does not say as what: the same key tells
			e.Why = "the answer was empty"
			m.wait(e, jitter(growing(15*time.Second, 15*time.Minute, e.Tries)), false)
			m.saveEntry(e, nil)
			m.tellWait(e)
			return
		}
		e.Tries = 0
		m.emailKnown(e, &sent.Email, sent.Replayed)
		return
	}
	e.Why, e.Request = reason(f.Err), ""
	var ae *api.Error
	var ne *api.NetworkError
	now := m.now()
	switch {
	case errors.Is(f.Err, context.Canceled):
		stopped := errors.Is(f.Err, errStopped)
		switch {
		case none:
			e.State, e.Why = EntryQueued, ""
			if stopped {
				e.State, e.Why = EntryHeld, "stopped before it was tried"
			}
		default:
			e.State, e.Stopped, e.Why = EntryUnknown, stopped, "teapost ended while it was sent"
			if stopped {
				e.Why = "you stopped it"
			}
		}
		if stopped {
			m.noMoreTakingBack(e)
			m.heldNotice(e)
		}
	case errors.As(f.Err, &ae):
		e.Status, e.Code, e.Request = ae.Status, ae.Code, ae.RequestID
		m.sendRefused(e, ae, only, now)
	case errors.As(f.Err, &ne):
		m.wait(e, jitter(growing(15*time.Second, 15*time.Minute, e.Tries)), true)
	default: // refused before anything was sent
		e.State, e.SettledAt, e.CancelWanted = EntryFailed, now, false
		m.failedNotice(e)
	}
	m.saveEntry(e, nil)
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID && n.Kind == NoticeResult })
	m.tellWait(e)
	if e.CancelWanted && !e.attempted() && (e.State == EntryQueued || e.State == EntryHeld) {
		e.CancelWanted = false
		m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
		m.dropBack(e)
	}
}

// noMoreTakingBack is the end of a wish to take a message back that the person stopped.
func (m *Mail) noMoreTakingBack(e *entry) {
	if !e.CancelWanted {
		return
	}
	e.CancelWanted, e.TooLate = false, true
	m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Stopped: not known whether " + quoted(e.Subject) + " was taken back"})
}

func (m *Mail) sendRefused(e *entry, ae *api.Error, only bool, now time.Time) {
	wait := jitter(growing(15*time.Second, 15*time.Minute, e.Tries))
	if ae.HasRetryAfter {
		wait = max(wait, ae.RetryAfter)
		e.AskedUntil = now.Add(ae.RetryAfter)
	}
	switch {
	case ae.Status == 429:
		if !ae.HasRetryAfter {
			wait = max(wait, time.Minute)
		}
		m.wait(e, wait, false)
	case ae.Status == 408 || ae.Status >= 500:
		m.wait(e, wait, !ae.HasRetryAfter)
	case ae.Status >= 200 && ae.Status < 300:
		// It was a success that could not be read. The same key gives the message that it made.
		if m.wait(e, wait, false); e.Tries > 3 {
			e.State, e.Stopped, e.Why = EntryUnknown, true, "the server's answers are not understood; it has probably been accepted"
			m.heldNotice(e)
		}
	case ae.Status == 401 || ae.Status == 403:
		e.State, e.SignIn = EntryHeld, true
		if only { // the server answered for certain that it did not take the message
			e.FirstAttempt = time.Time{}
		}
		n := Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Held: %s · %s · sign in again, it then goes unchanged", quoted(e.Subject), reason(ae))}
		m.addNoticeRetry(n, func() { m.sendNow(e) })
	default:
		switch {
		case errors.Is(ae, api.ErrIdempotencyReuse):
			e.Why = "the server has another message under this key: look into Sent before sending it as a new message"
		case errors.Is(ae, api.ErrInvalidIdempotencyKey):
			e.Why = "the server does not accept its key: edit and send it as a new message"
		default:
			e.Why = ae.Message
			if ae.Param != "" {
				e.Why = ae.Param + ": " + e.Why
			}
			for _, f := range ae.Fields {
				e.Why += " · " + f.Key + ": " + f.Error
			}
		}
		refused := func() {
			e.State, e.SettledAt, e.Stopped, e.CancelWanted = EntryFailed, m.now(), false, false
			m.failedNotice(e)
		}
		if only {
			refused()
			return
		}
		// An earlier attempt may have arrived, and this answer may be about nothing but the repetition.
		e.State, e.Stopped = EntryUnknown, true
		m.lookUp(e, func(found bool, err error) {
			if !found && err == nil {
				refused()
				m.saveEntry(e, nil)
			}
		})
	}
}

func (m *Mail) wait(e *entry, d time.Duration, untilConnected bool) {
	e.Tries++
	e.State, e.NextAt, e.NetWait = EntryWaiting, m.now().Add(d), untilConnected
}

// tellWait says of a message that did not go at the first call why, and that it goes by itself.
func (m *Mail) tellWait(e *entry) {
	if e.State == EntryWaiting && e.Tries == 1 {
		m.addNotice(Notice{Kind: NoticeInfo, Entry: e.ID, Text: "Not sent yet: " + quotedShort(e.Subject, 24) + " · " + e.Why + " · it waits in the outbox and goes by itself"})
	}
}

func (m *Mail) heldNotice(e *entry) {
	text := "Held: " + quoted(e.Subject)
	if e.State == EntryUnknown {
		text = "Not known if " + quotedShort(e.Subject, 24) + " arrived · sending again cannot double it"
	}
	m.addNoticeRetry(Notice{Kind: NoticeFailure, Entry: e.ID, RetryTo: "sends it", Text: text}, func() { m.sendNow(e) })
}

func (m *Mail) failedNotice(e *entry) {
	m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not sent: %s to %s · %s · it is in the outbox", quoted(e.Subject), recipients(e.To), e.Why)})
}

// emailKnown gives the entry the state that the server's email has.
func (m *Mail) emailKnown(e *entry, mail *api.Email, replayed bool) {
	now := m.now()
	first := e.EmailID == ""
	var also func(*sql.Tx) error
	if mail.ID != "" { // an empty answer to a later question takes nothing away
		e.EmailID = mail.ID
	}
	e.Why, e.Stopped = "", false
	e.Replayed = e.Replayed || replayed
	e.TestMode = mail.Mode == api.ModeTest || mail.Transport == "test"
	e.CancelUntil = time.Time{}
	if mail.CancellableUntil != nil {
		e.CancelUntil = *mail.CancellableUntil
	}
	e.Ask = AskNothing
	m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
	switch mail.Status {
	case api.EmailSent, api.EmailPartial:
		if open := missing(mail, api.RecipientUncertain); mail.Status == api.EmailPartial && open != "" {
			e.State, e.Ask, e.Why = EntryUnknown, AskSendAgain, open
			e.CancelWanted = false
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Not known whether %s arrived: %s · the outbox asks", quoted(e.Subject), open)})
			break
		}
		e.State, e.SettledAt = EntrySent, now
		if mail.Status == api.EmailPartial {
			e.Why = missing(mail, api.RecipientFailed, api.RecipientBounced, api.RecipientSuppressed)
		}
		m.sentNotice(e, string(mail.Status))
	case api.EmailCancelled:
		e.State, e.SettledAt = EntryCancelled, now
		if e.CancelWanted || e.TooLate {
			e.CancelWanted, e.TooLate = false, false
			rec := m.reopened(e)
			also = m.putReopened(rec)
			m.adoptReopened(rec)
			m.tookBack(e)
		} else {
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not sent: " + quoted(e.Subject) + " was cancelled"})
		}
	case api.EmailFailed, api.EmailBounced:
		e.State, e.SettledAt, e.CancelWanted = EntryFailed, now, false
		e.Why = "the server could not deliver it"
		if mail.LastError != "" {
			e.Why = mail.LastError
		}
		m.failedNotice(e)
	default:
		e.State, e.Why = EntryAccepted, mail.LastError
		e.followAt = now.Add(growing(2*time.Second, 5*time.Minute, e.followTries))
		e.followTries++
		if e.CancelUntil.After(e.followAt) {
			e.followAt = e.CancelUntil.Add(500 * time.Millisecond)
		}
		if e.ScheduledAt.After(e.followAt) {
			e.followAt = e.ScheduledAt.Add(2 * time.Second)
		}
		switch {
		case e.CancelWanted:
			m.cancelEmail(e)
		case !e.ScheduledAt.IsZero():
			if first {
				m.replaceResult(Notice{
					Kind: NoticeResult, Entry: e.ID, Text: "Goes to " + recipients(e.To) + " " + atTime(e.ScheduledAt, now),
					Undo: true, UndoTo: "takes it back",
				})
			}
		case now.Before(e.CancelUntil):
			m.windowNotice(e)
		}
	}
	if first && len(e.Draft.Elsewhere) == 0 { // what did not go along stays there
		e.LeftDraft = e.Draft.ServerID
		m.deleteSentDraft(e)
	}
	if first || e.State == EntrySent {
		if rec := m.rows[e.Thread]; rec != nil {
			rec.stale = true
		}
		m.news()
	}
	m.saveEntryAnd(e, also, nil)
}

// windowNotice says that a message can be taken back, and for how long.
func (m *Mail) windowNotice(e *entry) {
	m.replaceResult(Notice{
		Kind: NoticeResult, Entry: e.ID, Text: "Sending to " + recipients(e.To), Until: e.CancelUntil, Undo: true, UndoTo: "takes it back",
	})
}

// lookAfterSent asks at once what became of what was accepted, as far as it may be out: there is news of the mailbox.
func (m *Mail) lookAfterSent() {
	now := m.now()
	for _, e := range m.outbox {
		if e.State == EntryAccepted && now.After(e.CancelUntil) && now.After(e.ScheduledAt) {
			e.followAt = sooner(e.followAt, now)
		}
	}
}

// deleteSentDraft deletes the server's draft of a message that was accepted, at the next start when the program ends first.
func (m *Mail) deleteSentDraft(e *entry) {
	if e.LostDraft != nil && e.EmailID != "" && !e.leaving {
		e.leaving = true
		m.deleteLostDraft(e.LostDraft, func() {
			if e.LostDraft, e.leaving = nil, false; m.entry(e.ID) == e {
				m.saveEntry(e, nil)
			}
		})
	}
	if e.LeftDraft == "" || e.leaving {
		return
	}
	e.leaving = true
	m.deleteServerDraftThen(e.LeftDraft, func(asked bool) {
		if e.leaving = false; asked {
			e.LeftDraft = ""
			m.saveEntry(e, nil)
		}
	})
}

func (m *Mail) sentNotice(e *entry, status string) {
	text := "Sent to " + recipients(e.To)
	e.CancelWanted, e.TooLate = false, e.CancelWanted || e.TooLate
	switch {
	case e.TooLate:
		text = "Too late, it was sent: " + quoted(e.Subject)
	case e.TestMode:
		text = "Kept as sent in test mode: it did not leave this machine · see teapost doctor"
		if m.opts.Poke == nil {
			text = "Kept as sent in test mode: the server does not deliver it · see teapost doctor"
		}
	case e.Replayed:
		text += " (it had already arrived)"
	case status == string(api.EmailPartial):
		text = "Sent, but not to everybody: " + quoted(e.Subject)
		if e.Why != "" {
			text += " · " + e.Why
		}
	}
	m.replaceResult(Notice{Kind: NoticeResult, Entry: e.ID, Text: text})
}

// missing names the recipients in these states, with what the server says of the first: "bob@example.org: 550 No such
// user". It is empty when there are none.
func missing(mail *api.Email, in ...api.RecipientStatus) string {
	var who []string
	why := ""
	for _, r := range mail.Recipients {
		if !slices.Contains(in, r.Status) {
			continue
		}
		if who = append(who, r.Email); why == "" {
			why = r.Error
		}
	}
	switch {
	case len(who) == 0:
		return ""
	case len(who) > 3:
		who = append(who[:2], fmt.Sprintf("%d more", len(who)-2))
	}
	out := strings.Join(who, ", ")
	if why != "" {
		out += ": " + why
	}
	return out
}

// tookBack says that the message was taken back; its text is among the drafts.
func (m *Mail) tookBack(e *entry) {
	m.replaceResult(Notice{Kind: NoticeResult, Entry: e.ID, Text: "Taken back: " + quoted(e.Subject) + " · it is in your drafts"})
}

// followEmail asks what became of an accepted message.
func (m *Mail) followEmail(e *entry) {
	id := e.EmailID
	e.follow = m.start(want{
		op: "emails.get", title: "Looking after " + quoted(e.Subject), purpose: "follow", priority: api.Background, key: "email/" + id, resources: []string{"email/" + id},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Emails.Get(ctx, id) },
		done: func(f api.Final) {
			e.follow = ""
			if f.Err == nil {
				m.emailKnown(e, f.Value.(*api.Email), false)
				return
			}
			if errors.Is(f.Err, api.ErrNotFound) {
				e.State, e.SettledAt, e.Why = EntrySent, m.now(), "accepted; the server does not list it any more"
				m.sentNotice(e, string(api.EmailSent))
				m.saveEntry(e, nil)
				return
			}
			e.followTries++
			e.followAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, e.followTries)))
		},
	})
}

// lookUp asks the server whether it has the message, by its tag; answered hears what came of it. With the message found
// the entry has its state already.
func (m *Mail) lookUp(e *entry, answered func(found bool, err error)) {
	id := string(e.ID)
	e.look = m.start(want{
		op: "emails.list", title: "Looking for " + quoted(e.Subject), purpose: "look " + id, priority: api.Person, foreground: true,
		kept: e.CancelWanted,
		run: func(ctx context.Context, c *api.Client) (any, error) {
			n := 0
			for mail, err := range c.Emails.All(ctx, api.EmailListParams{Limit: 100}) {
				if err != nil {
					return nil, err
				}
				if mail.Tags[tagName] == id {
					return &mail, nil
				}
				if n++; n >= 300 {
					break
				}
			}
			return (*api.Email)(nil), nil
		},
		done: func(f api.Final) {
			e.look = ""
			if f.Err != nil {
				e.NextAt = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, e.Tries)))
				e.Tries++
				if !errors.Is(f.Err, context.Canceled) {
					m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: fmt.Sprintf("Could not look for %s: %s · it is kept as it is", quoted(e.Subject), reason(f.Err))})
				}
				if errors.Is(f.Err, errStopped) {
					m.noMoreTakingBack(e)
				}
				answered(false, f.Err)
				return
			}
			mail := f.Value.(*api.Email)
			if mail != nil {
				m.emailKnown(e, mail, true)
			}
			answered(mail != nil, nil)
		},
	})
}
