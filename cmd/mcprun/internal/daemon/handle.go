package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/daemon"
)

// rootFunc builds the command line of mcprun.
type rootFunc = func(app *cli.App, at resources.Provider) *cobra.Command

// Follower is what the daemon does beside the commands of its clients: it runs the schedules of their projects.
type Follower interface {
	// Follow follows the schedules of the project in app's folder, in app's environment, and returns their names. If it follows them already,
	// the new environment counts only with replace.
	Follow(app *cli.App, replace bool) (names []string, err error)
	// Describe lists what is followed, and Busy reports whether there is any.
	Describe() []string
	Busy() bool
	// Run returns when stopping is closed and runs in progress have ended. The end of ctx interrupts them.
	Run(ctx context.Context, stopping <-chan struct{})
}

// followArgs is the command line by which the command daemon has the daemon follow the schedules of a project.
var followArgs = []string{"daemon", "follow"}

// handle runs the command of a client as the client itself would without a daemon. Then the schedules of its project are followed.
func handle(ctx context.Context, w *daemon.Work, h resources.Provider, f Follower, newRoot rootFunc) int {
	app := &cli.App{
		Name: "mcprun", FailCode: exit.Runner, Dir: w.Dir,
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, LookupEnv: w.LookupEnv,
		Terminal: cli.Terminal{
			Stdin: w.Terminal.Stdin, Stdout: w.Terminal.Stdout, Stderr: w.Terminal.Stderr, Shared: w.Terminal.Shared, Columns: w.Columns,
		},
	}
	if slices.Equal(w.Args, followArgs) {
		names, err := f.Follow(app, true)
		if err != nil {
			return app.Fail(err)
		}
		fmt.Fprintf(w.Stdout, "it runs the schedules of this project: %s\n", strings.Join(names, ", "))
		return 0
	}
	ctx, end := ownSignal(ctx)
	defer end()
	defer func() { go f.Follow(app, false) }() // which logs what is wrong
	return app.Run(ctx, newRoot(app, h), w.Args)
}

// ownSignal returns a context that ends with ctx. If a client's signal ended it, the cause is the same as for a signal to this process.
func ownSignal(ctx context.Context) (context.Context, func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if sig, ok := errors.AsType[*daemon.SignalError](cause); ok {
			cause = &cli.SignalError{Signal: syscall.Signal(sig.Number)}
		}
		cancel(cause)
	})
	return own, func() { stop(); cancel(nil) }
}
