package ui

import (
	"net/url"
	"strings"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// mailtoDraft fills a draft from a mailto link (RFC 6068). Every recipient that it brings is shown; attachments, a sender
// and fields that it does not know are dropped.
func mailtoDraft(d state.Draft, link string) state.Draft {
	rest := link
	if len(rest) >= 7 && strings.EqualFold(rest[:7], "mailto:") {
		rest = rest[7:]
	}
	to, query, _ := strings.Cut(rest, "?")
	d.To = addTo(d.To, unescape(to))
	for _, field := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(field, "=")
		value = unescape(value)
		switch strings.ToLower(unescape(name)) {
		case "to":
			d.To = addTo(d.To, value)
		case "cc":
			d.Cc = addTo(d.Cc, value)
		case "bcc":
			d.Bcc = addTo(d.Bcc, value)
		case "subject":
			d.Subject = clean.Line(value)
		case "body":
			d.Body = clean.Text(value) + d.Body // which is the signature
		}
	}
	return d
}

func addTo(list, more string) string {
	more = strings.TrimSpace(clean.Line(more))
	if list == "" || more == "" {
		return list + more
	}
	return list + ", " + more
}

// unescape undoes percent signs; "+" is a plus, unlike in a form.
func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
