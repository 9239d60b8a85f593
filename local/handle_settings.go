package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// settingsValues are the settings of a scope with what it inherits.
type settingsValues map[string]any

func (v settingsValues) texts(name string) []string {
	out := []string{}
	list, _ := v[name].([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// scopeDefaults are the settings that an address or a domain may set for itself. What a local mailbox cannot do is off.
var scopeDefaults = map[string]any{
	"signature": "", "openEmailSignature": false, "trackOpens": false, "trackClicks": false, "externalImages": false,
	"trustedSenders": []any{}, "blockedSenders": []any{}, "blockedDomains": []any{}, "blockedWords": []any{},
	"useDefaultBlockedWords": false, "semanticSearch": false, "replySuggestions": false, "knowledgeLearning": false, "developerMode": false,
}

// accountDefaults are the settings of the mailbox as a whole.
var accountDefaults = map[string]any{
	"workspaceName": "Local mailbox", "language": "en", "timezone": "UTC", "defaultEmailAlias": "", "translateLanguage": "en",
	"timeFormat": "24h", "dateFormat": "ymd", "weekStart": "monday", "colorTheme": "system", "imageCompression": "original",
	"attachmentDelivery": "mime", "phoneMutedWorkspaces": []any{}, "undoSendEnabled": true, "autoRead": true, "aiWrittenLabel": false,
	"animations": true, "desktopNewMail": true, "desktopOnlyWhenHidden": false, "phoneNewMail": false, "phoneReplies": false,
	"phoneScheduledSend": false, "phoneFollowUps": false, "phoneSendFailures": false, "inboxTabs": false, "primaryOnlyAlerts": false,
	"phonePreviews": false, "phoneSound": false, "soundNewMail": false, "soundAiDone": false, "soundSent": false,
	"translateReplies": false, "showAvatarToContacts": false, "lookupContactPhotos": false,
}

var settingWords = map[string][]string{
	"timeFormat": {"12h", "24h"}, "dateFormat": {"dmy", "mdy", "ymd"}, "weekStart": {"monday", "sunday"},
	"colorTheme": {"light", "dark", "system"}, "imageCompression": {"low", "medium", "original"}, "attachmentDelivery": {"mime", "link", "auto"},
}

// settingsScope reads the query value address: nothing, an address, @domain or *@domain.
func settingsScope(c *call) (string, error) {
	v := strings.ToLower(strings.TrimSpace(c.query.Get("address")))
	v = strings.TrimPrefix(v, "*")
	if v == "" || validAddress(v) || strings.HasPrefix(v, "@") && validAddress("x"+v) {
		return v, nil
	}
	return "", invalidField("address", "address must be an address, @domain or *@domain.")
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// loadSettings gives the settings of a scope: its own over those of its domain over those of the mailbox. own names what
// the scope sets itself.
func (s *Server) loadSettings(ctx context.Context, db queryer, scope string) (v settingsValues, own []string, err error) {
	v = maps.Clone(scopeDefaults)
	if scope == "" {
		maps.Copy(v, accountDefaults)
		v["defaultEmailAlias"] = s.addresses[0]
	}
	chain := []string{""}
	if _, domain, ok := strings.Cut(scope, "@"); ok && !strings.HasPrefix(scope, "@") {
		chain = append(chain, "@"+domain)
	}
	if scope != "" {
		chain = append(chain, scope)
	}
	own = []string{}
	for _, sc := range chain {
		got, err := scopeValues(ctx, db, sc)
		if err != nil {
			return nil, nil, err
		}
		for key, value := range got {
			if _, ofScope := scopeDefaults[key]; scope != "" && !ofScope {
				continue
			}
			v[key] = value
			if sc == scope {
				own = append(own, key)
			}
		}
	}
	slices.Sort(own)
	return v, own, nil
}

func scopeValues(ctx context.Context, db queryer, scope string) (map[string]any, error) {
	rows, err := db.QueryContext(ctx, "SELECT key, value FROM settings WHERE scope = ?", scope)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]any{}
	for rows.Next() {
		var key, raw string
		if err := rows.Scan(&key, &raw); err != nil {
			return nil, err
		}
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			return nil, err
		}
		out[key] = v
	}
	return out, rows.Err()
}

// settings gives what the scope itself sets, without what it inherits.
func (t *tx) settings(scope string) (settingsValues, error) {
	return scopeValues(t.ctx, t.Tx, scope)
}

func (t *tx) setSetting(scope, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO settings(scope, key, value) VALUES(?,?,?) ON CONFLICT(scope, key) DO UPDATE SET value = excluded.value", scope, key, string(raw))
}

func (s *Server) getSettings(c *call) (any, error) {
	scope, err := settingsScope(c)
	if err != nil {
		return nil, err
	}
	v, own, err := s.loadSettings(c.ctx, s.reader, scope)
	if err != nil {
		return nil, err
	}
	v["object"], v["address"], v["overrides"] = "settings", nullText(scope), own
	return v, nil
}

const (
	maxListEntries = 5000
	maxSettingText = 64 << 10
)

// checkSetting tells whether a value is of the kind of its default.
func checkSetting(key string, value, kind any) error {
	switch kind.(type) {
	case bool:
		if _, ok := value.(bool); !ok {
			return invalidField(key, "%s must be true or false.", key)
		}
	case string:
		text, ok := value.(string)
		if !ok || len(text) > maxSettingText {
			return invalidField(key, "%s must be a string of at most %d bytes.", key, maxSettingText)
		}
		if words := settingWords[key]; words != nil && !slices.Contains(words, text) {
			return invalidField(key, "%s must be one of %s.", key, strings.Join(words, ", "))
		}
	default:
		list, err := fields{key: value}.texts(key)
		if err != nil {
			return err
		}
		if len(list) > maxListEntries {
			return invalidField(key, "%s has more than %d entries.", key, maxListEntries)
		}
	}
	return nil
}

func (s *Server) updateSettings(c *call) (any, error) {
	scope, err := settingsScope(c)
	if err != nil {
		return nil, err
	}
	for key, value := range c.body {
		kind, ofScope := scopeDefaults[key]
		if !ofScope {
			var known bool
			if kind, known = accountDefaults[key]; !known {
				return nil, invalidField(key, "There is no setting %s.", printable(key))
			}
			if scope != "" {
				return nil, invalidField(key, "%s is a setting of the whole mailbox.", key)
			}
			if value == nil {
				return nil, invalidField(key, "%s is a setting of the whole mailbox and has nothing to inherit; give it a value.", key)
			}
		}
		if value == nil {
			continue
		}
		if err := checkSetting(key, value, kind); err != nil {
			return nil, err
		}
	}
	err = s.write(c.ctx, func(t *tx) error {
		for key, value := range c.body {
			if value == nil {
				err = t.exec("DELETE FROM settings WHERE scope = ? AND key = ?", scope, key)
			} else {
				err = t.setSetting(scope, key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.getSettings(c)
}
