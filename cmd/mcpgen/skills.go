package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/checkers"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/syncview"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workflow/folder"
)

// brokenJSON is a saved skill or a workflow that is broken, or would be after a sync.
type brokenJSON struct {
	Name    string         `json:"name"`
	Fatal   bool           `json:"fatal"` // it cannot work
	Reasons []skill.Reason `json:"reasons"`
}

// skillReport is the state of the project's saved skills and workflows.
type skillReport struct {
	skills, workflows []brokenJSON
	warnings          []string
}

// checkSkills checks the skills and workflows beside the configuration against the tree as it is after the sync. If nothing was written,
// it also counts tools that a server has changed, so that it reports those that would break. Problems here do not change the exit code: a
// tree can be in sync while a skill is not.
func (o *syncOptions) checkSkills(ctx context.Context, r *gen.Report) *skillReport {
	dir, settings := folderOf("skills", o.app, o.place, r)
	workflows, _ := folderOf("workflows", o.app, o.place, r)
	if dir == "" && workflows == "" {
		return nil
	}
	out := &skillReport{}
	// Agents save skills, so their scripts are bundled in a separate process.
	bundler := script.NewBundler(&script.BundlerOptions{})
	defer bundler.Close()
	checker := skill.Checker(typeChecks(o.app, r, settings, dir, filepath.Dir(cmp.Or(dir, workflows))))
	if o.offline && !o.agreed() { // a sync that asks servers has asked the person first
		checker = nil
		out.warnings = append(out.warnings, "skills and workflows: types were not checked, which starts programs of the project: nobody has trusted its configuration, see \"mcpgen trust --help\"")
	}
	var dirs []skill.Dir
	if dir != "" {
		dirs = append(dirs, skill.Dir{Path: dir, Writable: !o.check && !o.diff})
	}
	store, err := skill.Open(dirs, &skill.Options{
		Tree: r.Out, Scripts: bundler, Check: checker,
	})
	if err == nil && dir != "" {
		var report *skill.Report
		if report, err = store.Check(ctx); err == nil {
			for _, w := range report.Warnings {
				out.warnings = append(out.warnings, "skills: "+w)
			}
			for _, k := range report.Skills {
				var used []string
				for _, t := range k.Tools {
					used = append(used, t.ID)
				}
				add(&out.skills, k.Name, k.Reasons, used, r)
			}
		}
	}
	if err == nil && workflows != "" {
		reading := script.Options{Tree: r.Out, Skills: dir}
		err = out.checkWorkflows(ctx, &folder.Checker{Skills: store, Bundler: bundler, Reading: func() (script.Options, error) { return reading, nil }}, workflows, r)
	}
	if err != nil {
		if _, missing := os.Stat(filepath.Join(r.Out, ".mcpgen", "lock.json")); missing != nil {
			return nil // there is no tree to check against
		}
		out.warnings = append(out.warnings, fmt.Sprintf("skills and workflows were not checked: %v", err))
	}
	return out
}

// checkWorkflows adds the workflows of a folder that are broken, or would be.
func (s *skillReport) checkWorkflows(ctx context.Context, c *folder.Checker, dir string, r *gen.Report) (err error) {
	if c.Tree, err = gen.Open(gen.Options{Out: r.Out}); err != nil {
		return err
	}
	all, err := folder.List(dir, filepath.Base(dir))
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := c.Check(ctx, f); err != nil {
			return err
		}
		var reasons []skill.Reason
		for _, p := range f.Problems {
			reasons = append(reasons, skill.Reason{Kind: skill.KindScript, Fatal: true, Text: p.String()})
		}
		add(&s.workflows, f.Name, reasons, f.Tools, r)
		if _, missing := errors.AsType[*check.MissingError](f.Unchecked); f.Unchecked != nil && !missing {
			s.warnings = append(s.warnings, "workflows: "+f.Unchecked.Error())
		}
	}
	return nil
}

// agreed reports whether the configuration may be used without a question.
func (o *syncOptions) agreed() bool {
	cfg, err := gen.LoadConfig(o.place.options(o.app))
	return err == nil && o.place.gate(o.app).Agreed(cfg)
}

// json returns the broken skills and workflows for the report, and nil for those of which no one is broken.
func (s *skillReport) json() (skills, workflows any) {
	if s != nil && len(s.skills) > 0 {
		skills = s.skills
	}
	if s != nil && len(s.workflows) > 0 {
		workflows = s.workflows
	}
	return skills, workflows
}

// add notes a skill or workflow if it is broken, or would be.
func add(broken *[]brokenJSON, name string, reasons []skill.Reason, tools []string, r *gen.Report) {
	reasons = slices.Clone(reasons)
	if !r.Written {
		for _, c := range r.Changes {
			id := cmp.Or(c.OldID, c.ID) // what the script calls it
			used := slices.ContainsFunc(tools, func(tool string) bool { return tool == id || c.ID == "" && strings.HasPrefix(tool, c.Dir+"__") })
			gone := c.Kind == diff.ToolRemoved || c.Kind == diff.ToolRenamed || c.Kind == diff.ServerRemoved
			told := slices.ContainsFunc(reasons, func(x skill.Reason) bool { return x.Tool == id && (x.Fatal || !gone) })
			if !used || told || c.Verdict == diff.Harmless {
				continue
			}
			reason := skill.Reason{Kind: skill.KindChanged, Tool: id, Text: fmt.Sprintf("the server has changed the tool %s that it uses: %s", cmp.Or(c.ID, c.Dir), c.Kind), Details: c.Lines()}
			switch c.Kind {
			case diff.ToolRemoved:
				reason.Kind, reason.Fatal, reason.Text = skill.KindRemoved, true, fmt.Sprintf("the server no longer has the tool %s that it uses", c.ID)
			case diff.ToolRenamed:
				reason.Kind, reason.Fatal, reason.Text = skill.KindRemoved, true, fmt.Sprintf("the server has renamed the tool %s that it uses to %s", id, c.Tool)
			case diff.ServerRemoved:
				reason.Kind, reason.Fatal, reason.Text = skill.KindRemoved, true, fmt.Sprintf("the server %s that it uses is no longer configured", c.Dir)
			case diff.ServerText:
				continue
			}
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 0 {
		*broken = append(*broken, brokenJSON{Name: name, Reasons: reasons, Fatal: slices.ContainsFunc(reasons, func(x skill.Reason) bool { return x.Fatal })})
	}
}

// folderOf returns a folder of the project by its key below run:, by default beside the configuration. It returns "" if it does not exist.
func folderOf(key string, app *cli.App, place placeFlags, r *gen.Report) (string, config.Settings) {
	var settings config.Settings
	base := filepath.Dir(r.Config)
	if cfg, err := gen.LoadConfig(place.options(app)); err == nil { // it could be read a moment ago
		base, settings = cfg.Dir, cfg.Settings
	}
	dir := cmp.Or(app.Env("MCPRUN_"+strings.ToUpper(key)), settings.Run[key].Value, key)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", settings
	}
	return dir, settings
}

// typeChecks returns how types are checked: by the programs that the settings name, else by those that are found.
func typeChecks(app *cli.App, r *gen.Report, settings config.Settings, skills, base string) check.Options {
	places := checkers.Places(app, base)
	places.Dir = places.Project
	places.TSC = cmp.Or(app.Env("MCPRUN_TSC"), settings.Run["tsc"].Value)
	places.Pyright = cmp.Or(app.Env("MCPRUN_PYRIGHT"), settings.Run["pyright"].Value)
	return check.Options{Tree: r.Out, Skills: skills, Places: places}
}

// print writes it to standard error, as other warnings.
func (s *skillReport) print(app *cli.App) {
	if s == nil {
		return
	}
	style := app.ErrStyle()
	say := func(label, text string) {
		_, _ = fmt.Fprintf(app.Stderr, "%s %s\n", label, syncview.Disarm(text))
	}
	for _, kind := range []struct {
		name string
		all  []brokenJSON
	}{{"skill", s.skills}, {"workflow", s.workflows}} {
		for _, k := range kind.all {
			label := style.Yellow("warning:")
			if k.Fatal {
				label = style.Red("broken:")
			}
			for _, r := range k.Reasons {
				text := r.Text
				if !strings.HasPrefix(text, k.Name+":") { // else it begins with the place
					text = k.Name + ": " + text
				}
				say(label, kind.name+" "+cli.EscapeLine(text))
				for _, d := range r.Details {
					say("  ", style.Dim(cli.EscapeLine(d)))
				}
			}
		}
	}
	for _, w := range s.warnings {
		say(style.Yellow("warning:"), cli.EscapeLine(w))
	}
	if len(s.skills) > 0 {
		say(style.Bold("hint:"), "fix each skill, then run `mcprun skill save NAME`, which also accepts that its tools have changed")
	}
	if len(s.workflows) > 0 {
		say(style.Bold("hint:"), "fix each workflow; `mcprun workflow check` says what is left")
	}
}
