package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// beyondTable are the methods that make no operation of their own: they lead to one.
var beyondTable = map[string]string{
	"Emails.SendBytes": "emails.send", "People.List": "contacts.listPeople", "People.All": "contacts.listPeople",
}

// clientMethods lists the methods of every service of a client, as "Threads.Get".
func clientMethods(c *Client) map[string]reflect.Value {
	out := make(map[string]reflect.Value)
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		for j := range f.Type.NumMethod() {
			out[f.Name+"."+f.Type.Method(j).Name] = v.Field(i).Method(j)
		}
	}
	return out
}

// methodOf finds the method of an operation: the same name, but for the case of letters.
func methodOf(methods map[string]reflect.Value, op string) (string, reflect.Value) {
	for name, m := range methods {
		if strings.EqualFold(name, op) {
			return name, m
		}
	}
	return "", reflect.Value{}
}

// TestEveryRowHasAMethod, and every method a row.
func TestEveryRowHasAMethod(t *testing.T) {
	methods := clientMethods(testClient(t, nil))
	rows := map[string]bool{}
	for _, op := range Operations() {
		name, _ := methodOf(methods, op.Name)
		if name == "" {
			t.Errorf("%s has no method", op.Name)
			continue
		}
		rows[name] = true
		service, method, _ := strings.Cut(name, ".")
		for _, word := range []string{"Id", "Ids", "Url", "Dns", "Ip", "Ips", "Ics", "Vcf", "Bimi", "Dmarc", "Api", "Html"} {
			for _, part := range []string{service, method} {
				if i := strings.Index(part, word); i >= 0 && (i+len(word) == len(part) || part[i+len(word)] < 'a') {
					t.Errorf("%s is not in Go's casing", name)
				}
			}
		}
	}
	for name := range methods {
		service, method, _ := strings.Cut(name, ".")
		list := service + ".List" + strings.TrimPrefix(method, "All")
		switch op, ok := beyondTable[name]; {
		case rows[name]:
		case ok:
			if _, there := OperationByName(op); !there {
				t.Errorf("%s leads to %s, which is not in the table", name, op)
			}
		case strings.HasPrefix(method, "All") && rows[list]:
		default:
			t.Errorf("%s is no operation", name)
		}
	}
}

// TestEveryListHasAnIterator: what comes in pages can be walked.
func TestEveryListHasAnIterator(t *testing.T) {
	methods := clientMethods(testClient(t, nil))
	for _, op := range Operations() {
		pages := op.Paging == PagingCursor || op.Paging == PagingPageToken || op.knows("offset") || op.knows("page") || op.knows("after")
		name, _ := methodOf(methods, op.Name)
		service, method, _ := strings.Cut(name, ".")
		_, has := methods[service+".All"+strings.TrimPrefix(method, "List")]
		if has != pages {
			t.Errorf("%s: pages %v, iterator %v", op.Name, pages, has)
		}
	}
}

var (
	paramName    = regexp.MustCompile(`:[A-Za-z]+`)
	optionsType  = reflect.TypeFor[[]CallOption]()
	payload      = []byte("\x00\xff raw \r\n bytes \xc3")
	unescapedURI = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%7E", "~")
)

// driven is a call of an operation's method with every argument filled in, or with
// the least there may be, and what must be on the wire.
type driven struct {
	op     Operation
	method reflect.Value
	args   []reflect.Value
	path   string
	query  url.Values
	body   any // decoded JSON; nil: none
	raw    []byte
	writer *bytes.Buffer
}

// drive prepares a call of an operation.
func drive(t testing.TB, s shapes, methods map[string]reflect.Value, op Operation, least bool) *driven {
	t.Helper()
	d := &driven{op: op, query: url.Values{}}
	_, d.method = methodOf(methods, op.Name)
	if op.Name == "imports.importFiles" { // its argument is the helper's own
		d.args, d.path = []reflect.Value{reflect.ValueOf(ImportFilesInput{AddressID: "a"})}, op.Path
		return d
	}
	names := paramName.FindAllString(op.Path, -1)
	d.path = op.Path
	if op.Body != "" && op.Body != "bytes" {
		shape := strings.TrimSuffix(op.Body, "?")
		if op.Name == "drafts.create" {
			shape = "DraftCreate"
		}
		d.body = s.sample(t, shape, "", least)
	}
	mt := d.method.Type()
	for i := 1; i < mt.NumIn()-1; i++ {
		at := mt.In(i)
		switch {
		case i <= len(names):
			v := reflect.New(at).Elem()
			text := fmt.Sprintf("a/b c@d?é'(*)!~%d", i)
			if at.Kind() == reflect.Int {
				v.SetInt(int64(40 + i))
				text = fmt.Sprint(40 + i)
			} else {
				v.SetString(text)
			}
			d.path = strings.Replace(d.path, names[i-1], unescapedURI.Replace(url.QueryEscape(text)), 1)
			d.args = append(d.args, v)
		case at == reflect.TypeFor[Upload]():
			d.raw = payload
			d.args = append(d.args, reflect.ValueOf(Upload{Body: bytes.NewReader(payload), Filename: "a b.txt", ContentType: "image/png"}))
			if op.knows("filename") {
				d.query.Set("filename", "a b.txt")
			}
		case at == reflect.TypeFor[io.Writer]():
			d.writer = new(bytes.Buffer)
			d.args = append(d.args, reflect.ValueOf(d.writer))
		case at.Kind() == reflect.Int64:
			d.args = append(d.args, reflect.ValueOf(int64(0)))
		case at.Kind() == reflect.Struct && strings.HasSuffix(at.Name(), "Params"):
			d.args = append(d.args, d.params(t, at, least))
		default:
			d.args = append(d.args, d.bodyArg(t, at))
		}
	}
	return d
}

// params fills the parameters of a query, each key with a value of its own kind.
func (d *driven) params(t testing.TB, at reflect.Type, least bool) reflect.Value {
	t.Helper()
	v := reflect.New(at).Elem()
	if least {
		return v
	}
	for i := range at.NumField() {
		f, key := v.Field(i), ""
		for _, k := range d.op.Query {
			if strings.EqualFold(k, at.Field(i).Name) {
				key = k
			}
		}
		if key == "" {
			t.Errorf("%s: %s.%s is no key of the query", d.op.Name, at.Name(), at.Field(i).Name)
			continue
		}
		switch p := f.Addr().Interface().(type) {
		case *time.Time:
			*p = when
			d.query.Set(key, sampleInstant)
		case **bool:
			*p = ptr(false)
			d.query.Set(key, "false")
		default:
			switch f.Kind() {
			case reflect.Int:
				f.SetInt(int64(i + 2))
				d.query.Set(key, fmt.Sprint(i+2))
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 2, 2))
				f.Index(0).SetString("x&")
				f.Index(1).SetString("y")
				d.query.Set(key, "x&,y")
			default:
				f.SetString("v=" + key)
				d.query.Set(key, "v="+key)
			}
		}
	}
	return v
}

// bodyArg reads the sample body into an argument.
func (d *driven) bodyArg(t testing.TB, at reflect.Type) reflect.Value {
	t.Helper()
	v := reflect.New(at)
	fields, _ := d.body.(map[string]any)
	source := any(fields)
	if at.Kind() != reflect.Struct && at.Kind() != reflect.Map || at == timeType {
		for _, only := range fields { // the argument is the body's one field
			source = only
		}
	}
	b, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v.Interface()); err != nil {
		t.Fatalf("%s: the sample body does not fit %s: %v", d.op.Name, at, err)
	}
	return v.Elem()
}

func (d *driven) call(ctx context.Context, options ...CallOption) (any, error) {
	for i := range d.args { // what is read or written once
		switch d.args[i].Type() {
		case reflect.TypeFor[Upload]():
			up := d.args[i].Interface().(Upload)
			up.Body = bytes.NewReader(payload)
			d.args[i] = reflect.ValueOf(up)
		}
	}
	in := append([]reflect.Value{reflect.ValueOf(ctx)}, d.args...)
	out := d.method.CallSlice(append(in, reflect.ValueOf(options).Convert(optionsType)))
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// sampleOf gives the answer of an operation as it is on the wire.
func (d *driven) sampleOf(t testing.TB, s shapes, nulls bool) (map[string]any, string) {
	t.Helper()
	switch d.op.Answer {
	case "bytes":
		return nil, string(payload)
	case "string":
		return nil, "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"
	}
	sample := s.answer(t, d.op, nulls)
	if d.op.Name == "analytics.mailbox" {
		sample["from"], sample["to"] = sampleInstant, sampleInstant
	}
	b, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	return sample, string(b)
}

// TestContract drives the method of every row against a server that records: with
// everything filled in and with the least, against full and least answers.
func TestContract(t *testing.T) {
	s := readShapes(t)
	for _, op := range Operations() {
		if op.Name == "imports.importFiles" {
			continue // a helper of several requests: TestImportFiles
		}
		for _, least := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", op.Name, least), func(t *testing.T) {
				rec := &recorder{}
				d := drive(t, s, clientMethods(testClient(t, rec)), op, least)
				sample, text := d.sampleOf(t, s, least)
				rec.next = answering(200, text)
				result, err := d.call(t.Context())
				if err != nil {
					t.Fatal(describe(err))
				}
				if n := len(rec.all()); n != 1 {
					t.Fatalf("%d requests", n)
				}
				d.checkSent(t, s, rec.all()[0], least)
				switch {
				case d.writer != nil:
					if d.writer.String() != text {
						t.Errorf("wrote %q", d.writer)
					}
				case op.Answer == "string":
					if result != text {
						t.Errorf("got %q", result)
					}
				default:
					if reflect.TypeOf(result).Kind() == reflect.Slice {
						result = map[string]any{"data": result}
					}
					if op.Name == "templates.listSends" {
						delete(sample, "data")
					}
					checkResult(t, sample, result, least)
				}
			})
		}
	}
}

func (d *driven) checkSent(t *testing.T, s shapes, r sentRequest, least bool) {
	t.Helper()
	op := d.op
	if r.method != op.Method || r.path != d.path {
		t.Errorf("%s %s, want %s %s", r.method, r.path, op.Method, d.path)
	}
	query, err := url.ParseQuery(r.query)
	if err != nil || len(query)+len(d.query) > 0 && !reflect.DeepEqual(query, d.query) {
		t.Errorf("query %v, want %v (%v)", query, d.query, err)
	}
	for _, key := range op.Query {
		if !least && !query.Has(key) {
			t.Errorf("the query has no %s", key)
		}
	}
	if key := r.header.Get("Idempotency-Key"); (key != "") != op.Key {
		t.Errorf("idempotency key %q", key)
	}
	want := "Bearer " + testKey
	if op.Auth == AuthNone {
		want = ""
	}
	if got := r.header.Get("Authorization"); got != want {
		t.Errorf("Authorization %q, want %q", got, want)
	}
	accept := "application/json"
	if op.Answer == "string" {
		accept = "text/calendar"
	}
	if got := r.header.Get("Accept"); got != accept {
		t.Errorf("Accept %q", got)
	}
	contentType := strings.Join(r.header["Content-Type"], ",")
	switch {
	case op.Body == "":
		if r.hasBody || contentType != "" {
			t.Errorf("body %q of type %q", r.body, contentType)
		}
	case op.Body == "bytes":
		fixed := map[string]string{"calendar.importIcs": "text/calendar", "contacts.importVcf": "text/vcard"}[op.Name]
		if want := firstOf(fixed, "image/png"); contentType != want || !bytes.Equal(r.body, payload) {
			t.Errorf("body %q of type %q", r.body, contentType)
		}
	default:
		var body any
		if err := json.Unmarshal(r.body, &body); err != nil || contentType != "application/json" {
			t.Fatalf("body %s of type %q: %v", r.body, contentType, err)
		}
		shape := strings.TrimSuffix(op.Body, "?")
		if op.Name == "drafts.update" {
			shape = "DraftInput"
		}
		if err := s.fits(body, shape, "body"); err != nil {
			t.Errorf("%v in %s", err, r.body)
		}
		if !reflect.DeepEqual(body, d.body) {
			t.Errorf("body\n%v, want\n%v", body, d.body)
		}
		if fields, _ := d.body.(map[string]any); len(fields) == 0 && string(r.body) != "{}" {
			t.Errorf("body %q, want {}", r.body)
		}
	}
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// TestEveryClass: against a server that is always busy each operation is tried as often
// as its class allows, with the same bytes and key.
func TestEveryClass(t *testing.T) {
	s := readShapes(t)
	for _, op := range Operations() {
		synctest.Test(t, func(t *testing.T) {
			rec := &recorder{next: answering(503, `{"error":{"code":"busy"}}`)}
			d := drive(t, s, clientMethods(testClient(t, rec)), op, false)
			start := time.Now()
			_, err := d.call(t.Context())
			if e := asError(t, err); e.Status != 503 || e.Op != op.Name {
				t.Errorf("%s: %v", op.Name, err)
			}
			want := 3
			if op.Class == ClassOnce {
				want = 1
			}
			sent := rec.all()
			if len(sent) != want {
				t.Errorf("%s (%s): %d requests, want %d", op.Name, op.Class, len(sent), want)
			}
			for _, r := range sent[1:] {
				if !bytes.Equal(r.body, sent[0].body) || r.query != sent[0].query || r.path != sent[0].path || !reflect.DeepEqual(r.header, sent[0].header) {
					t.Errorf("%s: attempts differ", op.Name)
				}
			}
			if waited := time.Since(start); want == 3 && (waited < 750*time.Millisecond || waited > 1500*time.Millisecond) || want == 1 && waited != 0 {
				t.Errorf("%s: waited %v", op.Name, waited)
			}
		})
	}
}

// TestEveryIterator walks two pages of every list, and stops when a cursor comes back.
func TestEveryIterator(t *testing.T) {
	s := readShapes(t)
	for name := range clientMethods(testClient(t, nil)) {
		service, method, _ := strings.Cut(name, ".")
		if !strings.HasPrefix(method, "All") {
			continue
		}
		lookup := service + ".List" + strings.TrimPrefix(method, "All")
		if service == "People" {
			lookup = "Contacts.ListPeople"
		}
		t.Run(name, func(t *testing.T) {
			var op Operation
			for _, o := range Operations() {
				if strings.EqualFold(o.Name, lookup) {
					op = o
				}
			}
			d := drive(t, s, map[string]reflect.Value{op.Name: clientMethods(testClient(t, nil))[name]}, op, true)
			sample, _ := d.sampleOf(t, s, false)
			next := map[string]any{"nextCursor": "second", "nextPageToken": "second", "hasMore": true, "total": 2.0, "pageSize": 1.0}
			key, value := "cursor", "second"
			switch {
			case op.Paging == PagingPageToken:
				key = "pageToken"
			case op.knows("offset"):
				key, value = "offset", "1"
			case op.knows("page"):
				key, value = "page", "2"
			case op.knows("after"):
				key, value, next["nextCursor"] = "after", "7", 7.0
			}
			page := func(last bool) string {
				for k, v := range next {
					if last {
						v = map[string]any{"hasMore": false}[k]
					}
					if _, there := sample[k]; there || k == "hasMore" {
						sample[k] = v
					}
				}
				if last && sample["total"] == nil {
					sample["total"] = 2.0
				}
				if op.knows("page") {
					sample["pageSize"], sample["page"] = 1.0, 1.0
				}
				b, _ := json.Marshal(sample)
				return string(b)
			}
			first, last := page(false), page(true)

			rec := &recorder{next: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get(key) == value {
					return reply(200, last), nil
				}
				return reply(200, first), nil
			})}
			if items, err := d.walk(t, rec, name, -1); items != 2 || err != nil {
				t.Errorf("%d items, %v", items, err)
			}
			sent := rec.all()
			if len(sent) != 2 {
				t.Fatalf("%d requests", len(sent))
			}
			if q, _ := url.ParseQuery(sent[1].query); q.Get(key) != value {
				t.Errorf("the second page was asked for with %v", q)
			}

			if op.Paging != PagingList || key == "after" { // the same cursor for ever
				rec = &recorder{next: answering(200, first)}
				if items, err := d.walk(t, rec, name, -1); items != 2 || err != nil || len(rec.all()) != 2 {
					t.Errorf("a cursor that repeats: %d items, %d requests, %v", items, len(rec.all()), err)
				}
			}
			rec = &recorder{next: answering(200, first)}
			if items, _ := d.walk(t, rec, name, 1); items != 1 || len(rec.all()) != 1 {
				t.Errorf("stopped by the caller: %d items, %d requests", items, len(rec.all()))
			}
			rec = &recorder{next: answering(404, "")}
			if items, err := d.walk(t, rec, name, -1); items != 0 || !errors.Is(err, ErrNotFound) || len(rec.all()) != 1 {
				t.Errorf("an error: %d items, %d requests, %v", items, len(rec.all()), err)
			}
		})
	}
}

// walk runs an iterator against a transport, for at most so many items.
func (d *driven) walk(t *testing.T, transport http.RoundTripper, name string, most int) (items int, err error) {
	t.Helper()
	method := clientMethods(testClient(t, transport))[name]
	in := append([]reflect.Value{reflect.ValueOf(t.Context())}, d.args...)
	seq := method.Call(in)[0]
	yield := reflect.MakeFunc(seq.Type().In(0), func(args []reflect.Value) []reflect.Value {
		if e, _ := args[1].Interface().(error); e != nil {
			err = e
		} else {
			items++
		}
		return []reflect.Value{reflect.ValueOf(items != most)}
	})
	seq.Call([]reflect.Value{yield})
	return items, err
}

// TestServicesAreWhole: every service of a client can make calls.
func TestServicesAreWhole(t *testing.T) {
	c := testClient(t, nil)
	v := reflect.ValueOf(c).Elem()
	var missing []string
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Field(0).IsNil() {
			missing = append(missing, v.Type().Field(i).Name)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("without a core: %v", missing)
	}
}
