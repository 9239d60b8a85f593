package local

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Keys with fewer scopes, and the tokens of temporary mailboxes, open only what they are for.
func TestKeys(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	const master = "oe_test_0123456789abcdef0123456789abcdef"
	c := &client{t, &http.Client{Transport: NewTransport(s.HandlerFor(master))}, "http://local.invalid"}
	as := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	c.refused(401, "invalid_api_key", "", "GET", "/nowhere", nil)
	made := c.do(200, "POST", "/keys", obj{"name": "Reader", "scopes": []string{"threads:read", "emails:send"}, "addressAllowlist": []string{"second@example.net"}, "expiresInMinutes": 60}, as(master)...)
	key := made["token"].(string)
	c.do(200, "GET", "/threads", nil, as(key)...)
	c.refused(403, "insufficient_scope", "", "POST", "/labels", obj{"name": "x"}, as(key)...)
	c.refused(403, "insufficient_scope", "", "GET", "/contacts", nil, as(key)...)
	c.refused(403, "address_not_allowed", "from", "POST", "/emails", send("bob@example.org"), as(key)...)
	c.do(200, "POST", "/emails", send("bob@example.org", "from", "second@example.net"), as(key)...)
	self := c.do(200, "GET", "/keys/self", nil, as(key)...)
	if self["id"] != made["id"] || len(self["scopes"].([]any)) != 2 || len(self["addressAllowlist"].([]any)) != 1 {
		t.Errorf("self: %v", self)
	}
	got := c.do(200, "GET", "/keys/"+made["id"].(string), nil, as(master)...)
	wantKeys(t, "key", got, "object id name mode maskedKey keyLast4 status scopes roleId roleName addressAllowlist domainAllowlist expiresAt lastUsedAt totalUses rotatedAt rotationCount deactivatedAt revokedAt revokedReason createdAt createdBy updatedAt updatedBy lastChangeAt lastChangeType")
	if got["totalUses"] != 6.0 || strings.Contains(fmt.Sprint(got), key) {
		t.Errorf("key: %v", got)
	}
	rotated := c.do(200, "POST", "/keys/self/rotate", nil, as(key)...)
	c.refused(401, "invalid_api_key", "", "GET", "/threads", nil, as(key)...)
	key = rotated["token"].(string)
	c.do(200, "GET", "/threads", nil, as(key)...)
	c.do(200, "PATCH", "/keys/"+made["id"].(string), obj{"enabled": false}, as(master)...)
	c.refused(401, "invalid_api_key", "", "GET", "/threads", nil, as(key)...)
	c.do(200, "PATCH", "/keys/"+made["id"].(string), obj{"enabled": true}, as(master)...)
	clk.advance(2 * time.Hour)
	c.refused(401, "invalid_api_key", "", "GET", "/threads", nil, as(key)...)
	if got := c.do(200, "POST", "/keys/"+made["id"].(string)+"/revoke", obj{"reason": "lost"}, as(master)...); got["status"] != "revoked" {
		t.Errorf("revoked: %v", got)
	}

	box := c.do(200, "POST", "/temp-mail/inboxes", nil)
	path := "/temp-mail/inboxes/" + box["id"].(string)
	c.refused(401, "invalid_api_key", "", "GET", path, nil)
	c.do(200, "GET", path, nil, as(box["token"].(string))...)
	c.do(200, "GET", path, nil, as(master)...)
	c.refused(401, "invalid_api_key", "", "GET", "/threads", nil, as(box["token"].(string))...)
	other := c.do(200, "POST", "/temp-mail/inboxes", nil)
	c.refused(401, "invalid_api_key", "", "GET", path, nil, as(other["token"].(string))...)
}
