package script

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle turns a script and what it imports into one ES module with an inline source map.
func bundle(src Source, opt Options) (string, error) {
	files := &files{}
	defer files.close()
	if err := files.open(src.Dir, opt.Tree); err != nil {
		return "", err
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
		TsconfigRaw:   `{"compilerOptions":{"verbatimModuleSyntax":false}}`,
		Charset:       api.CharsetUTF8,
		LogLevel:      api.LogLevelSilent,
		Plugins:       []api.Plugin{files.plugin()},
	})
	if len(res.Errors) > 0 {
		return "", fromMessages(src.Name, res.Errors)
	}
	return string(res.OutputFiles[0].Contents), nil
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
