package local

import (
	"fmt"
	"slices"
)

var noteColors = []string{"default", "red", "orange", "yellow", "green", "blue", "purple", "pink"}

const (
	noteColumns  = "n.id, n.thread_id, n.content, n.color, n.pinned, n.position, n.created_at, n.updated_at"
	maxNoteBytes = 64 << 10
	maxNotes     = 500
)

func scanNote(row scanner) (id int64, out map[string]any, err error) {
	var thread, position, created, updated int64
	var content, color string
	var pinned bool
	if err := row.Scan(&id, &thread, &content, &color, &pinned, &position, &created, &updated); err != nil {
		return 0, nil, err
	}
	return id, map[string]any{
		"object": "note", "id": wireID("note", id), "threadId": wireID("thr", thread), "content": content, "color": color, "pinned": pinned,
		"order": position, "createdAt": instant(created), "updatedAt": instant(updated),
	}, nil
}

// listNotes gives the notes of a thread: the pinned ones first, then in their order.
func (s *Server) listNotes(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	data, err := s.listAll(c, scanNote, "SELECT "+noteColumns+" FROM notes n WHERE n.thread_id = ? ORDER BY n.pinned DESC, n.position, n.id", thread)
	return list(data), err
}

// noteFields are the columns that a request sets.
type noteFields struct {
	content, color string
	pinned         bool
}

func (n *noteFields) read(f fields) error {
	if _, given := f["content"]; given || n.content == "" {
		v, err := f.text("content")
		if err != nil {
			return err
		}
		if v == "" || len(v) > maxNoteBytes {
			return invalidField("content", "A note needs content of at most %d bytes.", maxNoteBytes)
		}
		n.content = v
	}
	var err error
	if n.color, err = f.oneOf("color", n.color, noteColors...); err != nil {
		return err
	}
	if v, given, err := f.boolean("pinned"); err != nil {
		return err
	} else if given {
		n.pinned = v
	}
	return nil
}

func (s *Server) note(c *call, id int64) (any, error) {
	_, out, err := scanNote(s.reader.QueryRowContext(c.ctx, "SELECT "+noteColumns+" FROM notes n WHERE n.id = ?", id))
	return out, found(err, "note", "")
}

func (s *Server) createNote(c *call) (any, error) {
	n := noteFields{color: "default"}
	if err := n.read(c.body); err != nil {
		return nil, err
	}
	var id int64
	err := s.changeThread(c, func(t *tx, th *thread) error {
		var count int
		var position int64
		if err := t.row("SELECT count(*), coalesce(max(position) + 1, 0) FROM notes WHERE thread_id = ?", []any{th.id}, &count, &position); err != nil {
			return err
		}
		if count >= maxNotes {
			return &apiError{422, "workspace_limit_reached", fmt.Sprintf("This thread has %d notes, the most that one can have; delete one first.", maxNotes), ""}
		}
		var err error
		id, err = t.insert("INSERT INTO notes(thread_id, content, color, pinned, position, created_at, updated_at) VALUES(?,?,?,?,?,?,?)",
			th.id, n.content, n.color, n.pinned, position, t.now, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.note(c, id)
}

func noteID(c *call) (int64, error) {
	id, ok := parseID("note", c.params[1])
	if !ok {
		return 0, notFound("note", "")
	}
	return id, nil
}

func (s *Server) updateNote(c *call) (any, error) {
	id, err := noteID(c)
	if err != nil {
		return nil, err
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		var n noteFields
		if err := t.row("SELECT content, color, pinned FROM notes WHERE id = ? AND thread_id = ?", []any{id, th.id}, &n.content, &n.color, &n.pinned); err != nil {
			return found(err, "note", "")
		}
		if err := n.read(c.body); err != nil {
			return err
		}
		return t.exec("UPDATE notes SET content = ?, color = ?, pinned = ?, updated_at = ? WHERE id = ?", n.content, n.color, n.pinned, t.now, id)
	})
	if err != nil {
		return nil, err
	}
	return s.note(c, id)
}

func (s *Server) deleteNote(c *call) (any, error) {
	id, err := noteID(c)
	if err != nil {
		return nil, err
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		return t.mustChange("note", "DELETE FROM notes WHERE id = ? AND thread_id = ?", id, th.id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "note", "id": c.params[1], "threadId": c.params[0], "deleted": true}, nil
}

func (s *Server) reorderNotes(c *call) (any, error) {
	ids, err := c.body.textsUpTo("ids", maxNotes)
	if err != nil {
		return nil, err
	}
	err = s.changeThread(c, func(t *tx, th *thread) error {
		have, err := t.ids("SELECT id FROM notes WHERE thread_id = ?", th.id)
		if err != nil {
			return err
		}
		var want []int64
		for _, w := range ids {
			id, ok := parseID("note", w)
			if !ok || !slices.Contains(have, id) {
				return notFound("note", "ids")
			}
			if !slices.Contains(want, id) {
				want = append(want, id)
			}
		}
		if len(want) != len(have) {
			return invalidField("ids", "ids must name every note of the thread.")
		}
		for i, id := range want {
			if err := t.exec("UPDATE notes SET position = ? WHERE id = ?", i, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.listNotes(c)
}
