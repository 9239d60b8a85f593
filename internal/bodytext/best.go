package bodytext

import "strings"

// Best chooses between the plain text and the HTML of a message: the plain text, unless it is missing, only says that
// there is HTML, or says far less.
func Best(text, html string) *Doc {
	switch {
	case strings.TrimSpace(html) == "":
		if markup(text) {
			return FromHTML(text)
		}
		return FromText(text)
	case strings.TrimSpace(text) == "":
		return FromHTML(html)
	}
	d := FromText(text)
	n := 0
	for i := range d.blocks {
		n += letters(d.blocks[i].text)
	}
	if n >= 400 && !markup(text) {
		return d
	}
	h := FromHTML(html)
	if h.Empty() {
		return d
	}
	if markup(text) || n < 300 && stub(text) {
		return h
	}
	shown := 0
	for i := range h.blocks {
		shown += letters(h.blocks[i].text)
		for _, row := range h.blocks[i].rows {
			for _, c := range row {
				shown += letters(c.text)
			}
		}
	}
	if n*5 < shown || n == 0 {
		return h
	}
	return d
}

// markup reports whether a text is HTML that was sent as plain text.
func markup(text string) bool {
	s := strings.TrimLeft(text, " \t\r\n\ufeff")
	s = strings.ToLower(s[:min(len(s), 200)])
	for _, p := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// stub reports whether a short text tells to look at the HTML.
func stub(text string) bool {
	s := strings.ToLower(text)
	for _, w := range []string{
		"html", "in your browser", "in a browser", "in browser", "web version", "view online", "view this email", "view this message",
		"cannot display", "can't display", "not display", "im browser", "webversion", "online ansehen", "navigateur", "version en ligne",
		"navegador", "en línea", "nel browser", "nella versione", "w przeglądarce", "в браузере", "ブラウザ", "浏览器", "瀏覽器",
	} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
