package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// create creates or replaces a file that only its owner may read. It does not follow a link, which a script may have created.
func create(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q exists and is not a regular file: name another", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// files are closed together.
type files []io.Closer

// Close closes all of them.
func (f files) Close() error {
	var all []error
	for _, each := range f {
		all = append(all, each.Close())
	}
	return errors.Join(all...)
}
