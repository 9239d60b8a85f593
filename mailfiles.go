package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/local"
)

func importCommand(flags *config.Flags) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "import PATH…", Short: "Read mbox files, Maildirs and .eml files into the local mailbox",
		Long: "import reads mbox files, Maildirs, .eml files and folders of them. Folders, labels and flags are kept.\n" +
			"It may be repeated: what is in the mailbox is not taken in again. After ctrl+c or a crash the same command goes on.",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error { return importMail(cmd, *flags, paths, folder) },
	}
	cmd.Flags().StringVar(&folder, "folder", "", "put the messages into this `folder` instead of the inbox or their own")
	return cmd
}

func exportCommand(flags *config.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "export FILE.mbox|FILE.vcf|FILE.ics", Short: "Write the mail, the contacts or the calendar of the local mailbox to a file",
		Long: "export writes every message and draft with its flags and labels to an mbox file, which any mail program reads. Imported into an\n" +
			"empty mailbox the file gives the same one. With - it goes to standard output.\n" +
			"To a file whose name ends in .vcf go the contacts instead, to one in .ics the calendar.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return exportMail(cmd, *flags, given[0]) },
	}
}

func backupCommand(flags *config.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the local mailbox, while it is in use, to a file",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return backupMail(cmd, *flags, given[0]) },
	}
}

// openExisting opens the local mailbox as openData does, unless there is none.
func openExisting(ctx context.Context, flags config.Flags) (*config.Config, *local.Server, func() error, error) {
	cfg, err := config.Load(flags, config.OSEnv)
	if err != nil {
		return nil, nil, nil, err
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir(), local.FileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("there is no mailbox in %s; `teapost import PATH…` makes one", clean.Line(cfg.DataDir()))
	}
	return openData(ctx, flags, false)
}

func importMail(cmd *cobra.Command, flags config.Flags, paths []string, folder string) (err error) {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return &usageError{fmt.Errorf("%s cannot be read: name an mbox file, a Maildir or an .eml file (%w)", clean.Line(p), err)}
		}
	}
	cfg, s, closeAll, err := openData(cmd.Context(), flags, false)
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped: nothing was read")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	bar := newProgressBar(cmd.ErrOrStderr(), cfg.UI.ASCII)
	report, err := s.Import(cmd.Context(), paths, local.ImportOptions{Folder: folder, Progress: bar.importing})
	bar.end()
	for _, f := range report.Problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", clean.Line(f.String()))
	}
	if more := report.Failed - len(report.Problems); more > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "… and %s more like these.\n", number(more))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, with %s in the mailbox. The same command goes on where it stopped", count(report.Imported+report.Resumed, "message"))
	case err != nil:
		return fmt.Errorf("stopped, with %s in the mailbox: %w", count(report.Imported, "message"), err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s imported, %s there already, %s could not be read.\n",
		count(report.Imported, "message"), number(report.Skipped), number(report.Failed))
	if report.Resumed > 0 {
		fmt.Fprintf(out, "The import went on where it was interrupted: %s had been imported then.\n", number(report.Resumed))
	}
	if report.Drafts > 0 {
		fmt.Fprintf(out, "Among them: %s.\n", count(report.Drafts, "draft"))
	}
	if report.Imported > 0 {
		fmt.Fprintf(out, "They are in %s; %s opens them.\n", cfg.DataDir(), openCommand(cfg, flags))
	}
	if report.Failed > 0 && report.Imported+report.Skipped+report.Resumed == 0 {
		return errors.New("nothing could be read")
	}
	return nil
}

// openCommand is what opens the local mailbox: teapost alone may open an account.
func openCommand(cfg *config.Config, flags config.Flags) string {
	switch {
	case flags.DataDir != "":
		return "`teapost --data " + clean.Line(flags.DataDir) + "`"
	case cfg.Account.Kind != config.Local:
		return "`teapost --account " + config.LocalName + "`"
	}
	return "`teapost`"
}

func exportMail(cmd *cobra.Command, flags config.Flags, path string) (err error) {
	cfg, s, closeAll, err := openExisting(cmd.Context(), flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".vcf":
		return exportItems(cmd, path, "contact", s.ExportContacts)
	case ".ics":
		return exportItems(cmd, path, "event", s.ExportCalendar)
	}
	errOut := cmd.ErrOrStderr()
	bar := newProgressBar(errOut, cfg.UI.ASCII)
	var report local.ExportReport
	if path == "-" {
		report, err = s.Export(cmd.Context(), cmd.OutOrStdout(), bar.counting)
	} else {
		report, err = s.ExportFile(cmd.Context(), path, bar.counting)
	}
	bar.end()
	if err != nil {
		return newFileError(path, err)
	}
	where := path
	if path == "-" {
		where = "standard output"
	}
	fmt.Fprintf(errOut, "%s and %s, %s, written to %s.\n", count(report.Messages, "message"), count(report.Drafts, "draft"), units.Bytes(report.Bytes), clean.Line(where))
	if report.Waiting > 0 {
		fmt.Fprintf(errOut, "Not in it, because they are no mail yet: %s to be sent later. `teapost backup` keeps them too.\n", count(report.Waiting, "message"))
	}
	return nil
}

func exportItems(cmd *cobra.Command, path, what string, write func(context.Context, string) (int, error)) error {
	n, err := write(cmd.Context(), path)
	if err != nil {
		return newFileError(path, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s written to %s.\n", count(n, what), clean.Line(path))
	return nil
}

func backupMail(cmd *cobra.Command, flags config.Flags, path string) (err error) {
	cfg, s, closeAll, err := openExisting(cmd.Context(), flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if err := s.Backup(cmd.Context(), path); err != nil {
		return newFileError(path, err)
	}
	size := ""
	if fi, err := os.Stat(path); err == nil {
		size = ", " + units.Bytes(fi.Size())
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The mailbox is copied to %s%s.\n", clean.Line(path), size)
	fmt.Fprintf(cmd.ErrOrStderr(), "To go back to it, close teapost and put it in the place of %s; the files beside that with -wal and -shm in their names go first.\n",
		filepath.Join(cfg.DataDir(), local.FileName))
	return nil
}

// newFileError says why a file was not written.
func newFileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return &usageError{fmt.Errorf("%s is there already and is not overwritten: name a new file", clean.Line(path))}
	case errors.Is(err, context.Canceled):
		return errors.New("stopped: nothing was written")
	case errors.Is(err, fs.ErrNotExist):
		return &usageError{fmt.Errorf("there is no folder %s to write to", clean.Line(filepath.Dir(path)))}
	}
	return fmt.Errorf("%s was not written: %w", clean.Line(path), err)
}

// rebuildSearch makes the search index of the local mailbox anew.
func rebuildSearch(cmd *cobra.Command, flags config.Flags) (err error) {
	cfg, s, closeAll, err := openExisting(cmd.Context(), flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	bar := newProgressBar(cmd.ErrOrStderr(), cfg.UI.ASCII)
	messages := 0
	err = s.RebuildSearch(cmd.Context(), func(done, total int) {
		messages = done
		bar.counting(done, total)
	})
	bar.end()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped: %s can be searched; the others follow while the mail is open, or with the same command", count(messages, "message"))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The search index is new: %s.\n", count(messages, "message"))
	return nil
}
