package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is how a value behaves in Go.
type kind int

const (
	kindText kind = iota // its zero value stands for absent
	kindNumber
	kindFlag
	kindTime
	kindList
	kindMap
	kindStruct
	kindOpen
)

// generator holds the contract and what was found out about it.
type generator struct {
	ops      []operation
	shapes   map[string]*shape
	order    []*shape
	inBody   map[string]bool     // reachable from a request body
	inAnswer map[string]bool     // reachable from an answer
	patch    map[string]bool     // bodies in which unset, null and zero differ
	usedBy   map[string][]string // what a shape is of: operations, else shapes
	hand     map[string]bool     // identifiers declared by hand, methods as "T.Method"
	declared map[string]string   // generated identifiers, and what they stand for
	err      error
}

func newGenerator(ops []operation, order []*shape, hand map[string]bool) *generator {
	g := &generator{
		ops: ops, order: order, hand: hand, shapes: make(map[string]*shape),
		inBody: make(map[string]bool), inAnswer: make(map[string]bool), patch: make(map[string]bool), usedBy: make(map[string][]string), declared: make(map[string]string),
	}
	for _, s := range order {
		g.shapes[s.name] = s
	}
	for _, o := range ops {
		for _, name := range names(o.body) {
			g.reach(g.inBody, name)
			if s := g.shapes[name]; s != nil && (o.verb == "PATCH" || o.verb == "PUT") {
				g.patch[name] = true
			}
			g.usedBy[name] = append(g.usedBy[name], "the body of "+o.name)
		}
		for _, name := range names(o.answer) {
			g.reach(g.inAnswer, name)
			g.usedBy[name] = append(g.usedBy[name], "the answer of "+o.name)
		}
	}
	g.spreadPatches()
	for _, s := range order {
		for _, f := range s.fields {
			for _, name := range names(f.typ) {
				if len(g.usedBy[name]) == 0 || !strings.HasPrefix(g.usedBy[name][0], "the ") {
					g.usedBy[name] = append(g.usedBy[name], typeName(s.name))
				}
			}
		}
	}
	return g
}

// spreadPatches treats what a patch holds like the patch itself.
func (g *generator) spreadPatches() {
	for again := true; again; {
		again = false
		for _, s := range g.order {
			if !g.patch[s.name] {
				continue
			}
			for _, f := range s.fields {
				typ, _ := nullable(f.typ)
				if inner := g.shapes[typ]; inner != nil && inner.alias() == "" && !g.patch[typ] && !f.required {
					g.patch[typ], again = true, true
				}
			}
		}
	}
}

func (g *generator) reach(set map[string]bool, name string) {
	s := g.shapes[name]
	if s == nil || set[name] {
		return
	}
	set[name] = true
	for _, f := range s.fields {
		for _, inner := range names(f.typ) {
			g.reach(set, inner)
		}
	}
}

func (g *generator) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// declare notes a generated identifier. Two that clash are an error.
func (g *generator) declare(name, what string) {
	if g.hand[name] {
		g.fail("%s (%s) is already written by hand", name, what)
	}
	if other, ok := g.declared[name]; ok && other != what {
		g.fail("%s stands for %s and for %s", name, other, what)
	}
	g.declared[name] = what
}

func (g *generator) isDeleted(s *shape) bool {
	return len(s.fields) == 3 && s.fields[0].name == "object" && s.fields[1].name == "id" && s.fields[2].name == "deleted"
}

// typeOf gives the Go type and kind of a type of the contract, null apart. owner
// names a type for the values listed in place.
func (g *generator) typeOf(typ, owner string, body bool) (string, kind) {
	typ, _ = nullable(typ)
	all := alternatives(typ)
	switch {
	case len(all) == 2 && all[1] == "["+all[0]+"]": // one, or several
		t, _ := g.typeOf(all[0], owner, body)
		return "[]" + t, kindList
	case len(all) == 2 && all[1] == `["*"]`:
		return g.typeOf(all[0], owner, body)
	case len(all) == 2 && all[1] == "string" && g.shapes[all[0]] != nil: // an enum that says that it is open
		return g.typeOf(all[0], owner, body)
	case typ == "EmailTrackingSummary|TrackingSummary":
		return "TrackingSummary", kindStruct
	case len(all) > 1 && quoted(typ) != nil:
		return owner, kindText
	case len(all) > 1:
		return "Open", kindOpen
	}
	switch {
	case typ == "string":
		return "string", kindText
	case typ == "int":
		return "int", kindNumber
	case typ == "number":
		return "float64", kindNumber
	case typ == "bool", typ == "true", typ == "false":
		return "bool", kindFlag
	case typ == "instant" && body:
		return "Instant", kindTime
	case typ == "instant":
		return "time.Time", kindTime
	case strings.HasPrefix(typ, `"`):
		return "string", kindText
	case strings.HasPrefix(typ, "["):
		t, _ := g.typeOf(typ[1:len(typ)-1], owner, body)
		return "[]" + t, kindList
	case typ == "{string:any}" && body:
		return "map[string]any", kindMap
	case strings.HasPrefix(typ, "{string:"):
		t, _ := g.typeOf(typ[len("{string:"):len(typ)-1], owner, body)
		return "map[string]" + t, kindMap
	}
	s := g.shapes[typ]
	if s == nil {
		return "Open", kindOpen // any, null, and what the contract names but does not describe
	}
	if g.isDeleted(s) {
		return "Deleted", kindStruct
	}
	name := typeName(typ)
	switch is := s.alias(); {
	case typ == "SettingsResource", typ == "FormSubscribeValues":
		return name, kindMap
	case typ == "MessageResource", is == "", handTypes[typ] && quoted(is) == nil:
		return name, kindStruct
	case quoted(is) != nil, typ == "Permission", typ == "BillingUsageWindow":
		return name, kindText
	case isIntegers(is):
		return name, kindNumber
	case strings.HasPrefix(is, "{"):
		return name, kindMap
	default:
		return name, kindStruct
	}
}

func isIntegers(typ string) bool {
	return strings.Trim(typ, "0123456789|") == ""
}

// instantFields are strings of answers that hold an instant.
var instantFields = map[string]bool{
	"createdAt": true, "start": true, "end": true, "since": true, "until": true, "at": true, "receivedOn": true, "cancellableUntil": true,
	"elevatedUntil": true, "accessUntil": true, "snoozedUntil": true,
}

func isInstant(s *shape, f field) bool {
	if t, _ := nullable(f.typ); t != "string" {
		return false
	}
	if s.name == "MailboxInsightsResource" && (f.name == "from" || f.name == "to") {
		return true
	}
	return instantFields[f.name] || strings.HasSuffix(f.name, "At")
}

// unitOf is the named number type of a field that is a length of time.
func unitOf(s *shape, f field) string {
	switch {
	case strings.HasSuffix(f.name, "Ms"):
		return "Milliseconds"
	case f.name == "medianTimeToOpenSeconds", f.name == "cancellableForSeconds":
		return "Seconds"
	case f.name == "ttlMinutes", f.name == "expiresInMinutes", f.name == "minutes" && s.name == "StepUpStatusResource":
		return "Minutes"
	}
	return ""
}

func isBytes(f field) bool {
	lower := strings.ToLower(f.name)
	return strings.HasSuffix(lower, "bytes") || lower == "size"
}

// goField is a field of a generated struct.
type goField struct {
	name, typ, tag, comment string
	list, mapped            bool // a required list or map: never sent as null
}

// line writes the field.
func (f goField) line() string {
	s := "\t" + f.name + " " + f.typ + " " + f.tag
	if f.comment != "" {
		s += " // " + f.comment
	}
	return s + "\n"
}

func (g *generator) goField(s *shape, f field) goField {
	body := g.inBody[s.name]
	inline := typeName(s.name) + goName(f.name)
	typ, isNull := nullable(f.typ)
	if isInstant(s, f) {
		typ = "instant"
	}
	t, k := g.typeOf(typ, inline, body)
	if g.inAnswer[s.name] && t == "map[string]any" {
		t = "map[string]Open"
	}
	if t == inline && len(quoted(typ)) > 1 {
		g.declare(inline, "the values of "+s.name+"."+f.name)
	}
	unit := ""
	switch {
	case unitOf(s, f) != "":
		t = unitOf(s, f)
	case t == "int" && isBytes(f):
		t, unit = "int64", "bytes"
	}
	out := goField{name: goName(f.name), typ: t}
	if f.name == "data" && slices.ContainsFunc(s.fields, func(o field) bool { return o.typ == `"list"` }) {
		out.name = "Items"
	}
	note := ""
	tag := f.name
	switch {
	case body && f.required && !isNull:
		out.list, out.mapped = k == kindList, k == kindMap
		note = "required"
		if g.inAnswer[s.name] {
			note = ""
		}
	case body && f.required:
		note = "nil: null"
		if k != kindList && k != kindMap {
			out.typ = "*" + t
		}
	case body && (isNull || g.patch[s.name] || k == kindNumber || k == kindFlag):
		out.typ, tag = "Opt["+t+"]", tag+",omitzero"
	case body && k == kindStruct:
		out.typ, tag, note = "*"+t, tag+",omitempty", "nil: left out"
	case body && (k == kindList || k == kindMap):
		tag, note = tag+",omitzero", "nil: left out"
	case body && k == kindTime:
		tag, note = tag+",omitzero", "zero: left out"
	case body && k == kindOpen:
		tag, note = tag+",omitempty", "nil: left out"
	case body:
		tag, note = tag+",omitempty", "empty: left out"
	case isNull || !f.required:
		if !f.required {
			tag += ",omitempty"
		}
		switch k {
		case kindNumber, kindFlag, kindTime, kindStruct:
			out.typ, note = "*"+t, "nil: none"
		case kindText:
			note = "empty: none"
		default:
			note = "nil: null or absent"
		}
	}
	out.tag = "`json:\"" + tag + "\"`"
	var notes []string
	for _, n := range []string{fieldWords[f.name], unit, note} {
		if n != "" {
			notes = append(notes, n)
		}
	}
	out.comment = strings.Join(notes, "; ")
	return out
}

// listItem gives the item of a shape that is nothing but a plain list.
func (g *generator) listItem(name string) (string, bool) {
	s := g.shapes[name]
	if s == nil || len(s.fields) != 2 || s.fields[0].name != "object" || s.fields[1].name != "data" {
		return "", false
	}
	return s.fields[1].typ[1 : len(s.fields[1].typ)-1], true
}

// discriminator finds the field that tells the variants of a union apart.
func (g *generator) discriminator(variants []string) string {
	for _, f := range g.shapes[variants[0]].fields {
		every := true
		for _, v := range variants {
			i := slices.IndexFunc(g.shapes[v].fields, func(o field) bool { return o.name == f.name })
			every = every && i >= 0 && len(quoted(g.shapes[v].fields[i].typ)) == 1
		}
		if every {
			return f.name
		}
	}
	return ""
}

// unions maps each variant of a union to the field that tells it apart.
func (g *generator) unions() map[string]string {
	out := make(map[string]string)
	for _, s := range g.order {
		if variants := alternatives(s.alias()); len(variants) > 1 && !handTypes[s.name] && g.areStructs(variants) {
			d := g.discriminator(variants)
			if d == "" {
				g.fail("the union %s has no field that tells its variants apart", s.name)
			}
			for _, v := range variants {
				out[v] = d
			}
		}
	}
	return out
}

func (g *generator) areStructs(list []string) bool {
	for _, v := range list {
		if s := g.shapes[v]; s == nil || s.alias() != "" {
			return false
		}
	}
	return true
}

// shapesFile writes the types of all shapes.
func (g *generator) shapesFile() string {
	var b strings.Builder
	unions := g.unions()
	keyed := make(map[string]bool)
	for _, o := range g.ops {
		if o.key {
			keyed[o.answer] = true
		}
	}
	list := slices.SortedFunc(maps.Values(g.shapes), func(a, b *shape) int {
		return strings.Compare(typeName(a.name), typeName(b.name))
	})
	for _, s := range list {
		if handTypes[s.name] || plainShapes[s.name] || g.isDeleted(s) {
			continue
		}
		if _, ok := g.listItem(s.name); ok {
			continue
		}
		g.declare(typeName(s.name), "shape "+s.name)
		switch is := s.alias(); {
		case is == "":
			g.structType(&b, s, unions[s.name], keyed[s.name])
		case quoted(is) != nil:
			g.enumType(&b, typeName(s.name), fmt.Sprintf("%s is %s. Unknown values are kept.", typeName(s.name), g.of(s)), quoted(is))
		case isIntegers(is):
			g.intType(&b, s, strings.Split(is, "|"))
		default:
			g.aliasType(&b, s, is)
		}
	}
	return b.String()
}

func (g *generator) aliasType(b *strings.Builder, s *shape, is string) {
	name := typeName(s.name)
	variants := alternatives(is)
	switch {
	case len(variants) > 1 && g.areStructs(variants):
		g.unionType(b, s, variants)
	case s.name == "Permission":
		fmt.Fprintf(b, "// Permission is an APIScope, a ConsolePermission or something newer: %s.\ntype %s string\n\n", g.of(s), name)
	case s.name == "BillingUsageWindow":
		fmt.Fprintf(b, "// %s is a number of days, or \"all\".\ntype %s string\n\n// The known values of %s.\nconst %sAll %s = \"all\"\n\n", name, name, name, name, name)
	case strings.HasPrefix(is, "{string:"):
		t, _ := g.typeOf(is, name, false)
		open := ""
		if strings.HasSuffix(is, "any}") {
			open = " The contract leaves what is in it open."
		}
		fmt.Fprintf(b, "// %s is %s.%s\ntype %s %s\n\n", name, g.of(s), open, name, t)
	case g.shapes[is] != nil:
		fmt.Fprintf(b, "// %s is %s, with the fields of %s.\ntype %s = %s\n\n", name, g.of(s), typeName(is), name, typeName(is))
	default:
		g.fail("the shape %s is a %s, which nothing is known of", s.name, is)
	}
}

// of says where a shape is used, and what it is called there.
func (g *generator) of(s *shape) string {
	list := slices.Compact(slices.Clone(g.usedBy[s.name]))
	switch len(list) {
	case 0:
		return "shape " + s.name
	case 1, 2:
		return "shape " + s.name + ", in " + strings.Join(list, " and ")
	}
	return fmt.Sprintf("shape %s, in %s, %s and %d more", s.name, list[0], list[1], len(list)-2)
}

// typeDoc says what a struct is.
func (g *generator) typeDoc(s *shape) string {
	name := typeName(s.name)
	var bodies, answers []string
	for _, u := range g.usedBy[s.name] {
		if op, ok := strings.CutPrefix(u, "the body of "); ok {
			bodies = append(bodies, op)
		}
		if op, ok := strings.CutPrefix(u, "the answer of "); ok {
			answers = append(answers, op)
		}
	}
	switch {
	case len(bodies) > 0 && g.patch[s.name]:
		return fmt.Sprintf("%s is the body of %s, shape %s. What is left zero stays as it is.", name, strings.Join(bodies, " and "), s.name)
	case len(bodies) > 0:
		return fmt.Sprintf("%s is the body of %s, shape %s.", name, strings.Join(bodies, " and "), s.name)
	case len(answers) == 1:
		return fmt.Sprintf("%s is the answer of %s, shape %s.", name, answers[0], s.name)
	}
	return fmt.Sprintf("%s is %s.", name, g.of(s))
}

func (g *generator) structType(b *strings.Builder, s *shape, discriminator string, keyed bool) {
	name := typeName(s.name)
	fmt.Fprintf(b, "// %s\ntype %s struct {\n", g.typeDoc(s), name)
	var lists, mapped []string
	type inline struct {
		field string
		f     field
	}
	var inlines []inline
	for _, f := range s.fields {
		// A name that says only what the Go type says is left out.
		if f.name == discriminator || f.name == "object" && !g.inBody[s.name] && len(quoted(f.typ)) == 1 {
			continue
		}
		gf := g.goField(s, f)
		b.WriteString(gf.line())
		if gf.list {
			lists = append(lists, gf.name)
		}
		if gf.mapped {
			mapped = append(mapped, gf.name)
		}
		if strings.Contains(gf.typ, name+goName(f.name)) {
			if t, _ := nullable(f.typ); len(quoted(t)) > 1 {
				inlines = append(inlines, inline{name + goName(f.name), f})
			}
		}
	}
	if keyed {
		b.WriteString("\t// IdempotencyKey is the key that the call went out under.\n\tIdempotencyKey string `json:\"-\"`\n")
	}
	b.WriteString("}\n\n")
	if len(lists)+len(mapped) > 0 {
		fmt.Fprintf(b, "// MarshalJSON writes the JSON form. A required list is never null.\nfunc (v %s) MarshalJSON() ([]byte, error) {\n\ttype plain %s\n", name, name)
		for _, l := range lists {
			fmt.Fprintf(b, "\tnotNil(&v.%s)\n", l)
		}
		for _, m := range mapped {
			fmt.Fprintf(b, "\tnotNilMap(&v.%s)\n", m)
		}
		b.WriteString("\treturn marshalPlain(plain(v))\n}\n\n")
	}
	for _, in := range inlines {
		t, _ := nullable(in.f.typ)
		g.enumType(b, in.field, fmt.Sprintf("%s is what %s.%s holds. Unknown values are kept.", in.field, name, goName(in.f.name)), quoted(t))
	}
}

func (g *generator) enumType(b *strings.Builder, name, doc string, values []string) {
	fmt.Fprintf(b, "// %s\ntype %s string\n\n// The known values of %s.\nconst (\n", doc, name, name)
	for _, v := range values {
		c := name + goName(v)
		if v == "*" {
			c = name + "All"
		}
		g.declare(c, "the value "+v+" of "+name)
		fmt.Fprintf(b, "\t%s %s = %q\n", c, name, v)
	}
	b.WriteString(")\n\n")
}

func (g *generator) intType(b *strings.Builder, s *shape, values []string) {
	name := typeName(s.name)
	fmt.Fprintf(b, "// %s is %s. Unknown values are kept.\ntype %s int\n\n// The known values of %s.\nconst (\n", name, g.of(s), name, name)
	slices.Sort(values)
	for _, v := range values {
		g.declare(name+v, "the value "+v+" of "+name)
		fmt.Fprintf(b, "\t%s%s %s = %s\n", name, v, name, v)
	}
	b.WriteString(")\n\n")
}

func (g *generator) unionType(b *strings.Builder, s *shape, variants []string) {
	name := typeName(s.name)
	d := g.discriminator(variants)
	fmt.Fprintf(b, "// %s is %s. One of its fields is set, which on the wire shows in %q.\ntype %s struct {\n", name, g.of(s), d, name)
	var list strings.Builder
	suffix := words(s.name)[len(words(s.name))-1]
	for _, v := range variants {
		w := words(v)
		w = w[1:]
		if len(w) > 1 && w[len(w)-1] == suffix {
			w = w[:len(w)-1]
		}
		fieldName := goName(strings.Join(w, "-"))
		value := ""
		for _, f := range g.shapes[v].fields {
			if f.name == d {
				value = quoted(f.typ)[0]
			}
		}
		fmt.Fprintf(b, "\t%s *%s // %q\n", fieldName, typeName(v), value)
		fmt.Fprintf(&list, "{%q, &u.%s}, ", value, fieldName)
	}
	fmt.Fprintf(b, "\tOther Open // a variant that this package does not know, as it came\n}\n\n")
	fmt.Fprintf(b, "func (u *%s) variants() []variant {\n\treturn []variant{%s}\n}\n\n", name, strings.TrimSuffix(list.String(), ", "))
	fmt.Fprintf(b, "// MarshalJSON writes the variant that is set.\nfunc (u %s) MarshalJSON() ([]byte, error) { return marshalUnion(%q, u.Other, u.variants()) }\n\n", name, d)
	fmt.Fprintf(b, "// UnmarshalJSON reads the variant that the JSON names.\nfunc (u *%s) UnmarshalJSON(b []byte) error {\n\t*u = %s{}\n\treturn unmarshalUnion(%q, b, &u.Other, u.variants())\n}\n\n", name, name, d)
}
