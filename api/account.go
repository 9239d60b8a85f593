package api

import (
	"encoding/json"
	"time"
)

// LabelsService holds the calls on labels.
type LabelsService struct{ core *core }

// AddressesService holds the calls on the addresses one may send from.
type AddressesService struct{ core *core }

// MeService holds the calls on the credential itself.
type MeService struct{ core *core }

// ListParams asks for a page of a list that has nothing to narrow.
type ListParams struct {
	Limit  int // 0: the server's default of 25; at most 100
	Cursor string
}

func (p ListParams) query() query {
	var q query
	q.number("limit", p.Limit)
	q.text("cursor", p.Cursor)
	return q
}

// Label is a label of the mailbox.
type Label struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	Type           string      `json:"type"` // "system", "user", or something else
	Color          *LabelColor `json:"color"`
	ThreadCount    int         `json:"threadCount"`
	AIInstructions string      `json:"aiInstructions"`
	AIEnabled      bool        `json:"aiEnabled"`
	CreatedAt      *time.Time  `json:"createdAt"`
	UpdatedAt      *time.Time  `json:"updatedAt"`
}

// LabelColor is how a label looks in a browser.
type LabelColor struct {
	BackgroundColor string `json:"backgroundColor"`
	TextColor       string `json:"textColor"`
}

// PeopleListParams narrows a list of people. Zero fields are left out.
type PeopleListParams struct {
	Q       string
	Email   string
	Sort    PeopleSort // empty: the server's order
	Blocked *bool
	Limit   int // 0: the server's default of 25; at most 100
	Cursor  string
}

func (p PeopleListParams) query() query {
	var q query
	q.text("q", p.Q)
	q.text("email", p.Email)
	q.text("sort", string(p.Sort))
	q.flag("blocked", p.Blocked)
	q.number("limit", p.Limit)
	q.text("cursor", p.Cursor)
	return q
}

// KnownPerson is somebody one has written with or saved.
type KnownPerson struct {
	Email        string        `json:"email"`
	DisplayEmail string        `json:"displayEmail"`
	Name         string        `json:"name"`
	Saved        bool          `json:"saved"`
	Source       ContactSource `json:"source"`
	Notes        string        `json:"notes"`
	PhotoURL     string        `json:"photoUrl"`
	Threads      *int          `json:"threads"` // nil: not known
	LastAt       *time.Time    `json:"lastAt"`
	CreatedAt    *time.Time    `json:"createdAt"`
	UpdatedAt    *time.Time    `json:"updatedAt"`
	BlockedBy    *ContactRule  `json:"blockedBy"`
}

// ContactRule is the entry of a block list that keeps somebody out.
type ContactRule struct {
	Rule string           `json:"rule"`
	List ContactBlockList `json:"list"`
}

// PeoplePage is a page of people.
type PeoplePage struct {
	Page[KnownPerson]
	Seen bool `json:"seen"` // the server has looked through the mail for people
}

// UnmarshalJSON reads the wire form.
func (p *PeoplePage) UnmarshalJSON(b []byte) error {
	var w struct {
		Seen bool `json:"seen"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	p.Seen = w.Seen
	return json.Unmarshal(b, &p.Page)
}

// MailboxAddress is an address of the account.
type MailboxAddress struct {
	Address string `json:"address"`
	Enabled bool   `json:"enabled"`
	CanSend bool   `json:"canSend"`
}

// MailDomain is a domain of the account.
type MailDomain struct {
	Domain            string `json:"domain"`
	ReceivingVerified bool   `json:"receivingVerified"`
	SendingVerified   bool   `json:"sendingVerified"`
	CatchAll          bool   `json:"catchAll"`
}

// AddressPage is a page of addresses with the account's domains.
type AddressPage struct {
	Page[MailboxAddress]
	Unrestricted bool         `json:"unrestricted"` // the key may use every address
	Domains      []MailDomain `json:"domains"`
}

// UnmarshalJSON reads the wire form.
func (p *AddressPage) UnmarshalJSON(b []byte) error {
	var w struct {
		Unrestricted bool         `json:"unrestricted"`
		Domains      []MailDomain `json:"domains"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	notNil(&w.Domains)
	p.Unrestricted, p.Domains = w.Unrestricted, w.Domains
	return json.Unmarshal(b, &p.Page)
}

// Key describes the credential: an API key or an OAuth token.
type Key struct {
	Object           string     `json:"object"` // api_key, oauth_token
	Kind             string     `json:"kind"`   // apiKey, oauth
	ID               string     `json:"id"`     // empty for a token
	ClientID         string     `json:"clientId"`
	Mode             Mode       `json:"mode"`
	Scopes           []APIScope `json:"scopes"`
	RoleID           string     `json:"roleId"`
	GrantedScopes    []APIScope `json:"grantedScopes"`
	WorkspaceID      string     `json:"workspaceId"`
	AddressAllowlist []string   `json:"addressAllowlist"` // nil: every address
	DomainAllowlist  []string   `json:"domainAllowlist"`  // nil: every domain
	ExpiresAt        *time.Time `json:"expiresAt"`
}

// Pong is the answer of Ping.
type Pong struct {
	OK            bool       `json:"ok"`
	Kind          string     `json:"kind"`  // apiKey, oauth
	KeyID         string     `json:"keyId"` // empty for a token
	ClientID      string     `json:"clientId"`
	Mode          Mode       `json:"mode"`
	Scopes        []APIScope `json:"scopes"`
	RoleID        string     `json:"roleId"`
	GrantedScopes []APIScope `json:"grantedScopes"`
	WorkspaceID   string     `json:"workspaceId"`
}
