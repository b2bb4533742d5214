//go:build !linux

package packages

import "errors"

// watch notices changes of files in folders. It does not exist here.
type watch struct{}

func newWatch([]string) (*watch, error) { return nil, errors.ErrUnsupported }

func (*watch) quiet() bool { return false }

func (*watch) close() {}
