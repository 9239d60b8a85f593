package ui

import (
	"time"

	// Answers the question for the terminal's background before Bubble Tea asks it.
	_ "codeberg.org/teapost/teapost/internal/aaaterm"

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

	// Hours of the snooze presets on the 24-hour clock, and the first day of the week and of the weekend.
	Snooze SnoozeTimes

	Opener []string // a program and its first arguments for links and files; empty: the system's
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

// SnoozeTimes are the hours and days that the snooze presets use. The zero value stands for 8, 18, Monday and Saturday.
type SnoozeTimes struct {
	Morning, Evening int
	WeekStart        time.Weekday
	Weekend          time.Weekday
	Set              bool // false: the usual times, whatever the other fields say
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
