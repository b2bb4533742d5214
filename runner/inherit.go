package runner

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/taint"
)

// inherit taints a run with the labels of what it can read: the files of its workspace and the skills that it imports. end labels the files
// that the run wrote. Its argument is the run's result, which may be nil.
func (r *Runner) inherit(ctx context.Context, s *Script, report *judge.Report, p *policy.Policy) (end func(*Result), err error) {
	none := func(*Result) {}
	if p == nil || r.opt.Taint == "" || !p.UsesTaint(s.Calls.Subject.Customer) {
		return none, nil
	}
	if s.Calls.Known == nil {
		s.Calls.Known = &policy.Run{}
	}
	known := s.Calls.Known
	known.Subject, known.Conversation = s.Calls.Subject, s.Calls.Conversation
	from, err := r.inSkills(report)
	if err != nil {
		return none, err
	}
	if err := known.Inherit(from); err != nil || s.Workspace == "" {
		return none, err
	}
	dir, err := filepath.Abs(s.Workspace)
	if err != nil {
		return none, err
	}
	if dir = resolved(dir); within(dir, resolved(r.opt.Taint)) {
		return none, &WorkspaceError{Workspace: dir, Path: r.opt.Taint}
	}
	run, from, err := taint.Open(r.opt.Taint).Begin(ctx, dir, []string{r.opt.Tree, r.opt.Skills}, known.Taint())
	if err != nil {
		return none, err
	}
	if err := known.Inherit(from); err != nil {
		return none, err
	}
	known.Keeper = run
	return func(res *Result) {
		var files []string
		if res != nil {
			files = res.changed // includes files that another run may have written: the guest's own list is not believed here
		}
		if err := run.End(files); err != nil {
			r.log.Error("the files that the run wrote are not labelled", "error", err)
			if res != nil {
				res.Warnings = append(res.Warnings, err.Error())
			}
		}
	}, nil
}

// inSkills returns the servers whose data is in the skills that the script imports, or in all skills if it may read any of them.
func (r *Runner) inSkills(report *judge.Report) (map[string]string, error) {
	if r.opt.Skills == "" {
		return nil, nil
	}
	labels, err := skill.Taint(r.opt.Skills)
	if err != nil || len(labels) == 0 {
		return nil, err
	}
	hidden := func(file string) bool { return strings.HasPrefix(file, "skills/.") } // an earlier version
	all := report.Risk >= risk.Critical || slices.ContainsFunc(report.Files, hidden) || report.Has("skill") || report.Has("unreadable") || slices.ContainsFunc(report.Operations, func(o judge.Operation) bool {
		return strings.HasPrefix(o.Rule, "file-") && (o.Computed || strings.Contains(o.Target, "skills"))
	})
	from := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if all || slices.ContainsFunc(report.Files, func(file string) bool { return strings.HasPrefix(file, "skills/"+name+"/") }) {
			maps.Copy(from, skill.Origin(name, labels[name]))
		}
	}
	return from, nil
}
