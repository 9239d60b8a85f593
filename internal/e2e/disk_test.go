//go:build linux

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

const rlimitFsize = 1 // RLIMIT_FSIZE

// fillDisk makes every write of the running program to a file fail, or lets them work again. It stands for a full disk.
func fillDisk(t *testing.T, pid int, full bool) {
	t.Helper()
	limit := [2]uint64{^uint64(0), ^uint64(0)}
	if full {
		limit[0] = 0
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitFsize, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Skipf("prlimit: %v", errno)
	}
}

// With a full disk nothing is said to be saved or sent; the text stays on the screen, and goes once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.client.write("config/teapost/config.toml", "[ui]\nundo_seconds = 1\n")
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	tt.press("c")
	tt.see(`New message`)
	fillDisk(t, tt.p.Process.Pid, true)
	tt.press("esc")
	tt.writeMail()
	tt.see(`draft NOT saved: .*disk`)
	tt.press("^D")
	tt.see(`Not sent: it could not be kept on the disk`, `Your text`, `The body\.`, `!Dropped`)
	if n := len(r.proxy.seen()); n != 0 {
		t.Errorf("%d requests for a message that is not on the disk", n)
	}
	tt.press("^C")
	tt.see(`[Qq]uit`) // not without a word
	tt.press("esc")
	tt.see(`The body\.`)

	fillDisk(t, tt.p.Process.Pid, false)
	tt.see(`draft saved`)
	tt.press("^D")
	tt.see(`!New message`)
	r.server.holds(killSubject, 1)
	tt.quit()
	r.settle()
	r.server.holds(killSubject, 1)
}

// At a start the file is named, and the exit code is 1.
func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := start(t, h.env, h.dir, "/bin/sh", "-c", `ulimit -f 0; exec "$0" "$@"`, binaries.teapost, "compose", "--send", "--to", "grace@example.org", "--subject", "x")
	_ = p.in.Close()
	if code := p.ended(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, w := range []string{"mail.db", "disk"} {
		if !strings.Contains(p.errs.String(), w) {
			t.Errorf("the sentence does not say %q: %s", w, p.errs)
		}
	}
}
