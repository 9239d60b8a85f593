package mailparse

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode/utf32"
)

// charsetAliases names charsets that neither index knows, or for which a superset reads more real mail.
var charsetAliases = map[string]string{
	"utf8":                  "utf-8",
	"utf-8n":                "utf-8",
	"unicode-1-1-utf-8":     "utf-8",
	"unicode-1-1-utf-7":     "utf-7",
	"utf7":                  "utf-7",
	"x-unicode-2-0-utf-7":   "utf-7",
	"unicode-2-0-utf-7":     "utf-7",
	"unicode":               "utf-16",
	"utf16":                 "utf-16",
	"utf32":                 "utf-32",
	"gb2312":                "gb18030",
	"gbk":                   "gb18030",
	"cp936":                 "gb18030",
	"gb_2312-80":            "gb18030",
	"x-gbk":                 "gb18030",
	"cp932":                 "shift_jis",
	"ms932":                 "shift_jis",
	"sjis":                  "shift_jis",
	"shift-jis":             "shift_jis",
	"cp949":                 "euc-kr",
	"ms949":                 "euc-kr",
	"uhc":                   "euc-kr",
	"cp950":                 "big5",
	"big5-eten":             "big5",
	"x-mac-roman":           "macintosh",
	"latin1":                "windows-1252",
	"latin-1":               "windows-1252",
	"iso-8859-1":            "windows-1252",
	"iso-8859-1-windows":    "windows-1252",
	"ansi":                  "windows-1252",
	"cp-850":                "ibm850",
	"cp850":                 "ibm850",
	"cp437":                 "ibm437",
	"hz":                    "hz-gb-2312",
	"iso-2022-jp-ms":        "iso-2022-jp",
	"iso-2022-jp-1":         "iso-2022-jp",
	"iso-2022-jp-2":         "iso-2022-jp",
	"cp50220":               "iso-2022-jp",
	"us-ascii":              "",
	"ascii":                 "",
	"ansi_x3.4-1968":        "",
	"unknown":               "",
	"unknown-8bit":          "",
	"x-unknown":             "",
	"x-user-defined":        "",
	"default":               "",
	"_autodetect":           "",
	"_autodetect_all":       "",
	"charset":               "",
	"iso-8859-8-i":          "iso-8859-8",
	"windows-31j":           "shift_jis",
	"ks_c_5601-1987":        "euc-kr",
	"ks_c_5601":             "euc-kr",
	"x-euc-jp":              "euc-jp",
	"tis620":                "windows-874",
	"iso-8859-11":           "windows-874",
	"koi8":                  "koi8-r",
	"utf-8;":                "utf-8",
	"iso-10646-utf-8":       "utf-8",
	"utf-8-mac":             "utf-8",
	"x-utf-8":               "utf-8",
	"x-unicode-1-1-utf-8":   "utf-8",
	"x-cp1250":              "windows-1250",
	"x-cp1251":              "windows-1251",
	"x-cp1252":              "windows-1252",
	"extended_unix_code_jp": "euc-jp",
}

// normalCharset brings a charset label to the form that the tables use. The empty string means: guess.
func normalCharset(label string) string {
	label = strings.ToLower(strings.Trim(strings.TrimSpace(label), `"'`))
	if i := strings.IndexAny(label, " *;\t"); i >= 0 {
		label = label[:i]
	}
	if c, ok := charsetAliases[label]; ok {
		return c
	}
	for _, p := range []string{"iso8859-", "iso_8859-", "iso-8859_", "iso8859_", "iso 8859-", "8859-"} {
		if rest, ok := strings.CutPrefix(label, p); ok {
			label = "iso-8859-" + rest
			break
		}
	}
	for _, p := range []string{"windows125", "win-125", "win125", "cp-125", "cp125"} {
		if rest, ok := strings.CutPrefix(label, p); ok {
			label = "windows-125" + rest
			break
		}
	}
	if c, ok := charsetAliases[label]; ok {
		return c
	}
	return label
}

// lookupCharset returns the decoder for a normalised label, or nil when there is none.
func lookupCharset(label string) encoding.Encoding {
	if label == "hz-gb-2312" {
		return simplifiedchinese.HZGB2312
	}
	if e, err := htmlindex.Get(label); err == nil && e != encoding.Replacement {
		return e
	}
	// ianaindex panics on no input, but returns a nil encoding for names that it knows and cannot read.
	if e, err := ianaindex.MIME.Encoding(label); err == nil && e != nil {
		return e
	}
	return nil
}

// knownCharset reports whether text in the charset can be decoded.
func knownCharset(label string) bool {
	switch c := normalCharset(label); c {
	case "", "utf-8", "utf-7", "utf-16", "utf-32":
		return true
	default:
		return lookupCharset(c) != nil
	}
}

// decodeText converts bytes to UTF-8. An empty, unknown or ASCII charset means a guess: UTF-8 when the
// bytes are valid, else windows-1252. The result is always valid UTF-8.
func decodeText(b []byte, label string) string {
	if rest, ok := bytes.CutPrefix(b, []byte("\xEF\xBB\xBF")); ok {
		return forgiveUTF8(rest)
	}
	switch c := normalCharset(label); c {
	case "utf-8":
		return forgiveUTF8(b)
	case "":
		return guessText(b)
	case "utf-7":
		return decodeUTF7(b)
	case "utf-16", "utf-16le", "utf-16be":
		return decodeUTF16(b, c)
	case "utf-32":
		return convert(b, utf32.UTF32(utf32.BigEndian, utf32.UseBOM))
	case "iso-2022-jp":
		// 8-bit bytes without a single escape were sent by a program that did not convert.
		if !isASCII(b) && !bytes.Contains(b, []byte("\x1b")) {
			return guessJapanese(b)
		}
		return convert(b, japanese.ISO2022JP)
	default:
		if e := lookupCharset(c); e != nil {
			return convert(b, e)
		}
		return guessText(b)
	}
}

func convert(b []byte, e encoding.Encoding) string {
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return guessText(b)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

func guessText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return convert1252(b)
}

func convert1252(b []byte) string {
	out, err := charmap.Windows1252.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return string(out)
}

// forgiveUTF8 reads text that was declared as UTF-8: single bad bytes are replaced, but text without one
// right sequence was never UTF-8.
func forgiveUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r != utf8.RuneError && n > 1 {
			return strings.ToValidUTF8(string(b), "\uFFFD")
		}
		rest = rest[n:]
	}
	return convert1252(b)
}

func guessJapanese(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	for _, e := range []encoding.Encoding{japanese.EUCJP, japanese.ShiftJIS} {
		if out, err := e.NewDecoder().Bytes(b); err == nil && !bytes.ContainsRune(out, utf8.RuneError) {
			return string(out)
		}
	}
	return convert(b, japanese.EUCJP)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func decodeUTF16(b []byte, label string) string {
	little := label == "utf-16le"
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		little, b = true, b[2:]
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		little, b = false, b[2:]
	}
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		if little {
			units = append(units, uint16(b[0])|uint16(b[1])<<8)
		} else {
			units = append(units, uint16(b[0])<<8|uint16(b[1]))
		}
	}
	return string(utf16.Decode(units))
}

// decodeUTF7 reads RFC 2152. Shifts that hold no valid base64 stay as they are.
func decodeUTF7(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		c := b[i]
		if c != '+' {
			start := i
			for i < len(b) && b[i] != '+' {
				i++
			}
			out.WriteString(guessText(b[start:i]))
			continue
		}
		end := i + 1
		for end < len(b) && isBase64Char(b[end]) {
			end++
		}
		shifted := b[i+1 : end]
		closed := end < len(b) && b[end] == '-'
		switch {
		case len(shifted) == 0 && closed:
			out.WriteByte('+')
		default:
			raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(shifted)))
			n, err := base64.RawStdEncoding.Decode(raw, shifted)
			if err != nil || n < 2 {
				out.Write(b[i:end])
				closed = false
			} else {
				out.WriteString(decodeUTF16(raw[:n], "utf-16be"))
			}
		}
		i = end
		if closed {
			i++
		}
	}
	return out.String()
}

func isBase64Char(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}
