package tree

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flushAll puts everything written to the file system of a folder on the disk. false: it can't.
func flushAll(root *os.Root) (bool, error) {
	f, err := root.Open(".")
	if err != nil {
		return false, err
	}
	err = unix.Syncfs(int(f.Fd()))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EPERM) { // some sandboxes
		return false, f.Close()
	}
	return err == nil, errors.Join(err, f.Close())
}
