package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

type syncOptions struct {
	app     *cli.App
	place   placeFlags
	check   bool
	diff    bool
	json    bool
	offline bool
	strict  bool
	debug   bool
	servers []string
}

func newSyncCmd(app *cli.App) *cobra.Command {
	o := &syncOptions{app: app}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Ask the servers for their tools and bring the tree in line",
		Long: `sync asks all configured servers for their tools, at the same time, and writes the wrappers. Files that are as they
should be are not touched, generated files that are no longer needed are removed, and a file that mcpgen did not write
is never changed: where one is in the way, nothing is written and it is named. A server that can't be asked keeps what
the tree has of it; the others are written.

With --check or --diff nothing is written, and the exit code is 1 when something would be.

A server has a minute to get ready, since a first start may download it, and two minutes to list its tools.

Exit codes: 0 in sync, 1 out of date (--check, --diff), 2 usage, configuration or files, 3 a server could not be asked
(whatever else is to be said), 4 a tool could not be generated (--strict), 130 interrupted.`,
		Example: `  mcpgen sync                      # write or refresh the tree
  mcpgen sync --check              # write nothing; say what a server has changed, and fail
  mcpgen sync --check --offline    # as before, without asking servers: are the files what they should be?
  mcpgen sync --diff | less        # the change as a unified diff
  mcpgen sync --server drive       # ask one server only
  mcpgen sync --json               # the report as JSON, for programs`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.place.bind(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.check, "check", false, "write nothing; report what is out of date and exit with 1")
	f.BoolVar(&o.diff, "diff", false, "write nothing; print a unified diff and exit with 1 if there is one")
	f.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	f.BoolVar(&o.offline, "offline", false, "ask no server; generate from what the tree has stored")
	f.BoolVar(&o.strict, "strict", false, "write nothing and exit with 4 when a tool can't be generated")
	f.BoolVar(&o.debug, "debug", false, "show on stderr what servers print and what they were forgiven")
	f.StringArrayVar(&o.servers, "server", nil, "ask only the server of this `name`; may be given several times")
	return cmd
}

func (o *syncOptions) run(ctx context.Context) error {
	progress := o.app.Progress("asking")
	opts := o.place.options(o.app)
	opts.Check, opts.Diff, opts.Offline, opts.Strict, opts.Servers = o.check || o.diff, o.diff, o.offline, o.strict, o.servers
	upstream := gen.UpstreamOptions{LookupEnv: o.app.LookupEnv, Version: cli.Version()}
	if o.debug {
		upstream.Logger = slog.New(slog.NewTextHandler(o.app.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		upstream.Stderr = cli.Prefixed(o.app.Stderr)
	} else {
		opts.Progress = func(e gen.Event) { showProgress(progress, o.app.ErrStyle(), e) }
	}
	opts.Lister = gen.UpstreamLister(upstream)
	report, err := gen.Sync(ctx, opts)
	progress.Close()
	if err != nil {
		return err
	}
	p := &syncPrinter{app: o.app, opts: o, report: report}
	if err := p.print(); err != nil {
		return err
	}
	if code := o.exitCode(report); code != 0 {
		return cli.Quiet(code)
	}
	return nil
}

// exitCode is the worst of what happened: a server that could not be asked first, because then nothing else is known
// for sure.
func (o *syncOptions) exitCode(r *gen.Report) int {
	switch {
	case len(r.Failures()) > 0:
		return 3
	case o.strict && r.Dropped():
		return 4
	case (o.check || o.diff) && r.Drift():
		return 1
	}
	return 0
}
