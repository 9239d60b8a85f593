package state

import (
	"context"
	"errors"
	"net/http"

	"codeberg.org/teapost/teapost/api"
)

// renewal is what is known of the credential: a key that the server refuses may have been changed where it is kept.
type renewal struct {
	asked   bool // and nothing has gone through since: it is not asked for again by itself
	count   int  // of credentials, so that a call knows whether there has been another one since it began
	asking  bool
	waiting []refusedCall // calls that wait for the answer
	stop    context.CancelFunc
	done    chan struct{} // closed when the answer is posted; nil: nobody ever asked
}

type refusedCall struct {
	call  *call
	final api.Final
	want  want
}

// renew takes over a call whose credential was refused, and reports whether it did: the credential is asked for again once,
// and with another one the call is made once more. A send is not: its entry, which is held, goes by the rules of the outbox.
func (m *Mail) renew(c *call, f api.Final, w want) bool {
	var e *api.Error
	if !errors.As(f.Err, &e) || e.Status != http.StatusUnauthorized || m.opts.Renew == nil || m.closing || c.again {
		return false
	}
	r := &m.renewal
	switch {
	case c.credential != r.count: // it began before there was another one
		m.repeat(c, f, w)
	case r.asking:
		r.waiting = append(r.waiting, refusedCall{c, f, w})
	case r.asked:
		return false
	default:
		r.asked, r.asking = true, true
		r.waiting = append(r.waiting, refusedCall{c, f, w})
		m.askCredential()
	}
	c.Phase = api.Queued
	m.changed()
	return true
}

func (m *Mail) askCredential() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	m.renewal.stop, m.renewal.done = stop, done
	go func() {
		defer close(done)
		client, origin, err := m.opts.Renew(ctx)
		m.post(func() {
			stop()
			m.credentialKnown(client, origin, err)
		})
	}()
}

// credentialKnown goes on with what was refused, now that the credential was asked for again.
func (m *Mail) credentialKnown(client *api.Client, origin string, err error) {
	if err != nil {
		m.log.Warn("cannot get the credential again", "error", err.Error())
	}
	r := &m.renewal
	waiting := r.waiting
	r.waiting, r.asking = nil, false
	if client == nil || err != nil || m.closing {
		for _, w := range waiting {
			w.call.again = true
			m.finish(w.call, w.final, w.want)
		}
		return
	}
	r.count++
	m.opts.Origin = origin
	m.client.Store(client)
	for _, w := range waiting {
		m.repeat(w.call, w.final, w.want)
	}
	m.signedIn()
}

// repeat makes a call once more with the credential that there is now.
func (m *Mail) repeat(c *call, f api.Final, w want) {
	c.again = true
	if w.op == "emails.send" {
		m.finish(c, f, w)
		m.signedIn()
		return
	}
	c.credential = m.renewal.count
	m.submit(c, w)
}

// signedIn lets go the messages that wait for a credential.
func (m *Mail) signedIn() {
	for _, e := range m.outbox {
		if e.State == EntryHeld && e.SignIn && !e.busy() && !e.renewed {
			e.renewed = true
			m.removeNotices(func(n *notice) bool { return n.Entry == e.ID })
			e.State, e.SignIn, e.Why, e.NextAt = EntryQueued, false, "", e.AskedUntil
			m.saveEntry(e, nil)
		}
	}
}

// stopRenewal ends a call that waits for the credential, because the person stopped it, and reports whether it does.
func (m *Mail) stopRenewal(c *call) bool {
	r := &m.renewal
	for i, w := range r.waiting {
		if w.call == c {
			r.waiting = append(append([]refusedCall(nil), r.waiting[:i]...), r.waiting[i+1:]...)
			w.final.Err = context.Canceled
			m.finish(c, w.final, w.want)
			return true
		}
	}
	return false
}
