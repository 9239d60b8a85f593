package local

import (
	"strings"
)

// listPeople gives whom the mail is with, for completing addresses.
func (s *Server) listPeople(c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, after, err := c.cursor("cursor")
	if err != nil {
		return nil, err
	}
	const threads = "(SELECT count(*) FROM participants x WHERE x.person_id = p.id)"
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
	where, args := []string{"1"}, []any{}
	for word := range strings.FieldsSeq(fold(c.query.Get("q"))) {
		// At the start of a word, as a person types a name or an address.
		like := escapeLike(word) + "%"
		where = append(where, `(p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\' OR p.folded LIKE ? ESCAPE '\')`)
		args = append(args, like, "% "+like, "%."+like, "%@"+like)
	}
	if v := c.query.Get("email"); v != "" {
		where, args = append(where, "p.email = ?"), append(args, strings.ToLower(v))
	}
	switch c.query.Get("blocked") {
	case "", "false":
	case "true":
		where = append(where, "0")
	default:
		return nil, invalidField("blocked", "blocked must be true or false.")
	}
	if after {
		var at any = cur.At
		if byName {
			at = cur.Text
		}
		where, args = append(where, compare), append(args, at, cur.ID)
	}
	rows, err := s.reader.QueryContext(c.ctx, "SELECT p.id, "+key+", p.email, p.display, p.name, p.last_at, p.created_at, "+threads+
		" FROM people p WHERE "+strings.Join(where, " AND ")+" ORDER BY "+order+" LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var data []any
	var keys []cursor
	for rows.Next() {
		var k cursor
		var into any = &k.At
		if byName {
			into = &k.Text
		}
		var email, display, name string
		var last, created, count int64
		if err := rows.Scan(&k.ID, into, &email, &display, &name, &last, &created, &count); err != nil {
			return nil, err
		}
		person := map[string]any{
			"object": "person", "email": email, "displayEmail": display, "name": nil, "saved": false, "source": nil,
			"notes": nil, "photoUrl": nil, "threads": count, "lastAt": instant(last), "createdAt": instant(created),
			"updatedAt": nil, "blockedBy": nil,
		}
		if name != "" {
			person["name"] = name
		}
		data, keys = append(data, person), append(keys, k)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	more := len(data) > limit
	n := min(len(data), limit)
	next := cursor{}
	if more {
		next = keys[n-1]
	}
	out := page(data[:n], more, "nextCursor", next)
	out["seen"] = true
	return out, nil
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

// scopes are what the one key of a local mailbox may do.
var scopes = []string{
	"emails:send", "emails:read", "drafts:read", "drafts:write", "threads:read", "threads:write",
	"labels:read", "labels:write", "contacts:read", "calendar:read", "keys:read",
}

const keyID, workspaceID = "key_local", "ws_local"

func (s *Server) ping(c *call) (any, error) {
	return map[string]any{
		"ok": true, "kind": "apiKey", "keyId": keyID, "mode": c.mode, "scopes": scopes, "roleId": nil,
		"grantedScopes": scopes, "workspaceId": workspaceID,
	}, nil
}

func (s *Server) keySelf(c *call) (any, error) {
	return map[string]any{
		"object": "api_key", "kind": "apiKey", "id": keyID, "mode": c.mode, "scopes": scopes, "roleId": nil,
		"grantedScopes": scopes, "workspaceId": workspaceID, "addressAllowlist": nil, "domainAllowlist": nil,
	}, nil
}
