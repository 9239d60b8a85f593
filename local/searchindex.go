package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// searchBytes is how much of a text is indexed: what lies behind it is not found by searching.
const searchBytes = 512 << 10

// searchText is what the columns of mail_search get for one message, in their order.
type searchText [6]string

func searchTextOf(msg *mailparse.Message, text string) searchText {
	var names []string
	for _, a := range msg.Attachments {
		names = append(names, a.Filename)
	}
	return searchText{
		indexText(clip(msg.Subject, 8<<10)),
		indexText(addressText(msg.From), addressText(msg.Sender)),
		indexText(addressText(msg.To), msg.DeliveredTo),
		indexText(addressText(msg.Cc), addressText(msg.Bcc)),
		indexText(clip(strings.Join(names, " "), 32<<10)),
		indexText(clip(text, searchBytes)),
	}
}

type searchRow struct {
	id   int64
	text searchText
}

// The number of a row in the search index begins with the day of its message, so that the newest hits come
// first without reading and sorting all of them. Days are close together: large gaps between the numbers
// would make the index larger.
const searchDayBits = 20

const dayMillis = 24 * 60 * 60 * 1000

// searchDay gives the first number of the day of an instant.
func searchDay(ms int64) int64 { return max(0, ms/dayMillis) << searchDayBits }

// addToSearch numbers a message that came at the instant and notes its text for the index. The number must
// be in the message's row before the next one is asked for.
func (t *tx) addToSearch(received int64, text searchText) (int64, error) {
	for day := searchDay(received); ; day -= 1 << searchDayBits {
		first, last := day, day+1<<searchDayBits-1
		var have sql.NullInt64
		if err := t.row("SELECT max(search_id) FROM messages WHERE search_id BETWEEN ? AND ?", []any{first, last}, &have); err != nil {
			return 0, err
		}
		next := first
		if have.Valid {
			next = have.Int64 + 1
		}
		if next <= last || first == 0 {
			t.search = append(t.search, searchRow{next, text})
			return next, nil
		}
	}
}

// flushSearch writes the noted texts. The index takes many rows at once only in the order of their numbers.
func (t *tx) flushSearch() error {
	slices.SortFunc(t.search, func(a, b searchRow) int { return int(a.id - b.id) })
	for _, r := range t.search {
		err := t.exec("INSERT INTO mail_search(rowid, subject, sender, recipients, copies, files, body) VALUES(?,?,?,?,?,?,?)",
			r.id, r.text[0], r.text[1], r.text[2], r.text[3], r.text[4], r.text[5])
		if err != nil {
			return err
		}
	}
	t.search = nil
	return nil
}

// indexBatch is how many messages are indexed in one transaction.
const indexBatch = 200

// indexSome indexes the newest messages that are not in the search index, at most a batch of them, and
// returns how many it did.
func (s *Server) indexSome(ctx context.Context) (int, error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT m.id, r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id
		WHERE m.search_id IS NULL ORDER BY m.received_at DESC LIMIT ?`, indexBatch)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	type ready struct {
		id   int64
		text searchText
	}
	var batch []ready
	for rows.Next() {
		var m storedMessage
		if err := rows.Scan(&m.id, &m.encoding, &m.data); err != nil {
			return 0, err
		}
		msg, err := m.parse(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			s.log.Error("a message cannot be read for the search index", "message", m.id, "error", err)
			msg = &mailparse.Message{}
		}
		batch = append(batch, ready{m.id, searchTextOf(msg, readable(msg))})
	}
	if err := rows.Err(); err != nil || len(batch) == 0 {
		return 0, err
	}
	err = s.write(ctx, func(t *tx) error {
		for _, r := range batch {
			var received int64
			err := t.row("SELECT received_at FROM messages WHERE id = ? AND search_id IS NULL", []any{r.id}, &received)
			if errors.Is(err, sql.ErrNoRows) {
				continue // another process was faster, or it is gone
			}
			if err != nil {
				return err
			}
			id, err := t.addToSearch(received, r.text)
			if err != nil {
				return err
			}
			if err := t.exec("UPDATE messages SET search_id = ? WHERE id = ?", id, r.id); err != nil {
				return err
			}
		}
		return nil
	})
	return len(batch), err
}

func (s *Server) unindexed(ctx context.Context) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM messages WHERE search_id IS NULL").Scan(&n)
	return n, err
}

// indexOld brings messages into the search index that an older version of the program took in, the newest first, while
// the mailbox is in use. Only the process that runs the schedules does so.
func (s *Server) indexOld(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.unindexed(ctx)
		if err == nil && n == 0 {
			return
		}
		if s.schedules.Load() {
			if _, err = s.indexSome(ctx); err == nil {
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("old messages cannot be indexed", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// RebuildSearch makes the search index anew from the messages. It may be interrupted: the mailbox stays usable, what is
// not indexed yet is only not found, and the next start of the mail goes on. Progress may be nil.
func (s *Server) RebuildSearch(ctx context.Context, progress func(done, total int)) error {
	err := s.write(ctx, func(t *tx) error {
		if _, err := t.ExecContext(t.ctx, "DROP TABLE IF EXISTS mail_search; "+searchTable); err != nil {
			return err
		}
		return t.exec("UPDATE messages SET search_id = NULL WHERE search_id IS NOT NULL")
	})
	if err != nil {
		return s.storeError(err)
	}
	total, err := s.unindexed(ctx)
	for done := 0; err == nil; {
		if progress != nil {
			progress(done, max(total, done))
		}
		var n int
		if n, err = s.indexSome(ctx); n == 0 && err == nil {
			return nil
		}
		done += n
	}
	return s.storeError(err)
}

// ErrIndexing says that the search index is whole but does not hold all messages yet: it is filled while the mail is open.
var ErrIndexing = errors.New("some messages are not in the search index yet")

// CheckSearch looks for damage of the search index and for messages that are missing in it. The error says what is
// wrong; RebuildSearch mends it. It is ErrIndexing when nothing is wrong but the index is being filled.
func (s *Server) CheckSearch(ctx context.Context) error {
	if _, err := s.writer.ExecContext(ctx, "INSERT INTO mail_search(mail_search) VALUES('integrity-check')"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the search index is damaged (%w)", err)
	}
	var messages, indexed, missing int
	err := s.reader.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM mail_search),
		(SELECT count(*) FROM messages WHERE search_id IS NULL)`).Scan(&messages, &indexed, &missing)
	switch {
	case err != nil:
		return s.storeError(err)
	case indexed != messages-missing:
		return fmt.Errorf("the search index holds %d messages of %d", indexed, messages-missing)
	case missing > 0:
		return fmt.Errorf("%w: %d of %d", ErrIndexing, missing, messages)
	}
	return nil
}
