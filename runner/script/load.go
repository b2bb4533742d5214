package script

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func (f *files) plugin() api.Plugin {
	return api.Plugin{Name: "mcprun", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, f.resolve)
		for _, namespace := range namespaces() {
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, f.load)
		}
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: entryNamespace}, f.loadEntry)
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: knownNamespace}, f.loadKnown)
		f.bundler = b
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: packageNamespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			text := "module.exports = require(" + quote(a.Path) + ")"
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: fileNamespace}, f.loadPackage)
		// The bundler must not read anything else that it finds by itself.
		b.OnLoad(api.OnLoadOptions{Filter: ".*"}, refuseFiles)
	}}
}

// asyncWrapper matches the head of a generated function. An async function would wrap the promise of its call in one of its
// own, which cannot report that nothing awaits it. Without the keyword the caller gets the original promise.
var asyncWrapper = regexp.MustCompile(`(?m)^export async (function [^\n]*\{\s+return callMCPTool\()`)

// load reads one module.
func (f *files) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := f.text(a.Namespace, a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	loader := loaderOf(a.Path)
	if a.Suffix != "" {
		text = trimIndex(text, strings.Split(strings.TrimPrefix(a.Suffix, "?"), ","))
	}
	if f.onlySmall && !isSmall(a.Namespace, text) {
		f.notSmall.Store(true)
		return api.OnLoadResult{}, errNotSmall
	}
	id := a.Namespace + ":" + a.Path
	if a.Suffix != "" {
		return api.OnLoadResult{Contents: &text, Loader: loader}, nil
	}
	problems := sourceMapComment(text)
	code, located := text, false
	switch a.Namespace {
	case treeNamespace:
		code = asyncWrapper.ReplaceAllString(code, "export $1")
	case scriptNamespace, skillsNamespace: // generated modules do not use their path
		if js, ok := f.withPlace(id, text, loader); ok && len(problems) == 0 {
			code, loader, located = js, api.LoaderJS, true
		}
	}
	computed := false
	if len(problems) == 0 {
		code, computed, problems = admit(code, loader, id)
	}
	if len(problems) > 0 {
		return api.OnLoadResult{Errors: inModule(problems, a.Namespace, a.Path)}, nil
	}
	f.mu.Lock()
	f.located = f.located || located
	f.computed = f.computed || computed
	f.mu.Unlock()
	return api.OnLoadResult{Contents: &code, Loader: loader}, nil
}

func (f *files) loadEntry(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text := f.entry[a.Path]
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
}

// loadKnown returns a module that re-exports a module of the guest and works with every kind of import.
func (f *files) loadKnown(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text := "module.exports = " + knownModules + "[" + quote(a.Path) + "]"
	if f.known[a.Path].CommonJS {
		text += ".default"
	}
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
}

// refuseFiles refuses modules that the bundler found by itself.
func refuseFiles(a api.OnLoadArgs) (api.OnLoadResult, error) {
	return api.OnLoadResult{}, fmt.Errorf("%q is not a module of this script", a.Path)
}

// smallModule is the largest module that can be bundled without limits, in bytes. Such a text is too short to need much
// memory or stack.
const smallModule = 32 << 10

// errNotSmall ends the bundling of a script that is not small.
var errNotSmall = errors.New("not a small script")

// isSmall reports whether a module can be bundled without limits. Wrappers can, because they are generated. A text with an
// enum cannot: esbuild evaluates its members, and each can double the one before.
func isSmall(namespace, text string) bool {
	return namespace == treeNamespace || namespace == libraryNamespace || len(text) <= smallModule && !strings.Contains(text, "enum")
}
