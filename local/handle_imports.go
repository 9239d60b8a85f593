package local

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Files of events and of contacts from other programs. A file is read in one transaction, so it is in or it is not, and
// what it brought can be taken out again.

const (
	calendarItems = "calendar"
	contactItems  = "contacts"

	maxImportItems   = 20_000
	maxImportLines   = 2_000_000
	maxImportSamples = 20
)

type importCounts struct {
	Total    int `json:"total"`
	Imported int `json:"imported"`
	Merged   int `json:"merged"`
	Skipped  int `json:"skipped"`
	Failed   int `json:"failed"`
}

type importCollection struct {
	Name  string `json:"name"`
	Items int    `json:"items"`
}

type importSample struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type importReport struct {
	Collections []importCollection `json:"collections"`
	Skipped     map[string]int     `json:"skipped"`
	Samples     []importSample     `json:"samples"`
}

// itemImport is an import on its way.
type itemImport struct {
	id     int64
	counts importCounts
	report importReport
	pixels int // of the pictures that were read
}

// skip notes an item that does not come in, and why in a word of the contract.
func (i *itemImport) skip(name, reason string) {
	i.counts.Skipped++
	i.report.Skipped[reason]++
	if len(i.report.Samples) < maxImportSamples {
		i.report.Samples = append(i.report.Samples, importSample{clip(noControls(oneLine(name)), 200), reason})
	}
}

// importItems reads the file of a request. begins is the line that such a file holds; each keeps what is in it.
func (s *Server) importItems(c *call, kind, begins, what string, each func(*tx, *itemImport, []byte) (collection string, err error)) (any, error) {
	raw, err := readBytes(c.Request)
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(raw) { // old programs write what Windows had before it
		if raw, err = charmap.Windows1252.NewDecoder().Bytes(raw); err != nil {
			return nil, err
		}
	}
	if !bytes.Contains(bytes.ToUpper(raw), []byte(begins)) {
		return nil, invalidField("body", "The body is no %s file: it holds no line %s.", what, begins)
	}
	var name sql.NullString
	if given := strings.TrimSpace(noControls(c.query.Get("filename"))); given != "" {
		name = sql.NullString{String: clip(given, 255), Valid: true}
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		i := &itemImport{report: importReport{Collections: []importCollection{}, Skipped: map[string]int{}, Samples: []importSample{}}}
		var err error
		if i.id, err = t.insert("INSERT INTO item_imports(kind, file_name, file_bytes, counts, report, created_at) VALUES(?,?,?,'{}','{}',?)", kind, name, len(raw), t.now); err != nil {
			return err
		}
		id = i.id
		collection, err := each(t, i, raw)
		if err != nil {
			return err
		}
		if collection == "" {
			collection = name.String
		}
		i.report.Collections = append(i.report.Collections, importCollection{collection, i.counts.Total})
		counts, err := json.Marshal(i.counts)
		if err != nil {
			return err
		}
		report, err := json.Marshal(i.report)
		if err != nil {
			return err
		}
		return t.exec("UPDATE item_imports SET counts = ?, report = ? WHERE id = ?", string(counts), string(report), i.id)
	})
	if err != nil {
		return nil, err
	}
	return s.itemImport(c, kind, id)
}

const importColumns = "id, kind, file_name, file_bytes, counts, report, created_at, undone_at"

// importObjects names what is read, as its answers do.
var importObjects = map[string]string{calendarItems: "calendar_import", contactItems: "contact_import"}

func scanImport(row scanner) (id int64, out map[string]any, err error) {
	var kind, counts, report string
	var name sql.NullString
	var size, created int64
	var undone sql.NullInt64
	if err := row.Scan(&id, &kind, &name, &size, &counts, &report, &created, &undone); err != nil {
		return 0, nil, err
	}
	status := "completed"
	if undone.Valid {
		status = "undone"
	}
	return id, map[string]any{
		"object": importObjects[kind], "id": wireID("imp", id), "kind": kind, "source": "file", "status": status, "fileName": nullString(name),
		"fileBytes": size, "parentImportId": nil, "counts": json.RawMessage(counts), "report": json.RawMessage(report), "lastError": nil,
		"undoable": !undone.Valid, "createdAt": instant(created), "startedAt": instant(created), "finishedAt": instant(created), "undoneAt": instantOrNull(undone),
	}, nil
}

func (s *Server) itemImport(c *call, kind string, id int64) (any, error) {
	_, out, err := scanImport(s.reader.QueryRowContext(c.ctx, "SELECT "+importColumns+" FROM item_imports WHERE id = ? AND kind = ?", id, kind))
	if err != nil {
		return nil, found(err, "import", "")
	}
	return out, nil
}

func (s *Server) listItemImports(c *call, kind string) (any, error) {
	return s.listByID(c, "SELECT "+importColumns+" FROM item_imports WHERE kind = ?", []any{kind}, func(row scanner) (int64, any, error) { return wrap(scanImport(row)) })
}

func (s *Server) getItemImport(c *call, kind string) (any, error) {
	id, err := c.id("imp", "import")
	if err != nil {
		return nil, err
	}
	return s.itemImport(c, kind, id)
}

// undoItemImport takes out what an import brought, but for what was changed since.
func (s *Server) undoItemImport(c *call, kind string, statements ...string) (any, error) {
	id, err := c.id("imp", "import")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		var undone sql.NullInt64
		if err := t.row("SELECT undone_at FROM item_imports WHERE id = ? AND kind = ?", []any{id, kind}, &undone); err != nil {
			return found(err, "import", "")
		}
		if undone.Valid {
			return conflict("import_undone", "This import was undone at %s.", instant(undone.Int64))
		}
		for _, q := range statements {
			if err := t.exec(q, id); err != nil {
				return err
			}
		}
		return t.exec("UPDATE item_imports SET undone_at = ? WHERE id = ?", t.now, id)
	})
	if err != nil {
		return nil, err
	}
	return s.itemImport(c, kind, id)
}

func (s *Server) listCalendarImports(c *call) (any, error) {
	return s.listItemImports(c, calendarItems)
}

func (s *Server) getCalendarImport(c *call) (any, error) { return s.getItemImport(c, calendarItems) }

func (s *Server) undoCalendarImport(c *call) (any, error) {
	return s.undoItemImport(c, calendarItems, "DELETE FROM calendar_events WHERE import_id = ? AND updated_at = created_at")
}

// importCalendar reads an .ics file into the calendar.
func (s *Server) importCalendar(c *call) (any, error) {
	return s.importItems(c, calendarItems, "BEGIN:VCALENDAR", "iCalendar", func(t *tx, i *itemImport, raw []byte) (string, error) {
		seen := map[eventKey]bool{}
		for item := range s.readCalendar(raw, maxImportLines) {
			i.counts.Total++
			if err := t.importEvent(i, item, seen); err != nil {
				return "", err
			}
		}
		return calendarName(raw), nil
	})
}

// calendarName is what a calendar says that it is called.
func calendarName(raw []byte) string {
	for l := range icalLines(raw, 1000) {
		switch l.name {
		case "X-WR-CALNAME", "NAME":
			return clip(noControls(icalText(l.value)), 200)
		case "BEGIN":
			if strings.EqualFold(l.value, "VEVENT") {
				return ""
			}
		}
	}
	return ""
}

func (t *tx) importEvent(i *itemImport, item readItem, seen map[eventKey]bool) error {
	e := item.event
	name, _ := e["summary"].(string)
	switch {
	case !item.start:
		i.skip(name, "no-start")
		return nil
	case i.counts.Imported+i.counts.Merged == maxImportItems:
		i.skip(name, "limit")
		return nil
	}
	e["source"] = "import"
	if e["uid"] == "" { // the same file gives the same one again
		start, _ := e["start"].(string)
		sum := sha256.Sum256([]byte(start + "\n" + name))
		e["uid"] = hex.EncodeToString(sum[:16]) + "@import.invalid"
	}
	if e["organizer"] == nil {
		e["isOrganizer"] = true // nobody else's
	}
	k := keyOf(e)
	if seen[k] {
		i.skip(name, "duplicate")
		return nil
	}
	seen[k] = true
	was, err := t.current(k)
	if err != nil {
		return err
	}
	merged := was != nil && !was.deleted
	if merged {
		before, _ := wholeNumber(was.event["sequence"])
		sequence, _ := wholeNumber(e["sequence"])
		if sequence <= before || was.event["source"] == "api" {
			i.skip(name, "uid-taken")
			return nil
		}
	}
	if _, err := t.putEvent(version{event: e, stamp: item.stamp, from: i.id, at: t.now}); err != nil {
		return err
	}
	if merged {
		i.counts.Merged++
	} else {
		i.counts.Imported++
	}
	return nil
}
