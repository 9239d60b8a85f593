package state

import (
	"time"

	"codeberg.org/teapost/teapost/api"
)

const (
	pollFocused = time.Minute
	pollAway    = 5 * time.Minute
	pollFailing = 15 * time.Minute
	keyCounts   = 5 * time.Minute // a key this recent counts as being there
)

// begin asks for what the first screen needs. With the lock held.
func (m *Mail) begin() {
	if m.opts.Passive {
		if len(m.identities()) == 0 {
			m.loadAddresses() // a message needs a sender
		}
		return
	}
	if m.owner {
		living := livingProcesses(m.opts.StateDir)
		m.removeViewed(living)
		m.adoptDrafts(living)
	}
	l := m.list(m.current)
	m.loadList(l, true)
	m.loadLabels()
	m.loadCounts()
	m.loadAddresses()
	m.loadPeople()
	m.nextPoll = m.now().Add(m.pollPause())
}

// Refresh asks for everything that is shown, because the person wants it now.
func (m *Mail) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offline, m.offlineTries, m.nextTry = false, 0, time.Time{}
	m.insist()
	m.pokeOutbox()
	m.pokeChanges()
	m.refresh(true)
}

// news is refresh after something is known to have changed: what was asked for before may not show it.
func (m *Mail) news() {
	if m.opts.Passive || m.closing {
		return
	}
	l := m.list(m.current)
	l.again = l.call != ""
	m.folders.countsAgain = m.folders.countsCall != ""
	if rec := m.rows[m.openID]; rec != nil {
		rec.again = rec.call != ""
	}
	m.refresh(false)
}

// refresh asks for page one of the list that is looked at, the numbers and the open conversation. With the lock held.
func (m *Mail) refresh(person bool) {
	if m.opts.Passive || m.closing {
		return
	}
	if m.holdBack(person) {
		m.nextPoll = m.now().Add(m.pollPause())
		return
	}
	for _, rec := range m.rows {
		if rec.problem != "" {
			rec.problem = ""
		}
	}
	m.loadList(m.list(m.current), person)
	m.loadCounts()
	if person || m.folders.labelsSeq == 0 {
		m.loadLabels()
	}
	if m.folders.addressesAt.IsZero() {
		m.loadAddresses()
	}
	if m.openID != "" {
		if rec := m.rows[m.openID]; rec != nil && rec.call == "" {
			m.fetchThread(m.openID, api.Visible, false)
		}
	}
	m.loadDraftList()
	m.nextPoll = m.now().Add(m.pollPause())
}

// quiet reports that the server said that it gets too many requests: nothing is asked by itself. With the lock held.
func (m *Mail) quiet() bool { return m.now().Before(m.limitedUntil) }

// insist lifts the pause that this program made after a 429 by itself, because the person does not want to wait. One that
// the server named (Retry-After) stays. A credential that is refused may be asked for again, too.
func (m *Mail) insist() { m.limitedUntil, m.renewal.asked = m.askedUntil, false }

// holdBack reports that nothing may be asked now; it is asked by itself when that is over. Whoever wanted it is told why.
func (m *Mail) holdBack(person bool) bool {
	if !m.quiet() {
		return false
	}
	m.owed = true
	if person && m.now().Before(m.askedUntil) {
		text := "Not yet: the server asked to wait until " + shortTime(m.askedUntil, m.now()) + " · goes then by itself"
		m.removeNotices(func(n *notice) bool { return n.Text == text })
		m.addNotice(Notice{Kind: NoticeInfo, Text: text})
	}
	return true
}

// SetFocus says that the terminal has the focus or not, or (true) that a key came.
func (m *Mail) SetFocus(focused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	away := !m.focused && now.Sub(m.lastKey) > keyCounts
	m.focused = focused
	if !focused {
		return
	}
	m.lastKey = now
	if away && m.opts.Poke == nil {
		m.refresh(false)
		return
	}
	if next := now.Add(pollFocused); m.pollTries == 0 && m.nextPoll.After(next) {
		m.nextPoll = next
	}
}

func (m *Mail) pollPause() time.Duration {
	base := pollAway
	if m.focused || m.now().Sub(m.lastKey) < keyCounts {
		base = pollFocused
	}
	if m.pollTries > 0 {
		base = growing(base, pollFailing, m.pollTries)
	}
	return jitter(base)
}

// tickSync polls when it is time, and tries the connection again when it was lost.
func (m *Mail) tickSync(now time.Time) {
	if m.opts.Passive {
		return
	}
	if m.owed && !m.quiet() {
		m.owed = false
		m.refresh(!m.list(m.current).known)
		return
	}
	if m.offline && !m.nextTry.IsZero() && !now.Before(m.nextTry) {
		m.offlineTries++
		m.nextTry = now.Add(jitter(growing(15*time.Second, 15*time.Minute, m.offlineTries)))
		m.refresh(false)
		return
	}
	if m.opts.Poke == nil && !now.Before(m.nextPoll) && !m.offline && !m.quiet() {
		m.nextPoll = now.Add(m.pollPause())
		m.refresh(false)
	}
}

func (m *Mail) dueSync() time.Time {
	var due time.Time
	if m.opts.Passive {
		return due
	}
	if m.offline {
		due = sooner(due, m.nextTry)
	} else if m.opts.Poke == nil {
		due = sooner(due, latest(m.nextPoll, m.limitedUntil))
	}
	if m.limitedUntil.After(m.now()) {
		due = sooner(due, m.limitedUntil)
	}
	return due
}
