package local

import (
	"regexp"
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// A code to sign in or to confirm with is found by the words around it. A wrong one is worse than none: a number counts only
// close to words that announce such a code.

var (
	codeWords = regexp.MustCompile(`(?i)(?:verification|security|confirmation|authentication|activation|access|login|log-in|sign-in|sign in|one[- ]time|two-factor|2fa|pin)[- ](?:pass)?(?:code|pin|number)` +
		`|one[- ]time (?:password|pin)|\bpasscode|\botp\b|\byour (?:[\p{L}.]+ )?(?:code|pin)\b|\bcode is\b|\bcode:` +
		`|(?:bestätigungs|sicherheits|verifizierungs|anmelde|einmal|zugangs|aktivierungs)-?code|einmalpasswort|\b(?:ihr|dein) code` +
		`|code (?:de |d’|d')?(?:vérification|confirmation|sécurité|connexion|accès|authentification)|\bvotre code|\bcode à usage unique` +
		`|código de (?:verificación|confirmación|seguridad|acceso|verificação|confirmação|segurança)|\b(?:tu|su|seu) código` +
		`|codice di (?:verifica|sicurezza|accesso|conferma)|\bil tuo codice|(?:verificatie|beveiligings|inlog|bevestigings)code` +
		`|kod weryfikacyjny|ověřovací kód|код (?:подтверждения|доступа|проверки)|проверочный код` +
		`|验证码|驗證碼|校验码|動態密碼|認証コード|確認コード|認証番号|ワンタイムパスワード|인증 ?번호|인증 ?코드`)
	// notCodeWords announce another kind of code.
	notCodeWords = regexp.MustCompile(`(?i)promo|discount|coupon|voucher|gift|\d\s?% off|gutschein|rabatt|réduction|descuento|sconto|zip|postal|postleitzahl|area code|source code|error code|tracking|order|invoice|bestell|rechnung`)
	codeShape    = regexp.MustCompile(`[A-Z]-\d{4,8}|\d{3}[ \-–]\d{3,4}|\d{4,8}|[A-Z0-9]{3,4}-[A-Z0-9]{3,4}|[A-Z0-9]{5,8}`)
	codeLinks    = regexp.MustCompile(`(?i)\b(?:https?://|www\.)\S+|\S+@\S+`)
	yearShape    = regexp.MustCompile(`^(?:19|20)\d\d$`)
)

const (
	maxCodeText = 16 << 10
	maxCodeHTML = 128 << 10
	codeBehind  = 160 // bytes after the words in which the code is looked for
	codeAhead   = 60  // and before them, in the same line
)

// codeStems are in every text that codeWords match; looking for them is quick.
var codeStems = []string{"code", "pin", "otp", "password", "passwort", "código", "codice", "kod", "kód", "код", "码", "碼", "コード", "番号", "パスワード", "인증"}

// messageCode finds the code in a message that came in.
func messageCode(m *mailparse.Message) string {
	text := m.Text
	if strings.TrimSpace(text) == "" {
		text = clip(m.HTML, maxCodeHTML)
	}
	lower := strings.ToLower(clip(m.Subject, 1000) + "\n" + clip(text, maxCodeHTML))
	if !slices.ContainsFunc(codeStems, func(stem string) bool { return strings.Contains(lower, stem) }) {
		return ""
	}
	if strings.TrimSpace(m.Text) == "" {
		text = htmlText(text)
	}
	return verificationCode(m.Subject, text)
}

// verificationCode finds the code that a message brings; empty when it brings none.
func verificationCode(subject, text string) string {
	text = codeLinks.ReplaceAllString(clip(subject, 1000)+"\n"+clip(text, maxCodeText), " ")
	for _, at := range codeWords.FindAllStringIndex(text, 50) {
		lineStart := strings.LastIndexByte(text[:at[0]], '\n') + 1
		lineEnd := len(text)
		if i := strings.IndexByte(text[at[1]:], '\n'); i >= 0 {
			lineEnd = at[1] + i
		}
		if notCodeWords.MatchString(text[lineStart:lineEnd]) {
			continue
		}
		if code := firstCode(text, at[1], min(len(text), at[1]+codeBehind)); code != "" {
			return code
		}
		if code := lastCode(text, max(lineStart, at[0]-codeAhead), at[0]); code != "" {
			return code
		}
	}
	return ""
}

func firstCode(text string, from, until int) string {
	for _, m := range codeShape.FindAllStringIndex(text[from:until], 20) {
		if code := plausibleCode(text, from+m[0], from+m[1]); code != "" {
			return code
		}
	}
	return ""
}

func lastCode(text string, from, until int) string {
	all := codeShape.FindAllStringIndex(text[from:until], 20)
	for i := len(all) - 1; i >= 0; i-- {
		if code := plausibleCode(text, from+all[i][0], from+all[i][1]); code != "" {
			return code
		}
	}
	return ""
}

// plausibleCode gives what stands at a place of the text if it is a code and not a part of something else: a number of a
// telephone, an amount, a date, a word in capitals.
func plausibleCode(text string, from, until int) string {
	code := text[from:until]
	before, after := strings.ToLower(text[max(0, from-2):from]), text[until:min(len(text), until+2)]
	inWord := func(b byte) bool {
		return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80 && b < 0xc0
	}
	switch {
	case before != "" && (inWord(before[len(before)-1]) && before[len(before)-1] < 0x80 || strings.ContainsAny(before[len(before)-1:], "#+$/.,-_=&%(")),
		strings.HasSuffix(before, "€"), strings.HasSuffix(before, "£"), strings.HasSuffix(before, "№"),
		after != "" && (inWord(after[0]) || strings.ContainsAny(after[:1], "-/%@_$")),
		len(after) == 2 && strings.ContainsAny(after[:1], ".,:") && after[1] >= '0' && after[1] <= '9',
		len(after) == 2 && after[0] == ' ' && after[1] >= '0' && after[1] <= '9' && strings.ContainsAny(code, " -"),
		yearShape.MatchString(code):
		return ""
	}
	if !strings.ContainsAny(code, "0123456789") {
		return ""
	}
	compact := strings.NewReplacer(" ", "", "–", "-").Replace(code)
	if digits := strings.ReplaceAll(compact, "-", ""); strings.Trim(digits, "0123456789") == "" {
		return digits
	}
	return compact
}

// readVerificationCode finds the code in a message that the request holds.
func (s *Server) readVerificationCode(c *call) (any, error) {
	var given [4]string
	for i, name := range []string{"raw", "subject", "html", "text"} {
		v, err := c.body.text(name)
		if err != nil {
			return nil, err
		}
		given[i] = v
	}
	raw, subject, html, text := given[0], given[1], given[2], given[3]
	if raw+subject+html+text == "" {
		return nil, invalidField("text", "One of raw, subject, html and text must hold something to look into.")
	}
	if raw != "" {
		m, err := mailparse.Parse(c.ctx, []byte(raw), mailparse.Limits{})
		if err != nil {
			return nil, err
		}
		subject, text, html = m.Subject, m.Text, m.HTML
	}
	code := messageCode(&mailparse.Message{Subject: subject, Text: text, HTML: html})
	return map[string]any{"object": "verification_code", "code": nullText(code)}, nil
}
