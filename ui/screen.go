package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// Frame is what a screen may know while it handles a message or draws: its size in cells, the time of the
// last tick, and what it draws with. The root makes a new one for each message; a screen keeps none.
type Frame struct {
	Width, Height int
	Focused       bool   // of the panes that are shown together, the one that has the keys
	Key           string // the key that led to the action, as the keymap names it; empty otherwise
	Now           time.Time
	Theme         *Theme
	Keys          *keymap.Map
	Mail          Mail
	Options       *Options

	wide       bool       // the panes stand beside each other
	docked     state.Role // of the screen that stands beside the sidebar instead of a list; empty: there is none
	barren     bool       // the list beside the reader has no rows
	folders    []state.Folder
	practising bool // the network is bad because the person wants to practise
	asks       *[]tea.Msg
}

// Ask asks something of the root, to be done as soon as the current message or action is handled and before the next
// key: one of the messages below. As the answer of a command they do the same a moment later.
func (f *Frame) Ask(msg tea.Msg) {
	if f.asks != nil {
		*f.asks = append(*f.asks, msg)
	}
}

// Dialog shows s as a box above the body.
func (f *Frame) Dialog(s Screen) { f.Ask(pushDialogMsg{s}) }

// Pop closes the top dialog, else the top screen.
func (f *Frame) Pop() { f.Ask(popMsg{}) }

// Flash shows a sentence on the line of news for a few seconds.
func (f *Frame) Flash(text string) { f.Ask(flashMsg{text: text}) }

// Warn is Flash for what did not work.
func (f *Frame) Warn(text string) { f.Ask(flashMsg{text: text, failure: true}) }

// Screen is one view that fills the body, a pane of it, or a dialog above it. Only the root model calls it. None of
// its methods blocks or touches the disk, the network or the clock.
type Screen interface {
	// Update handles a message; keys that an action is bound to come through Act instead. A plain character that Act
	// does not handle while Capturing comes here as text.
	Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd)
	// Act handles an action of the keymap; handled false lets the root try it (global actions).
	Act(a keymap.Action, f *Frame) (s Screen, cmd tea.Cmd, handled bool)
	// View draws at most f.Width columns and exactly f.Height rows (a dialog: its own box, at most that size).
	// It is pure: the same screen and frame give the same text.
	View(f *Frame) string
	// Context is the key context in force.
	Context() keymap.Context
	// Capturing reports that a text field owns the keyboard: single letters are text, not actions. Keys with
	// ctrl or alt, esc, enter and tab are still looked up in the keymap first.
	Capturing() bool
	// Title is the left part of the top line; Hints are the actions worth a place on the bottom line, most useful first.
	Title(f *Frame) string
	Hints(f *Frame) []keymap.Action
}

// starter has something to do when it is shown for the first time.
type starter interface {
	Init(f *Frame) tea.Cmd
}

// ticker is a screen on which something counts down, spins or grows old by itself.
type ticker interface {
	// Every says how often it must be drawn anew at f.Now; 0: only when something happens.
	Every(f *Frame) time.Duration
}

// worded is a screen on which an action of the bottom line does something else than usual at the moment.
type worded interface {
	// Word is what it does, in a word or two; empty: as usual.
	Word(a keymap.Action, f *Frame) string
}

// drafter is a screen on which a message is being written.
type drafter interface {
	DraftID() state.DraftID
}

// leaver is told that its screen has been closed, whoever closed it.
type leaver interface {
	Leave(f *Frame)
}

// mailMsg tells every screen that something in Mail changed.
type mailMsg struct{}

// What screens ask of the root, through [Frame.Ask] or as the messages of commands.
type (
	pushScreenMsg struct{ screen Screen } // shows it over the whole body; esc or popMsg goes back
	pushDialogMsg struct{ screen Screen } // shows it as a box above the body
	popMsg        struct{}                // closes the top dialog, else the top screen
	// flashMsg shows a sentence on the line of news for a few seconds.
	flashMsg struct {
		text    string
		failure bool
	}
	openViewMsg   struct{ view state.View }
	openThreadMsg struct{ id state.ThreadID }
	openDraftMsg  struct{ draft state.Draft } // opens compose on it
	// actMsg runs an action as if its key had been pressed on the top screen.
	actMsg struct{ action keymap.Action }
	// quitMsg quits without another question.
	quitMsg struct{}
)

func openDraftCmd(d state.Draft) tea.Cmd { return func() tea.Msg { return openDraftMsg{d} } }
