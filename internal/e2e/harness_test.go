//go:build linux

package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/creack/pty"
	_ "modernc.org/sqlite" // to look into mail.db
)

// patience is how long a test waits for what must come. It only keeps a test from hanging: no test asks how fast the
// machine is.
const patience = time.Minute

// withParent ends a program with the tests, however they end.
var withParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

var binaries struct{ teapost, faultserver string }

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "teapost-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "../..", "../faultserver")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
		return 1
	}
	binaries.teapost, binaries.faultserver = filepath.Join(dir, "teapost"), filepath.Join(dir, "faultserver")
	// The tests wait more than they work: more at once than there are cores.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set("8")
	}
	return m.Run()
}

// home is a machine on which teapost was never started: empty folders and nothing in the environment.
type home struct {
	t   *testing.T
	dir string
	env []string
	db  string // the mailbox that is served
}

func newHome(t *testing.T, env ...string) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	h.db = h.path("data", "teapost", "mail.db")
	h.env = append([]string{
		"HOME=" + h.dir, "PATH=/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		"XDG_CONFIG_HOME=" + h.path("config"), "XDG_DATA_HOME=" + h.path("data"),
		"XDG_STATE_HOME=" + h.path("state"), "XDG_CACHE_HOME=" + h.path("cache"),
	}, env...)
	return h
}

func (h *home) path(parts ...string) string {
	return filepath.Join(append([]string{h.dir}, parts...)...)
}

// write puts a file into the home and returns its path.
func (h *home) write(name, text string) string {
	h.t.Helper()
	p := h.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// run runs a command to its end without a terminal.
func (h *home) run(args ...string) result { h.t.Helper(); return h.runIn("", args...) }

func (h *home) runIn(stdin string, args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binaries.teapost, args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.SysProcAttr = h.env, h.dir, strings.NewReader(stdin), withParent
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		h.t.Fatalf("teapost %q: %v\n%s%s", args, err, out.String(), errOut.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// must runs a command that has to succeed and returns its output.
func (h *home) must(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.t.Fatalf("teapost %q: exit code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// process is a running program without a terminal.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *output
	errs *output
	done chan struct{} // closed when it was waited for
}

// output collects what a program writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// start starts a program that ends with the test at the latest.
func start(t *testing.T, env []string, dir, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), out: &output{}, errs: &output{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = env, dir, p.out, p.errs, withParent
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(p.kill)
	return p
}

func (h *home) start(args ...string) *process {
	h.t.Helper()
	p := start(h.t, h.env, h.dir, binaries.teapost, args...)
	_ = p.in.Close()
	return p
}

// kill is kill -9, and returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ended waits for the end and returns the exit code.
func (p *process) ended(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(2 * patience):
		t.Fatalf("%s does not end\n%s%s", p.cmd, p.out, p.errs)
	}
	return p.cmd.ProcessState.ExitCode()
}

// until polls for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not come within %v: %s", patience, what)
		}
	}
}

var readyLine = regexp.MustCompile(`http://[0-9.:]+`)

// server is a running `teapost serve`.
type server struct {
	*process
	h   *home
	url string
	key string
}

const testKey = "oe_test_0123456789abcdef0123456789abcdef"

// loopback is an address of this machine that no other test has: a port there stays free until it is listened to again.
func loopback(t *testing.T) string {
	t.Helper()
	n := loopbacks.Add(1)
	host := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%200, n/250, 1+n%250)
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "127.0.0.1" // a system with one loopback address
	}
	_ = l.Close()
	return host
}

var loopbacks atomic.Int32

// serve starts `teapost serve` over the home's mailbox, at addr or at a free port.
func (h *home) serve(addr string, args ...string) *server {
	h.t.Helper()
	if addr == "" {
		addr = loopback(h.t) + ":0"
	}
	if slices.Contains(args, "--sample") {
		h.db = h.path("data", "teapost", "sample", "mail.db")
	}
	keyFile := h.write("serve.key", testKey)
	s := &server{h: h, key: testKey}
	s.process = h.start(append([]string{"serve", "--addr", addr, "--api-key-file", keyFile}, args...)...)
	until(h.t, "the address of teapost serve", func() bool {
		select {
		case <-s.done:
			h.t.Fatalf("teapost serve ended: %s%s", s.out, s.errs)
		default:
		}
		s.url = readyLine.FindString(s.out.String())
		return s.url != ""
	})
	return s
}

// addr is host and port.
func (s *server) addr() string { return strings.TrimPrefix(s.url, "http://") }

// account is a home whose account is the server at url.
func account(t *testing.T, url, key string) *home {
	t.Helper()
	return newHome(t, "OPENEMAIL_BASE_URL="+url, "OPENEMAIL_API_KEY="+key)
}

// faultServer starts the scripted fault server, before upstream or, without one, before a small mailbox of its own.
func faultServer(t *testing.T, upstream, script string) (url string, p *process) {
	t.Helper()
	args := []string{"--addr", "127.0.0.1:0"}
	if upstream != "" {
		args = append(args, "--upstream", upstream)
	}
	p = start(t, []string{"PATH=/usr/bin:/bin"}, t.TempDir(), binaries.faultserver, append(args, script)...)
	until(t, "the address of the fault server", func() bool {
		url = readyLine.FindString(p.out.String())
		return url != ""
	})
	return url, p
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", loopback(t)+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// terminal is teapost on a pseudo-terminal with a screen that is looked at.
type terminal struct {
	t    *testing.T
	p    *exec.Cmd
	file *os.File
	done chan struct{} // closed when it was waited for
	read chan struct{} // closed when all that it wrote was read

	mu     sync.Mutex
	scr    *screen
	raw    bytes.Buffer
	frames []string // what the screen has shown since the last key
	news   []string // what its line of news has shown since the start
}

type ttyOption func(*terminal)

// mute is a terminal that answers no query.
func mute(tt *terminal) { tt.scr.reply = nil }

// open starts teapost on a pseudo-terminal of that size.
func (h *home) open(cols, rows int, args ...string) *terminal {
	h.t.Helper()
	return h.openWith(cols, rows, nil, binaries.teapost, args...)
}

func (h *home) openWith(cols, rows int, opts []ttyOption, name string, args ...string) *terminal {
	h.t.Helper()
	tt := &terminal{t: h.t, p: exec.Command(name, args...), done: make(chan struct{}), read: make(chan struct{})}
	tt.p.Env, tt.p.Dir = h.env, h.dir
	tt.scr = newScreen(cols, rows, func(s string) { go func() { _, _ = tt.file.WriteString(s) }() })
	for _, o := range opts {
		o(tt)
	}
	f, err := pty.StartWithAttrs(tt.p, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)},
		&syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL})
	if err != nil {
		h.t.Fatal(err)
	}
	tt.file = f
	go func() {
		defer close(tt.read)
		buf := make([]byte, 32<<10)
		for {
			n, err := f.Read(buf)
			tt.mu.Lock()
			tt.scr.feed(buf[:n])
			tt.raw.Write(buf[:n])
			tt.remember()
			tt.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(tt.done)
		_ = tt.p.Wait() // how it ended is in ProcessState
	}()
	h.t.Cleanup(func() {
		tt.kill()
		_ = f.Close()
		<-tt.read
	})
	return tt
}

// signalTerm asks teapost on a terminal to end.
func signalTerm(t *testing.T, tt *terminal) {
	t.Helper()
	if err := tt.p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// kill is kill -9.
func (tt *terminal) kill() {
	_ = tt.p.Process.Kill()
	<-tt.done
}

// remember keeps the frame that the screen shows now.
func (tt *terminal) remember() {
	lines := tt.scr.lines()
	if f := strings.Join(lines, "\n"); len(tt.frames) == 0 || tt.frames[len(tt.frames)-1] != f {
		tt.frames = append(tt.frames, f)
	}
	if n := lines[max(len(lines)-2, 0)]; len(tt.news) == 0 || tt.news[len(tt.news)-1] != n {
		tt.news = append(tt.news, n)
	}
}

// saw reports whether the screen has matched a regular expression at some moment since the last key. What a person
// could read for a second is missed by nobody who looks at the frames, however busy the machine is.
func (tt *terminal) saw(expr string) bool {
	tt.mu.Lock()
	frames := append(slices.Clone(tt.frames), strings.Join(tt.scr.lines(), "\n"))
	tt.mu.Unlock()
	return slices.ContainsFunc(frames, regexp.MustCompile("(?m)"+expr).MatchString)
}

// text is the whole screen.
func (tt *terminal) text() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return strings.Join(tt.scr.lines(), "\n")
}

// steady is the screen without the clock and the line of news, which change by themselves.
func steady(tt *terminal) string {
	lines := strings.Split(tt.text(), "\n")
	if len(lines[0]) > 6 {
		lines[0] = lines[0][:len(lines[0])-5]
	}
	if len(lines) > 2 {
		lines[len(lines)-2] = ""
	}
	return strings.Join(lines, "\n")
}

// written is everything that the program wrote so far.
func (tt *terminal) written() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.raw.String()
}

// shows reports whether the screen matches a regular expression; one that begins with ! must not match.
func (tt *terminal) shows(expr string) bool {
	want := true
	if rest, not := strings.CutPrefix(expr, "!"); not {
		expr, want = rest, false
	}
	return regexp.MustCompile("(?m)"+expr).MatchString(tt.text()) == want
}

// see waits until the screen has shown all the expressions since the last key, and none of those that begin with !.
func (tt *terminal) see(exprs ...string) {
	tt.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		over := time.Now().After(end)
		select {
		case <-tt.read:
			over = true
		default:
		}
		i := slices.IndexFunc(exprs, func(e string) bool {
			if strings.HasPrefix(e, "!") {
				return !tt.shows(e)
			}
			return !tt.saw(e)
		})
		if i < 0 {
			return
		}
		if over {
			tt.t.Fatalf("the screen does not show %q within %v:\n%s", exprs[i], patience, tt.text())
		}
	}
}

var named = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "backtab": "\x1b[Z", "space": " ", "back": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdown": "\x1b[6~", "delete": "\x1b[3~",
}

// press sends keys one by one: names, ^X for control, M-x for alt, or a character.
func (tt *terminal) press(keys ...string) {
	tt.t.Helper()
	for _, k := range keys {
		seq, ok := named[k]
		switch {
		case ok:
		case len(k) == 2 && k[0] == '^':
			seq = string(rune(k[1] & 0x1f))
		case strings.HasPrefix(k, "M-"):
			seq = "\x1b" + k[2:]
		default:
			seq = k
		}
		tt.write(seq)
		if seq == "\x1b" { // read together with the next key it would be one key with alt
			tt.taken()
		}
	}
}

// taken waits until the program has read what was typed.
func (tt *terminal) taken() {
	tt.t.Helper()
	time.Sleep(50 * time.Millisecond) // the kernel hands it from one side of the terminal to the other
	until(tt.t, "the program to read its keys", func() bool {
		select {
		case <-tt.done:
			return true
		default:
		}
		var n int32
		slave, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", tt.p.Process.Pid), os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return true // it has ended
		}
		defer slave.Close()
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, slave.Fd(), syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
		return errno != 0 || n == 0
	})
}

// write sends bytes as they are.
func (tt *terminal) write(s string) {
	tt.t.Helper()
	tt.mu.Lock()
	tt.frames = nil
	tt.mu.Unlock()
	if _, err := tt.file.WriteString(s); err != nil {
		tt.t.Fatalf("the terminal is closed: %v\n%s", err, tt.text())
	}
}

// paste sends text as a terminal does that brackets pastes.
func (tt *terminal) paste(s string) { tt.t.Helper(); tt.write("\x1b[200~" + s + "\x1b[201~") }

// resize changes the size of the window.
func (tt *terminal) resize(cols, rows int) {
	tt.t.Helper()
	tt.mu.Lock()
	tt.scr.resize(cols, rows)
	tt.frames = nil
	tt.mu.Unlock()
	if err := pty.Setsize(tt.file, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		tt.t.Fatal(err)
	}
}

// ended waits for the end of the program and returns the exit code.
func (tt *terminal) ended() int {
	tt.t.Helper()
	select {
	case <-tt.done:
	case <-time.After(patience):
		tt.t.Fatalf("teapost does not end:\n%s", tt.text())
	}
	return tt.p.ProcessState.ExitCode()
}

// quit leaves by ctrl+c and expects an end without an error.
func (tt *terminal) quit() {
	tt.t.Helper()
	tt.press("^C")
	if code := tt.ended(); code != 0 {
		tt.t.Fatalf("exit code %d:\n%s", code, tt.text())
	}
}

// copies counts the messages with that subject that the mailbox holds as sent.
func (s *server) copies(subject string) int {
	s.h.t.Helper()
	return len(s.h.sent(subject))
}

// holds waits until the mailbox holds that many copies; what was accepted is delivered a moment later.
func (s *server) holds(subject string, want int) {
	s.h.t.Helper()
	got := 0
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if got = s.copies(subject); got == want {
			return
		}
		if got > want || time.Now().After(end) {
			s.h.t.Fatalf("%d copies of %q, want %d", got, subject, want)
		}
	}
}

// sent lists the Message-IDs of the sent messages with that subject, read from the mailbox's file.
func (h *home) sent(subject string) []string {
	h.t.Helper()
	return h.query("SELECT message_id FROM messages WHERE subject = ? AND outgoing = 1", subject)
}

// query reads one column from the mailbox's file.
func (h *home) query(q string, args ...any) []string {
	h.t.Helper()
	out, err := column(h.t, h.db, q, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// stateQuery reads one column from the account's state.db; nothing when it or its tables are not made yet.
func (h *home) stateQuery(q string, args ...any) []string {
	h.t.Helper()
	files, err := filepath.Glob(h.path("state", "teapost", "*", "state.db"))
	if err != nil || len(files) != 1 {
		return nil
	}
	out, err := column(h.t, files[0], q, args...)
	if err != nil && !strings.Contains(err.Error(), "no such table") {
		h.t.Fatal(err)
	}
	return out
}

// column reads one column from a database that a program may have open, or was killed over: that is why it may write.
func column(t *testing.T, file, q string, args ...any) (out []string, err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "mode=rw&_pragma=busy_timeout(60000)"}).String())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), q, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
