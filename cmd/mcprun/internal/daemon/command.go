// Package daemon has the command daemon, the client by which a run has the daemon do its work, and the daemon's handler, which
// does a client's command over the client's streams. The protocol between the two is in runner/daemon.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/doctor"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/daemon"
)

const daemonHelp = `The daemon is mcprun in the background. It keeps connections to servers and started sandboxes
between runs, so that a script starts in tens of milliseconds. Runs use it, and start it, with
--daemon auto, MCPRUN_DAEMON=auto, or daemon: auto below run: in mcpgen.yaml. It exits if it is not
used for a while. Only you can connect to it.

It also runs the schedules of the projects that runs came from, and of the project in which you start
it, and does not exit as long as they have any.`

type command struct {
	app        *cli.App
	newRoot    rootFunc
	follower   NewFollower
	idle       time.Duration
	foreground bool
	ready      bool
	json       bool
	now        bool
}

// NewFollower makes a [Follower].
type NewFollower = func(at resources.Provider, log *slog.Logger) Follower

// NewCommand returns `mcprun daemon`.
func NewCommand(app *cli.App, newRoot rootFunc, follower NewFollower) *cobra.Command {
	o := &command{app: app, newRoot: newRoot, follower: follower, idle: 10 * time.Minute}
	cmd := &cobra.Command{
		Use: "daemon", Short: "Start, stop or inspect the background process that keeps servers and sandboxes ready",
		Long: daemonHelp,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.foreground {
				return o.serve(cmd.Context())
			}
			return o.start(cmd.Context(), cmd.Flags().Changed("idle"))
		},
	}
	f := cmd.Flags()
	f.Var(flags.Duration(&o.idle), "idle", "exit after this time without a run")
	f.BoolVar(&o.foreground, "foreground", false, "run the daemon in this process instead of the background")
	f.BoolVar(&o.ready, "ready", false, "close descriptor 3 when clients can connect")
	_ = f.MarkHidden("ready")
	status := &cobra.Command{
		Use: "status", Short: "Report whether the daemon is running, and what it keeps",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.status(cmd.Context()) },
	}
	status.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	stop := &cobra.Command{
		Use: "stop", Short: "Stop the daemon when its runs have ended",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.stop(cmd.Context()) },
	}
	stop.Flags().BoolVar(&o.now, "now", false, "end running scripts too")
	cmd.AddCommand(status, stop)
	return cmd
}

// serve runs the daemon in this process.
func (o *command) serve(ctx context.Context) error {
	opt, err := daemonOptions(o.app)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(o.app.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ready := func() {}
	if o.ready {
		if f := readyFile(); f != nil {
			ready = func() { _ = f.Close() }
		}
	}
	h := resources.NewWarm(log)
	f := o.follower(h, log)
	handler := func(ctx context.Context, w *daemon.Work) int { return handle(ctx, w, h, f, o.newRoot) }
	describe := func() []string { return append(f.Describe(), h.Describe()...) }
	err = daemon.Serve(ctx, daemon.ServeOptions{
		Options: opt, Handler: handler, Idle: o.idle, Ready: ready, Background: f.Run, Busy: f.Busy, Close: h.Close, Describe: describe, Version: cli.Version(), Logger: log,
	})
	if errors.Is(err, daemon.ErrRunning) && o.ready {
		return nil // another daemon started first
	}
	return err
}

// start starts a daemon of this build and environment unless there is one.
func (o *command) start(ctx context.Context, idleSaid bool) error {
	app := *o.app
	if idleSaid {
		app.LookupEnv = func(name string) (string, bool) {
			if name == IdleVariable {
				return o.idle.String(), true
			}
			return o.app.LookupEnv(name)
		}
	}
	client, err := newDaemonClient(&app)
	if err != nil {
		return err
	}
	s, began, err := client.Start(ctx)
	if err != nil {
		return err
	}
	word := "is running already"
	if began {
		word = "was started"
	}
	if _, err = fmt.Fprintf(o.app.Stdout, "the daemon %s: process %d\n", word, s.PID); err != nil {
		return err
	}
	return o.follow(ctx, client)
}

// follow has the daemon run the schedules of the project here, if there are any.
func (o *command) follow(ctx context.Context, client *daemon.Client) error {
	here := project.LocationFlags{}
	cfg, err := here.Load(o.app)
	if err != nil || cfg == nil || len(cfg.Settings.Schedules) == 0 {
		return err
	}
	if err := here.Consent(ctx, o.app, resources.Cold{}, cfg); err != nil {
		return err // the daemon asks nobody
	}
	job := daemonJob(o.app)
	job.Args = followArgs
	code, err := client.Run(ctx, job, daemon.Streams{Stdout: o.app.Stdout, Stderr: o.app.Stderr, Signal: signalNumber})
	if err == nil && code != 0 {
		err = cli.Quiet(code)
	}
	return err
}

func (o *command) stop(ctx context.Context) error {
	client, err := newDaemonClient(o.app)
	if err != nil {
		return err
	}
	s, ok, err := client.Stop(ctx, o.now, func(s *daemon.Status) {
		if s.Running > 0 && !o.now {
			fmt.Fprintf(o.app.Stderr, "mcprun: the daemon takes no more runs; waiting for the end of %s (--now ends them)\n", cli.Count(s.Running, "run"))
		}
	})
	switch {
	case err != nil:
		return err
	case !ok:
		_, err = fmt.Fprintln(o.app.Stdout, "no daemon is running")
	default:
		_, err = fmt.Fprintf(o.app.Stdout, "the daemon has ended: process %d\n", s.PID)
	}
	return err
}

// status prints the daemon's status. Without a daemon the exit code is 1.
func (o *command) status(ctx context.Context) error {
	client, err := newDaemonClient(o.app)
	if err != nil {
		return err
	}
	s, ok, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if o.json {
		if err := o.app.JSON(s); err != nil { // null if there is no daemon
			return err
		}
	} else if ok {
		o.print(s)
	} else {
		fmt.Fprintln(o.app.Stdout, "no daemon is running")
	}
	if !ok {
		return cli.Quiet(1)
	}
	return nil
}

func (o *command) print(s *daemon.Status) {
	style, w := o.app.OutStyle(), o.app.Stdout
	item := func(label, text string) {
		fmt.Fprintf(w, "%s %s\n", style.Bold(fmt.Sprintf("%-9s", label)), cli.EscapeLine(text))
	}
	item("process:", fmt.Sprintf("%d, for %v", s.PID, time.Since(s.Started).Round(time.Second)))
	item("version:", s.Version)
	runs := fmt.Sprintf("%d done, %d in progress", s.Done, s.Running)
	if s.Refused > 0 {
		runs += fmt.Sprintf(", %d not taken", s.Refused)
	}
	item("runs:", runs)
	switch {
	case s.Running > 0:
	case s.Stays:
		item("idle:", fmt.Sprintf("for %v, stays for schedules", seconds(s.IdleSeconds)))
	default:
		item("idle:", fmt.Sprintf("for %v, ends in %v", seconds(s.IdleSeconds), seconds(s.EndsSeconds)))
	}
	for i, k := range s.Kept {
		item(doctor.Labelled(i, "keeps:"), k)
	}
	if s.Differs != "" {
		item("but:", s.Differs)
	}
}

func seconds(s float64) time.Duration {
	return (time.Duration(s * float64(time.Second))).Round(time.Second)
}
