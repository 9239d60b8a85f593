package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// changes reports whether an action changes threads.
func changes(a keymap.Action) bool {
	switch a {
	case keymap.Archive, keymap.Trash, keymap.Restore, keymap.DeleteForever, keymap.Snooze, keymap.Unsnooze,
		keymap.Unread, keymap.MarkRead, keymap.MarkUnread, keymap.Star, keymap.Label, keymap.Mute, keymap.Spam:
		return true
	}
	return false
}

// leaves reports whether a thread is gone from most lists after the action.
func leaves(a keymap.Action) bool {
	switch a {
	case keymap.Archive, keymap.Trash, keymap.Spam, keymap.Mute, keymap.Restore, keymap.Unsnooze:
		return true
	}
	return false
}

// changeThreads does an action to rows of a view. It is false when nothing was done, or a dialog asks first.
func changeThreads(a keymap.Action, rows []state.Row, v state.View, f *Frame) bool {
	ids := make([]state.ThreadID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	role := roleOf(v, f)
	every := func(has func(state.Row) bool) bool {
		for _, r := range rows {
			if !has(r) {
				return false
			}
		}
		return true
	}
	var c state.Change
	switch a {
	case keymap.Archive:
		if role == state.RoleArchive {
			f.Flash("It is in the archive already")
			return false
		}
		c.Kind = state.ChangeArchive
	case keymap.Trash:
		if role == state.RoleTrash {
			say := "It is in the trash already"
			if k := firstKey(f.Keys, keymap.InThreads, keymap.DeleteForever); k != "" {
				say += f.Theme.Dot() + k + " deletes it for good"
			}
			f.Flash(say)
			return false
		}
		c.Kind = state.ChangeTrash
	case keymap.Restore:
		if role == state.RoleInbox {
			f.Flash("It is in the inbox already")
			return false
		}
		c.Kind = state.ChangeInbox
		if role == state.RoleTrash {
			c.Kind = state.ChangeRestore
		}
	case keymap.Spam:
		c.Kind = state.ChangeSpam
		if role == state.RoleSpam {
			c.Kind = state.ChangeInbox
		}
	case keymap.Unread:
		c.Kind = state.ChangeUnread
		if !every(func(r state.Row) bool { return !r.Unread }) {
			c.Kind = state.ChangeRead
		}
	case keymap.MarkRead:
		c.Kind = state.ChangeRead
	case keymap.MarkUnread:
		c.Kind = state.ChangeUnread
	case keymap.Star:
		c.Kind = state.ChangeStar
		if every(func(r state.Row) bool { return r.Starred }) {
			c.Kind = state.ChangeUnstar
		}
	case keymap.Mute:
		c.Kind = state.ChangeMute
		if every(func(r state.Row) bool { return r.Muted }) {
			c.Kind = state.ChangeUnmute
		}
	case keymap.Unsnooze:
		if role != state.RoleSnoozed && every(func(r state.Row) bool { return r.Filled && r.SnoozedUntil.IsZero() }) {
			f.Flash("It is not snoozed")
			return false
		}
		c.Kind = state.ChangeUnsnooze
	case keymap.Snooze:
		c.Kind = state.ChangeSnooze
	case keymap.Label:
		c.Kind = state.ChangeLabels
	case keymap.DeleteForever:
		c.Kind = state.ChangeDelete
	default:
		return false
	}
	if ok, reason := f.Mail.Can(c.Kind, v); !ok {
		if reason == "" {
			reason = "this server cannot do that"
		}
		f.Warn("Not possible here: " + clean.Line(reason))
		return false
	}
	switch a {
	case keymap.Snooze:
		subject := rows[0].Subject
		if len(rows) > 1 {
			subject = plural(len(rows), "thread", "threads")
		}
		f.Dialog(newSnooze(ids, subject, f))
		return false
	case keymap.Label:
		f.Dialog(newLabels(ids, common(rows), v, f))
		return false
	case keymap.DeleteForever:
		what := "“" + short(rows[0].Subject) + "”"
		if len(rows) > 1 {
			what = plural(len(rows), "thread", "threads")
		}
		m := f.Mail
		f.Dialog(newConfirm("Delete "+what+" for good? This cannot be undone.", "delete", func() tea.Msg {
			m.Do(ids, c)
			return nil
		}))
		return false
	}
	f.Mail.Do(ids, c)
	return true
}

// common are the labels that all rows have.
func common(rows []state.Row) []state.Label {
	count := map[string]int{}
	for _, r := range rows {
		for _, l := range r.Labels {
			count[l.ID]++
		}
	}
	var out []state.Label
	for _, l := range rows[0].Labels {
		if count[l.ID] == len(rows) {
			out = append(out, l)
		}
	}
	return out
}

// answerThread opens compose on a reply to a message or a forward of it; an empty message is the newest one.
func answerThread(kind keymap.Action, th state.Thread, message string, f *Frame) {
	if message == "" && len(th.Messages) > 0 {
		message = newest(th.Messages).ID
	}
	begun, ok := state.Draft{}, false
	if kind != keymap.Forward {
		if id, has := f.Mail.DraftAnswering(message); has && f.Mail.OpenDraft(id) {
			begun, ok = f.Mail.Draft(id)
		}
	}
	if !ok {
		beginAnswer(kind, th, message, f)
		return
	}
	question := "You began an answer to this message " + ago(begun.UpdatedAt, f.Now) + "."
	if own := ownWords(begun.Body); own != "" {
		question += "\n“" + own + "”"
	}
	f.Dialog(newEither(question, "goes on with it", openDraftCmd(begun), "begins another", func(f *Frame) {
		beginAnswer(kind, th, message, f)
	}))
}

func beginAnswer(kind keymap.Action, th state.Thread, message string, f *Frame) {
	var d state.Draft
	var err error
	if kind == keymap.Forward {
		d, err = f.Mail.Forward(th.Row.ID, message)
	} else {
		d, err = f.Mail.Reply(th.Row.ID, message, kind == keymap.ReplyAll || kind == keymap.ReplyAllPlain)
	}
	if kind == keymap.ReplyPlain || kind == keymap.ReplyAllPlain {
		d.Body = unquoted(d.Body)
	}
	if err != nil {
		f.Warn(clean.Line(err.Error()))
		return
	}
	f.Ask(openDraftMsg{d})
}

// unquoted is the text of an answer without the message that it quotes; the signature below that stays.
func unquoted(body string) string {
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, ">") {
			continue
		}
		end := i
		for end < len(lines) && strings.HasPrefix(lines[end], ">") {
			end++
		}
		if i > 0 && strings.HasSuffix(lines[i-1], ":") {
			i--
		}
		body = strings.TrimRight(strings.Join(lines[:i], "\n"), "\n")
		if below := strings.Trim(strings.Join(lines[end:], "\n"), "\n"); below != "" {
			body += "\n\n" + below
		}
		if body != "" {
			body += "\n"
		}
		return body
	}
	return body
}

// ownWords are the first words of a message that is being written, for a question about it; empty: only the quote is there.
func ownWords(body string) string {
	e := newEditor(body)
	end := whereToWrite(e)
	if own := strings.Join(strings.Fields(e.slice(place{}, end)), " "); own != "" {
		return short(own)
	}
	return ""
}

func newest(list []api.Message) api.Message { return list[len(list)-1] }
