package script

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
)

// Used lists what a script and the files that it imports from beside it refer to. It covers neither references in imported skills nor
// computed names. All lists are sorted.
type Used struct {
	Wrappers []string // files of tools below the tree: "drive/getSheet.ts", "drive/get_sheet.py"
	Tools    []string // ids in calls by id: callMCPTool("drive__get_sheet", …)
	Skills   []string // names of the skills' folders, or the names as imported if there is no such folder
	Missing  []Missing
}

// Missing is a name that a Python script imports from the tree but that does not exist there. In TypeScript this is an error.
type Missing struct {
	File string // the script, or a file beside it
	Line int    // from 1
	Name string // "servers.drive.get_shet"
}

// String says where it is missing.
func (m Missing) String() string {
	return fmt.Sprintf("%s:%d: the tree has no %s", m.File, m.Line, m.Name)
}

// Bounds on the work for hostile texts.
const (
	maxUsed       = 20_000  // Python names that are looked up, and specifiers in one module
	maxIndexBytes = 8 << 20 // bytes of a server's package
)

// uses finds what the files of one script use.
type uses struct {
	files  *files
	used   Used
	done   map[string]bool // imports of an index and calls of pythonMembers that were handled
	looked int             // the number of Python names looked up
}

func newUses(f *files) *uses { return &uses{files: f, done: map[string]bool{}} }

// sorted returns what was found.
func (u *uses) sorted() *Used {
	for _, list := range []*[]string{&u.used.Wrappers, &u.used.Tools, &u.used.Skills} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return &u.used
}

// imports adds what a TypeScript file uses of a module that it imports. If the module does not exist, err says why.
func (u *uses) imports(at place, specifier string, to place, err error) {
	dir, base := path.Split(to.Path)
	switch {
	case err != nil:
		u.unknownSkill(specifier)
	case to.Namespace == skillsNamespace:
		name, _, _ := strings.Cut(to.Path, "/")
		u.used.Skills = append(u.used.Skills, trimExtension(name))
	case to.Namespace == treeNamespace && (base == "index.ts" || base == allServers):
		u.index(path.Clean(dir), to, u.files.onlyWanted(at, specifier, to))
	case to.Namespace == treeNamespace && dir != "":
		u.used.Wrappers = append(u.used.Wrappers, to.Path)
	}
}

// index adds what a file uses of the index of a server, or of all servers. only is the result of onlyWanted.
func (u *uses) index(dir string, to place, only string) {
	key := to.id() + only
	if u.done[key] {
		return
	}
	u.done[key] = true
	list, sure := strings.CutPrefix(only, "?")
	names := strings.Split(list, ",")
	wanted := func(name string) bool { return !sure || slices.Contains(names, name) }
	add := func(server string, wanted func(string) bool) {
		for _, tool := range u.files.tools(server) {
			if wanted(tool) {
				u.used.Wrappers = append(u.used.Wrappers, server+"/"+tool+".ts")
			}
		}
	}
	if dir != "." {
		add(dir, wanted)
		return
	}
	for _, server := range u.files.servers() {
		if wanted(server) || wanted(ident.Camel(server)) {
			add(server, func(string) bool { return true })
		}
	}
}

// unknownSkill adds the name of a skill that does not exist.
func (u *uses) unknownSkill(specifier string) {
	m := inFolder().FindStringSubmatch(withoutScheme(specifier))
	if m == nil || m[1] != skillsNamespace {
		return
	}
	if name, _, _ := strings.Cut(path.Clean(m[2]), "/"); name != "." && name != ".." {
		u.used.Skills = append(u.used.Skills, trimExtension(name))
	}
}

// calledByID matches calls of a tool by its id.
var calledByID = pattern(`\bcall_mcp_tool\s*\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)')`)

// python adds everything that a Python file uses.
func (u *uses) python(file, text string, imports []pyimport.Import) {
	for _, m := range calledByID().FindAllStringSubmatch(text, maxUsed) {
		u.used.Tools = append(u.used.Tools, m[1]+m[2])
	}
	for _, im := range imports {
		if im.Level > 0 || len(im.Module) == 0 {
			continue
		}
		switch im.Module[0] {
		case treeNamespace:
			u.pythonTree(file, text, im)
		case skillsNamespace:
			u.pythonSkills(im)
		}
	}
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

// pythonTree adds what an import from the tree refers to: servers.drive.get_sheet, get_sheet from servers.drive, drive from servers.
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

// pythonWrapper adds one name that is imported from a server: a tool's, another that the server's package has, or a missing one.
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
	if u.done[key] {
		return
	}
	u.done[key] = true
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

// names reports whether a file in the tree contains a name.
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
