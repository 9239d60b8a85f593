package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// A feed is the calendar as an .ics file behind a secret address, for programs on this machine that show calendars. Only
// `teapost serve` can be asked for it.

const (
	feedPath = "/calendar/feed.ics"
	maxFeeds = 100
)

const feedColumns = "id, name, mode, token, base, reads, last_read_at, created_at"

func (s *Server) scanFeed(c *call, row scanner) (map[string]any, error) {
	var id, reads, created int64
	var name, mode, token, base string
	var last sql.NullInt64
	if err := row.Scan(&id, &name, &mode, &token, &base, &reads, &last, &created); err != nil {
		return nil, err
	}
	if served := c.served(); served != "" {
		base = served
	}
	// The token is in the query: no log holds one.
	address := base + feedPath + "?token=" + token
	return map[string]any{
		"object": "calendar_feed", "id": wireID("feed", id), "name": name, "mode": mode, "url": "http://" + address, "webcalUrl": "webcal://" + address,
		"readCount": reads, "lastReadAt": instantOrNull(last), "createdAt": instant(created),
	}, nil
}

// served is the host and port that the request came to; empty within the process.
func (c *call) served() string {
	if !c.who.served {
		return ""
	}
	return c.Host
}

func (s *Server) feed(c *call, id int64) (any, error) {
	f, err := s.scanFeed(c, s.reader.QueryRowContext(c.ctx, "SELECT "+feedColumns+" FROM calendar_feeds WHERE id = ?", id))
	if err != nil {
		return nil, found(err, "calendar feed", "")
	}
	return f, nil
}

func (s *Server) listFeeds(c *call) (any, error) {
	data, err := collect(c.ctx, s.reader, func(row scanner) (any, error) { return s.scanFeed(c, row) }, "SELECT "+feedColumns+" FROM calendar_feeds ORDER BY id")
	return list(data), err
}

func (s *Server) createFeed(c *call) (any, error) {
	if c.served() == "" {
		return nil, &apiError{http.StatusNotImplemented, "not_available_locally", "calendar.createFeed needs `teapost serve`: a feed is read there. Make it through that.", ""}
	}
	name, err := c.body.name("A feed")
	if err != nil {
		return nil, err
	}
	mode, err := c.body.oneOf("mode", "", "full", "busy")
	if err != nil {
		return nil, err
	}
	if mode == "" {
		return nil, invalidField("mode", "mode must be full or busy.")
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		var n int
		if err := t.row("SELECT count(*) FROM calendar_feeds", nil, &n); err != nil {
			return err
		}
		if n >= maxFeeds {
			return &apiError{http.StatusUnprocessableEntity, "workspace_limit_reached", fmt.Sprintf("There are %d feeds, the most that there can be; delete one that nobody reads.", maxFeeds), ""}
		}
		id, err = t.insert("INSERT INTO calendar_feeds(name, mode, token, base, created_at) VALUES(?,?,?,?,?)", name, mode, newFeedToken(), c.served(), t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.feed(c, id)
}

func newFeedToken() string { return strings.ToLower(rand.Text() + rand.Text()) }

// resetFeed gives a feed another address; the old one ends.
func (s *Server) resetFeed(c *call) (any, error) {
	id, err := c.id("feed", "calendar feed")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		return t.mustChange("calendar feed", "UPDATE calendar_feeds SET token = ?, reads = 0, last_read_at = NULL WHERE id = ?", newFeedToken(), id)
	})
	if err != nil {
		return nil, err
	}
	return s.feed(c, id)
}

func (s *Server) deleteFeed(c *call) (any, error) {
	return s.deleteRow(c, "feed", "calendar_feed", "calendar feed", "DELETE FROM calendar_feeds WHERE id = ?")
}

// readFeed answers whoever knows the address.
func (s *Server) readFeed(c *call) (any, error) {
	var id int64
	var name, mode string
	err := s.reader.QueryRowContext(c.ctx, "SELECT id, name, mode FROM calendar_feeds WHERE token = ?", c.query.Get("token")).Scan(&id, &name, &mode)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &apiError{http.StatusNotFound, "resource_not_found", "There is no such calendar feed; its address may have been reset.", "token"}
	}
	if err != nil {
		return nil, err
	}
	events, err := s.feedEvents(c.ctx, mode == "busy")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		return t.exec("UPDATE calendar_feeds SET reads = reads + 1, last_read_at = ? WHERE id = ?", t.now, id)
	})
	if err != nil {
		return nil, err
	}
	return &bytesAnswer{contentType: "text/calendar; charset=utf-8", filename: "calendar.ics", data: writeCalendar(events, "", name, s.now(), nil)}, nil
}

// feedEvents gives what is in the calendar; busy leaves only the times at which one is not free.
func (s *Server) feedEvents(ctx context.Context, busy bool) ([]map[string]any, error) {
	stored, err := s.shownEvents(ctx, "1")
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, e := range stored {
		w, err := s.wireEvent(ctx, e)
		if err != nil {
			return nil, err
		}
		cancelled := w["status"] == "CANCELLED"
		if cancelled && w["recurrenceId"] == nil {
			continue
		}
		if busy {
			free := w["transparency"] == "TRANSPARENT" || s.myPartstat(e) == "DECLINED"
			if free && w["recurrenceId"] == nil {
				continue
			}
			w = maps.Clone(w)
			if free { // a date of a series that does not count
				w["status"] = "CANCELLED"
			}
			w["summary"], w["description"], w["location"], w["url"], w["organizer"] = "Busy", nil, nil, nil, nil
			w["attendees"], w["alarms"] = []any{}, []any{}
		}
		out = append(out, w)
	}
	return out, nil
}
