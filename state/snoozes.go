package state

import (
	"database/sql"
	"sort"
	"time"
)

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
