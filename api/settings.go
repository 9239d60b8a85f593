package api

import "context"

// SettingsService holds the calls of the namespace settings: what a person set for the
// account, an address or a domain.
type SettingsService struct{ core *core }

// SettingsParams says whose settings are meant.
type SettingsParams struct {
	Address string // an address, "@domain" or "*@domain"; empty: the account
}

func (p SettingsParams) query() query {
	var q query
	q.text("address", p.Address)
	return q
}

// Settings are settings by their name, shape SettingsResource. The contract leaves the
// values open.
type Settings map[string]Open

// Overrides returns what the address or domain that was asked for sets itself.
func (s Settings) Overrides() (SettingsOverrides, error) {
	var o SettingsOverrides
	err := s["overrides"].Decode(&o)
	return o, err
}

// Get returns settings.
//
// Operation settings.get: GET /settings. A read: a failed attempt is repeated.
func (s SettingsService) Get(ctx context.Context, p SettingsParams, options ...CallOption) (Settings, error) {
	return s.call(ctx, "settings.get", p, nil, options)
}

// Update changes settings. What is Null is inherited again.
//
// Operation settings.update: PATCH /settings. A write that may be repeated after a failed attempt.
func (s SettingsService) Update(ctx context.Context, p SettingsParams, in SettingsPatch, options ...CallOption) (Settings, error) {
	return s.call(ctx, "settings.update", p, in, options)
}

func (s SettingsService) call(ctx context.Context, op string, p SettingsParams, body any, options []CallOption) (Settings, error) {
	out, err := fetch[Settings](ctx, s.core, op, nil, p.query(), body, options)
	if err != nil {
		return nil, err
	}
	notNilMap((*map[string]Open)(out))
	return *out, nil
}
