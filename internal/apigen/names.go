package main

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go writes in one case.
var initialisms = map[string]string{
	"api": "API", "ai": "AI", "bimi": "BIMI", "bcc": "Bcc", "caldav": "CalDAV", "carddav": "CardDAV", "cli": "CLI", "cname": "CNAME", "css": "CSS",
	"csv": "CSV", "dav": "DAV", "dkim": "DKIM", "dmarc": "DMARC", "dns": "DNS", "eml": "EML", "gif": "GIF", "html": "HTML", "http": "HTTP",
	"https": "HTTPS", "ics": "ICS", "id": "ID", "ids": "IDs", "imap": "IMAP", "ip": "IP", "ips": "IPs", "jpeg": "JPEG", "json": "JSON", "ms": "MS",
	"mx": "MX", "ns": "NS", "oauth": "OAuth", "os": "OS", "pdf": "PDF", "png": "PNG", "pop3": "POP3", "ses": "SES", "smtp": "SMTP", "spf": "SPF",
	"ssl": "SSL", "starttls": "STARTTLS", "svg": "SVG", "tls": "TLS", "totp": "TOTP", "ttl": "TTL", "txt": "TXT", "uid": "UID", "url": "URL",
	"urls": "URLs", "vcf": "VCF", "webp": "WebP",
}

// words splits a name of the contract: "keyLast4" is key and last4.
func words(s string) []string {
	var out []string
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(s[start:end]))
		}
		start = end
	}
	for i, r := range s {
		switch {
		case unicode.IsUpper(r) && i > start && !unicode.IsUpper(rune(s[i-1])):
			flush(i)
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + len(string(r))
		}
	}
	flush(len(s))
	return out
}

// goName writes a name of the contract in Go's casing: "checkBimi" is CheckBIMI.
func goName(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		if u, ok := initialisms[w]; ok {
			b.WriteString(u)
		} else {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// argName is goName for a parameter: "messageId" is messageID.
func argName(s string) string {
	w := words(s)
	first := w[0]
	if len(w) == 1 {
		return first
	}
	return first + goName(strings.Join(w[1:], "-"))
}

// singulars are the namespaces that do not lose an s.
var singulars = map[string]string{
	"addresses": "Address", "analytics": "Analytics", "settings": "Settings", "me": "Me",
}

func singular(space string) string {
	if s, ok := singulars[space]; ok {
		return s
	}
	return strings.TrimSuffix(goName(space), "s")
}

// typeNames are the Go names of shapes that do not follow from their own.
var typeNames = map[string]string{
	"AddressResource": "MailboxAddress", "SendableDomainResource": "MailDomain", "AddressBookPage": "AddressPage", "AddressBookResource": "AddressBook",
	"InboxCategoryCountResource": "CategoryCount", "CalendarEventResourceAlarmsItem": "CalendarAlarm", "CalendarEventResourceOrganizer": "Address",
	"ThreadResourceLabelsItem": "ThreadLabel", "DraftCreate": "DraftInput", "EmailSendTemplate": "SendTemplate", "SendTranslateOptions": "SendTranslate",
	"TrackingRequest": "SendTracking", "AttachmentInput": "SendAttachment", "RecipientInput": "Address", "PersonResource": "KnownPerson",
	"ContactBlockRule": "ContactRule", "PingResource": "Pong", "MessageEncryption": "Encryption", "MessageEncryptionPartsItem": "EncryptionPart",
	"ApiKeyMode": "Mode", "BatchResultResource": "SentBatch", "BatchItemResource": "SentBatchItem", "BatchItemResourceErrorError": "SentBatchError",
	"TempMessagesResource": "TempMessagePage", "AudienceImport": "AudienceImportInput", "DomainDnsSync": "DomainDNSSyncInput", "EmailCheck": "EmailCheckInput",
	"EmailRewrite": "EmailRewriteInput", "KnowledgeSearch": "KnowledgeSearchInput", "LabelTest": "LabelTestInput", "TemplateSend": "TemplateSendInput",
	"KnowledgeLevelResource": "KnowledgeLevelUse", "LabelColorResource": "LabelColorChoice", "PermissionResource": "PermissionInfo",
	"TemplateFontResource": "TemplateFontInfo", "BillingResourceUsage": "BillingCurrentUsage", "ImportResourceOptions": "ImportSettings",
	"AddressLogin": "AddressLoginInfo", "EmailTrackingSummary": "TrackingSummary", "TemplateSendResource": "TemplateSentEmail",
	"ImportFailurePage": "ImportFailurePage", "TrackingResource": "TrackedEmail", "TemplateSendsResource": "TemplateSends",
}

// typeName is the Go name of a shape.
func typeName(shape string) string {
	if n, ok := typeNames[shape]; ok {
		return n
	}
	s := strings.ReplaceAll(shape, "Resource", "")
	return goName(strings.ReplaceAll(s, "Variant1", ""))
}

// plainShapes are written by hand in api, or stand for something the client has no
// type for.
var plainShapes = map[string]bool{
	// Variants that one hand-written type covers.
	"ApiKeySelfResource": true, "OauthTokenSelfResource": true, "ApiKeyPingResource": true, "OauthTokenPingResource": true,
	"BatchItemResourceOk": true, "BatchItemResourceError": true, "InlineAttachmentInput": true, "StoredAttachmentInput": true,
	"RecipientInputObject": true, "DraftCreate": true, "EmailTrackingSummary": true, "CalendarEventResourceOrganizer": true,
	// Inputs of the SDK's helper, which the client's own ImportFiles replaces.
	"ImportFilesInput": true, "ImportSource": true,
	// The client's error types are constants of their own.
	"ErrorType": true,
	// Only an SDK's view of an envelope, or its parameters.
	"AddressBookResource": true, "LogWindow": true, "TranslateOptions": true, "FormSubscribeValues": true,
}

// handTypes are the shapes whose Go type is written by hand in api.
var handTypes = map[string]bool{}

func init() {
	for _, s := range strings.Fields(`
		ThreadSummaryResource ThreadResource ThreadResourceLabelsItem UpdatedThreadResource TrashedThreadResource RestoredThreadResource
		SnoozedThreadResource MutedThreadResource MailboxCountsResource FolderCountResource AddressCountResource LabelCountResource
		InboxCategoryCountResource AttachmentResource CalendarEventResource CalendarEventResourceAlarmsItem CalendarAttendeeResource
		DraftSummaryResource DraftResource DraftAttachmentResource DraftInput SavedDraftResource EmailResource EmailRecipientResource
		SentEmailResource EmailSend EmailSendTemplate SendTranslateOptions TrackingRequest AttachmentInput RecipientInput LabelResource
		LabelColor PersonResource ContactBlockRule AddressResource SendableDomainResource AddressBookPage PeoplePage KeyResource PingResource
		ThreadPatch MessageResource MessageEncryption MessageEncryptionPartsItem EmailStatus RecipientStatus ApiKeyMode BatchResultResource
		BatchItemResource BatchItemResourceErrorError TemplateSendsResource TempMessagesResource SettingsResource ImportFailurePage`) {
		handTypes[s] = true
	}
}
