package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFileBytes is the most that is read of a configuration file.
const maxFileBytes = 1 << 20

// raw is the file as written. Pointers tell what was left out. The tag like is an example of a
// value, for messages.
type raw struct {
	DefaultAccount *string                `toml:"default_account" like:"work"`
	Accounts       map[string]*rawAccount `toml:"accounts"`
	Keys           map[string]any         `toml:"keys"`
	UI             struct {
		Theme          *string   `toml:"theme" like:"dark"`
		ASCII          *bool     `toml:"ascii"`
		Mouse          *bool     `toml:"mouse"`
		UndoSeconds    *int64    `toml:"undo_seconds"`
		Signature      *string   `toml:"signature" like:"Ada"`
		ConfirmSend    *bool     `toml:"confirm_send"`
		ConfirmDiscard *bool     `toml:"confirm_discard"`
		Editor         *[]string `toml:"editor" like:"nvim"`
		Opener         *[]string `toml:"opener" like:"xdg-open"`
	} `toml:"ui"`
	Local struct {
		Dir       *string   `toml:"dir" like:"~/mail"`
		Addresses *[]string `toml:"addresses" like:"ada@example.com"`
		Relay     *rawRelay `toml:"relay"`
	} `toml:"local"`
	Snooze struct {
		Morning    *string `toml:"morning" like:"08:00"`
		Evening    *string `toml:"evening" like:"18:00"`
		Weekend    *string `toml:"weekend" like:"09:00"`
		WeekendDay *string `toml:"weekend_day" like:"saturday"`
		WeekDay    *string `toml:"week_day" like:"monday"`
	} `toml:"snooze"`
}

type rawAccount struct {
	BaseURL            *string   `toml:"base_url" like:"https://mail.example.com"`
	APIKeyCommand      *[]string `toml:"api_key_command" like:"pass,show,mail"`
	APIKeyFile         *string   `toml:"api_key_file" like:"~/.openemail-key"`
	AccessTokenCommand *[]string `toml:"access_token_command" like:"pass,show,mail"`
	Keyring            *bool     `toml:"keyring"`
	Signature          *string   `toml:"signature" like:"Ada"`
	From               *string   `toml:"from" like:"Ada <ada@example.com>"`
}

// file is a configuration file that was read, with the place of each key in it.
type file struct {
	path  string // empty when there is none
	raw   raw
	place map[string]unstable.Position
}

const pathSep = "\x00"

// where names the file, the line, the column and the key. A key that is not in the file is
// named without a line.
func (f *file) where(key ...string) string {
	name := dotted(key)
	if p, ok := f.place[strings.Join(key, pathSep)]; ok {
		return fmt.Sprintf("%s:%d:%d: %s", f.path, p.Line, p.Column, name)
	}
	if f.path == "" {
		return name
	}
	return f.path + ": " + name
}

func dotted(key []string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = k
		if k == "" || strings.IndexFunc(k, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		}) >= 0 {
			parts[i] = strconv.Quote(k)
		}
	}
	return strings.Join(parts, ".")
}

// readFile reads and checks the shape of the file. A path that is empty gives an empty file.
func readFile(path string) (*file, error) {
	f := &file{path: path}
	if path == "" {
		return f, nil
	}
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	f.place = places(data)
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err = dec.Decode(&f.raw)
	var missing *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &missing):
		var errs []error
		for i := range missing.Errors {
			errs = append(errs, f.unknownKey(&missing.Errors[i]))
		}
		return nil, errors.Join(errs...)
	case errors.As(err, &bad):
		return nil, f.badValue(bad)
	}
	return nil, &Error{Where: path, What: "this is not a TOML file that can be read", Mend: "see https://toml.io"}
}

func readBounded(path string) ([]byte, error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer h.Close()
	st, err := h.Stat()
	if err != nil {
		return nil, fileError(path, err)
	}
	if !st.Mode().IsRegular() {
		return nil, &Error{Where: path, What: "the configuration is not a file", Mend: "give a TOML file with --config"}
	}
	data, err := io.ReadAll(io.LimitReader(h, maxFileBytes+1))
	if err != nil {
		return nil, fileError(path, err)
	}
	if len(data) > maxFileBytes {
		return nil, &Error{Where: path, What: "the configuration is larger than 1 MiB", Mend: "give a smaller file with --config"}
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

func fileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Where: path, What: "there is no such file", Mend: "check the path"}
	case errors.Is(err, fs.ErrPermission):
		return &Error{Where: path, What: "it may not be read", Mend: fmt.Sprintf("make it yours and readable: chmod u+r %q", path)}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &Error{Where: path, What: fmt.Sprintf("it cannot be read (%v)", err), Mend: "check the path and its disk"}
}

func (f *file) unknownKey(e *toml.DecodeError) error {
	key := []string(e.Key())
	line, col := e.Position()
	out := &Error{Where: fmt.Sprintf("%s:%d:%d: %s", f.path, line, col, dotted(key)), What: "there is no such key"}
	if len(key) == 0 {
		return out
	}
	switch last := key[len(key)-1]; last {
	case "api_key", "access_token", "token", "password":
		out.What = "a credential does not belong in this file"
		out.Mend = "use api_key_command, api_key_file, keyring or access_token_command"
		if key[0] == "local" {
			out.Mend = "use password_command, password_file or keyring"
		}
		return out
	}
	t, _ := fieldAt(reflect.TypeOf(f.raw), key[:len(key)-1])
	if t == nil || t.Kind() != reflect.Struct {
		return out
	}
	if len(key) > 1 {
		out.Mend = "allowed in [" + dotted(key[:len(key)-1]) + "]: " + strings.Join(fieldsOf(t), ", ")
		return out
	}
	out.Mend = "allowed: " + strings.Join(fieldsOf(t), ", ")
	for _, table := range fieldsOf(t) {
		if in, _ := fieldAt(t, []string{table}); in.Kind() == reflect.Struct && slices.Contains(fieldsOf(in), key[0]) {
			out.Mend = "it belongs below the line [" + table + "]"
		}
	}
	return out
}

func (f *file) badValue(e *toml.DecodeError) error {
	line, col := e.Position()
	where := fmt.Sprintf("%s:%d:%d", f.path, line, col)
	key := []string(e.Key())
	said := strings.TrimPrefix(e.Error(), "toml: ")
	switch t, like := fieldAt(reflect.TypeOf(f.raw), key); {
	case strings.Contains(said, "already exists"):
		return &Error{Where: where + ": " + dotted(key), What: "this stands in the file twice", Mend: "make one of the two"}
	case len(key) > 0 && t != nil:
		// For a wrong type the library's message speaks of Go; only syntax is worth repeating.
		return &Error{Where: where + ": " + dotted(key), What: "the value has the wrong type", Mend: "expected " + describe(t, like)}
	case strings.Contains(said, "at start of value"):
		return &Error{Where: where, What: said, Mend: `a text stands in quotes, such as theme = "dark"`}
	}
	return &Error{Where: where, What: said, Mend: "see https://toml.io for how it is written"}
}

// describe says what is to be written for a t, with like as an example.
func describe(t reflect.Type, like string) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number"
	case reflect.String:
		return fmt.Sprintf("a text in quotes, such as %q", like)
	case reflect.Slice:
		return `a list of texts, such as ["` + strings.ReplaceAll(like, ",", `", "`) + `"]`
	}
	return "a table, such as [accounts.work]"
}

// fieldAt follows the key through the structs and maps of t, and returns the type there and
// its example; nil when the key leads nowhere.
func fieldAt(t reflect.Type, key []string) (at reflect.Type, like string) {
	for {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if len(key) == 0 {
			return t, like
		}
		switch t.Kind() {
		case reflect.Struct:
			var next reflect.Type
			for i := range t.NumField() {
				if t.Field(i).Tag.Get("toml") == key[0] {
					next, like = t.Field(i).Type, t.Field(i).Tag.Get("like")
				}
			}
			if next == nil {
				return nil, ""
			}
			t = next
		case reflect.Map:
			t = t.Elem()
		default:
			return t, like
		}
		key = key[1:]
	}
}

func fieldsOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		out = append(out, t.Field(i).Tag.Get("toml"))
	}
	slices.Sort(out)
	return out
}

// places finds where each key of the document is written. A document that does not parse gives
// the places up to the fault.
func places(data []byte) map[string]unstable.Position {
	out := map[string]unstable.Position{}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = record(&p, out, nil, n)
		case unstable.KeyValue:
			recordValue(&p, out, table, n)
		}
	}
	return out
}

func recordValue(p *unstable.Parser, out map[string]unstable.Position, prefix []string, n *unstable.Node) {
	key := record(p, out, prefix, n)
	if v := n.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			recordValue(p, out, key, it.Node())
		}
	}
}

func record(p *unstable.Parser, out map[string]unstable.Position, prefix []string, n *unstable.Node) []string {
	key := slices.Clone(prefix)
	for it := n.Key(); it.Next(); {
		part := it.Node()
		key = append(key, string(part.Data))
		id := strings.Join(key, pathSep)
		if _, ok := out[id]; !ok || it.IsLast() {
			out[id] = p.Shape(part.Raw).Start
		}
	}
	return key
}
