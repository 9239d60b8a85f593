package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

func outboxCommand(flags *config.Flags) *cobra.Command {
	var asJSON bool
	list := func(cmd *cobra.Command, _ []string) error {
		return withMail(cmd.Context(), *flags, func(m *state.Mail) error { return listOutbox(cmd.OutOrStdout(), m, asJSON) })
	}
	root := &cobra.Command{Use: "outbox", Short: "What has not left yet, and why", Args: args(cobra.NoArgs), RunE: list}
	root.PersistentFlags().BoolVar(&asJSON, "json", false, "as JSON")
	ls := &cobra.Command{Use: "list", Short: "List the messages", Args: args(cobra.NoArgs), RunE: list}
	send := &cobra.Command{
		Use: "send [ID]", Short: "Try now, all or one", Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return outboxSend(cmd, *flags, given) },
	}
	hold := &cobra.Command{
		Use: "hold ID", Short: "Keep a message until you send it", Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return withEntry(cmd.Context(), *flags, given[0], func(m *state.Mail, e state.Entry) error {
				m.Hold(e.ID)
				fmt.Fprintln(cmd.OutOrStdout(), describe(entryNow(m, e)))
				return nil
			})
		},
	}
	drop := &cobra.Command{
		Use: "drop ID", Short: "Throw a message away", Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return withEntry(cmd.Context(), *flags, given[0], func(m *state.Mail, e state.Entry) error {
				if !e.CanDrop {
					return errors.New("it may already have arrived: it can be dropped from the outbox of the open mail, which looks for it first")
				}
				return dropEntry(cmd.Context(), m, e)
			})
		},
	}
	root.AddCommand(ls, send, hold, drop)
	return root
}

// dropEntry waits until the message is off the disk.
func dropEntry(ctx context.Context, m *state.Mail, e state.Entry) error {
	m.Drop(e.ID)
	var failed error
	err := await(ctx, m, func() bool {
		if f := m.Status().Failures; len(f) > 0 {
			failed = errors.New(clean.Line(f[0].Text))
			return true
		}
		_, there := m.Entry(e.ID)
		return !there
	})
	return errors.Join(failed, err)
}

func entryNow(m *state.Mail, e state.Entry) state.Entry {
	if now, ok := m.Entry(e.ID); ok {
		return now
	}
	return e
}

// withEntry finds an entry by its id or by the beginning of it.
func withEntry(ctx context.Context, flags config.Flags, id string, f func(*state.Mail, state.Entry) error) error {
	return withMail(ctx, flags, func(m *state.Mail) error {
		e, err := findEntry(m, id)
		if err != nil {
			return err
		}
		return f(m, e)
	})
}

func findEntry(m *state.Mail, id string) (state.Entry, error) {
	var found []state.Entry
	for _, e := range m.Outbox() {
		if strings.HasPrefix(string(e.ID), id) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return state.Entry{}, &usageError{fmt.Errorf("no message in the outbox has the id %q; `teapost outbox list` shows them", id)}
	case 1:
		return found[0], nil
	}
	return state.Entry{}, &usageError{fmt.Errorf("%q begins the ids of %d messages: give more of it", id, len(found))}
}

// describe is one entry as a line, with why it is as it is in a line of its own.
func describe(e state.Entry) string {
	to := "nobody"
	if len(e.To) > 0 {
		to = clean.Line(e.To[0].Email)
	}
	if more := len(e.To) - 1; more > 0 {
		to += fmt.Sprintf(" +%d", more)
	}
	at := e.CreatedAt
	if !e.ScheduledAt.IsZero() {
		at = e.ScheduledAt
	}
	s := fmt.Sprintf("%s  %-9s  %s  %-24s  %s", shortID(e.ID), e.State, at.Local().Format("2 Jan 15:04"), to, clean.Line(e.Subject))
	if e.Why != "" {
		s += "\n          " + clean.Line(e.Why)
	}
	return s
}

func shortID(id state.EntryID) string {
	if len(id) > 8 {
		return string(id[:8])
	}
	return string(id)
}

func listOutbox(out io.Writer, m *state.Mail, asJSON bool) error {
	entries := m.Outbox()
	if asJSON {
		type row struct {
			ID        string     `json:"id"`
			State     string     `json:"state"`
			Subject   string     `json:"subject"`
			To        []string   `json:"to"`
			Why       string     `json:"why,omitempty"`
			Until     *time.Time `json:"until,omitempty"`
			Attempts  int        `json:"attempts"`
			CreatedAt time.Time  `json:"createdAt"`
			EmailID   string     `json:"emailId,omitempty"`
		}
		rows := []row{}
		for _, e := range entries {
			r := row{
				ID: string(e.ID), State: string(e.State), Subject: clean.Line(e.Subject), To: []string{}, Why: clean.Line(e.Why),
				Attempts: e.Attempts, CreatedAt: e.CreatedAt, EmailID: clean.Line(e.EmailID),
			}
			for _, a := range e.To {
				r.To = append(r.To, clean.Line(a.Email))
			}
			if !e.Until.IsZero() {
				r.Until = &e.Until
			}
			rows = append(rows, r)
		}
		return printJSON(out, rows)
	}
	left := 0
	for _, e := range entries {
		if e.State == state.EntrySent || e.State == state.EntryCancelled {
			left++
			continue
		}
		fmt.Fprintln(out, describe(e))
	}
	if left == len(entries) {
		fmt.Fprintln(out, "Nothing waits in the outbox.")
	}
	return nil
}

// outboxSend tries one message, or all that may go, and waits for their tries.
func outboxSend(cmd *cobra.Command, flags config.Flags, given []string) error {
	return withMailbox(cmd.Context(), flags, false, func(b *mailbox, m *state.Mail) error {
		if len(given) == 1 {
			e, err := findEntry(m, given[0])
			if err != nil {
				return err
			}
			m.SendNow(e.ID)
			return awaitSend(cmd.Context(), cmd, m, e.ID, e, b.server != nil)
		}
		var errs []error
		for _, e := range m.Outbox() {
			waits := e.State == state.EntrySending || e.State == state.EntryQueued ||
				b.server != nil && e.State == state.EntryAccepted && e.ScheduledAt.IsZero()
			if e.CanSend && e.Ask != state.AskSendAgain || waits {
				m.SendNow(e.ID)
				errs = append(errs, awaitSend(cmd.Context(), cmd, m, e.ID, e, b.server != nil))
			}
		}
		return errors.Join(errs...)
	})
}
