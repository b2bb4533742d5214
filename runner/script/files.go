package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	treeNamespace   = "servers" // paths below the tree
	scriptNamespace = "script"  // paths below the script's folder
)

// files answers for every import of one bundle.
type files struct {
	tree, script *os.Root // nil: there is none
	seen         *reads   // gets what the answers stand on; nil: nobody wants to know
}

func (f *files) open(dir, tree string) error {
	var err error
	if dir != "" {
		if f.script, err = os.OpenRoot(dir); err != nil {
			return fmt.Errorf("open the script's folder: %w", err)
		}
	}
	if tree != "" {
		if f.tree, err = os.OpenRoot(tree); err != nil {
			return fmt.Errorf("open the tree: %w", err)
		}
	}
	return nil
}

func (f *files) close() {
	for _, r := range []*os.Root{f.tree, f.script} {
		if r != nil {
			r.Close()
		}
	}
}

func (f *files) plugin() api.Plugin {
	return api.Plugin{Name: "mcprun", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, f.resolve)
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: treeNamespace}, f.load)
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: scriptNamespace}, f.load)
		// Whatever else the bundler finds by itself, it is not to read.
		b.OnLoad(api.OnLoadOptions{Filter: ".*"}, refuseFiles)
	}}
}

// root is the folder that the paths of a namespace are below.
func (f *files) root(namespace string) *os.Root {
	if namespace == treeNamespace {
		return f.tree
	}
	return f.script
}

// load reads one module.
func (f *files) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := readModule(f.root(a.Namespace), a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	f.seen.read(place{a.Namespace, a.Path}, text)
	contents := string(text)
	if found := unsafe(contents, loaderOf(a.Path)); len(found) > 0 {
		return api.OnLoadResult{Errors: inModule(found, a.Namespace, a.Path)}, nil
	}
	return api.OnLoadResult{Contents: &contents, Loader: loaderOf(a.Path)}, nil
}

// readModule reads one file below root.
func readModule(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > MaxSize) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", name, MaxSize)
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(name)
}

// inTree recognises every way of writing the tree in an import: ./servers/x, ../servers/x, #servers/x, servers/x,
// /workspace/servers/x, /mcp/servers/x.
var inTree = regexp.MustCompile(`^(?:#|/|(?:\./)?(?:\.\./)*|/workspace/|/mcp/|@/|~/)?servers(?:/(.*))?$`)

// resolve decides what an import means.
func (f *files) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	if a.Kind == api.ResolveEntryPoint {
		return api.OnResolveResult{}, nil
	}
	relative := strings.HasPrefix(a.Path, "./") || strings.HasPrefix(a.Path, "../") || a.Path == "." || a.Path == ".."
	switch {
	case a.Namespace == treeNamespace && relative:
		return f.inTree(path.Join(path.Dir(a.Importer), a.Path))
	case isBuiltin(a.Path):
		return builtin(a.Path), nil
	}
	if m := inTree.FindStringSubmatch(a.Path); m != nil {
		return f.inTree(path.Clean(m[1]))
	}
	if relative {
		return f.besideScript(a)
	}
	return api.OnResolveResult{}, fmt.Errorf("%q cannot be imported: packages are not available in the sandbox; there are the wrappers below ./servers, files beside the script, and node's own modules as node:NAME", a.Path)
}

// inTree finds a wrapper, a server's index or the client. Names may be written as the server, TypeScript or Python
// writes them, with or without an extension.
func (f *files) inTree(p string) (api.OnResolveResult, error) {
	if f.tree == nil {
		return api.OnResolveResult{}, errors.New("there is no generated tree; make one with: mcpgen sync")
	}
	dir, file, _ := strings.Cut(strings.TrimPrefix(p, "./"), "/")
	if file == "" || file == "." {
		if base := trimExtension(dir); f.isFile(treeNamespace, base+".ts") {
			return found(base + ".ts"), nil
		}
	}
	for _, d := range []string{dir, ident.Snake(dir)} {
		for _, candidate := range candidates(file) {
			if full := path.Join(d, candidate); f.isFile(treeNamespace, full) {
				return found(full), nil
			}
		}
	}
	return api.OnResolveResult{}, f.missing(dir, file)
}

func found(p string) api.OnResolveResult {
	// Wrappers do nothing by being imported, so the bundler may drop those that are not used.
	return api.OnResolveResult{Path: p, Namespace: treeNamespace, SideEffects: api.SideEffectsFalse}
}

// candidates are the files that an import of file within a server's folder can mean.
func candidates(file string) []string {
	base := trimExtension(file)
	if base == "" || base == "." {
		return []string{"index.ts"}
	}
	return []string{base + ".ts", ident.Camel(base) + ".ts"}
}

func trimExtension(file string) string {
	for _, ext := range []string{".ts", ".js", ".mjs", ".mts"} {
		if base, ok := strings.CutSuffix(file, ext); ok {
			return base
		}
	}
	return strings.TrimSuffix(file, "/")
}

func (f *files) isFile(namespace, p string) bool {
	is := isFile(f.root(namespace), p)
	f.seen.looked(place{namespace, p}, is)
	return is
}

func isFile(root *os.Root, p string) bool {
	info, err := root.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

// missing says what there is instead.
func (f *files) missing(dir, file string) error {
	for _, d := range []string{dir, ident.Snake(dir)} {
		if names := f.names(d, ".ts"); d != "." && len(names) > 0 {
			return fmt.Errorf("server %q has no tool %q; it has: %s", d, trimExtension(file), listed(names))
		}
	}
	names := f.names(".", "")
	if len(names) == 0 {
		return errors.New("the generated tree is empty; make it with: mcpgen sync")
	}
	return fmt.Errorf("there is no server %q; there are: %s", dir, listed(names))
}

// names lists a folder of the tree: folders when ext is empty, else files with that extension, without it.
func (f *files) names(dir, ext string) []string {
	entries, err := fs.ReadDir(f.tree.FS(), dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ext)
		hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "index"
		if ok && !hidden && e.IsDir() == (ext == "") {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names
}

func listed(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// besideScript finds a file below the script's own folder. os.Root refuses what leads out of it.
func (f *files) besideScript(a api.OnResolveArgs) (api.OnResolveResult, error) {
	if f.script == nil {
		return api.OnResolveResult{}, fmt.Errorf("%q cannot be imported: this script is not a file, so nothing lies beside it", a.Path)
	}
	from := ""
	if a.Namespace == scriptNamespace {
		from = path.Dir(a.Importer)
	}
	p := path.Join(from, a.Path)
	if p == ".." || strings.HasPrefix(p, "../") {
		return api.OnResolveResult{}, fmt.Errorf("%q lies outside of the script's folder", a.Path)
	}
	base := trimExtension(p)
	for _, c := range []string{p, base + ".ts", base + ".tsx", base + ".mts", base + ".js", base + ".mjs", base + ".json", path.Join(p, "index.ts"), path.Join(p, "index.js")} {
		if f.isFile(scriptNamespace, c) {
			return api.OnResolveResult{Path: c, Namespace: scriptNamespace}, nil
		}
	}
	return api.OnResolveResult{}, fmt.Errorf("%q is not there, beside the script or below it", a.Path)
}
