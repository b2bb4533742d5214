package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/permit"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/syncview"
	"github.com/mcpgen/mcpgen/gen"
)

type syncOptions struct {
	app     *cli.App
	place   placeFlags
	check   bool
	diff    bool
	json    bool
	format  string
	summary string
	report  string
	offline bool
	frozen  bool
	strict  bool
	prune   bool
	debug   bool
	migrate bool
	from    string
	servers []string
}

func newSyncCmd(app *cli.App) *cobra.Command {
	o := &syncOptions{app: app}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Update the tree from the servers' tools",
		Long: `sync asks all configured servers for their tools, at the same time, and writes the wrappers. Files that are already
correct are not touched, and generated files that are no longer needed are removed. A file that mcpgen did not write is
never changed: if one is in the way, sync names it and writes nothing. If a server cannot be asked, its part of the tree
stays as it is; the others are written. sync asks before it removes all wrappers of a server, because the server is no
longer configured, or because include and exclude leave none of its tools; without a terminal it needs --prune, or else
writes nothing and exits with 2.

With --check or --diff nothing is written, and the exit code is 1 if something would be. Both report what each server
changed: texts word by word, schemas path by path and by what they accept (added, removed, widened, narrowed, required),
and hints, and what the policy decides about new tools. Breaking changes and withdrawn annotations are marked with "!".
Rules of the policy that are likely wrong, such as one that names an argument which its tools lack, are warnings.

--offline asks no server: it generates from the stored tool lists, and refuses a list that does not match the lock.
--frozen accepts only what the lock pins: if a server has added, removed or changed a tool, or the configuration has
gained or lost a server, nothing is written and the exit code is 1; otherwise the tree is generated as usual. It can be
combined with all other flags: with --check it also reports files that differ, with --offline it only looks at servers
that were added or removed.

--format github is for GitHub Actions: problems become annotations, a summary in Markdown is appended to the file of
--summary, and the outputs drift and breaking to that of $GITHUB_OUTPUT. docs/reference/lock-and-report.md describes it, and the JSON.

Saved skills, in skills/ next to the configuration, are checked afterwards: a skill whose tools are gone or have changed,
or whose types no longer fit, is reported on stderr with the reason. The exit code does not change, because the tree
itself is correct; mcprun skill check fails for it.

--migrate adapts scripts and skills to the change: to tools, members and values of enums that have another name, and to
new required members that have a default. All scripts of skills are adapted, and the files that are given, or match
patterns. What is not certain is left and reported with its line. A file is changed only if it passes the type check,
with tsc or pyright; the diff is shown. With --check or --diff nothing is written. If the tree is up to date already,
name the former one with --from.

A server has a minute to get ready, since a first start may download it, and two minutes to list its tools.

Exit codes: 0 in sync, 1 out of date (--check, --diff), not what the lock pins (--frozen), or
scripts to adapt by hand (--migrate), 2 usage, configuration or
files, 3 a server could not be asked (takes precedence over 1 and 4), 4 a tool could not be generated or a text is
suspicious (--strict), 130 interrupted.`,
		Example: `  mcpgen sync                      # write or refresh the tree
  mcpgen sync --check              # write nothing; say what a server has changed, and fail
  mcpgen sync --check --offline    # as before, without asking servers: are the files what they should be?
  mcpgen sync --diff | less        # what changed, and the change as a unified diff
  mcpgen sync --frozen             # write nothing that the lock does not pin
  mcpgen sync --server drive       # ask one server only
  mcpgen sync --migrate 'scripts/*.ts'   # accept the change, and adapt skills and scripts to it
  mcpgen sync --json               # the report as JSON, for programs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !o.migrate {
				return cli.Args(cobra.NoArgs)(cmd, args)
			}
			if err := o.validate(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), args)
		},
	}
	o.place.bind(cmd)
	trust.Bind(cmd.Flags(), &o.place.trusted)
	f := cmd.Flags()
	f.BoolVar(&o.check, "check", false, "write nothing; report what is out of date and exit with 1")
	f.BoolVar(&o.diff, "diff", false, "write nothing; print what changed and a unified diff, and exit with 1 if anything differs")
	f.BoolVar(&o.json, "json", false, "print the report as one JSON object; the same as --format json")
	f.StringVar(&o.format, "format", syncview.Text, "the `form` of the report: text, json or github")
	f.StringVar(&o.summary, "summary", "", "append a summary in Markdown to this `file` (default with --format github: $GITHUB_STEP_SUMMARY)")
	f.StringVar(&o.report, "report", "", "write the report as JSON to this `file` as well")
	f.BoolVar(&o.offline, "offline", false, "ask no server; generate from the tool lists stored in the tree")
	f.BoolVar(&o.frozen, "frozen", false, "write nothing and exit with 1 if a server's tools differ from the lock")
	f.BoolVar(&o.strict, "strict", false, "write nothing and exit with 4 if a tool cannot be generated or a text is suspicious")
	f.BoolVar(&o.prune, "prune", false, "remove all wrappers of a server that is no longer configured, or none of whose tools is included, without asking")
	f.BoolVar(&o.migrate, "migrate", false, "adapt skills, and the scripts that are given, to what changed")
	f.StringVar(&o.from, "from", "", "with --migrate: the `folder` of a former tree that scripts were written for")
	f.BoolVar(&o.debug, "debug", false, "show on stderr what servers print and which protocol errors were tolerated")
	f.StringArrayVar(&o.servers, "server", nil, "ask only the server of this `name`; may be given several times")
	cli.CompleteFlag(cmd, "format", cli.FixedWords(syncview.Text, syncview.JSON, syncview.GitHub))
	cli.CompleteFlag(cmd, "server", configuredServers(app, &o.place))
	return cmd
}

// validate reports conflicting flags, and fills in defaults.
func (o *syncOptions) validate(cmd *cobra.Command) error {
	if o.from != "" && !o.migrate {
		return cli.Usage(cmd, "--from is for --migrate")
	}
	switch o.format {
	case syncview.Text, syncview.JSON, syncview.GitHub:
	default:
		return cli.Usage(cmd, "--format is text, json or github, not %q", o.format)
	}
	if o.json {
		if cmd.Flags().Changed("format") && o.format != syncview.JSON {
			return cli.Usage(cmd, "--json and --format %s cannot be combined", o.format)
		}
		o.format = syncview.JSON
	}
	if o.format == syncview.GitHub && !cmd.Flags().Changed("summary") {
		o.summary = o.app.Env("GITHUB_STEP_SUMMARY")
	}
	return nil
}

// checkOutputs refuses to write a report over a file of the project.
func (o *syncOptions) checkOutputs(opts gen.Options) error {
	for _, out := range []struct{ flag, path string }{{"--report", o.report}, {"--summary", o.summary}} {
		if out.path == "" {
			continue
		}
		if err := gen.CheckOutput(opts, o.app.Path(out.path)); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("%s: %w", out.flag, err), Command: "mcpgen sync"}
		}
	}
	return nil
}

func (o *syncOptions) run(ctx context.Context, scripts []string) error {
	if err := o.checkOutputs(o.place.options(o.app)); err != nil {
		return err
	}
	var m *migration
	if o.migrate {
		var err error
		if m, err = o.openMigration(scripts); err != nil {
			return err
		}
	}
	progress := o.app.Progress("asking")
	opts := o.place.options(o.app)
	opts.Check, opts.Diff, opts.Offline, opts.Servers = o.check || o.diff, o.diff, o.offline, o.servers
	opts.Strict, opts.Frozen = o.strict, o.frozen
	opts.Prune = func(ctx context.Context, gone *gen.PruneError) (bool, error) {
		if o.prune || o.format != syncview.Text || !o.app.Interactive() {
			return o.prune, nil
		}
		progress.Close()
		return o.app.Confirm(ctx, cli.EscapeLine(gone.Question()))
	}
	upstream := upstreamOptions(o.app)
	if o.debug {
		stderr := syncview.CommandFilter{Writer: o.app.Stderr}
		upstream.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		upstream.Stderr = cli.Prefixed(stderr)
	} else {
		opts.Progress = func(e gen.Event) { showProgress(progress, o.app.ErrStyle(), e) }
	}
	opts.Lister = gen.UpstreamLister(upstream)
	defer sweep(ctx)()
	report, err := gen.Sync(ctx, opts)
	progress.Close()
	if err != nil {
		if o.format == syncview.GitHub {
			syncview.AnnotateError(o.app, err)
		}
		return syncview.EscapedError{Err: err}
	}
	if m != nil && report.Outcome() != gen.Unpinned && report.Outcome() != gen.NotAsked {
		if err := m.run(ctx, opts, report); err != nil {
			return err
		}
	}
	permitted := o.permitted(opts, report)
	skills := o.checkSkills(ctx, report)
	brokenSkills, brokenWorkflows := skills.json()
	code := report.ExitCode()
	if code == 0 && m.left() {
		code = 1
	}
	view := &syncview.View{App: o.app, Report: report, Repair: o.repair(report), Policy: permitted, Skills: brokenSkills, Workflows: brokenWorkflows, Migration: m.json(), ExitCode: code}
	err = view.Print(o.format)
	if o.report != "" {
		err = errors.Join(err, view.WriteJSON(o.app.Path(o.report)))
	}
	if o.summary != "" {
		err = errors.Join(err, view.AppendSummary(o.app.Path(o.summary)))
	}
	if outputs := o.app.Env("GITHUB_OUTPUT"); outputs != "" && o.format == syncview.GitHub {
		err = errors.Join(err, view.AppendOutputs(outputs))
	}
	if err != nil {
		return err
	}
	m.print(o.format != syncview.JSON)
	skills.print(o.app)
	if code != 0 {
		return cli.Quiet(code)
	}
	return nil
}

// permitted returns what the policy says about the tools. A mistake in the policy is only a warning: the tree is written anyway.
func (o *syncOptions) permitted(opts gen.Options, report *gen.Report) *permit.Outlooks {
	list, warnings, err := permit.NewOutlooks(opts, report)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	for _, text := range warnings {
		report.Warnings = append(report.Warnings, gen.Warning{Place: "policy", Message: text, Code: "policy"})
	}
	return list
}

// repair returns the command that makes this check pass.
func (o *syncOptions) repair(r *gen.Report) string {
	args := []string{"mcpgen", "sync"}
	for _, config := range o.place.configs {
		args = append(args, "--config", quoteArg(config))
	}
	if o.place.out != "" {
		args = append(args, "--out", quoteArg(o.place.out))
	}
	if o.offline {
		args = append(args, "--offline")
	}
	if len(r.Gone)+len(r.Emptied) > 0 {
		args = append(args, "--prune")
	}
	for _, s := range o.servers {
		args = append(args, "--server", quoteArg(s))
	}
	return strings.Join(args, " ")
}

// quoteArg quotes an argument for a POSIX shell if necessary.
func quoteArg(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// showProgress shows the state of one server on a terminal.
func showProgress(p *cli.Progress, style cli.Style, e gen.Event) {
	switch {
	case !e.Done:
		p.Start(e.Server)
	case e.Err != nil:
		p.Done(e.Server, style.Red("✗ ")+cli.EscapeLine(e.Server)+style.Dim(" "+e.Duration.Round(10*time.Millisecond).String()))
	default:
		p.Done(e.Server, fmt.Sprintf("%s%s  %s%s", style.Green("✓ "), cli.EscapeLine(e.Server), cli.Count(e.Tools, "tool"),
			style.Dim(" "+e.Duration.Round(10*time.Millisecond).String())))
	}
}

// sweepTime bounds ending the processes that servers of killed programs have left.
const sweepTime = 3 * time.Second

// sweep ends such processes in the background. The returned function waits for it.
func sweep(ctx context.Context) (wait func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = gen.SweepUpstreams(ctx) // the next one tries again
	}()
	return func() {
		<-done
		cancel()
	}
}
