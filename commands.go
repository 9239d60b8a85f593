package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/local"
	"codeberg.org/teapost/teapost/state"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs),
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "teapost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
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
		if d.From == "" {
			d.From = m.NewDraft("").From
		}
		d.ID = state.NewDraftID()
		var err error
		d, err = storeDraft(ctx, m, d, attach)
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
		if d.From == "" {
			rest := d
			rest.From = "unknown@localhost" // what else is wrong can be said without asking the server
			if problem := m.CheckDraft(rest); problem != "" {
				return &usageError{errors.New(problem)}
			}
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
		if problem := m.CheckDraft(d); problem != "" {
			return &usageError{errors.New(problem)}
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
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
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

// describe is one entry as a line.
func describe(e state.Entry) string {
	s := fmt.Sprintf("%s  %-9s  %s", shortID(e.ID), e.State, clean.Line(e.Subject))
	if e.Why != "" {
		s += "  · " + clean.Line(e.Why)
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
				Attempts: e.Attempts, CreatedAt: e.CreatedAt, EmailID: e.EmailID,
			}
			for _, a := range e.To {
				r.To = append(r.To, a.Email)
			}
			if !e.Until.IsZero() {
				r.Until = &e.Until
			}
			rows = append(rows, r)
		}
		return printJSON(out, rows)
	}
	if len(entries) == 0 {
		fmt.Fprintln(out, "The outbox is empty.")
	}
	for _, e := range entries {
		fmt.Fprintln(out, describe(e))
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

// openData opens the local mailbox of the data folder, or the sample beside it, whatever account is configured.
func openData(ctx context.Context, flags config.Flags, sample bool) (*config.Config, *local.Server, func() error, error) {
	cfg, err := config.Load(flags, config.OSEnv)
	if err != nil {
		return nil, nil, nil, err
	}
	log, closeLog, err := logger(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	o := local.Options{Dir: cfg.DataDir(), Addresses: cfg.Local.Addresses, Relay: relayOf(cfg), Log: log}
	if sample {
		o.Dir, o.Addresses, o.Reply, o.Relay = filepath.Join(o.Dir, "sample"), nil, local.SampleReply, nil
	}
	s, err := local.Open(ctx, o)
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeLog())
	}
	return cfg, s, func() error { return errors.Join(s.Close(), closeLog()) }, nil
}

func serveCommand(flags *config.Flags) *cobra.Command {
	var addr, keyFile string
	var sample, printKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the local mailbox to other programs on this machine", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, *flags, addr, keyFile, sample, printKey) },
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:2222", "the loopback `address` to listen on")
	f.StringVar(&keyFile, "api-key-file", "", "the `file` with the key that is let in")
	f.BoolVar(&sample, "sample", false, "serve the sample mailbox instead of your own")
	f.BoolVar(&printKey, "print-key", false, "print the key too")
	return cmd
}

func serve(cmd *cobra.Command, flags config.Flags, addr, keyFile string, sample, printKey bool) (err error) {
	ctx := cmd.Context()
	if err := checkLoopback(addr); err != nil {
		return &usageError{err}
	}
	key, where, err := serveKey(keyFile)
	if err != nil {
		return err
	}
	cfg, s, closeAll, err := openData(ctx, flags, sample)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if key == "" {
		if key, where, err = local.LoadOrMakeKey(cfg.DataDir()); err != nil {
			return err
		}
	}
	if sample {
		if err := s.AddSample(ctx); err != nil {
			return err
		}
	}
	log, closeLog, err := logger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	runCtx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.RunSchedules(runCtx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return local.Serve(ctx, s, local.ServeOptions{Addr: addr, APIKey: key, Log: log, Ready: func(at string) {
		fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", at)
		fmt.Fprintf(cmd.ErrOrStderr(), "The key is in %s\n", where)
		if s.Relay() != "" && strings.HasPrefix(key, "oe_test_") {
			fmt.Fprintln(cmd.ErrOrStderr(), "It is a key for tests: what is sent with it is kept as sent and does not go to the relay. Give a key that begins with oe_live_ to send.")
		}
		if printKey {
			fmt.Fprintln(cmd.OutOrStdout(), key)
		}
	}})
}

// checkLoopback refuses addresses that other machines could reach: the mailbox is a person's own.
func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--addr %q is not an address such as 127.0.0.1:2222", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--addr %q is not on this machine alone: use 127.0.0.1 or [::1]", addr)
	}
	return nil
}

// serveKey is the key from the file or the environment, or empty when one must be made.
func serveKey(file string) (key, where string, err error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", "", &config.Error{Where: "--api-key-file", What: err.Error()}
		}
		key, where = strings.TrimSpace(string(b)), file
	} else if key = strings.TrimSpace(os.Getenv(config.EnvAPIKey)); key != "" {
		where = config.EnvAPIKey
	}
	if key != "" && !strings.HasPrefix(key, "oe_test_") && !strings.HasPrefix(key, "oe_live_") {
		return "", "", &config.Error{Where: where, What: "a key begins with oe_test_ or oe_live_"}
	}
	return key, where, nil
}
