//go:build !linux && !darwin

package daemon

import (
	"errors"
	"net"
	"os"
)

// Supported tells whether there are daemons on this system.
const Supported = false

var (
	errUnsupported = errors.New("there is no daemon on this system: it could not tell who connects to it")
	errLocked      = errUnsupported
)

func facts() (map[string]string, error)          { return nil, errUnsupported }
func peerUser(*net.UnixConn) (int, error)        { return 0, errUnsupported }
func private(string) error                       { return errUnsupported }
func onlyMine(string) error                      { return errUnsupported }
func lock(_, _ string, _ bool) (*os.File, error) { return nil, errUnsupported }
func absent(error) bool                          { return false }
