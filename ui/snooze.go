package ui

import (
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// timePicker is a dialog that asks for a time: one of the presets, or one that is typed.
type timePicker struct {
	title, verb string
	leaves      string // what esc does
	presets     []when.Preset
	sel         int
	in          input
	problem     string
	lone        bool // the field holds nothing but the number of a preset, which is taken in a moment
	gen         int  // of the number that is waited with
	done        func(at time.Time, f *Frame) tea.Cmd
}

// pickDelay is how long a number waits: it may be the beginning of a date such as "24 dec".
const pickDelay = 700 * time.Millisecond

// presetDueMsg takes the preset whose number was typed, unless something else was typed since.
type presetDueMsg struct {
	picker *timePicker
	gen    int
}

// newSnooze asks until when the threads are to be snoozed, and does it.
func newSnooze(ids []state.ThreadID, subject string, f *Frame) Screen {
	what := "this thread"
	switch {
	case len(ids) > 1:
		what = strconv.Itoa(len(ids)) + " threads"
	case subject != "":
		what = quoted(subject)
	}
	ids = append([]state.ThreadID(nil), ids...)
	return newTimePicker("Snooze "+what+" until", "snoozes "+theSame(len(ids)), "keeps "+theSame(len(ids)), f, func(at time.Time, f *Frame) tea.Cmd {
		f.Mail.Do(ids, state.Change{Kind: state.ChangeSnooze, Until: at})
		return nil
	})
}

func theSame(n int) string {
	if n > 1 {
		return "them"
	}
	return "it"
}

func newTimePicker(title, verb, leaves string, f *Frame, done func(at time.Time, f *Frame) tea.Cmd) *timePicker {
	return &timePicker{title: title, verb: verb, leaves: leaves, presets: when.Presets(zoned(f), whenOptions(f.Options)), done: done}
}

// zoned is now in the person's own time zone.
func zoned(f *Frame) time.Time { return f.Now.In(f.Options.zone()) }

// whenOptions are the times a person means by words.
func whenOptions(o *Options) when.Options {
	if o.Snooze != nil {
		return *o.Snooze
	}
	return when.DefaultOptions()
}

func (p *timePicker) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if changed, _ := p.in.Key(msg); changed {
			p.problem, p.lone = "", false
			p.gen++
		}
	case presetDueMsg:
		if msg.picker == p && msg.gen == p.gen && p.lone && f.Focused {
			return p, p.pick(p.presets[p.sel].Time, f)
		}
	}
	return p, nil
}

func (p *timePicker) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.SnoozePick:
		n, err := strconv.Atoi(f.Key)
		if err != nil || p.in.String() != "" || n < 1 || n > len(p.presets) {
			return p, nil, false
		}
		p.in.Set(f.Key)
		p.sel, p.lone, p.problem = n-1, true, ""
		p.gen++
		due := presetDueMsg{p, p.gen}
		return p, tea.Tick(pickDelay, func(time.Time) tea.Msg { return due }), true
	case keymap.Down:
		p.move(1)
	case keymap.Up:
		p.move(-1)
	case keymap.Accept:
		if p.in.String() == "" || p.lone {
			if len(p.presets) == 0 {
				return p, nil, true
			}
			return p, p.pick(p.presets[p.sel].Time, f), true
		}
		at, err := whenOptions(f.Options).Parse(p.in.String(), zoned(f))
		if err != nil {
			p.problem = plainError(err)
			return p, nil, true
		}
		return p, p.pick(at, f), true
	case keymap.Back:
		f.Pop()
	default:
		return p, nil, false
	}
	return p, nil, true
}

// move goes through the presets; what is typed is given up for it.
func (p *timePicker) move(n int) {
	if len(p.presets) == 0 {
		return
	}
	if p.in.String() != "" {
		lone := p.lone
		p.in.Set("")
		p.problem, p.lone = "", false
		p.gen++
		if !lone {
			return
		}
	}
	p.sel = (p.sel + n + len(p.presets)) % len(p.presets)
}

func (p *timePicker) pick(at time.Time, f *Frame) tea.Cmd {
	if !at.After(f.Now) {
		p.problem = "That time has passed."
		return nil
	}
	f.Pop()
	return p.done(at, f)
}

func (p *timePicker) View(f *Frame) string {
	t := f.Theme
	inner := min(50, f.Width-4)
	now := zoned(f)
	times := min(21, inner/2) // a day with its year and the time
	typed := p.in.String() != "" && !p.lone
	var body []string
	row := func(mark, label, at string, bold bool) {
		w := inner - 4 - times - 1
		l := cells.Column(label, w)
		if bold {
			l = t.Bold.Render(l)
		}
		body = append(body, mark+l+" "+t.Accent.Render(cells.Fit(at, times)))
	}
	for i, pr := range p.presets {
		on := i == p.sel && !typed
		mark := t.Key.Render(strconv.Itoa(i+1)) + "   "
		if on {
			mark = t.Key.Render(strconv.Itoa(i+1)) + " " + t.Accent.Render(t.Glyphs.Bar) + " "
		}
		row(mark, pr.Label, when.Format(pr.Time, now), on)
	}
	preview, note := "", ""
	if typed {
		if at, err := whenOptions(f.Options).Parse(p.in.String(), now); err == nil {
			preview = when.Format(at, now)
		} else {
			note = plainError(err)
		}
	}
	if p.problem != "" {
		note = p.problem
	}
	field := p.in.View(t, inner-4-times-1, true)
	body = append(body, t.Accent.Render(">")+"   "+field+" "+t.Accent.Render(cells.Fit(preview, times)))
	switch {
	case note != "" && p.problem != "":
		body = append(body, wrapStyled(t.Danger, note, inner)...)
	case note != "":
		body = append(body, wrapStyled(t.Muted, note, inner)...)
	case p.lone:
		body = append(body, t.Muted.Render(cells.Fit("takes number "+p.in.String()+", unless you go on with a date", inner)))
	case !typed:
		body = append(body, t.Muted.Render(cells.Fit("or type a time: fri 9, tomorrow 14:30, in 2 hours", inner)))
	default:
		body = append(body, t.Muted.Render(cells.Fit(zoneName(now), inner)))
	}
	body = append(body, hint(t, "enter", p.verb)+t.Dot()+hint(t, "esc", p.leaves))
	return box(t, p.title, fitBody(body, f.Height-2), inner)
}

// zoneName says in whose time the times are.
func zoneName(now time.Time) string {
	name, _ := now.Zone()
	if loc := now.Location().String(); loc != "Local" && loc != name {
		return "times are those of " + loc
	}
	return "your local time (" + name + ")"
}

// fitBody drops lines from the top so that the body of a dialog fits; what is typed stands at the end.
func fitBody(body []string, height int) []string {
	if height < 1 {
		height = 1
	}
	if len(body) > height {
		return body[len(body)-height:]
	}
	return body
}

func wrapStyled(s Style, text string, width int) []string {
	ls := cells.Wrap(clean.Line(text), max(width, 1))
	for i := range ls {
		ls[i] = s.Render(ls[i])
	}
	return ls
}

// plainError is an error as a sentence.
func plainError(err error) string { return sentence(clean.Line(err.Error())) }

func (p *timePicker) Context() keymap.Context { return keymap.InSnooze }
func (p *timePicker) Capturing() bool         { return true }
func (p *timePicker) Title(*Frame) string     { return "" }
func (p *timePicker) Hints(*Frame) []keymap.Action {
	return []keymap.Action{keymap.Accept, keymap.Back}
}
