package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/permit"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// fromRuns is the value of --from.
const fromRuns = "runs"

// learnAll lists what could be learned and, after a yes, calls the tools that can be called.
func (o *learnOptions) learnAll(ctx context.Context) error {
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	if !o.yes || !o.json {
		if err := o.list(tree); err != nil {
			return err
		}
	}
	if o.dryRun || o.json && !o.yes {
		return nil
	}
	cfg, err := gen.LoadConfig(o.place.options(o.app))
	if err != nil {
		return err
	}
	ask, skipped, err := tree.AskPlan(cfg)
	if err != nil || len(ask) == 0 {
		return err
	}
	if !o.json {
		var calls []string
		for _, l := range ask {
			calls = append(calls, cli.EscapeLine(l.Tool+" "+string(l.Arguments)))
		}
		fmt.Fprintf(o.app.Stderr, "to be called once, with these arguments:\n  %s\n", strings.Join(calls, "\n  "))
	}
	switch may, err := o.confirmed(ctx, fmt.Sprintf("Call %s?", cli.Count(len(ask), "tool"))); {
	case err != nil:
		return err
	case !may && !o.app.Interactive():
		fmt.Fprintln(o.app.Stderr, "nothing was called, because there is no terminal to ask at; to call them: mcpgen learn --yes")
		return nil
	case !may:
		return nil
	}
	may, err := permit.New(o.app, o.place.options(o.app))
	if err != nil {
		return err
	}
	defer sweep(ctx)()
	report, err := gen.LearnAll(ctx, o.place.options(o.app), upstreamOptions(o.app), ask, may)
	if err != nil {
		return err
	}
	report.Tools = append(report.Tools, skipped...)
	return o.write(ctx, report)
}

// write shows how the wrappers would change, and writes them after a yes.
func (o *learnOptions) write(ctx context.Context, report *gen.LearnedTools) error {
	if len(report.Changed()) == 0 || o.dryRun {
		return o.printAll(report)
	}
	if !o.json {
		if _, err := o.app.Stdout.Write([]byte(cli.Escape(string(report.Diff())))); err != nil {
			return err
		}
	}
	switch may, err := o.confirmed(ctx, fmt.Sprintf("Write the types of %s?", cli.Count(len(report.Changed()), "tool"))); {
	case err != nil:
		return err
	case !may:
		if err := o.printAll(report); err != nil {
			return err
		}
		if !o.app.Interactive() {
			fmt.Fprintln(o.app.Stderr, "nothing was written, because there is no terminal to ask at; to write it: mcpgen learn --from runs --yes")
		}
		return cli.Quiet(exit.OutOfDate)
	}
	if err := report.Write(ctx); err != nil {
		return err
	}
	return o.printAll(report)
}

// confirmed asks, unless --yes is set. Without a terminal the answer is no.
func (o *learnOptions) confirmed(ctx context.Context, question string) (bool, error) {
	if o.yes || !o.app.Interactive() {
		return o.yes, nil
	}
	return o.app.Confirm(ctx, question)
}

// learnFromRuns derives types from what runs have kept.
func (o *learnOptions) learnFromRuns(ctx context.Context, names []string) error {
	opts := o.place.options(o.app)
	cfg, err := gen.LoadConfig(opts)
	if err != nil {
		return err
	}
	shapes, err := o.shapes(ctx, cfg)
	if err != nil {
		return err
	}
	report, err := gen.LearnFromRuns(ctx, opts, shapes, names)
	if err != nil {
		return err
	}
	return o.write(ctx, report)
}

// mcprun runs a command of mcprun, which reads and writes what runs have kept, and returns what it prints. The error is that of
// [exec.LookPath] if mcprun is not installed.
func (o *learnOptions) mcprun(ctx context.Context, args ...string) ([]byte, error) {
	path, err := findMcprun()
	if err != nil {
		return nil, err
	}
	var flags []string
	for _, name := range o.place.configs {
		flags = append(flags, "--config", name)
	}
	if o.state != "" {
		flags = append(flags, "--state", o.state)
	}
	if o.place.trusted {
		flags = append(flags, "--trust-config")
	}
	n := 2 // the command's words
	cmd := exec.CommandContext(ctx, path, slices.Concat(args[:n], flags, args[n:])...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = o.app.Dir, o.app.Stdin, o.app.Stderr // it may ask whether the configuration is trusted
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code := exit.Usage
		if failed.ExitCode() == exit.Refused || failed.ExitCode() == exit.Interrupted {
			code = failed.ExitCode()
		}
		return nil, cli.Quiet(code) // it has said why
	}
	return out, err
}

// findMcprun finds mcprun beside this program, else in PATH.
func findMcprun() (string, error) {
	name := "mcprun"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return exec.LookPath(name)
}

// forgetRuns drops what runs have kept about a tool.
func (o *learnOptions) forgetRuns(ctx context.Context, tool learn.Tool) error {
	_, err := o.mcprun(ctx, "shapes", "forget", "--", tool.Server, tool.Name)
	if errors.Is(err, exec.ErrNotFound) { // then nothing has run here
		return nil
	}
	return err
}

// shapes returns what runs have kept.
func (o *learnOptions) shapes(ctx context.Context, cfg *config.Config) ([]learn.Proposal, error) {
	text, err := o.mcprun(ctx, "shapes", "list", "--json")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, cli.WithHint(errors.New("mcprun, which keeps the shapes of results, is neither beside mcpgen nor in PATH"), "install it, and run scripts")
	}
	if err != nil {
		return nil, err
	}
	kept := learn.NewTraffic()
	if err := json.Unmarshal(text, kept); err != nil {
		return nil, fmt.Errorf("read the shapes of results from mcprun: %w", err)
	}
	if found := kept.Proposals(); len(found) > 0 {
		return found, nil
	}
	hint := "write learn: traffic into " + config.SettingsName + ", and run scripts that call the tools"
	if cfg.Settings.Learn == config.LearnTraffic {
		hint = "run scripts that call tools without a declared output: the shapes of their results are kept then"
	}
	return nil, &gen.Error{Message: "no run of this project has kept shapes of results", Remedy: hint, Code: exit.Usage}
}

// learnedJSON is the output of learn --json for several tools, one object per tool.
type learnedJSON struct {
	learnJSON
	Changed bool   `json:"changed"`
	Skipped string `json:"skipped,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// printAll prints what was learned of several tools: those with a new type, and the others grouped by the reason.
func (o *learnOptions) printAll(r *gen.LearnedTools) error {
	written := r.Sync != nil && r.Sync.Written
	if o.json {
		for _, l := range r.Tools {
			out := learnedJSON{learnJSON: learnJSON{Tool: l.Tool, Written: written && l.Changed()}, Changed: l.Changed(), Skipped: l.Skipped, Detail: l.Detail}
			if l.After != nil {
				out.Replies, out.Text, out.Schema = l.After.Replies, l.After.JSON, l.After.Schema
			}
			if err := o.app.JSON(out); err != nil {
				return err
			}
		}
		return nil
	}
	var b bytes.Buffer
	var changed, same []string
	var reasons []string // in the order of their first use
	skipped := map[string][]string{}
	for _, l := range r.Tools {
		name := cli.EscapeLine(l.Tool)
		switch {
		case l.Changed():
			changed = append(changed, name)
		case l.After != nil:
			same = append(same, name)
		default:
			if !slices.Contains(reasons, l.Skipped) {
				reasons = append(reasons, l.Skipped)
			}
			if l.Detail != "" {
				name += " (" + clipped(cli.EscapeLine(l.Detail)) + ")"
			}
			skipped[l.Skipped] = append(skipped[l.Skipped], name)
		}
	}
	verb := "typed"
	if !written {
		verb = "would type"
	}
	fmt.Fprintf(&b, "%s %s", verb, cli.Count(len(changed), "tool"))
	if len(changed) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(changed, ", "))
	}
	fmt.Fprintln(&b)
	if len(same) > 0 {
		fmt.Fprintf(&b, "  %s as before: %s\n", cli.Count(len(same), "tool"), strings.Join(same, ", "))
	}
	for _, why := range reasons {
		fmt.Fprintf(&b, "  skipped %s, because %s: %s\n", cli.Count(len(skipped[why]), "tool"), why, strings.Join(skipped[why], ", "))
	}
	if o.dryRun {
		fmt.Fprintln(&b, "nothing was written (--dry-run)")
	}
	if _, err := o.app.Stdout.Write(b.Bytes()); err != nil || !written {
		return err
	}
	var ids []string
	for _, l := range r.Changed() {
		ids = append(ids, l.Tool)
	}
	return o.mark(r.Sync, ids)
}

// clipped shortens a detail to one that fits into a list.
func clipped(text string) string {
	return ident.Clip(text, 200)
}

// mark names the saved skills that use tools whose types have just been learned.
func (o *learnOptions) mark(r *gen.Report, ids []string) error {
	dir, _ := folderOf("skills", o.app, o.place, r)
	if dir == "" {
		return nil
	}
	store, err := skill.Open([]skill.Dir{{Path: dir}}, &skill.Options{Tree: r.Out})
	if err != nil {
		return nil // the tree is written, and skills are not what was asked for
	}
	all, err := store.List()
	if err != nil {
		return nil
	}
	for _, k := range all {
		var uses []string
		for _, t := range k.Tools {
			if slices.Contains(ids, t.ID) {
				uses = append(uses, t.ID)
			}
		}
		if len(uses) > 0 {
			fmt.Fprintf(o.app.Stderr, "skill %s uses %s: to check its types, run `mcprun skill check %s`\n", cli.EscapeLine(k.Name), cli.EscapeLine(strings.Join(uses, ", ")), cli.EscapeLine(k.Name))
		}
	}
	return nil
}
