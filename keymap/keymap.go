// Package keymap holds the keys as data: the actions, the contexts in which they can be done,
// the presets, a person's overrides, and the help that follows from them. It knows no terminal
// library; the names of keys are those of Bubble Tea v1 key messages, with "space" for a blank.
package keymap

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// State says what a key means after the keys that are pending.
type State int

// What Lookup can find.
const (
	None   State = iota // nothing begins with these keys
	Prefix              // more keys must follow; Next says which
	Match               // the action is complete
)

// Map is one set of keys in force. It does not change and may be used by several goroutines.
type Map struct {
	preset string
	// eff holds, for each context, the keys in force there, the global ones included.
	eff map[Context]map[Action][][]string
	// byKeys finds the action of a full sequence, prefixes the sequences that go on.
	byKeys   map[Context]map[string]Action
	prefixes map[Context]map[string]bool
}

// Error is one thing wrong with a person's keys.
type Error struct {
	Context string // the context as written; empty when the preset is wrong
	Action  string // the action as written; may be empty
	What    string // what is wrong
	Mend    string // the way out
}

// Error returns one or two sentences with the place, the fault and the way out.
func (e *Error) Error() string {
	where := "keys"
	if e.Context != "" {
		where += "." + e.Context
	}
	if e.Action != "" {
		where += "." + e.Action
	}
	s := where + ": " + e.What
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// New returns the keys of a preset ("" is the default one) with a person's overrides: context
// to action to the list of keys, which replaces the action's keys in that context (an empty
// list unbinds). A global action may be given other keys in one context. The error joins every
// *Error found, in a fixed order.
func New(presetName string, overrides map[string]map[string][]string) (*Map, error) {
	b, ok := preset(presetName)
	if !ok {
		return nil, &Error{
			Action: "preset", What: fmt.Sprintf("there is no preset %q", presetName),
			Mend: meant(presetName, Presets()) + "choose one of " + strings.Join(Presets(), ", "),
		}
	}
	if presetName == "" {
		presetName = "default"
	}
	var errs []error
	over := map[Context]map[Action]bool{}
	for _, ctxName := range slices.Sorted(maps.Keys(overrides)) {
		ctx := Context(ctxName)
		if !slices.Contains(contexts, ctx) {
			errs = append(errs, &Error{
				Context: ctxName, What: "there is no such screen",
				Mend: meant(ctxName, contexts) + "choose one of " + join(contexts),
			})
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(overrides[ctxName])) {
			in, known := infos[Action(name)]
			if !known || !in.in(ctx) {
				e := &Error{
					Context: ctxName, Action: name, What: "there is no such action",
					Mend: meant(name, actionsOf(ctx)) + "actions here: " + join(actionsOf(ctx)),
				}
				if known {
					e.What, e.Mend = "this action does not belong here", "it works in "+join(in.Contexts)
				}
				errs = append(errs, e)
				continue
			}
			list, bad := checkKeys(ctx, name, overrides[ctxName][name])
			if len(bad) > 0 {
				errs = append(errs, bad...)
				continue
			}
			if over[ctx] == nil {
				over[ctx] = map[Action]bool{}
			}
			over[ctx][Action(name)] = true
			b.set([]Context{ctx}, map[Action][]string{Action(name): list})
		}
	}
	m, bad := build(presetName, b, over)
	errs = append(errs, bad...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return m, nil
}

func checkKeys(ctx Context, action string, list []string) (out []string, errs []error) {
	for _, s := range list {
		seq, err := parseSequence(s)
		if err != nil {
			errs = append(errs, &Error{Context: string(ctx), Action: action, What: err.Error()})
			continue
		}
		if c, isText := plain(seq[0]); isText && ctx.Text() && !strings.Contains(textContexts[ctx], c) {
			errs = append(errs, &Error{
				Context: string(ctx), Action: action,
				What: fmt.Sprintf("%q is text there, so it cannot be a key", s),
				Mend: "use a key with ctrl+ or alt+, or a function key",
			})
			continue
		}
		if k := strings.Join(seq, " "); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out, errs
}

// build makes the keys in force and finds what contradicts itself. over marks what a person
// set, so that a message can say which of the two actions to change.
func build(name string, b bindings, over map[Context]map[Action]bool) (*Map, []error) {
	m := &Map{
		preset:   name,
		eff:      map[Context]map[Action][][]string{},
		byKeys:   map[Context]map[string]Action{},
		prefixes: map[Context]map[string]bool{},
	}
	var errs []error
	reported := map[string]bool{}
	for _, ctx := range contexts {
		m.eff[ctx] = map[Action][][]string{}
		m.byKeys[ctx] = map[string]Action{}
		m.prefixes[ctx] = map[string]bool{}
		for _, a := range actionsOf(ctx) {
			list, own := b[ctx][a]
			if !own && !ctx.Text() {
				list = b[InGlobal][a]
			}
			for _, s := range list {
				m.eff[ctx][a] = append(m.eff[ctx][a], strings.Fields(s))
			}
		}
		type bound struct {
			action Action
			keys   []string
		}
		var flat []bound
		for _, a := range actionsOf(ctx) {
			for _, seq := range m.eff[ctx][a] {
				flat = append(flat, bound{a, seq})
			}
		}
		for i, x := range flat {
			for _, y := range flat[i+1:] {
				if !hasPrefix(x.keys, y.keys) && !hasPrefix(y.keys, x.keys) {
					continue
				}
				if x.action == y.action && len(x.keys) == len(y.keys) {
					continue
				}
				// A global clash shows in every context; it is told once.
				id := fmt.Sprint(x, y)
				if reported[id] {
					continue
				}
				reported[id] = true
				errs = append(errs, clash(ctx, x.action, x.keys, y.action, y.keys, over))
			}
			m.byKeys[ctx][strings.Join(x.keys, " ")] = x.action
			for n := 1; n < len(x.keys); n++ {
				m.prefixes[ctx][strings.Join(x.keys[:n], " ")] = true
			}
		}
		must := Quit
		if ctx.Text() {
			must = Back
		}
		if len(m.eff[ctx][must]) == 0 {
			errs = append(errs, &Error{
				Context: string(ctx), Action: string(must), What: "no key is left for it, and so no way out",
				Mend: "leave it at least one key",
			})
		}
	}
	return m, errs
}

func clash(ctx Context, a Action, ak []string, b Action, bk []string, over map[Context]map[Action]bool) error {
	as, bs := strings.Join(ak, " "), strings.Join(bk, " ")
	what := fmt.Sprintf("%q is given to both %s and %s", as, a, b)
	if as != bs {
		if len(ak) > len(bk) {
			a, b, as, bs = b, a, bs, as
		}
		what = fmt.Sprintf("%q of %s is the beginning of %q of %s", as, a, bs, b)
	}
	// The one to move is the one that the person did not just set.
	set, move := a, b
	if over[ctx][b] && !over[ctx][a] || over[InGlobal][b] && !over[InGlobal][a] && !over[ctx][a] {
		set, move = b, a
	}
	place := ctx
	if !over[ctx][set] && over[InGlobal][set] && ctx != InGlobal {
		place, what = InGlobal, what+" in "+string(ctx)
	}
	return &Error{
		Context: string(place), Action: string(set), What: what,
		Mend: fmt.Sprintf("give one of them another key: under [keys.%s] write for example %s = [\"f5\"], or %s = [] to do without", ctx, move, move),
	}
}

func hasPrefix(long, short []string) bool {
	return len(short) <= len(long) && slices.Equal(long[:len(short)], short)
}

// Preset returns the name of the preset the map was made from.
func (m *Map) Preset() string { return m.preset }

// Lookup says what key means in the context when pending (the keys of an unfinished sequence)
// came before it. The key is the name of a Bubble Tea key message; a blank is taken as "space".
func (m *Map) Lookup(ctx Context, pending []string, key string) (Action, State) {
	seq := fromTerminal(key)
	if len(pending) > 0 {
		seq = strings.Join(pending, " ") + " " + seq
	}
	if a, ok := m.byKeys[ctx][seq]; ok {
		return a, Match
	}
	if m.prefixes[ctx][seq] {
		return "", Prefix
	}
	return "", None
}

// Hint is a key and what it does, for a line of hints.
type Hint struct {
	Action Action
	Key    string // one key, or several with blanks between
	Text   string // the short text of the action
}

// Next returns what may follow the pending keys, in the order of the help.
func (m *Map) Next(ctx Context, pending []string) []Hint {
	var out []Hint
	for _, a := range actionsOf(ctx) {
		for _, seq := range m.eff[ctx][a] {
			if len(seq) > len(pending) && hasPrefix(seq, pending) {
				out = append(out, Hint{a, strings.Join(seq[len(pending):], " "), infos[a].Short})
			}
		}
	}
	return out
}

// Keys returns the keys of the action in the context, the preferred first; none when it is
// unbound or does not belong there.
func (m *Map) Keys(ctx Context, a Action) []string {
	var out []string
	for _, seq := range m.eff[ctx][a] {
		out = append(out, strings.Join(seq, " "))
	}
	return out
}

// Hints returns the preferred key and the short text of each action that has a key in the
// context. Neighbours with the same text become one hint: "j k", "move".
func (m *Map) Hints(ctx Context, actions ...Action) []Hint {
	var out []Hint
	for _, a := range actions {
		seqs := m.eff[ctx][a]
		if len(seqs) == 0 {
			continue
		}
		h := Hint{a, strings.Join(seqs[0], " "), infos[a].Short}
		if n := len(out); n > 0 && out[n-1].Text == h.Text {
			out[n-1].Key += " " + h.Key
			continue
		}
		out = append(out, h)
	}
	return out
}

// Item is one line of the help.
type Item struct {
	Action Action
	Keys   []string // empty when the action has no key
	Short  string
	Long   string
}

// Section is one heading of the help with its lines.
type Section struct {
	Title string
	Items []Item
}

// Help returns the actions of the context by heading, those without a key included so that
// a person sees what could be bound.
func (m *Map) Help(ctx Context) []Section {
	var out []Section
	for _, g := range groups {
		s := Section{Title: g}
		for _, a := range actionsOf(ctx) {
			if in := infos[a]; in.Group == g {
				s.Items = append(s.Items, Item{a, m.Keys(ctx, a), in.Short, in.Long})
			}
		}
		if len(s.Items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Available returns the actions that can be done in the context, the global ones included,
// in the order of the help: what a palette lists.
func (m *Map) Available(ctx Context) []Info {
	var out []Info
	for _, a := range actionsOf(ctx) {
		out = append(out, *infos[a])
	}
	return out
}

var byContext = func() map[Context][]Action {
	m := map[Context][]Action{}
	for _, ctx := range contexts {
		for i := range table {
			if table[i].in(ctx) {
				m[ctx] = append(m[ctx], table[i].Action)
			}
		}
	}
	return m
}()

func actionsOf(ctx Context) []Action { return byContext[ctx] }

// meant asks after the one of the list that name is a slip of; nothing when there is none.
func meant[T ~string](name string, list []T) string {
	best, least := "", max(1, len(name)/3)+1
	for _, v := range list {
		if d := distance(name, string(v)); d < least {
			best, least = string(v), d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? ", best)
}

// distance counts the letters to add, drop or change that make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func join[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}
