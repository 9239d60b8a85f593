package bodytext

import (
	"strings"
	"unicode"
)

// markQuoted finds what belongs to an earlier mail.
func (d *Doc) markQuoted() {
	own := false       // there is text of the sender before
	forwarded := false // what follows was passed on to be read
	for i := range d.blocks {
		b := &d.blocks[i]
		if b.quote > 0 {
			b.quoted = true
			if i > 0 && d.blocks[i-1].quote == 0 {
				d.markAttribution(i - 1)
			}
			continue
		}
		if b.quoted {
			continue
		}
		forwarded = forwarded || forwardMark(b.text)
		if own && !forwarded && d.separator(i) {
			for j := i; j < len(d.blocks); j++ {
				d.blocks[j].quoted = true
			}
			return
		}
		own = own || b.visible() && b.kind != Rule
	}
}

// markAttribution marks the words before a quotation, which ends at block i, if they are such as "On … Ada wrote:".
func (d *Doc) markAttribution(i int) {
	for skipped := 0; i >= 0 && !d.blocks[i].visible() && skipped < 2; skipped++ {
		i--
	}
	if i < 0 {
		return
	}
	last := &d.blocks[i]
	text := strings.TrimRight(last.text, " ")
	if last.quote > 0 || len(text) > 400 || !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "：") {
		return
	}
	begins := func(s string) bool {
		for _, w := range []string{"On ", "Am ", "Le ", "El ", "Il ", "Op ", "Den ", "Em ", "W dniu ", "Dne ", "På ", "20"} {
			if strings.HasPrefix(s, w) {
				return true
			}
		}
		return false
	}
	dated := strings.ContainsFunc(text, unicode.IsDigit) || strings.ContainsRune(text, '@')
	switch {
	case dated || begins(text):
		last.kind, last.quoted = Attribution, true
		if begins(text) {
			return
		}
	case !wrote(text):
		return
	}
	// An attribution is often broken in two.
	if i > 0 {
		before := &d.blocks[i-1]
		if before.quote == 0 && begins(before.text) && len(before.text) < 200 && !last.gap {
			before.kind, before.quoted = Attribution, true
		}
	}
	last.kind, last.quoted = Attribution, true
}

// forwardMark reports whether a text is, or begins with, the line above a message that is passed on.
func forwardMark(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.ToLower(strings.TrimSpace(line))
	if line == "begin forwarded message:" {
		return true
	}
	mark := strings.Trim(line, "- ")
	if len(line)-len(mark) < 4 || len(mark) > 60 {
		return false
	}
	for _, w := range []string{"forwarded", "weitergeleitete", "transféré", "reenviado", "inoltrato", "doorgestuurd", "encaminhada", "пересылаемое"} {
		if strings.Contains(mark, w) {
			return true
		}
	}
	return false
}

func wrote(s string) bool {
	s = strings.ToLower(s)
	for _, w := range []string{"wrote", "writes", "schrieb", "écrit", "escribió", "scritto", "schreef", "skrev", "escreveu", "napisał", "пишет", "писал", "написал"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// separator reports whether the quoted mail begins at block i without quote marks, as Outlook does it.
func (d *Doc) separator(i int) bool {
	text := d.blocks[i].text
	if t := strings.Trim(text, "-_ "); len(text)-len(t) >= 4 && len(t) < 60 && strings.HasPrefix(text, "--") {
		t = strings.ToLower(t)
		for _, w := range []string{
			"original message", "original-nachricht", "ursprüngliche nachricht", "message d'origine", "message d’origine",
			"mensaje original", "messaggio originale", "mensagem original", "oorspronkelijk bericht", "original appointment",
		} {
			if strings.Contains(t, w) {
				return true
			}
		}
		return false
	}
	if first, _, _ := strings.Cut(text, "\n"); !headerOf(first, "from:", "von:", "de :", "de:", "da:", "van:", "från:", "fra:", "от:") {
		return false
	}
	// The header of a mail: a date and a recipient or subject on the next lines.
	var next strings.Builder
	next.WriteString(text)
	for j := i + 1; j < len(d.blocks) && j < i+7 && next.Len() < 2000; j++ {
		next.WriteByte('\n')
		next.WriteString(d.blocks[j].text)
	}
	date, more := false, false
	for line := range strings.SplitSeq(next.String(), "\n") {
		date = date || headerOf(line, "sent:", "date:", "gesendet:", "datum:", "envoyé :", "envoyé:", "date :", "enviado", "inviato:", "verzonden:", "skickat:", "sendt:", "дата:", "отправлено:")
		more = more || headerOf(line, "to:", "subject:", "an:", "betreff:", "à :", "objet :", "para:", "asunto:", "a:", "oggetto:", "aan:", "onderwerp:", "till:", "ämne:", "til:", "emne:", "кому:", "тема:")
	}
	return date && more
}

func headerOf(line string, names ...string) bool {
	line = strings.ToLower(strings.TrimLeft(line, " *"))
	line = strings.Replace(line, "*", "", 1)
	line = strings.Replace(line, "\u00a0", " ", 1)
	for _, n := range names {
		if strings.HasPrefix(line, n) {
			return true
		}
	}
	return false
}
