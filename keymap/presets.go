package keymap

import (
	"maps"
	"slices"
)

type bindings map[Context]map[Action][]string

// Presets returns the names of the presets, the default first.
func Presets() []string { return []string{"default", "gmail", "mutt", "aerc"} }

func preset(name string) (bindings, bool) {
	switch name {
	case "", "default":
		return defaultPreset(), true
	case "gmail":
		return gmailPreset(), true
	case "mutt":
		return muttPreset(), true
	case "aerc":
		return aercPreset(), true
	}
	return nil, false
}

func keys(k ...string) []string { return k }

// listMoves are the keys that move in every list and text.
func listMoves() map[Action][]string {
	return map[Action][]string{
		Down:         keys("j", "down"),
		Up:           keys("k", "up"),
		Top:          keys("g g", "home"),
		Bottom:       keys("G", "end"),
		HalfPageDown: keys("ctrl+d"),
		HalfPageUp:   keys("ctrl+u"),
		PageDown:     keys("pgdown", "ctrl+f"),
		PageUp:       keys("pgup", "ctrl+b"),
	}
}

func pickMoves() map[Action][]string {
	return map[Action][]string{
		Down:    keys("down", "ctrl+n"),
		Up:      keys("up", "ctrl+p"),
		Accept:  keys("enter"),
		Back:    keys("esc"),
		Suspend: keys("ctrl+z"),
		Quit:    keys("ctrl+c"),
	}
}

func with(sets ...map[Action][]string) map[Action][]string {
	out := map[Action][]string{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

func defaultPreset() bindings {
	type set = map[Action][]string
	onThreads := set{
		Archive:       keys("e"),
		Trash:         keys("#", "delete"),
		Restore:       keys("I"),
		DeleteForever: keys("D"),
		Snooze:        keys("b"),
		Unsnooze:      keys("B"),
		Unread:        keys("u"),
		MarkRead:      keys(", r"),
		MarkUnread:    keys(", u"),
		Star:          keys("s"),
		Label:         keys("l"),
		Mute:          keys("m"),
		Spam:          keys("S"),
		Reply:         keys("r"),
		ReplyAll:      keys("a"),
		ReplyPlain:    keys("alt+r"),
		ReplyAllPlain: keys("alt+a"),
		Forward:       keys("f"),
	}
	panes := set{
		NextPane:   keys("tab"),
		PrevPane:   keys("shift+tab"),
		FocusLeft:  keys("h", "left"),
		FocusRight: keys("right"),
		Back:       keys("esc"),
	}
	return bindings{
		InGlobal: {
			Compose:   keys("c"),
			Search:    keys("/"),
			Undo:      keys("z"),
			Help:      keys("?"),
			Palette:   keys("ctrl+k", ":"),
			Activity:  keys("!"),
			Refresh:   keys("ctrl+r"),
			Retry:     keys("R"),
			Dismiss:   keys("ctrl+x"),
			Redraw:    keys("ctrl+l"),
			Suspend:   keys("ctrl+z"),
			Quit:      keys("ctrl+c"),
			GoInbox:   keys("g i"),
			GoStarred: keys("g s"),
			GoSnoozed: keys("g z"),
			GoSent:    keys("g t"),
			GoDrafts:  keys("g d"),
			GoOutbox:  keys("g o"),
			GoArchive: keys("g a"),
			GoSpam:    keys("g S"),
			GoTrash:   keys("g #"),
			GoAll:     keys("g A"),
			GoFolders: keys("g f"),
		},
		InFolders: with(listMoves(), panes, set{
			Open: keys("enter", "l"),
			Quit: keys("q", "ctrl+c"),
		}),
		InThreads: with(listMoves(), onThreads, panes, set{
			Open:         keys("enter", "o"),
			Select:       keys("x"),
			SelectRange:  keys("X"),
			SelectAll:    keys("* a"),
			SelectNone:   keys("* n"),
			SelectUnread: keys("* u"),
			PageDown:     keys("pgdown", "ctrl+f", "space"),
			Quit:         keys("q", "ctrl+c"),
		}),
		InReader: with(listMoves(), onThreads, panes, set{
			NextMessage:     keys("n"),
			PrevMessage:     keys("p"),
			NextThread:      keys("J"),
			PrevThread:      keys("K"),
			ToggleMessage:   keys("enter", "o"),
			ExpandAll:       keys("O"),
			ToggleQuotes:    keys("tab"),
			NextPane:        nil,
			ToggleHeaders:   keys("H"),
			OpenLink:        keys("1", "2", "3", "4", "5", "6", "7", "8", "9", "g x"),
			Copy:            keys("y"),
			SaveAttachment:  keys("w"),
			ViewAttachments: keys("v"),
			ViewHTML:        keys("V"),
			SwitchPart:      keys("t"),
			Pipe:            keys("|"),
			FindInside:      keys("g /", "ctrl+s"),
			InviteAccept:    keys("i y"),
			InviteMaybe:     keys("i m"),
			InviteDecline:   keys("i n"),
			PageDown:        keys("pgdown", "ctrl+f", "space"),
			Back:            keys("esc", "q"),
		}),
		InCompose: {
			Send:             keys("ctrl+d", "alt+enter"),
			SendLater:        keys("ctrl+t"),
			Save:             keys("ctrl+s"),
			Editor:           keys("ctrl+o"),
			Attach:           keys("ctrl+a"),
			RemoveAttachment: keys("alt+a"),
			Discard:          keys("alt+k"),
			NextField:        keys("tab"),
			PrevField:        keys("shift+tab"),
			Copies:           keys("alt+c"),
			EditUndo:         keys("alt+z", "ctrl+_"),
			EditRedo:         keys("ctrl+y"),
			Palette:          keys("alt+x"),
			Back:             keys("esc"),
			Suspend:          keys("ctrl+z"),
			Quit:             keys("ctrl+c"),
		},
		InDrafts: with(listMoves(), panes, set{
			Open:   keys("enter", "o"),
			Trash:  keys("#", "delete"),
			Select: keys("x"),
			Back:   keys("esc", "q"),
		}),
		InOutbox: with(listMoves(), panes, set{
			Open:      keys("enter", "o"),
			FocusLeft: keys("left"),
			Select:    keys("x"),
			SendNow:   keys("s"),
			Hold:      keys("h"),
			Drop:      keys("#", "delete"),
			Edit:      keys("e"),
			EditAsNew: keys("E"),
			Back:      keys("esc", "q"),
		}),
		InSnooze: with(pickMoves(), set{
			SnoozePick: keys("1", "2", "3", "4", "5", "6", "7", "8", "9"),
		}),
		InLabels: with(pickMoves(), set{
			ToggleLabel: keys("space"),
			RenameLabel: keys("alt+r"),
			ColorLabel:  keys("alt+c"),
			DeleteLabel: keys("alt+k"),
		}),
		InPalette: with(pickMoves(), set{
			Complete: keys("tab"),
		}),
		InSearch: with(pickMoves(), set{
			Complete: keys("tab"),
		}),
		InHelp: with(listMoves(), set{
			Back:     keys("esc", "q"),
			PageDown: keys("pgdown", "ctrl+f", "space"),
		}),
		InActivity: with(listMoves(), set{
			Open:      keys("enter", "o"),
			Retry:     keys("r", "R"),
			Cancel:    keys("x"),
			CancelAll: keys("X"),
			Copy:      keys("y"),
			Back:      keys("esc", "q"),
		}),
	}
}

// set changes some bindings of a preset; a nil list unbinds.
func (b bindings) set(ctxs []Context, changes map[Action][]string) {
	for _, ctx := range ctxs {
		for a, k := range changes {
			if b[ctx] == nil {
				b[ctx] = map[Action][]string{}
			}
			b[ctx][a] = slices.Clone(k)
		}
	}
}

// gmailPreset follows the shortcuts of Gmail's web page.
func gmailPreset() bindings {
	b := defaultPreset()
	b.set([]Context{InGlobal}, map[Action][]string{
		Activity: keys("@"),
		GoSent:   keys("g t"),
		GoSnoozed: keys(
			"g b"),
		GoFolders: keys("g l"),
	})
	b.set([]Context{InThreads, InReader}, map[Action][]string{
		Spam:       keys("!"),
		Unread:     keys("_"),
		MarkRead:   keys("I"),
		MarkUnread: keys("U"),
		Archive: keys(
			"e", "y"),
		Restore: keys("Z"),
	})
	b.set([]Context{InReader}, map[Action][]string{
		Back: keys("u", "esc", "q"),
		Copy: keys("Y"),
	})
	return b
}

// muttPreset follows mutt; c is its "change folder" and so a prefix here, and g answers all.
func muttPreset() bindings {
	b := defaultPreset()
	b.set([]Context{InGlobal}, map[Action][]string{
		Compose:   keys("m"),
		Refresh:   keys("$", "ctrl+r"),
		GoInbox:   keys("c i"),
		GoStarred: keys("c f"),
		GoSnoozed: keys("c z"),
		GoSent:    keys("c s"),
		GoDrafts:  keys("c d"),
		GoOutbox:  keys("c o"),
		GoArchive: keys("c a"),
		GoSpam:    keys("c S"),
		GoTrash:   keys("c t"),
		GoAll:     keys("c A"),
		GoFolders: keys("c ?", "c c"),
		Palette:   keys(":", "ctrl+k"),
	})
	b.set([]Context{InFolders, InThreads, InReader, InDrafts, InOutbox, InHelp, InActivity}, map[Action][]string{
		Top:    keys("=", "home"),
		Bottom: keys("*", "end"),
	})
	b.set([]Context{InThreads, InReader}, map[Action][]string{
		Archive:       keys("a"),
		Trash:         keys("d"),
		Restore:       keys("u"),
		DeleteForever: keys("D"),
		Snooze:        keys("Z"),
		Unsnooze:      keys("B"),
		Unread:        keys("N"),
		MarkRead:      keys("W N"),
		MarkUnread:    keys("w N"),
		Star:          keys("F"),
		Label:         keys("Y"),
		Mute:          keys("M"),
		Reply:         keys("r"),
		ReplyAll:      keys("g"),
		Forward:       keys("f"),
	})
	b.set([]Context{InThreads}, map[Action][]string{
		Select:       keys("t"),
		SelectRange:  keys("X"),
		SelectAll:    keys("T a"),
		SelectNone:   keys("T n"),
		SelectUnread: keys("T u"),
		Search:       keys("/", "l"),
	})
	b.set([]Context{InReader}, map[Action][]string{
		Back:          keys("i", "q", "esc"),
		ToggleHeaders: keys("h"),
		FocusLeft:     keys("left"),
		// The digits and one more.
		OpenLink:       keys("1", "2", "3", "4", "5", "6", "7", "8", "9", "ctrl+o"),
		SaveAttachment: keys("s"),
		ToggleQuotes:   keys("tab", "T"),
		FindInside:     keys("ctrl+s"),
		InviteAccept:   keys("I y"),
		InviteMaybe:    keys("I m"),
		InviteDecline:  keys("I n"),
	})
	b.set([]Context{InDrafts, InOutbox}, map[Action][]string{
		Select: keys("t"),
	})
	b.set([]Context{InDrafts}, map[Action][]string{Trash: keys("d")})
	b.set([]Context{InOutbox}, map[Action][]string{Drop: keys("d")})
	return b
}

// aercPreset follows aerc: R begins an answer to the sender, r one to everybody; q quotes, r does not.
func aercPreset() bindings {
	b := defaultPreset()
	b.set([]Context{InGlobal}, map[Action][]string{
		Compose: keys("C", "m"),
		Palette: keys(":", "ctrl+p"),
		Retry:   keys("ctrl+t"),
	})
	b.set([]Context{InThreads, InReader}, map[Action][]string{
		Archive:       keys("a"),
		Trash:         keys("d"),
		DeleteForever: keys("D"),
		Reply:         keys("R q"),
		ReplyAll:      keys("r q"),
		ReplyPlain:    keys("R r"),
		ReplyAllPlain: keys("r r"),
		Mute:          keys("M"),
	})
	b.set([]Context{InThreads}, map[Action][]string{
		Select:       keys("v"),
		SelectRange:  keys("V"),
		SelectAll:    keys("* a"),
		SelectNone:   keys("* n"),
		SelectUnread: keys("* u"),
	})
	b.set([]Context{InReader}, map[Action][]string{
		OpenLink:        keys("1", "2", "3", "4", "5", "6", "7", "8", "9", "ctrl+l"),
		SaveAttachment:  keys("w"),
		ViewAttachments: keys("v"),
	})
	b.set([]Context{InReader}, map[Action][]string{Redraw: nil})
	b.set([]Context{InDrafts, InOutbox}, map[Action][]string{
		Select: keys("v"),
	})
	b.set([]Context{InDrafts}, map[Action][]string{Trash: keys("d")})
	b.set([]Context{InOutbox}, map[Action][]string{Drop: keys("d")})
	b.set([]Context{InActivity}, map[Action][]string{Retry: keys("r")})
	return b
}
