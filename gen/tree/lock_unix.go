//go:build unix

package tree

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDir locks a folder against other syncs until unlock is called or the process ends.
func lockDir(root *os.Root, dir string) (unlock func(), err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil // closing unlocks
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.New("another sync is writing it; wait until it ends")
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) { // on some network file systems
		return func() {}, nil
	}
	return nil, fmt.Errorf("lock the folder: %w", err)
}
