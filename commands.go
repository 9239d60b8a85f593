package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs),
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), versionText()) },
	}
}

func versionText() string {
	return fmt.Sprintf("teapost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func keysCommand(flags *config.Flags) *cobra.Command {
	var preset string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "keys", Short: "List the keys in force", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(*flags, config.OSEnv)
			if err != nil {
				return err
			}
			overrides := cfg.Keys.Overrides
			if preset == "" {
				preset = cfg.Keys.Preset
			} else if preset != cfg.Keys.Preset {
				overrides = nil
			}
			keys, err := keymap.New(preset, overrides)
			var unknown *keymap.Error
			if errors.As(err, &unknown) && unknown.Context == "" && cmd.Flags().Changed("preset") {
				return &config.Error{Where: "--preset", What: unknown.What, Mend: unknown.Mend}
			}
			if err != nil {
				return keysError(cfg, err)
			}
			return listKeys(cmd.OutOrStdout(), keys, asJSON)
		},
	}
	cmd.Flags().StringVar(&preset, "preset", "", "the keys of a preset: "+strings.Join(keymap.Presets(), ", "))
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func listKeys(out io.Writer, keys *keymap.Map, asJSON bool) error {
	type row struct {
		Context string   `json:"context"`
		Action  string   `json:"action"`
		Keys    []string `json:"keys"`
		Help    string   `json:"help"`
	}
	var rows []row
	for _, ctx := range keymap.Contexts() {
		for _, section := range keys.Help(ctx) {
			for _, item := range section.Items {
				rows = append(rows, row{string(ctx), string(item.Action), item.Keys, item.Long})
			}
		}
	}
	if asJSON {
		return printJSON(out, rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	last := ""
	for _, r := range rows {
		if r.Context != last {
			if last != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "[keys.%s]\n", r.Context)
			last = r.Context
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Action, strings.Join(r.Keys, " · "), r.Help)
	}
	return w.Flush()
}

// openMailto opens the mail at a new message to a mailto: address.
func openMailto(ctx context.Context, flags config.Flags, address string) error {
	d, err := state.Mailto(address)
	if err != nil {
		return &usageError{err}
	}
	return openMail(ctx, flags, &d)
}

func composeCommand(flags *config.Flags) *cobra.Command {
	var to, cc, bcc, attach []string
	var subject, from string
	var send bool
	cmd := &cobra.Command{
		Use: "compose", Short: "Write a message, or send one from a script",
		Long: "compose opens a new message. When standard input is a pipe it is the text.\n" +
			"With --send it is sent without the screen: exit code 0 when it was accepted, 3 when it is safe in the outbox and goes later.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := state.Draft{
				Kind: state.DraftNew, To: strings.Join(to, ", "), Cc: strings.Join(cc, ", "), Bcc: strings.Join(bcc, ", "),
				Subject: clean.Line(subject), From: from,
			}
			if !isTerminal(os.Stdin) {
				text, err := io.ReadAll(io.LimitReader(os.Stdin, 16<<20))
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				d.Body = clean.Text(strings.ToValidUTF8(string(text), "\uFFFD"))
			}
			if send {
				return sendDraft(cmd, *flags, d, attach)
			}
			return composeOnScreen(cmd.Context(), *flags, d, attach)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&to, "to", nil, "a `recipient`; may be repeated")
	f.StringArrayVar(&cc, "cc", nil, "a `recipient` of a copy")
	f.StringArrayVar(&bcc, "bcc", nil, "a `recipient` of a blind copy")
	f.StringVar(&subject, "subject", "", "the subject")
	f.StringVar(&from, "from", "", "the `address` to write from")
	f.StringArrayVar(&attach, "attach", nil, "a `file` to attach; may be repeated")
	f.BoolVar(&send, "send", false, "send it without opening the screen")
	return cmd
}

// composeOnScreen keeps the draft with its files first and then opens the screen on it: the text is safe from the start.
func composeOnScreen(ctx context.Context, flags config.Flags, d state.Draft, attach []string) error {
	if len(attach) == 0 {
		d.ID = state.NewDraftID()
		return openMail(ctx, flags, &d)
	}
	err := withMail(ctx, flags, func(m *state.Mail) error {
		d = begun(m, d)
		d.ID = state.NewDraftID()
		var err error
		if d, err = storeDraft(ctx, m, d, attach); err != nil {
			m.DiscardDraft(d.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return openMail(ctx, flags, &d)
}

// withMail opens the mailbox without its screen, for as long as f runs. Nothing is sent meanwhile.
func withMail(ctx context.Context, flags config.Flags, f func(*state.Mail) error) (err error) {
	return withMailbox(ctx, flags, true, func(_ *mailbox, m *state.Mail) error { return f(m) })
}

// withMailbox opens the mailbox without its screen. With watch this process leaves the sending to others.
func withMailbox(ctx context.Context, flags config.Flags, watch bool, f func(*mailbox, *state.Mail) error) (err error) {
	cfg, err := config.Load(flags, config.OSEnv)
	if err != nil {
		return err
	}
	b, err := openMailbox(ctx, cfg, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	b.options.Watch = watch
	m, err := state.Open(ctx, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeMail(m)) }()
	return f(b, m)
}

// await waits until done says so, looking again after each change. It gives the context's error when that ends first.
func await(ctx context.Context, m *state.Mail, done func() bool) error {
	for !done() {
		select {
		case <-m.Updates():
		case <-time.After(200 * time.Millisecond): // another process may do the work
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// storeDraft writes a draft and its files to the disk.
func storeDraft(ctx context.Context, m *state.Mail, d state.Draft, attach []string) (state.Draft, error) {
	m.EditDraft(d)
	for _, path := range attach {
		m.Attach(d.ID, path)
	}
	var failed error
	err := await(ctx, m, func() bool {
		if now, ok := m.Draft(d.ID); ok {
			d = now
		}
		if f := m.Status().Failures; len(f) > 0 {
			failed = errors.New(clean.Line(f[0].Text))
			return true
		}
		status := m.DraftStatus(d.ID)
		if status.State == state.SaveFailed {
			failed = errors.New(clean.Line(status.Problem))
			return true
		}
		return len(d.Files) == len(attach) && status.State != state.SaveDirty
	})
	return d, errors.Join(failed, err)
}

func sendDraft(cmd *cobra.Command, flags config.Flags, d state.Draft, attach []string) error {
	ctx := cmd.Context()
	return withMailbox(ctx, flags, false, func(b *mailbox, m *state.Mail) error {
		if d.From == "" {
			d.From = m.NewDraft("").From
		}
		checked := d
		if d.From == "" {
			checked.From = "unknown@localhost" // what else is wrong can be said without asking the server
		}
		if problem := m.CheckDraft(checked); problem != "" {
			return &usageError{errors.New(problem)}
		}
		if d.Subject == "" && strings.TrimSpace(d.Body) == "" && len(attach) == 0 {
			return &usageError{errors.New("there is nothing to send: give a --subject, a text on standard input, or an --attach")}
		}
		if d.From == "" {
			var err error
			if d.From, err = ownAddress(ctx, b.options.Client); err != nil {
				d.ID = state.NewDraftID()
				_, kept := storeDraft(ctx, m, d, attach)
				if kept != nil {
					return errors.Join(err, kept)
				}
				return fmt.Errorf("not sent: no address of yours is known yet: %w. It is among your drafts now; name the address with --from, or with from = in the account's section of the configuration", err)
			}
		}
		d.ID = state.NewDraftID()
		if len(attach) > 0 {
			var err error
			if d, err = storeDraft(ctx, m, d, attach); err != nil {
				m.DiscardDraft(d.ID)
				return err
			}
			if problem := m.CheckDraft(d); problem != "" {
				return &usageError{errors.New(problem)}
			}
		}
		return awaitSend(ctx, cmd, m, m.Send(d, state.SendOptions{Undo: -1}), state.Entry{}, b.server != nil)
	})
}

// ownAddress asks the server which address may send.
func ownAddress(ctx context.Context, client *api.Client) (string, error) {
	page, err := client.Addresses.List(ctx, api.ListParams{Limit: 100})
	if err != nil {
		return "", err
	}
	for _, a := range page.Items {
		if a.Enabled && a.CanSend {
			return a.Address, nil
		}
	}
	return "", errors.New("the server names none that may send")
}

// How long another process, which sends for this mailbox, may do nothing about a message before it counts as stopped.
const (
	ownerBegins = 10 * time.Second
	ownerSends  = 3 * time.Minute
	// How long the embedded server may take for its first attempt to deliver.
	delivery = 3 * time.Minute
)

// awaitSend waits for one call's tries, by this process or by the one that has the mail open. before is the entry as it
// was when it was to be sent again, and zero for a new one. delivers says that the server is the embedded one, which
// delivers only while a program runs: its first attempt is waited for too.
func awaitSend(ctx context.Context, cmd *cobra.Command, m *state.Mail, id state.EntryID, before state.Entry, delivers bool) error {
	e := before
	gone, idle := false, false
	since := time.Now()
	err := await(ctx, m, func() bool {
		now, ok := m.Entry(id)
		if gone = !ok; gone {
			return true
		}
		if now.State != e.State || now.Attempts != e.Attempts {
			since = time.Now()
		}
		e = now
		other := !m.Status().Owner
		limit := ownerBegins
		switch {
		case e.State == state.EntrySending:
			limit = ownerSends
		case e.State == state.EntrySaving, e.State == state.EntryQueued:
		case e.AskedUntil.After(m.Now()):
			return true
		case other && e.State == before.State && e.Attempts == before.Attempts: // it was not told yet
		case delivers && e.State == state.EntryAccepted && e.ScheduledAt.IsZero() && e.Why == "" && time.Since(since) < delivery:
			limit = delivery
		default:
			return true
		}
		idle = other && time.Since(since) > limit
		return idle
	})
	errOut := cmd.ErrOrStderr()
	subject := clean.Line(e.Subject)
	switch {
	case gone:
		return errors.New("it is not in the outbox any more: somebody took it out")
	case err != nil:
		fmt.Fprintf(errOut, "Stopped. “%s” is safe in the outbox and goes with the next start.\n", subject)
		return errKept
	case idle:
		fmt.Fprintf(errOut, "Not sent yet: another teapost has this mail open and does not send; it may be stopped with ctrl+z. “%s” is safe in the outbox and goes when that one goes on or ends.\n", subject)
		return errKept
	}
	return tellSend(cmd.OutOrStdout(), errOut, e, delivers)
}

// tellSend says what became of a send that was waited for.
func tellSend(out, errOut io.Writer, e state.Entry, delivers bool) error {
	subject := clean.Line(e.Subject)
	if e.Ask == state.AskSendAgain {
		return fmt.Errorf("not known whether it arrived: %s; `teapost outbox send %s` sends it once more", clean.Line(e.Why), e.ID)
	}
	if delivers && e.State == state.EntryAccepted && e.ScheduledAt.IsZero() {
		why := clean.Line(e.Why)
		if why == "" {
			why = "the relay has not answered yet"
		}
		fmt.Fprintf(errOut, "Not sent yet: %s “%s” is safe in the mailbox on this machine, which tries again while teapost runs.\n", strings.TrimSuffix(why, ".")+".", subject)
		return errKept
	}
	switch e.State {
	case state.EntrySent, state.EntryAccepted:
		if e.TestMode {
			fmt.Fprintln(errOut, "Kept as sent in test mode: it did not leave this machine.")
		}
		fmt.Fprintln(out, e.EmailID)
		return nil
	case state.EntryFailed, state.EntryCancelled:
		return fmt.Errorf("not sent: %s", clean.Line(e.Why))
	}
	fmt.Fprintf(errOut, "Not sent yet: %s. “%s” is safe in the outbox and goes with the next start, or now with `teapost outbox send`.\n", clean.Line(e.Why), subject)
	return errKept
}
