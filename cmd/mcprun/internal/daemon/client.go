package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/daemon"
)

// Run has the daemon run the whole command, and starts a daemon if there is none. If done is false, nothing was run, because
// there can be no daemon here or it cannot take this command. The caller then runs the command itself, which is only slower.
func Run(ctx context.Context, app *cli.App) (code int, done bool, err error) {
	client, err := newDaemonClient(app)
	if err != nil {
		return 0, false, nil
	}
	if slices.ContainsFunc(app.Args, isOwnFile) {
		return 0, false, nil
	}
	code, err = client.Run(ctx, daemonJob(app), daemon.Streams{
		Stdin: app.Stdin, Stdout: app.Stdout, Stderr: app.Stderr, Signal: signalNumber,
	})
	if _, ok := errors.AsType[*daemon.UnavailableError](err); ok {
		return 0, false, nil
	}
	return code, true, err
}

// isOwnFile reports whether an argument or its value names a file that only this process has open, such as the shell's <(...).
func isOwnFile(arg string) bool {
	return slices.ContainsFunc([]string{"/dev/", "/proc/"}, func(dir string) bool {
		return strings.HasPrefix(arg, dir) || strings.Contains(arg, "="+dir)
	})
}

// signalNumber returns the number of the signal that ended ctx, or 0.
func signalNumber(ctx context.Context) int {
	if sig, ok := errors.AsType[*cli.SignalError](context.Cause(ctx)); ok {
		return int(sig.Signal)
	}
	return 0
}

// newDaemonClient makes the client of this user's daemon.
func newDaemonClient(app *cli.App) (*daemon.Client, error) {
	opt, err := daemonOptions(app)
	if err != nil {
		return nil, err
	}
	return daemon.NewClient(opt, func(ready *os.File) error { return launchDaemon(app, opt.Dir, ready) }), nil
}

// daemonOptions returns the options of the daemon and its clients. The two may work together only if their options are equal.
func daemonOptions(app *cli.App) (daemon.Options, error) {
	if !daemon.Supported {
		return daemon.Options{}, errors.New("the daemon is not supported on this system, because it could not check which user connects")
	}
	exe, err := os.Executable()
	if err != nil {
		return daemon.Options{}, fmt.Errorf("find mcprun's own executable: %w", err)
	}
	build, err := daemon.BuildID(exe)
	if err != nil {
		return daemon.Options{}, err
	}
	environment, err := daemon.EnvironmentOf(app.LookupEnv, ambientNames())
	if err != nil {
		return daemon.Options{}, err
	}
	return daemon.Options{Dir: backends.RuntimeDir(app.LookupEnv) + "-daemon", Build: build, Environment: environment}, nil
}

// daemonJob returns this command as a job.
func daemonJob(app *cli.App) *daemon.Job {
	job := &daemon.Job{
		Args: app.Args, Dir: app.Dir, Env: map[string]string{}, Columns: max(app.ErrColumns(), app.Columns()),
		Terminal: daemon.Terminal{
			Stdin: app.Terminal.Stdin, Stdout: app.Terminal.Stdout, Stderr: app.Terminal.Stderr, Shared: app.Terminal.Shared,
		},
	}
	for _, pair := range os.Environ() { // names only: LookupEnv has the values
		name, _, _ := strings.Cut(pair, "=")
		if value, ok := app.LookupEnv(name); ok {
			job.Env[name] = value
		}
	}
	return job
}
