package state

import (
	"database/sql"
	"errors"
	"time"
)

// A change is sent by the owner, and may have been made in another process: the person who waits there for what becomes of it
// is told there too.

// keepRefused is how long what nobody took up is kept: the process that made the change has ended.
const keepRefused = 24 * time.Hour

// noteRefused writes what the process that made a change is to tell of its refusal; nil when that is this one.
func (m *Mail) noteRefused(c *change, text string) func(*sql.Tx) error {
	if c.mine || text == "" {
		return nil
	}
	now := m.now()
	return func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM refused WHERE at < ?", now.Add(-keepRefused).UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT OR REPLACE INTO refused(change, at, text) VALUES(?, ?, ?)", c.ID, now.UnixMilli(), text)
		return err
	}
}

func readRefused(db *sql.DB, into map[string]string) (err error) {
	rows, err := db.Query("SELECT change, text FROM refused")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var change, text string
		if err := rows.Scan(&change, &text); err != nil {
			return err
		}
		into[change] = text
	}
	return rows.Err()
}

// endedElsewhere is the end of a change that another process is through with; refused is empty, or what is to be told.
func (m *Mail) endedElsewhere(c *change, refused string) {
	if c.State == changeAsked {
		m.hideQuestion(c)
	}
	if refused == "" || !c.mine {
		c.State, c.settled = changeSettled, m.next()
		return
	}
	c.dropped = true
	if rec := m.rows[c.Thread]; rec != nil {
		rec.stale = true
	}
	m.addNotice(Notice{Kind: NoticeFailure, Thread: c.Thread, Text: refused})
	id := c.ID
	m.state.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM refused WHERE change = ?", id)
		return err
	}, m.logWrite("refused"))
}

// mergeQuestion asks about a change of this process whose call, made by another one, was the only one that may be; and no more
// once the answer was given there.
func (m *Mail) mergeQuestion(c *change, was changeState) {
	switch {
	case was == c.State:
	case was == changeAsked:
		m.hideQuestion(c)
	case c.State == changeAsked && c.mine:
		m.askChange(c, answerLost)
	}
}
