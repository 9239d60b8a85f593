package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/faults"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/local"
	"codeberg.org/teapost/teapost/state"
	"codeberg.org/teapost/teapost/ui"
)

// mailbox is an opened account: what it takes to make a state.Mail, and what must be closed after it.
type mailbox struct {
	options state.Options
	server  *local.Server // nil for a remote account
	sample  bool
	name    string
	bad     *badNetwork // the practice network of a local mailbox
	close   []func() error
}

func (b *mailbox) Close() error {
	var errs []error
	for i := len(b.close) - 1; i >= 0; i-- {
		errs = append(errs, b.close[i]())
	}
	return errors.Join(errs...)
}

// logger writes to the log file, never to the terminal.
func logger(cfg *config.Config) (*slog.Logger, func() error, error) {
	if cfg.LogFile == "" {
		return slog.New(slog.DiscardHandler), func() error { return nil }, nil
	}
	f, err := os.OpenFile(cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, &config.Error{Where: "--log", What: err.Error(), Mend: "name a file in a folder that you may write to"}
	}
	return slog.New(slog.NewJSONHandler(f, nil)), f.Close, nil
}

// openMailbox opens the files and makes the client of the configured account. passive is for commands that do not show
// the mail.
func openMailbox(ctx context.Context, cfg *config.Config, passive bool) (b *mailbox, err error) {
	b = &mailbox{name: cfg.Account.Name}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	log, closeLog, err := logger(cfg)
	if err != nil {
		return b, err
	}
	b.close = append(b.close, closeLog)
	o := api.Options{UserAgent: "teapost/" + version}
	if cfg.Account.Kind == config.Local {
		if err := b.openLocal(ctx, cfg, log); err != nil {
			return b, err
		}
		b.bad = &badNetwork{next: b.server.Transport()}
		o.BaseURL, o.APIKey, o.Transport = "http://localhost", "oe_test_local", b.bad
		if b.server.Relay() != "" {
			o.APIKey = "oe_live_local" // with a key for tests mail never leaves the machine
		}
		b.options.Poke = b.server.Changes()
		b.options.Origin = "local " + b.server.Dir()
	} else {
		o.BaseURL = cfg.Account.BaseURL
		if err := giveCredential(ctx, &cfg.Account, &o); err != nil {
			return b, err
		}
		b.options.Renew = renewer(&cfg.Account, o)
	}
	client, err := api.New(o)
	if err != nil {
		return b, err
	}
	b.options.Client = client
	if b.server == nil {
		b.options.Origin = origin(client)
	}
	b.options.StateDir, b.options.CacheDir = cfg.StateDir(b.name), cfg.CacheDir(b.name)
	b.options.Log, b.options.Passive = log, passive
	b.options.Signature = cfg.Account.Signature
	b.options.Undo = cfg.UI.UndoTime
	if b.options.Undo == 0 {
		b.options.Undo = -1
	}
	if from := cfg.Account.From; from != "" && b.server == nil {
		a, err := state.ParseAddress(from)
		if err != nil {
			return b, &config.Error{Where: cfg.Where("accounts", cfg.Account.Name, "from"), What: err.Error()}
		}
		b.options.From = []state.Address{a}
	}
	if b.server != nil && len(b.options.From) == 0 {
		for _, own := range b.server.Addresses() {
			if a, err := state.ParseAddress(own); err == nil {
				a.Name = b.server.Name()
				b.options.From = append(b.options.From, a)
			}
		}
	}
	return b, nil
}

// openLocal opens the mailbox on this machine: the person's own once there is mail in it, the sample until then.
func (b *mailbox) openLocal(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	dir := cfg.DataDir()
	o := local.Options{Dir: dir, Addresses: cfg.Local.Addresses, Name: cfg.Local.Name, Relay: relayOf(cfg), Log: log}
	_, err := os.Stat(filepath.Join(dir, "mail.db"))
	own := err == nil
	if own {
		s, err := local.Open(ctx, o)
		if err != nil {
			return err
		}
		empty, err := s.Empty(ctx)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		if !empty || len(cfg.Local.Addresses) > 0 {
			b.keep(ctx, s, log)
			return nil
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	if len(cfg.Local.Addresses) > 0 { // somebody who names own addresses wants an own mailbox
		s, err := local.Open(ctx, o)
		if err != nil {
			return err
		}
		b.keep(ctx, s, log)
		return nil
	}
	b.sample, b.name = true, b.name+"-sample"
	o.Dir, o.Reply, o.Relay = filepath.Join(dir, "sample"), local.SampleReply, nil
	s, err := local.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := s.AddSample(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	b.keep(ctx, s, log)
	return nil
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
	o := local.Options{Dir: cfg.DataDir(), Addresses: cfg.Local.Addresses, Name: cfg.Local.Name, Relay: relayOf(cfg), Log: log}
	if sample {
		o.Dir, o.Addresses, o.Name, o.Reply, o.Relay = filepath.Join(o.Dir, "sample"), nil, "", local.SampleReply, nil
	}
	s, err := local.Open(ctx, o)
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeLog())
	}
	return cfg, s, func() error { return errors.Join(s.Close(), closeLog()) }, nil
}

// relayOf is the relay of the local mailbox, or nil.
func relayOf(cfg *config.Config) *local.Relay {
	r := cfg.Local.Relay
	if r == nil {
		return nil
	}
	out := &local.Relay{Host: r.Host, Port: r.Port, TLS: local.RelayTLS(r.TLS), User: r.User, Refused: r.Forget}
	if r.User != "" {
		out.Password = func(ctx context.Context) (string, error) {
			secret, err := r.Password(ctx)
			return secret.Reveal(), err
		}
	}
	return out
}

// keep makes s the mailbox's server and has its schedules run by one process at a time.
func (b *mailbox) keep(ctx context.Context, s *local.Server, log *slog.Logger) {
	b.server = s
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.RunSchedules(ctx); err != nil && ctx.Err() == nil {
			log.Error("schedules", "error", err.Error())
		}
	}()
	b.close = append(b.close, func() error {
		stop()
		<-done
		return s.Close()
	})
}

// openMail opens the mail on the screen, at a draft when there is one.
func openMail(ctx context.Context, flags config.Flags, draft *state.Draft) (err error) {
	// On the screen ctrl+c is a key. The signal is for the editor or command that has the terminal, not for what waits behind it.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cfg, err := config.Load(flags, config.OSEnv)
	if err != nil {
		return err
	}
	keys, err := keymap.New(cfg.Keys.Preset, cfg.Keys.Overrides)
	if err != nil {
		return keysError(cfg, err)
	}
	piped := !isTerminal(os.Stdin) // the text of a message came from there; the keys come from the terminal itself
	if !isTerminal(os.Stdout) || piped && !hasTerminal() {
		return &usageError{errors.New("the mail opens in a terminal only; `teapost outbox list` and `teapost compose --send` work without one")}
	}
	b, err := openMailbox(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	mail, err := state.Open(ctx, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeMail(mail)) }()
	if draft != nil && draft.UpdatedAt.IsZero() { // else it is stored already
		*draft = begun(mail, *draft)
	}
	screen := &screenWriter{File: os.Stdout}
	model := ui.New(ui.Options{
		Mail: mail, Keys: keys, Theme: cfg.UI.Theme, Colors: colors(), ASCII: cfg.UI.ASCII, Mouse: cfg.UI.Mouse,
		Account: accountTitle(cfg, mail), Version: version, Sample: b.sample, DownloadDir: downloadDir(),
		Undo: cfg.UI.UndoTime, Snooze: snoozeTimes(cfg), ConfirmSend: cfg.UI.ConfirmSend, DiscardUnasked: !cfg.UI.ConfirmDiscard, Opener: cfg.UI.Opener, Editor: cfg.UI.Editor,
		Copy: screen.copy, Query: screen.query, Practice: b.practice(), Start: ui.Start{Draft: draft},
	})
	o := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithAltScreen(), tea.WithReportFocus(), tea.WithOutput(screen),
		// ctx ends by signals; Bubble Tea's own handler would then send to a loop that is gone, for ever.
		tea.WithoutSignalHandler(),
	}
	if cfg.UI.Mouse {
		o = append(o, tea.WithMouseCellMotion())
	}
	if piped {
		o = append(o, tea.WithInputTTY())
	}
	_, err = tea.NewProgram(model, o...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // asked to end
	}
	if left := unsent(mail.Outbox(), b.server != nil); err == nil && left != "" && mail.Status().Owner {
		fmt.Fprintln(os.Stderr, left)
	}
	return err
}

// unsent says what stays in the outbox when the program ends, or is empty. What is planned for a time, or with the server
// already, is not meant; but the embedded server, which delivers, ends with the program.
func unsent(entries []state.Entry, delivers bool) string {
	n := 0
	for _, e := range entries {
		switch e.State {
		case state.EntrySaving, state.EntrySending, state.EntryWaiting, state.EntryHeld, state.EntryUnknown:
			n++
		case state.EntryQueued, state.EntryAccepted:
			if e.ScheduledAt.IsZero() && (e.State == state.EntryQueued || delivers) {
				n++
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "1 message has not left yet. It stays in the outbox; `teapost outbox send` tries now."
	}
	return fmt.Sprintf("%d messages have not left yet. They stay in the outbox; `teapost outbox send` tries now.", n)
}

// begun gives a draft from the command line what a new message begins with: a sender and the signature.
func begun(m *state.Mail, d state.Draft) state.Draft {
	empty := m.NewDraft("")
	if d.From == "" {
		d.From = empty.From
	}
	if empty.Body != "" {
		d.Body = strings.TrimRight(d.Body, "\n") + empty.Body
	}
	return d
}

// closeMail writes what must be written. Calls end at once; what is left is the disk.
func closeMail(mail *state.Mail) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return mail.Close(ctx)
}

func (b *mailbox) practice() func(bool) {
	if b.bad == nil {
		return nil
	}
	return b.bad.set
}

func accountTitle(cfg *config.Config, mail *state.Mail) string {
	if own := mail.Identities(); len(own) > 0 {
		return own[0].Email
	}
	if u, err := url.Parse(cfg.Account.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return cfg.Account.Name
}

func downloadDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	return filepath.Join(home, "Downloads")
}

func snoozeTimes(cfg *config.Config) *when.Options {
	s := cfg.Snooze
	return &when.Options{
		Morning: when.Clock(s.Morning), Evening: when.Clock(s.Evening), Weekend: when.Clock(s.Weekend),
		WeekDay: s.WeekDay, WeekendDay: s.WeekendDay,
	}
}

// colors is how many colours the terminal shows, by its environment: asking it would make the start wait.
func colors() ui.Colors {
	term := os.Getenv("TERM")
	switch c := os.Getenv("COLORTERM"); {
	case os.Getenv("NO_COLOR") != "", term == "dumb":
		return ui.ColorsNone
	case c == "truecolor", c == "24bit":
		return ui.ColorsTrue
	}
	if strings.Contains(term, "256color") || strings.HasPrefix(term, "tmux") || strings.HasPrefix(term, "screen") {
		return ui.Colors256
	}
	return ui.Colors16
}

// keysError gives the faults of the keys their places in the configuration file.
func keysError(cfg *config.Config, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range many.Unwrap() {
			errs = append(errs, keysError(cfg, e))
		}
		return errors.Join(errs...)
	}
	var e *keymap.Error
	if !errors.As(err, &e) {
		return err
	}
	path := []string{"keys"}
	if e.Context != "" {
		path = append(path, e.Context)
	}
	if e.Action != "" {
		path = append(path, e.Action)
	}
	return &config.Error{Where: cfg.Where(path...), What: e.What, Mend: e.Mend}
}

// hasTerminal reports whether the process has a terminal, whatever its standard input is.
func hasTerminal() bool {
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CONIN$"
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	return err == nil && f.Close() == nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// screenWriter is standard output with a lock, so that what is written beside the renderer never lands inside a frame.
type screenWriter struct {
	*os.File
	mu sync.Mutex
}

func (w *screenWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.File.Write(p)
}

// copy puts text on the clipboard of the terminal (OSC 52), through tmux too.
func (w *screenWriter) copy(text string) error {
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
	if os.Getenv("TMUX") != "" {
		seq = "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	_, err := io.WriteString(w, seq)
	return err
}

// query asks the terminal something; the answer comes among the keys.
func (w *screenWriter) query(sequence string) error {
	_, err := io.WriteString(w, sequence)
	return err
}

// badNetwork is the way to the embedded server, made bad when the person wants to practise.
type badNetwork struct {
	next http.RoundTripper
	mu   sync.Mutex
	bad  http.RoundTripper
}

// practiceScript is a network that a person meets on a train, for a few hundred requests.
var practiceScript = strings.TrimSuffix(strings.Repeat("503, 503, delay:1s, ok, reset, ok, delay:3s, 503, ok, stall:5s, ok, ok, ", 50), ", ")

func (b *badNetwork) set(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bad = nil
	if on {
		if s, err := faults.Parse(practiceScript); err == nil {
			b.bad = s.Transport(b.next)
		}
	}
}

func (b *badNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	next := b.next
	if b.bad != nil {
		next = b.bad
	}
	b.mu.Unlock()
	return next.RoundTrip(r)
}
