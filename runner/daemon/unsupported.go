//go:build !linux && !darwin

package daemon

import (
	"errors"
	"net"
	"os"
)

// Supported reports whether this system has daemons.
const Supported = false

var (
	errUnsupported = errors.New("this system has no daemon: it could not check which user connects")
	errLocked      = errUnsupported
)

func inherited() (map[string]string, error)      { return nil, errUnsupported }
func peerUser(*net.UnixConn) (int, error)        { return 0, errUnsupported }
func makePrivate(string) error                   { return errUnsupported }
func checkPrivate(string) error                  { return errUnsupported }
func lock(_, _ string, _ bool) (*os.File, error) { return nil, errUnsupported }
func isAbsent(error) bool                        { return false }
