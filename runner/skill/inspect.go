package skill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// maxScripts limits how many scripts of one skill are inspected.
const maxScripts = 32

// findings is the result of inspecting the scripts of a skill.
type findings struct {
	tools     []Tool   // the tools they use, with their current digests
	skills    []string // the skills they import
	reasons   []Reason // why the skill cannot work
	warnings  []string
	types     []string // type errors, one line each, at most maxDetails
	moreTypes int
	unchecked error            // why types were not checked; nil if they were, or need not be
	problems  []script.Problem // the reasons and type errors, with their places
}

// inspect inspects the scripts of a skill without running them. dir is the folder of its files, or "" for a skill in the
// program itself; skills is the folder that ./skills means. If check is nil, types are not checked.
func (s *Store) inspect(ctx context.Context, name string, c *content, dir, skills string, check TypeCheck) (*findings, error) {
	i := &inspector{store: s, check: check, name: name, opt: script.Options{Tree: s.opt.Tree, Skills: skills}, found: &findings{}, ids: map[string]bool{}}
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		all := c.scripts(lang)
		for n, file := range all[:min(len(all), maxScripts)] {
			src := script.Source{Name: file, Code: string(c.files[file]), Language: lang, Dir: dir}
			if err := i.script(ctx, src, n == 0 || mainOf(c, lang) == ""); err != nil {
				return nil, fmt.Errorf("inspect %s of skill %q: %w", src.Name, i.name, err)
			}
		}
		if len(all) > maxScripts {
			i.found.warnings = append(i.found.warnings, fmt.Sprintf("it has %d scripts in %s; only %d were checked", len(all), lang, maxScripts))
		}
	}
	i.tools()
	return i.found, nil
}

// Inspected is what is known of a script that is not a skill.
type Inspected struct {
	Tools []string // the ids of the tools that it uses, sorted
	// Problems are why it cannot work, its type errors and broken skills included.
	Problems []script.Problem
	// Unchecked is why its types were not checked. Nil if they were, or need not be.
	Unchecked error
}

// Inspect inspects a script that is not a skill, as Check does those of skills, without running it. In the options, Skills is the folder that
// ./skills means. types says whether the types are checked.
func (s *Store) Inspect(ctx context.Context, src script.Source, opt script.Options, types bool) (*Inspected, error) {
	i := &inspector{store: s, opt: opt, found: &findings{}, ids: map[string]bool{}}
	if types {
		i.check = s.opt.Check
	}
	if err := i.script(ctx, src, true); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", src.Name, err)
	}
	all, err := s.Used(i.found.skills)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.Broken {
			i.problem(src.Name, 0, 0, fmt.Sprintf("the skill %s that it uses is broken: %s", k.Name, oneLine(k.Reason(), 500)))
		}
	}
	if missing, ok := errors.AsType[*check.MissingError](i.found.unchecked); ok { // the same for all scripts
		i.found.unchecked = fmt.Errorf("types were not checked: %w; %s", missing, missing.Hint())
	}
	return &Inspected{slices.Sorted(maps.Keys(i.ids)), i.found.problems, i.found.unchecked}, nil
}

// savedCheckTime limits the type check of a skill that a script or an agent saves, which may be written to take long.
const savedCheckTime = 20 * time.Second

// TypeCheck finds the type errors of a script, as [check.Run] does.
type TypeCheck = func(context.Context, script.Source) ([]check.Problem, error)

// withTimeout returns a type check that ends after savedCheckTime.
func withTimeout(run TypeCheck) TypeCheck {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, src script.Source) ([]check.Problem, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, savedCheckTime, fmt.Errorf("it did not end within %v", savedCheckTime))
		defer cancel()
		return run(ctx, src)
	}
}

type inspector struct {
	store *Store
	check TypeCheck
	name  string
	opt   script.Options
	found *findings
	ids   map[string]bool
}

// script inspects one script. If entry is set, it reports why it cannot be bundled and checks its types, which includes what
// it imports.
func (i *inspector) script(ctx context.Context, src script.Source, entry bool) error {
	program, err := i.store.opt.Scripts.Read(ctx, src, i.opt)
	bad, _ := errors.AsType[*script.Error](err)
	if err != nil && bad == nil {
		return err
	}
	if program != nil {
		i.used(src, program.Uses)
	}
	switch {
	case bad != nil && (entry || program == nil):
		i.problems(bad)
	case entry:
		return i.types(ctx, src)
	}
	return nil
}

func (i *inspector) problem(file string, line, column int, text string) {
	i.found.problems = append(i.found.problems, script.Problem{File: file, Line: line, Column: column, Text: oneLine(text, 500)})
}

// problems adds why a script cannot be bundled.
func (i *inspector) problems(e *script.Error) {
	i.found.problems = append(i.found.problems, e.Problems...)
	r := Reason{Kind: KindScript, Fatal: true, Text: oneLine(fmt.Sprintf("%s: %s", e.Problems[0].File, e.Problems[0].Text), 500)}
	if e.Problems[0].Line > 0 {
		r.Text = oneLine(fmt.Sprintf("%s:%d: %s", e.Problems[0].File, e.Problems[0].Line, e.Problems[0].Text), 500)
	}
	for _, p := range e.Problems[:min(len(e.Problems), maxDetails)] {
		r.Details = append(r.Details, oneLine(fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text), 300))
	}
	i.found.reasons = append(i.found.reasons, r)
}

// used adds what a script imports and calls.
func (i *inspector) used(src script.Source, used *script.Used) {
	t := i.store.tools
	for _, name := range used.Skills {
		if written := canonical(name); written != i.name && !slices.Contains(i.found.skills, written) {
			i.found.skills = append(i.found.skills, written)
		}
	}
	slices.Sort(i.found.skills)
	if t == nil {
		return
	}
	for _, file := range used.Wrappers {
		if id, ok := t.wrappers[file]; ok {
			i.ids[id] = true
		}
	}
	for _, id := range used.Tools {
		if _, ok := t.digests[id]; ok {
			i.ids[id] = true
			continue
		}
		r := i.store.removed(id)
		r.Text = fmt.Sprintf("%s calls %q, which does not exist", src.Name, r.Tool)
		if near := t.near(id); len(near) > 0 {
			r.Text += "; did you mean " + near[0] + "?"
		}
		i.found.reasons = append(i.found.reasons, r)
		i.problem(src.Name, 0, 0, strings.TrimPrefix(r.Text, src.Name+" "))
	}
	for _, m := range used.Missing {
		text := fmt.Sprintf("there is no %s in the tree", oneLine(m.Name, 200))
		i.found.reasons = append(i.found.reasons, Reason{Kind: KindScript, Fatal: true, Text: fmt.Sprintf("%s:%d: %s", m.File, m.Line, text)})
		i.problem(m.File, m.Line, 0, text)
	}
}

// tools adds the tools that were found, with their digests.
func (i *inspector) tools() {
	for _, id := range slices.Sorted(maps.Keys(i.ids)) {
		i.found.tools = append(i.found.tools, Tool{ID: id, Digest: i.store.tools.digests[id], Learned: i.store.tools.learned[id]})
	}
}

// types checks the types of a script and of what it imports.
func (i *inspector) types(ctx context.Context, src script.Source) error {
	if i.check == nil || src.Dir == "" {
		return nil
	}
	problems, err := i.check(ctx, src)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		i.found.unchecked = fmt.Errorf("the types of %s were not checked: %w", src.Name, err)
		return nil
	}
	for _, p := range problems {
		i.problem(p.File, p.Line, p.Column, p.Text)
		if len(i.found.types) == maxDetails {
			i.found.moreTypes++
			continue
		}
		line := oneLine(fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text), 300)
		i.found.types = append(i.found.types, line)
		i.found.warnings = append(i.found.warnings, line)
	}
	return nil
}
