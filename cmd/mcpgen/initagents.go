package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/guide"
)

// usualAgentFiles stands for AGENTS.md, and CLAUDE.md if it exists.
const usualAgentFiles = "usual"

// tellAgents writes the paragraph for agents into the files that were asked for, and updates it in files that already have it. If
// no file has it, tellAgents offers to write it.
func (o *initOptions) tellAgents(p project) error {
	dir := p.dir
	tree, err := o.treeName(dir)
	if err != nil {
		return err
	}
	paragraph := guide.Paragraph(tree)
	asked := map[string]bool{}
	var files []string
	add := func(path string, wanted bool) {
		if !asked[path] {
			files = append(files, path)
		}
		asked[path] = asked[path] || wanted
	}
	for _, name := range o.agents {
		switch {
		case name == usualAgentFiles:
			add(filepath.Join(dir, "AGENTS.md"), true)
			claude := filepath.Join(dir, "CLAUDE.md")
			if text, err := readIfThere(claude); err == nil && text != nil && !refersToAgents(text) {
				add(claude, true)
			}
		default:
			if err := gen.CheckOutput(gen.Options{Dir: dir, Configs: o.app.Configs(nil)}, o.app.Path(name)); err != nil {
				return &cli.UsageError{Err: fmt.Errorf("--agents-md: %w", err), Command: "mcpgen init"}
			}
			add(o.app.Path(name), true)
		}
	}
	add(filepath.Join(dir, "AGENTS.md"), false)
	add(filepath.Join(dir, "CLAUDE.md"), false)
	told := false
	for _, file := range files {
		has, err := o.tell(file, paragraph, asked[file])
		if err != nil {
			return err
		}
		told = told || has
	}
	if !told {
		o.say("\nTo tell agents about the tree in AGENTS.md: mcpgen init --agents-md")
	}
	return nil
}

// tell brings one file up to date and reports whether it has the paragraph.
func (o *initOptions) tell(file, paragraph string, asked bool) (bool, error) {
	text, err := readIfThere(file)
	if err != nil {
		return false, fmt.Errorf("read the file for agents: %w", err)
	}
	updated, found, err := guide.Update(string(text), paragraph)
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", o.name(file), err)
	case !found && !asked:
		return false, nil
	case updated != string(text):
		return true, o.put(file, []byte(updated), text != nil)
	case asked:
		o.say("%s tells agents of the tree already", o.name(file))
	}
	return true, nil
}

// refersToAgents reports whether a CLAUDE.md imports AGENTS.md, so that it needs no paragraph of its own.
func refersToAgents(text []byte) bool {
	return regexp.MustCompile(`(?m)(^|\s)@(\./)?AGENTS\.md\b`).Match(text)
}

// treeName is the tree's folder as the project refers to it.
func (o *initOptions) treeName(dir string) (string, error) {
	at, err := config.Locate(dir, o.app.Configs(nil))
	if errors.Is(err, fs.ErrNotExist) { // with --dry-run it may not exist yet
		return config.DefaultOut, nil
	}
	if err != nil {
		return "", err
	}
	cfg, err := at.Load()
	if o.dryRun && err != nil {
		return config.DefaultOut, nil
	}
	if err != nil {
		return "", err
	}
	out := cfg.Settings.Out
	if filepath.IsAbs(out) {
		if rel, err := filepath.Rel(dir, out); err == nil {
			out = rel
		}
	}
	return filepath.ToSlash(filepath.Clean(out)), nil
}
