package script

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
)

// Used is what the text of a script refers to, found without running it. Computed paths are not found; names in comments of a
// TypeScript script are. All lists are sorted.
type Used struct {
	Wrappers []string // files of tools below the tree: "drive/getSheet.ts", "drive/get_sheet.py"
	Tools    []string // ids in calls by name: callMCPTool("drive__get_sheet", …)
	Servers  []string // folders below the tree of which the script may use any tool
	Skills   []string // names of the folders of skills, or as imported if there is no such folder
	Missing  []Missing
}

// Missing is something of the tree that a script imports and that does not exist.
type Missing struct {
	File string // the script, or a file beside it
	Line int    // from 1
	Name string // "drive/getShet", "servers.drive.get_shet"
}

// maxIndexBytes bounds the index of a server.
const maxIndexBytes = 8 << 20

// Uses returns what a script and the files beside it that it imports refer to, without what imported skills refer to. Errors in the
// script are an *Error; others are those of reading.
func Uses(ctx context.Context, src Source, opt Options) (*Used, error) {
	if err := check(src); err != nil {
		return nil, err
	}
	f := newFiles(src)
	defer f.close()
	if err := f.open(src.Dir, opt); err != nil {
		return nil, err
	}
	u := &uses{files: f, used: &Used{}, indexes: map[string][]string{}, members: map[string]bool{}}
	var err error
	if src.Language == sandbox.LangPython {
		err = u.python(src, opt)
	} else {
		err = u.typescript(ctx, src)
	}
	if err != nil {
		return nil, err
	}
	for _, list := range []*[]string{&u.used.Wrappers, &u.used.Tools, &u.used.Servers, &u.used.Skills} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return u.used, nil
}

type uses struct {
	files   *files
	used    *Used
	indexes map[string][]string // what the index of a server exports, by path
	wanted  int                 // how often wantedFrom was called
	looked  int                 // how many names of Python were looked up
	members map[string]bool     // calls of pythonMembers
}

// byName matches calls of a tool by its id.
var byName = pattern(`\b(?:callMCPTool|callMcpTool|call_mcp_tool)\s*(?:<[^()]{0,500}>)?\s*\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)'|` + "`([^`\\\\$\n]+)`)")

func (u *uses) calls(text string) {
	for _, m := range byName().FindAllStringSubmatch(text, maxUsed) {
		u.used.Tools = append(u.used.Tools, m[1]+m[2]+m[3])
	}
}

// typescript follows the imports of the script and of files beside it.
func (u *uses) typescript(ctx context.Context, src Source) error {
	seen := map[place]bool{}
	pending := []place{{scriptNamespace, src.Name}}
	for len(pending) > 0 && len(seen) < maxListed {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := pending[0]
		pending = pending[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		text, err := u.files.text(at.Namespace, at.Path)
		if err != nil {
			continue
		}
		u.calls(text)
		done := map[string]bool{}
		for ref := range u.files.references(at, text) {
			if done[ref.specifier] {
				continue
			}
			done[ref.specifier] = true
			switch {
			case ref.err != nil:
				u.unknownSkill(ref.specifier)
			case ref.to.Namespace == scriptNamespace:
				pending = append(pending, ref.to)
			case ref.to.Namespace == skillsNamespace:
				u.skill(ref.to.Path)
			case ref.to.Namespace == treeNamespace:
				u.fromTree(ref.to.Path, text, ref.specifier)
			}
		}
	}
	return nil
}

// skill adds the skill of a file.
func (u *uses) skill(file string) {
	dir, _, _ := strings.Cut(file, "/")
	u.used.Skills = append(u.used.Skills, trimExtension(dir))
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

// fromTree takes in what a module uses of a file of the tree that it imports as specifier.
func (u *uses) fromTree(file, text, specifier string) {
	dir, base := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case dir == "" && file != allServers && file != "index.ts":
		return // the client
	case base != "index.ts" && file != allServers:
		u.used.Wrappers = append(u.used.Wrappers, file)
		return
	}
	const written = "./m" // for the specifier, in which the name of the namespace may be a word
	var names []string
	sure := false
	if u.wanted++; u.wanted <= maxWanted {
		names, sure = wantedFrom(strings.ReplaceAll(text, specifier, written), written)
	}
	if dir != "" {
		u.fromServer(dir, names, sure)
		return
	}
	for _, server := range u.files.servers() {
		if sure && !slices.Contains(names, server) && !slices.Contains(names, ident.Camel(server)) {
			continue
		}
		u.fromServer(server, nil, false)
	}
}

// fromServer adds the tools of a server's index that a module uses.
func (u *uses) fromServer(dir string, names []string, sure bool) {
	exported := u.index(dir + "/index.ts")
	if !sure {
		u.used.Servers = append(u.used.Servers, dir)
		for _, name := range exported {
			u.used.Wrappers = append(u.used.Wrappers, dir+"/"+name+".ts")
		}
		return
	}
	for _, name := range names {
		if slices.Contains(exported, name) {
			u.used.Wrappers = append(u.used.Wrappers, dir+"/"+name+".ts")
		}
	}
}

// index returns what the index of a server exports.
func (u *uses) index(file string) []string {
	if names, ok := u.indexes[file]; ok {
		return names
	}
	var names []string
	if text, err := u.files.text(treeNamespace, file); err == nil && len(text) <= maxIndexBytes {
		for line := range strings.Lines(text) {
			if name := exportedBy(line); name != "" && len(names) < maxUsed {
				names = append(names, name)
			}
		}
	}
	u.indexes[file] = names
	return names
}

// python follows the imports of the script and of the files beside it.
func (u *uses) python(src Source, opt Options) error {
	p := &Program{src: src, opt: opt}
	if err := p.readPython(&bridge.Job{}); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(p.imports)) {
		u.calls(p.Texts[file])
		for _, im := range p.imports[file] {
			if im.Level > 0 || len(im.Module) == 0 {
				continue
			}
			switch im.Module[0] {
			case treeNamespace:
				u.pythonTree(file, p.Texts[file], im)
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
