package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func (a *app) openView(v state.View) {
	a.threads.open(v, a.frame(a.threads))
	a.viewChanged()
}

// viewChanged brings the panes beside the list in line with it: what was read in another list is not open any more.
func (a *app) viewChanged() {
	a.folders.follow(a.threads.view, a.frame(a.folders))
	if a.reader.view != a.threads.view {
		a.reader.close()
	}
}

// goTo is the role that each way of going leads to.
var goTo = map[keymap.Action]state.Role{
	keymap.GoInbox: state.RoleInbox, keymap.GoStarred: state.RoleStarred, keymap.GoSnoozed: state.RoleSnoozed,
	keymap.GoSent: state.RoleSent, keymap.GoDrafts: state.RoleDrafts, keymap.GoOutbox: state.RoleOutbox,
	keymap.GoArchive: state.RoleArchive, keymap.GoSpam: state.RoleSpam, keymap.GoTrash: state.RoleTrash,
	keymap.GoAll: state.RoleAll,
}

func (a *app) goRole(r state.Role) tea.Cmd {
	switch r {
	case state.RoleDrafts:
		return a.showOnly(newDrafts())
	case state.RoleOutbox:
		return a.showOnly(newOutbox())
	}
	for _, f := range a.folders.list {
		if f.Role == r {
			cmd, _ := a.ask(openViewMsg{f.View})
			return cmd
		}
	}
	if r == state.RoleInbox {
		cmd, _ := a.ask(openViewMsg{})
		return cmd
	}
	a.say("This server has no folder for that", true)
	return nil
}

// openFolderMsg opens a line of the sidebar.
type openFolderMsg struct{ folder state.Folder }

// openFolder opens what a line of the sidebar stands for.
func (a *app) openFolder(fo state.Folder) tea.Cmd {
	switch fo.Role {
	case state.RoleDrafts, state.RoleOutbox:
		return a.goRole(fo.Role)
	}
	cmd, _ := a.ask(openViewMsg{fo.View})
	return cmd
}

func (a *app) showOnly(s Screen) tea.Cmd {
	a.closeAll()
	a.focus = paneThreads
	return a.push(&a.screens, s)
}

// back goes one step back: a dialog, a screen, the reader, a search or another folder.
func (a *app) back() tea.Cmd {
	if len(a.dialogs)+len(a.screens) > 0 {
		return a.pop()
	}
	switch a.focus {
	case paneReader, paneFolders:
		a.focus = paneThreads
		return nil
	}
	if v, ok := a.threads.previous(); ok {
		a.threads.show(v, a.frame(a.threads))
		a.viewChanged()
		return nil
	}
	quit := "q"
	if k := a.o.Keys.Keys(keymap.InThreads, keymap.Quit); len(k) > 0 {
		quit = k[0]
	}
	a.say(quit+" quits", false)
	return nil
}

// toPane goes to another pane. From a screen beside the sidebar that is the sidebar.
func (a *app) toPane(action keymap.Action) tea.Cmd {
	beside := a.docked()
	if action == keymap.GoFolders || beside != "" && action != keymap.FocusRight {
		a.closeAll()
		a.focus = paneFolders
		a.folders.point(beside)
		return nil
	}
	if len(a.screens) > 0 {
		return nil
	}
	switch action {
	case keymap.NextPane:
		if a.focus == paneThreads && a.reader.id == "" {
			return a.setFocus(paneFolders) // an empty reader takes no keys
		}
		return a.setFocus((a.focus + 1) % 3)
	case keymap.PrevPane:
		return a.setFocus((a.focus + 2) % 3)
	case keymap.FocusLeft:
		return a.setFocus(max(paneFolders, a.focus-1))
	}
	return a.setFocus(min(paneReader, a.focus+1))
}

// setFocus gives the keys to a pane; an empty reader takes none, and what it shows beside the list is opened.
func (a *app) setFocus(pane int) tea.Cmd {
	if pane == paneReader && a.reader.peek {
		return a.openThread(a.reader.id)
	}
	if pane == paneReader && a.reader.id == "" {
		if !a.at.wide && a.focus != paneFolders {
			return nil
		}
		pane = paneThreads
	}
	a.focus = pane
	return nil
}
