package local

import (
	"database/sql"
	"errors"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// maxPeople bounds how many addresses of one message are remembered.
const maxPeople = 100

func (s *Server) rememberPeople(t *tx, thread, at int64, m *mailparse.Message) error {
	n := 0
	seen := map[string]bool{}
	for _, list := range [][]mailparse.Address{m.From, m.ReplyTo, m.To, m.Cc, m.Bcc} {
		for _, a := range list {
			email := strings.ToLower(a.Email)
			if n == maxPeople || seen[email] || s.own[email] || !validAddress(a.Email) {
				continue
			}
			seen[email] = true
			n++
			if err := t.rememberPerson(thread, at, email, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) rememberPerson(thread, at int64, email string, a mailparse.Address) error {
	var id, nameAt, lastAt int64
	var name string
	given := strings.TrimSpace(oneLine(a.Name))
	err := t.row("SELECT id, name, name_at, last_at FROM people WHERE email = ?", []any{email}, &id, &name, &nameAt, &lastAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		id, err = t.insert(`INSERT INTO people(email, display, name, name_at, folded, last_at, created_at) VALUES(?,?,?,?,?,?,?)`,
			email, a.Email, given, at, fold(given+" "+email), at, t.now)
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if given != "" && (name == "" || at > nameAt) {
			name, nameAt = given, at
		}
		err := t.exec("UPDATE people SET name = ?, name_at = ?, folded = ?, last_at = ? WHERE id = ?",
			name, nameAt, fold(name+" "+email), max(lastAt, at), id)
		if err != nil {
			return err
		}
	}
	return t.exec("INSERT OR IGNORE INTO participants(person_id, thread_id) VALUES(?,?)", id, thread)
}
