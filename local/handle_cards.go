package local

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"image"
	"slices"
	"strings"
	"time"
)

// A card holds what an address book knows of a person beyond the address: numbers, places, birthdays. It belongs to the
// contact of its first address, if it has one.

const cardColumns = `k.id, k.card, k.created_at, k.updated_at, f.content_type, f.data`

const cardQuery = "SELECT " + cardColumns + " FROM contact_cards k LEFT JOIN photos f ON f.owner = coalesce(k.email, 'card_' || k.id) WHERE "

// storedCard is a row of contact_cards.
type storedCard struct {
	id               int64
	card             *card
	created, updated int64
	photo            any // its address or nil
}

func scanCard(row scanner) (*storedCard, error) {
	c := &storedCard{card: newCard()}
	var raw string
	var kind sql.NullString
	var photo []byte
	if err := row.Scan(&c.id, &raw, &c.created, &c.updated, &kind, &photo); err != nil {
		return nil, err
	}
	c.photo = photoURL(kind, photo)
	return c, json.Unmarshal([]byte(raw), c.card)
}

// wire is the answer of the API for a card.
func (c *storedCard) wire() any {
	return struct {
		Object string `json:"object"`
		ID     string `json:"id"`
		*card
		PhotoURL  any    `json:"photoUrl"`
		CreatedAt string `json:"createdAt"`
		UpdatedAt string `json:"updatedAt"`
	}{"contact_card", wireID("card", c.id), c.card, c.photo, instant(c.created), instant(c.updated)}
}

func (s *Server) listCards(c *call) (any, error) {
	query, args := cardQuery+"1", []any{}
	if v := c.query.Get("email"); v != "" {
		query, args = query+" AND k.email = ?", append(args, strings.ToLower(strings.TrimSpace(v)))
	}
	if without, _, err := c.queryBool("withoutEmail"); err != nil {
		return nil, err
	} else if without {
		query += " AND k.email IS NULL"
	}
	return s.listByID(c, query, args, func(row scanner) (int64, any, error) {
		k, err := scanCard(row)
		if err != nil {
			return 0, nil, err
		}
		return k.id, k.wire(), nil
	})
}

func (s *Server) getCard(c *call) (any, error) {
	id, err := c.id("card", "contact card")
	if err != nil {
		return nil, err
	}
	k, err := scanCard(s.reader.QueryRowContext(c.ctx, cardQuery+"k.id = ?", id))
	if err != nil {
		return nil, found(err, "contact card", "")
	}
	return k.wire(), nil
}

// read changes a card by what a request gives; null and "" clear.
func (c *card) read(f fields) error {
	for name, into := range map[string]**string{
		"name": &c.Name, "nickname": &c.Nickname, "organization": &c.Organization, "department": &c.Department, "title": &c.Title,
	} {
		if err := readCardText(f, name, name, into); err != nil {
			return err
		}
	}
	if _, given := f["notes"]; given {
		v, err := f.text("notes")
		if err != nil {
			return err
		}
		if len(v) > maxCardNotes {
			return invalidField("notes", "notes may have %d bytes at most.", maxCardNotes)
		}
		c.Notes = textOrNull(v)
	}
	if _, given := f["birthday"]; given {
		v, err := f.text("birthday")
		if err != nil {
			return err
		}
		day := birthday(v)
		if day == "" && v != "" {
			return invalidField("birthday", "birthday must be a date such as 1815-12-10, or --12-10 without the year.")
		}
		c.Birthday = textOrNull(day)
	}
	if v, given := f["nameParts"]; given {
		m, ok := v.(map[string]any)
		if v != nil && !ok {
			return invalidField("nameParts", "nameParts must be an object or null.")
		}
		n := &cardName{}
		for name, into := range map[string]**string{"prefix": &n.Prefix, "given": &n.Given, "middle": &n.Middle, "family": &n.Family, "suffix": &n.Suffix} {
			if err := readCardText(m, name, "nameParts."+name, into); err != nil {
				return err
			}
		}
		if c.NameParts = nil; *n != (cardName{}) {
			c.NameParts = n
		}
	}
	for name, into := range map[string]*[]cardValue{"emails": &c.Emails, "phones": &c.Phones, "urls": &c.URLs} {
		if err := readCardValues(f, name, into); err != nil {
			return err
		}
	}
	if err := c.readAddresses(f); err != nil {
		return err
	}
	if _, given := f["email"]; given {
		v, err := f.text("email")
		if err != nil {
			return err
		}
		if v = strings.ToLower(strings.TrimSpace(v)); v != "" && !validAddress(v) {
			return invalidField("email", "%q is not an email address.", clip(v, 200))
		}
		c.Email = textOrNull(v)
	}
	c.complete()
	if c.empty() && c.Email == nil {
		return invalidField("name", "A card needs a name, an organization, an address or a number.")
	}
	return nil
}

func readCardText(f fields, name, param string, into **string) error {
	v, given := f[name]
	if !given {
		return nil
	}
	text, ok := v.(string)
	if v != nil && !ok || len(text) > maxCardText {
		return invalidField(param, "%s must be a string of at most %d bytes, or null.", param, maxCardText)
	}
	*into = cardText(text)
	return nil
}

// readCardList gives the objects of a list.
func readCardList(f fields, name string) ([]fields, error) {
	list, ok := f[name].([]any)
	if f[name] != nil && !ok || len(list) > maxCardValues {
		return nil, invalidField(name, "%s must be a list of at most %d objects.", name, maxCardValues)
	}
	out := []fields{}
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, invalidField(name, "%s must be a list of objects.", name)
		}
		out = append(out, m)
	}
	return out, nil
}

func readCardLabel(f fields, name string) (label string, custom *string, err error) {
	if label, err = f.oneOf("label", "other", cardLabels...); err != nil {
		return "", nil, invalidField(name, "The label of an entry of %s must be one of %s.", name, strings.Join(cardLabels, ", "))
	}
	return label, custom, readCardText(f, "customLabel", name, &custom)
}

func readCardValues(f fields, name string, into *[]cardValue) error {
	if _, given := f[name]; !given {
		return nil
	}
	list, err := readCardList(f, name)
	if err != nil {
		return err
	}
	out := []cardValue{}
	for _, m := range list {
		var v cardValue
		var value *string
		if err := readCardText(m, "value", name, &value); err != nil {
			return err
		}
		if value == nil {
			return invalidField(name, "An entry of %s needs a value.", name)
		}
		if name == "emails" && !validAddress(*value) {
			return invalidField(name, "%q is not an email address.", clip(*value, 200))
		}
		v.Value = *value
		if v.Label, v.CustomLabel, err = readCardLabel(m, name); err != nil {
			return err
		}
		out = append(out, v)
	}
	*into = out
	return nil
}

func (c *card) readAddresses(f fields) error {
	const name = "addresses"
	if _, given := f[name]; !given {
		return nil
	}
	list, err := readCardList(f, name)
	if err != nil {
		return err
	}
	out := []cardAddress{}
	for _, m := range list {
		var a cardAddress
		for part, into := range map[string]**string{"street": &a.Street, "locality": &a.Locality, "region": &a.Region, "postalCode": &a.PostalCode, "country": &a.Country} {
			if err := readCardText(m, part, name, into); err != nil {
				return err
			}
		}
		if a == (cardAddress{}) {
			return invalidField(name, "An entry of addresses needs a street, locality, region, postalCode or country.")
		}
		if a.Label, a.CustomLabel, err = readCardLabel(m, name); err != nil {
			return err
		}
		out = append(out, a)
	}
	c.Addresses = out
	return nil
}

func (s *Server) createCard(c *call) (any, error) {
	k := newCard()
	if err := k.read(c.body); err != nil {
		return nil, err
	}
	k.UID = newUID("teapost.invalid")
	var id int64
	err := s.write(c.ctx, func(t *tx) error {
		var err error
		id, _, err = t.addCard(k, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.params = []string{wireID("card", id)}
	return s.getCard(c)
}

// addCard keeps a card, and its addresses as contacts; known says that the first one was a contact before.
func (t *tx) addCard(k *card, from int64) (id int64, known bool, err error) {
	raw, err := json.Marshal(k)
	if err != nil {
		return 0, false, err
	}
	if id, err = t.insert("INSERT INTO contact_cards(uid, email, card, import_id, created_at, updated_at) VALUES(?,?,?,?,?,?)",
		k.UID, k.Email, string(raw), nullID(from), t.now, t.now); err != nil {
		return 0, false, err
	}
	known, err = t.cardContacts(k, from)
	return id, known, err
}

// cardContacts makes contacts of the addresses of a card, so that they are offered for writing to. Those that are there
// stay as they are.
func (t *tx) cardContacts(k *card, from int64) (known bool, err error) {
	var emails []string
	if k.Email != nil {
		emails = append(emails, *k.Email)
	}
	for _, e := range k.Emails {
		emails = append(emails, e.Value)
	}
	for i, e := range emails {
		if !validAddress(e) {
			continue
		}
		email := strings.ToLower(e)
		var f contactFields
		if k.Name != nil {
			f.name = sql.NullString{String: clip(*k.Name, 500), Valid: true}
		}
		res, err := t.result(`INSERT INTO contacts(email, display, name, notes, folded, import_id, created_at, updated_at) VALUES(?,?,?,?,?,?,?,?)
			ON CONFLICT(email) DO NOTHING`, email, e, f.name, f.notes, contactFold(email, &f), nullID(from), t.now, t.now)
		if err != nil {
			return false, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return false, err
		}
		known = known || i == 0 && n == 0
	}
	return known, nil
}

func (s *Server) updateCard(c *call) (any, error) {
	id, err := c.id("card", "contact card")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		k, err := scanCard(t.QueryRowContext(t.ctx, cardQuery+"k.id = ?", id))
		if err != nil {
			return found(err, "contact card", "")
		}
		// The first address follows the list, unless it was one of its own.
		was := k.card.Email
		if _, given := c.body["emails"]; given && was != nil && slices.ContainsFunc(k.card.Emails, func(e cardValue) bool { return strings.EqualFold(e.Value, *was) }) {
			k.card.Email = nil
		}
		if err := k.card.read(c.body); err != nil {
			return err
		}
		raw, err := json.Marshal(k.card)
		if err != nil {
			return err
		}
		if err := t.exec("UPDATE contact_cards SET email = ?, card = ?, updated_at = ? WHERE id = ?", k.card.Email, string(raw), t.now, id); err != nil {
			return err
		}
		if was == nil && k.card.Email != nil { // its picture belongs to the address now, unless that has one
			if err := t.exec("UPDATE OR IGNORE photos SET owner = ? WHERE owner = ?", *k.card.Email, c.params[0]); err != nil {
				return err
			}
			if err := t.exec("DELETE FROM photos WHERE owner = ?", c.params[0]); err != nil {
				return err
			}
		}
		_, err = t.cardContacts(k.card, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.getCard(c)
}

func (s *Server) deleteCard(c *call) (any, error) {
	id, err := c.id("card", "contact card")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.exec("DELETE FROM photos WHERE owner = ?", c.params[0]); err != nil {
			return err
		}
		return t.mustChange("contact card", "DELETE FROM contact_cards WHERE id = ?", id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "contact_card", "id": c.params[0], "deleted": true}, nil
}

func (s *Server) listContactImports(c *call) (any, error) { return s.listItemImports(c, contactItems) }

func (s *Server) getContactImport(c *call) (any, error) { return s.getItemImport(c, contactItems) }

func (s *Server) undoContactImport(c *call) (any, error) {
	return s.undoItemImport(c, contactItems,
		"DELETE FROM contact_cards WHERE import_id = ? AND updated_at = created_at",
		`DELETE FROM contacts WHERE import_id = ? AND updated_at = created_at
			AND email NOT IN (SELECT email FROM contact_cards WHERE email IS NOT NULL)`,
		"DELETE FROM photos WHERE import_id = ? AND owner NOT IN (SELECT email FROM contacts UNION SELECT 'card_' || id FROM contact_cards)",
	)
}

// importCards reads a .vcf file into the cards and contacts.
func (s *Server) importCards(c *call) (any, error) {
	return s.importItems(c, contactItems, "BEGIN:VCARD", "vCard", func(t *tx, i *itemImport, raw []byte) (string, error) {
		seen := map[string]bool{}
		for k := range readCards(raw) {
			i.counts.Total++
			if err := t.importCard(i, k, seen); err != nil {
				return "", err
			}
		}
		return "", nil
	})
}

func (t *tx) importCard(i *itemImport, k readCard, seen map[string]bool) error {
	name := k.shown()
	switch {
	case k.empty():
		i.skip(name, "empty")
		return nil
	case seen[k.UID]:
		i.skip(name, "duplicate")
		return nil
	case i.counts.Imported+i.counts.Merged == maxImportItems:
		i.skip(name, "limit")
		return nil
	}
	seen[k.UID] = true
	var n int
	if err := t.row("SELECT count(*) FROM contact_cards WHERE uid = ?", []any{k.UID}, &n); err != nil {
		return err
	}
	if n > 0 {
		i.skip(name, "uid-taken")
		return nil
	}
	id, known, err := t.addCard(k.card, i.id)
	if err != nil {
		return err
	}
	if known {
		i.counts.Merged++
	} else {
		i.counts.Imported++
	}
	return t.importPhoto(i, k, id)
}

// maxImportPixels bounds the work that the pictures of one file make.
const maxImportPixels = 64 << 20

// importPhoto keeps the picture of a card, unless there is one. One that cannot be read is left out: the rest counts.
func (t *tx) importPhoto(i *itemImport, k readCard, id int64) error {
	if k.photo == nil {
		return nil
	}
	if size, _, err := image.DecodeConfig(bytes.NewReader(k.photo)); err == nil {
		if size.Width > maxImportPixels || size.Height > maxImportPixels || i.pixels+size.Width*size.Height > maxImportPixels {
			return nil
		}
		i.pixels += size.Width * size.Height
	}
	owner := wireID("card", id)
	if k.Email != nil {
		owner = *k.Email
	}
	var n int
	if err := t.row("SELECT count(*) FROM photos WHERE owner = ?", []any{owner}, &n); err != nil || n > 0 {
		return err
	}
	data, kind, err := smallPhoto(k.photo)
	if err != nil {
		return nil // as said above
	}
	return t.savePhoto(owner, data, kind, i.id)
}

// cardsPath gives all contacts as one vCard file, which the contract has no call for.
const cardsPath = "/contacts/cards.vcf"

func (s *Server) exportCards(c *call) (any, error) {
	w := &icalWriter{now: s.now()}
	if err := s.writeCards(c.ctx, w); err != nil {
		return nil, err
	}
	return &bytesAnswer{contentType: "text/vcard; charset=utf-8", filename: "contacts-" + s.now().Format(time.DateOnly) + ".vcf", data: []byte(w.b.String())}, nil
}

// writeCards writes every card, and every contact that has none as a card of its own.
func (s *Server) writeCards(ctx context.Context, w *icalWriter) error {
	cards, err := collect(ctx, s.reader, scanCard, cardQuery+"1 ORDER BY k.id")
	if err != nil {
		return err
	}
	for _, k := range cards {
		photo, _ := k.photo.(string)
		writeCard(w, k.card, photo)
	}
	rest, err := collect(ctx, s.reader, func(row scanner) (map[string]any, error) {
		_, contact, err := scanContact(row)
		return contact, err
	}, "SELECT "+contactColumns+` FROM contacts c WHERE NOT EXISTS(SELECT 1 FROM contact_cards k
		WHERE k.email = c.email OR EXISTS(SELECT 1 FROM json_each(k.card, '$.emails') e WHERE lower(json_extract(e.value, '$.value')) = c.email)) ORDER BY c.id`)
	if err != nil {
		return err
	}
	for _, contact := range rest {
		k := newCard()
		email, _ := contact["email"].(string)
		name, _ := contact["name"].(string)
		notes, _ := contact["notes"].(string)
		photo, _ := contact["photoUrl"].(string)
		k.UID, k.Name, k.Notes = strings.ToLower(email), textOrNull(name), textOrNull(notes)
		k.Emails = append(k.Emails, cardValue{Value: email, Label: "other"})
		k.complete()
		writeCard(w, k, photo)
	}
	return nil
}
