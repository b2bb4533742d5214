package script

import (
	"context"
	"errors"
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
	known  map[string]module // the modules that the guest already has or was sent
	failed map[string]error  // errors of modules that cannot be bundled, by id
}

func newImporter(src Source, opt Options, b *Bundler, known map[string]module) *importer {
	return &importer{src: src, opt: opt, bundler: b, known: maps.Clone(known), failed: map[string]error{}}
}

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
