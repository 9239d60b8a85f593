package state

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
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
	ID         string      `json:"id"`
	Seq        int64       `json:"seq"` // the person's order
	Batch      string      `json:"batch"`
	Thread     ThreadID    `json:"thread"`
	Change     Change      `json:"change"`
	Inverse    *Change     `json:"inverse,omitempty"`
	Home       Role        `json:"home,omitempty"` // the folder it was seen in
	Slept      time.Time   `json:"slept"`          // until when it was snoozed here before
	Subject    string      `json:"subject"`
	State      changeState `json:"state"`
	Attempted  bool        `json:"attempted"`
	NextAt     time.Time   `json:"next"`
	Tries      int         `json:"tries"`
	AskedAt    time.Time   `json:"askedAt"`
	AskedUntil time.Time   `json:"askedUntil"` // the server asked not to be tried before
	Rev        int64       `json:"rev"`
	Undoes     string      `json:"undoes,omitempty"` // the id of the change that this one takes back

	call    string
	settled uint64 // the count at which the server had it
	dropped bool   // gone; skip it where it is still listed
	again   bool   // a call before may have done it
	asked   bool   // the person was asked about it
	unsaved bool   // never reached the disk
	mine    bool   // made by this process: what becomes of it is told here
}

func (c *change) open() bool { return c.State != changeSettled && !c.dropped }

// counts reports whether the change must be laid over an answer that was asked for at seq.
func (c *change) counts(seq uint64) bool {
	return !c.dropped && (c.State != changeSettled || c.settled > seq)
}

// once reports that the call of the kind must never be repeated by itself.
func (k ChangeKind) once() bool {
	return k == ChangeMute || k == ChangeUnmute || k == ChangeDelete || k.answers() || k == ChangeLabelDelete
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

	ChangeAccept:    {"Accepted %s", "Accepting", "accept", ""},
	ChangeTentative: {"Answered “maybe” to %s", "Answering “maybe” to", "answer “maybe” to", ""},
	ChangeDecline:   {"Declined %s", "Declining", "decline", ""},

	ChangeLabelEdit:   {"Changed the label %s", "Changing the label", "change the label", "takes that back"},
	ChangeLabelDelete: {"Deleted the label %s", "Deleting the label", "delete the label", ""},
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
	if c.Kind.answers() {
		m.replaceAnswers(ids)
	}
	batch := newID()
	listed := map[ThreadID]bool{}
	for _, id := range m.listedIDs(m.list(m.current), (*change).any) {
		listed[id] = true
	}
	var made []*change
	before := m.byThread()
	for _, id := range ids {
		row := m.showRow(id, before[id])
		inv, ok := m.inverse(c, row)
		if !ok || c.Kind == ChangeArchive && m.outOfInbox(id, before[id]) {
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
		Home: roleOf(m.current.folder()), State: changeSaving, Rev: 1, mine: true, Slept: m.snoozes[id],
	}
}

// enqueue shows changes and writes them; their calls begin when they are on the disk.
func (m *Mail) enqueue(cs []*change) {
	m.storeChanges(cs, nil, noteSnoozes(cs), func(err error) {
		if err != nil {
			m.addNotice(Notice{Kind: NoticeFailure, Text: "Could not " + changeWords[cs[0].Change.Kind].todo + " " + m.object(cs) +
				": " + diskReason(err) + " · it is as it was"})
		}
	})
}

// storeChanges shows made and forgets gone at once. Both, and what they mean for the own snoozes, go to the disk in one
// transaction, so that a death leaves all of it or nothing. Then then is run by the loop; with an error nothing of it holds.
func (m *Mail) storeChanges(made, gone []*change, snoozes map[ThreadID]time.Time, then func(error)) {
	m.changes = append(m.changes, made...)
	docs := make([][]byte, len(made))
	for i, c := range made {
		c.State = changeQueued
		docs[i] = marshal(c)
		c.State = changeSaving
	}
	for _, c := range gone {
		c.dropped = true
	}
	if len(gone) > 0 {
		m.removals++
	}
	was := m.setSnoozes(snoozes)
	m.state.write(func(tx *sql.Tx) error {
		for _, c := range gone {
			if _, err := tx.Exec("DELETE FROM change WHERE id = ?", c.ID); err != nil {
				return err
			}
		}
		for i, c := range made {
			if _, err := tx.Exec("INSERT OR REPLACE INTO change(id, seq, rev, doc) VALUES(?, ?, ?, ?)", c.ID, c.Seq, 1, docs[i]); err != nil {
				return err
			}
		}
		return writeSnoozes(tx, snoozes)
	}, func(err error) {
		m.post(func() {
			for _, c := range made {
				c.unsaved = err != nil
				c.dropped = c.dropped || c.unsaved
				if c.State == changeSaving {
					c.State = changeQueued
				}
			}
			if err != nil {
				for _, c := range gone {
					c.dropped = c.unsaved
				}
				m.setSnoozes(was)
			}
			then(err)
			m.listsChanged()
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
func (m *Mail) deleteChange(c *change) { m.deleteChangeAnd(c, nil) }

// deleteChangeAnd is deleteChange with more writes, if any, in the same transaction.
func (m *Mail) deleteChangeAnd(c *change, also func(*sql.Tx) error) {
	id := c.ID
	m.removals++
	m.state.write(func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM change WHERE id = ?", id); err != nil || also == nil {
			return err
		}
		return also(tx)
	}, func(err error) {
		m.logWrite("change")(err)
		if err != nil {
			m.post(func() { m.afterAWhile(func() { m.deleteChangeAnd(c, also) }) })
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

func decodeChange(doc []byte) (*change, error) {
	c := &change{}
	if err := json.Unmarshal(doc, c); err != nil {
		return nil, fmt.Errorf("a change in state.db cannot be read: %w", err)
	}
	return c, nil
}
