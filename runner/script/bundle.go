package script

import (
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// task is a request for a bundle: of a script, or of another module that a running script imports.
type task struct {
	Src    Source
	Opt    Options
	Module string            // the id of the module; empty: the script
	Known  map[string]module // with Module: the modules that the guest has
	Idle   time.Duration     // how long the process waits for another task
	small  bool              // fail with errNotSmall when a module is not small
}

func (t task) bundle() (*bundle, error) {
	if t.Module != "" {
		return moduleBundle(t)
	}
	return newBundle(t)
}

// bundle is a script and what it imports, as one ES module with an inline source map. For a script that was read but cannot be bundled,
// only Facts, Uses and Digest are set.
type bundle struct {
	Code string
	// Modules are the modules that it registers for bundles made while it runs, or nil if it has no computed imports.
	Modules map[string]module
	Facts   *judge.Facts // like Uses and Digest, only for a script; see [Program]
	Uses    *Used
	Digest  string
}

// newBundle bundles a script.
func newBundle(t task) (*bundle, error) {
	f := newFiles(t.Src)
	f.onlySmall = t.small
	defer f.close()
	if err := f.open(t.Src.Dir, t.Opt); err != nil {
		return nil, err
	}
	made, unread := f.facts()
	if errors.Is(unread, errNotSmall) {
		return nil, unread
	}
	code, modules, err := f.bundle()
	switch {
	case errors.Is(err, errNotSmall), err != nil && (unread != nil || len(made.Facts.Unreadable) > 0): // err says more than unread
		return nil, err
	case unread != nil:
		return nil, unread
	}
	made.Code, made.Modules = code, modules
	return made, err
}

// bundle bundles the script, and returns the modules that it registers.
func (f *files) bundle() (code string, modules map[string]module, err error) {
	script := scriptNamespace + ":" + f.main.Name
	res, err := f.build(script, "")
	if err != nil {
		return "", nil, err
	}
	if err := f.lostReturn(output(res)); err != nil {
		return "", nil, err
	}
	if needsModule(f.main.Code) {
		m, err := readMeta(res.Metafile)
		if err != nil {
			return "", nil, err
		}
		if f.ownModule = m.Inputs[script].Format == "esm"; f.ownModule {
			again, err := f.build(script, "")
			if f.ownModule = err == nil; f.ownModule { // on an error the script declares that name itself
				res = again
			}
		}
	}
	if !f.computed {
		return output(res), nil, nil
	}
	// Build again, now that its modules are known, with these in the registry.
	m, err := readMeta(res.Metafile)
	if err != nil {
		return "", nil, err
	}
	modules = m.modules()
	delete(modules, script)
	f.entry["main"] = f.beginning(m, script)
	f.entry["modules"] = registration(slices.Sorted(maps.Keys(modules)))
	res, err = f.build(entryNamespace+":main", "")
	if err != nil {
		return "", nil, err
	}
	return output(res), modules, nil
}

// beginning returns a module that fills the registry, runs the script and exports what the script exports.
func (f *files) beginning(m *meta, script string) string {
	text := "import " + quote(entryNamespace+":modules") + ";\n"
	if m.exports("default") {
		text += "export { default } from " + quote(script) + ";\n"
	}
	if m.Inputs[script].Format != "cjs" {
		text += "export * from " + quote(script) + ";\n"
	}
	return text
}

// moduleBundle bundles a module that the guest does not have, with its imports.
func moduleBundle(t task) (*bundle, error) {
	id := t.Module
	f := newFiles(t.Src)
	f.known, f.onlySmall = t.Known, t.small
	if f.known == nil {
		f.known = map[string]module{}
	}
	defer f.close()
	if err := f.open(t.Src.Dir, t.Opt); err != nil {
		return nil, err
	}
	res, err := f.build(id, nobody)
	if err != nil {
		return nil, err
	}
	m, err := readMeta(res.Metafile)
	if err != nil {
		return nil, err
	}
	modules := m.modules()
	modules[id] = module{CommonJS: m.Inputs[id].Format == "cjs"} // even if it is empty
	f.entry["main"] = "import " + quote(entryNamespace+":modules") + ";\n" + exported(id)
	f.entry["modules"] = registration(slices.Sorted(maps.Keys(modules)))
	known := ""
	if ids := m.known(); len(ids) > 0 {
		quotedIDs := make([]string, len(ids))
		for i, id := range ids {
			quotedIDs[i] = quote(id)
		}
		known = "await globalThis[" + registryKey + "].all([" + strings.Join(quotedIDs, ",") + "])"
	}
	res, err = f.build(entryNamespace+":main", known)
	if err != nil {
		return nil, err
	}
	return &bundle{Code: output(res), Modules: modules}, nil
}

// nobody stands for the known modules in a bundle that is only inspected.
const nobody = "{}"

// build runs the bundler from one module. known is an expression for the object of known modules, or "".
func (f *files) build(entry, known string) (*api.BuildResult, error) {
	banner := map[string]string{}
	if known != "" {
		banner["js"] = "const " + knownModules + " = " + known + ";"
	}
	var inject []string
	if f.entry[globalsEntry] = globals(f.main.Code); f.entry[globalsEntry] != "" {
		inject = []string{entryNamespace + ":" + globalsEntry}
	}
	options := api.BuildOptions{
		Inject:        inject,
		EntryPoints:   []string{entry},
		AbsWorkingDir: nowhere(),
		Outfile:       "script.js",
		Bundle:        true,
		Write:         false,
		Metafile:      true,
		Format:        api.FormatESModule,
		Platform:      api.PlatformNeutral,
		Target:        api.ES2023,
		Sourcemap:     api.SourceMapExternal,
		TsconfigRaw:   tsconfig,
		Charset:       api.CharsetUTF8,
		LogLevel:      api.LogLevelSilent,
		Plugins:       []api.Plugin{f.plugin()},
		Banner:        banner,
	}
	f.packages.configure(&options)
	res := api.Build(options)
	if f.notSmall.Load() {
		return nil, errNotSmall
	}
	problems := res.Errors
	if len(problems) == 0 {
		problems = f.calledButMissing(res.Warnings)
	}
	if len(problems) > 0 {
		if f.located { // build again, for positions in the modules as they were written
			f.located, f.plain = false, true
			if _, err := f.build(entry, known); err != nil {
				return nil, err
			}
		}
		problems = problems[:min(len(problems), maxProblems)]
		return nil, fromMessages(f.main.Name, f.explain(problems))
	}
	if len(f.failures) > 0 {
		for name, err := range f.failures {
			code, _, _ := strings.Cut(name, " ")
			f.entry[name] = failing(code, err)
		}
		clear(f.failures)
		return f.build(entry, known)
	}
	return &res, nil
}

// output returns a bundle's code with its source map inside.
func output(res *api.BuildResult) string {
	var code, sourceMap []byte
	for _, out := range res.OutputFiles {
		if strings.HasSuffix(out.Path, ".map") {
			sourceMap = []byte(wordsBack.Replace(string(out.Contents)))
		} else {
			code = out.Contents
		}
	}
	return string(code) + mapMarker + base64.StdEncoding.EncodeToString(sourceMap) + "\n"
}

// nowhere returns the bundler's working directory. The bundler reads nothing there: the plugin answers every import.
func nowhere() string {
	if dir, err := filepath.Abs(string(filepath.Separator)); err == nil {
		return dir
	}
	return os.TempDir()
}
