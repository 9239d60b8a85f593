package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// claim shows other processes that this one lives, and so that a draft which names it is being written and a file that names it
// is being viewed: a locked file of its own in the folder "open". The kernel lets go of the lock when the process dies.
type claim struct {
	id   string
	path string

	mu   sync.Mutex
	lock *processLock // nil: not held yet
}

const claimSuffix = ".lock"

func newClaim(stateDir string) *claim {
	id := newID()
	return &claim{id: id, path: filepath.Join(stateDir, "open", id+claimSuffix)}
}

// hold takes the lock, once.
func (c *claim) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	lock := newProcessLock(c.path)
	got, err := lock.try()
	if err == nil && !got {
		err = errors.New("another process has the lock of this one")
	}
	if err != nil {
		return errors.Join(err, lock.release())
	}
	c.lock = lock
	return nil
}

// release lets go, and takes the file away: no other process ever has one of the same name.
func (c *claim) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return nil
	}
	err := c.lock.release()
	c.lock = nil
	return errors.Join(err, os.Remove(c.path))
}

// livingProcesses are those that write drafts or view files. What dead ones left is removed.
func livingProcesses(stateDir string) map[string]bool {
	living := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(stateDir, "open", "*"+claimSuffix))
	if err != nil {
		return living
	}
	for _, path := range files {
		id := strings.TrimSuffix(filepath.Base(path), claimSuffix)
		lock := newProcessLock(path)
		if got, err := lock.try(); err != nil || !got {
			living[id] = true
			continue
		}
		_ = errors.Join(lock.release(), os.Remove(path)) // the next start tries again
	}
	return living
}
