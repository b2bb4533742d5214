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

// importer makes the modules that one run asks for while it goes on.
type importer struct {
	src   Source
	opt   Options
	maker bundler

	mu     sync.Mutex        // one bundle after the other: each must know what the one before has
	known  map[string]module // what the guest has, or will have
	broken error             // why nothing more is made: a bundle is still at work
	failed map[string]error  // modules that could not be made, by id
}

func newImporter(src Source, opt Options, known map[string]module, maker bundler) *importer {
	return &importer{src: src, opt: opt, maker: maker, known: maps.Clone(known), failed: map[string]error{}}
}

// maxSpecifier bounds, in bytes, what a guest may ask for.
const maxSpecifier = 4096

// module finds what a guest asks for and makes its code.
func (im *importer) module(ctx context.Context, specifier, from string) (id, code string, err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if err := errors.Join(ctx.Err(), im.broken); err != nil {
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
	// A copy: a bundle whose time is up, or that nobody waits for any more, may still be made.
	made, err := im.maker.make(ctx, task{Src: im.src, Opt: im.opt, Module: id, Known: maps.Clone(im.known)}, nil)
	var bad *Error
	switch {
	case errors.As(err, &bad):
		im.failed[id] = err
		return "", "", err
	case err != nil:
		if _, here := im.maker.(inProcess); here {
			im.broken = err
		}
		return "", "", err
	}
	maps.Copy(im.known, made.modules)
	return id, made.code, nil
}

// find is the id of the module that a guest means.
func (im *importer) find(specifier, from string) (string, error) {
	f := newFiles(im.src, nil)
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

// moduleBundle makes the bundle of a module that the guest does not have, and of what that needs. Look is as in files.
func moduleBundle(t task, look func(id, text string) error) (*bundle, error) {
	id := t.Module
	f := newFiles(t.Src, nil)
	f.known, f.look = t.Known, look
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
	modules[id] = module{CommonJS: m.Inputs[id].Format == "cjs"} // also when there is nothing in it
	f.entry["main"] = "import " + quote(entryNamespace+":modules") + ";\n" + exported(id)
	f.entry["modules"] = registration(slices.Sorted(maps.Keys(modules)), false)
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
	return &bundle{code: output(res), modules: modules}, nil
}

// nobody stands for the known modules in a bundle that is only looked at.
const nobody = "{}"

// exported is the code that hands out a module of the registry.
func exported(id string) string {
	return "export const " + namespaceExport + " = await globalThis[" + registryKey + "].get(" + quote(id) + ");\n"
}

// importerOf reads the id of a module, as a guest says it.
func importerOf(from string) (namespace, importer string) {
	namespace, importer, _ = strings.Cut(from, ":")
	importer = strings.TrimPrefix(path.Clean("/"+importer), "/")
	if !slices.Contains([]string{treeNamespace, skillsNamespace, scriptNamespace}, namespace) {
		return scriptNamespace, ""
	}
	return namespace, importer
}

// noModule is the error of an import that leads nowhere.
func noModule(text string) *Error {
	return &Error{Problems: []Problem{{Text: text}}}
}
