package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// pumpChanges begins the calls that may run: of each thread the oldest open change.
func (m *Mail) pumpChanges(now time.Time) {
	if !m.owner || m.closing || m.opts.Passive && len(m.changes) == 0 || m.quiet() {
		return
	}
	for _, c := range m.nextChanges() {
		if c.State == changeQueued && c.call == "" && !now.Before(c.NextAt) {
			m.sendChange(c)
		}
	}
}

// nextChanges are the oldest open change of each thread. One that the person is asked about has had its call: it does not
// hold up what was done after it.
func (m *Mail) nextChanges() []*change {
	var out []*change
	busy := map[ThreadID]bool{}
	for _, c := range m.changes {
		if c.open() && c.State != changeAsked && !busy[c.Thread] {
			busy[c.Thread] = true
			out = append(out, c)
		}
	}
	return out
}

func (m *Mail) dueChange() time.Time {
	var due time.Time
	if !m.owner {
		return due
	}
	for _, c := range m.nextChanges() {
		if c.State == changeQueued && c.call == "" {
			due = sooner(due, latest(c.NextAt, m.limitedUntil))
		}
	}
	return due
}

// pokeChanges lets changes that wait for a connection go now.
func (m *Mail) pokeChanges() {
	for _, c := range m.changes {
		if c.open() && c.State == changeQueued {
			c.NextAt = c.AskedUntil
		}
	}
}

func (m *Mail) sendChange(c *change) {
	run, err := m.changeCall(c)
	if err != nil {
		m.refuseChange(c, err)
		return
	}
	if !c.Change.Kind.once() {
		m.callChange(c, run)
		return
	}
	// On the disk before the call: it must not run a second time by itself.
	c.Attempted, c.State = true, changeSending
	m.saveChangeThen(c, func(err error) {
		switch {
		case c.dropped || m.closing:
			c.State = changeQueued
		case errors.Is(err, errTaken):
			c.State, c.settled = changeSettled, m.next() // another process is through with it
		case err != nil:
			c.State, c.Attempted, c.NextAt = changeQueued, false, m.now().Add(15*time.Second)
		default:
			m.callChange(c, run)
		}
	})
}

func (m *Mail) callChange(c *change, run func(context.Context, *api.Client) (any, error)) {
	c.Attempted, c.State = true, changeSending
	words := changeWords[c.Change.Kind]
	c.call = m.start(want{
		op: changeOps[c.Change.Kind], title: words.doing + " " + quoted(c.Subject), purpose: "batch " + c.Batch,
		many:     func(n int) string { return fmt.Sprintf("%s %d threads", words.doing, n) },
		priority: api.Person, foreground: !c.Change.Quiet && c.Tries == 0,
		write: true, resources: []string{"threads", "thread/" + string(c.Thread)},
		about: string(c.Change.Kind) + " " + string(c.Thread),
		run:   run,
		done: func(f api.Final) {
			c.call = ""
			m.changeAnswered(c, f)
		},
	})
}

var changeOps = map[ChangeKind]string{
	ChangeRead: "threads.update", ChangeUnread: "threads.update", ChangeStar: "threads.update", ChangeUnstar: "threads.update",
	ChangeArchive: "threads.update", ChangeInbox: "threads.update", ChangeSpam: "threads.update", ChangeLabels: "threads.update",
	ChangeTrash: "threads.trash", ChangeRestore: "threads.restore", ChangeSnooze: "threads.snooze", ChangeUnsnooze: "threads.unsnooze",
	ChangeMute: "threads.mute", ChangeUnmute: "threads.unmute", ChangeDelete: "threads.delete",
	ChangeAccept: "calendar.respondToEvent", ChangeTentative: "calendar.respondToEvent", ChangeDecline: "calendar.respondToEvent",
	ChangeLabelEdit: "labels.update", ChangeLabelDelete: "labels.delete",
}

// changeCall makes the call of a change.
func (m *Mail) changeCall(c *change) (func(context.Context, *api.Client) (any, error), error) {
	id := string(c.Thread)
	var patch api.ThreadPatch
	label := func(r Role, add bool) error {
		l, ok := m.systemLabelID(r)
		if !ok {
			return fmt.Errorf("this server has no label for %s", r)
		}
		if add {
			patch.AddLabelIDs = append(patch.AddLabelIDs, l)
		} else {
			patch.RemoveLabelIDs = append(patch.RemoveLabelIDs, l)
		}
		return nil
	}
	var err error
	switch c.Change.Kind {
	case ChangeTrash:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Trash(ctx, id) }, nil
	case ChangeRestore:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Restore(ctx, id) }, nil
	case ChangeSnooze:
		until := c.Change.Until
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Snooze(ctx, id, until) }, nil
	case ChangeUnsnooze:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Unsnooze(ctx, id) }, nil
	case ChangeMute:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Mute(ctx, id) }, nil
	case ChangeUnmute:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Unmute(ctx, id) }, nil
	case ChangeDelete:
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Delete(ctx, id) }, nil
	case ChangeAccept, ChangeTentative, ChangeDecline:
		return answerCall(c.Change), nil
	case ChangeLabelEdit, ChangeLabelDelete:
		return m.labelCall(c.Change), nil
	case ChangeRead, ChangeUnread:
		patch.Read = api.Set(c.Change.Kind == ChangeRead)
	case ChangeStar, ChangeUnstar:
		err = label(RoleStarred, c.Change.Kind == ChangeStar)
	case ChangeArchive:
		err = label(RoleInbox, false)
	case ChangeInbox:
		if err = label(RoleInbox, true); err == nil && c.Home == RoleSpam {
			err = label(RoleSpam, false)
		}
	case ChangeSpam:
		err = label(RoleSpam, true)
	case ChangeLabels:
		for _, l := range c.Change.Add {
			patch.AddLabelIDs = append(patch.AddLabelIDs, l.ID)
		}
		for _, l := range c.Change.Remove {
			patch.RemoveLabelIDs = append(patch.RemoveLabelIDs, l.ID)
		}
	default:
		err = fmt.Errorf("unknown change %q", c.Change.Kind)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Update(ctx, id, patch) }, nil
}

// changeAnswered settles a change, keeps it for later, or takes it back.
func (m *Mail) changeAnswered(c *change, f api.Final) {
	var e *api.Error
	var n *api.NetworkError
	switch {
	case f.Err == nil, errors.Is(f.Err, api.ErrNotFound) && c.foundDone(f.Attempts):
		m.settleChange(c, f.Value)
	case errors.Is(f.Err, errStopped):
		c.dropped = true
		m.deleteChange(c)
		if rec := m.rows[c.Thread]; rec != nil {
			rec.stale = true // an attempt may have arrived: the server says how it is
		}
		m.listsChanged()
		m.refresh(false)
	case errors.Is(f.Err, context.Canceled): // the program ends
		c.State = changeQueued
		if f.Attempts == 0 && c.Change.Kind.once() {
			c.Attempted = false
			m.saveChange(c)
		}
	case c.Change.Kind.once() && !notSent(f) && (errors.As(f.Err, &n) || errors.As(f.Err, &e) && (e.Status == 408 || e.Status == 429 || e.Status >= 500)):
		if m.undoneSince(c) { // what came after it says how it is to be
			m.dropAsked(c)
			break
		}
		c.State = changeAsked
		m.saveChange(c)
		why := answerLost
		if e != nil && e.Status == 429 {
			why = "too many requests, it was not done"
		}
		m.askChange(c, why)
	case errors.As(f.Err, &n), errors.As(f.Err, &e) && (e.Status == 408 || e.Status == 429 || e.Status >= 500):
		c.State = changeQueued
		wait := jitter(growing(15*time.Second, 15*time.Minute, c.Tries))
		if e != nil && e.Status == 429 {
			wait = max(wait, time.Minute)
		}
		if e != nil && e.HasRetryAfter {
			wait = max(wait, e.RetryAfter)
			c.AskedAt, c.AskedUntil = m.now(), m.now().Add(e.RetryAfter)
		}
		c.Tries++
		c.again = c.again || !notSent(f)
		c.NextAt = m.now().Add(wait)
		c.Attempted = c.Attempted && !c.Change.Kind.once() // refused for now, for certain
		m.saveChange(c)
		m.listsChanged()
		if n == nil && !c.Change.Quiet && c.Tries == 1 {
			m.addNotice(Notice{Kind: NoticeInfo, Text: laterText(changeWords[c.Change.Kind].doing+" "+quoted(c.Subject), f.Err)})
		}
	default:
		m.refuseChange(c, f.Err)
	}
}

// foundDone reports that a call which did not find what it was to act on shows that the change has happened: what was to go is
// gone, or an attempt before this one, whose answer was lost, did it.
func (c *change) foundDone(attempts int) bool {
	switch c.Change.Kind {
	case ChangeDelete, ChangeLabelDelete:
		return true
	case ChangeTrash, ChangeRestore, ChangeUnsnooze:
		return attempts > 1 || c.again
	}
	return false
}

// settleChange notes that the server has a change; answer is what it said, or nil.
func (m *Mail) settleChange(c *change, answer any) {
	c.State, c.settled = changeSettled, m.next()
	m.deleteChange(c)
	if c.asked {
		m.hideQuestion(c)
		m.replaceResult(Notice{Kind: NoticeResult, Text: fmt.Sprintf(changeWords[c.Change.Kind].done, quoted(c.Subject))})
	}
	if e, ok := answer.(*api.CalendarEvent); ok {
		m.answered(c, e)
	}
	if c.Change.Kind.ofLabel() {
		m.labelChanged(c, answer)
	}
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
		if k := c.Change.Kind; k == ChangeMute || k == ChangeUnmute { // not every server tells it with the thread
			c.Change.apply(&rec.row)
		}
	}
	m.cacheStale = append(m.cacheStale, c.Thread)
	if m.opts.Poke == nil { // page one and the counts, once for a batch
		m.nextPoll = sooner(m.nextPoll, m.now().Add(2*time.Second))
	} else if k := c.Change.Kind; k == ChangeInbox || k == ChangeRestore || k == ChangeUnsnooze {
		// An embedded server tells nothing of what this process did, and a page one that was asked for before
		// this, as at the start, lacks the thread.
		m.news()
		m.listsChanged()
		return
	}
	m.folders.countsAgain = m.folders.countsCall != ""
	m.loadCounts()
	m.listsChanged()
}

// lookAtDeleted asks for a thread that was to be deleted: when it is not there the question is answered.
func (m *Mail) lookAtDeleted(c *change) {
	id := string(c.Thread)
	m.start(want{
		op: "threads.get", title: "Looking for " + quoted(c.Subject), purpose: "look " + id, priority: api.Visible,
		resources: []string{"thread/" + id},
		run:       func(ctx context.Context, a *api.Client) (any, error) { return a.Threads.Get(ctx, id) },
		done: func(f api.Final) {
			if errors.Is(f.Err, api.ErrNotFound) && c.State == changeAsked && !c.dropped {
				m.settleChange(c, nil)
			}
		},
	})
}

// refuseChange takes a change back on the screen, and what was done to the thread after it stays.
func (m *Mail) refuseChange(c *change, err error) {
	c.dropped = true
	for _, o := range m.changes { // nothing is left to take back
		if o.Undoes == c.ID && o.open() && !o.Attempted {
			o.dropped = true
			m.deleteChange(o)
		}
	}
	m.forgetSnoozes(c)
	m.log.Warn("change refused", "kind", string(c.Change.Kind), "error", err.Error())
	text := fmt.Sprintf("Could not %s %s: %s", changeWords[c.Change.Kind].todo, quoted(c.Subject), reason(err))
	gone := errors.Is(err, api.ErrNotFound)
	if !gone && !c.Change.Kind.answers() && !c.Change.Kind.ofLabel() {
		text += " · it is back in place"
	}
	if !gone || !c.Change.Quiet || c.Undoes != "" { // nobody misses the mark on what is not there
		m.addNotice(Notice{Kind: NoticeFailure, Thread: c.Thread, Text: text})
	} else {
		text = ""
	}
	m.deleteChangeAnd(c, m.noteRefused(c, text))
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
	}
	m.listsChanged()
	m.loadCounts()
}

// undoneSince reports that a later change takes c back.
func (m *Mail) undoneSince(c *change) bool {
	for _, o := range m.changes {
		if o.Undoes == c.ID && !o.dropped {
			return true
		}
	}
	return false
}

// dropAsked lets go of a change that may or may not have happened: the server says how it is.
func (m *Mail) dropAsked(c *change) {
	c.dropped = true
	m.deleteChange(c)
	m.hideQuestion(c)
	m.listsChanged()
}

func (m *Mail) hideQuestion(c *change) {
	m.removeNotices(func(n *notice) bool { return n.change == c.ID })
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
	}
}

const answerLost = "not known if it happened"

// askChange asks about a change that may run only once and whose call did not end well.
func (m *Mail) askChange(c *change, why string) {
	m.hideQuestion(c) // asked before this process was the owner
	c.asked = true
	words := changeWords[c.Change.Kind]
	n := m.addNoticeRetry(Notice{
		Kind: NoticeFailure, Thread: c.Thread, RetryTo: "does it again",
		Text: fmt.Sprintf("%s %s: %s", words.doing, quotedShort(c.Subject, 24), why),
	}, func() {
		if c.State == changeAsked && !c.dropped {
			c.State, c.NextAt, c.Attempted = changeQueued, time.Time{}, true
			m.saveChange(c)
			m.pumpChanges(m.now())
		}
	})
	n.change = c.ID
	n.dismissed = func() {
		if c.State == changeAsked && !c.dropped {
			m.dropAsked(c)
		}
	}
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
	}
	if c.Change.Kind.answers() {
		m.lookAtAnswer(c.Thread)
	}
	if c.Change.Kind.ofLabel() {
		m.lookAtLabels(c)
	}
	if c.Change.Kind == ChangeDelete && m.owner {
		m.lookAtDeleted(c)
	}
	m.refresh(false)
}

// forgetSettled drops settled changes that everything that is kept of the server's answers holds.
func (m *Mail) forgetSettled() {
	settled := 0
	for _, c := range m.changes {
		if c.State == changeSettled {
			settled++
		}
	}
	if settled > 500 {
		m.settleIn()
	}
	kept := m.changes[:0]
	for _, c := range m.changes {
		if !c.dropped && (c.State != changeSettled || !m.everywhere(c)) {
			kept = append(kept, c)
		}
	}
	clear(m.changes[len(kept):])
	m.changes = kept
}

// settleIn makes what settled part of what is kept of older answers, so that many changes need not be kept as well. Where an
// answer from before may still come they stay.
func (m *Mail) settleIn() {
	for _, l := range m.lists {
		if l.known && l.call == "" && l.more == "" {
			l.ids, l.seq = m.listedIDs(l, (*change).settledOnly), m.next()
		}
	}
	for id, cs := range m.byThread() {
		if rec := m.rows[id]; rec != nil && rec.call == "" {
			rec.row, rec.seq = m.rowWith(id, rec, cs, (*change).settledOnly), m.next()
			rec.inFolder = nil // its labels are not those of the answer any more
		}
	}
}

func (m *Mail) everywhere(c *change) bool {
	if m.folders.counts != nil && c.settled > m.folders.countsSeq {
		return false
	}
	if rec := m.rows[c.Thread]; rec != nil && rec.seq < c.settled {
		return false
	}
	for _, l := range m.lists {
		if l.known && l.seq < c.settled {
			return false
		}
	}
	return true
}

// adoptChanges takes over the changes of a process that ended in the middle.
func (m *Mail) adoptChanges() {
	for _, c := range m.changes {
		if !c.open() || c.call != "" {
			continue
		}
		switch {
		case c.State == changeAsked, c.State == changeSending && c.Change.Kind.once(), c.State == changeQueued && c.Change.Kind.once() && c.Attempted:
			c.State = changeAsked
			m.askChange(c, answerLost)
		case c.State == changeSending:
			c.State = changeQueued
		}
		if !c.Change.Kind.once() {
			c.Attempted, c.again = true, true // perhaps: the disk does not say so of what may be repeated
		}
		if by := c.AskedAt.Sub(m.now()); by > time.Second { // the clock was set back meanwhile
			c.clockWentBack(by)
		}
		c.NextAt = c.AskedUntil
	}
}
