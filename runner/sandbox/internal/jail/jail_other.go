//go:build !linux || (!amd64 && !arm64)

package jail

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// Child is one running jail; this platform has no jails.
type Child struct{}

// Init only starts the reaper, which cleans up after this process: no process is started as a jail on this platform.
func Init(string, func(Inside) int) { reaper.Init() }

// Start fails on this platform.
func Start(context.Context, Config) (*Child, error) { return nil, unsupported() }

// Probe fails on this platform.
func Probe(context.Context, Config) ([]string, error) { return nil, unsupported() }

// User is the user a jail's processes would have.
func User() int { return -1 }

// Remedy returns the advice to use another sandbox.
func Remedy(error) string { return "use --sandbox docker" }

// Done returns a channel that is closed when the jail has ended.
func (*Child) Done() <-chan struct{} { return nil }

// PID returns the process ID of the jail's first process.
func (*Child) PID() int { return -1 }

// Bridge returns the host's end of the bridge.
func (*Child) Bridge() net.Conn { return nil }

// Missing lists isolation that the jail lacks.
func (*Child) Missing() []string { return nil }

// Bind fails on this platform.
func (*Child) Bind(context.Context, Binding) error { return unsupported() }

// Kill ends the jail.
func (*Child) Kill() {}

// Wait waits for the jail to end.
func (*Child) Wait() (sandbox.Exit, error) { return sandbox.Exit{}, unsupported() }

func unsupported() error {
	return fmt.Errorf("%w: jails need Linux on amd64 or arm64, this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
