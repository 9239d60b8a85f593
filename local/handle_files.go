package local

import (
	"context"
	"database/sql"
	"errors"
	"mime"
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// A file is an attachment of a message ("att_<message>_<number>", as the message names it) or was uploaded ("fil_<id>").

// allFiles lists both kinds. The number n is unique over them and orders files of the same instant.
const allFiles = `SELECT (a.message_id << 17) | (a.position << 1) | 1 AS n, a.message_id AS message, a.position AS position, a.filename AS filename,
		a.content_type AS kind, a.size AS size, m.outgoing AS outgoing, m.thread_id AS thread, m.delivered_to AS delivered, m.received_at AS at
		FROM attachments a JOIN messages m ON m.id = a.message_id JOIN threads th ON th.id = m.thread_id WHERE a.inline = 0 AND th.trashed = 0 AND th.spam = 0
	UNION ALL SELECT id << 1, 0, id, filename, content_type, size, 0, NULL, NULL, created_at FROM files`

const fileColumns = "n, message, position, filename, kind, size, outgoing, thread, delivered, at"

func scanFile(row scanner) (n, at int64, out map[string]any, err error) {
	var message, position, size int64
	var filename, kind string
	var outgoing bool
	var thread sql.NullInt64
	var delivered sql.NullString
	if err := row.Scan(&n, &message, &position, &filename, &kind, &size, &outgoing, &thread, &delivered, &at); err != nil {
		return 0, 0, nil, err
	}
	out = map[string]any{
		"object": "file", "id": wireID("fil", position), "filename": filename, "mimeType": kind, "sizeBytes": size, "direction": "uploaded",
		"threadId": nil, "messageId": nil, "deliveredTo": nullString(delivered), "usage": nil, "deletable": true, "visibility": "private",
		"publicUrl": nil, "createdAt": instant(at),
	}
	if message != 0 {
		out["id"] = attachmentID(message, int(position))
		out["threadId"], out["messageId"], out["deletable"] = wireID("thr", thread.Int64), wireID("msg", message), false
		out["direction"], out["usage"] = "inbound", "received"
		if outgoing {
			out["direction"], out["usage"] = "outbound", "sent"
		}
	}
	return n, at, out, nil
}

func (s *Server) listFiles(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	var where conditions
	words, err := c.words("q", strings.ToLower)
	if err != nil {
		return nil, err
	}
	where.contain(words, `lower(filename) LIKE ? ESCAPE '\'`)
	switch kind := c.query.Get("kind"); kind {
	case "":
	case "pdf":
		where.add("kind = 'application/pdf'")
	case "image", "audio", "video", "text":
		where.add("kind LIKE ?", kind+"/%")
	default:
		return nil, invalidField("kind", "kind must be image, pdf, audio, video or text.")
	}
	switch c.query.Get("direction") {
	case "":
	case "inbound":
		where.add("message > 0 AND outgoing = 0")
	case "outbound":
		where.add("message > 0 AND outgoing = 1")
	case "uploaded":
		where.add("message = 0")
	default:
		return nil, invalidField("direction", "direction must be inbound, outbound or uploaded.")
	}
	if v := c.query.Get("address"); v != "" {
		where.add("delivered = ?", strings.ToLower(v))
	}
	for name, sqlText := range map[string]string{"since": "at >= ?", "until": "at < ?"} {
		if t, given, err := c.queryInstant(name); err != nil {
			return nil, err
		} else if given {
			where.add(sqlText, t.UnixMilli())
		}
	}
	key, order, compare := "at", "DESC", "<"
	switch c.query.Get("sort") {
	case "", "newest":
	case "oldest":
		order, compare = "ASC", ">"
	case "largest":
		key = "size"
	case "name":
		key, order, compare = "lower(filename)", "ASC", ">"
	default:
		return nil, invalidField("sort", "sort must be newest, oldest, largest or name.")
	}
	if p.after {
		var last any = p.cur.At
		if key == "lower(filename)" {
			last = p.cur.Text
		}
		where.add("("+key+", n) "+compare+" (?, ?)", last, p.cur.ID)
	}
	return s.pageOf(c, p, func(row scanner) (entry, error) {
		n, at, f, err := scanFile(row)
		place := cursor{ID: n, At: at}
		switch key {
		case "size":
			place.At, _ = f["sizeBytes"].(int64)
		case "lower(filename)":
			name, _ := f["filename"].(string)
			place.At, place.Text = 0, asciiLower(name)
		}
		return entry{place, f}, err
	}, "SELECT "+fileColumns+" FROM ("+allFiles+") WHERE "+where.String()+" ORDER BY "+key+" "+order+", n "+order, where.args...)
}

// asciiLower does what SQLite's lower does.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// fileNumber reads the id of a file: the message and number of an attachment, or message 0 and the id of an upload.
func fileNumber(id string) (message, position int64, ok bool) {
	if n, isUpload := parseID("fil", id); isUpload {
		return 0, n, true
	}
	rest, found := strings.CutPrefix(id, "att_")
	a, b, both := strings.Cut(rest, "_")
	if !found || !both {
		return 0, 0, false
	}
	message, err1 := strconv.ParseInt(a, 10, 64)
	position, err2 := strconv.ParseInt(b, 10, 64)
	return message, position, errors.Join(err1, err2) == nil && message > 0 && position >= 0 && attachmentID(message, int(position)) == id
}

func (s *Server) file(ctx context.Context, id string) (map[string]any, error) {
	message, position, ok := fileNumber(id)
	if !ok {
		return nil, notFound("file", "")
	}
	query, args := "SELECT id << 1, 0, id, filename, content_type, size, 0, NULL, NULL, created_at FROM files WHERE id = ?", []any{position}
	if message != 0 {
		query = `SELECT 1, a.message_id, a.position, a.filename, a.content_type, a.size, m.outgoing, m.thread_id, m.delivered_to, m.received_at
			FROM attachments a JOIN messages m ON m.id = a.message_id WHERE a.message_id = ? AND a.position = ?`
		args = []any{message, position}
	}
	_, _, out, err := scanFile(s.reader.QueryRowContext(ctx, query, args...))
	return out, found(err, "file", "")
}

func (s *Server) getFile(c *call) (any, error) { return s.file(c.ctx, c.params[0]) }

// fileBytes gives a file with what is in it.
func (s *Server) fileBytes(ctx context.Context, id string) (*mailparse.File, error) {
	message, position, ok := fileNumber(id)
	if !ok {
		return nil, notFound("file", "")
	}
	out := &mailparse.File{}
	if message == 0 {
		err := s.reader.QueryRowContext(ctx, "SELECT filename, content_type, data FROM files WHERE id = ?", position).Scan(&out.Filename, &out.ContentType, &out.Data)
		return out, found(err, "file", "")
	}
	var encoding int
	var data []byte
	err := s.reader.QueryRowContext(ctx, "SELECT encoding, data FROM raws WHERE message_id = ?", message).Scan(&encoding, &data)
	if err != nil {
		return nil, found(err, "file", "")
	}
	raw, err := unpack(encoding, data)
	if err != nil {
		return nil, err
	}
	a, content, err := mailparse.OpenAttachment(raw, int(position))
	if errors.Is(err, mailparse.ErrNoAttachment) {
		return nil, notFound("file", "")
	}
	if err != nil {
		return nil, err
	}
	return &mailparse.File{Filename: a.Filename, ContentType: a.ContentType, Data: content}, nil
}

func (s *Server) downloadFile(c *call) (any, error) {
	f, err := s.fileBytes(c.ctx, c.params[0])
	if err != nil {
		return nil, err
	}
	kind := f.ContentType
	if kind == "" {
		kind = "application/octet-stream"
	}
	return &bytesAnswer{contentType: kind, filename: plainFilename(f.Filename), data: f.Data}, nil
}

// plainFilename leaves nothing of a name that is a path or hides what it is.
func plainFilename(name string) string {
	name = noControls(name)
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	if name = strings.TrimSpace(clip(name, 200)); name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

func (s *Server) uploadFile(c *call) (any, error) {
	name := strings.TrimSpace(c.query.Get("filename"))
	if name == "" {
		return nil, invalidField("filename", "The query must name the file.")
	}
	kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || !strings.Contains(kind, "/") {
		kind = "application/octet-stream"
	}
	data, err := readBytes(c.Request)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = []byte{}
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		id, err = t.insert("INSERT INTO files(filename, content_type, size, data, created_at) VALUES(?,?,?,?,?)", plainFilename(name), kind, len(data), data, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.file(c.ctx, wireID("fil", id))
}

func attachmentKept() error {
	return conflict("file_in_use", "This file belongs to a message; it goes with its thread.")
}

func (s *Server) deleteFile(c *call) (any, error) {
	f, err := s.file(c.ctx, c.params[0])
	if err != nil {
		return nil, err
	}
	if f["deletable"] != true {
		return nil, attachmentKept()
	}
	return s.deleteRow(c, "fil", "file", "file", "DELETE FROM files WHERE id = ?")
}

func (s *Server) deleteFiles(c *call) (any, error) {
	ids, err := c.body.texts("ids")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 || len(ids) > maxBatchDelete {
		return nil, invalidField("ids", "ids must be a list of 1 to %d files.", maxBatchDelete)
	}
	deleted, kept, missing := []string{}, []any{}, []string{}
	for _, id := range unique(ids) {
		f, err := s.file(c.ctx, id)
		var refused *apiError
		switch {
		case errors.As(err, &refused):
			missing = append(missing, id)
		case err != nil:
			return nil, err
		case f["deletable"] != true:
			kept = append(kept, map[string]any{"id": id, "filename": f["filename"], "usage": f["usage"], "reason": "It belongs to a message."})
		default:
			deleted = append(deleted, id)
		}
	}
	err = s.write(c.ctx, func(t *tx) error {
		for _, wire := range deleted {
			id, _ := parseID("fil", wire)
			if err := t.exec("DELETE FROM files WHERE id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "file_batch_delete", "deleted": deleted, "kept": kept, "missing": missing}, nil
}

// listFileLinks gives no link: nobody else can reach a local mailbox.
func (s *Server) listFileLinks(c *call) (any, error) {
	if _, err := s.file(c.ctx, c.params[0]); err != nil {
		return nil, err
	}
	return page(nil, false, "nextCursor", cursor{}), nil
}

// revokeFileLink finds no link to end, as listFileLinks does.
func (s *Server) revokeFileLink(c *call) (any, error) {
	if _, err := s.file(c.ctx, c.params[0]); err != nil {
		return nil, err
	}
	return nil, notFound("link to this file", "")
}

func (s *Server) revokeFileLinks(c *call) (any, error) {
	if _, err := s.file(c.ctx, c.params[0]); err != nil {
		return nil, err
	}
	return map[string]any{"object": "file_link_revocation", "fileId": c.params[0], "revoked": 0}, nil
}

// fileStats counts files and their bytes.
func (s *Server) fileStats(c *call) (any, error) {
	type count struct {
		Files int64 `json:"files"`
		Bytes int64 `json:"bytes"`
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	group := func(by, rest string, each func(key string, n count)) error {
		rows, err := rtx.QueryContext(c.ctx, "SELECT "+by+", count(*), coalesce(sum(size), 0) FROM ("+allFiles+") "+rest)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key string
			var n count
			if err := rows.Scan(&key, &n.Files, &n.Bytes); err != nil {
				return err
			}
			each(key, n)
		}
		return rows.Err()
	}
	var total count
	groups := map[string]count{}
	types, days, addresses := []any{}, []any{}, []any{}
	err = errors.Join(
		group("CASE WHEN message = 0 THEN 'uploaded' WHEN outgoing = 1 THEN 'sent' ELSE 'received' END", "GROUP BY 1", func(key string, n count) {
			groups[key] = n
			total.Files, total.Bytes = total.Files+n.Files, total.Bytes+n.Bytes
		}),
		group("kind", "GROUP BY 1 ORDER BY 3 DESC LIMIT 50", func(key string, n count) {
			types = append(types, map[string]any{"mimeType": key, "files": n.Files, "bytes": n.Bytes})
		}),
		group("strftime('%Y-%m-%d', at / 1000, 'unixepoch')", "GROUP BY 1 ORDER BY 1 DESC LIMIT 30", func(key string, n count) {
			days = append([]any{map[string]any{"day": key, "files": n.Files, "bytes": n.Bytes}}, days...)
		}),
		group("delivered", "WHERE delivered IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 50", func(key string, n count) {
			addresses = append(addresses, map[string]any{"address": key, "files": n.Files, "bytes": n.Bytes})
		}),
	)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"object": "file_stats", "totals": total, "received": groups["received"], "sent": groups["sent"], "uploaded": groups["uploaded"],
		"types": types, "byDay": days, "addresses": addresses, "links": map[string]any{"shares": 0, "downloads": 0, "lastDownloadAt": nil},
	}, nil
}

// attachFiles reads the files that a send request names by their ids.
func (s *Server) attachFiles(ctx context.Context, o *outgoing) error {
	for i, id := range o.fileIDs {
		if id == "" {
			continue
		}
		f, err := s.fileBytes(ctx, id)
		var refused *apiError
		if errors.As(err, &refused) {
			return notFound("file", "attachments")
		}
		if err != nil {
			return err
		}
		o.files[i] = *f
	}
	return nil
}
