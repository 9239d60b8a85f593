package local

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// picture is a PNG of one colour.
func picture(t *testing.T, w, h int, c color.Color) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fromData reads the picture in an address.
func fromData(t *testing.T, address any) image.Image {
	t.Helper()
	text, ok := strings.CutPrefix(fmt.Sprint(address), "data:image/jpeg;base64,")
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		t.Fatalf("no picture: %.80v %v", address, err)
	}
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestContactPhotos(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		const path = "/contacts/ada%40example.com/photo"
		c.refused(404, "resource_not_found", "", "PUT", path, string(picture(t, 10, 10, color.Black)), "Content-Type", "image/png")
		c.do(200, "POST", "/contacts", obj{"email": "Ada@example.com"})
		got := c.do(200, "PUT", path, string(picture(t, 400, 300, color.NRGBA{0, 0, 255, 255})), "Content-Type", "image/png")
		img := fromData(t, got["photoUrl"])
		if r, g, b, _ := img.At(60, 40).RGBA(); img.Bounds().Dx() != 128 || img.Bounds().Dy() != 96 || r>>8 > 8 || g>>8 > 8 || b>>8 < 247 {
			t.Errorf("the picture is %v, %d %d %d in the middle", img.Bounds(), r>>8, g>>8, b>>8)
		}
		for _, list := range []string{"/contacts", "/contacts/people"} {
			if got := rows(t, c, list); got[0]["photoUrl"] == nil {
				t.Errorf("%s: %v", list, got)
			}
		}
		// What one can see through is white.
		img = fromData(t, c.do(200, "PUT", path, string(picture(t, 2, 2, color.NRGBA{0, 0, 0, 0})))["photoUrl"])
		if r, _, _, _ := img.At(0, 0).RGBA(); r>>8 < 250 || img.Bounds().Dx() != 2 {
			t.Errorf("nothing is shown as %d", r>>8)
		}
		bomb := picture(t, 1, 1, color.Black)
		copy(bomb[16:], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff}) // 65535 x 65535
		binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
		for name, raw := range map[string][]byte{"text": []byte("no picture"), "empty": nil, "cut": picture(t, 9, 9, color.Black)[:50], "bomb": bomb, "webp": append([]byte("RIFF\x00\x00\x01\x00WEBPVP8 "), make([]byte, maxWebPBytes)...), "long": make([]byte, maxPhotoBytes+1)} {
			t.Run(name, func(t *testing.T) {
				c.refused(422, "invalid_field", "body", "PUT", path, string(raw))
				// A large one is refused before it takes any memory.
				if _, answer := c.raw("PUT", path, string(raw)); strings.Contains(string(answer), "pixels") != (name == "bomb") {
					t.Errorf("the reason: %s", answer)
				}
			})
		}
		if got := c.do(200, "DELETE", path, nil); got["photoUrl"] != nil {
			t.Errorf("after taking it away: %v", got)
		}
		c.do(200, "PUT", path, string(picture(t, 10, 10, color.Black)))
		c.do(200, "DELETE", "/contacts/ada%40example.com", nil)
		if got := c.do(200, "POST", "/contacts", obj{"email": "ada@example.com"}); got["photoUrl"] != nil {
			t.Error("a new contact has the picture of one that was deleted")
		}
	})
}

func TestContactCards(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		made := c.do(200, "POST", "/contacts/cards", obj{
			"nameParts": obj{"given": "Ada", "family": "Lovelace", "prefix": "Countess"}, "organization": "Analytical", "birthday": "18151210", "notes": "tea\nno sugar",
			"emails": []any{obj{"value": "Ada@example.com", "label": "work"}, obj{"value": "ada@home.example"}}, "phones": []any{obj{"value": "+44 1", "label": "mobile", "customLabel": "Boat"}},
			"addresses": []any{obj{"street": "St James's Square 12", "locality": "London"}}, "urls": []any{obj{"value": "https://example.com/ada"}},
		})
		if made["name"] != "Countess Ada Lovelace" || made["email"] != "ada@example.com" || made["birthday"] != "1815-12-10" || made["nameParts"].(obj)["middle"] != nil {
			t.Errorf("the card: %v", made)
		}
		if v := made["emails"].([]any)[1].(obj); v["label"] != "other" || v["customLabel"] != nil {
			t.Errorf("an address without a label: %v", v)
		}
		// Its addresses are offered for writing to.
		if got := rows(t, c, "/contacts/people?q=lovelace"); len(got) != 2 || got[0]["saved"] != true {
			t.Errorf("people: %v", got)
		}
		path := "/contacts/cards/" + made["id"].(string)
		got := c.do(200, "PATCH", path, obj{"emails": []any{obj{"value": "ada@other.example"}}, "organization": nil, "nickname": "Enchantress"})
		if got["email"] != "ada@other.example" || got["organization"] != nil || got["nickname"] != "Enchantress" || got["birthday"] != "1815-12-10" || got["uid"] != made["uid"] {
			t.Errorf("changed: %v", got)
		}
		phone := c.do(200, "POST", "/contacts/cards", obj{"name": "Taxi", "phones": []any{obj{"value": "123"}}})
		if got := rows(t, c, "/contacts/cards?withoutEmail=true"); len(got) != 1 || got[0]["id"] != phone["id"] {
			t.Errorf("cards without an address: %v", got)
		}
		if got := rows(t, c, "/contacts/cards?email=ADA%40other.example"); len(got) != 1 || got[0]["id"] != made["id"] {
			t.Errorf("cards of an address: %v", got)
		}
		first := c.do(200, "GET", "/contacts/cards?limit=1", nil)
		if got := rows(t, c, "/contacts/cards?limit=1&cursor="+first["nextCursor"].(string)); len(got) != 1 || got[0]["id"] != made["id"] {
			t.Errorf("the second page: %v", got)
		}
		for _, tc := range []struct {
			param string
			body  obj
		}{
			{"name", obj{}},
			{"name", obj{"name": strings.Repeat("x", maxCardText+1)}},
			{"name", obj{"name": 1}},
			{"emails", obj{"emails": []any{obj{"value": "ada"}}}},
			{"emails", obj{"emails": []any{"ada@example.com"}}},
			{"emails", obj{"emails": strings.Split(strings.Repeat("x", maxCardValues+1), "")}},
			{"email", obj{"email": "ada"}},
			{"phones", obj{"phones": []any{obj{"label": "home"}}}},
			{"phones", obj{"phones": []any{obj{"value": "1", "label": "moon"}}}},
			{"addresses", obj{"addresses": []any{obj{"label": "home"}}}},
			{"birthday", obj{"name": "x", "birthday": "1815-13-01"}},
			{"birthday", obj{"name": "x", "birthday": "soon"}},
			{"notes", obj{"name": "x", "notes": strings.Repeat("x", maxCardNotes+1)}},
			{"nameParts", obj{"nameParts": "Ada"}},
			{"nameParts.given", obj{"nameParts": obj{"given": 1}}},
		} {
			c.refused(422, "invalid_field", tc.param, "POST", "/contacts/cards", tc.body)
		}
		c.do(200, "DELETE", path, nil)
		c.refused(404, "resource_not_found", "", "GET", path, nil)
		c.refused(404, "resource_not_found", "", "DELETE", path, nil)
		c.refused(404, "resource_not_found", "", "PATCH", path, obj{"name": "x"})
	})
}

const someCards = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nN:Lovelace;Ada;;Countess;\r\nFN:Ada Lovelace\r\nORG:Analytical;Engines\\, Ltd\r\n" +
	"item1.EMAIL;TYPE=INTERNET,PREF:ada@example.com\r\nitem1.X-ABLabel:_$!<Work>!$_\r\nitem2.TEL:+44 1\r\nitem2.X-ABLabel:Boat\r\n" +
	"ADR;TYPE=HOME:;;St James's Square 12;London;;SW1;England\r\nBDAY;VALUE=date:1815-12-10\r\nNOTE:tea\\nno su\r\n gar\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=\r\n=F6rg\r\nTEL;CELL;VOICE:+49 1\r\nTEL;HOME;FAX:+49 2\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:ada\r\nFN:Ada again\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\r\nVERSION:4.0\r\nNOTE:nobody\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\nVERSION:4.0\nthis line is broken\nFN:Bob\nEMAIL:bob@example.org\nPHOTO:data:image/png;base64,%s\nEND:VCARD\n" +
	"BEGIN:VCARD\r\nFN:cut off\r\n"

func TestContactImport(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		c.do(200, "POST", "/contacts", obj{"email": "ada@example.com", "name": "A. L."})
		file := fmt.Sprintf(someCards, base64.StdEncoding.EncodeToString(picture(t, 20, 20, color.Black)))
		upload := func() obj {
			return c.do(200, "POST", "/contacts/imports?filename=all.vcf", file, "Content-Type", "text/vcard")
		}
		i := upload()
		if got := fmt.Sprint(i["counts"], i["report"].(obj)["skipped"]); got != "map[failed:0 imported:2 merged:1 skipped:2 total:5] map[duplicate:1 empty:1]" {
			t.Errorf("the import: %s", got)
		}
		byName := map[string]obj{}
		for _, k := range rows(t, c, "/contacts/cards") {
			byName[fmt.Sprint(k["name"])] = k
		}
		ada, jorg, bob := byName["Ada Lovelace"], byName["Jörg Müller"], byName["Bob"]
		if len(byName) != 3 || ada == nil || jorg == nil || bob == nil {
			t.Fatalf("cards: %v", byName)
		}
		if got := fmt.Sprint(ada["emails"], ada["phones"], ada["birthday"], ada["notes"], ada["organization"], ada["department"]); got !=
			"[map[customLabel:<nil> label:work value:ada@example.com]] [map[customLabel:Boat label:other value:+44 1]]1815-12-10tea\nno sugarAnalyticalEngines, Ltd" {
			t.Errorf("Ada: %s", got)
		}
		if got := fmt.Sprint(ada["addresses"]); got != "[map[country:England customLabel:<nil> label:home locality:London postalCode:SW1 region:<nil> street:St James's Square 12]]" {
			t.Errorf("Ada lives at %s", got)
		}
		if got := fmt.Sprint(jorg["phones"], jorg["email"]); got != "[map[customLabel:<nil> label:mobile value:+49 1] map[customLabel:<nil> label:fax value:+49 2]] <nil>" {
			t.Errorf("Jörg: %s", got)
		}
		fromData(t, bob["photoUrl"])
		fromData(t, c.do(200, "GET", "/contacts/bob%40example.org", nil)["photoUrl"])
		if got := c.do(200, "GET", "/contacts/ada%40example.com", nil); got["name"] != "A. L." {
			t.Errorf("the contact that was there: %v", got)
		}
		if got := fmt.Sprint(upload()["report"].(obj)["skipped"]); got != "map[duplicate:1 empty:1 uid-taken:3]" {
			t.Errorf("imported again: %s", got)
		}
		// Out again: what was there before stays, and what was changed since.
		clk.advance(time.Minute)
		c.do(200, "PATCH", "/contacts/cards/"+bob["id"].(string), obj{"title": "Baker"})
		undone := c.do(200, "POST", "/contacts/imports/"+i["id"].(string)+"/undo", nil)
		if got := rows(t, c, "/contacts/cards"); undone["status"] != "undone" || len(got) != 1 || got[0]["title"] != "Baker" || got[0]["photoUrl"] == nil {
			t.Errorf("undone: %v, cards %v", undone, got)
		}
		if got := rows(t, c, "/contacts"); len(got) != 2 || got[0]["email"] != "bob@example.org" || got[1]["email"] != "ada@example.com" {
			t.Errorf("contacts: %v", got)
		}
		c.refused(409, "import_undone", "", "POST", "/contacts/imports/"+i["id"].(string)+"/undo", nil)
		c.refused(404, "resource_not_found", "", "GET", "/calendar/imports/"+i["id"].(string), nil)
		c.refused(422, "invalid_field", "body", "POST", "/contacts/imports", "no card")
		if got := rows(t, c, "/contacts/imports"); len(got) != 2 {
			t.Errorf("imports: %v", got)
		}
	})
}

func TestPictureOfACardWithoutAddress(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		photo := base64.StdEncoding.EncodeToString(picture(t, 20, 20, color.Black))
		i := c.do(200, "POST", "/contacts/imports", "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Club\r\nTEL:1\r\nPHOTO:data:image/png;base64,"+photo+"\r\nEND:VCARD\r\n", "Content-Type", "text/vcard")
		card := "/contacts/cards/" + rows(t, c, "/contacts/cards")[0]["id"].(string)
		clk.advance(time.Minute)
		c.do(200, "PATCH", card, obj{"title": "Rowing"})
		c.do(200, "POST", "/contacts/imports/"+i["id"].(string)+"/undo", nil)
		fromData(t, c.do(200, "GET", card, nil)["photoUrl"]) // changed since: it stays, with its picture
		fromData(t, c.do(200, "PATCH", card, obj{"email": "club@example.org"})["photoUrl"])
		fromData(t, c.do(200, "GET", "/contacts/club%40example.org", nil)["photoUrl"])
	})
}

// Pictures that take long to read do not hold up the mailbox: what is too much is left out.
func TestImportOfManyLargePictures(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	large := base64.StdEncoding.EncodeToString(picture(t, 2000, 2000, color.Black))
	var file strings.Builder
	const n = 20
	for i := range n {
		fmt.Fprintf(&file, "BEGIN:VCARD\nFN:%d\nEMAIL:a%d@example.com\nPHOTO:data:image/png;base64,%s\nEND:VCARD\n", i, i, large)
	}
	c.do(200, "POST", "/contacts/imports", file.String())
	with := 0
	cards := rows(t, c, "/contacts/cards?limit=100")
	for _, k := range cards {
		if k["photoUrl"] != nil {
			with++
		}
	}
	if len(cards) != n || with != maxImportPixels/(2000*2000) {
		t.Errorf("%d cards, %d with a picture", len(cards), with)
	}
}

// What the file of all contacts holds comes in again as it was.
func TestContactExport(t *testing.T) {
	const key = "oe_test_0123456789abcdef"
	from := open(t, t.TempDir(), newClock())
	c := direct(t, from)
	c.do(200, "POST", "/contacts/imports", fmt.Sprintf(someCards, base64.StdEncoding.EncodeToString(picture(t, 20, 20, color.Black))))
	c.do(200, "POST", "/contacts", obj{"email": "Carol@example.org", "name": "Carol; or Karl", "notes": "no card"})
	res, vcf := c.raw("GET", "/contacts/cards.vcf", "")
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/vcard") || bytes.Count(vcf, []byte("BEGIN:VCARD")) != 4 {
		t.Fatalf("%d %s", res.StatusCode, vcf)
	}
	into := direct(t, open(t, t.TempDir(), newClock()))
	if i := into.do(200, "POST", "/contacts/imports", string(vcf)); i["counts"].(obj)["imported"] != 4.0 {
		t.Errorf("the import: %v", i)
	}
	cards := func(c *client) string {
		var out []string
		for _, k := range rows(t, c, "/contacts/cards") {
			if k["name"] == "Carol; or Karl" {
				continue
			}
			fromPhoto := k["photoUrl"] != nil
			delete(k, "id")
			delete(k, "photoUrl") // it is made small once more
			out = append(out, fmt.Sprint(k, fromPhoto))
		}
		return strings.Join(out, "\n")
	}
	if was, is := cards(c), cards(into); was != is {
		t.Errorf("cards were\n%s\nand are\n%s", was, is)
	}
	if got := rows(t, into, "/contacts?q=carol"); len(got) != 1 || got[0]["name"] != "Carol; or Karl" {
		t.Errorf("Carol: %v", got)
	}
	// A key needs the scope of contacts.
	ts := httptest.NewServer(from.HandlerFor(key))
	defer ts.Close()
	served := &client{t, ts.Client(), ts.URL}
	for scope, status := range map[string]int{"contacts:read": 200, "threads:read": 403} {
		made := c.do(200, "POST", "/keys", obj{"name": "x", "scopes": []string{scope}})
		if res, raw := served.raw("GET", "/contacts/cards.vcf", "", "Authorization", "Bearer "+made["token"].(string)); res.StatusCode != status {
			t.Errorf("with %s: %d %.200s", scope, res.StatusCode, raw)
		}
	}
	if res, _ := served.raw("GET", "/contacts/cards.vcf", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %d", res.StatusCode)
	}
}
