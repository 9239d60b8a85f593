package state

import (
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// showList lays the person's changes over what the server said.
func (m *Mail) showList(l *list) []Row {
	ids := m.listedIDs(l, (*change).any)
	rows := make([]Row, len(ids))
	cs := m.byThread()
	for i, id := range ids {
		rows[i] = m.showRow(id, cs[id])
	}
	return rows
}

func (c *change) any() bool { return true }

// listedIDs is what the changes that which picks make of a list.
func (m *Mail) listedIDs(l *list, which func(*change) bool) []ThreadID {
	in := make(map[ThreadID]bool, len(l.ids))
	for _, id := range l.ids {
		in[id] = true
	}
	after := map[ThreadID]bool{} // what the changes make of it
	for _, c := range m.changes {
		if !c.counts(l.seq) || !which(c) {
			continue
		}
		was, seen := after[c.Thread]
		if !seen {
			was = in[c.Thread]
		}
		after[c.Thread] = m.membership(l.view, c, was)
	}
	ids := make([]ThreadID, 0, len(l.ids))
	for _, id := range l.ids {
		if stays, touched := after[id]; !touched || stays {
			ids = append(ids, id)
		}
	}
	for id, isIn := range after {
		if isIn && !in[id] {
			if r := m.rows[id]; r != nil && r.filled {
				ids = m.insertRow(ids, id)
			}
		}
	}
	return ids
}

// insertRow puts a row that came in by a change where its date puts it; the others stay in the order of the server.
func (m *Mail) insertRow(ids []ThreadID, id ThreadID) []ThreadID {
	date := m.rows[id].row.At
	at := slices.IndexFunc(ids, func(o ThreadID) bool {
		rec := m.rows[o]
		return rec != nil && rec.filled && (rec.row.At.Before(date) || rec.row.At.Equal(date) && o > id)
	})
	if at < 0 {
		at = len(ids)
	}
	return slices.Insert(ids, at, id)
}

// membership says whether a thread is in the view after c, when it was in it before or not.
func (m *Mail) membership(v View, c *change, was bool) bool {
	if v.Query != "" {
		return was && c.Change.Kind != ChangeDelete
	}
	if v.Label != "" {
		switch c.Change.Kind {
		case ChangeLabels:
			for _, l := range c.Change.Add {
				if l.ID == v.Label {
					return true
				}
			}
			for _, l := range c.Change.Remove {
				if l.ID == v.Label {
					return false
				}
			}
			return was
		case ChangeTrash, ChangeSpam, ChangeDelete, ChangeSnooze:
			return false
		}
		return was
	}
	role := roleOf(v.folder())
	switch c.Change.Kind {
	case ChangeArchive:
		switch role {
		case RoleInbox:
			return false
		case RoleArchive:
			return true
		}
	case ChangeInbox:
		switch role {
		case RoleInbox:
			return true
		case RoleArchive, RoleSpam:
			return false
		}
	case ChangeSpam:
		return role == RoleSpam
	case ChangeTrash:
		return role == RoleTrash
	case ChangeRestore:
		switch role {
		case RoleTrash:
			return false
		case RoleAll:
			return true
		}
		return was || c.Home == role
	case ChangeSnooze:
		return role == RoleSnoozed
	case ChangeUnsnooze:
		switch role {
		case RoleSnoozed:
			return false
		case RoleInbox:
			return true
		}
	case ChangeStar:
		if role == RoleStarred {
			return true
		}
	case ChangeUnstar:
		if role == RoleStarred {
			return false
		}
	case ChangeDelete:
		return false
	}
	return was
}

// byThread are the person's changes of each thread.
func (m *Mail) byThread() map[ThreadID][]*change {
	out := map[ThreadID][]*change{}
	for _, c := range m.changes {
		out[c.Thread] = append(out[c.Thread], c)
	}
	return out
}

// changesOf are the person's changes of one thread.
func (m *Mail) changesOf(id ThreadID) []*change {
	var out []*change
	for _, c := range m.changes {
		if c.Thread == id {
			out = append(out, c)
		}
	}
	return out
}

// showRow is the row of a thread with the person's changes of it.
func (m *Mail) showRow(id ThreadID, cs []*change) Row {
	rec := m.rows[id]
	if rec == nil {
		return Row{ID: id}
	}
	row := m.rowWith(id, rec, cs, (*change).any)
	for _, c := range cs {
		row.Pending = row.Pending || c.open()
	}
	return row
}

// rowWith is a row with those of its thread's changes that which picks.
func (m *Mail) rowWith(id ThreadID, rec *threadRecord, cs []*change, which func(*change) bool) Row {
	row := rec.row
	row.ID, row.Filled = id, rec.filled
	for _, c := range cs {
		if c.counts(rec.seq) && which(c) {
			c.Change.apply(&row)
		}
	}
	row.Labels = m.labelsNow(row.Labels, rec.seq)
	return row
}

// outOfInbox reports that a thread is known not to be in the inbox, on a server that tells it with threads: archiving it
// changes nothing, and taking that back must not either.
func (m *Mail) outOfInbox(id ThreadID, cs []*change) bool {
	rec := m.rows[id]
	if rec == nil || rec.inFolder == nil || !m.folders.tellsInbox {
		return false
	}
	in := rec.inFolder[string(RoleInbox)]
	for _, c := range cs {
		if c.Change.Kind == ChangeRestore { // to where only the server knows
			return false
		}
		if c.counts(rec.seq) {
			in = m.membership(View{Folder: "inbox"}, c, in)
		}
	}
	return !in
}

func (c Change) apply(row *Row) {
	switch c.Kind {
	case ChangeRead:
		row.Unread = false
	case ChangeUnread:
		row.Unread = true
	case ChangeStar:
		row.Starred = true
	case ChangeUnstar:
		row.Starred = false
	case ChangeSnooze:
		row.SnoozedUntil = c.Until
	case ChangeUnsnooze:
		row.SnoozedUntil = time.Time{}
	case ChangeMute:
		row.Muted = true
	case ChangeUnmute:
		row.Muted = false
	case ChangeLabels:
		var labels []Label
		for _, l := range row.Labels {
			if !hasLabel(c.Remove, l.ID) && !hasLabel(c.Add, l.ID) {
				labels = append(labels, l)
			}
		}
		row.Labels = append(labels, c.Add...)
	}
}

func hasLabel(ls []Label, id string) bool {
	for _, l := range ls {
		if l.ID == id {
			return true
		}
	}
	return false
}

// rowOf makes the row of a thread and the roles of the folders that its labels name.
func (m *Mail) rowOf(id ThreadID, t *api.Thread) (Row, map[string]bool) {
	row := Row{ID: id, Filled: true, Messages: max(t.MessageCount, len(t.Messages)), Unread: t.HasUnread}
	if t.SnoozedUntil != nil {
		row.SnoozedUntil = *t.SnoozedUntil
	}
	if t.Muted != nil {
		row.Muted = *t.Muted
	} else if rec := m.rows[id]; rec != nil {
		row.Muted = rec.row.Muted // as it was muted here
	}
	in := map[string]bool{}
	for _, l := range t.Labels {
		if role := systemLabel(l); role != "" {
			in[role] = true
			continue
		}
		row.Labels = append(row.Labels, m.labelOf(l))
	}
	row.Starred = in[string(RoleStarred)]
	msgs := t.Messages
	if len(msgs) == 0 {
		return row, in
	}
	people := map[string]bool{}
	foreign := -1
	for i, msg := range msgs {
		from := strings.ToLower(msg.From.Email)
		if !m.isMe(from) {
			people[from] = true
			foreign = i
		}
		if msg.Unread {
			row.Unread = true
		}
		for _, a := range msg.Attachments {
			if isInvite(a) {
				row.Invite = true
			} else if !a.Inline {
				row.Attachment = true
			}
		}
	}
	newest := msgs[len(msgs)-1]
	row.At, row.Snippet = newest.ReceivedAt, newest.Snippet
	row.Subject = msgs[0].Subject
	if newest.Subject != "" && len(msgs) == 1 || row.Subject == "" {
		row.Subject = newest.Subject
	}
	switch {
	case foreign >= 0:
		f := msgs[foreign].From
		row.From = Address{Name: f.Name, Email: f.Email}
		row.Others = len(people) - 1
		row.Answered = foreign < len(msgs)-1
	case len(newest.To) > 0:
		row.From = Address{Name: newest.To[0].Name, Email: newest.To[0].Email}
		row.Others = len(newest.To) - 1
		row.Answered = false
	default:
		row.From = Address{Name: newest.From.Name, Email: newest.From.Email}
	}
	return row, in
}

func isInvite(a api.Attachment) bool {
	kind := strings.ToLower(a.ContentType)
	return strings.HasPrefix(kind, "text/calendar") || strings.HasPrefix(kind, "application/ics") || strings.HasSuffix(strings.ToLower(a.Filename), ".ics")
}
