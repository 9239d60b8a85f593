package api

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Client makes calls to one account at one base URL. It is safe for concurrent use.
type Client struct {
	Account         AccountService
	Addresses       AddressesService
	Analytics       AnalyticsService
	AppHost         AppHostService
	Audiences       AudiencesService
	Automations     AutomationsService
	Billing         BillingService
	Branding        BrandingService
	Broadcasts      BroadcastsService
	Calendar        CalendarService
	Chats           ChatsService
	Contacts        ContactsService
	DNSConnections  DNSConnectionsService
	Domains         DomainsService
	Drafts          DraftsService
	Emails          EmailsService
	Encryption      EncryptionService
	Events          EventsService
	Exports         ExportsService
	Files           FilesService
	FollowUps       FollowUpsService
	Forms           FormsService
	Imports         ImportsService
	Keys            KeysService
	Knowledge       KnowledgeService
	Labels          LabelsService
	Languages       LanguagesService
	Me              MeService
	Members         MembersService
	OutOfOffice     OutOfOfficeService
	ProviderImports ProviderImportsService
	Roles           RolesService
	Rules           RulesService
	Security        SecurityService
	Senders         SendersService
	Sending         SendingService
	Settings        SettingsService
	Subscriptions   SubscriptionsService
	Support         SupportService
	Suppressions    SuppressionsService
	TempMail        TempMailService
	Templates       TemplatesService
	Threads         ThreadsService
	Tools           ToolsService
	Tracking        TrackingService
	Webhooks        WebhooksService
	Workspaces      WorkspacesService

	core *core
}

// core is what all services share. It is immutable.
type core struct {
	base      baseURL
	cred      credential // without a token: none
	inbox     credential // without a token: none
	transport http.RoundTripper
	userAgent string
	header    http.Header
	timeout   time.Duration // 0: none
	retries   int
	observer  func(Event)
	random    func(time.Duration) time.Duration
}

// New checks the options and makes a client. It sends nothing. The error is an *ArgumentError.
func New(o Options) (*Client, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	cred, err := optionsCredential(o)
	if err != nil {
		return nil, err
	}
	var inbox credential
	if o.InboxToken != "" {
		if inbox, err = inboxCredential(o.InboxToken); err != nil {
			return nil, err
		}
	}
	if base.scheme != "https" && !base.local {
		return nil, argErr("a credential is not sent over http to %s: use https (http is for this machine only)", base.host)
	}
	header, err := extraHeaders(o.Header)
	if err != nil {
		return nil, err
	}
	c := &core{
		base:      base,
		cred:      cred,
		inbox:     inbox,
		transport: o.Transport,
		userAgent: o.UserAgent,
		header:    header,
		timeout:   o.Timeout,
		retries:   DefaultMaxRetries,
		observer:  o.Observer,
		random:    randomUpTo,
	}
	if c.userAgent == "" {
		c.userAgent = DefaultUserAgent
	}
	if !httpguts.ValidHeaderFieldValue(c.userAgent) {
		return nil, argErr("the user agent holds a control character")
	}
	switch {
	case c.timeout == 0:
		c.timeout = DefaultTimeout
	case c.timeout < 0:
		c.timeout = 0
	}
	if o.MaxRetries != nil {
		c.retries = max(0, *o.MaxRetries)
	}
	if c.transport == nil {
		c.transport = newTransport(base)
	}
	return newClient(c), nil
}

func newClient(c *core) *Client {
	return &Client{
		Account:         AccountService{c},
		Addresses:       AddressesService{c},
		Analytics:       AnalyticsService{c},
		AppHost:         AppHostService{c},
		Audiences:       AudiencesService{c},
		Automations:     AutomationsService{c},
		Billing:         BillingService{c},
		Branding:        BrandingService{c},
		Broadcasts:      BroadcastsService{c},
		Calendar:        CalendarService{c},
		Chats:           ChatsService{c},
		Contacts:        ContactsService{c},
		DNSConnections:  DNSConnectionsService{c},
		Domains:         DomainsService{c},
		Drafts:          DraftsService{c},
		Emails:          EmailsService{c},
		Encryption:      EncryptionService{c},
		Events:          EventsService{c},
		Exports:         ExportsService{c},
		Files:           FilesService{c},
		FollowUps:       FollowUpsService{c},
		Forms:           FormsService{c},
		Imports:         ImportsService{c},
		Keys:            KeysService{c},
		Knowledge:       KnowledgeService{c},
		Labels:          LabelsService{c},
		Languages:       LanguagesService{c},
		Me:              MeService{c},
		Members:         MembersService{c},
		OutOfOffice:     OutOfOfficeService{c},
		ProviderImports: ProviderImportsService{c},
		Roles:           RolesService{c},
		Rules:           RulesService{c},
		Security:        SecurityService{c},
		Senders:         SendersService{c},
		Sending:         SendingService{c},
		Settings:        SettingsService{c},
		Subscriptions:   SubscriptionsService{c},
		Support:         SupportService{c},
		Suppressions:    SuppressionsService{c},
		TempMail:        TempMailService{c},
		Templates:       TemplatesService{c},
		Threads:         ThreadsService{c},
		Tools:           ToolsService{c},
		Tracking:        TrackingService{c},
		Webhooks:        WebhooksService{c},
		Workspaces:      WorkspacesService{c},
		core:            c,
	}
}

// BaseURL returns the base URL in its checked form, without a trailing slash.
func (c *Client) BaseURL() string { return c.core.base.String() }

// Mode says what the client's credential works on.
func (c *Client) Mode() Mode { return c.core.cred.mode }

// Identity names the account without its credential.
func (c *Client) Identity() Identity {
	return Identity{BaseURL: c.core.base.String(), Mode: c.core.cred.mode, Credential: c.core.cred.print}
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.core.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// String names the base URL.
func (c *Client) String() string { return "api.Client{" + c.BaseURL() + "}" }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Format prints String under every verb, so that no printer walks into the client.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }
