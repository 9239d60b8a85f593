package state

import (
	"database/sql"
	"sort"
	"time"
)

// noteSnoozes is what changes make of the own snoozes, which are kept so that their list exists on every server. A zero time
// is none.
func noteSnoozes(cs []*change) map[ThreadID]time.Time {
	until := map[ThreadID]time.Time{}
	for _, c := range cs {
		switch c.Change.Kind {
		case ChangeSnooze, ChangeUnsnooze, ChangeTrash, ChangeDelete:
			until[c.Thread] = c.Change.Until // zero but for a snooze
		}
	}
	return until
}

// endedSnoozes is what is left of the own snoozes without changes that do not hold any more.
func (m *Mail) endedSnoozes(cs []*change) map[ThreadID]time.Time {
	until := map[ThreadID]time.Time{}
	for _, c := range cs {
		if c.Change.Kind == ChangeSnooze && m.snoozes[c.Thread].Equal(c.Change.Until) {
			until[c.Thread] = time.Time{}
		}
	}
	return until
}

// forgetSnoozes takes back what was kept of a change that does not hold any more.
func (m *Mail) forgetSnoozes(c *change) {
	until := m.endedSnoozes([]*change{c})
	if len(until) == 0 {
		return
	}
	m.setSnoozes(until)
	m.state.write(func(tx *sql.Tx) error { return writeSnoozes(tx, until) }, m.logWrite("snooze"))
}

// setSnoozes changes own snoozes in memory and returns what they were.
func (m *Mail) setSnoozes(until map[ThreadID]time.Time) map[ThreadID]time.Time {
	was := map[ThreadID]time.Time{}
	for id, t := range until {
		was[id] = m.snoozes[id]
		if t.IsZero() {
			delete(m.snoozes, id)
		} else {
			m.snoozes[id] = t
		}
	}
	return was
}

func writeSnoozes(tx *sql.Tx, until map[ThreadID]time.Time) error {
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
}

// ownSnoozes are the threads that were snoozed here and sleep, the next to wake first.
func (m *Mail) ownSnoozes() []ThreadID {
	return sleeping(m.snoozes, m.now())
}

// sleeping lists the threads that wake after now, the next first.
func sleeping(snoozes map[ThreadID]time.Time, now time.Time) []ThreadID {
	var out []ThreadID
	for id, until := range snoozes {
		if until.After(now) {
			out = append(out, id)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := snoozes[out[i]], snoozes[out[j]]
		if !a.Equal(b) {
			return a.Before(b)
		}
		return out[i] < out[j]
	})
	return out
}
