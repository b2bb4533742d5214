// Package daemon runs commands of one user in a background process, which keeps what is expensive to create: idle sandboxes, connections
// and indexes.
//
// A [Client] sends its command line, folder, variables and streams ([Job], [Streams]) and gets the exit code. What the command prints and
// reads passes through, so a user sees no difference. [Serve] is the background process. A [Handler] runs the commands; this package knows
// nothing of scripts and servers.
//
// Both meet at a Unix socket in a private folder ([Options.Dir]). Each checks that the other is the same user, the same build of the
// program ([Options.Build]), and has the same environment ([EnvironmentOf]). A daemon that meets a client of another build accepts no more
// jobs and ends after those in progress. A client that cannot use a daemon, for any reason, gets an [*UnavailableError] before anything was
// done, and runs the command itself.
//
// The client's variables are sent with the job. The daemon keeps them in memory while the job is in progress; none is written to a file.
package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// Options are the options of the daemon and of its clients, which must be equal.
type Options struct {
	// Dir is the absolute path of the folder for the socket. It is created if missing, but not its parents. A folder of
	// another user, or one that others can read or write, is an error. Required.
	Dir string
	// Build identifies the program; see [BuildID]. A daemon serves only clients of the same build. Required.
	Build string
	// Environment is the environment that the process inherited; see [EnvironmentOf]. Nil: it is not compared.
	Environment Environment
}

// Job is a command to run.
type Job struct {
	// Args are the arguments, without the program's name.
	Args []string `json:"args"`
	// Dir is the absolute working directory.
	Dir string `json:"dir"`
	// Env holds the client's variables.
	Env map[string]string `json:"env"`
	// Columns is the width of the terminal at standard output. 0: unknown.
	Terminal Terminal `json:"terminal"`
	Columns  int      `json:"columns"`
}

// Terminal reports which of the standard streams are terminals.
type Terminal struct {
	Stdin  bool `json:"stdin"`
	Stdout bool `json:"stdout"`
	Stderr bool `json:"stderr"`
	// Shared reports that standard output and standard error are the same file.
	Shared bool `json:"shared"`
}

// Streams are the client's streams and callbacks for a job.
type Streams struct {
	// Stdin is read only when the command reads. Nil: it is empty.
	Stdin io.Reader
	// Stdout and Stderr receive what the command prints, in order. Nil discards it. An error ends the job.
	Stdout, Stderr io.Writer
	// Signal returns the number of the signal that ended the context of [Client.Run]. 0 or nil: SIGINT.
	Signal func(ctx context.Context) int
}

// Handler runs one job in the daemon and returns its exit code. The context ends when the client is gone (with the cause
// [ErrGone]) or has sent a signal (a [*SignalError]); the handler must then return soon. What it writes reaches the client
// before the exit code. A panic ends the job, not the daemon.
type Handler func(ctx context.Context, w *Work) (exitCode int)

// Work is a job as the handler sees it.
type Work struct {
	Job
	// Stdin, Stdout and Stderr are the client's streams. Writing blocks while the client does not read.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// LookupEnv looks up a variable of the client.
func (w *Work) LookupEnv(name string) (value string, ok bool) {
	value, ok = w.Env[name]
	return value, ok
}

// ServeOptions are the options of [Serve].
type ServeOptions struct {
	Options
	// Handler runs the jobs. Required.
	Handler Handler
	// Idle is how long the daemon stays without a job. Zero: 10 min.
	Idle time.Duration
	// Jobs bounds the jobs in progress. Further ones are refused, and their clients run them. Zero: 64.
	Jobs int
	// EndTime is how long interrupted jobs may take to end. After that, Serve returns a [*StuckError]. Zero: 20 s.
	EndTime time.Duration
	// Ready is called once, when clients can connect. It may be nil.
	Ready func()
	// Background runs beside the jobs. When stopping is closed, the daemon takes no more jobs, and Background must end; when ctx ends, jobs are
	// interrupted, and it must return soon. It may be nil.
	Background func(ctx context.Context, stopping <-chan struct{})
	// Busy reports whether the daemon must stay although there is no job. It may be nil.
	Busy func() bool
	// Close is called once, when all jobs have ended, before [Client.Stop] returns to clients. It may be nil.
	Close func()
	// Version is shown in the status.
	Version string
	// Describe returns the lines of [Status.Kept]. It may be nil.
	Describe func() []string
	// Logger receives diagnostics, never values of variables. Nil discards them.
	Logger *slog.Logger
}

// Status describes a running daemon.
type Status struct {
	PID   int    `json:"pid"`
	Build string `json:"build"`
	// Version is ServeOptions.Version.
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Running, Done and Refused count the jobs that are in progress, have ended, and were refused.
	Running int   `json:"running"`
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"`
	// IdleSeconds is how long there has been no job, and EndsSeconds the time until the daemon ends if none comes. Both are 0 while a job
	// is in progress.
	IdleSeconds float64 `json:"idleSeconds"`
	EndsSeconds float64 `json:"endsSeconds"`
	// Stays says that the daemon does not end for want of jobs; see ServeOptions.Busy. EndsSeconds is 0 then.
	Stays bool `json:"stays,omitempty"`
	// Kept lists what the daemon keeps, one line each.
	Kept []string `json:"kept"`
	// Differs says why the daemon takes no jobs from the client that asked. It is empty if it takes them.
	Differs string `json:"differs,omitempty"`
}

// Launcher starts the background process and returns at once. The process inherits ready as descriptor 3. It calls [Serve],
// and closes ready when clients can connect or when it ends.
type Launcher func(ready *os.File) error

// UnavailableError reports that no daemon took a job, so that no part of it was done.
type UnavailableError struct {
	// Reason is for the user, such as "the daemon was started with another PATH".
	Reason string
	Err    error // may be nil
}

func (e *UnavailableError) Error() string {
	if e.Err == nil {
		return "use the daemon: " + e.Reason
	}
	return fmt.Sprintf("use the daemon: %s: %v", e.Reason, e.Err)
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

// LostError reports that the daemon ended during a job. Calls may have been made.
type LostError struct{ Err error }

func (e *LostError) Error() string {
	return fmt.Sprintf("the daemon ended during the run: %v", e.Err)
}

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// Hint returns what the user can do.
func (*LostError) Hint() string {
	return "calls may have been made: check before you run it again; the next run starts a new daemon, and --daemon off uses none"
}
