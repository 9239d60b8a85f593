package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// resultFor is how long a result stays on the line of news.
const resultFor = 6 * time.Second

type notice struct {
	Notice
	until time.Time // when it goes by itself; zero: stays
	retry func()    // with the lock held

	dismissed func() // what it means that the person took it off; with the lock held; may be nil
	change    string // the id of the change that it asks about
	about     string // what failed; see want
}

// addNotice shows a line of news. With the lock held.
func (m *Mail) addNotice(n Notice) { m.addNoticeRetry(n, nil) }

func (m *Mail) addNoticeRetry(n Notice, retry func()) *notice {
	m.noticeID++
	n.ID, n.At = m.noticeID, m.now()
	rec := &notice{Notice: n, retry: retry}
	if n.Kind == NoticeFailure {
		rec.about = m.failing
		m.removeNotices(rec.replaces)
	}
	rec.Retry = retry != nil
	if retry != nil && rec.RetryTo == "" {
		rec.RetryTo = "tries again"
	}
	if n.Kind != NoticeFailure {
		rec.until = n.At.Add(resultFor)
		if n.Until.After(rec.until) {
			rec.until = n.Until
		}
	}
	m.notices = append(m.notices, rec)
	if len(m.notices) > 50 {
		m.notices = append([]*notice(nil), m.notices[len(m.notices)-50:]...)
	}
	m.changed()
	return rec
}

// replaces reports that n is newer news of what other tells: of one message, of one thing that failed, or the same again.
func (n *notice) replaces(other *notice) bool {
	if other.Kind != NoticeFailure || other.change != "" {
		return false
	}
	return n.Entry != "" && n.Entry == other.Entry || n.about != "" && n.about == other.about || n.Text == other.Text
}

// removeNotices takes away those that match. With the lock held.
func (m *Mail) removeNotices(match func(*notice) bool) {
	kept := m.notices[:0]
	for _, n := range m.notices {
		if !match(n) {
			kept = append(kept, n)
		}
	}
	if len(kept) != len(m.notices) {
		clear(m.notices[len(kept):])
		m.notices = kept
		m.changed()
	}
}

func (m *Mail) tickNotices(now time.Time) {
	m.removeNotices(func(n *notice) bool { return !n.until.IsZero() && !now.Before(n.until) })
}

func (m *Mail) dueNotice() time.Time {
	var due time.Time
	for _, n := range m.notices {
		due = sooner(due, n.until)
	}
	return due
}

// Dismiss takes a notice off the line of news.
func (m *Mail) Dismiss(id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range slices.Clone(m.notices) {
		if n.ID == id && n.dismissed != nil {
			n.dismissed()
		}
	}
	m.removeNotices(func(n *notice) bool { return n.ID == id })
}

// RetryNotice does again what a notice says did not work.
func (m *Mail) RetryNotice(id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.notices {
		if n.ID == id && n.retry != nil {
			retry := n.retry
			m.removeNotices(func(n *notice) bool { return n.ID == id })
			m.insist()
			retry()
			m.changed()
			return
		}
	}
}

// sooner is the earlier of two instants, of which either may be zero for never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// reason puts a failure into few words: "permission denied (req_9c1)".
func reason(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		words := e.Message
		switch {
		case errors.Is(err, api.ErrStepUp):
			words = "the server wants you to confirm that it is you"
		case errors.Is(err, api.ErrInsufficientScope):
			words = "the key may not do this"
		case e.Status == 401:
			words = "the server does not accept the key"
		case e.Status == 403:
			words = "permission denied"
		case e.Status == 404:
			words = "it is not there any more"
		case e.Status == 429:
			words = "too many requests"
		case e.Status == 408:
			words = "the server timed out (408)"
		case e.Status >= 500:
			words = fmt.Sprintf("server %s (%d)", serverTrouble(e.Status), e.Status)
		case e.Code == "unrecognised_response":
			words = "the answer was not understood"
		}
		if words == "" {
			words = fmt.Sprintf("the server said %d", e.Status)
		}
		if e.RequestID != "" {
			words += " (" + e.RequestID + ")"
		}
		return words
	}
	var n *api.NetworkError
	if errors.As(err, &n) {
		if n.Timeout {
			return "no answer in time"
		}
		if n.Cause != "" {
			return n.Cause
		}
		return "no connection"
	}
	return err.Error()
}

func serverTrouble(status int) string {
	switch status {
	case 502, 504:
		return "not reachable"
	case 503:
		return "busy"
	}
	return "error"
}

// askedTooMuch reports that the server asked for a longer wait than a call may make, and which.
func askedTooMuch(err error) (time.Duration, bool) {
	var e *api.Error
	if errors.As(err, &e) && e.HasRetryAfter && e.RetryAfter > time.Minute {
		return e.RetryAfter, true
	}
	return 0, false
}

// inWords is a length of time as a person says it: "3 min", "20 s", "2 h".
func inWords(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int((d+time.Second-1)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int((d+time.Minute-1)/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int((d+time.Hour-1)/time.Hour))
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}

// failureText says in one sentence that what the title names did not work.
func failureText(title string, err error) string {
	if d, ok := askedTooMuch(err); ok {
		return fmt.Sprintf("%s stopped · server asks for %s", title, inWords(d))
	}
	if errors.Is(err, api.ErrRateLimit) {
		return "Too many requests · slowed down"
	}
	return fmt.Sprintf("%s failed · %s", title, reason(err))
}

// laterText says that something did not go through, is kept, and goes again by itself.
func laterText(title string, err error) string {
	why := reason(err)
	var e *api.Error
	if errors.As(err, &e) { // the activity has the request's id
		brief := *e
		brief.RequestID = ""
		why = reason(&brief)
	}
	if d, ok := askedTooMuch(err); ok {
		why = "server asks for " + inWords(d)
	}
	return title + " later by itself · " + why
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// quoted is a subject in quotation marks, cut to a length that fits into a line.
func quoted(subject string) string { return quotedShort(subject, 40) }

// quotedShort is quoted with at most n characters.
func quotedShort(subject string, n int) string {
	subject = strings.Join(strings.Fields(clean.LineMax(subject, 400)), " ") // a cut must not split a sequence
	if subject == "" {
		return "(no subject)"
	}
	if r := []rune(subject); len(r) > n {
		subject = strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return "“" + subject + "”"
}
