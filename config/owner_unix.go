//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func openKeyFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// onlyOwner refuses a file that somebody else may read or owns.
func onlyOwner(path string, st fs.FileInfo) error {
	if st.Mode().Perm()&0o077 != 0 {
		return &Error{
			What: fmt.Sprintf("%s may be read or written by others (mode %#o)", path, st.Mode().Perm()),
			Mend: fmt.Sprintf("make it yours alone: chmod 600 %q", path),
		}
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return &Error{What: fmt.Sprintf("%s belongs to another user", path), Mend: "use a file of your own"}
	}
	return nil
}
