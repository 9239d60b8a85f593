package ui

import (
	"time"

	// Answers the question for the terminal's background before Bubble Tea asks it.
	_ "codeberg.org/teapost/teapost/internal/aaaterm"

	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// Options are what the program gives the screens. Mail and Keys must be set; everything else may be left out.
type Options struct {
	Mail Mail
	Keys *keymap.Map

	Theme  string // "dark", "light", or "" and "auto": reads well on either
	Colors Colors
	ASCII  bool // marks and lines of plain ASCII
	Mouse  bool // wheel and clicks are on

	Account     string // named at the right of the top line
	Version     string
	Sample      bool           // the mailbox is the sample
	Zone        *time.Location // of the person; nil: the machine's
	DownloadDir string         // where attachments are saved unless the person says otherwise
	Undo        time.Duration  // how long a send can be taken back

	Snooze *when.Options // what "tomorrow" and the like mean; nil: the usual times

	ConfirmSend    bool // ask before a message is sent
	DiscardUnasked bool // throw drafts away without a question

	Opener []string // a program and its first arguments for links and files; empty: nothing is opened
	Editor []string // the same for writing; empty: ctrl+o says what to set
	// Copy puts text on the clipboard; it runs off the loop. nil: copying says that it cannot.
	Copy func(text string) error
	// Query writes a question to the terminal between two frames; it runs off the loop. nil: the terminal is not asked for
	// its background.
	Query func(sequence string) error
	// Practice makes the network bad, or good again; nil: there is none to practise with.
	Practice func(on bool)

	Start Start
}

// Start is what is shown first.
type Start struct {
	View  state.View
	Draft *state.Draft // is opened at once: mailto and the like
}

func (o *Options) zone() *time.Location {
	if o.Zone != nil {
		return o.Zone
	}
	return time.Local
}
