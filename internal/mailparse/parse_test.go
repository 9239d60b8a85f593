package mailparse

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, raw string) *Message {
	t.Helper()
	m, err := Parse(context.Background(), []byte(raw), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parseFile(t *testing.T, name string) (*Message, []byte) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(raw)), raw
}

func TestSubjectsOfCases(t *testing.T) {
	for file, want := range map[string]string{
		"headers/word-split-in-char.eml": "Größe 漢字 🙂 fertig",
		"headers/word-glued.eml":         "Café au lait plain ✓done",
		"headers/word-charsets.eml":      "¡Hola!Привет日本שלום",
		"headers/word-broken.eml":        "=?UTF-8?B?not base64*?= and =?no-such-charset?Q?abc?= and =ZZÃ and =?UTF-8?X?abc?=",
		"hostile/subject-newline.eml":    "Hello\r\nBcc: eve@example.net\r\nX-Fake: 1",
		"headers/no-subject-no-from.eml": "",
	} {
		if m, _ := parseFile(t, file); m.Subject != want {
			t.Errorf("%s: subject %q, want %q", file, m.Subject, want)
		}
	}
}

func TestSendersOfCases(t *testing.T) {
	for file, want := range map[string]Address{
		"headers/word-glued.eml":         {"Hopper, Grace", "grace@example.org"},
		"hostile/bidi-sender.eml":        {"\u202emoc.elpmaxe@knab", "eve@example.net"},
		"hostile/homograph-sender.eml":   {"Раypal Support", "service@xn--pypal-4ve.example"},
		"hostile/subject-escape.eml":     {"Bank\x1b[8m hidden\x1b[0m", "bank@example.com"},
		"hostile/subject-raw-escape.eml": {"Ada Byron", "ada@example.com"},
	} {
		m, _ := parseFile(t, file)
		if len(m.From) != 1 || m.From[0] != want {
			t.Errorf("%s: from %q, want %q", file, m.From, want)
		}
	}
}

func TestBodiesOfCases(t *testing.T) {
	for file, want := range map[string]string{
		"headers/missing-all.eml": "Just a line of text, no header.",
		"text/flowed-delsp.eml":   "日本語の長い文は空白なしで続く。",
		"text/flowed.eml": "> The quick brown fox jumps over the lazy dog and keeps on running.\n" +
			">> Older text that goes on.\n" +
			"My answer is one long paragraph that was broken by the sender only because of the format.\n" +
			"\nFrom the start: space-stuffed line.\n > not a quote, space-stuffed\n-- \nAda",
		"text/bare-cr.eml": "one\ntwo\nthree\n\nfour\vfive\fsix\u0085seven\u2028eight",
	} {
		if m, _ := parseFile(t, file); strings.TrimRight(m.Text, "\n") != want {
			t.Errorf("%s: text %q, want %q", file, m.Text, want)
		}
	}
	m, _ := parseFile(t, "hostile/body-escape.eml")
	for _, want := range []string{"safe text", "EVIL", "last line of the body"} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("body-escape.eml lost %q", want)
		}
	}
	m, _ = parseFile(t, "text/quotes-deep.eml")
	if !strings.Contains(m.Text, "answer") || !strings.Contains(m.Text, strings.Repeat(">", 60)+" level 60") {
		t.Errorf("quotes-deep.eml: %.200q", m.Text)
	}
	m, _ = parseFile(t, "text/long-line.eml")
	if !strings.Contains(m.Text, "end") || strings.Contains(m.Text, "\uFFFD") {
		t.Error("long-line.eml lost text")
	}
}

func TestMissingDateComesFromReceived(t *testing.T) {
	m, _ := parseFile(t, "headers/missing-date.eml")
	if want := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC); !m.DateKnown || !m.Date.Equal(want) {
		t.Errorf("date %v, want %v", m.Date, want)
	}
	m, _ = parseFile(t, "headers/missing-all.eml")
	if m.DateKnown || !m.Date.IsZero() {
		t.Errorf("a message without any date got %v", m.Date)
	}
}

func TestDatesTable(t *testing.T) {
	table, err := os.ReadFile("testdata/headers/dates.tsv")
	if err != nil {
		t.Fatal(err)
	}
	right := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		c := strings.Split(line, "\t")
		right[c[0]] = c[2]
	}
	now := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	for _, raw := range readBox(t, "testdata/headers/dates.mbox") {
		m := parse(t, string(raw))
		if want := right[m.Subject]; want != "-" && m.Date.Format(time.RFC3339) != want {
			t.Errorf("%s: %v, want %s", m.Subject, m.Date, want)
		}
		if when := m.When(now, time.Time{}); when.After(now.Add(48*time.Hour)) || when.Unix() < 0 {
			t.Errorf("%s would be filed under %v", m.Subject, when)
		}
	}
}

func TestParseDate(t *testing.T) {
	for s, want := range map[string]string{
		"Tue, 03 Mar 2026 09:30:00 +0000":           "2026-03-03T09:30:00Z",
		"Tue, 3 Mar 2026 09:30:00 CEST":             "2026-03-03T07:30:00Z",
		"Tue, 3 Mar 2026 09:30:00 PST":              "2026-03-03T17:30:00Z",
		"Tue Mar  3 09:30:00 2026":                  "2026-03-03T09:30:00Z",
		"Tue Mar  3 09:30:00 EST 2026":              "2026-03-03T14:30:00Z",
		"Tue, 08 Oct 91 10:25:36 EDT":               "1991-10-08T14:25:36Z",
		"ons, 26 maj 1999 11:00:34 +0200 (CEST)":    "1999-05-26T09:00:34Z",
		"Di, 3 Mär 2026 09:30:00 +0100":             "2026-03-03T08:30:00Z",
		"Fri, 12 June 2025 23:42:00 +0200":          "2025-06-12T21:42:00Z",
		"2026-03-03T09:30:00Z":                      "2026-03-03T09:30:00Z",
		"2026-03-03T09:30:00.123+05:30":             "2026-03-03T04:00:00Z",
		"2012-12-08 00:48":                          "2012-12-08T00:48:00Z",
		"Tue, 03 Mar 2026 24:30:00 +0000":           "2026-03-04T00:30:00Z",
		"Tue, 03 Mar 2026 09:30:60 +0000":           "2026-03-03T09:31:00Z",
		"Tue, 3 Mar 2026 9:30 PM +0000":             "2026-03-03T21:30:00Z",
		"Thu, 16 Jun 2016 00:41:19 (UTC)":           "2016-06-16T00:41:19Z",
		"Tue, 3 Mar 2026 09:30:00 GMT+0200":         "2026-03-03T07:30:00Z",
		"Tue, 3 Mar 2026 09:30:00 (comment (a)) +1": "2026-03-03T08:30:00Z",
		"3-Mar-2026 09:30:00 -0000":                 "2026-03-03T09:30:00Z",
		"Sat, 3 Mar 126 09:30:00 +0000":             "2026-03-03T09:30:00Z",
		"Mon, 30 Jun 3609 15:33:50 +0600":           "3609-06-30T09:33:50Z",
		"next Tuesday":                              "",
		"":                                          "",
		"Tue, 03 Mar 99999 09:30:00 +0000":          "",
		"45 Mar 2026 09:30:00 +0000":                "",
	} {
		got, ok := ParseDate(s)
		text := ""
		if ok {
			text = got.Truncate(time.Second).Format(time.RFC3339)
		}
		if text != want {
			t.Errorf("%q is %q, want %q", s, text, want)
		}
	}
}

func TestParseAddressList(t *testing.T) {
	for s, want := range map[string]string{
		`Ada <ada@example.com>`:                                      "Ada|ada@example.com",
		`"Hopper, Grace" <grace@example.org>, bob@example.com`:       "Hopper, Grace|grace@example.org;|bob@example.com",
		`bob@example.com (Bob (the) Builder)`:                        "Bob (the) Builder|bob@example.com",
		`undisclosed-recipients:;`:                                   "",
		`Team: a@example.com, "B: b" <b@example.com>; c@example.com`: "|a@example.com;B: b|b@example.com;|c@example.com",
		`a@example.com; b@example.com`:                               "|a@example.com;|b@example.com",
		`<@relay.example,@x.example:ada@example.com>`:                "|ada@example.com",
		`Ada Lovelace ada@example.com`:                               "Ada Lovelace|ada@example.com",
		`"This one: is \"right\"" <ding@dong.com>, No-address`:       `This one: is "right"|ding@dong.com;|No-address`,
		`"a b"@example.com`:                                          `|"a b"@example.com`,
		`=?utf-8?Q?a,_b?= <x@example.com>`:                           "a, b|x@example.com",
		`Ada <ada@example.com, Bob <bob@example.com>`:                "Ada|ada@example.com;Bob|bob@example.com",
		`'Ada' <ada@example.com>`:                                    "Ada|ada@example.com",
		`ada@example.com <ada@example.com>`:                          "|ada@example.com",
		`root`:                                                       "|root",
		`"postmaster@" <sending.tld postmaster@sending.tld>`:         "postmaster@|postmaster@sending.tld",
		"SPAM \xae <spammer@example.com>":                            "SPAM ®|spammer@example.com",
		` , ;, `:                                                     "",
		`"unclosed <a@example.com>`:                                  "unclosed|a@example.com",
		`Marilù ♥ <Marilù@esempio-università.it>, θσερ@εχαμπλε.ψομ`:     "Marilù ♥|Marilù@esempio-università.it;|θσερ@εχαμπλε.ψομ",
		`"=?UTF-8?B?SG9wcGVyLCBHcmFjZQ==?=" <g@example.org>`:            "Hopper, Grace|g@example.org",
		`=?utf-8?Q?J=C3=BCrgen?= =?utf-8?Q?_Schm=C3=BCrgen?= <j@x.org>`: "Jürgen Schmürgen|j@x.org",
	} {
		var got []string
		for _, a := range ParseAddressList(s) {
			got = append(got, a.Name+"|"+a.Email)
		}
		if strings.Join(got, ";") != want {
			t.Errorf("%s\n got  %s\n want %s", s, strings.Join(got, ";"), want)
		}
	}
}

func TestAttachmentNamesOfCases(t *testing.T) {
	m, raw := parseFile(t, "attachments/names.eml")
	table, err := os.ReadFile("testdata/attachments/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimRight(string(table), "\n"), "\n")[1:]
	if len(m.Attachments) != len(rows) {
		t.Fatalf("%d attachments, want %d", len(m.Attachments), len(rows))
	}
	for i, row := range rows {
		c := strings.Split(row, "\t")
		want, err := strconv.Unquote(`"` + strings.ReplaceAll(c[1], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatal(err)
		}
		if c[0] == "17" {
			want = strings.Repeat("x", 300) + ".txt"
		}
		a, data, err := OpenAttachment(raw, i)
		if err != nil || a.Filename != want || string(data) != fmt.Sprintf("file %02d\n", i+1) || a.Size != 8 {
			t.Errorf("%s: %q with %q, %v; want %q", c[0], a.Filename, data, err, want)
		}
	}
	if strings.TrimSpace(m.Text) != "Save all of them." {
		t.Errorf("text %q", m.Text)
	}
	if _, _, err := OpenAttachment(raw, len(rows)); !errors.Is(err, ErrNoAttachment) {
		t.Errorf("one too many gave %v", err)
	}
	if _, _, err := OpenAttachment(raw, -1); !errors.Is(err, ErrNoAttachment) {
		t.Errorf("a negative index gave %v", err)
	}
	m, _ = parseFile(t, "hostile/attachment-escape.eml")
	if len(m.Attachments) != 2 || m.Attachments[0].Filename != "re\x1b[2Kport\x1b]0;x\x07.pdf" || m.Attachments[1].Filename != "line\nbreak\x1b[7m.txt" {
		t.Errorf("names %+v", m.Attachments)
	}
}

func TestInviteOfCases(t *testing.T) {
	m, _ := parseFile(t, "hostile/invite-escape.eml")
	if m.CalendarMethod != "REQUEST" || !strings.Contains(string(m.Calendar), "SUMMARY:Plan") || len(m.Attachments) != 1 || m.Attachments[0].Filename != "invite.ics" {
		t.Errorf("method %q, calendar %q, attachments %v", m.CalendarMethod, m.Calendar, m.Attachments)
	}
}

func TestTextAttachmentKeepsItsBytes(t *testing.T) {
	raw := "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nhello\n" +
		"--b\nContent-Type: text/plain; charset=koi8-r\nContent-Disposition: attachment; filename=k.txt\nContent-Transfer-Encoding: 8bit\n\n\xf0\xd2\xc9\r\n\n--b--\n"
	_, data, err := OpenAttachment([]byte(raw), 0)
	if err != nil || string(data) != "\xf0\xd2\xc9\r\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestBrokenMultiparts(t *testing.T) {
	head := "From: a@example.com\nSubject: s\nContent-Type: multipart/mixed; boundary=\"b\"\n\n"
	file := "Content-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\nZGF0YQ==\n"
	for name, c := range map[string]struct {
		raw   string
		text  string
		files int
	}{
		"part header without colon":  {head + "--b\nContent-Type text/plain\nContent-Language: en\n\nhello\n--b\n" + file + "--b--\n", "hello", 1},
		"no blank line after header": {head + "--b\nContent-Type: text/plain\nhello there.\n--b\n" + file + "--b--\n", "hello there.", 1},
		"header then boundary":       {head + "--b\nContent-Type: text/plain\n\nhello\n--b\nContent-Type: image/png\n--b\n" + file + "--b--\n", "hello", 2},
		"no end":                     {head + "--b\n\nhello\n--b\n" + file, "hello", 1},
		"mixed line ends":            {strings.ReplaceAll(head, "\n", "\r\n") + "--b\r\n\r\nhello\r\n--b\n" + file + "--b--\n", "hello", 1},
		"blank in a header name":     {"From : a@example.com\nSubject: s\nContent-Type : multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\n" + file + "--b--\n", "hello", 1},
		"boundary never starts":      {head + "just text\n", "just text", 0},
		"empty multipart":            {head + "--b--\n", "", 0},
		"long preamble line":         {head + strings.Repeat("x", 10000) + "\n--b\n\nhello\n--b\n" + file + "--b--\n", "hello", 1},
		"only carriage returns":      {strings.ReplaceAll(head+"--b\n\nhello\n--b\n"+file+"--b--\n", "\n", "\r"), "hello", 1},
		"junk line in the header":    {"From: a@example.com\nthis is no header\nSubject: s\n\nhello\n", "hello", 0},
		"no blank line before body":  {"From: a@example.com\nSubject: s\nhello everybody\nhow are you\n", "hello everybody\nhow are you", 0},
		"from line and mark":         {"\xEF\xBB\xBFFrom x Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nSubject: s\n\nhello\n", "hello", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, c.raw)
			if strings.TrimSpace(m.Text) != c.text || len(m.Attachments) != c.files || m.Subject != "s" || len(m.From) != 1 {
				t.Errorf("text %q, %d files, subject %q, from %v; problems %q", m.Text, len(m.Attachments), m.Subject, m.From, m.Problems)
			}
		})
	}
}

func TestBodyChoice(t *testing.T) {
	alternative := "--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\nContent-Type: text/plain\n\nplain\n--c\nContent-Type: text/html\n\n<p>rich</p>\n--c--\n"
	head := "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n"
	m := parse(t, head+alternative+"--b\nContent-Type: text/plain\n\n-- \nthe <list> footer\n--b--\n")
	if !strings.Contains(m.Text, "plain") || !strings.Contains(m.Text, "the <list> footer") {
		t.Errorf("text %q", m.Text)
	}
	if !strings.Contains(m.HTML, "rich") || !strings.Contains(m.HTML, "the &lt;list&gt; footer") {
		t.Errorf("html %q lacks a part", m.HTML)
	}
	if len(m.Attachments) != 0 {
		t.Errorf("attachments %+v", m.Attachments)
	}
	m = parse(t, "From: a@example.com\nContent-Type: text/html\n\n<meta charset=koi8-r><p>\xf0\xd2\xc9\xd7\xc5\xd4</p>")
	if m.Text != "" || !strings.Contains(m.HTML, "Привет") {
		t.Errorf("text %q, html %q", m.Text, m.HTML)
	}
}

func TestEncryptionKinds(t *testing.T) {
	for want, raw := range map[string]string{
		"pgp-mime":        "From: a@b.c\nContent-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream\n\nx\n--b--\n",
		"pgp-signed":      "From: a@b.c\nContent-Type: multipart/signed; protocol=\"application/pgp-signature\"; boundary=b\n\n--b\n\nhi\n--b\nContent-Type: application/pgp-signature\n\nx\n--b--\n",
		"smime-signed":    "From: a@b.c\nContent-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; boundary=b\n\n--b\n\nhi\n--b\nContent-Type: application/pkcs7-signature\n\nx\n--b--\n",
		"smime-encrypted": "From: a@b.c\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nx\n",
		"pgp-inline":      "From: a@b.c\n\n-----BEGIN PGP MESSAGE-----\n\nx\n-----END PGP MESSAGE-----\n",
		"":                "From: a@b.c\n\nhello\n",
	} {
		m := parse(t, raw)
		if m.Encryption != want {
			t.Errorf("%q, want %q", m.Encryption, want)
		}
		if want == "pgp-mime" && (len(m.EncryptionParts) != 2 || m.EncryptionParts[0].Role != "version" || m.EncryptionParts[1].Role != "ciphertext") {
			t.Errorf("parts %+v", m.EncryptionParts)
		}
	}
}

func TestMessageIDs(t *testing.T) {
	for s, want := range map[string]string{
		"<a@x> <b@x>":                           "<a@x> <b@x>",
		"<a@x>,<b@x>,<a@x>":                     "<a@x> <b@x>",
		"a@x b@x":                               "<a@x> <b@x>",
		"<a @x>":                                "<a@x>",
		"Your message of <a@x>":                 "<a@x>",
		"<unclosed@x <b@x>":                     "<unclosed@x> <b@x>",
		"nothing here":                          "",
		"<" + strings.Repeat("x", 2000) + "@y>": "",
	} {
		if got := strings.Join(messageIDs(s), " "); got != want {
			t.Errorf("%.60q gives %q, want %q", s, got, want)
		}
	}
}

func TestEmptyAndCancelled(t *testing.T) {
	for _, raw := range []string{"", "\n \r\n"} {
		if m, err := Parse(context.Background(), []byte(raw), Limits{}); m != nil || !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v, %v", raw, m, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, err := Parse(ctx, []byte("From: a@example.com\nSubject: s\n\nx"), Limits{})
	if m == nil || m.Subject != "s" || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", m, err)
	}
}

// TestHugeInputs holds that hostile sizes end in seconds even on a slow machine; they take a fraction of one.
func TestHugeInputs(t *testing.T) {
	nested := func(n int) string {
		var b strings.Builder
		b.WriteString("From: a@example.com\n")
		for i := range n {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=\"b%d\"\n\n--b%d\n", i, i)
		}
		return b.String() + "\nhello\n"
	}
	for name, raw := range map[string]string{
		"nested":           nested(10_000),
		"parts":            "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: image/png\n\nx\n", 100_000) + "--b--\n",
		"header lines":     "From: a@example.com\n" + strings.Repeat("X-Filler: "+strings.Repeat("y", 90)+"\n", 500_000) + "\nhello\n",
		"one header":       "From: a@example.com\nX-Filler: " + strings.Repeat("y", 50<<20) + "\n\nhello\n",
		"folded header":    "From: a@example.com\nSubject: s\n" + strings.Repeat(" y\n", 10<<20) + "\nhello\n",
		"unfinished words": "From: a@example.com\nSubject: " + strings.Repeat("=?utf-8?Q?", 90_000) + "\n\nhello\n",
		"part header":      "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\nX-Filler: " + strings.Repeat("y", 50<<20) + "\n\nhello\n--b--\n",
		"parameters":       "From: a@example.com\nContent-Type: text/plain" + strings.Repeat("; a=b", 100_000) + "\n\nhello\n",
		"addresses":        "From: a@example.com\nTo: " + strings.Repeat("((((,", 100_000) + "\n\nhello\n",
		"quotes":           "From: " + strings.Repeat(`"<(`, 200_000) + "\n\nhello\n",
		"boundaries":       "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("boundary=\"x\"\n--b\nno colon\n", 100_000),
		"blank lines":      strings.Repeat("\n", 5<<20) + "From: a@example.com\n\nhello\n",
		"base64 junk":      "From: a@example.com\nContent-Transfer-Encoding: base64\n\n" + strings.Repeat("=\n", 5<<20),
		"meta":             "From: a@example.com\nContent-Type: text/html\n\n" + strings.Repeat("<meta", 1<<20) + "\xff",
	} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, raw)
			if len(m.From) == 0 && name != "quotes" {
				t.Error("the sender is lost")
			}
			if _, _, err := OpenAttachment([]byte(raw), 1<<30); !errors.Is(err, ErrNoAttachment) {
				t.Error(err)
			}
		})
	}
	t.Run("attachment", func(t *testing.T) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
		raw := "From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\nContent-Type: image/png\n\n" +
			base64.StdEncoding.EncodeToString(data) + "\n--b--\n"
		m := parse(t, raw)
		_, got, err := OpenAttachment([]byte(raw), 0)
		if err != nil || !bytes.Equal(got, data) || m.Attachments[0].Size != int64(len(data)) {
			t.Error("the attachment came out different", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	_ = filepath.Walk("testdata", func(path string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(path, ".eml") && info.Size() < 6000 {
			if raw, err := os.ReadFile(path); err == nil {
				f.Add(raw)
			}
		}
		return nil
	})
	f.Add([]byte("From: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 x\n#0V%T\n`\nend\n--b--"))
	f.Add([]byte("Subject: =?utf-7?Q?+APY-+-?=\nContent-Type: text/plain; charset=hz-gb-2312; format=flowed; a*0*=x'y'%41; a*1=b\n\n~{<:~}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Parse(context.Background(), raw, Limits{})
		if errors.Is(err, ErrEmpty) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range m.Attachments {
			b, data, err := OpenAttachment(raw, i)
			if err != nil || a != b || int64(len(data)) != a.Size {
				t.Fatalf("attachment %d: %+v, %+v, %v", i, a, b, err)
			}
		}
		for _, s := range append([]string{m.Subject, m.Text, m.HTML}, m.Header("To")...) {
			if strings.ToValidUTF8(s, "") != s {
				t.Fatalf("invalid UTF-8: %q", s)
			}
		}
	})
}
