package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// RunSchedules makes this process the one that wakes threads and delivers what is due, as soon as no other one is, and
// until ctx ends. Who that is is told by an OS lock in the mailbox's folder, which the kernel releases when its process
// dies; another process takes over within two seconds. It blocks; the error says why there can be no lock.
func (s *Server) RunSchedules(ctx context.Context) (err error) {
	lock := flock.New(filepath.Join(s.dir, "schedules.lock"), flock.SetPermissions(0o600))
	defer func() {
		s.SetSchedules(false)
		err = errors.Join(err, lock.Close())
	}()
	got, err := lock.TryLockContext(ctx, time.Second)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the mailbox %s cannot be locked: %w", s.dir, err)
	}
	if got {
		s.SetSchedules(true)
		<-ctx.Done()
	}
	return nil
}

// Name returns the person's own name, which may be empty.
func (s *Server) Name() string { return s.name }
