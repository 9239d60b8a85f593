package main

import (
	"slices"
	"strings"
)

// phrase turns a name into the words a person would say.
func phrase(name string) string {
	w := words(spaced(name))
	for i, word := range w {
		if u, ok := initialisms[word]; ok {
			w[i] = u
		}
	}
	return strings.Join(w, " ")
}

// spaced keeps initialisms in a Go name together: APIKeyID is API-Key-ID.
func spaced(name string) string {
	best := make([]string, 0, len(initialisms))
	for _, v := range initialisms {
		if strings.ToLower(v[1:]) != v[1:] {
			best = append(best, v)
		}
	}
	slices.SortFunc(best, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for i := 0; i < len(name); {
		matched := ""
		for _, v := range best {
			rest := name[i:]
			if strings.HasPrefix(rest, v) && (len(rest) == len(v) || rest[len(v)] >= 'A' && rest[len(v)] <= 'Z' || rest[len(v)] >= '0' && rest[len(v)] <= '9') {
				matched = v
				break
			}
		}
		if matched == "" {
			b.WriteByte(name[i])
			i++
			continue
		}
		b.WriteString("-" + strings.ToLower(matched) + "-")
		i += len(matched)
	}
	return b.String()
}

func withArticle(p string) string {
	first, _, _ := strings.Cut(p, " ")
	last := p[strings.LastIndexByte(p, ' ')+1:]
	switch {
	case strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !strings.HasSuffix(last, "us"), last == "usage", last == "info", last == "data", last == "growth":
		return p
	}
	if strings.ContainsRune("aeioAEIO", rune(p[0])) && !strings.HasPrefix(p, "one") {
		return "an " + p
	}
	if first == "HTML" || first == "MX" || first == "SMTP" || first == "SVG" || first == "SPF" || first == "SES" || first == "NS" {
		return "an " + p
	}
	return "a " + p
}

func enumPhrase(shape string) string { return withArticle(phrase(typeName(shape))) }

// fieldWords say what a field of this name is, wherever it stands.
var fieldWords = map[string]string{
	"id": "the API's id of it", "object": "what kind of object it is", "name": "its name", "data": "the items", "items": "the items", "hasMore": "whether there is another page",
	"nextCursor": "the cursor of the next page", "total": "how many there are", "page": "the page, counted from 1", "pageSize": "items on a page", "limit": "the most there may be",
	"grain": "how long one bucket is", "bucket": "when the bucket begins", "day": "the day, as 2006-01-02", "month": "the month, as 2006-01", "offsetMinutes": "the zone that days are counted in",
	"since": "when the counted time begins", "until": "when the counted time ends", "key": "its key", "version": "the number of the version", "type": "its type", "kind": "its kind", "status": "where it stands", "state": "where it stands", "email": "the email address",
	"subject": "the subject", "html": "the HTML body", "text": "the plain text", "from": "the sender", "to": "the recipients", "cc": "copies", "bcc": "blind copies", "replyTo": "where answers go",
	"mode": "live or test", "scopes": "what it may do", "grantedScopes": "what it may do now", "filename": "the file's name", "fileName": "the file's name", "mimeType": "the media type", "contentType": "the media type",
	"url": "the URL", "host": "the host name", "domain": "the domain name", "address": "the address", "title": "the title", "description": "what it is for", "label": "what it is called", "value": "the value",
	"expectedUpdatedAt": "refuse when it changed after this", "expectedVersion": "refuse when this is not the latest version", "content": "the content", "body": "the body", "message": "the text",
	"error": "what went wrong", "lastError": "what went wrong last", "code": "the code", "reason": "why", "detail": "more about it", "count": "how many", "default": "the value when none is given",
	"props": "values for the template", "slots": "content for the template's slots", "tags": "the sender's own marks", "headers": "header fields", "ok": "true", "deleted": "true", "position": "its place in the order",
	"timezone": "an IANA zone", "timeZone": "an IANA zone", "token": "the secret token", "secret": "the secret", "password": "the password", "color": "its colour", "enabled": "whether it is on",
	"next": "the key of the next step", "amount": "how many units", "unit": "the unit of amount", "yes": "the step when it holds", "no": "the step when it does not", "userAgent": "the program that asked", "ip": "the IP address",
	"durationMs": "how long it took", "medianMs": "how long half of them took at most", "medianDurationMs": "how long half of them took at most", "medianTimeToOpenSeconds": "after what time half were opened",
	"ttlMinutes": "how long it lives", "expiresInMinutes": "how long it is valid", "cancellableForSeconds": "how long it can be taken back", "minutes": "how long an elevation lasts",
	"at": "when", "start": "when it begins", "end": "when it ends", "startsAt": "when it begins", "endsAt": "when it ends", "receivedOn": "when received", "elevatedUntil": "when the elevation ends", "cancellableUntil": "until when it can be taken back",
	"accessUntil": "until when it can be used", "resetsAt": "when counting starts again", "firstAt": "when first", "lastAt": "when last",
}

// fieldComment says what a field is, when its name alone does not.
func fieldComment(f field, k kind) string {
	if w, ok := fieldWords[f.name]; ok && !(f.name == "deleted" && k != kindFlag) {
		return w
	}
	w := words(f.name)
	head := strings.TrimSpace(phrase(strings.Join(w[:len(w)-1], "-") + "-"))
	last := w[len(w)-1]
	switch {
	case k == kindFlag && len(w) == 1:
		return "whether it is " + phrase(f.name)
	case last == "at" && head != "":
		return "when " + head
	case last == "id" && head != "":
		return "id of the " + head
	case last == "ids" && head != "":
		return "ids of the " + head + "s"
	case last == "count" && head != "":
		return "number of " + head + "s"
	case last == "by" && head != "":
		return "who " + head + " it"
	}
	return ""
}

// queryWords say what a query key asks for.
var queryWords = map[string]string{
	"limit": "0: the server's default of 25; at most 100", "cursor": "from the page before", "pageToken": "from the page before", "offset": "how many to pass over", "page": "counted from 1; 0: the first",
	"pageSize": "0: the server's default", "q": "words to look for", "search": "words to look for", "query": "words to look for", "sort": "empty: the server's order", "since": "not before", "until": "before",
	"from": "not before", "to": "before", "days": "how many days back", "minutes": "how many minutes back", "offsetMinutes": "zone of the days, minutes east of UTC", "grain": "length of a bucket", "address": "one address only",
	"after": "the Next of the page before", "confirm": "what the server asks to be repeated", "reassignTo": "the role that its members get", "deep": "ask the mail server too", "refresh": "look the records up anew",
	"includeMachine": "count programs too", "failedOnly": "only those that failed", "timezone": "an IANA zone", "domain": "the domain to check", "email": "the address", "username": "the name to check",
}

func queryComment(o operation, key, typ string) string {
	w := queryWords[key]
	if w == "" {
		w = "only with this " + phrase(key)
		if typ == "[]string" {
			w = "only with these " + phrase(key)
		}
		if o.name == "tools.estimateCost" || o.name == "knowledge.uploadFile" {
			w = "the " + phrase(key)
		}
	}
	if typ == "*bool" {
		return w + "; nil: either"
	}
	return w
}
