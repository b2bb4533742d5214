package script

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// inSkills finds a saved script: skills/NAME is the file NAME.ts, or the folder NAME with its index.ts,
// scripts/index.ts, or the only module below scripts/. Names may be written with - or _.
func (f *files) inSkills(p string) (place, error) {
	if f.skills == nil {
		return place{}, errors.New("there are no saved skills")
	}
	if p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return place{}, errors.New("an import of skills must name one: ./skills/NAME")
	}
	name, rest, _ := strings.Cut(p, "/")
	for _, n := range spellings(name) {
		for _, c := range modulesOf(path.Join(n, rest)) {
			if f.isFile(skillsNamespace, c) {
				return place{skillsNamespace, c}, nil
			}
		}
		if rest == "" {
			if only, err := f.onlyScript(n); only != "" || err != nil {
				return place{skillsNamespace, only}, err
			}
		}
	}
	return place{}, f.noSkill(name, rest)
}

// spellings are the ways of writing a skill's name.
func spellings(name string) []string {
	return []string{name, strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(ident.Snake(name), "_", "-")}
}

// onlyScript is what a skill's folder stands for that has no index of its own.
func (f *files) onlyScript(name string) (string, error) {
	dir := path.Join(name, "scripts")
	if index := path.Join(dir, "index.ts"); f.isFile(skillsNamespace, index) {
		return index, nil
	}
	var modules []string
	for _, e := range f.entries(skillsNamespace, dir) {
		if trimExtension(e) != e && !strings.HasSuffix(e, "/") && !strings.HasSuffix(e, ".d.ts") {
			modules = append(modules, e)
		}
	}
	switch len(modules) {
	case 0:
		return "", nil
	case 1:
		return path.Join(dir, modules[0]), nil
	}
	return "", fmt.Errorf("skill %q has several scripts and no index.ts; import one of them: %s", name, listed(modules))
}

// noSkill says what there is instead.
func (f *files) noSkill(name, rest string) error {
	all := f.entries(skillsNamespace, ".")
	for i, e := range all {
		all[i] = trimExtension(e)
	}
	for _, n := range spellings(name) {
		for _, have := range all {
			if have == n && rest != "" {
				return fmt.Errorf("skill %q has no module %q", n, rest)
			}
		}
	}
	if near := ident.Nearest(name, all, 3); len(near) > 0 {
		return fmt.Errorf("there is no skill %q; did you mean %s?", name, quoted(near))
	}
	if len(all) == 0 {
		return errors.New("there are no saved skills")
	}
	return fmt.Errorf("there is no skill %q; there are: %s", name, listed(all))
}
