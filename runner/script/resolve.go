package script

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// inFolder matches the ways of writing the tree, or the folder of skills, in an import: ./servers/x, ../servers/x,
// #servers/x, servers/x, /workspace/servers/x, /mcp/servers/x.
var inFolder = pattern(`^(?:#|/|(?:\./)?(?:\.\./)*|/workspace/|/mcp/|@/|~/)?(servers|skills)(?:/(.*))?$`)

// resolve tells the bundler what an import means.
func (f *files) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	if a.Kind == api.ResolveEntryPoint || a.Namespace == entryNamespace {
		namespace, p, _ := strings.Cut(a.Path, ":")
		return api.OnResolveResult{Namespace: namespace, Path: p}, nil
	}
	if isBuiltin(a.Path) || a.Namespace == fileNamespace && isBuiltin(strings.TrimSuffix(a.Path, "/")) {
		return builtin(strings.TrimSuffix(a.Path, "/")), nil
	}
	if a.Namespace == fileNamespace || a.PluginData == entering {
		return api.OnResolveResult{}, nil // within packages the bundler finds the files itself
	}
	if f.givenUp() {
		return api.OnResolveResult{Path: a.Path, External: true}, nil // the bundle fails in any case, and each error costs time
	}
	found, err := f.find(a.Path, a.Namespace, a.Importer)
	if err != nil {
		return f.unresolved(a, err)
	}
	if found.Namespace == packageNamespace {
		return f.enterPackage(a)
	}
	if f.known != nil && found == (place{scriptNamespace, f.main.Name}) {
		return api.OnResolveResult{}, errItself
	}
	if _, ok := f.known[found.id()]; ok {
		return api.OnResolveResult{Namespace: knownNamespace, Path: found.id()}, nil
	}
	res := api.OnResolveResult{Namespace: found.Namespace, Path: found.Path}
	if f.entry["main"] == "" && (found.Namespace == treeNamespace || found.Namespace == libraryNamespace) {
		// Importing these has no side effects, so the bundler may drop unused ones. This does not hold if the script may import them by a
		// computed path, because it then shares their state.
		res.SideEffects = api.SideEffectsFalse
	}
	if a.Kind == api.ResolveJSImportStatement {
		res.Suffix = f.onlyWanted(place{a.Namespace, a.Importer}, a.Path, found)
	}
	return res, nil
}

// unresolved answers an import that cannot be resolved. If a script handles the error, as in try { require("x") } catch {}, it gets the
// error at run time. The bundler decides when: for import() and require(), this function returns no answer, and the bundler finds nothing
// itself because modules have no folder. So it either reports the import or leaves it to run time. In the latter case build starts again,
// with modules that throw.
func (f *files) unresolved(a api.OnResolveArgs, err error) (api.OnResolveResult, error) {
	code := map[api.ResolveKind]string{api.ResolveJSDynamicImport: "ERR_MODULE_NOT_FOUND", api.ResolveJSRequireCall: "MODULE_NOT_FOUND"}[a.Kind]
	failing := code + " " + strconv.Quote(a.Path)
	if _, ok := f.entry[failing]; ok {
		return api.OnResolveResult{Namespace: entryNamespace, Path: failing}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed++
	if code == "" || strings.HasPrefix(a.Path, "/") || strings.Contains(a.Path, ":") {
		return api.OnResolveResult{}, err
	}
	f.failures[failing] = err
	return api.OnResolveResult{}, nil
}

// failing returns a module that throws the error that node throws for a missing module.
func failing(code string, err error) string {
	return fmt.Sprintf("throw Object.assign(new Error(%s), { code: %q });", quote(err.Error()), code)
}

// givenUp reports whether the limit of reported failures is reached.
func (f *files) givenUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed >= maxProblems
}

// errItself is the error if a module that is imported at run time imports the script. The script would run a second time.
var errItself = errors.New("this is the running script; put what both need into a separate module")

// find resolves a specifier in the module importer of namespace.
func (f *files) find(specifier, namespace, importer string) (place, error) {
	specifier = withoutScheme(specifier)
	relative := strings.HasPrefix(specifier, "./") || strings.HasPrefix(specifier, "../") || specifier == "." || specifier == ".."
	switch {
	case specifier == "mcprun":
		return place{libraryNamespace, libraryFile}, nil
	case namespace == libraryNamespace && inFolder().MatchString(specifier) && (f.tree == nil || !f.isFile(treeNamespace, clientFile)):
		return place{libraryNamespace, clientFile}, nil
	case namespace == treeNamespace && relative:
		return f.inTree(path.Join(path.Dir(importer), specifier))
	}
	if m := inFolder().FindStringSubmatch(specifier); m != nil {
		if m[1] == treeNamespace {
			return f.inTree(path.Clean(m[2]))
		}
		p, err := f.inSkills(path.Clean(m[2]))
		if err != nil && relative && namespace != skillsNamespace && f.script != nil {
			if own, ownErr := f.besideScript(specifier, namespace, importer); ownErr == nil || f.skills == nil {
				return own, ownErr
			}
		}
		return p, err
	}
	if absolute, ok := strings.CutPrefix(specifier, sandbox.WorkspaceDir+"/"); ok {
		specifier, namespace, relative = "./"+absolute, "", true
	}
	switch {
	case relative && namespace == skillsNamespace:
		return f.inSkills(path.Join(path.Dir(importer), specifier))
	case relative:
		return f.besideScript(specifier, namespace, importer)
	}
	if f.packages.has(specifier) {
		return place{packageNamespace, specifier}, nil
	}
	return place{}, f.noPackage(specifier)
}

// withoutScheme turns a file URL into a path. Scripts make such URLs from import.meta.url.
func withoutScheme(specifier string) string {
	if rest, ok := strings.CutPrefix(specifier, "file://"); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return specifier
}

// notInstalled says how packages get into sandboxes.
const notInstalled = "no packages are installed (an operator installs them: mcprun packages install)"

func (f *files) noPackage(specifier string) error {
	if strings.Contains(specifier, "://") {
		return fmt.Errorf("%q cannot be imported: there is no network in the sandbox; there are the wrappers below ./servers, files beside the script, mcprun, and node's own modules as node:NAME", specifier)
	}
	hint := ""
	if near := ident.Nearest(specifier, append(strings.Fields(nodeModules), "mcprun"), 1); len(near) == 1 && !strings.HasPrefix(specifier, "@") {
		hint = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return fmt.Errorf("%q cannot be imported: %s%s; there are the wrappers below ./servers, files beside the script, mcprun, and node's own modules as node:NAME", specifier, hint, cmp.Or(f.installed, notInstalled))
}

// inTree finds a wrapper, a server's index or the client. Names may be spelt as the server, TypeScript or Python spells them, with or
// without an extension.
func (f *files) inTree(p string) (place, error) {
	if f.tree == nil {
		return place{}, errors.New("there is no generated tree; make one with: mcpgen sync")
	}
	dir, file, _ := strings.Cut(strings.TrimPrefix(p, "./"), "/")
	if dir == "." || dir == "" || trimExtension(p) == "index" {
		if f.isFile(treeNamespace, "index.ts") {
			return place{treeNamespace, "index.ts"}, nil
		}
		return place{treeNamespace, allServers}, nil
	}
	if file == "" || file == "." {
		if base := trimExtension(dir); f.isFile(treeNamespace, base+".ts") {
			return place{treeNamespace, base + ".ts"}, nil
		}
	}
	for _, d := range []string{dir, ident.Snake(dir)} {
		for _, candidate := range candidates(file) {
			if full := path.Join(d, candidate); f.isFile(treeNamespace, full) {
				return place{treeNamespace, full}, nil
			}
		}
	}
	return place{}, f.noTool(dir, file)
}

// candidates returns the files that an import of file in a server's folder can mean.
func candidates(file string) []string {
	base := trimExtension(file)
	if base == "" || base == "." {
		return []string{"index.ts"}
	}
	return []string{base + ".ts", ident.Camel(base) + ".ts"}
}

// modulesOf returns the files that an import of p can mean, the most likely first: extensions are optional, and a folder stands for its
// index.
func modulesOf(p string) []string {
	base := trimExtension(p)
	exact := p
	if base == p && !strings.HasSuffix(p, ".json") {
		exact = base + ".ts" // files with other extensions are not modules
	}
	out := []string{exact}
	for _, ext := range sandbox.LangTypeScript.Extensions() {
		out = append(out, base+ext)
	}
	return append(out, p+".json", path.Join(p, "index.ts"), path.Join(p, "index.js"), path.Join(p, "index.mjs"), path.Join(p, "index.cjs"))
}

// besideScript finds a file below the script's own folder. os.Root refuses paths that lead out of it.
func (f *files) besideScript(specifier, namespace, importer string) (place, error) {
	if f.script == nil {
		return place{}, fmt.Errorf("%q cannot be imported: this script is not a file, so nothing lies beside it", specifier)
	}
	from := ""
	if namespace == scriptNamespace {
		from = path.Dir(importer)
	}
	p := path.Join(from, specifier)
	if p == ".." || strings.HasPrefix(p, "../") {
		return place{}, fmt.Errorf("%q lies outside of the script's folder", specifier)
	}
	for _, c := range modulesOf(p) {
		if f.isFile(scriptNamespace, c) {
			return place{scriptNamespace, c}, nil
		}
		if info, err := f.script.Stat(c); err == nil && info.Mode().IsRegular() {
			if err := f.shut(c, info); err != nil {
				return place{}, err
			}
		}
	}
	if info, err := f.script.Stat(p); err == nil && info.IsDir() {
		return place{}, fmt.Errorf("%q is a folder without an index.ts or index.js; import one of its files%s", specifier, f.modulesIn(p))
	}
	return place{}, f.noFile(specifier, p)
}

// modulesIn lists the modules in a folder beside the script.
func (f *files) modulesIn(p string) string {
	there := moduleNames(f.entries(scriptNamespace, p))
	if len(there) == 0 {
		return ""
	}
	return ": " + ident.List(there)
}

// inSkills finds a saved script: skills/NAME is the file NAME.ts, or the folder NAME with its index.ts,
// scripts/index.ts, scripts/main.ts, or the only module below scripts/. Names may be written with - or _, or in camel case.
func (f *files) inSkills(p string) (place, error) {
	if f.skills == nil {
		return place{}, errNoSkills
	}
	if p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return place{}, errors.New("an import of skills must name one: ./skills/NAME")
	}
	name, rest, _ := strings.Cut(p, "/")
	names := spellings(name)
	if bare := trimExtension(name); rest == "" && bare != name {
		names = append(names, spellings(bare)...)
	}
	for _, n := range names {
		for _, c := range modulesOf(path.Join(n, rest)) {
			if f.isFile(skillsNamespace, c) {
				return place{skillsNamespace, c}, nil
			}
		}
		if trimExtension(rest) == "index" || rest == "" {
			if only, err := f.onlyScript(n); only != "" || err != nil {
				return place{skillsNamespace, only}, err
			}
		}
	}
	return place{}, f.noSkill(name, rest)
}

// onlyScript returns the module that a skill's folder without an index stands for.
func (f *files) onlyScript(name string) (string, error) {
	var modules []string
	for _, e := range f.entries(skillsNamespace, path.Join(name, "scripts")) {
		if trimExtension(e) != e && !strings.HasSuffix(e, "/") && !strings.HasSuffix(e, ".d.ts") {
			modules = append(modules, path.Join("scripts", e))
		}
	}
	if main := MainScript(modules, sandbox.LangTypeScript); main != "" || len(modules) == 0 {
		if main == "" || !f.isFile(skillsNamespace, path.Join(name, main)) {
			return "", nil
		}
		return path.Join(name, main), nil
	}
	for i, m := range modules {
		modules[i] = path.Base(m)
	}
	return "", fmt.Errorf("skill %q has several scripts and no index.ts or main.ts; import one of them: %s", name, ident.List(modules))
}

// MainScript returns the file that an import of a skill means: index, or else main in scripts, or else the only script there. names holds
// the paths of the skill's files below its folder, with slashes. The result is "" if there is no such script, or several.
func MainScript(names []string, lang sandbox.Language) string {
	first, extensions := []string{"index.ts", "index.js", "index.mjs", "index.cjs", "scripts/index.ts", "scripts/main.ts"}, ".ts .js .mjs .mts .cjs .cts .tsx .jsx "
	if lang == sandbox.LangPython {
		first, extensions = []string{"__init__.py", "scripts/__init__.py", "scripts/main.py"}, ".py "
	}
	for _, name := range first {
		if slices.Contains(names, name) {
			return name
		}
	}
	only := ""
	for _, name := range names {
		ext := path.Ext(name)
		if path.Dir(name) != "scripts" || ext == "" || !strings.Contains(extensions, ext+" ") || strings.HasSuffix(name, ".d.ts") {
			continue
		}
		if only != "" {
			return ""
		}
		only = name
	}
	return only
}
