package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/local"
	"codeberg.org/teapost/teapost/state"
)

func doctorCommand(flags *config.Flags) *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "What is wrong, and how to mend it", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rebuild {
				return rebuildSearch(cmd, *flags)
			}
			return examine(cmd.Context(), cmd.OutOrStdout(), *flags)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "make the search index of the local mailbox anew")
	return cmd
}

// examination prints a line for each thing that was looked at and counts what is wrong.
type examination struct {
	out   io.Writer
	wrong int
}

func (x *examination) fine(what, how string) { fmt.Fprintf(x.out, "ok    %-14s %s\n", what, how) }

func (x *examination) note(what, how string) { fmt.Fprintf(x.out, "note  %-14s %s\n", what, how) }

func (x *examination) bad(what string, err error) {
	x.wrong++
	fmt.Fprintf(x.out, "BAD   %-14s %s\n", what, clean.Line(err.Error()))
}

// errUnwell is the end of an examination that found something.
var errUnwell = errors.New("something is wrong: see the lines that begin with BAD")

func examine(ctx context.Context, out io.Writer, flags config.Flags) error {
	x := &examination{out: out}
	cfg, err := config.Load(flags, config.OSEnv)
	if err != nil {
		return err // with its exit code; nothing else can be looked at
	}
	if cfg.File == "" {
		x.fine("configuration", "no file; everything has its default")
	} else {
		x.fine("configuration", cfg.File)
	}
	if _, err := keymap.New(cfg.Keys.Preset, cfg.Keys.Overrides); err != nil {
		x.bad("keys", keysError(cfg, err))
	} else {
		x.fine("keys", "preset "+cfg.Keys.Preset)
	}
	x.terminal()
	x.fine("account", cfg.Account.Name)
	b, err := openMailbox(ctx, cfg, true)
	if err != nil {
		x.bad("mailbox", err)
		return errUnwell
	}
	defer func() { _ = b.Close() }() // it was only looked at
	switch {
	case b.sample:
		x.note("mailbox", "the sample; `teapost import PATH…` reads your own mail into "+cfg.DataDir())
	case b.server != nil:
		x.fine("mailbox", b.server.Dir())
		x.relay(ctx, b, cfg)
	default:
		x.fine("credential", "from "+cfg.Account.Source)
	}
	if b.server != nil {
		x.search(ctx, b.server)
	}
	x.reach(ctx, b, cfg)
	x.outbox(ctx, b)
	if x.wrong > 0 {
		return errUnwell
	}
	return nil
}

func (x *examination) terminal() {
	switch term := os.Getenv("TERM"); {
	case !isTerminal(os.Stdout):
		x.note("terminal", "standard output is not one; the mail opens in a terminal")
	case term == "" || term == "dumb":
		x.bad("terminal", errors.New("TERM says nothing useful; set it to what the terminal is, such as xterm-256color"))
	default:
		x.fine("terminal", term)
	}
}

// relay connects to the relay and signs in, without sending anything.
func (x *examination) relay(ctx context.Context, b *mailbox, cfg *config.Config) {
	r := cfg.Local.Relay
	if r == nil {
		x.note("sending", "no relay is configured ([local.relay]): messages to others are kept as sent and do not leave this machine")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := b.server.CheckRelay(ctx); err != nil {
		x.bad("sending", err)
		return
	}
	how := map[string]string{config.RelayStartTLS: "STARTTLS", config.RelayImplicit: "TLS", config.RelayNone: "in the clear, on this machine"}[r.TLS]
	if r.User != "" {
		how += ", signed in as " + clean.Line(r.User)
	}
	x.fine("sending", fmt.Sprintf("the relay %s takes mail (%s)", r.Addr(), how))
}

// search looks at the search index of a mailbox on this machine.
func (x *examination) search(ctx context.Context, s *local.Server) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	switch err := s.CheckSearch(ctx); {
	case err == nil:
		x.fine("search", "the index is whole")
	case errors.Is(err, local.ErrIndexing):
		x.note("search", err.Error()+"; it is filled while the mail is open")
	case errors.Is(err, context.DeadlineExceeded):
		x.note("search", "the index is too large to be looked through in 5 s; `teapost doctor --rebuild` makes it anew")
	default:
		x.bad("search", fmt.Errorf("%w; `teapost doctor --rebuild` makes it anew", err))
	}
}

// reach asks the server who the key is.
func (x *examination) reach(ctx context.Context, b *mailbox, cfg *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	where := cfg.Account.BaseURL
	if where == "" {
		where = "embedded server"
	}
	began := time.Now()
	ping, err := b.options.Client.Me.Ping(ctx)
	switch {
	case err == nil:
		x.fine("server", fmt.Sprintf("%s answers in %d ms, mode %s", where, time.Since(began).Milliseconds(), clean.Line(string(ping.Mode))))
	case errors.Is(err, api.ErrAuthentication):
		x.bad("server", fmt.Errorf("%s does not accept the key from %s: make a new one there and put it in its place", where, cfg.Account.Source))
	default:
		x.bad("server", fmt.Errorf("%s: %w; look at the base URL and the connection", where, err))
	}
}

func (x *examination) outbox(ctx context.Context, b *mailbox) {
	b.options.Watch = true
	m, err := state.Open(ctx, b.options)
	if err != nil {
		x.bad("outbox", err)
		return
	}
	n := 0
	for _, e := range m.Outbox() {
		if e.State != state.EntrySent && e.State != state.EntryCancelled {
			n++
		}
	}
	if err := closeMail(m); err != nil {
		x.bad("outbox", err)
		return
	}
	if n == 0 {
		x.fine("outbox", "empty")
		return
	}
	x.note("outbox", fmt.Sprintf("%d not sent yet; `teapost outbox list` says why", n))
}
