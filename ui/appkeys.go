package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

// keys handles what was typed or pasted. Letters that were read together come as one message.
func (a *app) keys(k tea.KeyMsg) tea.Cmd {
	if taken, known, dark := a.background.take(k, a.now); taken {
		if known {
			choice := "light"
			if dark {
				choice = "dark"
			}
			a.theme = NewTheme(choice, a.o.Colors, a.o.ASCII)
			return a.everyone(tea.WindowSizeMsg{Width: a.at.width, Height: a.at.height})
		}
		return nil
	}
	a.takeback = takeback{}
	if a.now.Sub(a.focusSent) >= focusEvery {
		a.focusSent = a.now
		a.o.Mail.SetFocus(true)
	}
	if a.now.After(a.flash.until.Add(readFor - flashFor)) {
		a.flash = flash{} // it has been read
	}
	if a.at.tiny {
		if k.String() == "ctrl+c" {
			return a.quit()
		}
		return nil
	}
	if k.Paste {
		return a.paste(k)
	}
	if a.now.Before(a.pasteUntil) {
		// The rest of a paste whose text held the end mark, or that was cut by a slow line.
		if (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && a.top().Capturing() {
			k.Type, k.Paste = tea.KeyRunes, true
			return a.update(a.top(), k)
		}
		return nil
	}
	if k.Type != tea.KeyRunes || len(k.Runes) < 2 {
		return a.key(k)
	}
	var cmd tea.Cmd
	for i, r := range k.Runes {
		if a.allText(k.Runes[i:]) {
			return join(cmd, a.update(a.top(), tea.KeyMsg{Type: tea.KeyRunes, Runes: k.Runes[i:], Alt: k.Alt}))
		}
		cmd = join(cmd, a.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
	}
	return cmd
}

// allText reports whether none of the letters can be an action, so that they are text in one piece.
func (a *app) allText(letters []rune) bool {
	s := a.top()
	if !s.Capturing() || len(a.pending) > 0 {
		return false
	}
	if !s.Context().Text() {
		return true
	}
	for _, r := range letters {
		if _, found := a.o.Keys.Lookup(s.Context(), nil, string(r)); found != keymap.None {
			return false
		}
	}
	return true
}

func (a *app) paste(k tea.KeyMsg) tea.Cmd {
	var cmd tea.Cmd
	a.pending = nil
	if a.top().Capturing() {
		cmd = a.update(a.top(), k)
	} else {
		a.say("Pasted text is not read as keys here", false)
	}
	a.pasteUntil = a.o.Mail.Now().Add(pasteGuard)
	return cmd
}

// key handles one key.
func (a *app) key(k tea.KeyMsg) tea.Cmd {
	name := k.String()
	s := a.top()
	if len(a.pending) > 0 && name == "esc" {
		a.pending = nil
		return nil
	}
	plain := (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) && !k.Alt
	if !plain || !s.Capturing() || s.Context().Text() {
		switch action, found := a.o.Keys.Lookup(s.Context(), a.pending, name); found {
		case keymap.Prefix:
			if name == " " {
				name = "space"
			}
			a.pending = append(a.pending, name)
			return nil
		case keymap.Match:
			a.pending = nil
			if plain && s.Capturing() {
				// A character that may be an action or text: the screen says which.
				cmd, handled := a.screenAct(s, action, name)
				if handled {
					return cmd
				}
				return join(cmd, a.update(s, k))
			}
			return a.act(action, name)
		}
	}
	if len(a.pending) > 0 {
		a.pending = nil
		return nil
	}
	return a.update(s, k)
}

func (a *app) screenAct(s Screen, action keymap.Action, key string) (tea.Cmd, bool) {
	f := a.frame(s)
	f.Key = key
	n, cmd, handled := s.Act(action, f)
	a.replace(s, n)
	return join(cmd, a.doAsks(f)), handled
}

// act does an action: what only the root may do first, then the screen, then what works everywhere.
func (a *app) act(action keymap.Action, key string) tea.Cmd {
	switch action {
	case keymap.Quit:
		return a.quit()
	case keymap.Suspend:
		return tea.Suspend
	case keymap.Redraw:
		return tea.ClearScreen
	case keymap.Back:
		if a.quitting {
			a.quitting = false
			return nil
		}
		// Only the key that the line of news names: another one that goes back, such as q, does just that.
		in := a.newsInput()
		if key == "" || key == in.Key(keymap.Back) {
			if id := stoppable(in, a.at.width); id != "" && a.o.Mail.StopLine(id) {
				return nil
			}
		}
	}
	cmd, handled := a.screenAct(a.top(), action, key)
	if handled {
		return cmd
	}
	return join(cmd, a.global(action))
}

// global does the actions that mean the same on every screen.
func (a *app) global(action keymap.Action) tea.Cmd {
	m := a.o.Mail
	if v, ok := goTo[action]; ok {
		return a.goRole(v)
	}
	switch action {
	case keymap.Back:
		return a.back()
	case keymap.NextPane, keymap.PrevPane, keymap.FocusLeft, keymap.FocusRight, keymap.GoFolders:
		return a.toPane(action)
	case keymap.Compose:
		return a.push(&a.screens, newCompose(m.NewDraft("")))
	case keymap.Search:
		return a.push(&a.dialogs, newSearch(a.threads.searches))
	case keymap.Undo:
		a.undo()
	case keymap.Refresh:
		a.refresh()
	case keymap.Retry:
		a.retry()
	case keymap.Dismiss:
		a.flash = flash{}
		for _, n := range a.status.Failures {
			m.Dismiss(n.ID)
		}
	case keymap.Activity:
		if _, ok := a.screen().(*activity); !ok {
			return a.push(&a.screens, newActivity())
		}
	case keymap.Palette:
		return a.push(&a.dialogs, newPalette(a.top().Context(), a.frame(a.top())))
	case keymap.Help:
		return a.push(&a.screens, newHelp(a.top().Context()))
	}
	return nil
}

// undo takes back the newest thing that can be. In the list the cursor goes to what comes back.
func (a *app) undo() {
	f := a.frame(a.threads)
	a.threads.refresh(f)
	a.awaitText()
	if !a.o.Mail.Undo() {
		a.say("There is nothing to undo", false)
		return
	}
	if len(a.screens) == 0 && a.focus != paneReader {
		a.threads.await(f)
	}
}

// retry tries again what the line of news speaks of: a failure, else a wait.
func (a *app) retry() {
	for _, n := range a.status.Failures {
		if n.Retry {
			a.o.Mail.RetryNotice(n.ID)
			return
		}
	}
	for _, c := range a.status.Calls {
		if c.CanRetry && !c.Until.IsZero() {
			a.o.Mail.RetryCall(c.ID)
			return
		}
	}
	a.refresh()
}

// refresh looks for new mail. What is to see of that takes the place of the word for it.
func (a *app) refresh() {
	a.o.Mail.Refresh()
	a.say("Looking for new mail", false)
	a.flash.yields = true
}

// mouse finds the pane under the pointer and gives it the message with its own coordinates.
func (a *app) mouse(m tea.MouseMsg) tea.Cmd {
	if !a.o.Mouse || a.at.tiny || m.Action != tea.MouseActionPress {
		return nil
	}
	m.Y -= a.at.bodyTop
	if m.Y < 0 || m.Y >= a.at.bodyHeight {
		return nil
	}
	if len(a.dialogs) > 0 {
		if m.Button == tea.MouseButtonWheelUp || m.Button == tea.MouseButtonWheelDown {
			return a.update(a.top(), m)
		}
		return nil
	}
	if a.docked() != "" {
		s := a.screen()
		if m.X < a.at.folders {
			s = a.folders
		}
		return a.update(s, m)
	}
	if len(a.screens) > 0 || !a.at.wide {
		return a.update(a.screen(), m)
	}
	pane, x := paneFolders, m.X
	if x > a.at.folders {
		pane, x = paneThreads, x-a.at.folders-1
		if x > a.at.threads {
			pane, x = paneReader, x-a.at.threads-1
		}
	}
	m.X = x
	var cmd tea.Cmd
	if m.Button == tea.MouseButtonLeft {
		cmd = a.setFocus(pane)
	}
	return join(cmd, a.update(a.panes()[pane], m))
}
