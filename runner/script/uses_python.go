package script

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
)

// python follows the imports of the script and of the files beside it.
func (u *uses) python(src Source) error {
	prepared, err := preparePython(&bridge.Job{Code: src.Code}, src, nil)
	if err != nil {
		return err
	}
	texts := map[string]string{src.Name: prepared.Code}
	maps.Copy(texts, prepared.Modules)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		u.calls(texts[file])
		for _, im := range pyimport.Scan(texts[file]) {
			if im.Level > 0 || len(im.Module) == 0 {
				continue
			}
			switch im.Module[0] {
			case treeNamespace:
				u.pythonTree(file, texts[file], im)
			case skillsNamespace:
				u.pythonSkills(im)
			}
		}
	}
	return nil
}

func (u *uses) pythonSkills(im pyimport.Import) {
	names := im.Names
	if len(im.Module) > 1 {
		names = im.Module[1:2]
	}
	for _, name := range names {
		if u.looked++; name == "*" || u.looked > maxUsed {
			continue
		}
		for _, n := range spellings(name) {
			if u.files.skills == nil {
				break
			}
			if _, err := u.files.stat(skillsNamespace, n+"/SKILL.md"); err == nil {
				name = n
				break
			}
		}
		u.used.Skills = append(u.used.Skills, name)
	}
}

// pythonTree adds what an import of the tree means: servers.drive.get_sheet, get_sheet from servers.drive, drive from servers.
func (u *uses) pythonTree(file, text string, im pyimport.Import) {
	parts := im.Module[1:]
	switch {
	case len(parts) == 0:
		for _, name := range im.Names {
			if u.looked++; u.looked > maxUsed || len(u.used.Missing) >= maxProblems {
				return
			}
			if name != "*" && u.isServer(name) {
				u.pythonMembers(file, name, text, name)
			} else if name != "*" && !u.isTreeFile(name+".py") && !u.names("__init__.py", name) {
				u.missing(file, im, "servers."+name)
			}
		}
	case !u.isServer(parts[0]):
		if !u.isTreeFile(strings.Join(parts, "/") + ".py") {
			u.missing(file, im, strings.Join(im.Module, "."))
		}
	case len(parts) > 1:
		u.pythonWrapper(file, im, parts[0], parts[1])
	case len(im.Names) == 0:
		u.pythonMembers(file, parts[0], text, strings.Join(im.Module, "."))
	default:
		for _, name := range im.Names {
			if name == "*" {
				u.wholeServer(parts[0])
			} else {
				u.pythonWrapper(file, im, parts[0], name)
			}
		}
	}
}

// pythonWrapper takes in one name of a server: a tool's, or another that its package has.
func (u *uses) pythonWrapper(file string, im pyimport.Import, dir, name string) {
	wrapper := dir + "/" + name + ".py"
	u.looked++
	switch {
	case u.looked > maxUsed:
	case u.isTreeFile(wrapper):
		u.used.Wrappers = append(u.used.Wrappers, wrapper)
	case len(u.used.Missing) < maxProblems && !u.names(dir+"/__init__.py", name):
		u.missing(file, im, "servers."+dir+"."+name)
	}
}

// pythonMembers adds the tools of a server that a text uses as members of its package, or all tools if it cannot tell.
func (u *uses) pythonMembers(file, dir, text, called string) {
	key := file + "\x00" + called
	if u.members[key] {
		return
	}
	u.members[key] = true
	names := []string{called}
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(called)+`\s+as\s+(\w+)`).FindAllStringSubmatch(text, maxPlaces) {
		names = append(names, m[1])
	}
	found := false
	for _, name := range names {
		for _, m := range regexp.MustCompile(`(?:^|[^\w.])`+regexp.QuoteMeta(name)+`\s*\.\s*(\w+)`).FindAllStringSubmatch(text, maxUsed) {
			if wrapper := dir + "/" + m[1] + ".py"; u.isTreeFile(wrapper) {
				u.used.Wrappers = append(u.used.Wrappers, wrapper)
				found = true
			}
		}
	}
	if !found {
		u.wholeServer(dir)
	}
}

func (u *uses) wholeServer(dir string) {
	u.used.Servers = append(u.used.Servers, dir)
	for _, e := range u.files.entries(treeNamespace, dir) {
		if strings.HasSuffix(e, ".py") && !strings.HasPrefix(e, "_") {
			u.used.Wrappers = append(u.used.Wrappers, path.Join(dir, e))
		}
	}
}

func (u *uses) isServer(dir string) bool { return u.isTreeFile(dir + "/__init__.py") }

func (u *uses) isTreeFile(file string) bool {
	if u.files.tree == nil {
		return false
	}
	info, err := u.files.stat(treeNamespace, file)
	return err == nil && info.Mode().IsRegular()
}

// names reports whether a file of the tree contains a name.
func (u *uses) names(file, name string) bool {
	if u.files.tree == nil {
		return false
	}
	text, err := u.files.text(treeNamespace, file)
	if err != nil || len(text) > maxIndexBytes || !pyimport.IsIdentifier(name) {
		return false
	}
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text)
}

func (u *uses) missing(file string, im pyimport.Import, name string) {
	if len(u.used.Missing) < maxProblems {
		u.used.Missing = append(u.used.Missing, Missing{File: file, Line: im.Line, Name: name})
	}
}
