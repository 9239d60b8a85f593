package local

import (
	"database/sql"
	"errors"
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

const (
	oooColumns = "address, enabled, starts_at, ends_at, subject, message, contacts_only, updated_at"
	oooSubject = "Out of office"
)

// absence is the out-of-office answer of an address.
type absence struct {
	address          string
	enabled          bool
	starts, ends     sql.NullInt64
	subject, message string
	contactsOnly     bool
	updated          int64
}

func (a *absence) scan() []any {
	return []any{&a.address, &a.enabled, &a.starts, &a.ends, &a.subject, &a.message, &a.contactsOnly, &a.updated}
}

func (a *absence) active(now int64) bool {
	return a.enabled && (!a.starts.Valid || a.starts.Int64 <= now) && (!a.ends.Valid || now < a.ends.Int64)
}

func (a *absence) wire(now int64) map[string]any {
	return map[string]any{
		"object": "out_of_office", "address": a.address, "enabled": a.enabled, "active": a.active(now), "startsAt": instantOrNull(a.starts),
		"endsAt": instantOrNull(a.ends), "subject": a.subject, "message": a.message, "contactsOnly": a.contactsOnly, "updatedAt": instant(a.updated),
	}
}

// oooAddress reads the query value address: an own address, the first one when none is given.
func (s *Server) oooAddress(c *call) (string, error) {
	v := strings.ToLower(strings.TrimSpace(c.query.Get("address")))
	if v == "" {
		return strings.ToLower(s.addresses[0]), nil
	}
	if !s.own[v] {
		return "", invalidField("address", "%s is not an address of this mailbox.", clip(v, 200))
	}
	return v, nil
}

// listOutOfOffice gives an entry for each own address, set or not.
func (s *Server) listOutOfOffice(c *call) (any, error) {
	only := ""
	if c.query.Get("address") != "" {
		var err error
		if only, err = s.oooAddress(c); err != nil {
			return nil, err
		}
	}
	var data []any
	for _, own := range s.addresses {
		address := strings.ToLower(own)
		if only != "" && address != only {
			continue
		}
		var a absence
		err := s.reader.QueryRowContext(c.ctx, "SELECT "+oooColumns+" FROM out_of_office WHERE address = ?", address).Scan(a.scan()...)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			data = append(data, map[string]any{
				"object": "out_of_office", "address": address, "enabled": false, "active": false, "startsAt": nil, "endsAt": nil,
				"subject": "", "message": "", "contactsOnly": false, "updatedAt": nil,
			})
		case err != nil:
			return nil, err
		default:
			data = append(data, a.wire(s.now().UnixMilli()))
		}
	}
	return list(data), nil
}

func (s *Server) setOutOfOffice(c *call) (any, error) {
	address, err := s.oooAddress(c)
	if err != nil {
		return nil, err
	}
	a := absence{address: address, enabled: true}
	if a.message, err = c.body.text("message"); err != nil {
		return nil, err
	}
	if strings.TrimSpace(a.message) == "" || len(a.message) > 64<<10 {
		return nil, invalidField("message", "message must say something, in at most 64 KiB.")
	}
	if a.subject, err = c.body.text("subject"); err != nil {
		return nil, err
	}
	if a.subject = clip(strings.TrimSpace(noControls(a.subject)), 500); a.subject == "" {
		a.subject = oooSubject
	}
	for name, into := range map[string]*bool{"enabled": &a.enabled, "contactsOnly": &a.contactsOnly} {
		if v, given, err := c.body.boolean(name); err != nil {
			return nil, err
		} else if given {
			*into = v
		}
	}
	for name, into := range map[string]*sql.NullInt64{"startsAt": &a.starts, "endsAt": &a.ends} {
		if into.Int64, into.Valid, err = c.body.when(name); err != nil {
			return nil, err
		}
	}
	if a.starts.Valid && a.ends.Valid && a.ends.Int64 <= a.starts.Int64 {
		return nil, invalidField("endsAt", "endsAt must be after startsAt.")
	}
	err = s.write(c.ctx, func(t *tx) error {
		a.updated = t.now
		// Another absence answers everybody anew.
		if err := t.exec("DELETE FROM out_of_office_answers WHERE address = ?", address); err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO out_of_office("+oooColumns+") VALUES(?,?,?,?,?,?,?,?)",
			a.address, a.enabled, a.starts, a.ends, a.subject, a.message, a.contactsOnly, a.updated)
	})
	if err != nil {
		return nil, err
	}
	return a.wire(a.updated), nil
}

func (s *Server) clearOutOfOffice(c *call) (any, error) {
	address, err := s.oooAddress(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.exec("DELETE FROM out_of_office_answers WHERE address = ?", address); err != nil {
			return err
		}
		return t.exec("DELETE FROM out_of_office WHERE address = ?", address)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "out_of_office", "address": address, "deleted": true}, nil
}

// answerAbsence answers a message with the out-of-office text, once per sender and absence. It answers only mail that
// names the address, and never what a program sent.
func (s *Server) answerAbsence(t *tx, m *mailparse.Message, thread int64, delivered string) error {
	if delivered == "" {
		return nil
	}
	var a absence
	err := t.row("SELECT "+oooColumns+" FROM out_of_office WHERE address = ? AND enabled = 1", []any{strings.ToLower(delivered)}, a.scan()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	to, ok := s.answerable(m)
	named := slices.ContainsFunc(append(slices.Clone(m.To), m.Cc...), func(r mailparse.Address) bool { return strings.EqualFold(r.Email, delivered) })
	if !ok || !named || !a.active(t.now) {
		return nil
	}
	th, err := t.thread(thread)
	if err != nil || th.spam {
		return err
	}
	sender := strings.ToLower(m.From[0].Email)
	if a.contactsOnly {
		if _, err := t.contactFields(sender); errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
	}
	res, err := t.result("INSERT OR IGNORE INTO out_of_office_answers(address, sender, answered_at) VALUES(?,?,?)", a.address, sender, t.now)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	out := answerTo(m, s.asSender(delivered), to)
	out.Text = a.message
	out.Subject = a.subject
	return s.enqueue(t, out, thread)
}
