package daemon

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/daemon"
)

// rootFunc builds the command line of mcprun.
type rootFunc = func(app *cli.App, at resources.Provider) *cobra.Command

// handle runs the command of a client as the client itself would without a daemon.
func handle(ctx context.Context, w *daemon.Work, h resources.Provider, newRoot rootFunc) int {
	app := &cli.App{
		Name: "mcprun", FailCode: exit.Runner, Dir: w.Dir,
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, LookupEnv: w.LookupEnv,
		Terminal: cli.Terminal{
			Stdin: w.Terminal.Stdin, Stdout: w.Terminal.Stdout, Stderr: w.Terminal.Stderr, Shared: w.Terminal.Shared, Columns: w.Columns,
		},
	}
	ctx, end := ownSignal(ctx)
	defer end()
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
