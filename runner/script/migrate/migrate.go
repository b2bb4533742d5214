// Package migrate adapts scripts to tools that have changed: tools, members and values of enums with another name, and new required
// members that have a default. Start with [Run].
//
// Only calls of generated functions are touched, and calls by id. Renames are recognised by what stays the same: a tool's schemas and
// description, a member's schema and its description or the words of its name. What a call passes is followed where it is written down: literals, and
// constants that are used once. Anything else is left, and reported with its place; so is each name of a member that a tool's output has no
// more, if the type check does not report it: values without a type hide it. All files are checked with the type checker, in a
// copy of their folders, and only those that pass are returned as changed.
package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Options configure [Run].
type Options struct {
	// Before and After are the tree as it was and as it is.
	Before, After Tree
	// Scripts are the absolute paths of files. Other files beside them that they import are not changed unless they are listed too.
	Scripts []string
	// Skills is the absolute folder of skills, all of whose scripts are adapted. Empty: none.
	Skills string
	// Check configures the type check. Tree is the tree as it is.
	Check check.Options
	// Python is a Python interpreter, which parses and runs nothing. Empty: Python files are left.
	Python string
}

// Changed is a file that was adapted and passed the type check.
type Changed struct {
	Path          string // absolute
	Skill         string // the name of the skill that it is part of, or empty
	Before, After string
}

// Diff returns the change as a unified diff, of a file that is called name in it.
func (c Changed) Diff(name string) []byte {
	_, hunks, _ := bytes.Cut(diff.Diff("a/"+name, []byte(c.Before), "b/"+name, []byte(c.After)), []byte("\n")) // the first line repeats the names
	return hunks
}

// Left is something that a person has to look at.
type Left struct {
	File string `json:"file"` // absolute
	Line int    `json:"line"` // from 1; zero when it is about the file
	Text string `json:"text"`
}

// Report is the result of [Run].
type Report struct {
	Changed []Changed
	Left    []Left
	// Unchanged is the number of files that need no change.
	Unchanged int
}

// Bounds of what is read.
const (
	maxFile   = 1 << 20
	maxFiles  = 5_000
	maxCopied = 64 << 20
)

// Run adapts scripts. It writes none of them.
func Run(ctx context.Context, opt Options) (*Report, error) {
	m := &migration{opt: opt, tools: changes(opt.Before, opt.After), report: &Report{}}
	if len(m.tools) == 0 {
		return m.report, nil
	}
	paths := slices.Clone(opt.Scripts)
	if opt.Skills != "" {
		found, err := scripts(opt.Skills)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if err := m.read(ctx, path); err != nil {
			return nil, err
		}
	}
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(m.report.Left, func(a, b Left) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	m.report.Left = slices.Compact(m.report.Left)
	return m.report, nil
}

type migration struct {
	opt    Options
	tools  []*tool
	files  []*candidate
	report *Report
}

// candidate is a file that calls a tool which has changed.
type candidate struct {
	Changed
	language sandbox.Language
	root     string // the folder that is copied for the type check
	refused  bool
	mentions []Left // of members that are gone
}

// scripts returns the scripts of skills.
func scripts(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && skipped(d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular() && sandbox.LanguageOf(path) != "" && len(out) < maxFiles:
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the scripts of skills: %w", err)
	}
	return out, nil
}

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || dir == "node_modules" || dir == "__pycache__"
}

var mentionsTools = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bservers\b|\bcallMCPTool\b|\bcall_mcp_tool\b`)
})

// read rewrites one file in memory.
func (m *migration) read(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read a script: %w", err)
	}
	language := sandbox.LanguageOf(path)
	if !info.Mode().IsRegular() || info.Size() > maxFile || language == "" {
		m.leave(path, 0, "not changed: only TypeScript, JavaScript and Python files of up to 1 MiB are adapted")
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a script: %w", err)
	}
	mark, text := "", string(raw)
	if strings.HasPrefix(text, "\ufeff") {
		mark, text = text[:3], text[3:]
	}
	if !mentionsTools().MatchString(text) {
		m.report.Unchanged++
		return nil
	}
	var found *source
	if language == sandbox.LangPython {
		found, err = readPython(ctx, m.opt.Python, text)
	} else {
		found, err = readTypeScript(path, text)
	}
	if err != nil {
		m.leave(path, 0, err.Error())
		return nil
	}
	f := &rewriter{source: found, name: path, lang: string(language), tools: m.tools}
	f.rewrite()
	now, ok := apply(text, f.edits)
	if !ok {
		m.leave(path, 0, "not changed: the edits overlap; adapt it by hand")
		return nil
	}
	m.report.Left = append(m.report.Left, f.left...)
	if !f.concerned {
		m.report.Unchanged++
		return nil
	}
	c := &candidate{Changed: Changed{Path: path, Before: mark + text, After: mark + now}, language: language, root: filepath.Dir(path)}
	if rel, err := filepath.Rel(m.opt.Skills, path); err == nil && m.opt.Skills != "" && filepath.IsLocal(rel) {
		c.root = m.opt.Skills
		c.Skill, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	}
	c.mentions = f.gone()
	m.files = append(m.files, c)
	return nil
}

func (m *migration) leave(path string, line int, text string) {
	m.report.Left = append(m.report.Left, Left{File: path, Line: line, Text: text})
}

// check checks the types of all files together, in copies of their folders. A file that does not pass gets its former text, until all
// others do.
func (m *migration) check(ctx context.Context) error {
	if len(m.files) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "mcpgen-migrate-")
	if err != nil {
		return fmt.Errorf("create a folder for the type check: %w", err)
	}
	defer os.RemoveAll(dir)
	copies := map[string]string{}
	for _, root := range append([]string{m.opt.Skills}, roots(m.files)...) {
		if root == "" || copies[root] != "" {
			continue
		}
		copies[root] = filepath.Join(dir, fmt.Sprint(len(copies)))
		if err := copyScripts(root, copies[root]); err != nil {
			return err
		}
	}
	put := func(c *candidate, text string) error {
		rel, err := filepath.Rel(c.root, c.Path)
		if err == nil {
			err = os.WriteFile(filepath.Join(copies[c.root], rel), []byte(text), 0o600)
		}
		return err
	}
	for _, c := range m.files {
		if err := put(c, c.After); err != nil {
			return fmt.Errorf("copy a script: %w", err)
		}
	}
	opt := m.opt.Check
	opt.Skills = copies[m.opt.Skills]
	for again := true; again; {
		again = false
		for _, c := range m.files {
			if c.refused {
				continue
			}
			problems, err := check.Run(ctx, c.source(copies), opt)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil && len(problems) == 0 {
				continue
			}
			c.refused, again = true, c.Before != c.After
			m.refuse(c, problems, err)
			if err := put(c, c.Before); err != nil {
				return fmt.Errorf("copy a script: %w", err)
			}
		}
	}
	for _, c := range m.files {
		m.leaveMentions(c)
		switch {
		case c.refused:
		case c.Before == c.After:
			m.report.Unchanged++
		default:
			m.report.Changed = append(m.report.Changed, c.Changed)
		}
	}
	return nil
}

// leaveMentions reports where a file names a member of an output that is gone, unless the type check reports the line.
func (m *migration) leaveMentions(c *candidate) {
	lines := map[int]bool{}
	for _, l := range m.report.Left {
		lines[l.Line] = lines[l.Line] || l.File == c.Path
	}
	for _, l := range c.mentions {
		if !lines[l.Line] {
			m.report.Left = append(m.report.Left, l)
		}
	}
}

// source is a candidate as the type checker gets it: a script of a skill by its place in the skill, any other by its name.
func (c *candidate) source(copies map[string]string) script.Source {
	rel, _ := filepath.Rel(c.root, c.Path)
	src := script.Source{Name: filepath.ToSlash(rel), Code: c.After, Language: c.language, Dir: copies[c.root]}
	if c.Skill != "" {
		src.Name = strings.TrimPrefix(src.Name, c.Skill+"/")
		src.Dir = filepath.Join(copies[c.root], c.Skill)
	}
	return src
}

// refuse reports why a file did not pass the type check.
func (m *migration) refuse(c *candidate, problems []check.Problem, err error) {
	var missing *check.MissingError
	switch {
	case errors.As(err, &missing):
		m.leave(c.Path, 0, fmt.Sprintf("not changed: its types cannot be checked: %v; %s", missing, missing.Hint()))
	case err != nil:
		m.leave(c.Path, 0, fmt.Sprintf("not changed: the type check failed to run: %v", err))
	case c.Before != c.After:
		m.leave(c.Path, 0, "not changed: the adapted script would not pass the type check")
	}
	for _, p := range problems {
		at := c.Path
		if path.Base(p.File) != filepath.Base(c.Path) {
			at = filepath.Join(filepath.Dir(c.Path), filepath.FromSlash(p.File))
		}
		m.leave(at, p.Line, p.Text)
	}
}

func roots(files []*candidate) []string {
	var out []string
	for _, c := range files {
		out = append(out, c.root)
	}
	return out
}

// copyScripts copies what scripts in a folder may import.
func copyScripts(from, to string) error {
	size, count := int64(0), 0
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && (skipped(d.Name()) || d.Name() == "servers" || d.Name() == "skills") {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		info, err := d.Info()
		if err != nil || !d.Type().IsRegular() || sandbox.LanguageOf(at) == "" && !strings.HasSuffix(at, ".d.ts") && filepath.Ext(at) != ".json" && d.Name() != "SKILL.md" || info.Size() > maxFile {
			return err
		}
		if size, count = size+info.Size(), count+1; count > maxFiles || size > maxCopied {
			return fs.SkipAll // what is missing shows in the type check
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
}
