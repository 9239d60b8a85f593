package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/units"
)

// maxPiped is how many commands are remembered.
const maxPiped = 50

// pipeMsg gives a message, or a file of it, to a command.
type pipeMsg struct {
	message, attachment string // no attachment: the text of the message
	command             string
}

// pipe asks for a command, and before that for what it gets when the message has files.
func (r *reader) pipe(m *api.Message, f *Frame) {
	if m == nil {
		f.Flash("Loading the message first")
		return
	}
	if len(m.Attachments) == 0 {
		r.askCommand(m.ID, "", "Pipe the message to a command", f)
		return
	}
	message := m.ID
	items, ids, titles := []string{"The text of the message"}, []string{""}, []string{"Pipe the message to a command"}
	for _, a := range m.Attachments {
		items = append(items, keepEnding(cells.Stable(fileName(a)), 44)+"  "+units.Bytes(a.Size))
		ids = append(ids, a.AttachmentID)
		titles = append(titles, "Pipe "+quoted(fileName(a))+" to a command")
	}
	f.Dialog(newPicker("Pipe what to a command?", items, func(i int, f *Frame) tea.Cmd {
		r.askCommand(message, ids[i], titles[i], f)
		return nil
	}))
}

func (r *reader) askCommand(message, attachment, title string, f *Frame) {
	f.Dialog(&search{
		in: newInput(""), history: r.piped, at: -1, title: title, sign: "|", verb: "runs it", earlier: "earlier commands",
		help: "such as: less   lpr   git am   grep -i tea",
		done: func(command string, _ *Frame) tea.Cmd {
			if command == "" {
				return nil
			}
			return func() tea.Msg { return pipeMsg{message, attachment, command} }
		},
	})
}

// runPipe begins what was asked for: with the text at once, with a file when it is here.
func (r *reader) runPipe(msg pipeMsg, f *Frame) tea.Cmd {
	i := slices.IndexFunc(r.th.Messages, func(m api.Message) bool { return m.ID == msg.message })
	if i < 0 {
		return nil
	}
	r.piped = slices.DeleteFunc(r.piped, func(c string) bool { return c == msg.command })
	r.piped = append([]string{msg.command}, r.piped[:min(len(r.piped), maxPiped-1)]...)
	m := &r.th.Messages[i]
	if msg.attachment == "" {
		return pipeCmd(&pipeRun{command: msg.command, text: r.pipeText(m, f)})
	}
	for _, a := range m.Attachments {
		if a.AttachmentID == msg.attachment {
			r.fetch(m.ID, a, wantedFile{use: usePipe, command: msg.command}, f)
		}
	}
	return nil
}

// pipeText is a message as a command reads it: the headers that a person sees, and the part that is shown.
func (r *reader) pipeText(m *api.Message, f *Frame) string {
	var b strings.Builder
	header := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	people := func(list []api.Address) string {
		var out []string
		for _, a := range list {
			if _, full := clean.Address(a.Name, a.Email); full != "" {
				out = append(out, full)
			}
		}
		return strings.Join(out, ", ")
	}
	header("From", people([]api.Address{m.From}))
	header("To", people(m.To))
	header("Cc", people(m.Cc))
	if !m.ReceivedAt.IsZero() {
		header("Date", m.ReceivedAt.In(f.Options.zone()).Format(time.RFC1123Z))
	}
	header("Subject", clean.Line(m.Subject))
	b.WriteString("\n")
	doc := r.body(m.ID).doc
	if doc == nil {
		doc = read(m.Text, m.HTML, r.other[m.ID])
	}
	text := doc.Plain()
	if !doc.HTML {
		text = keepTabs(m.Text) // as it came, for patches
	}
	b.WriteString(strings.TrimRight(text, "\n") + "\n")
	return b.String()
}

// keepTabs cleans a text and leaves its tabs as they are.
func keepTabs(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = clean.Text(p)
	}
	return strings.Join(parts, "\t")
}

// pipeCmd gives the terminal to a command until it has ended and the person has seen what it wrote.
func pipeCmd(p *pipeRun) tea.Cmd {
	return tea.Exec(p, func(err error) tea.Msg {
		if err != nil {
			return flashMsg{text: "The command was not run: " + plainError(err), failure: true}
		}
		return nil
	})
}

// pipeRun is a command at work on a text or a file. It is a [tea.ExecCommand].
type pipeRun struct {
	command    string
	text, path string // a path: the bytes of that file
	keys       io.Reader
	out        io.Writer // nil: the terminal itself
}

// SetStdin says where the person's keys come from; the command reads the text.
func (p *pipeRun) SetStdin(r io.Reader) { p.keys = r }

// SetStdout does nothing: a command that asks whether it writes to a terminal must find one.
func (p *pipeRun) SetStdout(io.Writer) {}

// SetStderr does nothing, see SetStdout.
func (p *pipeRun) SetStderr(io.Writer) {}

// Run runs the command, says how it ended, and waits for enter.
func (p *pipeRun) Run() error {
	var in io.Reader = strings.NewReader(p.text)
	if p.path != "" {
		file, err := os.Open(p.path)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	cmd := shellCommand(p.command)
	cmd.Env = withoutSecrets(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, os.Stdout, os.Stderr
	cmd.WaitDelay = time.Second // for what it left running
	out := io.Writer(os.Stdout)
	if p.out != nil {
		cmd.Stdout, cmd.Stderr, out = p.out, p.out, p.out
	}
	err := cmd.Run()
	if _, err := fmt.Fprintf(out, "\n[%s · enter goes back to teapost] ", howItEnded(err)); err != nil {
		return err
	}
	waitForEnter(p.keys)
	return nil
}

// shellCommand is what a person typed, as a shell understands it.
func shellCommand(line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/C", line)
	}
	return exec.Command("sh", "-c", line)
}

func howItEnded(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return "Done"
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Sprintf("It ended with code %d", exit.ExitCode())
	case exit != nil:
		return "It was stopped"
	}
	return clean.Line(sentence(err.Error()))
}

// waitForEnter reads up to the end of a line, and no more: what is typed after it is the screen's.
func waitForEnter(keys io.Reader) {
	if keys == nil {
		return
	}
	b := make([]byte, 1)
	for {
		n, err := keys.Read(b)
		if err != nil || n > 0 && bytes.ContainsAny(b, "\r\n") {
			return
		}
	}
}
