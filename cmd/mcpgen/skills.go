package main

import (
	"cmp"
	"context"
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
)

// skillJSON is a saved skill that is broken, or would be after a sync.
type skillJSON struct {
	Name    string         `json:"name"`
	Fatal   bool           `json:"fatal"` // it cannot work
	Reasons []skill.Reason `json:"reasons"`
}

// skillReport is the state of the project's saved skills.
type skillReport struct {
	broken   []skillJSON
	warnings []string
}

// checkSkills checks the skills beside the configuration against the tree as it is after the sync. If nothing was written, it
// also counts tools that a server has changed, so that it reports skills that would break. Problems here do not change the exit
// code: a tree can be in sync while a skill is not.
func (o *syncOptions) checkSkills(ctx context.Context, r *gen.Report) *skillReport {
	dir, settings := skillsFolder(o.app, o.place, r)
	if dir == "" {
		return nil
	}
	out := &skillReport{}
	// Agents save skills, so their scripts are bundled in a separate process.
	bundler := script.NewBundler(&script.BundlerOptions{})
	defer bundler.Close()
	checker := skill.Checker(typeChecks(o.app, r, settings, dir))
	if o.offline && !o.agreed() { // a sync that asks servers has asked the person first
		checker = nil
		out.warnings = append(out.warnings, "the types of skills were not checked, which starts programs of the project: nobody has trusted its configuration, see \"mcpgen trust --help\"")
	}
	store, err := skill.Open([]skill.Dir{{Path: dir, Writable: !o.check && !o.diff}}, &skill.Options{
		Tree: r.Out, Scripts: bundler, Check: checker,
	})
	if err == nil {
		var report *skill.Report
		if report, err = store.Check(ctx); err == nil {
			out.warnings = report.Warnings
			for _, k := range report.Skills {
				out.add(k, r)
			}
		}
	}
	if err != nil {
		if _, missing := os.Stat(filepath.Join(r.Out, ".mcpgen", "lock.json")); missing != nil {
			return nil // there is no tree to check against
		}
		out.warnings = append(out.warnings, fmt.Sprintf("the skills were not checked: %v", err))
	}
	return out
}

// agreed reports whether the configuration may be used without a question.
func (o *syncOptions) agreed() bool {
	cfg, err := gen.LoadConfig(o.place.options(o.app))
	return err == nil && o.place.gate(o.app).Agreed(cfg)
}

// json returns the broken skills for the report, or nil if there are none.
func (s *skillReport) json() any {
	if s == nil || len(s.broken) == 0 {
		return nil
	}
	return s.broken
}

// add notes a skill if it is broken, or would be.
func (s *skillReport) add(k *skill.Skill, r *gen.Report) {
	reasons := slices.Clone(k.Reasons)
	if !r.Written {
		for _, c := range r.Changes {
			id := cmp.Or(c.OldID, c.ID) // what the skill calls it
			used := slices.ContainsFunc(k.Tools, func(t skill.Tool) bool { return t.ID == id || c.ID == "" && strings.HasPrefix(t.ID, c.Dir+"__") })
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
		s.broken = append(s.broken, skillJSON{Name: k.Name, Reasons: reasons, Fatal: slices.ContainsFunc(reasons, func(x skill.Reason) bool { return x.Fatal })})
	}
}

// skillsFolder returns the project's folder of skills, or "" if there is none.
func skillsFolder(app *cli.App, place placeFlags, r *gen.Report) (string, config.Settings) {
	var settings config.Settings
	base := filepath.Dir(r.Config)
	if cfg, err := gen.LoadConfig(place.options(app)); err == nil { // it could be read a moment ago
		base, settings = cfg.Dir, cfg.Settings
	}
	dir := cmp.Or(app.Env("MCPRUN_SKILLS"), settings.Run["skills"].Value, "skills")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", settings
	}
	return dir, settings
}

// typeChecks returns how types are checked: by the programs that the settings name, else by those that are found.
func typeChecks(app *cli.App, r *gen.Report, settings config.Settings, skills string) check.Options {
	places := checkers.Places(app, filepath.Dir(skills))
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
	for _, k := range s.broken {
		label := style.Yellow("warning:")
		if k.Fatal {
			label = style.Red("broken:")
		}
		for _, r := range k.Reasons {
			say(label, fmt.Sprintf("skill %s: %s", cli.EscapeLine(k.Name), cli.EscapeLine(r.Text)))
			for _, d := range r.Details {
				say("  ", style.Dim(cli.EscapeLine(d)))
			}
		}
	}
	for _, w := range s.warnings {
		say(style.Yellow("warning:"), "skills: "+cli.EscapeLine(w))
	}
	if len(s.broken) > 0 {
		say(style.Bold("hint:"), "fix each skill, then run `mcprun skill save NAME`, which also accepts that its tools have changed")
	}
}
