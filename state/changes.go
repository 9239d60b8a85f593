package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// changeState is where a change stands.
type changeState string

const (
	changeSaving  changeState = "saving"  // on its way to the disk
	changeQueued  changeState = "queued"  // on disk; its call has not ended well yet
	changeSending changeState = "sending" // its call runs
	changeAsked   changeState = "asked"   // may run only once and its answer was lost: the person is asked
	changeSettled changeState = "settled" // the server has it
)

// change is one thing done to one thread. It is a row of state.db from before its call until the server has it.
type change struct {
	ID        string      `json:"id"`
	Seq       int64       `json:"seq"` // the person's order
	Batch     string      `json:"batch"`
	Thread    ThreadID    `json:"thread"`
	Change    Change      `json:"change"`
	Inverse   *Change     `json:"inverse,omitempty"`
	Home      Role        `json:"home,omitempty"` // the folder it was seen in
	Subject   string      `json:"subject"`
	State     changeState `json:"state"`
	Attempted bool        `json:"attempted"`
	NextAt    time.Time   `json:"next"`
	Tries     int         `json:"tries"`
	Rev       int64       `json:"rev"`
	Undoes    string      `json:"undoes,omitempty"` // the id of the change that this one takes back

	call    string
	settled uint64 // the count at which the server had it
	dropped bool   // gone; skip it where it is still listed
}

func (c *change) open() bool { return c.State != changeSettled && !c.dropped }

// counts reports whether the change must be laid over an answer that was asked for at seq.
func (c *change) counts(seq uint64) bool {
	return !c.dropped && (c.State != changeSettled || c.settled > seq)
}

// once reports that the call of the kind must never be repeated by itself.
func (k ChangeKind) once() bool {
	return k == ChangeMute || k == ChangeUnmute || k == ChangeDelete
}

// undoStep is what one press of z takes back: changes, which may be settled and forgotten long since, or a message.
type undoStep struct {
	changes []*change
	entry   EntryID
}

// words for lines of news: done, doing, to do, what undo does.
var changeWords = map[ChangeKind]struct{ done, doing, todo, undo string }{
	ChangeRead:     {"Marked %s as read", "Marking as read", "mark as read", "marks it unread"},
	ChangeUnread:   {"Marked %s as unread", "Marking as unread", "mark as unread", "marks it read"},
	ChangeStar:     {"Starred %s", "Starring", "star", "takes the star off"},
	ChangeUnstar:   {"Took the star off %s", "Taking the star off", "take the star off", "stars it again"},
	ChangeArchive:  {"Archived %s", "Archiving", "archive", "brings back"},
	ChangeInbox:    {"Moved %s to the inbox", "Moving to the inbox", "move to the inbox", "moves back"},
	ChangeSpam:     {"Marked %s as spam", "Marking as spam", "mark as spam", "brings back"},
	ChangeTrash:    {"Trashed %s", "Trashing", "trash", "brings back"},
	ChangeRestore:  {"Restored %s", "Restoring", "restore", "trashes again"},
	ChangeSnooze:   {"Snoozed %s", "Snoozing", "snooze", "brings back"},
	ChangeUnsnooze: {"Woke %s", "Waking", "wake", "snoozes again"},
	ChangeMute:     {"Muted %s", "Muting", "mute", "unmutes"},
	ChangeUnmute:   {"Unmuted %s", "Unmuting", "unmute", "mutes again"},
	ChangeLabels:   {"Labelled %s", "Labelling", "change the labels of", "takes that back"},
	ChangeDelete:   {"Deleted %s for good", "Deleting", "delete", ""},
}

// Do applies a change to threads at once and sees to it that the server gets it. Threads on which it would change
// nothing are left out.
func (m *Mail) Do(ids []ThreadID, c Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.do(ids, c)
}

func (m *Mail) do(ids []ThreadID, c Change) {
	if ok, why := m.can(c.Kind, m.current); !ok {
		m.addNotice(Notice{Kind: NoticeInfo, Text: "Cannot " + changeWords[c.Kind].todo + " here: " + why})
		return
	}
	batch := newID()
	listed := map[ThreadID]bool{}
	for _, id := range m.listedIDs(m.list(m.current), (*change).any) {
		listed[id] = true
	}
	var made []*change
	for _, id := range ids {
		row := m.showRow(id)
		inv, ok := m.inverse(c, row)
		if !ok {
			continue
		}
		made = append(made, m.newChange(batch, id, c, inv, row.Subject))
		if !listed[id] { // it is open beside the list, and has left it
			made[len(made)-1].Home = ""
		}
	}
	if len(made) == 0 {
		return
	}
	m.enqueue(made)
	if c.Quiet {
		return
	}
	words := changeWords[c.Kind]
	n := Notice{Kind: NoticeResult, Text: fmt.Sprintf(words.done, m.object(made))}
	if c.Kind == ChangeSnooze {
		n.Text += " until " + shortTime(c.Until, m.now())
	}
	if words.undo != "" {
		n.Undo, n.UndoTo = true, undoWords(words.undo, len(made))
		m.pushUndo(undoStep{changes: made})
	}
	m.replaceResult(n)
}

// undoWords fits the words of an undo to how many threads it is about.
func undoWords(words string, n int) string {
	if words == "brings back" {
		if n == 1 {
			return "brings it back"
		}
		return "brings them back"
	}
	if words == "moves back" && n > 1 {
		return "moves them back"
	}
	return words
}

// object names what a batch is about: "3 threads", or the subject of the one.
func (m *Mail) object(cs []*change) string {
	if len(cs) == 1 {
		return quoted(cs[0].Subject)
	}
	return plural(len(cs), "thread", "threads")
}

// replaceResult shows a result in place of the one before: only the last can be undone by the key that it names.
func (m *Mail) replaceResult(n Notice) {
	m.removeNotices(func(o *notice) bool { return o.Kind != NoticeFailure })
	m.addNotice(n)
}

func (m *Mail) newChange(batch string, id ThreadID, c Change, inv *Change, subject string) *change {
	m.changeSeq++
	now := m.now().UnixNano() // orders the changes of several processes
	if now > m.changeSeq {
		m.changeSeq = now
	}
	return &change{
		ID: newID(), Seq: m.changeSeq, Batch: batch, Thread: id, Change: c, Inverse: inv, Subject: subject,
		Home: roleOf(m.current.folder()), State: changeSaving, Rev: 1,
	}
}

// enqueue shows changes and writes them; their calls begin when they are on the disk.
func (m *Mail) enqueue(cs []*change) {
	m.changes = append(m.changes, cs...)
	docs := make([][]byte, len(cs))
	for i, c := range cs {
		c.State = changeQueued
		docs[i] = marshal(c)
		c.State = changeSaving
	}
	m.noteSnoozes(cs)
	m.state.write(func(tx *sql.Tx) error {
		for i, c := range cs {
			if _, err := tx.Exec("INSERT OR REPLACE INTO change(id, seq, rev, doc) VALUES(?, ?, ?, ?)", c.ID, c.Seq, 1, docs[i]); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		m.post(func() {
			if err != nil {
				for _, c := range cs {
					c.dropped = true
				}
				m.listsChanged()
				m.addNotice(Notice{Kind: NoticeFailure, Text: "Could not " + changeWords[cs[0].Change.Kind].todo + " " + m.object(cs) +
					": " + diskReason(err) + " · it is as it was"})
				return
			}
			for _, c := range cs {
				if c.State == changeSaving {
					c.State = changeQueued
				}
			}
			m.pumpChanges(m.now())
		})
	})
	m.listsChanged()
}

func (m *Mail) saveChange(c *change) { m.saveChangeThen(c, nil) }

// saveChangeThen writes a change and has then, if any, run by the loop when it is on the disk or could not be.
func (m *Mail) saveChangeThen(c *change, then func(error)) {
	c.Rev++
	doc, rev, id := marshal(c), c.Rev, c.ID
	m.state.write(func(tx *sql.Tx) error {
		return one(tx.Exec("UPDATE change SET rev = ?, doc = ? WHERE id = ?", rev, doc, id))
	}, func(err error) {
		if !errors.Is(err, errTaken) {
			m.logWrite("change")(err)
		}
		if then != nil {
			m.post(func() { then(err) })
		}
	})
}

// deleteChange takes a change off the disk, sooner or later: left there it would be done again at the next start.
func (m *Mail) deleteChange(c *change) {
	id := c.ID
	m.removals++
	m.state.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM change WHERE id = ?", id)
		return err
	}, func(err error) {
		m.logWrite("change")(err)
		if err != nil {
			m.post(func() { m.afterAWhile(func() { m.deleteChange(c) }) })
		}
	})
}

func (m *Mail) logWrite(what string) func(error) {
	return func(err error) {
		if err != nil {
			m.log.Error("cannot write", "what", what, "error", err.Error())
			m.post(func() { m.diskTrouble(err) })
		}
	}
}

// diskTrouble says once that nothing can be written.
func (m *Mail) diskTrouble(err error) {
	m.removeNotices(func(n *notice) bool { return n.UndoTo == "disk" })
	m.addNotice(Notice{Kind: NoticeFailure, Text: "Nothing can be kept on the disk: " + diskReason(err) + " (" + m.opts.StateDir + ")", UndoTo: "disk"})
}

// inverse is the change that takes c back on a row as it is now; ok is false when c would change nothing.
func (m *Mail) inverse(c Change, row Row) (inv *Change, ok bool) {
	switch c.Kind {
	case ChangeRead:
		return &Change{Kind: ChangeUnread}, row.Unread || !row.Filled
	case ChangeUnread:
		return &Change{Kind: ChangeRead}, !row.Unread
	case ChangeStar:
		return &Change{Kind: ChangeUnstar}, !row.Starred
	case ChangeUnstar:
		return &Change{Kind: ChangeStar}, row.Starred
	case ChangeArchive:
		return &Change{Kind: ChangeInbox}, true
	case ChangeInbox:
		if roleOf(m.current.folder()) == RoleSpam {
			return &Change{Kind: ChangeSpam}, true
		}
		return &Change{Kind: ChangeArchive}, true
	case ChangeSpam:
		return &Change{Kind: ChangeInbox}, true
	case ChangeTrash:
		return &Change{Kind: ChangeRestore}, true
	case ChangeRestore:
		return &Change{Kind: ChangeTrash}, true
	case ChangeSnooze:
		if !row.SnoozedUntil.IsZero() {
			return &Change{Kind: ChangeSnooze, Until: row.SnoozedUntil}, true
		}
		return &Change{Kind: ChangeUnsnooze}, true
	case ChangeUnsnooze:
		if row.SnoozedUntil.IsZero() {
			return nil, true
		}
		return &Change{Kind: ChangeSnooze, Until: row.SnoozedUntil}, true
	case ChangeMute:
		return &Change{Kind: ChangeUnmute}, !row.Muted
	case ChangeUnmute:
		return &Change{Kind: ChangeMute}, true // not every server says what is muted
	case ChangeLabels:
		out := Change{Kind: ChangeLabels}
		for _, l := range c.Add {
			if !hasLabel(row.Labels, l.ID) {
				out.Remove = append(out.Remove, l)
			}
		}
		for _, l := range c.Remove {
			if hasLabel(row.Labels, l.ID) {
				out.Add = append(out.Add, l)
			}
		}
		return &out, len(out.Add)+len(out.Remove) > 0
	}
	return nil, true
}

func (m *Mail) pushUndo(s undoStep) {
	m.undo = append(m.undo, s)
	if len(m.undo) > 100 {
		m.undo = append([]undoStep(nil), m.undo[len(m.undo)-100:]...)
	}
}

// Undo takes back the newest thing that can be: a batch of changes, or a message within its undo window. It reports
// whether there was one.
func (m *Mail) Undo() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.undo) > 0 {
		s := m.undo[len(m.undo)-1]
		m.undo = m.undo[:len(m.undo)-1]
		if s.entry != "" {
			if e := m.entry(s.entry); e != nil && e.canTakeBack(m.now()) {
				m.takeBack(e)
				return true
			}
			continue
		}
		if m.undoChanges(s.changes) {
			return true
		}
	}
	// A send of the process before this one: its line offers the same.
	for i := len(m.outbox) - 1; i >= 0; i-- {
		if e := m.outbox[i]; e.State == EntryAccepted && m.now().Before(e.CancelUntil) && e.canTakeBack(m.now()) {
			m.takeBack(e)
			return true
		}
	}
	return false
}

func (m *Mail) undoChanges(cs []*change) bool {
	var undone []*change
	var inverse []*change
	again := newID()
	for _, c := range cs {
		if c.dropped {
			continue
		}
		if m.owner && c.open() && !c.Attempted && c.call == "" { // another owner may be sending it now
			c.dropped = true
			m.deleteChange(c)
			undone = append(undone, c)
			continue
		}
		if c.State == changeAsked { // the inverse is the answer
			m.dropAsked(c)
		}
		if c.Inverse != nil {
			i := m.newChange(again, c.Thread, *c.Inverse, nil, c.Subject)
			i.Home, i.Change.Quiet, i.Undoes = c.Home, true, c.ID
			inverse = append(inverse, i)
			undone = append(undone, c)
		}
	}
	if len(undone) == 0 {
		return false
	}
	m.forgetSnoozes(undone)
	if len(inverse) > 0 {
		m.enqueue(inverse)
	}
	m.replaceResult(Notice{Kind: NoticeResult, Text: "Undone: " + lowerFirst(fmt.Sprintf(changeWords[undone[0].Change.Kind].done, m.object(undone)))})
	m.listsChanged()
	return true
}

// pumpChanges begins the calls that may run: of each thread the oldest open change.
func (m *Mail) pumpChanges(now time.Time) {
	if !m.owner || m.closing || m.opts.Passive && len(m.changes) == 0 {
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
			due = sooner(due, c.NextAt)
		}
	}
	return due
}

// pokeChanges lets changes that wait for a connection go now.
func (m *Mail) pokeChanges() {
	for _, c := range m.changes {
		if c.open() && c.State == changeQueued {
			c.NextAt = time.Time{}
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
		run: run,
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
	case f.Err == nil:
		c.State, c.settled = changeSettled, m.next()
		m.deleteChange(c)
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
			break
		}
		m.folders.countsAgain = m.folders.countsCall != ""
		m.loadCounts()
		m.listsChanged()
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
	case c.Change.Kind.once() && f.Attempts > 0 && (errors.As(f.Err, &n) || errors.As(f.Err, &e) && (e.Status == 408 || e.Status == 429 || e.Status >= 500)):
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
		}
		c.Tries++
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

// refuseChange takes a change back on the screen, and what was done to the thread after it stays.
func (m *Mail) refuseChange(c *change, err error) {
	c.dropped = true
	m.deleteChange(c)
	for _, o := range m.changes { // nothing is left to take back
		if o.Undoes == c.ID && o.open() && !o.Attempted {
			o.dropped = true
			m.deleteChange(o)
		}
	}
	m.forgetSnoozes([]*change{c})
	m.log.Warn("change refused", "kind", string(c.Change.Kind), "error", err.Error())
	text := fmt.Sprintf("Could not %s %s: %s", changeWords[c.Change.Kind].todo, quoted(c.Subject), reason(err))
	gone := errors.Is(err, api.ErrNotFound)
	if !gone {
		text += " · it is back in place"
	}
	if !gone || !c.Change.Quiet || c.Undoes != "" { // nobody misses the mark on what is not there
		m.addNotice(Notice{Kind: NoticeFailure, Thread: c.Thread, Text: text})
	}
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
	m.removeNotices(func(n *notice) bool { return n.change == c.ID })
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
	}
	m.listsChanged()
}

const answerLost = "answer lost, it may or may not have happened"

// askChange asks about a change that may run only once and whose call did not end well.
func (m *Mail) askChange(c *change, why string) {
	words := changeWords[c.Change.Kind]
	n := m.addNoticeRetry(Notice{
		Kind: NoticeFailure, Thread: c.Thread, RetryTo: "does it again",
		Text: fmt.Sprintf("%s %s: %s", words.doing, quoted(c.Subject), why),
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
	m.refresh(false)
}

// forgetSettled drops settled changes that every answer already holds.
func (m *Mail) forgetSettled() {
	kept := m.changes[:0]
	for i, c := range m.changes {
		if c.dropped {
			continue
		}
		if c.State == changeSettled && (len(m.changes)-i > 500 || m.everywhere(c)) {
			continue
		}
		kept = append(kept, c)
	}
	clear(m.changes[len(kept):])
	m.changes = kept
}

func (m *Mail) everywhere(c *change) bool {
	if c.settled > m.folders.countsSeq {
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
			c.Attempted = true // perhaps: the disk does not say so of what may be repeated
		}
		c.NextAt = time.Time{}
	}
}

// noteSnoozes keeps which threads were snoozed here, so that their list exists on every server.
func (m *Mail) noteSnoozes(cs []*change) {
	until := map[ThreadID]time.Time{}
	for _, c := range cs {
		switch c.Change.Kind {
		case ChangeSnooze, ChangeUnsnooze, ChangeTrash, ChangeDelete:
			until[c.Thread] = c.Change.Until // zero but for a snooze
		}
	}
	m.keepSnoozes(until)
}

// forgetSnoozes takes back what noteSnoozes kept of changes that do not hold any more.
func (m *Mail) forgetSnoozes(cs []*change) {
	until := map[ThreadID]time.Time{}
	for _, c := range cs {
		if c.Change.Kind == ChangeSnooze && m.snoozes[c.Thread].Equal(c.Change.Until) {
			until[c.Thread] = time.Time{}
		}
	}
	m.keepSnoozes(until)
}

func (m *Mail) keepSnoozes(until map[ThreadID]time.Time) {
	if len(until) == 0 {
		return
	}
	for id, t := range until {
		if t.IsZero() {
			delete(m.snoozes, id)
		} else {
			m.snoozes[id] = t
		}
	}
	m.state.write(func(tx *sql.Tx) error {
		for id, t := range until {
			var err error
			if t.IsZero() {
				_, err = tx.Exec("DELETE FROM snooze WHERE thread = ?", string(id))
			} else {
				_, err = tx.Exec("INSERT OR REPLACE INTO snooze(thread, until) VALUES(?, ?)", string(id), t.UnixMilli())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, m.logWrite("snooze"))
}

// ownSnoozes are the threads that were snoozed here and sleep, the next to wake first.
func (m *Mail) ownSnoozes() []ThreadID {
	return sleeping(m.snoozes, m.now())
}

func decodeChange(doc []byte) (*change, error) {
	c := &change{}
	if err := json.Unmarshal(doc, c); err != nil {
		return nil, fmt.Errorf("a change in state.db cannot be read: %w", err)
	}
	return c, nil
}
