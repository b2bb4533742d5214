package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// App is the process as commands see it. Tests build one from buffers; programs get theirs from [Main].
type App struct {
	// Name is the program's name; it starts every error message.
	Name string
	// Stdin, Stdout and Stderr are never nil.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv reads one environment variable. Nil is an empty environment; use [App.Env].
	LookupEnv func(name string) (string, bool)
	// Dir is the absolute working directory.
	Dir string
	// FailCode is the exit code of an error without one of its own. Zero means 2.
	FailCode int
	// Args is the command line that [App.Run] got.
	Args []string
	// Terminal says which of the streams are terminals.
	Terminal Terminal
}

// Terminal describes the standard streams.
type Terminal struct {
	Stdin, Stdout, Stderr bool
	// Shared reports that Stdout and Stderr are the same terminal, pipe or file.
	Shared bool
	// Columns is the terminal's width if the streams are not files of this process. Zero means that the files report it.
	Columns int
}

// Program describes a program to [Main].
type Program struct {
	Name string
	// FailCode is [App.FailCode].
	FailCode int
	// Command builds the root command. It must not run anything.
	Command func(app *App) *cobra.Command
}

// Main runs a program on the real process and exits with its code. The first SIGINT, SIGTERM or SIGHUP cancels the context of the
// command with a *[SignalError] as its cause. A second signal ends the process at once, as does the first one if the command does
// not return soon after it.
func Main(p Program) {
	app, err := processApp(p)
	if err != nil {
		os.Exit((&App{Name: p.Name, FailCode: p.FailCode, Stderr: os.Stderr}).Fail(err))
	}
	ctx, stop := signalContext(context.Background(), func(sig *SignalError) {
		said := make(chan struct{})
		go func() {
			defer close(said)
			app.Fail(fmt.Errorf("%w; a process was still running %v after the signal", sig, endTime))
		}()
		select {
		case <-said:
		case <-time.After(time.Second): // standard error may be blocked
		}
		os.Exit(sig.ExitCode())
	})
	code := app.Run(ctx, p.Command(app), os.Args[1:])
	stop()
	os.Exit(code)
}

func processApp(p Program) (*App, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory (change to a folder that exists): %w", err)
	}
	app := &App{
		Name: p.Name, FailCode: p.FailCode, Dir: dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv,
	}
	app.Terminal.Stdin = term.IsTerminal(int(os.Stdin.Fd()))
	app.Terminal.Stdout = term.IsTerminal(int(os.Stdout.Fd()))
	app.Terminal.Stderr = term.IsTerminal(int(os.Stderr.Fd()))
	app.Terminal.Shared = sameFile(os.Stdout, os.Stderr)
	return app, nil
}

// Run executes a root command with args, prints the error if there is one, and returns the exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	a.Args = args
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	a.fitHelp(root)
	completeChoices(root)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Err: err, Command: cmd.CommandPath(), Near: nearFlags(cmd, err)}
	})
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if usage, ok := errors.AsType[*UsageError](err); ok && usage.Command == root.Name() { // of code that several commands share
		usage.Command = cmd.CommandPath()
	}
	// An interrupted command may report any error; the signal explains it better.
	_, quiet := errors.AsType[Quiet](err)
	if sig := signalOf(ctx); sig != nil && !quiet {
		err = sig
	}
	return a.Fail(err)
}

// Env returns an environment variable, or "".
func (a *App) Env(name string) string {
	if a.LookupEnv == nil {
		return ""
	}
	value, _ := a.LookupEnv(name)
	return value
}

// Path returns name as an absolute path: a relative one starts at Dir. The empty name stays empty.
func (a *App) Path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// sameFile reports whether two files are the same terminal, pipe or file.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
