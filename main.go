// Command teapost is a terminal mail client for the OpenEmail API. With no account it opens a mailbox on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // a machine without zone files shows the right times all the same

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
	_ "codeberg.org/teapost/teapost/internal/aaaterm" // before Bubble Tea asks the terminal
	"codeberg.org/teapost/teapost/keymap"
)

// version is set by the linker in a release.
var version = "0.1.0-dev"

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitKept   = 3 // safe in the outbox, but not sent yet
)

// usageError is wrong usage of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// errKept says that a message is safe in the outbox but was not sent yet.
var errKept = errors.New("kept in the outbox")

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cmd := rootCommand()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	code := exitCode(err)
	if err != nil && !errors.Is(err, errKept) {
		fmt.Fprintln(os.Stderr, "teapost: "+explain(err))
	}
	return code
}

// exitCode says what an error means for the shell.
func exitCode(err error) int {
	var usage *usageError
	var conf *config.Error
	var keys *keymap.Error
	var arg *api.ArgumentError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errKept):
		return exitKept
	case errors.As(err, &usage), errors.As(err, &conf), errors.As(err, &keys), errors.As(err, &arg):
		return exitUsage
	}
	return exitFailed
}

// explain is an error for a person, one sentence a line.
func explain(err error) string {
	var usage *usageError
	s := err.Error()
	if errors.As(err, &usage) && !strings.Contains(s, "--help") {
		s += "\n`teapost --help` lists the commands and flags."
	}
	return s
}

// args wraps a check of arguments so that its failure is wrong usage.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return &usageError{fmt.Errorf("`%s`: %w", strings.TrimSuffix(cmd.UseLine(), " [flags]"), err)}
		}
		return nil
	}
}

func rootCommand() *cobra.Command {
	var flags config.Flags
	root := &cobra.Command{
		Use:   "teapost [mailto:ADDRESS]",
		Short: "Mail in the terminal that never waits and sends once",
		Long: "teapost opens your mail: the configured account, or a mailbox on this machine.\n" +
			"With a mailto: address it opens a new message to it.",
		Version:      version,
		SilenceUsage: true, SilenceErrors: true,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return openMail(cmd.Context(), flags, nil)
			}
			if !strings.HasPrefix(strings.ToLower(given[0]), "mailto:") {
				return &usageError{fmt.Errorf("%q is neither a command nor a mailto: address", given[0])}
			}
			return openMailto(cmd.Context(), flags, given[0])
		},
	}
	root.SetVersionTemplate(versionText())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	p := root.PersistentFlags()
	p.StringVar(&flags.ConfigFile, "config", "", "the configuration `file`")
	p.StringVar(&flags.Account, "account", "", "the account's `name`")
	p.StringVar(&flags.BaseURL, "base-url", "", "the server's `URL`")
	p.StringVar(&flags.DataDir, "data", "", "the `folder` of the local mailbox")
	p.StringVar(&flags.LogFile, "log", "", "write a log to this `file`")
	root.AddCommand(
		composeCommand(&flags), outboxCommand(&flags), importCommand(&flags), exportCommand(&flags), backupCommand(&flags), serveCommand(&flags),
		doctorCommand(&flags), keysCommand(&flags), versionCommand(),
	)
	return root
}
