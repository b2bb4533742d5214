package script

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Installed packages are the only files that the bundler finds itself: it knows the rules of node for them, and reads each package.json once.
// A script gets into a package by name. Inside, the plugin is asked only for the text of each file, and refuses what lies elsewhere.

// fileNamespace is the bundler's own namespace of files, by their absolute paths.
const fileNamespace = "file"

// modulesFolder begins the path of every module of a package, below the folder of the packages.
const modulesFolder = "node_modules/"

// maxPackageModule is the largest module of a package, in bytes.
const maxPackageModule = 8 << 20

// entering marks the search for the file of a package that a script imports.
var entering = new(int)

// packages are the installed packages that a script may import.
type packages struct {
	dir  string // without links, as the bundler knows it
	root *os.Root

	mu    sync.Mutex
	files map[string]api.OnResolveResult // what scripts import, by kind and specifier
}

// openPackages opens the folder that has node_modules.
func openPackages(dir string) (*packages, error) {
	modules, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules"))
	if err != nil {
		return nil, fmt.Errorf("open the installed packages: %w", err)
	}
	real := filepath.Dir(modules)
	root, err := safeopen.Root(real)
	if err != nil {
		return nil, fmt.Errorf("open the installed packages: %w", err)
	}
	return &packages{dir: real, root: root, files: map[string]api.OnResolveResult{}}, nil
}

func (p *packages) close() {
	if p != nil {
		p.root.Close()
	}
}

// packageName returns the name of the package in a specifier: @scope/name of @scope/name/file.
func packageName(specifier string) string {
	parts := strings.SplitN(specifier, "/", 3)
	if strings.HasPrefix(specifier, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// has reports whether the package that a specifier names is installed. No package is installed if p is nil. A specifier that leads out of its
// package finds none: the bundler would say whether the file exists.
func (p *packages) has(specifier string) bool {
	name := packageName(specifier)
	if p == nil || name == "" || path.Clean(specifier) != strings.TrimSuffix(specifier, "/") || strings.HasPrefix(name, ".") || strings.ContainsAny(specifier, ":\\%") || !filepath.IsLocal(name) {
		return false
	}
	info, err := p.root.Stat(modulesFolder + name)
	return err == nil && info.IsDir()
}

// configure lets the bundler find the files of packages. A bundle is made before its sandbox is known: of several forms of a package it takes
// the one for browsers, which needs least, and which node and the embedded engine both run.
func (p *packages) configure(o *api.BuildOptions) {
	if p == nil {
		return
	}
	o.AbsWorkingDir = p.dir
	o.MainFields = []string{"main", "module"} // as node does, which never mixes the two forms of one package
	o.Conditions = []string{"browser"}
}

// enterPackage finds the file of a package that a script imports. Asking the bundler takes it a new search each time, so it is asked once.
func (f *files) enterPackage(a api.OnResolveArgs) (api.OnResolveResult, error) {
	p := f.packages
	key := fmt.Sprint(a.Kind, " ", a.Path)
	p.mu.Lock()
	found, ok := p.files[key]
	p.mu.Unlock()
	if ok {
		return found, nil
	}
	res := f.bundler.Resolve(a.Path, api.ResolveOptions{ResolveDir: p.dir, Kind: a.Kind, PluginData: entering})
	if len(res.Errors) > 0 {
		return f.unresolved(a, fmt.Errorf("%q cannot be imported: the package %s is installed, but has no such module", a.Path, packageName(a.Path)))
	}
	if _, ok := p.module(res.Path); !ok && res.Namespace == fileNamespace && !res.External {
		return f.unresolved(a, fmt.Errorf("%q cannot be imported: it is not a file of the installed packages", a.Path))
	}
	found = api.OnResolveResult{Namespace: res.Namespace, Path: res.Path, External: res.External}
	if !res.SideEffects {
		found.SideEffects = api.SideEffectsFalse
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[key] = found
	return found, nil
}

// module returns the path of a module below the folder of the packages, and whether it is a package's.
func (p *packages) module(file string) (rel string, ok bool) {
	rel, err := filepath.Rel(p.dir, file)
	return rel, err == nil && filepath.IsLocal(rel) && strings.HasPrefix(filepath.ToSlash(rel), modulesFolder)
}

// loadPackage reads a module of a package.
func (f *files) loadPackage(a api.OnLoadArgs) (api.OnLoadResult, error) {
	p := f.packages
	if p == nil {
		return refuseFiles(a)
	}
	rel, ok := p.module(a.Path)
	if !ok {
		// The bundler has found it in a folder above, where node would look too. Many packages use a module only if it is there.
		text := failing("MODULE_NOT_FOUND", fmt.Errorf("a package needs %q, which is not a file of the installed packages", path.Base(filepath.ToSlash(a.Path))))
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	}
	name := strings.TrimPrefix(filepath.ToSlash(rel), modulesFolder)
	if f.onlySmall {
		f.notSmall.Store(true)
		return api.OnLoadResult{}, errNotSmall
	}
	loader := loaderOf(name)
	if ext := path.Ext(name); ext == "" || sandbox.JavaScript(name) {
		loader = api.LoaderJS
	} else if loader == api.LoaderTS && !slices.Contains([]string{".ts", ".mts", ".cts"}, ext) {
		// Many packages use such a file only if it can be loaded.
		text := failing("ERR_DLOPEN_FAILED", fmt.Errorf("the package %s needs its file %s, and scripts import only JavaScript: use a package without machine code and WebAssembly", packageName(name), path.Base(name)))
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	}
	text, err := p.read(rel)
	if err != nil {
		return api.OnLoadResult{}, fmt.Errorf("read the package %s: %w", packageName(name), err)
	}
	if loader == api.LoaderJSON {
		return api.OnLoadResult{Contents: &text, Loader: loader}, nil
	}
	text, problems := admitPackage(text, loader)
	if len(problems) > 0 {
		return api.OnLoadResult{Errors: inModule(problems, fileNamespace, filepath.ToSlash(rel))}, nil
	}
	text += lines(path.Base(name), strings.Count(text, "\n"))
	return api.OnLoadResult{Contents: &text, Loader: loader}, nil
}

// read returns the text of a module, without references to source maps; see admit.go.
func (p *packages) read(name string) (string, error) {
	file, err := safeopen.File(p.root, name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPackageModule+1))
	if err == nil && len(data) > maxPackageModule {
		err = fmt.Errorf("%s has more than %d bytes", path.Base(name), maxPackageModule)
	}
	return mapComment().ReplaceAllStringFunc(string(data), func(m string) string { return m[:2] + "-" + m[3:] }), err
}

// lines returns a comment with a source map that knows only lines, after the first. With all positions and the text, packages would make a
// bundle three times as large.
func lines(name string, count int) string {
	text, err := json.Marshal(map[string]any{
		"version": 3, "sources": []string{name}, "sourcesContent": []string{""}, "mappings": "AAAA" + strings.Repeat(";AACA", count),
	})
	if err != nil {
		return ""
	}
	return "\n" + mapMarker + base64.StdEncoding.EncodeToString(text)
}

// missingInPackage returns the error for an import in a package that nothing was found for, or "" for a location elsewhere.
func missingInPackage(l *api.Location, quoted string) string {
	if l == nil {
		return ""
	}
	name, ok := strings.CutPrefix(l.File, modulesFolder)
	if !ok {
		return ""
	}
	return fmt.Sprintf("the package %s imports %s, which is not installed: add it to the packages, or install them again", packageName(name), quoted)
}
