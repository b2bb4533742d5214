package script

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A bundle is one module, and the guest runs it from another place. Modules that ask where they are, or whether they are the
// script that was started, get the answers that they would get in the workspace. Otherwise code guarded by `require.main ===
// module` would silently not run, or would run in a module that is merely imported.

var (
	metaWord = pattern(`\bmeta\b`)
	mainWord = pattern(`\bmain\b`)
)

// asksWhere reports whether code may ask where it is.
func asksWhere(code string) bool {
	has := func(word string) bool { return strings.Contains(code, word) }
	return has("__filename") || has("__dirname") || has("import") && metaWord().MatchString(code) || has("require") && mainWord().MatchString(code)
}

// needsModule reports whether code may ask in the way of CommonJS. An ES module has no variable named module to compare the
// answer with, so it gets one.
func needsModule(code string) bool {
	return strings.Contains(code, "require") && strings.Contains(code, "module") && mainWord().MatchString(code)
}

// withPlace returns a module's code with these answers filled in, as JavaScript with a source map. It is not ok if the
// module asks nothing or cannot be parsed; the bundler then reports the syntax error.
func (f *files) withPlace(id, code string, loader api.Loader) (js string, ok bool) {
	if f.plain || loader == api.LoaderJSON || !asksWhere(code) {
		return "", false
	}
	namespace, name, _ := strings.Cut(id, ":")
	script := id == scriptNamespace+":"+f.main.Name
	file := fileOf(namespace, name)
	address := quote((&url.URL{Scheme: "file", Path: file}).String())
	resolve := unusedWord(code, "$resolve")
	answers := map[string]string{
		"__filename": quote(file), "__dirname": quote(path.Dir(file)),
		"import.meta.url": address, "import.meta.filename": quote(file), "import.meta.dirname": quote(path.Dir(file)), "import.meta.main": strconv.FormatBool(script),
		"import.meta":         fmt.Sprintf(`{"url":%s,"filename":%s,"dirname":%s,"main":%t}`, address, quote(file), quote(path.Dir(file)), script),
		"import.meta.resolve": resolve,
		"require.main":        fmt.Sprintf(`{"filename":%s,"id":"."}`, quote(fileOf(scriptNamespace, f.main.Name))),
	}
	if script {
		answers["require.main"] = "module"
	}
	res := defined(code, name, loader, answers)
	if len(res.Errors) > 0 {
		return "", false
	}
	js = string(res.Code)
	if strings.Contains(js, resolve) {
		js += "function " + resolve + "(to){return new URL(to," + address + ").href}\n"
	}
	if probe := unusedWord(code, "$meta"); metaWord().MatchString(code) && bytes.Contains(defined(code, name, loader, map[string]string{"import.meta": probe}).Code, []byte(probe)) {
		js += "export {};\n" // its import.meta made it an ES module
	}
	if script && f.ownModule {
		js += "var module;\n"
	}
	return js + "//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString(res.Map) + "\n", true
}

// unusedWord returns a word that does not occur in code: the beginning, a character or two, and $.
func unusedWord(code, begin string) string {
	for i := range 36 {
		if word := begin + strconv.FormatInt(int64(i), 36) + "$"; !strings.Contains(code, word) {
			return word
		}
	}
	return begin + "_$" // the code contains all others; it is rejected for declaring this one twice
}

// defined transpiles a module and replaces expressions with constants.
func defined(code, name string, loader api.Loader, constants map[string]string) api.TransformResult {
	return api.Transform(code, api.TransformOptions{
		Loader: loader, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, Charset: api.CharsetUTF8,
		Sourcemap: api.SourceMapExternal, Sourcefile: name, Define: constants,
	})
}

// fileOf returns the path of a module's file in a sandbox.
func fileOf(namespace, name string) string {
	if namespace == scriptNamespace {
		return path.Join(sandbox.WorkspaceDir, name)
	}
	return path.Join(sandbox.WorkspaceDir, namespace, name)
}
