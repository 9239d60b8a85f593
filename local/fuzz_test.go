package local

import (
	"fmt"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever a calendar holds: what is read stays within the limits, is written again, and is read as the same time.
func FuzzReadCalendar(f *testing.F) {
	f.Add([]byte("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=W. Europe Standard Time:20260310T100000\r\nDURATION:PT1H\r\nRRULE:FREQ=MONTHLY;BYDAY=-1FR,MO;BYSETPOS=2;UNTIL=20270101\r\nEXDATE:20260310T100000Z,x\r\nATTENDEE;CN=\"a;b\":mailto:a@example.com\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"))
	f.Add([]byte("BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260310\nRECURRENCE-ID:20260310T100000Z\nSUMMARY:a\\,b\\n\n c\nRRULE:FREQ=YEARLY;BYMONTHDAY=-1,31;INTERVAL=4\nBEGIN:VEVENT"))
	s := &Server{now: func() time.Time { return time.UnixMilli(1_772_500_000_000).UTC() }}
	from, until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for item := range s.readCalendar(data, 1000) {
			if n++; n > 50 {
				return
			}
			e := item.event
			if !item.start {
				continue
			}
			if got := len(occurrences(e, from, until)); got > maxOccurrences {
				t.Errorf("%d occurrences", got)
			}
			if eventTime(e, "end").Before(eventTime(e, "start")) {
				t.Errorf("it ends before it starts: %v", e)
			}
			again := 0
			for copied := range s.readCalendar(writeICS(e, "", s.now(), nil), 100_000) {
				again++
				for _, name := range []string{"start", "end", "allDay", "recurrenceId"} {
					if name == "recurrenceId" && e["allDay"] == true {
						continue // it becomes a day, as RFC 5545 wants it
					}
					if fmt.Sprint(copied.event[name]) != fmt.Sprint(e[name]) {
						t.Errorf("%s was %v and is %v", name, e[name], copied.event[name])
					}
				}
			}
			if again != 1 {
				t.Errorf("one event is %d when it is written", again)
			}
		}
	})
}

// Whatever a vCard holds: what is read is text within the limits, and the file that is written of it holds as many cards.
func FuzzReadCards(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(someCards, "AAAA")))
	f.Add([]byte("BEGIN:VCARD\nN;ENCODING=QUOTED-PRINTABLE;CHARSET=utf-16:=FF=FE\nBDAY:--0229\nADR:;;;\nEND:VCARD"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, cards := &icalWriter{}, 0
		for k := range readCards(data) {
			if cards++; cards > 50 {
				return
			}
			for _, v := range []*string{k.Name, k.Nickname, k.Organization, k.Title, k.Birthday, k.Email} {
				if v != nil && (len(*v) > maxCardText || !utf8.ValidString(*v)) {
					t.Errorf("a value of %d bytes", len(*v))
				}
			}
			writeCard(w, k.card, "")
		}
		again := 0
		for range readCards([]byte(w.b.String())) {
			again++
		}
		if again != cards {
			t.Errorf("%d cards are %d when they are written", cards, again)
		}
	})
}
