package state

import (
	"context"
	"sort"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"codeberg.org/teapost/teapost/api"
)

// peopleState is whom address fields complete to: the server's people and those seen in mail that was read.
type peopleState struct {
	list  []Person // from the server
	seen  map[string]*Person
	call  string
	asked map[string]bool // prefixes that the server was asked for
}

func (m *Mail) loadPeople() { m.askPeople("") }

// askPeople asks the server for people, all the recent ones or those that match q.
func (m *Mail) askPeople(q string) {
	if m.people.call != "" || m.closing || m.opts.Passive || m.quiet() {
		return
	}
	if m.people.asked == nil {
		m.people.asked = map[string]bool{}
	}
	if m.people.asked[q] {
		return
	}
	m.people.asked[q] = true
	m.people.call = m.start(want{
		op: "contacts.listPeople", title: "Loading people", purpose: "people", priority: api.Background, key: "people/" + q,
		run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Contacts.ListPeople(ctx, api.PeopleListParams{Q: q, Sort: "recent", Limit: 100})
		},
		done: func(f api.Final) {
			m.people.call = ""
			if f.Err != nil {
				delete(m.people.asked, q)
				return
			}
			var got []Person
			for _, p := range f.Value.(*api.PeoplePage).Items {
				person := Person{Address: Address{Name: p.Name, Email: p.Email}}
				if p.Threads != nil {
					person.Mails = *p.Threads
				}
				if p.LastAt != nil {
					person.LastAt = *p.LastAt
				}
				got = append(got, person)
			}
			if q == "" {
				m.people.list = got
				m.cacheValue("people", got)
			} else {
				m.people.list = append(m.people.list, got...)
			}
			m.changed()
		},
	})
}

// learnPeople remembers who wrote and was written to.
func (m *Mail) learnPeople(t *api.Thread) {
	if m.people.seen == nil {
		m.people.seen = map[string]*Person{}
	}
	for _, msg := range t.Messages {
		for _, a := range append(append([]api.Address{msg.From}, msg.To...), msg.Cc...) {
			if !strings.Contains(a.Email, "@") {
				continue
			}
			k := strings.ToLower(a.Email)
			p := m.people.seen[k]
			if p == nil {
				if len(m.people.seen) > 5000 {
					continue
				}
				p = &Person{Address: Address{Email: a.Email}}
				m.people.seen[k] = p
			}
			if p.Name == "" {
				p.Name = a.Name
			}
			if msg.ReceivedAt.After(p.LastAt) {
				p.LastAt = msg.ReceivedAt
			}
		}
	}
}

// Complete lists people whose name or address has a word that begins with prefix, those last written with first. Case
// and accents do not matter. It answers from memory and asks the server behind it; what comes then is there next time.
func (m *Mail) Complete(prefix string, limit int) []Person {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefix = fold(strings.TrimSpace(prefix))
	if prefix == "" {
		return nil
	}
	found := map[string]Person{}
	add := func(p Person) {
		k := strings.ToLower(p.Email)
		if have, ok := found[k]; ok {
			have.Mails = max(have.Mails, p.Mails)
			if p.LastAt.After(have.LastAt) {
				have.LastAt = p.LastAt
			}
			if have.Name == "" {
				have.Name = p.Name
			}
			found[k] = have
			return
		}
		if matchesPerson(p.Address, prefix) {
			found[k] = p
		}
	}
	for _, p := range m.people.list {
		add(p)
	}
	for _, p := range m.people.seen {
		add(*p)
	}
	out := make([]Person, 0, len(found))
	for _, p := range found {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool {
		if !out[i].LastAt.Equal(out[j].LastAt) {
			return out[i].LastAt.After(out[j].LastAt)
		}
		return out[i].Email < out[j].Email
	})
	if len(out) < limit && len([]rune(prefix)) >= 2 {
		m.askPeople(prefix)
	}
	if len(out) > limit {
		out = out[:limit]
	}
	return out
}

func matchesPerson(a Address, prefix string) bool {
	name, email := fold(a.Name), fold(a.Email)
	if strings.HasPrefix(email, prefix) || strings.HasPrefix(name, prefix) {
		return true
	}
	for _, w := range strings.FieldsFunc(name+" "+email, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.HasPrefix(w, prefix) {
			return true
		}
	}
	return false
}

// fold takes case and accents off a text.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(s))
}

// shortTime is an instant as a line of news names it: "18:00", "Fri 4 Dec 09:00".
func shortTime(t, now time.Time) string {
	t = t.In(now.Location())
	if y, m, d := t.Date(); t.Sub(now) < 24*time.Hour {
		if ny, nm, nd := now.Date(); y == ny && m == nm && d == nd {
			return t.Format("15:04")
		}
	}
	if t.Year() != now.Year() {
		return t.Format("Mon 2 Jan 2006 15:04")
	}
	return t.Format("Mon 2 Jan 15:04")
}

// atTime is an instant in a sentence: "at 18:00", "on Fri 4 Dec 09:00".
func atTime(t, now time.Time) string {
	s := shortTime(t, now)
	if len(s) == len("15:04") {
		return "at " + s
	}
	return "on " + s
}
