package ui

import (
	"slices"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/state"
)

func TestAddressParts(t *testing.T) {
	for in, want := range map[string][]string{
		"":                                 {""},
		"a@b.c, d@e.f":                     {"a@b.c", "d@e.f"},
		`"Hopper, Grace" <g@e.org>; x@y.z`: {`"Hopper, Grace" <g@e.org>`, "x@y.z"},
		`"a \" b, c" <x@y.z>, n`:           {`"a \" b, c" <x@y.z>`, "n"},
		`"never closed, a@b.c, d@e.f`:      {`"never closed`, "a@b.c", "d@e.f"},
		"Grace <g@e.org, x@y.z":            {"Grace <g@e.org", "x@y.z"},
		"a@b.c,":                           {"a@b.c", ""},
		"山田 <yamada@example.jp>, ü@example.org": {"山田 <yamada@example.jp>", "ü@example.org"},
	} {
		var got []string
		for _, p := range addressParts(in) {
			got = append(got, strings.TrimSpace(in[p[0]:p[1]]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("addressParts(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAddressLike(t *testing.T) {
	for in, want := range map[string]bool{
		"a@b.c": true, "Ada <a@b.c>": true, `"x, y" <a@b.c>`: true, "a@localhost": true, "ü@example.org": true,
		"": false, "ada": false, "@b.c": false, "a@": false, "Ada <a@b.c": false, "a b@c.d": false, "Ada <>": false, "Ada a@b.c": false,
	} {
		if got := addressLike(in); got != want {
			t.Errorf("addressLike(%q) = %v", in, got)
		}
	}
}

func TestWrittenAddress(t *testing.T) {
	for _, c := range []struct {
		in   state.Address
		want string
	}{
		{state.Address{Name: "Ada", Email: "a@b.c"}, "Ada <a@b.c>"},
		{state.Address{Email: "a@b.c"}, "a@b.c"},
		{state.Address{Name: "A@B.C", Email: "a@b.c"}, "a@b.c"},
		{state.Address{Name: "Hopper, Grace", Email: "a@b.c"}, `"Hopper, Grace" <a@b.c>`},
		{state.Address{Name: `Q "Z"`, Email: "a@b.c"}, `"Q \"Z\"" <a@b.c>`},
		{state.Address{Name: "x\x1b[31m\r\nBcc: y", Email: "a@b.c, evil@x.y"}, ""},
	} {
		got := writtenAddress(c.in)
		if c.want != "" && got != c.want {
			t.Errorf("writtenAddress(%v) = %q, want %q", c.in, got, c.want)
		}
		if strings.ContainsAny(got, "\r\n\x1b") || len(addressParts(got)) != 1 {
			t.Errorf("writtenAddress(%v) = %q is not one address", c.in, got)
		}
	}
}

func TestFieldView(t *testing.T) {
	th := NewTheme("", ColorsNone, false)
	long := strings.Repeat("abcdefghij", 20)
	for _, text := range []string{"", "short", long, "日本語日本語日本語日本語日本語日本語", "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", "e\u0301" + long, "x\u202ey"} {
		for _, width := range []int{1, 2, 10, 30} {
			e := newField(text)
			for _, at := range []int{0, len(text) / 2, len(text)} {
				e.moveTo(place{0, at})
				for _, focused := range []bool{true, false} {
					v := fieldView(e, th, width, focused)
					if w := cells.Width(sgr.ReplaceAllString(v, "")); w != width {
						t.Errorf("%q at %d, focused %v: %d cells of %d: %q", text, at, focused, w, width, v)
					}
					if focused && width > 2 && !strings.Contains(v, "\x1b[7m") {
						t.Errorf("%q at %d in %d cells: the cursor is not seen: %q", text, at, width, v)
					}
				}
			}
		}
	}
}

// Who gets a message is seen in full, else by name, and the rest is counted; no text is cut twice.
func TestAddressesRows(t *testing.T) {
	th := NewTheme("", ColorsNone, false)
	four := "Ada <ada@a.example>, Grace <grace@b.example>, lin@c.example, \"Ro, Ana\" <ana@d.example>"
	twenty := strings.TrimSuffix(strings.Repeat("Grace Hall <grace@b.example>, ", 20), ", ")
	for _, c := range []struct {
		text               string
		first, width, most int
		want               string
	}{
		{four, 90, 100, 3, four},
		{four, 60, 70, 3, "Ada <ada@a.example>, Grace <grace@b.example>, lin@c.example,|\"Ro, Ana\" <ana@d.example>"},
		{four, 60, 60, 1, `Ada, Grace, lin@c.example, "Ro, Ana"`},
		{four, 35, 35, 1, "Ada, Grace, lin@c.example  +1 more"},
		{four + ", ", 35, 35, 1, "Ada, Grace, lin@c.example  +1 more"},
		{four, 26, 40, 2, `Ada, Grace, lin@c.example,|"Ro, Ana"`},
		{four, 13, 13, 1, "Ada  +3 more"},
		{twenty, 40, 50, 3, "Grace Hall, Grace Hall, Grace Hall,|Grace Hall, Grace Hall, Grace Hall, Grace Hall,|Grace Hall, Grace Hall, Grace Hall  +10 more"},
		{"somebody@with.a.long.example", 20, 30, 3, "somebody@with.a.lon…"},
		{"somebody@with.a.long.example, else@with.a.long.example", 20, 20, 1, "somebody@with.a.lon…"},
		{"", 20, 20, 3, ""},
	} {
		var got []string
		for i, r := range addressesRows(newField(c.text), th, c.first, c.width, c.most) {
			r = sgr.ReplaceAllString(r, "")
			if want := []int{c.first, c.width}[min(i, 1)]; cells.Width(r) != want {
				t.Errorf("%q takes %d cells, want %d", r, cells.Width(r), want)
			}
			got = append(got, strings.TrimRight(r, " "))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("in %d and %d cells:\n got %q\nwant %q", c.first, c.width, s, c.want)
		}
	}
}

// With the keys a long field shows on which side there is more.
func TestFieldShowsWhereThereIsMore(t *testing.T) {
	th := NewTheme("", ColorsNone, false)
	text := strings.Repeat("abcdefghij", 6)
	for _, c := range []struct {
		at   int
		want string
	}{
		{0, "abcdefghijabcdefghi…"},
		{30, "…"},
		{60, "…"},
	} {
		e := newField(text)
		e.moveTo(place{0, c.at})
		got := sgr.ReplaceAllString(fieldView(e, th, 20, true), "")
		if !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, "…") != (c.at < 60) {
			t.Errorf("cursor at %d: %q", c.at, got)
		}
	}
	if got := sgr.ReplaceAllString(fieldView(newField("short"), th, 20, true), ""); strings.Contains(got, "…") {
		t.Errorf("%q", got)
	}
}

func FuzzAddressField(f *testing.F) {
	f.Add("Ada <a@b.c>, \"x, y", 3)
	f.Fuzz(func(t *testing.T, s string, at int) {
		e := newField(s)
		text := e.text()
		if strings.ContainsAny(text, "\n\t\r\x1b") {
			t.Fatalf("%q is not one line", text)
		}
		end := 0
		for _, p := range addressParts(text) {
			if p[0] < end || p[1] < p[0] || p[1] > len(text) {
				t.Fatalf("parts of %q overlap: %v", text, p)
			}
			end = p[1]
		}
		if at < 0 {
			at = -(at + 1)
		}
		e.moveTo(place{0, at % (len(text) + 1)})
		a, z := addressAt(text, e.cur.col)
		if a > z || z > len(text) {
			t.Fatalf("addressAt(%q, %d) = %d, %d", text, e.cur.col, a, z)
		}
		if w := cells.Width(sgr.ReplaceAllString(fieldView(e, NewTheme("", ColorsNone, false), 20, true), "")); w != 20 {
			t.Fatalf("%q takes %d cells", text, w)
		}
	})
}
