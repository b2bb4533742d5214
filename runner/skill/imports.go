package skill

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Import returns the statement by which a script imports the skill. It is empty if the skill has no script in that
// language.
func (s *Skill) Import(lang sandbox.Language) string {
	_, code, ok := s.Main(lang)
	if !ok {
		return ""
	}
	return importOf(s.Name, code, lang)
}

// importOf returns the statement by which a script imports a skill with a main script.
func importOf(name, code string, lang sandbox.Language) string {
	names := strings.Join(namesIn(code, lang), ", ")
	module := "skills." + strings.ReplaceAll(name, "-", "_")
	switch {
	case lang == sandbox.LangPython && names == "":
		return "import " + module
	case lang == sandbox.LangPython:
		return "from " + module + " import " + names
	case names == "":
		return `import "./skills/` + name + `";`
	}
	return "import { " + names + ` } from "./skills/` + name + `";`
}

// namesIn returns the names that a script exports, at most eight.
func namesIn(code string, lang sandbox.Language) []string {
	pattern := exported
	if lang == sandbox.LangPython {
		pattern = defined
	}
	var names []string
	for _, m := range pattern.FindAllStringSubmatch(code, 50) {
		if len(names) < 8 && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Used returns the skills that a script imports, with the reasons why they are broken; names is script.Used.Skills. Used omits skills that
// do not exist, because the import itself fails then.
func (s *Store) Used(names []string) ([]*Skill, error) {
	var all []*Skill
	e := s.newEvaluation(nil)
	for _, name := range names {
		if s.Plain(name) {
			continue
		}
		k, err := s.find(canonical(name))
		if err != nil {
			return nil, err
		}
		if k == nil && kebab.MatchString(name) {
			if k, err = s.find(name); err != nil {
				return nil, err
			}
		}
		if k != nil && !slices.ContainsFunc(all, func(o *Skill) bool { return o.Name == k.Name }) {
			e.evaluate(k)
			all = append(all, k)
		}
	}
	return all, nil
}

// imported returns the folder that ./skills means in a run, which is the first one, or "".
func (s *Store) imported() string {
	for _, d := range s.dirs {
		if d.FS == nil {
			return d.Path
		}
	}
	return ""
}

// Plain reports whether importing a skill by name imports a plain file or folder instead, such as skills/NAME.ts or a
// folder without SKILL.md. It takes precedence over a skill of that name in another folder, and nothing is known about it.
func (s *Store) Plain(name string) bool {
	dir := s.imported()
	if dir == "" || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return false
	}
	root, err := safeopen.Root(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	snake := ident.Snake(name)
	for _, n := range slices.Compact([]string{name, snake, strings.ReplaceAll(snake, "_", "-")}) {
		if _, err := root.Stat(path.Join(n, "SKILL.md")); err == nil {
			return false
		}
		if info, err := root.Stat(n); err == nil && info.IsDir() {
			return true
		}
		for _, ext := range slices.Concat(sandbox.LangTypeScript.Extensions(), sandbox.LangPython.Extensions()) {
			if info, err := root.Stat(n + ext); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}
