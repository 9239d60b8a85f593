package ui

import (
	"strings"
	"unicode"

	"codeberg.org/teapost/teapost/keymap"
)

// synonyms are words that other programs and people have for an action.
var synonyms = map[keymap.Action]string{
	keymap.Archive: "done", keymap.Trash: "delete remove discard", keymap.Restore: "move back untrash", keymap.DeleteForever: "purge expunge",
	keymap.Snooze: "later remind postpone hide", keymap.Unsnooze: "unsnooze", keymap.Unread: "mark read seen", keymap.Star: "flag important unstar",
	keymap.Label: "tag move category", keymap.Mute: "ignore silence unmute", keymap.Spam: "junk ham",
	keymap.Compose: "new mail message write", keymap.Reply: "answer respond", keymap.ReplyAll: "answer everybody group", keymap.Forward: "pass on",
	keymap.SaveAttachment: "download attachments", keymap.ViewAttachments: "open attachments", keymap.FindInside: "search",
	keymap.ToggleQuotes: "fold", keymap.ToggleHeaders: "details recipients",
	keymap.SwitchPart: "html plain alternative", keymap.Pipe: "shell command external filter",
	keymap.ReplyPlain: "answer without quote", keymap.ReplyAllPlain: "answer everybody without quote",
	keymap.SendLater: "schedule", keymap.Editor: "vim emacs external", keymap.Copies: "carbon blind copy",
	keymap.Search: "find filter", keymap.Undo: "take back revert unsend", keymap.Refresh: "sync check fetch reload", keymap.Retry: "again",
	keymap.Dismiss: "close error", keymap.Activity: "log calls network requests", keymap.Help: "help shortcuts bindings", keymap.Quit: "exit close",
	keymap.Redraw: "repaint clear", keymap.Suspend: "background stop",
}

// match says how well a command fits what was typed, in lower case: 0 is best, less than 0 not at all. Its name and its
// words count from their beginnings; letters from the middle of words only when they stand together.
func (c command) match(text string) int {
	name, long := strings.ToLower(c.name), strings.ToLower(c.long)
	all := name + " " + long + " " + strings.ToLower(c.other)
	switch {
	case text == "":
		return 0
	case text == name, text == long:
		return 1
	case name != "" && strings.HasPrefix(name, text):
		return 2
	case begin(name, text):
		return 3
	case begin(name+" "+strings.ToLower(c.other), text):
		return 4
	case begin(all, text):
		return 5
	case strings.Contains(name, text), strings.Contains(long, text):
		return 6
	case len(text) > 1 && strings.HasPrefix(initials(long), text):
		return 7
	}
	return -1
}

// begin reports whether each word of text begins a word of s.
func begin(s, text string) bool {
	words := strings.FieldsFunc(s, apartFromWords)
	for _, w := range strings.FieldsFunc(text, apartFromWords) {
		found := false
		for _, x := range words {
			found = found || strings.HasPrefix(x, w)
		}
		if !found {
			return false
		}
	}
	return true
}

func apartFromWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// initials are the first letters of the words of s.
func initials(s string) string {
	var out []rune
	for _, w := range strings.FieldsFunc(s, apartFromWords) {
		out = append(out, []rune(w)[0])
	}
	return string(out)
}
