package mailparse

import (
	"bytes"
	"context"
	"errors"
	"net/mail"
	"strings"
	"testing"
	"time"
)

func TestBuildIsReadBack(t *testing.T) {
	date := time.Date(2026, 3, 3, 9, 30, 0, 0, time.FixedZone("", 3600))
	o := Outgoing{
		From:       Address{"Ada, Countess", "ada@example.com"},
		ReplyTo:    []Address{{"", "reply@example.com"}},
		To:         []Address{{"Jürgen Größe 漢字", "j@example.org"}, {"", "b@bücher.example"}, {`A "quoted" name`, "c@example.org"}},
		Cc:         []Address{{"=?utf-8?Q?no_word?=", "d@example.org"}},
		Subject:    "Größe 漢字 🙂 " + strings.Repeat("sehr ", 40) + "lang",
		Date:       date,
		MessageID:  "one@example.com",
		InReplyTo:  "<zero@example.com>",
		References: []string{"<root@example.com>", "<zero@example.com>"},
		Text:       "Grüße\nFrom the start\n> quote \n-- \nAda\n" + strings.Repeat("long ", 400) + "\n",
		HTML:       "<p>Grüße <img src=\"cid:pic@x\"></p>\n",
		Attachments: []File{
			{Filename: "Rechnung für März.pdf", ContentType: "application/pdf", Data: []byte("%PDF\r\n\x00\xff")},
			{Filename: "pic.png", ContentType: "image/png", ContentID: "pic@x", Inline: true, Data: []byte("png")},
			{Filename: "../../etc/passwd", ContentType: "nonsense", Data: []byte("x")},
		},
		Headers: []Field{{"X-Teapost-Test", "Zürich"}},
	}
	raw, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Build(o)
	if !bytes.Equal(raw, again) {
		t.Error("two builds differ")
	}
	for _, line := range bytes.Split(raw, []byte("\r\n")) {
		if len(line) > 998 || bytes.ContainsAny(line, "\r\n") || !isASCII(line) || bytes.HasPrefix(line, fromPrefix) {
			t.Errorf("line %.80q", line)
		}
	}
	if _, err := mail.ReadMessage(bytes.NewReader(raw)); err != nil {
		t.Error("net/mail:", err)
	}
	m, err := Parse(context.Background(), raw, Limits{})
	if err != nil || len(m.Problems) > 0 {
		t.Fatal(err, m.Problems)
	}
	wantTo := []Address{o.To[0], {"", "b@xn--bcher-kva.example"}, o.To[2]}
	for i, a := range m.To {
		if a != wantTo[i] {
			t.Errorf("To %d is %+v, want %+v", i, a, wantTo[i])
		}
	}
	if len(m.To) != 3 || m.From[0] != o.From || m.Cc[0] != o.Cc[0] || m.ReplyTo[0] != o.ReplyTo[0] {
		t.Errorf("addresses %+v", m)
	}
	if m.Subject != o.Subject || !m.Date.Equal(date) || m.MessageID != "<one@example.com>" || m.InReplyTo != "<zero@example.com>" || len(m.References) != 2 {
		t.Errorf("header %+v", m)
	}
	if m.Text != o.Text || m.HTML != o.HTML {
		t.Errorf("text %q, html %q", m.Text, m.HTML)
	}
	if got := m.Header("x-teapost-test"); len(got) != 1 || got[0] != "Zürich" {
		t.Errorf("own header %q", got)
	}
	names := map[string]string{}
	for i, a := range m.Attachments {
		_, data, err := OpenAttachment(raw, i)
		if err != nil {
			t.Fatal(err)
		}
		names[a.Filename] = string(data)
		if a.Filename == "pic.png" && (!a.Inline || a.ContentID != "pic@x") {
			t.Errorf("inline %+v", a)
		}
	}
	if len(names) != 3 || names["Rechnung für März.pdf"] != "%PDF\r\n\x00\xff" || names["passwd"] != "x" {
		t.Errorf("files %q", names)
	}
}

func TestBuildAllowsNoInjection(t *testing.T) {
	evil := "x\r\nBcc: eve@example.net\r\n\r\nbody"
	raw, err := Build(Outgoing{
		From: Address{evil, "ada@example.com"}, To: []Address{{evil + "é", "b@example.com"}}, Subject: evil + "\u2028",
		MessageID: "<a@x>\r\nBcc: eve@example.net", References: []string{"<ok@x>", evil}, Text: "hi", Date: time.Unix(0, 0),
		Attachments: []File{{Filename: evil, ContentType: "text/plain\r\nX-Evil: 1", ContentID: evil, Data: []byte("x")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	if strings.Contains(string(head), "\r\nBcc") || strings.Contains(string(raw), "X-Evil:") && strings.Contains(string(raw), "\r\nX-Evil") {
		t.Errorf("injected: %s", raw)
	}
	m := parse(t, string(raw))
	if len(m.Bcc) != 0 || len(m.Attachments) != 1 || strings.TrimSpace(m.Text) != "hi" {
		t.Errorf("%+v", m)
	}
}

func TestBuildRefuses(t *testing.T) {
	ok := Address{"", "a@example.com"}
	if _, err := Build(Outgoing{Text: "x"}); !errors.Is(err, ErrNoSender) {
		t.Errorf("no sender: %v", err)
	}
	for name, o := range map[string]Outgoing{
		"address with a line end": {From: ok, To: []Address{{"", "b@example.com\r\nBcc: x@example.com"}}},
		"address without host":    {From: ok, To: []Address{{"", "b"}}},
		"two addresses in one":    {From: ok, To: []Address{{"", "b@example.com, c@example.com"}}},
		"Bcc":                     {From: ok, Headers: []Field{{"bcc", "x@example.com"}}},
		"Content-Type":            {From: ok, Headers: []Field{{"Content-Type", "text/html"}}},
		"a second From":           {From: ok, Headers: []Field{{"From", "x@example.com"}}},
		"name with a colon":       {From: ok, Headers: []Field{{"X: y", "x"}}},
		"value with a line end":   {From: ok, Headers: []Field{{"X-A", "x\nBcc: y@example.com"}}},
	} {
		var bad *HeaderError
		if raw, err := Build(o); !errors.As(err, &bad) {
			t.Errorf("%s: %v, %s", name, err, raw)
		}
	}
}

func TestBuildInviteAnswer(t *testing.T) {
	ics := "BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nEND:VCALENDAR\r\n"
	raw, err := Build(Outgoing{From: Address{"", "a@example.com"}, Subject: "Accepted", Text: "yes", Calendar: []byte(ics), CalendarMethod: "reply"})
	if err != nil {
		t.Fatal(err)
	}
	m := parse(t, string(raw))
	if m.CalendarMethod != "REPLY" || string(m.Calendar) != ics || strings.TrimSpace(m.Text) != "yes" || len(m.Attachments) != 1 {
		t.Errorf("%+v", m)
	}
}
