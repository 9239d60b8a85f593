package clean

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestFilename(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"report.pdf", "report.pdf"},
		{"../../../../tmp/escape.txt", "escape.txt"},
		{"/etc/passwd", "passwd"},
		{`C:\Users\x\run.bat`, "run.bat"},
		{"..", "attachment"},
		{".", "attachment"},
		{"", "attachment"},
		{"\x1b[31m", "attachment"},
		{"folder/", "folder"},
		{"~/.ssh/config", "config"},
		{"-rf", "-rf"},
		{"CON", "_CON"},
		{"aux.txt", "_aux.txt"},
		{"com1.log.txt", "_com1.log.txt"},
		{"common.txt", "common.txt"},
		{"trailing. ", "trailing"},
		{".hidden", "hidden"},
		{"new\nline.txt", "new line.txt"},
		{"line\nbreak\x1b[7m.txt", "line break.txt"},
		{"re\x1b[2Jport\x1b]0;x\a.pdf", "report.pdf"},
		{"Рахунок за березень.pdf", "Рахунок за березень.pdf"},
		{"見積書（最終）.xlsx", "見積書（最終）.xlsx"},
		{`semi;colon "quoted".txt`, "semi;colon _quoted_.txt"},
		{"photo\u202egpj.exe", "photogpj.exe"},
		{"photo.jpg" + strings.Repeat(" ", 90) + ".exe", "photo.jpg .exe"},
		{"stream.txt:hidden", "stream.txt_hidden"},
	} {
		if got := Filename(tc.in); got != tc.want {
			t.Errorf("Filename(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestLongFilenameKeepsItsEnding(t *testing.T) {
	for _, tc := range []struct{ in, ending string }{
		{strings.Repeat("x", 300) + ".txt", ".txt"},
		{strings.Repeat("見", 300) + ".tar.gz", ".tar.gz"},
		{strings.Repeat("x", 300), "x"},
	} {
		got := Filename(tc.in)
		if len(got) > maxName || !strings.HasSuffix(got, tc.ending) || Line(got) != got {
			t.Errorf("Filename = %q (%d bytes)", got, len(got))
		}
	}
}

// TestSaveAll writes the attachments of the case file as "save all" would.
func TestSaveAll(t *testing.T) {
	raw, err := os.ReadFile("testdata/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names Names
	saved := map[string]string{}
	for _, row := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		f := strings.Split(row, "\t")
		sent := f[1]
		if c, n, ok := strings.Cut(sent, "*300"); ok {
			sent = strings.Repeat(c, 300) + n
		} else if u, err := strconv.Unquote(`"` + strings.ReplaceAll(sent, `"`, `\"`) + `"`); err == nil {
			sent = u
		}
		name := names.Unique(sent)
		path := filepath.Join(dir, name)
		if filepath.Dir(path) != dir {
			t.Errorf("%q is saved outside as %q", sent, path)
		}
		if err := os.WriteFile(path, []byte("file "+f[0]), 0o600); err != nil {
			t.Error(err)
		}
		saved[strings.ToLower(name)] = f[0]
	}
	if len(saved) != 23 {
		t.Errorf("%d names that differ, want 23: %q", len(saved), saved)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 23 {
		t.Errorf("%d files, want 23", len(entries))
	}
	for name, no := range map[string]string{"same.txt": "18", "same (2).txt": "19", "same (3).txt": "20", "photogpj.exe": "23", "рахунок за березень.pdf": "15"} {
		if saved[name] != no {
			t.Errorf("%q holds file %q, want %s", name, saved[name], no)
		}
	}
}

func TestUniqueNameStaysShort(t *testing.T) {
	var n Names
	long := strings.Repeat("x", 300) + ".txt"
	first, second := n.Unique(long), n.Unique(long)
	if first == second || len(second) > maxName || !strings.HasSuffix(second, " (2).txt") {
		t.Errorf("%q and %q", first, second)
	}
}

func TestUniqueNameIgnoresCaseAndComposition(t *testing.T) {
	var n Names
	n.Add("CAFÉ.txt")
	if got := n.Unique("cafe\u0301.TXT"); got != "café (2).TXT" {
		t.Errorf("got %q", got)
	}
}

func TestAddress(t *testing.T) {
	for _, tc := range []struct{ name, email, row, full string }{
		{"Ada Byron", "ada@example.com", "Ada Byron", "Ada Byron <ada@example.com>"},
		{"", "ada@example.com", "ada@example.com", "ada@example.com"},
		{"ada@example.com", "ada@example.com", "ada@example.com", "ada@example.com"},
		{"Ada", "", "Ada", "Ada"},
		{`"Hopper, Grace"`, "grace@example.org", "Hopper, Grace", "Hopper, Grace <grace@example.org>"},
		{"Ana Müller", "ana@example.net", "Ana Müller", "Ana Müller <ana@example.net>"},
		{"山田太郎", "taro@example.jp", "山田太郎", "山田太郎 <taro@example.jp>"},
		{"Yamada 太郎", "taro@example.jp", "Yamada 太郎", "Yamada 太郎 <taro@example.jp>"},
		{"Мария Anna", "m@example.com", "Мария Anna", "Мария Anna <m@example.com>"},
		{"Bank\x1b[8m hidden\x1b[0m", "bank@example.com", "Bank hidden", "Bank hidden <bank@example.com>"},
		{"bank@example.com", "eve@example.net", "eve@example.net", `"bank@example.com" <eve@example.net>`},
		{"Bank <bank@example.com>", "eve@example.net", "eve@example.net", `"Bank (bank@example.com)" <eve@example.net>`},
		{"Bank bank＠example.com", "eve@example.net", "eve@example.net", `"Bank bank＠example.com" <eve@example.net>`},
		{"\u202emoc.elpmaxe@knab", "eve@example.net", "eve@example.net", `"moc.elpmaxe@knab" <eve@example.net>`},
		{"\u202emoc", "eve@example.net", "eve@example.net", "moc <eve@example.net>"},
		{"Раypal Support", "service@xn--pypal-4ve.example", "service@xn--pypal-4ve.example", "Раypal Support <service@xn--pypal-4ve.example>"},
		{"https://bank.example.com", "eve@example.net", "eve@example.net", "https://bank.example.com <eve@example.net>"},
		{"www.bank.example", "eve@example.net", "eve@example.net", "www.bank.example <eve@example.net>"},
		{" . ", "eve@example.net", "eve@example.net", ". <eve@example.net>"},
		{"Bank" + strings.Repeat(" ", 200) + "x", "eve@example.net", "Bank …", "Bank … <eve@example.net>"},
		{"Eve", "<eve@EXAMPLE.net>", "Eve", "Eve <eve@example.net>"},
		{"", "eve\r\nBcc: x@example.net", "eveBcc:x@example.net", "eveBcc:x@example.net"},
	} {
		row, full := Address(tc.name, tc.email)
		if row != tc.row || full != tc.full {
			t.Errorf("Address(%q, %q) = %q, %q, want %q, %q", tc.name, tc.email, row, full, tc.row, tc.full)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"Example.COM", "example.com"},
		{"xn--pypal-4ve.example", "xn--pypal-4ve.example"},
		{"p\u0430ypal.example", "xn--pypal-4ve.example"},
		{"xn--bnk-qla.example", "bänk.example"},
		{"xn--bnk-ooa.example", "xn--bnk-ooa.example"},
		{"bänk.example", "bänk.example"},
		{"\u0430\u0440\u0440\u04cf\u0435.com", "xn--80ak6aa92e.com"},
		{"почта.рф", "почта.рф"},
		{"почта.com", "почта.com"},
		{"例え.jp", "例え.jp"},
		{"ɡoogle.com", "xn--oogle-qmc.com"},
		{"xn--broken-.example", "xn--broken-.example"},
		{"a b.example", "ab.example"},
		{"", ""},
	} {
		if got := Domain(tc.in); got != tc.want {
			t.Errorf("Domain(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestLink(t *testing.T) {
	for _, tc := range []struct {
		in, target, scheme string
		open               bool
	}{
		{"https://example.org/a?b=c&d#e", "https://example.org/a?b=c&d#e", "https", true},
		{"https://bank.example.com@evil.example.net/", "https://evil.example.net/", "https", true},
		{"https://bank.example.com:443@evil.example.net", "https://evil.example.net", "https", true},
		{`https:\\evil.example.net\@bank.example.com`, "https://evil.example.net/@bank.example.com", "https", true},
		{"https:/evil.example.net", "https://evil.example.net", "https", true},
		{"https://xn--bnk-ooa.example/", "https://xn--bnk-ooa.example/", "https", true},
		{"https://bänk.example/ü", "https://xn--bnk-qla.example/%C3%BC", "https", true},
		{"https://p\u0430ypal.example", "https://xn--pypal-4ve.example", "https", true},
		{`  HTTPS://EXAMPLE.ORG/a b?q="x"&y=1#end `, "https://example.org/a%20b?q=%22x%22&y=1#end", "https", true},
		{"https://example.org/%zz", "https://example.org/%zz", "https", true},
		{"https://[::1]:8080/", "https://[::1]:8080/", "https", true},
		{"https://example.org:99999x/", "https://example.org:99999x/", "https", false},
		{"https://", "https://", "https", false},
		{"https://exa mple.org/", "https://exa mple.org/", "https", false},
		{"https://example.org/\x1b[31m\u202e", "https://example.org/%1B[31m%E2%80%AE", "https", true},
		{"//example.org/x", "https://example.org/x", "https", true},
		{"www.example.org", "http://www.example.org", "http", true},
		{"ht\ntps://example.org", "https://example.org", "https", true},
		{"javascript:alert(1)", "javascript:alert(1)", "javascript", false},
		{" java\tscript:alert(1)", "javascript:alert(1)", "javascript", false},
		{"data:text/html;base64,PGI+", "data:text/html;base64,PGI+", "data", false},
		{"file:///etc/passwd", "file:///etc/passwd", "file", false},
		{"vbscript:x", "vbscript:x", "vbscript", false},
		{"relative/page.html", "relative/page.html", "", false},
		{"#top", "#top", "", false},
		{"", "", "", false},
		{
			"mailto:grace@example.org?subject=Hi&body=Pay%20now&attach=/etc/passwd",
			"mailto:grace@example.org?subject=Hi&body=Pay%20now", "mailto", true,
		},
		{"MAILTO:grace@example.org?From=eve@example.net", "mailto:grace@example.org", "mailto", true},
		{"mailto:", "mailto:", "mailto", false},
	} {
		target, scheme, open := Link(tc.in)
		if target != tc.target || scheme != tc.scheme || open != tc.open {
			t.Errorf("Link(%q) = %q, %q, %v, want %q, %q, %v", tc.in, target, scheme, open, tc.target, tc.scheme, tc.open)
		}
	}
}

func TestHugeLinkIsNotOpened(t *testing.T) {
	target, _, open := Link("https://example.org/" + strings.Repeat("x", 1<<20))
	if open || len(target) > maxShown {
		t.Errorf("open %v, %d bytes shown", open, len(target))
	}
}
