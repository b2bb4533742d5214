package script

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// tsconfig stands for any tsconfig.json: none is read.
const tsconfig = `{"compilerOptions":{"verbatimModuleSyntax":false}}`

// bundle turns a script and what it imports into one ES module with an inline source map. Seen, unless nil, is told what
// that stands on.
func bundle(src Source, opt Options, seen *reads) (string, error) {
	files := &files{seen: seen}
	defer files.close()
	if err := files.open(src.Dir, opt.Tree); err != nil {
		return "", err
	}
	if found := unsafe(src.Code, loaderOf(src.Name)); len(found) > 0 {
		return "", fromMessages(src.Name, inModule(found, "", src.Name))
	}
	res := api.Build(api.BuildOptions{
		Stdin:         &api.StdinOptions{Contents: src.Code, Sourcefile: src.Name, Loader: loaderOf(src.Name)},
		AbsWorkingDir: nowhere(),
		Outfile:       "script.js",
		Bundle:        true,
		Write:         false,
		Format:        api.FormatESModule,
		Platform:      api.PlatformNeutral,
		Target:        api.ES2023,
		Sourcemap:     api.SourceMapInline,
		TsconfigRaw:   tsconfig,
		Charset:       api.CharsetUTF8,
		LogLevel:      api.LogLevelSilent,
		Plugins:       []api.Plugin{files.plugin()},
		Define:        places(src.Name),
	})
	if len(res.Errors) > 0 {
		return "", fromMessages(src.Name, res.Errors)
	}
	return string(res.OutputFiles[0].Contents), nil
}

// places answers where a script lies and whether it is the one that was started, as if it ran from the workspace:
// guests run it from somewhere else, and without an answer code below `require.main === module` would silently not run.
func places(name string) map[string]string {
	file := strconv.Quote(path.Join(sandbox.WorkspaceDir, name))
	dir := strconv.Quote(sandbox.WorkspaceDir)
	address := strconv.Quote((&url.URL{Scheme: "file", Path: path.Join(sandbox.WorkspaceDir, name)}).String())
	return map[string]string{
		"import.meta.url": address, "import.meta.filename": file, "import.meta.dirname": dir, "import.meta.main": "true",
		"__filename": file, "__dirname": dir, "require.main": "module",
	}
}

// nowhere is the bundler's working directory. It reads nothing there: the plugin answers for every import.
func nowhere() string {
	if dir, err := filepath.Abs(string(filepath.Separator)); err == nil {
		return dir
	}
	return os.TempDir()
}

// loaderOf picks the syntax for a file. Plain JavaScript is read as JavaScript, so that its errors are its own.
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
