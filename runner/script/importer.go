package script

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// importer bundles the modules that one script imports while it runs.
type importer struct {
	src     Source
	opt     Options
	bundler *Bundler

	mu     sync.Mutex        // bundles are made one at a time: each depends on what the guest has
	known  map[string]module // the modules that the guest has, or was sent
	failed map[string]error  // errors of modules that cannot be bundled, by id
}

func newImporter(src Source, opt Options, b *Bundler, known map[string]module) *importer {
	return &importer{src: src, opt: opt, bundler: b, known: maps.Clone(known), failed: map[string]error{}}
}

// maxSpecifier bounds, in bytes, the specifier of a guest.
const maxSpecifier = 4096

// module finds the module that a guest imports and returns its code.
func (im *importer) module(ctx context.Context, specifier, from string) (id, code string, err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	if len(specifier) > maxSpecifier || len(from) > maxSpecifier {
		return "", "", noModule("the path of an import is too long")
	}
	if isBuiltin(specifier) {
		id := builtin(specifier).Path
		return id, "import * as found from " + quote(id) + ";\nexport const " + namespaceExport + " = found;\n", nil
	}
	id, err = im.find(specifier, from)
	if err != nil {
		return "", "", err
	}
	if err := im.failed[id]; err != nil {
		return "", "", err
	}
	if _, ok := im.known[id]; ok {
		return id, exported(id), nil
	}
	made, err := im.bundler.make(ctx, task{Src: im.src, Opt: im.opt, Module: id, Known: im.known})
	if err != nil {
		if _, bad := errors.AsType[*Error](err); bad {
			im.failed[id] = err
		}
		return "", "", err
	}
	maps.Copy(im.known, made.Modules)
	return id, made.Code, nil
}

// find returns the id of the module that a guest imports.
func (im *importer) find(specifier, from string) (string, error) {
	f := newFiles(im.src)
	defer f.close()
	if err := f.open(im.src.Dir, im.opt); err != nil {
		return "", err
	}
	namespace, importer := importerOf(from)
	found, err := f.find(specifier, namespace, importer)
	switch {
	case err != nil:
		return "", noModule(err.Error())
	case found == (place{scriptNamespace, im.src.Name}):
		return "", noModule(errItself.Error())
	}
	return found.id(), nil
}

// moduleBundle makes the bundle of a module that the guest does not have, with what it imports.
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
	modules[id] = module{CommonJS: m.Inputs[id].Format == "cjs"} // also if it is empty
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

// exported returns code that exports a module of the registry.
func exported(id string) string {
	return "export const " + namespaceExport + " = await globalThis[" + registryKey + "].get(" + quote(id) + ");\n"
}

// importerOf parses the id of a module from a guest.
func importerOf(from string) (namespace, importer string) {
	namespace, importer, _ = strings.Cut(from, ":")
	importer = strings.TrimPrefix(path.Clean("/"+importer), "/")
	if !slices.Contains([]string{treeNamespace, skillsNamespace, scriptNamespace}, namespace) {
		return scriptNamespace, ""
	}
	return namespace, importer
}

// noModule returns the error of an import that cannot be resolved.
func noModule(text string) *Error {
	return &Error{Problems: []Problem{{Text: text}}}
}

//go:embed registry.js
var registryCode string

const (
	// registryKey is where a guest keeps the modules of its run.
	registryKey = `Symbol.for("mcprun.modules")`
	// knownModules is the variable of a bundle that holds the modules which it shares with earlier ones.
	knownModules = "__mcprun_known"
	// namespaceExport is what a later bundle exports: the module that was asked for.
	namespaceExport = "__mcprun"
)

// module is what is known of a module that a guest has.
type module struct{ CommonJS bool }

// meta is what the bundler says of a bundle.
type meta struct {
	Inputs  map[string]struct{ Format string }
	Outputs map[string]struct {
		Inputs  map[string]struct{ BytesInOutput int }
		Exports []string
	}
}

func readMeta(text string) (*meta, error) {
	m := &meta{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("read what the bundler says of the bundle: %w", err)
	}
	return m, nil
}

// attributes is how the bundler's names of modules end that were imported "with" something, such as the type of JSON.
var attributes = pattern(` with \{ .* \}$`)

// modules are those that a bundle holds and that others can share: all but data, indexes that were cut, and what was
// written here.
func (m *meta) modules() map[string]module {
	found := map[string]module{}
	for _, out := range m.Outputs {
		for id, in := range out.Inputs {
			shared := strings.Contains(id, ":") && !strings.Contains(id, "?") && !strings.HasSuffix(id, ".json") &&
				!strings.HasPrefix(id, entryNamespace+":") && !strings.HasPrefix(id, knownNamespace+":") && !attributes().MatchString(id)
			if shared && in.BytesInOutput > 0 {
				found[id] = module{CommonJS: m.Inputs[id].Format == "cjs"}
			}
		}
	}
	return found
}

// known are the modules of earlier bundles that this one uses.
func (m *meta) known() []string {
	var ids []string
	for id := range m.Inputs {
		if known, ok := strings.CutPrefix(id, knownNamespace+":"); ok {
			ids = append(ids, known)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *meta) exports(name string) bool {
	for _, out := range m.Outputs {
		if slices.Contains(out.Exports, name) {
			return true
		}
	}
	return false
}

// registration is a module that puts modules into the registry.
func registration(ids []string) string {
	var load strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&load, "%s: () => import(%s),\n", quote(id), quote(id))
	}
	return fmt.Sprintf("%s\nglobalThis[%s].add({\n%s});\n", registryCode, registryKey, load.String())
}

// quote writes a string for JavaScript.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: strings can be written
	}
	return string(text)
}
