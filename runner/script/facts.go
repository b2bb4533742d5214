package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Bounds on the files beside a script and the skills that it imports.
const (
	maxModules     = 200
	maxModuleBytes = 4 << 20
)

// facts finds what a TypeScript script does and uses, and the digest of its files and the skills that it imports. It reads the same texts
// as the bundle.
func (f *files) facts() (*bundle, error) {
	facts, used, sum := &judge.Facts{}, newUses(f), sha256.New()
	pending := []place{{scriptNamespace, f.main.Name}}
	for seen, size, count := map[place]bool{}, 0, 0; len(pending) > 0; {
		at := pending[0]
		pending = pending[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		text, err := f.text(at.Namespace, at.Path)
		if err != nil {
			continue // bundling reports it
		}
		addTo(sum, at.Namespace+"/"+at.Path, text)
		if path.Ext(at.Path) == ".json" {
			continue
		}
		count++
		if size += len(text); count > maxModules || size > maxModuleBytes {
			return nil, tooMany(f.main.Name)
		}
		if f.onlySmall && !isSmall(at.Namespace, text) {
			return nil, errNotSmall
		}
		before := len(facts.Facts)
		imports, err := factsOf(facts, at, text)
		if bad, ok := errors.AsType[*Error](err); ok { // bundling also reports this, unless the file is imported by a computed path
			p := bad.Problems[0]
			facts.Unreadable = append(facts.Unreadable, judge.Problem{File: p.File, Line: p.Line, Column: p.Column, Text: p.Text})
		} else if err != nil {
			return nil, err
		}
		for _, specifier := range imports {
			if isBuiltin(specifier) || len(specifier) > maxSpecifier {
				continue
			}
			to, err := f.find(specifier, at.Namespace, at.Path)
			if at.Namespace == scriptNamespace {
				used.imports(at, specifier, to, err)
			}
			if err == nil && (to.Namespace == scriptNamespace || to.Namespace == skillsNamespace) {
				pending = append(pending, to)
			}
		}
		for _, fact := range facts.Facts[before:] {
			if at.Namespace == scriptNamespace && fact.ByID {
				used.used.Tools = append(used.used.Tools, fact.Value)
			}
		}
	}
	return &bundle{Facts: facts, Uses: used.sorted(), Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// tooMany returns the error for a script that imports too much.
func tooMany(name string) *Error {
	return &Error{Problems: []Problem{{File: name, Text: fmt.Sprintf("the script imports more than %d files or %d bytes", maxModules, maxModuleBytes)}}}
}

// addTo adds a file to a digest.
func addTo(sum hash.Hash, name, text string) { fmt.Fprintf(sum, "%q %d %s", name, len(text), text) }

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
