package state

import (
	"encoding/base64"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// pagePolicy lets a page show what is in it and nothing else: no pictures from elsewhere, no scripts, no forms.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"

// ViewHTML makes a page of a message as its sender made it, for a browser, in a private temporary file; [Mail.Opened] tells
// its path. Opening it tells nobody: nothing in it runs, and nothing is fetched but the pictures that came with the message.
func (m *Mail) ViewHTML(thread ThreadID, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.viewHTML(thread, message)
}

func (m *Mail) viewHTML(thread ThreadID, message string) {
	const what = "Could not make a page of the message"
	msg, err := m.message(thread, message)
	if err != nil {
		m.addNotice(Notice{Kind: NoticeFailure, Text: what + ": " + err.Error()})
		return
	}
	show := func(files []api.Attachment) {
		page := api.Attachment{AttachmentID: "page", Filename: clean.Filename(msg.Subject) + ".html", Content: []byte(htmlPage(msg, files))}
		m.view(what, []api.Attachment{page}, page.AttachmentID)
	}
	if !picturesIn(msg) {
		show(nil)
		return
	}
	again := func() { m.viewHTML(thread, message) }
	m.fetchFiles("Fetching the pictures of the message", thread, message, again, func(files []api.Attachment, err error) {
		if err != nil {
			m.filesFailed(what, err, again)
			return
		}
		show(files)
	})
}

// picturesIn reports whether the HTML of a message shows files that came with it.
func picturesIn(msg *api.Message) bool {
	return cidURL.MatchString(msg.HTML) && slices.ContainsFunc(msg.Attachments, func(a api.Attachment) bool { return contentID(a) != "" })
}

func contentID(a api.Attachment) string { return strings.Trim(strings.TrimSpace(a.ContentID), "<>") }

var cidURL = regexp.MustCompile(`(?i)cid:[^"'\s)>]+`)

// outside are the elements that would reach a server all the same: a link has browsers look up a name or connect ahead, which no
// policy forbids, and a frame may hold a page with one.
var outside = regexp.MustCompile(`(?i)<(link|iframe)\b`)

// htmlPage is a page that shows a message's HTML in a frame that may not do anything but open links in windows of their own.
func htmlPage(msg *api.Message, files []api.Attachment) string {
	ids := map[string]string{} // by attachment: not every server tells them with the bytes
	for _, a := range msg.Attachments {
		ids[a.AttachmentID] = contentID(a)
	}
	pictures := map[string]string{}
	for _, a := range files {
		kind, _, _ := strings.Cut(strings.ToLower(a.ContentType), ";")
		if id := ids[a.AttachmentID]; id != "" && strings.HasPrefix(kind, "image/") {
			pictures[id] = "data:" + strings.TrimSpace(kind) + ";base64," + base64.StdEncoding.EncodeToString(a.Content)
		}
	}
	head := `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + pagePolicy + `">` +
		`<meta name="referrer" content="no-referrer"><meta http-equiv="x-dns-prefetch-control" content="off">`
	body := cidURL.ReplaceAllStringFunc(outside.ReplaceAllString(msg.HTML, "<x-$1"), func(s string) string {
		id := s[len("cid:"):]
		if plain, err := url.PathUnescape(id); err == nil {
			id = plain
		}
		return pictures[id]
	})
	return "<!doctype html>\n<html><head>" + head + "<title>" + html.EscapeString(clean.Line(msg.Subject)) + "</title>\n" +
		"<style>html,body{margin:0;height:100%}iframe{border:0;width:100%;height:100%;background:#fff}</style></head>\n" +
		`<body><iframe sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" srcdoc="` +
		html.EscapeString(`<!doctype html>`+head+`<base target="_blank">`+body) + "\"></iframe></body></html>\n"
}
