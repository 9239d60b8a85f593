package local

import (
	"strings"
	"testing"
)

func TestVerificationCode(t *testing.T) {
	for _, tc := range []struct{ subject, text, want string }{
		{"Your verification code", "Hi,\n\n   493 021\n\nIt is valid for 10 minutes.", "493021"},
		{"123456 is your Example code", "", "123456"},
		{"Sign in", "Use the security code 0042 to sign in. © 2026 Example", "0042"},
		{"G-482913 is your Google verification code", "", "G-482913"},
		{"Code", "Your code is: X7K2P9", "X7K2P9"},
		{"Anmeldung", "Ihr Bestätigungscode lautet:\r\n\r\n918273\r\n", "918273"},
		{"Connexion", "Votre code de vérification : 55 12 34", ""},
		{"Connexion", "Votre code est 551234.", "551234"},
		{"【例】", "您的验证码是 837261，5分钟内有效。", "837261"},
		{"確認", "認証コード：482910", "482910"},
		{"인증", "인증번호 [192837]를 입력하세요", "192837"},
		{"One-time password", "Your one-time password for order 12 is 778899", "778899"},
		{"Two", "Your login code: AB12-CD34", "AB12-CD34"},
		{"Link", "Your verification code: https://example.com/v/123456", ""},
		{"Spring", "Your code SPRING26 gives 20% off", ""},
		{"Invoice 20261130", "Your order 4711 of 2026 has been shipped, call +49 30 123456.", ""},
		{"Meeting", "The access code of the building is on the door, at 10:30 on 12.03.2026, room 2026.", ""},
		{"Tea", "We meet at 1830 in house 12345.", ""},
		{"Bank", "Your confirmation number for USD 1234.56", ""},
		{"", strings.Repeat("your code ", 100_000), ""},
	} {
		got := verificationCode(tc.subject, tc.text)
		if got != tc.want {
			t.Errorf("%q %.60q: %q, want %q", tc.subject, tc.text, got, tc.want)
		}
	}
}

func TestReadVerificationCode(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		raw := "From: shop@example.com\r\nSubject: =?utf-8?Q?Ihr_Sicherheitscode?=\r\nContent-Type: text/html\r\n\r\n<p>Ihr Code ist <b>482 913</b></p><p style=display:none>your code is 111111</p>"
		for name, body := range map[string]obj{
			"raw": {"raw": raw}, "html": {"html": "<p>Your code is <b>482913</b>"}, "text": {"subject": "Your code", "text": "482913"}, "subject": {"subject": "482913 is your code"},
		} {
			if got := c.do(200, "POST", "/tools/verification-code", body); got["code"] != "482913" {
				t.Errorf("%s: %v", name, got)
			}
		}
		if got := c.do(200, "POST", "/tools/verification-code", obj{"text": "Tea?"}); got["code"] != nil {
			t.Errorf("no code: %v", got)
		}
		c.refused(422, "invalid_field", "text", "POST", "/tools/verification-code", obj{})
		c.refused(422, "invalid_field", "raw", "POST", "/tools/verification-code", obj{"raw": 1})
	})
}

// A message says which code it brings; an answer to it and an own message bring none.
func TestMessageWithVerificationCode(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	code := func(raw []byte) any {
		t.Helper()
		messages := c.do(200, "GET", "/threads/"+arrive(t, s, raw).ThreadID, nil)["messages"].([]any)
		return messages[len(messages)-1].(obj)["verificationCode"]
	}
	if got := code(mailText("1@example.com", "shop@example.com", "Your verification code", "482 913")); got != "482913" {
		t.Errorf("the code is %v", got)
	}
	if got := code(mailText("2@example.com", "ada@example.com", "Re: Your verification code", "482 913", "In-Reply-To: <1@example.com>")); got != nil {
		t.Errorf("the code of an answer is %v", got)
	}
	if got := code(mailText("3@example.com", "ada@example.com", "Tea", "We meet at 18:30.")); got != nil {
		t.Errorf("the code of tea is %v", got)
	}
}
