package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/state"
)

// previewAfter is how long the cursor must rest after a row that it came to soon after another one: while it runs
// through the list nothing is laid out.
const previewAfter = 150 * time.Millisecond

// preview follows the cursor of the list. Beside the list the reader shows what is under it, as long as nothing else
// was opened.
type preview struct {
	id  state.ThreadID // under the cursor
	at  time.Time      // since when
	due time.Time      // when it is to be shown; zero: it needs no showing any more
}

// followList shows the conversation under the cursor of the list in the reader beside it. What is not here yet is not
// asked for: rows come with their conversations, and the first ones are those on the screen.
func (a *app) followList() tea.Cmd {
	p := &a.preview
	var id state.ThreadID
	row := a.threads.row()
	if row != nil {
		id = row.ID
	}
	if id != p.id {
		p.due = a.now
		if a.now.Sub(p.at) < previewAfter {
			p.due = a.now.Add(previewAfter)
		}
		p.id, p.at = id, a.now
	}
	if !a.at.wide || a.focus == paneReader || len(a.screens) > 0 || a.now.Before(p.due) {
		return nil
	}
	p.due = time.Time{}
	if a.reader.id == id {
		return nil
	}
	if row == nil || !row.Filled || !a.o.Mail.Thread(id).Known {
		a.reader.close()
		return nil
	}
	f := a.frame(a.reader)
	return join(a.reader.peekAt(id, a.threads.view, f), a.doAsks(f))
}
