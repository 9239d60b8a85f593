package local

import (
	"database/sql"
	"slices"
)

// maxLabelChanges is the most labels that one call puts on a thread or takes off.
const maxLabelChanges = 1000

func (s *Server) updateThread(c *call) (any, error) {
	read, setRead, err := c.body.boolean("read")
	if err != nil {
		return nil, err
	}
	add, err := c.body.textsUpTo("addLabelIds", maxLabelChanges)
	if err != nil {
		return nil, err
	}
	remove, err := c.body.textsUpTo("removeLabelIds", maxLabelChanges)
	if err != nil {
		return nil, err
	}
	add, remove = unique(add), unique(remove)
	for _, id := range add {
		if slices.Contains(remove, id) {
			return nil, invalidField("removeLabelIds", "The label %s cannot be added and removed at once.", printable(id))
		}
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		if setRead {
			if err := t.markRead(th, read); err != nil {
				return err
			}
		}
		// What is removed goes first: "not spam, to the inbox" ends in the inbox.
		for _, id := range remove {
			if err := t.setLabel(th, id, false); err != nil {
				return err
			}
		}
		for _, id := range add {
			if err := t.setLabel(th, id, true); err != nil {
				return err
			}
		}
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "addedLabelIds": add, "removedLabelIds": remove}, nil
}

// unique leaves the first of equal strings.
func unique(list []string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, v := range list {
		if !seen[v] {
			out, seen[v] = append(out, v), true
		}
	}
	return out
}

func (t *tx) markRead(th *thread, read bool) error {
	if err := t.exec("UPDATE messages SET unread = ? WHERE thread_id = ? AND unread <> ?", !read, th.id, !read); err != nil {
		return err
	}
	th.unread = th.messages
	if read {
		th.unread = 0
	}
	return nil
}

func (t *tx) setLabel(th *thread, id string, on bool) error {
	param := "removeLabelIds"
	if on {
		param = "addLabelIds"
	}
	switch id {
	case labelInbox:
		th.inbox = on
		if on {
			th.spam, th.trashed, th.snoozedUntil = false, false, sql.NullInt64{}
		}
	case labelStarred:
		th.starred = on
	case labelSpam:
		if th.spam != on {
			th.spam = on
			th.inbox = !on
		}
		if on {
			th.trashed = false
		}
	case labelTrash:
		th.trashed = on
	case labelSnoozed:
		if on {
			return invalidField(param, "A thread is snoozed with POST /threads/{id}/snooze, which says until when.")
		}
		t.unsnooze(th)
	case labelSent, labelDraft:
		return invalidField(param, "The label %s says what a thread holds; it cannot be set.", id)
	default:
		n, ok := parseID("lbl", id)
		if !ok {
			return notFound("label", param)
		}
		var exists int
		if err := t.row("SELECT 1 FROM labels WHERE id = ?", []any{n}, &exists); err != nil {
			return found(err, "label", param)
		}
		if on {
			return t.exec("INSERT OR IGNORE INTO thread_labels(thread_id, label_id) VALUES(?,?)", th.id, n)
		}
		return t.exec("DELETE FROM thread_labels WHERE thread_id = ? AND label_id = ?", th.id, n)
	}
	return nil
}

func (s *Server) trashThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.trashed = true
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "trashed": true}, nil
}

// restoreThread takes a thread out of the trash. Being in the trash hides where it was; it never forgets it.
func (s *Server) restoreThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.trashed = false
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "restored": true}, nil
}

func (s *Server) deleteThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error { return t.deleteThread(th.id) })
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "deleted": true}, nil
}

func (s *Server) snoozeThread(c *call) (any, error) {
	at, given, err := c.body.when("wakeAt")
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, invalidField("wakeAt", "wakeAt is missing: it says when the thread comes back, as an instant such as 2026-03-01T09:30:00.000Z.")
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		if at <= t.now {
			return invalidField("wakeAt", "wakeAt has passed.")
		}
		th.snoozedUntil = sql.NullInt64{Int64: at, Valid: true}
		th.trashed, th.spam = false, false
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "snoozedUntil": instant(at)}, nil
}

func (t *tx) unsnooze(th *thread) {
	if th.snoozedUntil.Valid {
		th.snoozedUntil = sql.NullInt64{}
		th.inbox = true
	}
}

func (s *Server) unsnoozeThread(c *call) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		t.unsnooze(th)
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "snoozedUntil": nil}, nil
}

func (s *Server) muteThread(c *call) (any, error)   { return s.setMuted(c, true) }
func (s *Server) unmuteThread(c *call) (any, error) { return s.setMuted(c, false) }

func (s *Server) setMuted(c *call, muted bool) (any, error) {
	err := s.changeThread(c, func(t *tx, th *thread) error {
		th.muted = muted
		return t.saveThread(th)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "thread", "id": c.params[0], "muted": muted}, nil
}
