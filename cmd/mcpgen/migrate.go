package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/syncview"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/script/migrate"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// migration adapts scripts and skills to what a sync changed.
type migration struct {
	o       *syncOptions
	before  migrate.Tree
	scripts []string
	report  *migrate.Report
	accept  []string // warnings about skills that could not be saved
}

// migrationJSON is the migration as the report has it.
type migrationJSON struct {
	Changed []string       `json:"changed"`
	Left    []migrate.Left `json:"left"`
}

// openMigration reads the tree as it is before the sync, or the tree that --from names, and finds the scripts.
func (o *syncOptions) openMigration(patterns []string) (*migration, error) {
	m := &migration{o: o}
	dir := o.app.Path(o.from)
	if o.from == "" {
		out, err := gen.Out(o.place.options(o.app))
		if err != nil {
			return nil, err
		}
		dir = out
	}
	var err error
	if m.before, err = migrate.Load(dir); err != nil {
		return nil, &gen.Error{Message: fmt.Sprintf("--migrate compares with the tree as it was: %v", err), Remedy: "run it where the tree is, or name a former one with --from", Code: exit.Usage}
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(o.app.Path(pattern))
		if err != nil || len(found) == 0 {
			return nil, &gen.Error{Message: fmt.Sprintf("there is no script %q", pattern), Remedy: "name files, or give a pattern such as 'scripts/*.ts'", Code: exit.Usage}
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				m.scripts = append(m.scripts, path)
			}
		}
	}
	return m, nil
}

// run adapts the scripts to the tree that the sync wrote or would write. If the sync writes nothing, the scripts are not written either.
func (m *migration) run(ctx context.Context, opts gen.Options, r *gen.Report) error {
	dir := r.Out // the tree that the scripts are adapted to
	if !r.Written && r.Drift() {
		temp, err := os.MkdirTemp("", "mcpgen-tree-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = filepath.Join(temp, "servers")
		if err := os.CopyFS(dir, os.DirFS(r.Out)); err != nil {
			return err
		}
		opts.Out, opts.Check, opts.Diff, opts.Progress = dir, false, false, nil
		opts.Prune = func(context.Context, *gen.PruneError) (bool, error) { return true, nil }
		if _, err := gen.Sync(ctx, opts); err != nil {
			return err
		}
	}
	after, err := migrate.Load(dir)
	if err != nil {
		return err
	}
	if m.o.offline { // this starts type checkers; a sync that contacts servers has already asked for consent
		cfg, err := gen.LoadConfig(opts)
		if err != nil {
			return err
		}
		if err := opts.Consent(ctx, cfg); err != nil {
			return err
		}
	}
	skills, settings := folderOf("skills", m.o.app, m.o.place, r)
	base := skills
	if base == "" {
		base = filepath.Join(filepath.Dir(r.Config), "skills")
	}
	opt := migrate.Options{Before: m.before, After: after, Scripts: m.scripts, Skills: skills, Check: typeChecks(m.o.app, r, settings, base, filepath.Dir(base))}
	opt.Check.Tree = dir
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil && opt.Python == "" {
			opt.Python = path
		}
	}
	if m.report, err = migrate.Run(ctx, opt); err != nil || m.o.check || m.o.diff {
		return err
	}
	for _, c := range m.report.Changed {
		if err := atomicfile.Write(c.Path, []byte(c.After), 0o644); err != nil {
			return err
		}
	}
	m.acceptSkills(ctx, r.Out, skills)
	return nil
}

// acceptSkills saves the adapted skills that need no further work. Saving records their tools as they are now.
func (m *migration) acceptSkills(ctx context.Context, tree, dir string) {
	var names []string
	for _, c := range m.report.Changed {
		within := func(l migrate.Left) bool {
			return strings.HasPrefix(l.File, filepath.Join(dir, c.Skill)+string(filepath.Separator))
		}
		if c.Skill != "" && !slices.Contains(names, c.Skill) && !slices.ContainsFunc(m.report.Left, within) {
			names = append(names, c.Skill)
		}
	}
	if len(names) == 0 {
		return
	}
	store, err := skill.Open([]skill.Dir{{Path: dir, Writable: true}}, &skill.Options{Tree: tree})
	for _, name := range names {
		if err == nil {
			_, err = store.Accept(ctx, name)
		}
		if err != nil {
			m.accept = append(m.accept, fmt.Sprintf("skill %s was adapted, and not saved: %v", name, err))
		}
	}
}

// left reports whether a person has something to adapt.
func (m *migration) left() bool { return m != nil && m.report != nil && len(m.report.Left) > 0 }

func (m *migration) json() any {
	if m == nil || m.report == nil {
		return nil
	}
	out := migrationJSON{Changed: []string{}, Left: append([]migrate.Left{}, m.report.Left...)}
	for _, c := range m.report.Changed {
		out.Changed = append(out.Changed, c.Path)
	}
	return out
}

// print shows the changes of scripts as a diff, and what is left to do.
func (m *migration) print(toStdout bool) {
	if m == nil || m.report == nil {
		return
	}
	app := m.o.app
	if toStdout {
		var diffs bytes.Buffer
		for _, c := range m.report.Changed {
			diffs.Write(c.Diff(m.shown(c.Path)))
		}
		_, _ = fmt.Fprint(app.Stdout, syncview.ColourDiff(app.OutStyle(), diffs.Bytes()))
		did := "adapted"
		if m.o.check || m.o.diff {
			did = "to adapt"
		}
		_, _ = fmt.Fprintf(app.Stdout, "%s %s, %d left to you, %d unchanged\n", cli.Count(len(m.report.Changed), "script"), did, len(m.report.Left), m.report.Unchanged)
	}
	style := app.ErrStyle()
	for _, l := range m.report.Left {
		at := m.shown(l.File)
		if l.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, l.Line)
		}
		_, _ = fmt.Fprintf(app.Stderr, "%s %s\n", style.Yellow("left:"), syncview.Disarm(cli.EscapeLine(at+": "+strings.ReplaceAll(l.Text, "\n", " "))))
	}
	for _, w := range m.accept {
		_, _ = fmt.Fprintf(app.Stderr, "%s %s\n", style.Yellow("warning:"), syncview.Disarm(cli.EscapeLine(w)))
	}
}

// shown returns a path as a person would type it.
func (m *migration) shown(path string) string {
	if rel, err := filepath.Rel(m.o.app.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}
