package local

import (
	"database/sql"
	"strings"
)

// everybody is those that the mail is with and the contacts that there is no mail with.
const everybody = `(SELECT id << 1 AS id, id AS person, email, display, name, folded, last_at, created_at FROM people
	UNION ALL SELECT (id << 1) | 1, 0, email, display, coalesce(name, ''), folded, 0, created_at FROM contacts
		WHERE email NOT IN (SELECT email FROM people))`

// blockedPeople is the condition that a person p is on a list of the settings.
func (v settingsValues) blockedPeople() (condition string, args []any) {
	parts := []string{"0"}
	for _, e := range v.texts("blockedSenders") {
		parts, args = append(parts, "p.email = ?"), append(args, strings.ToLower(e))
	}
	for _, e := range v.texts("blockedDomains") {
		if d := escapeLike(strings.ToLower(strings.TrimLeft(e, "*@."))); d != "" {
			parts, args = append(parts, `p.email LIKE ? ESCAPE '\' OR p.email LIKE ? ESCAPE '\'`), append(args, "%@"+d, "%."+d)
		}
	}
	return "(" + strings.Join(parts, " OR ") + ")", args
}

// listPeople gives whom the mail is with, for completing addresses.
func (s *Server) listPeople(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	const threads = "(SELECT count(*) FROM participants x WHERE x.person_id = p.person)"
	key, order, compare := "p.last_at", "p.last_at DESC, p.id DESC", "(p.last_at, p.id) < (?, ?)"
	byName := false
	switch sort := c.query.Get("sort"); sort {
	case "", "recent":
	case "name":
		byName = true
		key, order, compare = "p.folded", "p.folded, p.id", "(p.folded, p.id) > (?, ?)"
	case "threads":
		key, order, compare = threads, threads+" DESC, p.id DESC", "("+threads+", p.id) < (?, ?)"
	default:
		return nil, invalidField("sort", "sort must be recent, name or threads.")
	}
	var where conditions
	words, err := c.words("q", fold)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		// At the start of a word, as a person types a name or an address.
		like := escapeLike(word) + "%"
		where.add(`(p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\'
			OR k.folded LIKE ? ESCAPE '\' OR k.folded LIKE ? ESCAPE '\')`,
			like, "% "+like, "%."+like, "%@"+like, like, "% "+like)
	}
	if v := c.query.Get("email"); v != "" {
		where.add("p.email = ?", strings.ToLower(v))
	}
	settings, err := scopeValues(c.ctx, s.reader, "")
	if err != nil {
		return nil, err
	}
	blocked, blockedArgs := settingsValues(settings).blockedPeople()
	if only, given, err := c.queryBool("blocked"); err != nil {
		return nil, err
	} else if given && only {
		where.add(blocked, blockedArgs...)
	} else if given {
		where.add("NOT "+blocked, blockedArgs...)
	}
	if p.after {
		var at any = p.cur.At
		if byName {
			at = p.cur.Text
		}
		where.add(compare, at, p.cur.ID)
	}
	out, err := s.pageOf(c, p, func(row scanner) (entry, error) { return scanPerson(row, settings, byName) },
		"SELECT p.id, "+key+", p.email, p.display, p.name, p.last_at, p.created_at, "+threads+
			", k.id, k.name, k.notes, k.updated_at, f.content_type, f.data FROM "+everybody+
			" p LEFT JOIN contacts k ON k.email = p.email LEFT JOIN photos f ON f.owner = p.email WHERE "+where.String()+" ORDER BY "+order, where.args...)
	if err != nil {
		return nil, err
	}
	out["seen"] = true
	return out, nil
}

func scanPerson(row scanner, settings settingsValues, byName bool) (entry, error) {
	var k cursor
	var into any = &k.At
	if byName {
		into = &k.Text
	}
	var email, display, name string
	var last, created, count int64
	var contact, changed sql.NullInt64
	var given, notes, photoKind sql.NullString
	var photo []byte
	if err := row.Scan(&k.ID, into, &email, &display, &name, &last, &created, &count, &contact, &given, &notes, &changed, &photoKind, &photo); err != nil {
		return entry{}, err
	}
	if given.String != "" {
		name = given.String
	}
	person := map[string]any{
		"object": "person", "email": email, "displayEmail": display, "name": nullText(name), "saved": false, "source": "auto",
		"notes": nil, "photoUrl": photoURL(photoKind, photo), "threads": count, "lastAt": nil, "createdAt": instant(created),
		"updatedAt": instantOrNull(changed), "blockedBy": nil,
	}
	if by := settings.blockedBy(email); by != nil {
		person["blockedBy"] = by
	}
	if last != 0 {
		person["lastAt"] = instant(last)
	}
	if contact.Valid {
		person["saved"], person["source"], person["notes"] = true, "manual", nullString(notes)
	}
	return entry{k, person}, nil
}

func (s *Server) listAddresses(c *call) (any, error) {
	if _, err := c.limit(); err != nil {
		return nil, err
	}
	data := []any{}
	for _, a := range s.addresses {
		data = append(data, map[string]any{"object": "address", "address": a, "enabled": true, "canSend": true})
	}
	out := page(data, false, "nextCursor", cursor{})
	out["unrestricted"] = s.unrestricted
	out["domains"] = []any{}
	return out, nil
}
