//go:build !linux || (!amd64 && !arm64)

package jail

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Child is one running jail; there is none on this platform.
type Child struct{}

// Init returns at once: no process is started as a jail on this platform.
func Init(string, func(Inside) int) {}

// Start fails on this platform.
func Start(context.Context, Config) (*Child, error) { return nil, unsupported() }

// Probe fails on this platform.
func Probe(context.Context, Config) ([]string, error) { return nil, unsupported() }

// User is the user a jail's processes would have.
func User() int { return -1 }

// Sweep has nothing to remove on this platform.
func Sweep() error { return nil }

// Remedy has nothing to advise here.
func Remedy(error) string { return "use --sandbox docker" }

// Done is closed when the jail has ended.
func (*Child) Done() <-chan struct{} { return nil }

// PID is the number of the jail's first process.
func (*Child) PID() int { return -1 }

// Bridge returns the host's end of the bridge.
func (*Child) Bridge() net.Conn { return nil }

// Missing lists isolation that could not be had.
func (*Child) Missing() []string { return nil }

// Bind fails on this platform.
func (*Child) Bind(context.Context, Binding) error { return unsupported() }

// Kill ends the jail.
func (*Child) Kill() {}

// Wait waits for the jail to end.
func (*Child) Wait() (sandbox.Exit, error) { return sandbox.Exit{}, unsupported() }

// ManyWatches is never so on this platform.
func ManyWatches([]int, bool) bool { return false }

// Gauge cannot look at processes on this platform.
type Gauge struct{}

// NewGauge fails on this platform.
func NewGauge(int) (*Gauge, error) { return nil, unsupported() }

// Look has nothing to look at.
func (*Gauge) Look(int, int64, ...string) Reading { return Reading{} }

// MostTasks knows no bound.
func MostTasks(int, sandbox.Limits) int { return 0 }

func unsupported() error {
	return fmt.Errorf("%w: jails need Linux on amd64 or arm64, this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
