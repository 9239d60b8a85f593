package local

import (
	_ "embed"
	"net/http"
	"strings"
)

// operationsTable names every operation of the contract: name, verb and path of a route, a row each.
//
//go:embed operations.tsv
var operationsTable string

// operation is a row of the table.
type operation struct {
	name, verb, path string
}

func operations() []operation {
	var out []operation
	for i, line := range strings.Split(strings.TrimSpace(operationsTable), "\n") {
		if cells := strings.Split(line, "\t"); i > 0 && len(cells) == 3 {
			out = append(out, operation{cells[0], cells[1], cells[2]})
		}
	}
	return out
}

// pattern is the path of a route without the names of its parameters.
func pattern(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = ":"
		}
	}
	return strings.Join(parts, "/")
}

const (
	noModel     = "needs a language model, and the local mailbox asks none"
	noService   = "is part of the hosted service"
	noWorkspace = "belongs to a workspace of the hosted service; a local mailbox belongs to whoever can read its file"
	noDNS       = "needs a domain and a public mail server"
	noFetch     = "fetches a calendar from the internet, which a local mailbox does not; calendar.importIcs takes its file"
	noImages    = "puts pictures where the readers of a message can reach them; attach them to the message, inline"
	noTracking  = "needs a server that others can reach; a local mailbox tracks nobody"
)

// absences says why a namespace or an operation is not here.
var absences = map[string]string{
	"account": noWorkspace, "analytics": noService, "appHost": noService, "audiences": noService, "automations": noService,
	"billing": "has nothing to bill: a local mailbox costs nothing", "branding": noService, "broadcasts": noService, "chats": noModel,
	"dnsConnections": noDNS, "domains": noDNS, "encryption": noService, "events": noService, "exports": "is `teapost export` and `teapost backup` here",
	"forms": noService, "imports": "is `teapost import` here", "knowledge": noModel, "members": noWorkspace, "providerImports": "is `teapost import` here",
	"roles": noWorkspace, "security": "is never asked of an API key", "senders": noModel, "sending": noService, "support": noService,
	"tools": "looks things up on the internet, which a local mailbox does not", "tracking": noTracking, "webhooks": noService,
	"workspaces": noWorkspace,

	"contacts.activity":   "counts mail by the hour, which a local mailbox does not; contacts.listThreads gives the mail itself",
	"contacts.listEvents": noService, "contacts.setAudiences": noService,
	"emails.check": noModel, "emails.compose": noModel, "emails.rewrite": noModel, "emails.suggestSubject": noModel, "emails.translate": noModel,
	"labels.test":     "needs a language model that reads what a label is for, and the local mailbox asks none; rules put labels on mail here, and rules.test tries one",
	"threads.summary": noModel, "threads.replySuggestions": noModel,
	"templates.getStarter": noService, "templates.listFonts": noService, "templates.listImages": noImages, "templates.listSends": noTracking,
	"templates.listStarters": noService, "templates.uploadImage": noImages, "templates.design": noModel, "templates.redesign": noModel, "templates.getAnalytics": noTracking, "tools.estimateCost": noService,
	"files.createLink": "is for people elsewhere, who cannot reach this machine; send the file as an attachment", "languages.list": noModel,
	"calendar.createSubscription": noFetch, "calendar.deleteSubscription": noFetch, "calendar.listSubscriptions": noFetch,
	"calendar.refreshSubscription": noFetch, "calendar.updateSubscription": noFetch,
}

// absent answers for an operation of the contract that a local mailbox does not have. The status is one that no client
// tries again.
func absent(name string) func(*Server, *call) (any, error) {
	space, _, _ := strings.Cut(name, ".")
	why, ok := absences[name]
	if !ok {
		why, ok = absences[space]
	}
	if !ok {
		why = "is not part of a local mailbox"
	}
	err := &apiError{http.StatusNotImplemented, "not_available_locally", name + " " + why + ".", ""}
	return func(*Server, *call) (any, error) { return nil, err }
}
