package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func (a *app) openView(v state.View) {
	f := a.frame(a.threads)
	a.threads.open(v, f)
	a.folders.follow(a.threads.view, f)
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
		a.folders.follow(a.threads.view, a.frame(a.folders))
		return nil
	}
	quit := "q"
	if k := a.o.Keys.Keys(keymap.InThreads, keymap.Quit); len(k) > 0 {
		quit = k[0]
	}
	a.say(quit+" quits", false)
	return nil
}

func (a *app) move(by int) {
	if len(a.screens) > 0 {
		return
	}
	a.setFocus((a.focus + by + 3) % 3)
}

// setFocus gives the keys to a pane; an empty reader takes none.
func (a *app) setFocus(pane int) {
	if pane == paneReader && a.reader.id == "" {
		if a.at.wide || a.focus == paneFolders {
			pane = paneThreads
		} else {
			return
		}
	}
	a.focus = pane
}
