package local

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

const contactColumns = `c.id, c.display, c.name, c.notes, (SELECT p.last_at FROM people p WHERE p.email = c.email), c.created_at, c.updated_at,
	(SELECT f.content_type FROM photos f WHERE f.owner = c.email), (SELECT f.data FROM photos f WHERE f.owner = c.email)`

func scanContact(row scanner) (id int64, out map[string]any, err error) {
	var display string
	var name, notes, photoKind sql.NullString
	var photo []byte
	var seen sql.NullInt64
	var created, updated int64
	if err := row.Scan(&id, &display, &name, &notes, &seen, &created, &updated, &photoKind, &photo); err != nil {
		return 0, nil, err
	}
	return id, map[string]any{
		"object": "contact", "email": display, "name": nullString(name), "source": "manual", "notes": nullString(notes), "photoUrl": photoURL(photoKind, photo),
		"lastSeenAt": instantOrNull(seen), "createdAt": instant(created), "updatedAt": instant(updated),
	}, nil
}

func (s *Server) listContacts(c *call) (any, error) {
	query, args := "SELECT "+contactColumns+" FROM contacts c WHERE 1", []any{}
	switch c.query.Get("source") {
	case "", "manual":
	case "auto", "form":
		query += " AND 0" // whoever only wrote is in listPeople
	default:
		return nil, invalidField("source", "source must be manual, auto or form.")
	}
	words, err := c.words("q", fold)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		query, args = query+` AND c.folded LIKE ? ESCAPE '\'`, append(args, "%"+escapeLike(word)+"%")
	}
	return s.listByID(c, query, args, func(row scanner) (int64, any, error) { return wrap(scanContact(row)) })
}

// contactEmail reads the address of the path.
func contactEmail(c *call) (lower, given string, err error) {
	given = strings.TrimSpace(c.params[0])
	if !validAddress(given) {
		return "", "", invalidField("email", "%q is not an email address.", clip(given, 200))
	}
	return strings.ToLower(given), given, nil
}

func (s *Server) contact(ctx context.Context, email string) (map[string]any, error) {
	_, out, err := scanContact(s.reader.QueryRowContext(ctx, "SELECT "+contactColumns+" FROM contacts c WHERE c.email = ?", email))
	if err != nil {
		return nil, found(err, "contact", "")
	}
	out["audiences"] = []any{}
	return out, nil
}

func (s *Server) getContact(c *call) (any, error) {
	email, _, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	return s.contact(c.ctx, email)
}

// contactFields are the columns that a request sets; what it does not give stays as it was.
type contactFields struct{ name, notes sql.NullString }

func (f *contactFields) read(body fields) error {
	for name, into := range map[string]*sql.NullString{"name": &f.name, "notes": &f.notes} {
		if _, given := body[name]; !given {
			continue
		}
		v, err := body.text(name)
		if err != nil {
			return err
		}
		if most := map[string]int{"name": 500, "notes": 64 << 10}[name]; len(v) > most {
			return invalidField(name, "%s may have %d bytes at most.", name, most)
		}
		if name == "name" {
			v = strings.TrimSpace(noControls(v))
		}
		*into = sql.NullString{String: v, Valid: v != ""}
	}
	return nil
}

func contactFold(email string, f *contactFields) string {
	return fold(strings.Join([]string{f.name.String, email, f.notes.String}, " "))
}

func (t *tx) contactFields(email string) (f contactFields, err error) {
	err = t.row("SELECT name, notes FROM contacts WHERE email = ?", []any{email}, &f.name, &f.notes)
	return f, err
}

func (t *tx) saveContact(email, display string, f *contactFields) error {
	return t.exec(`INSERT INTO contacts(email, display, name, notes, folded, created_at, updated_at) VALUES(?,?,?,?,?,?,?)
		ON CONFLICT(email) DO UPDATE SET name = excluded.name, notes = excluded.notes, folded = excluded.folded, updated_at = excluded.updated_at`,
		email, display, f.name, f.notes, contactFold(email, f), t.now, t.now)
}

func (s *Server) createContact(c *call) (any, error) {
	display, err := c.body.text("email")
	if err != nil {
		return nil, err
	}
	if display = strings.TrimSpace(display); !validAddress(display) {
		return nil, invalidField("email", "A contact needs an email address.")
	}
	if v, given := c.body["audienceIds"].([]any); given && len(v) > 0 {
		return nil, invalidField("audienceIds", "The local server has no audiences.")
	}
	email := strings.ToLower(display)
	var f contactFields
	if err := f.read(c.body); err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if _, err := t.contactFields(email); !errors.Is(err, sql.ErrNoRows) {
			if err == nil {
				err = conflict("contact_exists", "There is a contact with the address %s; contacts.update changes it.", email)
			}
			return err
		}
		return t.saveContact(email, display, &f)
	})
	if err != nil {
		return nil, err
	}
	return s.contact(c.ctx, email)
}

func (s *Server) updateContact(c *call) (any, error) { return s.storeContact(c, false) }
func (s *Server) saveContact(c *call) (any, error)   { return s.storeContact(c, true) }

// storeContact changes a contact; with make one that is not there is made.
func (s *Server) storeContact(c *call, make bool) (any, error) {
	email, display, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		f, err := t.contactFields(email)
		if err != nil && (!make || !errors.Is(err, sql.ErrNoRows)) {
			return found(err, "contact", "")
		}
		if err := f.read(c.body); err != nil {
			return err
		}
		return t.saveContact(email, display, &f)
	})
	if err != nil {
		return nil, err
	}
	return s.contact(c.ctx, email)
}

// deleteContact forgets a contact. Whether there was one is in the answer.
func (s *Server) deleteContact(c *call) (any, error) {
	email, display, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	var n int64
	err = s.write(c.ctx, func(t *tx) error {
		n, err = t.deleteContact(email)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "contact", "email": display, "deleted": true, "wasSaved": n > 0}, nil
}

// deleteContact forgets a contact and its picture; n is 0 when there was none.
func (t *tx) deleteContact(email string) (n int64, err error) {
	if err := t.exec("DELETE FROM photos WHERE owner = ?", email); err != nil {
		return 0, err
	}
	res, err := t.result("DELETE FROM contacts WHERE email = ?", email)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

const maxBatchDelete = 1000

func (s *Server) deleteContacts(c *call) (any, error) {
	emails, err := c.body.texts("emails")
	if err != nil {
		return nil, err
	}
	if len(emails) == 0 || len(emails) > maxBatchDelete {
		return nil, invalidField("emails", "emails must be a list of 1 to %d addresses.", maxBatchDelete)
	}
	invalid, valid, saved := []string{}, 0, int64(0)
	err = s.write(c.ctx, func(t *tx) error {
		for _, e := range unique(emails) {
			if !validAddress(strings.TrimSpace(e)) {
				invalid = append(invalid, e)
				continue
			}
			valid++
			n, err := t.deleteContact(strings.ToLower(strings.TrimSpace(e)))
			if err != nil {
				return err
			}
			saved += n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "contact_batch_delete", "deleted": valid, "saved": saved, "invalid": invalid}, nil
}

// blockedBy tells which entry of the lists of blocked senders and domains an address is on, or nil.
func (v settingsValues) blockedBy(email string) map[string]any {
	email = strings.ToLower(email)
	for _, e := range v.texts("blockedSenders") {
		if strings.EqualFold(e, email) {
			return map[string]any{"rule": e, "list": "blockedSenders"}
		}
	}
	_, domain, _ := strings.Cut(email, "@")
	for _, e := range v.texts("blockedDomains") {
		d := strings.ToLower(strings.TrimLeft(e, "*@."))
		if d != "" && (domain == d || strings.HasSuffix(domain, "."+d)) {
			return map[string]any{"rule": e, "list": "blockedDomains"}
		}
	}
	return nil
}

// blockContact puts an address on the list of blocked senders: what it sends from now on is spam.
func (s *Server) blockContact(c *call) (any, error) {
	email, display, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	if s.own[email] {
		return nil, invalidField("email", "%s is an address of this mailbox.", display)
	}
	var by map[string]any
	created := false
	err = s.write(c.ctx, func(t *tx) error {
		var err error
		by, created, err = t.block(email)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "contact_block", "email": display, "blocked": true, "blockedBy": by, "created": created}, nil
}

func (t *tx) block(email string) (by map[string]any, created bool, err error) {
	v, err := t.settings("")
	if err != nil {
		return nil, false, err
	}
	if by = v.blockedBy(email); by != nil {
		return by, false, nil
	}
	list := append(v.texts("blockedSenders"), email)
	return map[string]any{"rule": email, "list": "blockedSenders"}, true, t.setSetting("", "blockedSenders", list)
}

// unblockContact takes an address, and a domain that blocks it, off the lists.
func (s *Server) unblockContact(c *call) (any, error) {
	email, display, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	removed := []any{}
	err = s.write(c.ctx, func(t *tx) error {
		for {
			v, err := t.settings("")
			if err != nil {
				return err
			}
			by := v.blockedBy(email)
			if by == nil {
				return nil
			}
			removed = append(removed, by)
			name, _ := by["list"].(string)
			kept := []string{}
			for _, e := range v.texts(name) {
				if e != by["rule"] {
					kept = append(kept, e)
				}
			}
			if err := t.setSetting("", name, kept); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "contact_block", "email": display, "blocked": false, "removed": removed}, nil
}

// listContactThreads gives the threads with a person, newest first, as rows that can be shown.
func (s *Server) listContactThreads(c *call) (any, error) {
	email, _, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	order, compare := "DESC", "<"
	switch c.query.Get("sort") {
	case "", "newest", "recent":
	case "oldest":
		order, compare = "ASC", ">"
	default:
		return nil, invalidField("sort", "sort must be newest or oldest.")
	}
	var where conditions
	where.add("p.email = ? AND t.messages > 0 AND t.trashed = 0 AND t.spam = 0", email)
	words, err := c.words("q", fold)
	if err != nil {
		return nil, err
	}
	where.contain(words, `(t.sort_subject LIKE ? ESCAPE '\' OR t.sort_sender LIKE ? ESCAPE '\')`)
	if p.after {
		where.add("(t.last_at, t.id) "+compare+" (?, ?)", p.cur.At, p.cur.ID)
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	rows, err := rtx.QueryContext(c.ctx, `SELECT t.id FROM people p JOIN participants x ON x.person_id = p.id JOIN threads t ON t.id = x.thread_id
		WHERE `+where.String()+" ORDER BY t.last_at "+order+", t.id "+order+" LIMIT ?", append(where.args, p.limit+1)...)
	if err != nil {
		return nil, err
	}
	ids, err := scanIDs(rows)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, id := range ids {
		row, at, err := threadRow(c.ctx, rtx, id)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{cursor{At: at, ID: id}, row})
	}
	return p.page(entries), nil
}

// threadRow gives what a list shows of a thread, and when its last message came.
func threadRow(ctx context.Context, rtx *sql.Tx, id int64) (map[string]any, int64, error) {
	th := &thread{}
	if err := rtx.QueryRowContext(ctx, "SELECT "+threadColumns+" FROM threads WHERE id = ?", id).Scan(th.scan()...); err != nil {
		return nil, 0, err
	}
	var name, email string
	err := rtx.QueryRowContext(ctx, `SELECT from_name, from_email FROM messages WHERE thread_id = ? ORDER BY received_at DESC, id DESC LIMIT 1`, id).Scan(&name, &email)
	if err != nil {
		return nil, 0, err
	}
	labels, err := threadLabels(ctx, rtx, th)
	if err != nil {
		return nil, 0, err
	}
	short := []any{}
	for _, l := range labels {
		short = append(short, map[string]any{"id": l.ID, "name": l.Name})
	}
	var from any
	if email != "" {
		from = map[string]any{"name": nullText(name), "email": email}
	}
	return map[string]any{
		"object": "thread", "id": wireID("thr", id), "subject": nullText(th.subject), "from": from, "receivedAt": instant(th.lastAt),
		"messageCount": th.messages, "hasUnread": th.unread > 0, "labels": short,
	}, th.lastAt, nil
}
