package local

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// scopes are all that a key of a local mailbox may be allowed. A key made with none has them all.
var scopes = []string{
	"emails:send", "emails:read", "drafts:read", "drafts:write", "threads:read", "threads:write", "files:read", "files:write",
	"labels:read", "labels:write", "contacts:read", "contacts:write", "calendar:read", "calendar:write", "templates:read",
	"templates:write", "rules:read", "rules:write", "settings:read", "settings:write", "keys:read", "keys:write", "keys:manage",
}

// grantable are the other scopes of the contract, which allow nothing here.
var grantable = []string{
	"audiences:read", "audiences:write", "domains:read", "domains:write", "webhooks:read", "webhooks:write", "connections:read",
	"members:read", "members:write", "roles:read", "roles:write", "forms:read", "forms:write", "knowledge:read", "knowledge:write",
	"billing:read", "billing:write", "account:read", "account:write",
}

const keyID, workspaceID = "key_local", "ws_local"

// caller is who makes a request.
type caller struct {
	scope     string // whose idempotency keys these are
	key       int64  // id of a made key; 0 is the key of the mailbox itself
	scopes    []string
	addresses []string // that the key may send from; nil: every one
	domains   []string
	served    bool // the request came from outside of this process
}

func (w *caller) wireID() string {
	if w.key == 0 {
		return keyID
	}
	return wireID("key", w.key)
}

// maySend checks the sender against the addresses and domains that the key was made for.
func (w *caller) maySend(from string) error {
	if w == nil || w.addresses == nil && w.domains == nil {
		return nil
	}
	from = strings.ToLower(from)
	_, domain, _ := strings.Cut(from, "@")
	if slices.Contains(w.addresses, from) || slices.Contains(w.domains, domain) {
		return nil
	}
	return &apiError{http.StatusForbidden, "address_not_allowed", "This key may not send from " + from + "; its addressAllowlist and domainAllowlist say from which it may.", "from"}
}

// scopeSpaces names the scope of the operations of a namespace, where it is not called like the namespace. An empty one
// needs none.
var scopeSpaces = map[string]string{
	"me": "", "tempMail": "", "languages": "", "tools": "", "support": "", "security": "",
	"addresses": "emails", "suppressions": "emails", "tracking": "emails", "followUps": "threads", "subscriptions": "threads",
	"analytics": "threads", "outOfOffice": "settings", "senders": "contacts", "events": "contacts", "appHost": "domains",
	"sending": "domains", "dnsConnections": "domains", "encryption": "domains", "workspaces": "account", "branding": "settings",
	"imports": "threads", "exports": "threads", "providerImports": "domains", "broadcasts": "emails", "automations": "audiences",
	"chats": "threads",
}

// neededScope is the scope that an operation needs; empty for none.
func neededScope(name, verb string) string {
	space, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), ".")
	space, _, _ = strings.Cut(space, "/") // of a path beyond the contract
	if mapped, ok := scopeSpaces[space]; ok {
		space = mapped
	}
	switch {
	case space == "":
		return ""
	case name == "templates.send":
		return "emails:send"
	case verb == http.MethodGet, name == "rules.test", name == "templates.preview", name == "templates.render":
		return space + ":read"
	case space == "emails":
		return "emails:send"
	case space == "keys":
		return "keys:manage"
	}
	return space + ":write"
}

// openOperations are those for which clients send no credential. The address of a feed is its own.
var openOperations = []string{"tempMail.listDomains", "tempMail.create", "forms.subscribe", feedPath}

// caller finds out who asks. A route of nil is one that is not there: whether it is, only those are told who have a key.
func (h *handler) caller(r *http.Request, rt *route, params []string) (*caller, error) {
	own := &caller{scope: h.scope, scopes: scopes, served: h.locked}
	name := ""
	if rt != nil {
		name = rt.name
	}
	if !h.locked || slices.Contains(openOperations, name) {
		return own, nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	given = strings.TrimSpace(given)
	sum := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(sum[:], h.key[:]) == 1 && ok {
		return own, nil
	}
	refused := &apiError{http.StatusUnauthorized, "invalid_api_key", "The API key is missing or not one of this mailbox: send it as Authorization: Bearer KEY. `teapost serve` says where its key is.", ""}
	if !ok {
		return nil, refused
	}
	if strings.HasPrefix(name, "tempMail.") && len(params) > 0 {
		opens, err := h.s.opensInbox(r.Context(), params[0], sum[:])
		if err != nil || opens {
			return own, err
		}
	}
	who, err := h.s.madeKey(r, sum[:])
	if errors.Is(err, sql.ErrNoRows) {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if need := neededScope(name, r.Method); rt != nil && need != "" && !slices.Contains(who.scopes, need) {
		return nil, &apiError{http.StatusForbidden, "insufficient_scope", "This key lacks the scope " + need + "; a key that may make keys can give it one (keys.update).", ""}
	}
	return who, nil
}

// madeKey looks a key up by its hash and notes its use. A key that is switched off is as unknown as any other.
func (s *Server) madeKey(r *http.Request, hash []byte) (*caller, error) {
	ctx, now := r.Context(), s.now().UnixMilli()
	w := &caller{scope: hex.EncodeToString(hash[:16]), served: true}
	var list string
	var addresses, domains sql.NullString
	err := s.reader.QueryRowContext(ctx, `SELECT id, scopes, addresses, domains FROM api_keys WHERE hash = ? AND revoked_at IS NULL
		AND deactivated_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`, hash, now).Scan(&w.key, &list, &addresses, &domains)
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		text string
		into *[]string
	}{{list, &w.scopes}, {addresses.String, &w.addresses}, {domains.String, &w.domains}} {
		if l.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(l.text), l.into); err != nil {
			return nil, err
		}
	}
	return w, s.write(ctx, func(t *tx) error {
		return t.exec("UPDATE api_keys SET last_used_at = ?, uses = uses + 1 WHERE id = ?", t.now, w.key)
	})
}

func (s *Server) ping(c *call) (any, error) {
	return map[string]any{
		"ok": true, "kind": "apiKey", "keyId": c.who.wireID(), "mode": c.mode, "scopes": c.who.scopes, "roleId": nil,
		"grantedScopes": c.who.scopes, "workspaceId": workspaceID,
	}, nil
}

func (s *Server) keySelf(c *call) (any, error) {
	return map[string]any{
		"object": "api_key", "kind": "apiKey", "id": c.who.wireID(), "mode": c.mode, "scopes": c.who.scopes, "roleId": nil,
		"grantedScopes": c.who.scopes, "workspaceId": workspaceID, "addressAllowlist": textsOrNull(c.who.addresses),
		"domainAllowlist": textsOrNull(c.who.domains),
	}, nil
}

func textsOrNull(list []string) any {
	if list == nil {
		return nil
	}
	return list
}

const keyColumns = `id, name, token_start, last4, scopes, addresses, domains, expires_at, last_used_at, uses, rotated_at, rotations,
	deactivated_at, revoked_at, revoked_reason, created_at, updated_at, last_change`

func (s *Server) scanKey(row scanner) (id int64, out map[string]any, err error) {
	var name, start, last4, list, change string
	var addresses, domains, reason sql.NullString
	var expires, used, rotated, off, revoked sql.NullInt64
	var uses, rotations, created, updated int64
	err = row.Scan(&id, &name, &start, &last4, &list, &addresses, &domains, &expires, &used, &uses, &rotated, &rotations,
		&off, &revoked, &reason, &created, &updated, &change)
	if err != nil {
		return 0, nil, err
	}
	rawOrNull := func(s sql.NullString) any {
		if !s.Valid {
			return nil
		}
		return json.RawMessage(s.String)
	}
	status := "active"
	switch {
	case revoked.Valid:
		status = "revoked"
	case expires.Valid && expires.Int64 <= s.now().UnixMilli():
		status = "expired"
	case off.Valid:
		status = "inactive"
	}
	return id, map[string]any{
		"object": "api_key", "id": wireID("key", id), "name": name, "mode": strings.TrimSuffix(strings.TrimPrefix(start, "oe_"), "_"),
		"maskedKey": start + "…" + last4, "keyLast4": last4, "status": status, "scopes": json.RawMessage(list), "roleId": nil,
		"roleName": nil, "addressAllowlist": rawOrNull(addresses), "domainAllowlist": rawOrNull(domains),
		"expiresAt": instantOrNull(expires), "lastUsedAt": instantOrNull(used), "totalUses": uses, "rotatedAt": instantOrNull(rotated),
		"rotationCount": rotations, "deactivatedAt": instantOrNull(off), "revokedAt": instantOrNull(revoked),
		"revokedReason": nullString(reason), "createdAt": instant(created), "createdBy": nil, "updatedAt": instant(updated),
		"updatedBy": nil, "lastChangeAt": instant(updated), "lastChangeType": change,
	}, nil
}

// listKeys gives the keys that were made; the one of `teapost serve` lies in its file.
func (s *Server) listKeys(c *call) (any, error) {
	return s.listByID(c, "SELECT "+keyColumns+" FROM api_keys WHERE 1", nil, func(row scanner) (int64, any, error) { return wrap(s.scanKey(row)) })
}

func (s *Server) key(c *call, id int64) (map[string]any, error) {
	_, out, err := s.scanKey(s.reader.QueryRowContext(c.ctx, "SELECT "+keyColumns+" FROM api_keys WHERE id = ?", id))
	return out, found(err, "API key", "")
}

func (s *Server) getKey(c *call) (any, error) {
	id, err := c.id("key", "API key")
	if err != nil {
		return nil, err
	}
	return s.key(c, id)
}

// newToken makes a key of the mode of the one that asks for it.
func newToken(mode string) (token, start string, hash []byte) {
	start = "oe_" + mode + "_"
	token = start + rand.Text() + rand.Text()[:6]
	sum := sha256.Sum256([]byte(token))
	return token, start, sum[:]
}

// maxKeyEntries is the most scopes, addresses or domains of a key.
const maxKeyEntries = 1000

func readScopes(f fields) ([]string, error) {
	list, err := f.textsUpTo("scopes", maxKeyEntries)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if !slices.Contains(scopes, v) && !slices.Contains(grantable, v) {
			return nil, invalidField("scopes", "%s is no scope.", printable(v))
		}
	}
	return unique(list), nil
}

// readAllowlist gives the JSON of a list of addresses or domains, or nil.
func readAllowlist(f fields, name string) (any, error) {
	list, err := f.textsUpTo(name, maxKeyEntries)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	for i, v := range list {
		list[i] = strings.ToLower(strings.TrimSpace(v))
	}
	raw, err := json.Marshal(list)
	return string(raw), err
}

func (s *Server) createKey(c *call) (any, error) {
	name, err := c.body.name("A key")
	if err != nil {
		return nil, err
	}
	list, err := readScopes(c.body)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		list = c.who.scopes
	}
	for _, v := range list {
		if c.who.key != 0 && !slices.Contains(c.who.scopes, v) {
			return nil, &apiError{http.StatusForbidden, "insufficient_scope", "This key cannot give the scope " + v + ", which it lacks.", "scopes"}
		}
	}
	addresses, err := readAllowlist(c.body, "addressAllowlist")
	if err != nil {
		return nil, err
	}
	domains, err := readAllowlist(c.body, "domainAllowlist")
	if err != nil {
		return nil, err
	}
	if c.who.addresses != nil || c.who.domains != nil {
		return nil, &apiError{http.StatusForbidden, "insufficient_scope", "A key that is limited to addresses makes no other keys.", ""}
	}
	minutes, limited, err := c.body.whole("expiresInMinutes")
	if err != nil {
		return nil, err
	}
	if limited && (minutes < 1 || minutes > 10*365*24*60) {
		return nil, invalidField("expiresInMinutes", "expiresInMinutes must be between 1 and the minutes of ten years.")
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	token, start, hash := newToken(c.mode)
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		var expires any
		if limited {
			expires = t.now + minutes*60_000
		}
		id, err = t.insert(`INSERT INTO api_keys(name, hash, token_start, last4, scopes, addresses, domains, expires_at, created_at, updated_at, last_change)
			VALUES(?,?,?,?,?,?,?,?,?,?,'created')`, name, hash, start, token[len(token)-4:], string(raw), addresses, domains, expires, t.now, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := s.key(c, id)
	if err != nil {
		return nil, err
	}
	out["token"] = token
	return out, nil
}

// changeKey runs an update of one key and answers it.
func (s *Server) changeKey(c *call, id int64, set string, args ...any) (map[string]any, error) {
	err := s.write(c.ctx, func(t *tx) error {
		return t.mustChange("API key", "UPDATE api_keys SET updated_at = ?, "+set+" WHERE id = ?", append(append([]any{t.now}, args...), id)...)
	})
	if err != nil {
		return nil, err
	}
	return s.key(c, id)
}

func (s *Server) updateKey(c *call) (any, error) {
	id, err := c.id("key", "API key")
	if err != nil {
		return nil, err
	}
	set, args := []string{"last_change = 'updated'"}, []any{}
	if c.body.has("name") {
		name, err := c.body.name("A key")
		if err != nil {
			return nil, err
		}
		set, args = append(set, "name = ?"), append(args, name)
	}
	if c.body.has("scopes") {
		list, err := readScopes(c.body)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		set, args = append(set, "scopes = ?"), append(args, string(raw))
	}
	for name, column := range map[string]string{"addressAllowlist": "addresses", "domainAllowlist": "domains"} {
		if c.body.has(name) {
			v, err := readAllowlist(c.body, name)
			if err != nil {
				return nil, err
			}
			set, args = append(set, column+" = ?"), append(args, v)
		}
	}
	on, given, err := c.body.boolean("enabled")
	if err != nil {
		return nil, err
	}
	if given && on {
		set = append(set, "deactivated_at = NULL")
		set[0] = "last_change = 'reactivated'"
	} else if given {
		set, args = append(set, "deactivated_at = coalesce(deactivated_at, ?)"), append(args, s.now().UnixMilli())
		set[0] = "last_change = 'deactivated'"
	}
	return s.changeKey(c, id, strings.Join(set, ", "), args...)
}

func (s *Server) revokeKey(c *call) (any, error) {
	id, err := c.id("key", "API key")
	if err != nil {
		return nil, err
	}
	reason, err := c.body.text("reason")
	if err != nil {
		return nil, err
	}
	return s.changeKey(c, id, "last_change = 'revoked', revoked_at = coalesce(revoked_at, ?), revoked_reason = coalesce(revoked_reason, ?)",
		s.now().UnixMilli(), nullText(clip(reason, 500)))
}

func (s *Server) rotate(c *call, id int64) (map[string]any, error) {
	have, err := s.key(c, id)
	if err != nil {
		return nil, err
	}
	mode, _ := have["mode"].(string)
	token, _, hash := newToken(mode)
	out, err := s.changeKey(c, id, "last_change = 'rotated', hash = ?, last4 = ?, rotated_at = ?, rotations = rotations + 1",
		hash, token[len(token)-4:], s.now().UnixMilli())
	if err != nil {
		return nil, err
	}
	out["token"] = token
	return out, nil
}

func (s *Server) rotateKey(c *call) (any, error) {
	id, err := c.id("key", "API key")
	if err != nil {
		return nil, err
	}
	return s.rotate(c, id)
}

// rotateSelf gives a key that was made a new token. The one of the mailbox itself is in a file of its owner's.
func (s *Server) rotateSelf(c *call) (any, error) {
	if c.who.key == 0 {
		return nil, &apiError{http.StatusNotImplemented, "not_available_locally", "The key of the mailbox is in a file: remove the file and start `teapost serve` again.", ""}
	}
	key, err := s.rotate(c, c.who.key)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"object": "api_key", "id": key["id"], "mode": key["mode"], "scopes": key["scopes"], "roleId": nil, "grantedScopes": key["scopes"],
		"workspaceId": workspaceID, "addressAllowlist": key["addressAllowlist"], "domainAllowlist": key["domainAllowlist"],
		"token": key["token"], "rotationCount": key["rotationCount"], "rotatedAt": key["rotatedAt"],
	}, nil
}

func (s *Server) deleteKey(c *call) (any, error) {
	return s.deleteRow(c, "key", "api_key", "API key", "DELETE FROM api_keys WHERE id = ?")
}
