package ui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
)

// openFileMsg opens a file that is ready in the system's program for it.
type openFileMsg struct{ path string }

// fileName is the name of an attachment as it is shown and saved.
func fileName(a api.Attachment) string { return clean.Filename(a.Filename) }

// keepEnding cuts a file name in the middle, so that its ending is always seen.
func keepEnding(name string, room int) string {
	if cells.Width(name) <= room {
		return name
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 || cells.Width(name[i:]) > room/2 {
		return cells.Truncate(name, room, "…")
	}
	return cells.Truncate(name[:i], room-cells.Width(name[i:]), "…") + name[i:]
}

// digit adds to the number of a link, or takes the last digit away.
func (r *reader) digit(k string) {
	switch {
	case k == "backspace":
		r.number = r.number[:len(r.number)-1]
	case len(r.number) < 4:
		r.number += k
	}
}

// link is the one whose number has been typed, in the message with the cursor.
func (r *reader) link() (bodytext.Link, bool) {
	m := r.message()
	n, err := strconv.Atoi(r.number)
	if m == nil || err != nil {
		return bodytext.Link{}, false
	}
	b := r.bodies[m.ID]
	if b == nil || b.doc == nil || n < 1 || n > len(b.doc.Links) {
		return bodytext.Link{}, false
	}
	return b.doc.Links[n-1], true
}

// openLink opens the link whose number has been typed; its true target has been on the screen since then.
func (r *reader) openLink(f *Frame) tea.Cmd {
	l, ok := r.link()
	switch {
	case !ok:
		f.Warn("There is no link " + r.number + " in this message")
	case !l.Openable:
		f.Warn("This kind of link is never opened")
	case l.Scheme == "mailto":
		r.number = ""
		f.Ask(mailtoMsg{l.URL})
		return nil
	default:
		r.number = ""
		f.Flash("Opening " + l.URL)
		return openCmd(f, l.URL)
	}
	r.number = ""
	return nil
}

// mailtoMsg begins a message to the address of a link.
type mailtoMsg struct{ url string }

// openNumberedMsg views one attachment of the message with the cursor.
type openNumberedMsg struct{ index int }

// openOnly opens the only link of the message, or says how to choose.
func (r *reader) openOnly(f *Frame) tea.Cmd {
	if r.number != "" {
		return r.openLink(f)
	}
	if m := r.message(); m != nil {
		if b := r.bodies[m.ID]; b != nil && b.doc != nil {
			switch len(b.doc.Links) {
			case 0:
				f.Flash("This message has no links")
				return nil
			case 1:
				r.number = "1"
				return nil
			}
		}
	}
	f.Flash("Type the number of the link")
	return nil
}

func (r *reader) copy(f *Frame) tea.Cmd {
	if r.number != "" {
		l, ok := r.link()
		r.number = ""
		if !ok {
			f.Flash("There is no link with that number")
			return nil
		}
		return copyCmd(f, l.URL, "Copied the link")
	}
	m := r.message()
	if m == nil {
		return nil
	}
	if b := r.bodies[m.ID]; b != nil && b.doc != nil {
		return copyCmd(f, b.doc.Plain(), "Copied the text of the message")
	}
	return copyCmd(f, clean.Text(m.Text), "Copied the text of the message")
}

// chooseFiles asks which files to save when there are several.
func (r *reader) chooseFiles(m *api.Message, f *Frame) {
	id := m.ID
	if len(m.Attachments) == 1 {
		f.Dialog(newSaveFiles(r.id, id, []string{m.Attachments[0].AttachmentID}, f))
		return
	}
	items := []string{"All " + strconv.Itoa(len(m.Attachments)) + " files"}
	ids := []string{""}
	for _, a := range m.Attachments {
		items = append(items, keepEnding(cells.Stable(fileName(a)), 44)+"  "+units.Bytes(a.Size))
		ids = append(ids, a.AttachmentID)
	}
	thread := r.id
	f.Dialog(newPicker("Save which file?", items, func(i int, f *Frame) tea.Cmd {
		var which []string
		if i > 0 {
			which = []string{ids[i]}
		}
		f.Dialog(newSaveFiles(thread, id, which, f))
		return nil
	}))
}

func (r *reader) viewFiles(m *api.Message, f *Frame) {
	if m == nil || len(m.Attachments) == 0 {
		f.Flash("This message has no files")
		return
	}
	if len(m.Attachments) == 1 {
		r.view1(m, 0, f)
		return
	}
	var items []string
	for _, a := range m.Attachments {
		items = append(items, keepEnding(cells.Stable(fileName(a)), 44)+"  "+units.Bytes(a.Size))
	}
	f.Dialog(newPicker("View which file?", items, func(i int, _ *Frame) tea.Cmd {
		return func() tea.Msg { return openNumberedMsg{i} }
	}))
}

func (r *reader) view1(m *api.Message, i int, f *Frame) {
	a, use := m.Attachments[i], useOpen
	if isText(a) {
		use = useRead
	}
	r.fetch(m.ID, a, wantedFile{use: use}, f)
}

// viewHTML opens a message in the browser, as its sender made it.
func (r *reader) viewHTML(m *api.Message, f *Frame) {
	if m == nil || strings.TrimSpace(m.HTML) == "" {
		f.Flash("This message is plain text: all of it is here")
		return
	}
	r.wanted = &wantedFile{use: useOpen}
	f.Mail.ViewHTML(r.id, m.ID)
	f.Flash("Opening the message in the browser")
}
