// Package approvals has the command that serves the page where a person approves calls.
package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// maxRuns bounds the runs that the page shows, and maxSessions the sessions that are read for them.
const (
	maxRuns     = 50
	maxSessions = 10
)

const help = `Serves a page on this machine where you approve or refuse calls. It lists the calls that
are waiting in every mcprun of this project started with --approve page, and recent runs.
A question stays for a day if the mcprun that asked has ended; your answer then holds for
the same call when it is made again, once.
The printed address works once, in one browser. Ctrl-C stops the page; calls keep waiting.`

type command struct {
	app  *cli.App
	port int
	project.LocationFlags
	customers.FolderFlags
	state.PlaceFlag
}

// NewCommand returns the command approvals.
func NewCommand(app *cli.App) *cobra.Command {
	o := &command{app: app}
	cmd := &cobra.Command{
		Use: "approvals", Short: "Serve the page where calls are approved",
		Long: help, Example: "  mcprun approvals\n  mcprun --approve page report.ts",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.serve(cmd)
			if _, ok := errors.AsType[*cli.SignalError](context.Cause(cmd.Context())); ok && err == nil {
				return cli.Quiet(0) // the normal way to end it
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.port, "port", 0, "port on 127.0.0.1 (default any that is free)")
	cli.BindConfig(f, &o.Configs)
	o.FolderFlags.Bind(f)
	o.PlaceFlag.Bind(f)
	return cmd
}

// Dir returns the folder with the sockets of processes that ask.
func Dir(app *cli.App) string { return backends.RuntimeDir(app.LookupEnv) + "-approvals" }

// Project returns the name that those sockets use for the project in the folder base.
func Project(base string) string { return cli.ProjectName(base)[:12] }

// Kept returns the plans and questions that a project's state keeps. Workspaces with the user's secret are refused, because scripts could read it. say
// is called with a line for people.
func Kept(app *cli.App, open store.Opener, workspace string, say func(line string)) *approve.Kept {
	opt := approve.KeptOptions{
		State: open, Say: func(line string) { say(cli.EscapeLine(line)) },
		Secret: func() ([]byte, error) { return customers.KeyFor(app, workspace) },
	}
	if ring, ok := customers.Keyring(app); ok {
		opt.Ring = ring
	}
	return approve.NewKept(opt)
}

func (o *command) serve(cmd *cobra.Command) error {
	cfg, err := o.LoadFor(cmd.Context(), o.app, cmd.Flags())
	if err != nil {
		return err
	}
	base := o.app.Dir
	if cfg != nil {
		base = cfg.Dir
	}
	at := o.Share(o.app, base, project.NameOf(cfg))
	defer at.Close()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	page := approve.NewPage(approve.PageOptions{
		Dir: Dir(o.app), Project: Project(base), Kept: o.kept(cfg, at), Address: l.Addr().String(), Title: filepath.Base(base),
		Runs: func(ctx context.Context) ([]approve.PageRun, error) { return o.runs(ctx, base, at.Open) },
	})
	if _, err := fmt.Fprintln(o.app.Stdout, page.URL()); err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: page.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	stop := context.AfterFunc(cmd.Context(), func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// kept returns the questions that the project's state keeps. The configuration says where the state is, if a person has agreed to it.
func (o *command) kept(cfg *config.Config, at *state.Shared) *approve.Kept {
	say := func(line string) { fmt.Fprintln(o.app.Stderr, "mcprun: "+line) }
	if !o.Agreed(o.app, cfg) {
		say("questions whose mcprun has ended are not shown: no person has agreed to the configuration yet; start mcpgen trust")
		return nil
	}
	return Kept(o.app, at.Existing, "", say)
}

// runs returns the runs that customers' sessions have logged, the latest first.
func (o *command) runs(ctx context.Context, base string, at store.Opener) ([]approve.PageRun, error) {
	root, err := o.FolderFlags.Open(o.app, base, at, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all, err := root.List()
	if err != nil {
		return nil, err
	}
	var sessions []customer.SessionInfo
	for _, c := range all {
		info, err := c.Info(ctx)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, info.Sessions...)
	}
	slices.SortFunc(sessions, func(a, b customer.SessionInfo) int { return b.LastUsed.Compare(a.LastUsed) })
	var runs []approve.PageRun
	for _, info := range sessions[:min(len(sessions), maxSessions)] {
		c, err := root.Find(info.Customer)
		if err != nil {
			return nil, err
		}
		s, err := c.Session(info.ID)
		if err != nil {
			return nil, err
		}
		if _, err := s.Read(func(r *customer.Record) error {
			if r.Run != nil {
				runs = append(runs, pageRun(info.Customer, r))
			}
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(runs, func(a, b approve.PageRun) int { return b.At.Compare(a.At) })
	return runs[:min(len(runs), maxRuns)], nil
}

func pageRun(id string, r *customer.Record) approve.PageRun {
	out := approve.PageRun{At: r.Time, Script: cmp.Or(r.Run.Name, r.Run.Language), Outcome: fmt.Sprintf("%s, code %d", r.Run.Cause, r.Run.ExitCode), Note: "customer " + id}
	for _, c := range r.Run.Calls {
		out.Calls = append(out.Calls, approve.PageCall{Tool: c.Tool, Outcome: c.Outcome})
	}
	return out
}
