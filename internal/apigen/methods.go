package main

import (
	"fmt"
	"slices"
	"strings"
)

// byHand are the operations whose method is written by hand in api.
var byHand = map[string]bool{
	"emails.send": true, "drafts.update": true, "settings.get": true, "settings.update": true, "imports.importFiles": true,
	"imports.listFailures": true,
}

// paramTypes are the parameter types that are written by hand in api.
var paramTypes = map[string]string{
	"threads.list": "ThreadListParams", "threads.counts": "CountsParams", "drafts.list": "DraftListParams", "emails.list": "EmailListParams",
	"contacts.listPeople": "PeopleListParams",
}

// pathTypes are the types of path parameters that are no plain text. A name that
// stands for different things carries its operation.
var pathTypes = map[string]string{
	"version": "int", "file": "int", "chunk": "int", "variant": "BrandImageVariant", "stream": "SendStream", "addOn": "AddOnID",
	"category": "EmailNotificationCategory",
}

var (
	queryNumbers = toSet("limit page pageSize offset days minutes offsetMinutes after sends domains people aiActions version")
	queryFlags   = toSet("fromContacts semantic blocked withoutEmail refresh failedOnly pinned enabled opened clicked tracked deep includeMachine")
	queryLists   = toSet("labelIds audienceIds broadcastIds keyIds endpointIds addresses")
	queryTimes   = toSet("since until dateFrom dateTo scheduledFrom scheduledTo calendar.listEvents/from calendar.listEvents/to analytics.mailbox/from analytics.mailbox/to")
	// queryTypes are the enums of query keys.
	queryTypes = map[string]string{
		"grain": "TrackingGrain", "interval": "BillingInterval", "direction": "FileDirection",
		"audiences.listContacts/source": "ContactSource", "audiences.listContacts/sort": "AudienceMemberSort", "audiences.listContacts/status": "AudienceMemberStatus",
		"automations.list/status": "AutomationStatus", "automations.listEnrollments/status": "AutomationEnrollmentStatus",
		"billing.getUsage/days": "BillingUsageWindow", "billing.listInvoices/sort": "BillingInvoiceSort",
		"broadcasts.listRecipients/filter": "BroadcastRecipientFilter", "chats.list/sort": "ChatSort", "contacts.list/source": "ContactSource",
		"contacts.listThreads/sort": "ContactThreadSort", "files.list/kind": "FileKind", "files.list/sort": "FileSort",
		"followUps.list/status": "FollowUpStatus", "forms.listSubmissions/status": "FormSubmissionStatus",
		"knowledge.list/kind": "KnowledgeKind", "knowledge.list/status": "KnowledgeStatus", "knowledge.list/level": "KnowledgeLevel",
		"knowledge.listSuggestions/kind": "KnowledgeSuggestionKind", "knowledge.listSuggestions/status": "KnowledgeSuggestionStatus",
		"subscriptions.list/status": "SubscriptionStatus", "subscriptions.list/sort": "SubscriptionSort",
		"subscriptions.listDomains/status": "SubscriptionStatus", "subscriptions.listDomains/sort": "SubscriptionSort",
		"suppressions.list/reason": "SuppressionReason", "templates.list/status": "TemplateStatus", "templates.list/sort": "TemplateSort",
		"templates.listSends/source": "EmailSource", "webhooks.listDeliveries/status": "WebhookDeliveryStatus",
		"webhooks.listWorkspaceDeliveries/status": "WebhookDeliveryStatus",
	}
)

func toSet(s string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// queryField gives the Go type of a query key and the call that adds it.
func (g *generator) queryField(o operation, key string) (typ, add string) {
	name := goName(key)
	local := o.name + "/" + key
	t := queryTypes[local]
	if t == "" {
		t = queryTypes[key]
	}
	switch {
	case t != "":
		if g.declared[t] == "" && !g.hand[t] {
			g.fail("%s: there is no type %s", local, t)
		}
		return t, fmt.Sprintf("q.text(%q, string(p.%s))", key, name)
	case queryTimes[key], queryTimes[local]:
		return "time.Time", fmt.Sprintf("q.instant(%q, p.%s)", key, name)
	case queryNumbers[key]:
		return "int", fmt.Sprintf("q.number(%q, p.%s)", key, name)
	case queryFlags[key]:
		return "*bool", fmt.Sprintf("q.flag(%q, p.%s)", key, name)
	case queryLists[key]:
		return "[]string", fmt.Sprintf("q.list(%q, p.%s)", key, name)
	}
	return "string", fmt.Sprintf("q.text(%q, p.%s)", key, name)
}

// method collects what is written for one operation.
type method struct {
	name    string
	doc     []string
	args    []string // "id string"
	passed  []string // "id"
	path    string   // the expression for the path's values
	query   string   // the expression for the query
	body    string   // the expression for the body
	params  string   // type of p; empty: none
	prelude string   // statements before the call
}

// spaceFile writes the service of one namespace.
func (g *generator) spaceFile(space string) string {
	var b strings.Builder
	service := goName(space) + "Service"
	if !g.hand[service] {
		g.declare(service, "the service of "+space)
		fmt.Fprintf(&b, "// %s holds the calls of the namespace %s: %s.\ntype %s struct{ core *core }\n\n", service, space, spacePhrases[space], service)
		if spacePhrases[space] == "" {
			g.fail("there are no words for the namespace %s", space)
		}
	}
	for _, o := range g.ops {
		if o.space() == space && !byHand[o.name] {
			g.method(&b, o, service)
		}
	}
	return b.String()
}

func (g *generator) method(b *strings.Builder, o operation, service string) {
	m := &method{name: goName(o.method()), path: "nil", query: "query{}", body: "nil"}
	if g.hand[service+"."+m.name] {
		g.fail("%s.%s is written by hand, and not listed so", service, m.name)
	}
	m.doc = g.methodDoc(o, m.name)
	var values []string
	for _, p := range o.params() {
		t, arg := pathTypes[p], argName(p)
		switch t {
		case "":
			t = "string"
			values = append(values, arg)
		case "int":
			values = append(values, "strconv.Itoa("+arg+")")
		default:
			values = append(values, "string("+arg+")")
		}
		m.args = append(m.args, arg+" "+t)
		m.passed = append(m.passed, arg)
	}
	if len(values) > 0 {
		m.path = "[]string{" + strings.Join(values, ", ") + "}"
	}
	g.params(b, o, m)
	g.body(b, o, m)
	switch {
	case o.body == "bytes":
		g.simple(b, o, service, m, "*"+g.answerType(o), "upload["+g.answerType(o)+"]", "body")
	case o.answer == "bytes":
		m.args = append(m.args, "w io.Writer", "maxBytes int64")
		g.simple(b, o, service, m, "*Downloaded", "download", "w, maxBytes")
	case o.answer == "string":
		g.simple(b, o, service, m, "string", "fetchText", `"text/calendar"`)
	default:
		g.typed(b, o, service, m)
	}
}

// simple writes a method whose helper takes no query and body of its own.
func (g *generator) simple(b *strings.Builder, o operation, service string, m *method, result, helper, last string) {
	m.write(b, service, result)
	fmt.Fprintf(b, "\treturn %s(ctx, s.core, %q, %s, %s, %s, options)\n}\n\n", helper, o.name, m.path, m.query, last)
}

// answerType is the Go type of an answer that is one object or one page.
func (g *generator) answerType(o operation) string {
	t, _ := g.typeOf(o.answer, "", false)
	return t
}

func (g *generator) typed(b *strings.Builder, o operation, service string, m *method) {
	call := fmt.Sprintf("(ctx, s.core, %q, %s, %s, %s, options)", o.name, m.path, m.query, m.body)
	envelope, item, of := strings.Cut(o.answer, " of ")
	if data, ok := g.listItem(o.answer); ok {
		envelope, item, of = "list", data, true
	}
	switch {
	case of && envelope == "list":
		t, _ := g.typeOf(item, "", false)
		m.write(b, service, "[]"+t)
		fmt.Fprintf(b, "\treturn fetchList[%s]%s\n}\n\n", t, call)
	case of:
		t, _ := g.typeOf(item, "", false)
		m.write(b, service, "*Page["+t+"]")
		fmt.Fprintf(b, "\treturn fetch[Page[%s]]%s\n}\n\n", t, call)
		g.walk(b, o, service, m, t, "Page["+t+"]")
	default:
		t := g.answerType(o)
		m.write(b, service, "*"+t)
		if o.key {
			fmt.Fprintf(b, "\tout := new(%s)\n\tkey, err := s.core.invoke(ctx, %q, %s, %s, %s, out, options)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tout.IdempotencyKey = key\n\treturn out, nil\n}\n\n",
				t, o.name, m.path, m.query, m.body)
			return
		}
		fmt.Fprintf(b, "\treturn fetch[%s]%s\n}\n\n", t, call)
		if item := pageItems[t]; item != "" {
			g.walk(b, o, service, m, item, t)
		}
	}
}

// pageItems are the answers that are a page with more to it, and their items.
var pageItems = map[string]string{
	"AddressPage": "MailboxAddress", "PeoplePage": "KnownPerson", "TempMessagePage": "TempMessage", "SubscriptionList": "Subscription",
	"SubscriptionDomainList": "SubscriptionDomain", "ExportList": "Export", "BillingInvoiceList": "BillingInvoice", "TemplateSends": "TemplateSentEmail",
}

// walk writes the iterator over all pages of a list.
func (g *generator) walk(b *strings.Builder, o operation, service string, m *method, item, page string) {
	all := "All" + strings.TrimPrefix(m.name, "List")
	if m.name == "List" {
		all = "All"
	}
	from, set, convert := "p.Cursor", "next.Cursor = cursor", ""
	switch {
	case o.paging == "pageToken":
		from, set = "p.PageToken", "next.PageToken = cursor"
	case slices.Contains(o.query, "offset"):
		from, set, convert = "strconv.Itoa(p.Offset)", "next.Offset, _ = strconv.Atoi(cursor)", "offset"
	case slices.Contains(o.query, "page"):
		from, set, convert = "strconv.Itoa(max(1, p.Page))", "next.Page, _ = strconv.Atoi(cursor)", "page"
	}
	start := strings.TrimPrefix(from, "strconv.Itoa(")
	start = strings.TrimSuffix(strings.TrimPrefix(start, "max(1, "), ")")
	start = strings.TrimSuffix(start, ")")
	args := append(append([]string{"ctx context.Context"}, m.args...), "options ...CallOption")
	fmt.Fprintf(b, "// %s walks every page of %s from %s on. It stops after the first error.\nfunc (s %s) %s(%s) iter.Seq2[%s, error] {\n",
		all, m.name, start, service, all, strings.Join(args, ", "), item)
	fmt.Fprintf(b, "\treturn walk(ctx, %s, options, func(ctx context.Context, cursor string, options []CallOption) (*Page[%s], error) {\n\t\tnext := p\n\t\t%s\n", from, item, set)
	passed := slices.Clone(m.passed)
	passed[slices.Index(passed, "p")] = "next"
	call := fmt.Sprintf("s.%s(ctx, %s, options...)", m.name, strings.Join(passed, ", "))
	switch {
	case page == "Page["+item+"]":
		fmt.Fprintf(b, "\t\treturn %s\n", call)
	default:
		fmt.Fprintf(b, "\t\tgot, err := %s\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n", call)
		switch {
		case convert == "offset":
			fmt.Fprintf(b, "\t\treturn pageAt(got.Items, next.Offset+len(got.Items), got.HasMore), nil\n")
		case page == "TemplateSends":
			fmt.Fprintf(b, "\t\treturn pageAt(got.Items, next.Page+1, len(got.Items) > 0 && next.Page*got.PageSize < got.Total), nil\n")
		case convert == "page":
			fmt.Fprintf(b, "\t\treturn pageAt(got.Items, next.Page+1, got.HasMore), nil\n")
		default:
			fmt.Fprintf(b, "\t\treturn &got.Page, nil\n")
		}
	}
	b.WriteString("\t})\n}\n\n")
}

func (m *method) write(b *strings.Builder, service, result string) {
	for _, line := range m.doc {
		fmt.Fprintf(b, "//%s\n", strings.TrimRight(" "+line, " "))
	}
	args := append(append([]string{"ctx context.Context"}, m.args...), "options ...CallOption")
	fmt.Fprintf(b, "func (s %s) %s(%s) (%s, error) {\n%s", service, m.name, strings.Join(args, ", "), result, m.prelude)
}

// params writes the struct for the query of an operation, unless there is one.
func (g *generator) params(b *strings.Builder, o operation, m *method) {
	query := slices.DeleteFunc(slices.Clone(o.query), func(k string) bool { return k == "filename" })
	if len(query) == 0 {
		return
	}
	m.query = "p.query()"
	m.params = paramTypes[o.name]
	switch {
	case m.params != "":
		if !g.hand[m.params] {
			g.fail("%s: %s is not written by hand", o.name, m.params)
		}
	case slices.Equal(query, []string{"limit", "cursor"}):
		m.params = "ListParams"
	default:
		m.params = singular(o.space()) + m.name + "Params"
		g.declare(m.params, "the query of "+o.name)
		fmt.Fprintf(b, "// %s is the query of %s. Zero fields are left out.\ntype %s struct {\n", m.params, o.name, m.params)
		var adds []string
		for _, key := range query {
			t, add := g.queryField(o, key)
			b.WriteString(goField{name: goName(key), typ: t, comment: queryComment(key, t)}.line())
			adds = append(adds, add)
		}
		fmt.Fprintf(b, "}\n\nfunc (p %s) query() query {\n\tvar q query\n\t%s\n\treturn q\n}\n\n", m.params, strings.Join(adds, "\n\t"))
	}
	m.args = append(m.args, "p "+m.params)
	m.passed = append(m.passed, "p")
}

// body finds how a method takes the body of its operation.
func (g *generator) body(b *strings.Builder, o operation, m *method) {
	typ := strings.TrimSuffix(o.body, "?")
	switch {
	case typ == "":
		return
	case typ == "bytes":
		m.args, m.passed = append(m.args, "body Upload"), append(m.passed, "body")
		return
	case typ == "DraftCreate|DraftInput":
		typ = "DraftInput"
	case typ == "{string: string}":
		m.args, m.passed, m.body = append(m.args, "values map[string]string"), append(m.passed, "values"), "values"
		m.prelude = "\tnotNilMap(&values)\n"
		return
	case strings.HasPrefix(typ, "{"):
		g.inlineBody(b, o, m, typ)
		return
	}
	t, _ := g.typeOf(typ, "", true)
	m.args, m.passed, m.body = append(m.args, "in "+t), append(m.passed, "in"), "in"
}

// inlineBody takes the one field of a body as an argument, and fields that may be
// left out in a struct.
func (g *generator) inlineBody(b *strings.Builder, o operation, m *method, typ string) {
	fields := strings.Split(strings.Trim(typ, "{}"), ", ")
	if len(fields) == 1 && !strings.Contains(typ, "null") {
		key, inner, _ := strings.Cut(fields[0], ": ")
		arg := argName(key)
		t, k := g.typeOf(inner, "", true)
		argType, value := t, arg
		if t == "Instant" {
			argType, value = "time.Time", "At("+arg+")"
		}
		if k == kindList {
			m.prelude = "\tnotNil(&" + arg + ")\n"
		}
		m.args, m.passed = append(m.args, arg+" "+argType), append(m.passed, arg)
		m.body = fmt.Sprintf("struct {\n\t\t%s %s `json:%q`\n\t}{%s}", goName(key), t, key, value)
		return
	}
	name := singular(o.space()) + m.name + "Input"
	g.declare(name, "the body of "+o.name)
	fmt.Fprintf(b, "// %s is the body of %s.\ntype %s struct {\n", name, o.name, name)
	s := &shape{name: name}
	g.inBody[name] = true
	for _, part := range fields {
		key, inner, _ := strings.Cut(part, ": ")
		f := g.goField(s, field{name: key, typ: inner})
		b.WriteString(f.line())
	}
	b.WriteString("}\n\n")
	m.args, m.passed, m.body = append(m.args, "in "+name), append(m.passed, "in"), "in"
}

// methodDoc says what an operation does and what repeats.
func (g *generator) methodDoc(o operation, name string) []string {
	what := summaries[o.name]
	if what == "" {
		g.fail("there are no words for %s", o.name)
	}
	class := map[string]string{
		"read":   "A read: a failed attempt is repeated.",
		"send":   "A send: a failed attempt is repeated under the same idempotency key.",
		"repeat": "A write that may be repeated after a failed attempt.",
		"once":   "Once: there is no second attempt.",
	}[o.class]
	if class == "" {
		g.fail("%s has the unknown class %q", o.name, o.class)
	}
	if o.class == "once" && o.key {
		class = "Once: there is no second attempt, though the call carries an idempotency key."
	}
	doc := []string{name + " " + what + ".", "", "Operation " + o.name + ": " + o.verb + " " + o.path + ". " + class}
	switch {
	case strings.Contains(o.note, "auth: none"):
		doc = append(doc, "No credential is sent.")
	case strings.Contains(o.note, "auth: inbox token"):
		doc = append(doc, "An inbox token is taken before any other credential.")
	case strings.Contains(o.note, "version_conflict"):
		doc = append(doc, "With ExpectedUpdatedAt set, a repeated attempt whose first answer was lost may be refused", "with ErrVersionConflict: read it again then.")
	}
	switch {
	case o.body == "bytes" && o.class == "repeat":
		doc = append(doc, "Only a body that can be rewound is sent again; see Upload.")
	case strings.Contains(o.note, "timeout: upload"):
		doc = append(doc, "An attempt may take UploadTimeout.")
	case o.answer == "bytes":
		doc = append(doc, "At most maxBytes are written to w (0: 64 MiB); what is larger matches ErrTooLarge. After the", "first byte a failed attempt is repeated only if w can be rewound; see Downloaded.")
	}
	return doc
}
