package skill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// maxScripts bounds how many scripts of one skill are looked into.
const maxScripts = 32

// findings are what looking into the scripts of a skill gives.
type findings struct {
	tools     []Tool   // that they use, with the digests of now
	skills    []string // that they import
	reasons   []Reason // for which it cannot work
	warnings  []string
	types     []string // type errors, one line each, at most maxDetails
	moreTypes int
	unchecked error // why types were not checked; nil: they were, or nobody asked
	// lacking are what there is to say of checkers that are not there, by program.
	lacking map[string]string
}

// inspect looks into the scripts of a skill without running them. Dir is where its files lie, and empty for a skill in the
// program itself; skills is the folder that ./skills means.
func (s *Store) inspect(ctx context.Context, name string, c *content, dir, skills string) (*findings, error) {
	i := &inspector{store: s, name: name, opt: script.Options{Tree: s.opt.Tree, Skills: skills}, found: &findings{}, ids: map[string]bool{}}
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		all := c.scripts(lang)
		for n, file := range all[:min(len(all), maxScripts)] {
			src := script.Source{Name: file, Code: string(c.files[file]), Language: lang, Dir: dir}
			if err := i.script(ctx, src, n == 0 || mainOf(c, lang) == ""); err != nil {
				return nil, err
			}
		}
		if len(all) > maxScripts {
			i.found.warnings = append(i.found.warnings, fmt.Sprintf("it has %d scripts in %s; only %d were checked", len(all), lang, maxScripts))
		}
	}
	i.tools()
	return i.found, nil
}

// hurry bounds the check of the types of what a script or an agent saves, who may have written it to take long.
const hurry = 20 * time.Second

// hurried is the store with a check of types that ends soon.
func (s *Store) hurried() *Store {
	h := &Store{dirs: s.dirs, opt: s.opt, log: s.log, tools: s.tools}
	if whole := s.opt.Check; whole != nil {
		h.opt.Check = func(ctx context.Context, src script.Source) ([]check.Problem, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, hurry, fmt.Errorf("it was not done after %v", hurry))
			defer cancel()
			return whole(ctx, src)
		}
	}
	return h
}

type inspector struct {
	store *Store
	name  string
	opt   script.Options
	found *findings
	ids   map[string]bool
}

// script looks into one script. Whole: as one that is imported, which checks what it imports too.
func (i *inspector) script(ctx context.Context, src script.Source, whole bool) error {
	var bad *script.Error
	used, err := script.Uses(ctx, src, i.opt)
	if errors.As(err, &bad) {
		i.problems(bad)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into %s of skill %q: %w", src.Name, i.name, err)
	}
	i.used(src, used)
	if !whole {
		return nil
	}
	_, err = i.store.opt.Scripts.Prepare(ctx, src, i.opt)
	if errors.As(err, &bad) {
		i.problems(bad)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into %s of skill %q: %w", src.Name, i.name, err)
	}
	return i.types(ctx, src)
}

// problems takes in what keeps a script from being put together.
func (i *inspector) problems(e *script.Error) {
	r := Reason{Kind: KindScript, Fatal: true, Text: oneLine(fmt.Sprintf("%s: %s", e.Problems[0].File, e.Problems[0].Text), 500)}
	if e.Problems[0].Line > 0 {
		r.Text = oneLine(fmt.Sprintf("%s:%d: %s", e.Problems[0].File, e.Problems[0].Line, e.Problems[0].Text), 500)
	}
	for _, p := range e.Problems[:min(len(e.Problems), maxDetails)] {
		r.Details = append(r.Details, oneLine(fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text), 300))
	}
	i.found.reasons = append(i.found.reasons, r)
}

// used takes in what a script refers to.
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
		r.Text = fmt.Sprintf("%s calls %q, and there is no such tool", src.Name, r.Tool)
		if near := t.near(id); len(near) > 0 {
			r.Text += "; did you mean " + near[0] + "?"
		}
		i.found.reasons = append(i.found.reasons, r)
	}
	for _, m := range used.Missing {
		text := fmt.Sprintf("%s:%d: there is no %s in the tree", m.File, m.Line, oneLine(m.Name, 200))
		i.found.reasons = append(i.found.reasons, Reason{Kind: KindScript, Fatal: true, Text: text})
	}
}

// tools gives the tools that were found their digests.
func (i *inspector) tools() {
	for _, id := range slices.Sorted(maps.Keys(i.ids)) {
		i.found.tools = append(i.found.tools, Tool{ID: id, Digest: i.store.tools.digests[id]})
	}
}

// types checks the types of a script and of what it imports.
func (i *inspector) types(ctx context.Context, src script.Source) error {
	if i.store.opt.Check == nil || src.Dir == "" {
		return nil
	}
	problems, err := i.store.opt.Check(ctx, src)
	var missing *check.MissingError
	switch {
	case errors.As(err, &missing):
		i.found.unchecked = err
		if i.found.lacking == nil {
			i.found.lacking = map[string]string{}
		}
		i.found.lacking[missing.Program] = fmt.Sprintf("the types of %s were not checked: %v; %s", src.Name, missing, missing.Hint())
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		i.found.unchecked = err
		i.found.warnings = append(i.found.warnings, oneLine(fmt.Sprintf("the types of %s were not checked: %v", src.Name, err), 500))
		return nil
	}
	for _, p := range problems {
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
