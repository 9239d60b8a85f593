package mailparse

import (
	"bytes"
	"strings"
	"testing"
)

func uuMail(body string) string {
	return "From: a@example.com\nSubject: uu\nContent-Type: text/plain\n\n" + body
}

func TestUuencodedFilesInText(t *testing.T) {
	cat := "begin 644 cat.txt\n#0V%T\n`\nend\n"
	long := "begin 644 long name.bin\nM" + strings.Repeat("04)#", 15) + "\n#0V%T\n \nend\n"
	for name, tt := range map[string]struct {
		body, text string
		files      string
	}{
		"one":                {"before\n" + cat + "after\n", "before\nafter\n", "cat.txt=Cat"},
		"two":                {cat + "between\n" + cat, "between\n", "cat.txt=Cat cat.txt=Cat"},
		"blank lost":         {strings.Replace(cat, "`\n", "\n", 1), "", "cat.txt=Cat"},
		"no closing line":    {strings.Replace(cat, "`\n", "", 1), "", "cat.txt=Cat"},
		"full line":          {long, "", "long name.bin=" + strings.Repeat("ABC", 15) + "Cat"},
		"no end":             {"begin 644 cat.txt\n#0V%T\n`\n", "begin 644 cat.txt\n#0V%T\n`\n", ""},
		"prose":              {"begin 123 go\nand then the end\nend\n", "begin 123 go\nand then the end\nend\n", ""},
		"no mode":            {"begin the day\nend\n", "begin the day\nend\n", ""},
		"empty":              {"begin 644 x\n`\nend\n", "begin 644 x\n`\nend\n", ""},
		"a line too long":    {"begin 644 x\n#0V%T0V%T0V%T\n`\nend\n", "begin 644 x\n#0V%T0V%T0V%T\n`\nend\n", ""},
		"lower case is none": {"begin 644 x\n#cat!\n`\nend\n", "begin 644 x\n#cat!\n`\nend\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			raw := uuMail(tt.body)
			m := parse(t, raw)
			if m.Text != tt.text {
				t.Errorf("text %q, want %q", m.Text, tt.text)
			}
			var files []string
			for _, a := range m.Attachments {
				_, data, err := OpenAttachment([]byte(raw), a.Index)
				if err != nil || int64(len(data)) != a.Size {
					t.Errorf("%s: %d of %d bytes, %v", a.Filename, len(data), a.Size, err)
				}
				files = append(files, a.Filename+"="+string(data))
			}
			if got := strings.Join(files, " "); got != tt.files {
				t.Errorf("files %q, want %q", got, tt.files)
			}
		})
	}
}

func TestManyBeginLinesAreLinear(t *testing.T) {
	text := bytes.Repeat([]byte("begin 644 x\n#0V%T\n"), 50_000)
	if rest, files := splitUU(text); len(files) != 0 || len(rest) != len(text) {
		t.Errorf("%d files", len(files))
	}
}
