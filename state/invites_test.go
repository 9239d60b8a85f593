package state

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/local"
)

const invitation = "From: Grace Hall <grace@example.org>\r\nTo: Ada <ada@example.com>\r\nSubject: Offsite\r\nMessage-ID: <offsite@example.org>\r\n" +
	"Date: Mon, 03 Jan 2000 09:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; method=REQUEST; charset=utf-8\r\n\r\n" +
	"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:offsite-1\r\nSEQUENCE:0\r\nDTSTAMP:20000103T090000Z\r\n" +
	"DTSTART:20000210T090000Z\r\nDTEND:20000210T160000Z\r\nSUMMARY:Offsite\r\nORGANIZER;CN=Grace Hall:mailto:grace@example.org\r\n" +
	"ATTENDEE;CN=Ada;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:ada@example.com\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// invited is a conversation with an invitation that is open, its event known.
func (w *world) invited(invitation string) ThreadID {
	w.t.Helper()
	got, err := w.server.Ingest(context.Background(), []byte(invitation), local.IngestOptions{Unread: true, Arrival: true})
	if err != nil {
		w.t.Fatal(err)
	}
	id := ThreadID(got.ThreadID)
	w.load()
	w.mail.OpenThread(id)
	w.until("the event", func() bool { return w.mail.Thread(id).Event != nil })
	return id
}

func (w *world) answer(id ThreadID, kind ChangeKind) {
	w.mail.Do([]ThreadID{id}, Change{Kind: kind, Event: w.mail.Thread(id).Event.ID})
}

// answers are the answers that reached the server's door.
func (w *world) answersSent() []string {
	var out []string
	for _, r := range w.player.Requests() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/respond") {
			out = append(out, bodyOf(r)["response"].(string))
		}
	}
	return out
}

func TestAnswersToAnInvitation(t *testing.T) {
	for kind, word := range map[ChangeKind]string{ChangeAccept: "ACCEPTED", ChangeTentative: "TENTATIVE", ChangeDecline: "DECLINED"} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				id := w.invited(invitation)
				if a := w.mail.Thread(id).Answer; a != "" {
					t.Fatalf("answered %q before anything was done", a)
				}
				w.answer(id, kind)
				if a := w.mail.Thread(id).Answer; a != kind {
					t.Errorf("shown right after the key: %q", a)
				}
				w.settled()
				th := w.mail.Thread(id)
				if th.Answer != kind || th.Event.Attendees[0].PartStat != word {
					t.Errorf("after the server's answer: %q, %+v", th.Answer, th.Event.Attendees)
				}
				if got := w.answersSent(); len(got) != 1 || got[0] != word {
					t.Errorf("asked the server %q", got)
				}
			})
		})
	}
}

// The organizer is told once: an answer whose reply was lost is not repeated by itself, and what the server has of it
// settles the question.
func TestAnswerWithoutAReplyIsLookedUp(t *testing.T) {
	inWorld(t, "POST /calendar/*: reset:after, ok", func(w *world) {
		// Nobody to tell, so that no mail of it comes into the conversation.
		id := w.invited(strings.Replace(invitation, "ORGANIZER;CN=Grace Hall:mailto:grace@example.org\r\n", "", 1))
		w.answer(id, ChangeAccept)
		w.until("it is on the server, and nobody is asked", func() bool {
			s := w.mail.Status()
			return s.Unsent == 0 && len(s.Failures) == 0 && w.mail.Thread(id).Event.Attendees[0].PartStat == "ACCEPTED"
		})
		if got := w.answersSent(); len(got) != 1 {
			t.Errorf("asked the server %d times", len(got))
		}
	})
}

func TestAnswerThatDidNotArriveIsAskedAbout(t *testing.T) {
	inWorld(t, "POST /calendar/*: 503, ok", func(w *world) {
		id := w.invited(invitation)
		w.answer(id, ChangeAccept)
		w.until("asked", func() bool { return w.hasNotice("Accepting “Offsite”: " + answerLost) })
		w.restart()
		w.load()
		w.mail.OpenThread(id)
		w.until("the event", func() bool { return w.mail.Thread(id).Event != nil })
		w.pass(time.Hour)
		if got := w.answersSent(); len(got) != 1 {
			t.Fatalf("asked the server %d times by itself", len(got))
		}
		if !w.hasNotice("Accepting “Offsite”: " + answerLost) {
			t.Fatalf("not asked about after a restart: %s", w.describe())
		}
		w.answer(id, ChangeDecline) // another answer is an answer to the question too
		w.settled()
		if a := w.mail.Thread(id).Answer; a != ChangeDecline || w.hasNotice(answerLost) {
			t.Errorf("answer %q: %s", a, w.describe())
		}
		if got := w.answersSent(); len(got) != 2 || got[1] != "DECLINED" {
			t.Errorf("asked the server %q", got)
		}
	})
}

func TestAnswerThatIsRefused(t *testing.T) {
	inWorld(t, "POST /calendar/*: 409, ok", func(w *world) {
		id := w.invited(invitation)
		w.answer(id, ChangeAccept)
		w.until("told", func() bool { return w.hasNotice("Could not accept “Offsite”") })
		if a := w.mail.Thread(id).Answer; a != "" || w.hasNotice("back in place") {
			t.Errorf("answer %q: %s", a, w.describe())
		}
	})
}

// Without a connection the newest answer is the one that counts: the ones before it are let go of.
func TestAnswersBesideEachOther(t *testing.T) {
	inWorld(t, "POST /calendar/*: delay:10s, ok", func(w *world) {
		id := w.invited(invitation)
		w.answer(id, ChangeAccept)
		w.pass(time.Second)
		w.answer(id, ChangeTentative)
		w.answer(id, ChangeDecline)
		w.settled()
		if got := strings.Join(w.answersSent(), " "); got != "ACCEPTED DECLINED" {
			t.Errorf("asked the server %q", got)
		}
		if a := w.mail.Thread(id).Answer; a != ChangeDecline {
			t.Errorf("answer %q", a)
		}
	})
}

// noEvents is a server that knows no invitation as an event.
type noEvents struct{ next http.RoundTripper }

func (n noEvents) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/event") {
		return n.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(`{"error":{"type":"not_found","code":"not_found","message":"There is none."}}`)),
	}, nil
}

func TestInvitationWithoutAnEvent(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.through(noEvents{w.off.next})
		got, err := w.server.Ingest(context.Background(), []byte(invitation), local.IngestOptions{Unread: true, Arrival: true})
		if err != nil {
			t.Fatal(err)
		}
		id := ThreadID(got.ThreadID)
		w.load()
		w.mail.OpenThread(id)
		if w.mail.Thread(id).NoEvent {
			t.Error("said before the server was asked")
		}
		w.until("told that there is none", func() bool { return w.mail.Thread(id).NoEvent })
	})
}
