package local

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime/quotedprintable"
	"regexp"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// card is what is known of a person, as the API gives it.
type card struct {
	UID          string        `json:"uid"`
	Email        *string       `json:"email"`
	Name         *string       `json:"name"`
	NameParts    *cardName     `json:"nameParts"`
	Nickname     *string       `json:"nickname"`
	Organization *string       `json:"organization"`
	Department   *string       `json:"department"`
	Title        *string       `json:"title"`
	Birthday     *string       `json:"birthday"`
	Notes        *string       `json:"notes"`
	Emails       []cardValue   `json:"emails"`
	Phones       []cardValue   `json:"phones"`
	Addresses    []cardAddress `json:"addresses"`
	URLs         []cardValue   `json:"urls"`
}

type cardName struct {
	Prefix *string `json:"prefix"`
	Given  *string `json:"given"`
	Middle *string `json:"middle"`
	Family *string `json:"family"`
	Suffix *string `json:"suffix"`
}

type cardValue struct {
	Value       string  `json:"value"`
	Label       string  `json:"label"`
	CustomLabel *string `json:"customLabel"`
}

type cardAddress struct {
	Label       string  `json:"label"`
	CustomLabel *string `json:"customLabel"`
	Street      *string `json:"street"`
	Locality    *string `json:"locality"`
	Region      *string `json:"region"`
	PostalCode  *string `json:"postalCode"`
	Country     *string `json:"country"`
}

const (
	maxCardText   = 1000
	maxCardNotes  = 64 << 10
	maxCardValues = 100
	maxCardLines  = 2000
)

var cardLabels = []string{"home", "work", "mobile", "main", "fax", "pager", "other"}

func newCard() *card {
	return &card{Emails: []cardValue{}, Phones: []cardValue{}, Addresses: []cardAddress{}, URLs: []cardValue{}}
}

// empty reports whether nothing says who it is.
func (c *card) empty() bool {
	return c.Name == nil && c.Nickname == nil && c.Organization == nil && len(c.Emails)+len(c.Phones)+len(c.Addresses)+len(c.URLs) == 0
}

// complete fills in what follows from the rest: the name that is shown, and the address by which the card is found.
func (c *card) complete() {
	if n := c.NameParts; n != nil && c.Name == nil {
		var parts []string
		for _, p := range []*string{n.Prefix, n.Given, n.Middle, n.Family, n.Suffix} {
			if p != nil {
				parts = append(parts, *p)
			}
		}
		c.Name = textOrNull(strings.Join(parts, " "))
	}
	for _, e := range c.Emails {
		if c.Email == nil && validAddress(e.Value) {
			c.Email = textOrNull(strings.ToLower(e.Value))
		}
	}
}

// shown is what a person calls it.
func (c *card) shown() string {
	for _, v := range []*string{c.Name, c.Nickname, c.Organization, c.Email} {
		if v != nil {
			return *v
		}
	}
	return ""
}

// readCard is a card of a file and the picture in it.
type readCard struct {
	*card
	photo []byte
}

// readCards gives the vCards of a file: versions 2.1, 3.0 and 4.0 (RFC 6350), as programs and phones write them.
func readCards(data []byte) iter.Seq[readCard] {
	return func(yield func(readCard) bool) {
		var lines []icalLine
		inside := false
		for l := range icalLines(joinQuotedPrintable(data), maxImportLines) {
			// Lines of a group belong together: item1.EMAIL and item1.X-ABLabel.
			if group, name, ok := strings.Cut(l.name, "."); ok {
				l.name, l.params["GROUP"] = name, group
			}
			switch {
			case l.name == "BEGIN" && strings.EqualFold(strings.TrimSpace(l.value), "VCARD"):
				inside, lines = true, nil
			case l.name == "END" && strings.EqualFold(strings.TrimSpace(l.value), "VCARD"):
				if inside && !yield(parseCard(lines)) {
					return
				}
				inside = false
			case inside && len(lines) < maxCardLines:
				lines = append(lines, l)
			}
		}
	}
}

// joinQuotedPrintable joins the lines that a quoted-printable value of vCard 2.1 is spread over.
func joinQuotedPrintable(data []byte) []byte {
	if !strings.Contains(strings.ToUpper(string(data)), "QUOTED-PRINTABLE") {
		return data
	}
	var out strings.Builder
	open := false
	for line := range strings.Lines(string(data)) {
		bare := strings.TrimRight(line, "\r\n")
		if !open {
			head, _, _ := strings.Cut(bare, ":")
			open = strings.Contains(strings.ToUpper(head), "QUOTED-PRINTABLE")
		}
		if rest, soft := strings.CutSuffix(bare, "="); open && soft {
			out.WriteString(rest)
			continue
		}
		open = false
		out.WriteString(bare + "\r\n")
	}
	return []byte(out.String())
}

// decodeCardLine undoes the encoding of a value of vCard 2.1.
func decodeCardLine(l icalLine) string {
	v := l.value
	if strings.Contains(strings.ToUpper(l.params["ENCODING"]+l.params["TYPE"]), "QUOTED-PRINTABLE") {
		if raw, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(v))); err == nil {
			v = string(raw)
		}
		if label := l.params["CHARSET"]; label != "" && !strings.EqualFold(label, "utf-8") {
			if e, err := htmlindex.Get(label); err == nil {
				if decoded, err := e.NewDecoder().String(v); err == nil {
					v = decoded
				}
			}
		}
	}
	return strings.ToValidUTF8(v, "\uFFFD")
}

// splitEscaped parts a structured value at a sign that is not escaped, and undoes the escapes.
func splitEscaped(v string, sep byte) []string {
	var out []string
	start := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case sep:
			out = append(out, icalText(v[start:i]))
			start = i + 1
		}
	}
	return append(out, icalText(v[start:]))
}

func cardText(v string) *string {
	return textOrNull(clip(strings.TrimSpace(noControls(v)), maxCardText))
}

func parseCard(lines []icalLine) readCard {
	c := readCard{card: newCard()}
	custom := map[string]string{}
	for _, l := range lines {
		if l.name == "X-ABLABEL" {
			custom[l.params["GROUP"]] = l.value
		}
	}
	for _, l := range lines {
		c.property(l, custom[l.params["GROUP"]])
	}
	c.complete()
	if c.UID == "" { // the same card gives the same one again
		raw, _ := json.Marshal(c.card) // strings only
		sum := sha256.Sum256(raw)
		c.UID = "import-" + hex.EncodeToString(sum[:16])
	}
	return c
}

func (c *readCard) property(l icalLine, custom string) {
	v := decodeCardLine(l)
	part := func(parts []string, i int) *string {
		if i >= len(parts) {
			return nil
		}
		return cardText(parts[i])
	}
	value := func(list *[]cardValue, v string) {
		if v := cardText(v); v != nil && len(*list) < maxCardValues {
			label, own := cardLabel(l.params["TYPE"], custom)
			*list = append(*list, cardValue{*v, label, own})
		}
	}
	switch l.name {
	case "UID":
		c.UID = clip(strings.TrimSpace(noControls(v)), 500)
	case "FN":
		c.Name = cardText(icalText(v))
	case "N":
		p := splitEscaped(v, ';')
		if n := (cardName{part(p, 3), part(p, 1), part(p, 2), part(p, 0), part(p, 4)}); n != (cardName{}) {
			c.NameParts = &n
		}
	case "NICKNAME":
		c.Nickname = cardText(icalText(v))
	case "ORG":
		p := splitEscaped(v, ';')
		c.Organization, c.Department = part(p, 0), part(p, 1)
	case "TITLE":
		c.Title = cardText(icalText(v))
	case "BDAY":
		c.Birthday = textOrNull(birthday(v))
	case "NOTE":
		c.Notes = textOrNull(clip(strings.TrimSpace(icalText(v)), maxCardNotes))
	case "EMAIL":
		value(&c.Emails, icalEmail(v))
	case "TEL":
		value(&c.Phones, strings.TrimPrefix(icalText(v), "tel:"))
	case "URL":
		value(&c.URLs, icalText(v))
	case "ADR":
		p := splitEscaped(v, ';')
		label, own := cardLabel(l.params["TYPE"], custom)
		a := cardAddress{label, own, part(p, 2), part(p, 3), part(p, 4), part(p, 5), part(p, 6)}
		if box := part(p, 0); a.Street == nil {
			a.Street = box
		}
		if (a != cardAddress{Label: label, CustomLabel: own}) && len(c.Addresses) < maxCardValues {
			c.Addresses = append(c.Addresses, a)
		}
	case "PHOTO":
		if _, after, ok := strings.Cut(strings.ReplaceAll(v, `\,`, ","), ";base64,"); ok {
			v = after
		}
		v = strings.Join(strings.Fields(v), "")
		if raw, err := base64.StdEncoding.DecodeString(v); err == nil && len(raw) > 0 {
			c.photo = raw
		}
	}
}

// cardLabel reads what kind of number or address it is; a label of a person's own is kept beside it.
func cardLabel(types, custom string) (label string, own *string) {
	if inner, ok := strings.CutPrefix(custom, "_$!<"); ok {
		types, custom = strings.TrimSuffix(inner, ">!$_"), ""
	}
	label = "other"
	for word := range strings.SplitSeq(strings.ToLower(types), ",") {
		switch word = strings.Trim(word, `" `); word {
		case "cell", "mobile", "iphone":
			return "mobile", cardText(custom)
		case "fax", "home fax", "work fax", "homefax", "workfax":
			return "fax", cardText(custom)
		case "home", "work", "main", "pager":
			label = word
		}
	}
	return label, cardText(custom)
}

var (
	birthdayForm    = regexp.MustCompile(`^(\d{4}|-)-(\d\d)-(\d\d)$`)
	birthdayCompact = regexp.MustCompile(`^(\d{4}|--)(\d\d)(\d\d)$`)
)

// birthday reads a date, with or without its year: 1815-12-10 or --12-10. It is empty for anything else.
func birthday(v string) string {
	v = strings.TrimSpace(v)
	if day, _, ok := strings.Cut(v, "T"); ok {
		v = day
	}
	if m := birthdayCompact.FindStringSubmatch(v); m != nil {
		v = strings.Replace(m[1], "--", "-", 1) + "-" + m[2] + "-" + m[3]
	}
	m := birthdayForm.FindStringSubmatch(v)
	if m == nil {
		return ""
	}
	if _, ok := parseInstant("2000-" + m[2] + "-" + m[3]); !ok { // a year that has a 29th of February
		return ""
	}
	return v
}

// writeCard writes a vCard 4.0. The picture is a data: address or empty.
func writeCard(w *icalWriter, c *card, photo string) {
	text := func(v *string) string {
		if v == nil {
			return ""
		}
		return icalEscape.Replace(*v)
	}
	structured := func(parts ...*string) string {
		var out []string
		for _, p := range parts {
			out = append(out, text(p))
		}
		return strings.Join(out, ";")
	}
	w.line("BEGIN", "VCARD")
	w.line("VERSION", "4.0")
	w.plain("UID", c.UID)
	w.line("FN", icalEscape.Replace(c.shown()))
	if n := c.NameParts; n != nil {
		w.line("N", structured(n.Family, n.Given, n.Middle, n.Prefix, n.Suffix))
	}
	for _, p := range []struct {
		name  string
		value string
	}{
		{"NICKNAME", text(c.Nickname)},
		{"ORG", strings.TrimRight(structured(c.Organization, c.Department), ";")},
		{"TITLE", text(c.Title)},
		{"NOTE", text(c.Notes)},
		{"PHOTO", photo},
	} {
		if p.value != "" {
			w.line(p.name, p.value)
		}
	}
	if c.Birthday != nil {
		day, sign := strings.CutPrefix(*c.Birthday, "--")
		if day = strings.ReplaceAll(day, "-", ""); sign {
			day = "--" + day
		}
		w.line("BDAY", day)
	}
	group := 0
	labelled := func(name, label string, own *string, value string) {
		if own != nil {
			group++
			prefix := fmt.Sprintf("item%d.", group)
			w.line(prefix+"X-ABLabel", text(own))
			name = prefix + name
		}
		if kind := map[string]string{"mobile": "cell", "other": ""}[label]; kind != "" {
			name += ";TYPE=" + kind
		} else if label != "other" {
			name += ";TYPE=" + label
		}
		w.line(name, value)
	}
	for _, v := range c.Emails {
		labelled("EMAIL", v.Label, v.CustomLabel, icalEscape.Replace(v.Value))
	}
	for _, v := range c.Phones {
		labelled("TEL", v.Label, v.CustomLabel, icalEscape.Replace(v.Value))
	}
	for _, a := range c.Addresses {
		labelled("ADR", a.Label, a.CustomLabel, ";;"+structured(a.Street, a.Locality, a.Region, a.PostalCode, a.Country))
	}
	for _, v := range c.URLs {
		labelled("URL", v.Label, v.CustomLabel, icalEscape.Replace(v.Value))
	}
	w.line("END", "VCARD")
}
