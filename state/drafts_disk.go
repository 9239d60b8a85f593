package state

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

func (m *Mail) tickDrafts(now time.Time) {
	for _, rec := range m.drafts {
		if rec.sent {
			continue
		}
		if !rec.diskAt.IsZero() && !now.Before(rec.diskAt) {
			m.writeDraft(rec)
		}
		if rec.call == "" && !rec.claiming && rec.stored && !rec.serverAt.IsZero() && !now.Before(rec.serverAt) && rec.diskAt.IsZero() {
			m.saveAtServer(rec)
		}
	}
}

func (m *Mail) dueDraft() time.Time {
	var due time.Time
	for _, rec := range m.drafts {
		if rec.sent {
			continue
		}
		due = sooner(due, rec.diskAt)
		if rec.call == "" && !rec.claiming && rec.stored && rec.diskAt.IsZero() {
			due = sooner(due, rec.serverAt)
		}
	}
	return due
}

func (m *Mail) writeDraft(rec *draftRecord) { m.writeDraftThen(rec, nil) }

// writeDraftThen writes a draft and has then, if any, run by the loop when it is on the disk or could not be.
func (m *Mail) writeDraftThen(rec *draftRecord, then func(error)) {
	rec.diskAt = time.Time{}
	rec.Rev = m.nextRev(rec.Rev)
	rec.saving++
	here := rec.here()
	if here {
		rec.By = m.claim.id
	}
	doc, rev, id, at := marshal(rec.draftDoc), rec.Rev, rec.Draft.ID, m.now()
	rec.stored = true
	m.state.write(func(tx *sql.Tx) error {
		if here {
			if err := m.claim.hold(); err != nil {
				m.log.Warn("cannot show that a draft is open", "error", err.Error()) // it is offered as recovered, at worst
			}
		}
		return putDraft(tx, id, rec.disk.Load(), rev, doc)
	}, func(err error) {
		if err == nil {
			rec.disk.Store(rev)
		}
		m.post(func() {
			rec.saving--
			if then != nil {
				defer then(err)
			}
			if err != nil {
				m.log.Error("cannot write a draft", "error", err.Error())
				rec.status = DraftStatus{State: SaveFailed, At: rec.status.At, Problem: diskReason(err)}
				if rec.diskAt.IsZero() && !rec.sent {
					rec.diskAt = m.now().Add(2 * time.Second)
				}
				m.changed()
				return
			}
			if rec.diskAt.IsZero() && rec.Rev == rev {
				rec.status = DraftStatus{State: rec.savedAs(), At: at, Problem: rec.status.Problem}
			}
			m.changed()
		})
	})
	m.changed()
}

// putDraft writes the row of a draft. What another process wrote there since this one knew it is kept as a draft of its own,
// so that nothing typed is lost.
func putDraft(tx *sql.Tx, id DraftID, was, rev int64, doc []byte) error {
	var there int64
	var other []byte
	err := tx.QueryRow("SELECT rev, doc FROM draft WHERE id = ?", string(id)).Scan(&there, &other)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && there != was {
		if err := keepOther(tx, other, doc); err != nil {
			return err
		}
	}
	_, err = tx.Exec("INSERT INTO draft(id, rev, doc) VALUES(?, ?, ?) ON CONFLICT(id) DO UPDATE SET rev = excluded.rev, doc = excluded.doc", string(id), rev, doc)
	return err
}

// keepOther stores the text of doc, with its attachments, under a new id when it is not that of mine.
func keepOther(tx *sql.Tx, doc, mine []byte) error {
	var d, own draftDoc
	if json.Unmarshal(doc, &d) != nil || json.Unmarshal(mine, &own) != nil || sum(d.Draft) == sum(own.Draft) || d.Draft.Empty() {
		return nil
	}
	d = draftDoc{Draft: d.Draft, Rev: d.Rev}
	d.Draft.ID, d.Draft.ServerID = DraftID(newID()), ""
	files := d.Draft.Files
	d.Draft.Files = nil
	for _, f := range files {
		id := newID()
		if _, err := tx.Exec("INSERT INTO file(id, draft, bytes) SELECT ?, ?, bytes FROM file WHERE id = ?", id, string(d.Draft.ID), f.ID); err != nil {
			return err
		}
		f.ID = id
		d.Draft.Files = append(d.Draft.Files, f)
	}
	_, err := tx.Exec("INSERT INTO draft(id, rev, doc) VALUES(?, ?, ?)", string(d.Draft.ID), d.Rev, marshal(d))
	return err
}

// flushDrafts has everything typed written, at the end.
func (m *Mail) flushDrafts() {
	for _, rec := range m.drafts {
		if rec.mine && !rec.sent && (!rec.diskAt.IsZero() || rec.Open) {
			rec.Open = false
			m.writeDraft(rec)
		}
	}
}

// mergeDrafts takes over what other processes wrote. What is being written here stays: when it is written it gets its
// place, and the other text one of its own.
func (m *Mail) mergeDrafts(all []*draftDoc) {
	there := map[DraftID]bool{}
	for _, d := range all {
		there[d.Draft.ID] = true
		rec := m.drafts[d.Draft.ID]
		if rec == nil {
			rec = &draftRecord{}
			m.drafts[d.Draft.ID] = rec
		}
		if rec.saving > 0 || !rec.diskAt.IsZero() || rec.sent || rec.here() || d.Rev == rec.disk.Load() {
			continue
		}
		rec.draftDoc, rec.known, rec.stored = *d, true, true
		rec.disk.Store(d.Rev)
		rec.status = DraftStatus{State: d.saveState(), At: d.Draft.UpdatedAt}
	}
	for id, rec := range m.drafts { // sent or thrown away there
		if rec.stored && !there[id] && rec.saving == 0 && rec.diskAt.IsZero() && !rec.sent && !rec.here() && rec.call == "" && !rec.claiming {
			delete(m.drafts, id)
		}
	}
}

// adoptDrafts takes over what was being written when the program last died, and has what the server lacks saved. What another
// process writes is left to it.
func (m *Mail) adoptDrafts(living map[string]bool) {
	elsewhere := func(rec *draftRecord) bool { return rec.Open && living[rec.By] }
	m.adoptEditorFiles(elsewhere)
	for id, rec := range m.drafts {
		if elsewhere(rec) {
			continue
		}
		if rec.Open {
			m.recovered = append(m.recovered, id)
		}
		if rec.saveState() != SaveServer {
			rec.serverAt = m.now().Add(serverAfter)
		}
	}
}
