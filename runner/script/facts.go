package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Facts finds what a TypeScript script does, and the files of the project and skills that it imports, without running any of it.
// Errors in the script are an *Error.
func (b *Bundler) Facts(ctx context.Context, src Source, opt Options) (*judge.Facts, error) {
	if err := check(src); err != nil {
		return nil, err
	}
	made, err := b.make(ctx, task{Src: src, Opt: opt, Judge: true})
	if err != nil {
		return nil, err
	}
	return made.Facts, nil
}

// Digest returns the SHA-256, in hexadecimal, of a script and of all files beside it and skills that it imports, with their names. Imports by
// a computed path are not known. Errors in the script are an *Error.
func (b *Bundler) Digest(ctx context.Context, src Source, opt Options) (string, error) {
	if src.Language == sandbox.LangPython {
		texts, order, err := PythonFiles(src, opt)
		if err != nil {
			return "", err
		}
		sum := sha256.New()
		for _, name := range order {
			addTo(sum, name, texts[name])
		}
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	if err := check(src); err != nil {
		return "", err
	}
	made, err := b.make(ctx, task{Src: src, Opt: opt, Judge: true})
	if err != nil {
		return "", err
	}
	return made.Digest, nil
}

// addTo adds a file to a digest.
func addTo(sum hash.Hash, name, text string) { fmt.Fprintf(sum, "%q %d %s", name, len(text), text) }

// facts makes the bundle of a task with Judge, which has only Facts and Digest.
func (t task) facts() (*bundle, error) {
	f := newFiles(t.Src)
	defer f.close()
	if err := f.open(t.Src.Dir, t.Opt); err != nil {
		return nil, err
	}
	facts, sum := &judge.Facts{}, sha256.New()
	pending := []place{{scriptNamespace, t.Src.Name}}
	for seen, size, count := map[place]bool{}, 0, 0; len(pending) > 0; {
		at := pending[0]
		pending = pending[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		text, err := f.text(at.Namespace, at.Path)
		if err != nil {
			continue // the run reports it
		}
		addTo(sum, at.Namespace+"/"+at.Path, text)
		if path.Ext(at.Path) == ".json" {
			continue
		}
		count++
		if size += len(text); count > maxModules || size > maxModuleBytes {
			return nil, &Error{Problems: []Problem{{File: t.Src.Name, Text: fmt.Sprintf("the script imports more than %d files or %d bytes", maxModules, maxModuleBytes)}}}
		}
		if t.small && !isSmall(at.Namespace, text) {
			return nil, errNotSmall
		}
		imports, err := factsOf(facts, at, text)
		if err != nil {
			return nil, err
		}
		for _, specifier := range imports {
			if isBuiltin(specifier) || len(specifier) > maxSpecifier {
				continue
			}
			if to, err := f.find(specifier, at.Namespace, at.Path); err == nil && (to.Namespace == scriptNamespace || to.Namespace == skillsNamespace) {
				pending = append(pending, to)
			}
		}
	}
	return &bundle{Facts: facts, Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// factsOf adds the facts of one module, and returns the specifiers of its imports.
func factsOf(facts *judge.Facts, at place, text string) ([]string, error) {
	name := at.Path
	if at.Namespace == skillsNamespace {
		name = "skills/" + name
	}
	res := api.Transform(text, api.TransformOptions{
		Loader: loaderOf(at.Path), Target: api.ES2022, Sourcemap: api.SourceMapExternal, Sourcefile: name, TsconfigRaw: tsconfig, Charset: api.CharsetUTF8,
		LogLevel: api.LogLevelSilent, Supported: map[string]bool{"for-await": false, "async-generator": false, "import-attributes": false},
	})
	if len(res.Errors) > 0 {
		return nil, fromMessages(name, inModule(res.Errors[:min(len(res.Errors), maxProblems)], at.Namespace, at.Path))
	}
	return facts.JavaScript(name, text, res.Code, res.Map)
}

// PythonFiles returns the texts of a Python script, the files beside it and the skills that it imports, by name, and the names with
// that of the script first. Errors in the script are an *Error.
func PythonFiles(src Source, opt Options) (texts map[string]string, order []string, err error) {
	if err := check(src); err != nil {
		return nil, nil, err
	}
	prepared, err := preparePython(&bridge.Job{Code: src.Code}, src, opt.Closed)
	if err != nil {
		return nil, nil, err
	}
	f := newFiles(src)
	defer f.close()
	if err := f.open(src.Dir, opt); err != nil {
		return nil, nil, err
	}
	texts = map[string]string{}
	maps.Copy(texts, prepared.Modules)
	texts[src.Name] = prepared.Code
	order = append([]string{src.Name}, slices.DeleteFunc(slices.Sorted(maps.Keys(prepared.Modules)), func(n string) bool { return n == src.Name })...)
	size := 0
	for i := 0; i < len(order); i++ {
		for _, file := range f.pythonSkills(texts[order[i]]) {
			text, err := f.text(skillsNamespace, file)
			if name := "skills/" + file; err == nil && texts[name] == "" && text != "" {
				if size += len(text); len(order) == maxModules || size > maxModuleBytes {
					return nil, nil, &Error{Problems: []Problem{{File: src.Name, Text: fmt.Sprintf("the script imports more than %d files or %d bytes", maxModules, maxModuleBytes)}}}
				}
				texts[name] = strings.TrimPrefix(text, "\ufeff")
				order = append(order, name)
			}
		}
	}
	return texts, order, nil
}

// pythonSkills returns the files of the skills that a text imports.
func (f *files) pythonSkills(text string) []string {
	if f.skills == nil || !strings.Contains(text, skillsNamespace) {
		return nil
	}
	var out []string
	for _, im := range pyimport.Scan(text) {
		if im.Level > 0 || len(im.Module) == 0 || im.Module[0] != skillsNamespace {
			continue
		}
		names := im.Names
		if len(im.Module) > 1 {
			names = im.Module[1:2]
		}
		for _, name := range names {
			for _, n := range spellings(name) {
				for _, file := range f.entries(skillsNamespace, n+"/scripts") {
					if strings.HasSuffix(file, ".py") {
						out = append(out, n+"/scripts/"+file)
					}
				}
			}
			if len(out) > maxModules {
				return out[:maxModules]
			}
		}
	}
	return out
}
