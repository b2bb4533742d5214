package script

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/templates"
)

// files resolves and loads every import of one bundle.
type files struct {
	tree, skills, script *os.Root  // nil if there is none
	packages             *packages // nil if there are none
	bundler              api.PluginBuild
	installed            string        // Options.Installed
	closed               []fs.FileInfo // files that scripts must not import

	main      Source
	entry     map[string]string // virtual modules by path
	ownModule bool              // the script gets a variable named module
	plain     bool              // modules are bundled as they were written, for the positions in errors
	known     map[string]module // modules that are not bundled again, by id
	onlySmall bool              // stop at a module that is not small
	notSmall  atomic.Bool       // such a module was found

	mu       sync.Mutex        // guards the fields below: the bundler calls from many goroutines
	texts    map[string]string // modules as they were read, by id
	computed bool              // a module has an import() with a computed path
	located  bool              // a module was given its path
	wanted   map[string]string // results of onlyWanted, by importer and specifier
	failed   int               // imports that could not be resolved
	failures map[string]error  // errors that the script may handle, by error code and quoted specifier
}

func newFiles(src Source) *files {
	return &files{main: src, texts: map[string]string{}, entry: map[string]string{}, wanted: map[string]string{}, failures: map[string]error{}}
}

func (f *files) open(dir string, opt Options) error {
	for _, folder := range []struct {
		root **os.Root
		path string
		what string
	}{{&f.script, dir, "the script's folder"}, {&f.tree, opt.Tree, "the tree"}, {&f.skills, opt.Skills, "the folder of skills"}} {
		if folder.path == "" {
			continue
		}
		root, err := safeopen.Root(folder.path)
		if os.IsNotExist(err) && folder.root == &f.skills {
			continue // no skill has been saved
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", folder.what, err)
		}
		*folder.root = root
	}
	f.closed, f.installed = closedFiles(opt.Closed), opt.Installed
	if opt.Packages != "" && f.main.Language != sandbox.LangPython {
		var err error
		if f.packages, err = openPackages(opt.Packages); err != nil {
			return err
		}
	}
	return nil
}

func (f *files) close() {
	for _, r := range []*os.Root{f.tree, f.skills, f.script} {
		if r != nil {
			r.Close()
		}
	}
	f.packages.close()
}

// root returns the folder of a namespace.
func (f *files) root(namespace string) *os.Root {
	switch namespace {
	case treeNamespace:
		return f.tree
	case skillsNamespace:
		return f.skills
	case scriptNamespace:
		return f.script
	}
	return nil
}

// text returns a module's original text, as it was when first read.
func (f *files) text(namespace, p string) (string, error) {
	switch {
	case namespace == scriptNamespace && p == f.main.Name:
		return f.main.Code, nil
	case namespace == libraryNamespace:
		return libraryText(p), nil
	case namespace == treeNamespace && p == allServers:
		return f.everyServer(), nil
	case f.root(namespace) == nil:
		return "", fs.ErrNotExist // a module of a package, which is no file of the script
	}
	id := place{namespace, p}.id()
	f.mu.Lock()
	known, ok := f.texts[id]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	text, err := f.read(namespace, p)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.texts[id]; !ok {
		f.texts[id] = string(text)
	}
	return f.texts[id], nil
}

func libraryText(p string) string {
	if p == clientFile {
		return templates.Text("ts/client.ts")
	}
	return templates.Library()
}

// isFile reports whether a module exists.
func (f *files) isFile(namespace, p string) bool {
	if namespace == scriptNamespace && p == f.main.Name {
		return true
	}
	_, err := f.stat(namespace, p)
	return err == nil
}

// entries returns the sorted names in a folder, with a slash after the names of folders. It returns nil if the folder does not exist.
func (f *files) entries(namespace, dir string) []string {
	root := f.root(namespace)
	if root == nil {
		return nil
	}
	found, err := fs.ReadDir(safeopen.FS(root), dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range found {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A script may read only some of the files beside it: hidden files and the configuration of servers contain data that a sandbox must not
// see. The checks apply to the file that a path leads to, since a script may create links in its workspace, and to the file that was
// opened, since it may change a link in the meantime.

// hidden reports whether a path, with slashes, has a part that begins with a dot.
func hidden(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}

// closedFiles returns the files at those paths that exist.
func closedFiles(paths []string) []fs.FileInfo {
	var found []fs.FileInfo
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			found = append(found, info)
		}
	}
	return found
}

// shut returns why a script must not read the file at p, beside it, or nil if it may.
func (f *files) shut(p string, info fs.FileInfo) error {
	return refuse(f.closed, f.script.Name(), p, info)
}

// refuse returns why a script in the folder base must not read the file at p below it, or nil if it may. info is the file that was opened.
func refuse(closed []fs.FileInfo, base, p string, info fs.FileInfo) error {
	isClosed := func(file fs.FileInfo) bool {
		return slices.ContainsFunc(closed, func(c fs.FileInfo) bool { return os.SameFile(c, file) })
	}
	if isClosed(info) {
		return fmt.Errorf("%q cannot be imported: it is configuration of mcprun", p)
	}
	errHidden := fmt.Errorf("%q cannot be imported: hidden files are not for scripts", p)
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return errHidden
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(p)))
	if err != nil {
		return errHidden
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(base, dir); err != nil || !filepath.IsLocal(rel) {
			break
		}
		if folder, err := os.Lstat(dir); err != nil || isClosed(folder) {
			return fmt.Errorf("%q cannot be imported: it is in a folder of mcprun's own", p)
		}
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || hidden(p) || hidden(filepath.ToSlash(rel)) {
		return errHidden
	}
	if there, err := os.Lstat(real); err != nil || !os.SameFile(there, info) {
		return errHidden // it was replaced in the meantime
	}
	return nil
}

// stat returns the file of a module.
func (f *files) stat(namespace, p string) (fs.FileInfo, error) {
	root := f.root(namespace)
	info, err := root.Stat(p)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err == nil && namespace == scriptNamespace {
		err = f.shut(p, info)
	}
	return info, err
}

// read returns the contents of a module's file.
func (f *files) read(namespace, p string) ([]byte, error) {
	file, err := safeopen.File(f.root(namespace), p, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Size() > MaxSize {
		err = fmt.Errorf("%s is not a file of at most %d bytes", p, MaxSize)
	}
	if err == nil && namespace == scriptNamespace {
		err = f.shut(p, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, MaxSize)) // the file may grow
}

// servers returns the folders of the tree.
func (f *files) servers() []string {
	var names []string
	for _, e := range f.entries(treeNamespace, ".") {
		if base, ok := strings.CutSuffix(e, "/"); ok && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_") {
			names = append(names, base)
		}
	}
	return names
}

// tools returns the names of the wrappers in a folder of the tree.
func (f *files) tools(dir string) []string {
	var names []string
	for _, e := range f.entries(treeNamespace, dir) {
		if base, ok := strings.CutSuffix(e, ".ts"); ok && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_") && base != "index" {
			names = append(names, base)
		}
	}
	return names
}

// everyServer returns the index of all servers: each under its folder's name, and under that name as TypeScript would write it.
func (f *files) everyServer() string {
	var b strings.Builder
	b.WriteString(generated + "\n")
	for _, dir := range f.servers() {
		if !f.isFile(treeNamespace, path.Join(dir, "index.ts")) {
			continue
		}
		names := []string{dir, ident.Camel(dir)}
		if names[1] == dir {
			names = names[:1]
		}
		for _, n := range names {
			if ident.TypeScriptReserved(n) || !ident.IsIdentifier(n) {
				continue
			}
			b.WriteString("export * as " + n + " from " + quote("./"+dir+"/index.ts") + ";\n")
		}
	}
	return b.String()
}
