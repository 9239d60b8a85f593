package keymap

import (
	"slices"
	"strings"
	"testing"
)

func mustNew(t *testing.T, preset string, over map[string]map[string][]string) *Map {
	t.Helper()
	m, err := New(preset, over)
	if err != nil {
		t.Fatalf("New(%q): %v", preset, err)
	}
	return m
}

func TestPresetsHaveNoConflicts(t *testing.T) {
	for _, p := range Presets() {
		mustNew(t, p, nil)
	}
}

func TestPresetKeysAreSpelledRight(t *testing.T) {
	for _, p := range Presets() {
		b, _ := preset(p)
		for ctx, acts := range b {
			for a, list := range acts {
				if in := infos[a]; in == nil || !in.in(ctx) {
					t.Errorf("%s: %s does not belong to %s", p, a, ctx)
				}
				got, errs := checkKeys(ctx, string(a), list)
				if len(errs) > 0 || !slices.Equal(got, list) {
					t.Errorf("%s %s %s: %q: %v", p, ctx, a, list, errs)
				}
			}
		}
	}
}

func TestEveryActionCanBeReached(t *testing.T) {
	for _, p := range Presets() {
		m := mustNew(t, p, nil)
		for _, in := range Actions() {
			if in.Short == "" || in.Long == "" || strings.HasSuffix(in.Long, ".") || !slices.Contains(groups, in.Group) {
				t.Errorf("%s: texts or group missing or ill-formed: %+v", in.Action, in)
			}
			reached := false
			for _, ctx := range Contexts() {
				reached = reached || len(m.Keys(ctx, in.Action)) > 0
			}
			if !reached {
				t.Errorf("%s: %s has no key anywhere", p, in.Action)
			}
		}
	}
}

// The keys that the documentation promises.
func TestDefaultKeys(t *testing.T) {
	m := mustNew(t, "", nil)
	if m.Preset() != "default" {
		t.Errorf("preset %q", m.Preset())
	}
	tests := []struct {
		ctx  Context
		keys string
		want Action
	}{
		{InThreads, "j", Down},
		{InThreads, "k", Up},
		{InThreads, "g g", Top},
		{InThreads, "G", Bottom},
		{InThreads, "enter", Open},
		{InThreads, "e", Archive},
		{InThreads, "#", Trash},
		{InThreads, "b", Snooze},
		{InThreads, "u", Unread},
		{InThreads, "s", Star},
		{InThreads, "l", Label},
		{InThreads, "m", Mute},
		{InThreads, "S", Spam},
		{InThreads, "r", Reply},
		{InThreads, "a", ReplyAll},
		{InThreads, "f", Forward},
		{InThreads, "c", Compose},
		{InThreads, "/", Search},
		{InThreads, "x", Select},
		{InReader, "n", NextMessage},
		{InReader, "p", PrevMessage},
		{InThreads, "z", Undo},
		{InReader, "z", Undo},
		{InThreads, "?", Help},
		{InThreads, "ctrl+k", Palette},
		{InThreads, ":", Palette},
		{InThreads, "!", Activity},
		{InOutbox, "!", Activity},
		{InCompose, "ctrl+d", Send},
		{InCompose, "alt+enter", Send},
		{InCompose, "ctrl+t", SendLater},
		{InCompose, "ctrl+s", Save},
		{InCompose, "ctrl+o", Editor},
		{InCompose, "ctrl+a", Attach},
		{InCompose, "alt+x", Palette},
		{InCompose, "esc", Back},
		{InCompose, "tab", NextField},
		{InSnooze, "1", SnoozePick},
		{InSnooze, "9", SnoozePick},
		{InSnooze, "enter", Accept},
		{InThreads, "g i", GoInbox},
		{InThreads, "g s", GoStarred},
		{InThreads, "g t", GoSent},
		{InThreads, "g d", GoDrafts},
		{InThreads, "g o", GoOutbox},
		{InThreads, "g z", GoSnoozed},
		{InThreads, "g a", GoArchive},
		{InThreads, "g #", GoTrash},
		{InThreads, " ", PageDown},
		{InLabels, " ", ToggleLabel},
	}
	for _, tt := range tests {
		var pending []string
		seq := strings.Fields(tt.keys)
		if tt.keys == " " {
			seq = []string{" "}
		}
		for i, k := range seq {
			a, s := m.Lookup(tt.ctx, pending, k)
			if i < len(seq)-1 {
				if s != Prefix {
					t.Errorf("%s %q: %q is no prefix", tt.ctx, tt.keys, k)
				}
				pending = append(pending, k)
				continue
			}
			if s != Match || a != tt.want {
				t.Errorf("%s %q = %v %q, want %q", tt.ctx, tt.keys, s, a, tt.want)
			}
		}
	}
}

func TestTextIsNeverAnAction(t *testing.T) {
	for _, p := range Presets() {
		m := mustNew(t, p, nil)
		for _, ctx := range Contexts() {
			if !ctx.Text() {
				continue
			}
			for r := rune(' '); r < 127; r++ {
				if strings.ContainsRune(textContexts[ctx], r) {
					continue
				}
				if a, s := m.Lookup(ctx, nil, string(r)); s != None {
					t.Errorf("%s: %s: typing %q does %q", p, ctx, r, a)
				}
			}
			for _, k := range []string{"backspace", "left", "right", "home", "end"} {
				if a, s := m.Lookup(ctx, nil, k); s != None {
					t.Errorf("%s: %s: editing with %q does %q", p, ctx, k, a)
				}
			}
		}
		for _, k := range []string{"enter", "ctrl+j", "up", "down"} {
			if a, s := m.Lookup(InCompose, nil, k); s != None {
				t.Errorf("%s: compose: %q does %q instead of editing", p, k, a)
			}
		}
	}
}

func TestNext(t *testing.T) {
	m := mustNew(t, "", nil)
	var got []string
	for _, h := range m.Next(InThreads, []string{"g"}) {
		got = append(got, h.Key+" "+h.Text)
	}
	for _, want := range []string{"g top", "i inbox", "t sent", "# trash"} {
		if !slices.Contains(got, want) {
			t.Errorf("after g: %q lacks %q", got, want)
		}
	}
	if n := m.Next(InThreads, []string{"g", "i"}); len(n) != 0 {
		t.Errorf("after a full sequence: %v", n)
	}
	if _, s := m.Lookup(InThreads, []string{"g"}, "Q"); s != None {
		t.Error("g Q means something")
	}
}

func TestHintsJoinNeighbours(t *testing.T) {
	m := mustNew(t, "", map[string]map[string][]string{"threads": {"archive": {}}})
	got := m.Hints(InThreads, Down, Up, Open, Archive, Snooze, Send)
	want := []Hint{{Down, "j k", "move"}, {Open, "enter", "open"}, {Snooze, "b", "snooze"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHelpShowsTheKeysInForce(t *testing.T) {
	m := mustNew(t, "gmail", map[string]map[string][]string{"threads": {"archive": {"ctrl+e", "F5"}}})
	for _, s := range m.Help(InThreads) {
		for _, it := range s.Items {
			if it.Action == Archive {
				if s.Title != "Threads" || !slices.Equal(it.Keys, []string{"ctrl+e", "f5"}) {
					t.Errorf("%s: %v", s.Title, it)
				}
				return
			}
		}
	}
	t.Error("archive is missing")
}

func TestOverrides(t *testing.T) {
	m := mustNew(t, "", map[string]map[string][]string{
		"threads": {"archive": {"d", "g e"}, "undo": {"U"}},
		"global":  {"undo": {"Z"}},
	})
	checks := []struct {
		ctx  Context
		key  string
		want Action
	}{
		{InThreads, "d", Archive},
		{InThreads, "e", ""},
		{InReader, "e", Archive},
		{InThreads, "U", Undo},
		{InThreads, "Z", ""},
		{InReader, "Z", Undo},
		{InReader, "z", ""},
	}
	for _, c := range checks {
		if a, _ := m.Lookup(c.ctx, nil, c.key); a != c.want {
			t.Errorf("%s %s = %q, want %q", c.ctx, c.key, a, c.want)
		}
	}
	if a, s := m.Lookup(InThreads, []string{"g"}, "e"); s != Match || a != Archive {
		t.Errorf("g e = %q", a)
	}
}

func TestRefusals(t *testing.T) {
	type over = map[string]map[string][]string
	tests := []struct {
		name   string
		preset string
		over   over
		want   []string
	}{
		{"preset", "emacs", nil, []string{"keys.preset", `"emacs"`, "default, gmail, mutt, aerc"}},
		{"context", "", over{"thread": {"archive": {"e"}}}, []string{"keys.thread: there is no such screen; did you mean threads? choose one of", "reader"}},
		{"action", "", over{"threads": {"archiv": {"e"}}}, []string{"keys.threads.archiv: there is no such action; did you mean archive? actions here"}},
		{"action like none", "", over{"threads": {"juggle": {"e"}}}, []string{"there is no such action; actions here"}},
		{"action elsewhere", "", over{"threads": {"send": {"ctrl+e"}}}, []string{"keys.threads.send", "it works in compose"}},
		{"key", "", over{"threads": {"archive": {"ctrl+enter"}}}, []string{"keys.threads.archive", `"ctrl+enter"`, "alt+enter"}},
		{"unknown key", "", over{"threads": {"archive": {"hyper+x"}}}, []string{`"hyper+x" is no key`, "shift+tab"}},
		{"empty key", "", over{"threads": {"archive": {""}}}, []string{"keys.threads.archive", "[]"}},
		{"too long", "", over{"threads": {"archive": {"a b c d e"}}}, []string{"4 at most"}},
		{"same screen", "", over{"threads": {"archive": {"s"}}}, []string{"keys.threads.archive: ", `"s"`, "star", "star = []"}},
		{"global", "", over{"threads": {"archive": {"z"}}}, []string{"keys.threads", "archive", "undo", "undo = []"}},
		{"global meets screens", "", over{"global": {"compose": {"e"}}}, []string{"keys.global.compose: ", "archive", "in threads", "archive = []"}},
		{"prefix", "", over{"threads": {"archive": {"g"}}}, []string{`"g" of archive is the beginning of`}},
		{"longer", "", over{"threads": {"archive": {"s s"}}}, []string{`"s" of star is the beginning of "s s" of archive`}},
		{"same action", "", over{"threads": {"archive": {"e", "e e"}}}, []string{`"e" of archive is the beginning of "e e" of archive`}},
		{"aliases", "", over{"threads": {"archive": {"ctrl+m"}}}, []string{`"enter"`, "archive", "open"}},
		{"text", "", over{"compose": {"send": {"S"}}}, []string{"keys.compose.send", "is text"}},
		{"blank in text", "", over{"compose": {"send": {"space x"}}}, []string{"is text"}},
		{"no way out", "", over{"threads": {"quit": {}}}, []string{"keys.threads.quit", "no way out"}},
		{"no way back", "", over{"compose": {"back": {}}}, []string{"keys.compose.back", "no way out"}},
		{"several", "", over{"threads": {"archiv": {"e"}}, "x": {"y": nil}}, []string{"keys.threads.archiv", "keys.x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := New(tt.preset, tt.over)
			if err == nil || m != nil {
				t.Fatal("accepted")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

// A clash of a global key with another global one is told once, not for every screen.
func TestGlobalClashIsToldOnce(t *testing.T) {
	_, err := New("", map[string]map[string][]string{"global": {"undo": {"R"}}})
	if err == nil || strings.Count(err.Error(), "undo and retry")+strings.Count(err.Error(), "retry and undo") > 1 {
		t.Errorf("got %v", err)
	}
}

func TestNormalize(t *testing.T) {
	good := map[string]string{
		"a": "a", "A": "A", "shift+a": "A", "é": "é", "#": "#", " ": "space", "SPACE": "space", "Enter": "enter",
		"return": "enter", "escape": "esc", "ctrl+A": "ctrl+a", "ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc",
		"ctrl+space": "ctrl+@", "alt+x": "alt+x", "ALT+Enter": "alt+enter", "alt+ctrl+k": "alt+ctrl+k", "PageDown": "pgdown",
		"F12": "f12", "ctrl+shift+up": "ctrl+shift+up", "+": "+", "alt++": "alt++", `ctrl+\`: `ctrl+\`, "alt+ ": "alt+space",
	}
	for in, want := range good {
		if got, err := Normalize(in); err != nil || got != want {
			t.Errorf("Normalize(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "ctrl+enter", "shift+enter", "ctrl+1", "f21", "ab", "alt+", "ctrl+", "\x1b", "\u202e", "\u0301", "g g", "meta+x", "shift+1", "\xff"} {
		if got, err := Normalize(in); err == nil {
			t.Errorf("Normalize(%q) = %q, want an error", in, got)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add("threads", "archive", "g e")
	f.Add("compose", "send", "ctrl+d")
	f.Fuzz(func(t *testing.T, ctx, action, key string) {
		m, err := New("", map[string]map[string][]string{ctx: {action: {key}}})
		if (m == nil) == (err == nil) {
			t.Fatal("neither a map nor an error")
		}
		if m == nil {
			return
		}
		for _, k := range m.Keys(Context(ctx), Action(action)) {
			seq := strings.Fields(k)
			if a, s := m.Lookup(Context(ctx), seq[:len(seq)-1], seq[len(seq)-1]); s != Match || a != Action(action) {
				t.Fatalf("%q is not found again: %v %q", k, s, a)
			}
		}
	})
}

// Keys that people bring along from the programs that the presets are named after.
func TestPresetsFollowTheirPrograms(t *testing.T) {
	for _, tt := range []struct {
		preset string
		ctx    Context
		keys   string
		want   Action
	}{
		{"gmail", InThreads, "I", MarkRead},
		{"gmail", InThreads, "U", MarkUnread},
		{"gmail", InReader, "U", MarkUnread},
		{"mutt", InThreads, "N", Unread},
		{"mutt", InThreads, "W N", MarkRead},
		{"mutt", InThreads, "w N", MarkUnread},
		{"mutt", InThreads, "l", Search},
		{"mutt", InThreads, "/", Search},
		{"mutt", InReader, "|", Pipe},
		{"mutt", InReader, "v", ViewAttachments},
		{"aerc", InReader, "|", Pipe},
		{"aerc", InThreads, "r q", ReplyAll},
		{"aerc", InThreads, "r r", ReplyAllPlain},
		{"aerc", InThreads, "R q", Reply},
		{"aerc", InThreads, "R r", ReplyPlain},
	} {
		var pending []string
		keys := strings.Fields(tt.keys)
		m := mustNew(t, tt.preset, nil)
		for i, k := range keys {
			got, found := m.Lookup(tt.ctx, pending, k)
			if last := i == len(keys)-1; last && (found != Match || got != tt.want) || !last && found != Prefix {
				t.Errorf("%s, %s: %q gives %q, want %q", tt.preset, tt.ctx, tt.keys, got, tt.want)
			}
			pending = append(pending, k)
		}
	}
}
