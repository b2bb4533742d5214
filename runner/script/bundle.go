package script

import (
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// tsconfig stands for any tsconfig.json: none is read.
const tsconfig = `{"compilerOptions":{"verbatimModuleSyntax":false}}`

// bundle is a script and what it imports, as one ES module with an inline source map. Only Facts and Digest are of a script that was read
// and cannot be bundled.
type bundle struct {
	Code string
	// Modules are the modules that it registers for bundles that are made while it runs. Nil: it has no computed imports.
	Modules map[string]module
	Facts   *judge.Facts // of a script
	Digest  string       // of a script; see [Program]
}

// newBundle makes the bundle of a script.
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
	case errors.Is(err, errNotSmall):
		return nil, err
	case err != nil && made != nil && len(made.Facts.Unreadable) > 0:
		return nil, err
	case err != nil: // it says more than unread
		return made, err
	case unread != nil:
		return nil, unread
	}
	made.Code, made.Modules = code, modules
	return made, nil
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
			if f.ownModule = err == nil; f.ownModule { // otherwise it declares that name itself
				res = again
			}
		}
	}
	if !f.computed {
		return output(res), nil, nil
	}
	// Build again, with the modules that it turned out to have in the registry.
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

// build runs the bundler from one module. Known, unless empty, is an expression for the object of known modules.
func (f *files) build(entry, known string) (*api.BuildResult, error) {
	banner := map[string]string{}
	if known != "" {
		banner["js"] = "const " + knownModules + " = " + known + ";"
	}
	var inject []string
	if f.entry[globalsEntry] = globals(f.main.Code); f.entry[globalsEntry] != "" {
		inject = []string{entryNamespace + ":" + globalsEntry}
	}
	res := api.Build(api.BuildOptions{
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
	})
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

// loaderOf returns the loader for a file. Plain JavaScript is read as JavaScript, so that its errors are its own.
func loaderOf(name string) api.Loader {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".tsx":
		return api.LoaderTSX
	case ".js", ".mjs", ".cjs":
		return api.LoaderJS
	case ".jsx":
		return api.LoaderJSX
	case ".json":
		return api.LoaderJSON
	}
	return api.LoaderTS
}

// globalNames returns the names that code from other hosts uses without an import, with code that exports each.
func globalNames() map[string]string {
	return map[string]string{
		"callMCPTool": fromLibrary("callMCPTool"),
		"searchTools": fromLibrary("searchTools"),
		"fs":          fsGlobal,
		"path":        `export const path = /* @__PURE__ */ given("path", () => globalThis.require("node:path"));` + "\n",
	}
}

// fromLibrary returns code that exports a name of the library.
func fromLibrary(name string) string {
	return "export { " + name + " } from " + quote(libraryNamespace+":"+libraryFile) + ";\n"
}

// givenGlobal is the beginning of the module. A variable of the run takes precedence.
const givenGlobal = "const given = (name, make) => (name in globalThis ? globalThis[name] : make());\n"

// fsGlobal exports node:fs with functions that return promises when they get no callback.
const fsGlobal = `export const fs = /* @__PURE__ */ given("fs", () => {
  const fs = globalThis.require("node:fs"), all = { ...fs };
  for (const name of Object.keys(fs.promises)) {
    if (typeof fs[name] !== "function" || typeof fs.promises[name] !== "function") continue;
    all[name] = (...args) => (typeof args.at(-1) === "function" ? fs[name](...args) : fs.promises[name](...args));
  }
  return all;
});
`

// usedGlobals returns, for each name, patterns for its use as a global and for its declaration. Another module would slow
// bundling down, so it is added only when used.
var usedGlobals = sync.OnceValue(func() map[string][2]*regexp.Regexp {
	out := map[string][2]*regexp.Regexp{}
	for name := range globalNames() {
		used := `\b` + name + `\.\w`
		if name == "callMCPTool" || name == "searchTools" {
			used = `\b` + name + `\s*[<(]`
		}
		out[name] = [2]*regexp.Regexp{
			regexp.MustCompile(`(?:^|[^.\w$])` + used),
			regexp.MustCompile(`(?m)(?:^|;)\s*(?:import\b[^"';]*\b` + name + `\b|(?:const|let|var)\s+` + name + `\b)`),
		}
	}
	return out
})

// globals returns a module with the globals that a script uses and does not declare; empty: none. The bundler uses them only where
// the name is not defined.
func globals(code string) string {
	text := ""
	for _, name := range []string{"callMCPTool", "searchTools", "fs", "path"} {
		find := usedGlobals()[name]
		if find[0].MatchString(code) && !find[1].MatchString(code) {
			text += globalNames()[name]
		}
	}
	if text == "" {
		return ""
	}
	return givenGlobal + text
}
