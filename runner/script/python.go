package script

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/script/internal/pyimport"
)

// Bounds on the Python files beside a script that it imports.
const (
	maxModuleDepth = 64 // names in one import; a.b.c has three
	// maxModuleParts is the maximum number of folders and files that are looked up for imports. A long list of deeply nested names would
	// otherwise take minutes.
	maxModuleParts = 300_000
)

// readPython finds the files beside the script and the skills that it imports. Other files of the folder do not go into the sandbox, nor do
// closed ones.
func (p *Program) readPython(job *bridge.Job) error {
	job.Code = strings.TrimPrefix(p.src.Code, "\ufeff")
	f := newFiles(p.src)
	defer f.close()
	if err := f.open(p.src.Dir, p.opt); err != nil {
		return err
	}
	beside := &pythonFiles{root: f.script, closed: f.closed, found: map[string]string{}, absent: map[string]bool{}}
	p.imports = map[string][]pyimport.Import{p.src.Name: beside.follow(p.src.Name, job.Code, path.Dir(p.src.Name))}
	for len(beside.pending) > 0 && beside.problem == nil {
		file := beside.pending[0]
		beside.pending = beside.pending[1:]
		p.imports[file] = beside.follow(file, beside.found[file], path.Dir(file))
	}
	if beside.problem != nil {
		return &Error{Problems: []Problem{*beside.problem}}
	}
	if len(beside.found) > 0 {
		job.Modules = beside.found
	}
	p.Job = job
	p.sources.skills, p.sources.texts = p.opt.Skills, job.Modules
	return p.pythonSkills(f)
}

// pythonSkills adds the skills to the files of the program, computes its digest, and finds what it uses.
func (p *Program) pythonSkills(f *files) error {
	p.Texts = map[string]string{}
	maps.Copy(p.Texts, p.Modules)
	p.Texts[p.src.Name] = p.Code
	p.Files = append([]string{p.src.Name}, slices.DeleteFunc(slices.Sorted(maps.Keys(p.Modules)), func(n string) bool { return n == p.src.Name })...)
	sum, size := sha256.New(), 0
	for i := 0; i < len(p.Files); i++ {
		name := p.Files[i]
		addTo(sum, name, p.Texts[name])
		imports, ok := p.imports[name]
		if !ok { // a skill
			imports = pyimport.Scan(p.Texts[name])
		}
		for _, file := range f.pythonSkills(imports) {
			text, err := f.text(skillsNamespace, file)
			if name := "skills/" + file; err == nil && p.Texts[name] == "" && text != "" {
				if size += len(text); len(p.Files) == maxModules || size > maxModuleBytes {
					return tooMany(p.src.Name)
				}
				p.Texts[name] = strings.TrimPrefix(text, "\ufeff")
				p.Files = append(p.Files, name)
			}
		}
	}
	p.Digest = hex.EncodeToString(sum.Sum(nil))
	used := newUses(f)
	for _, file := range slices.Sorted(maps.Keys(p.imports)) {
		used.python(file, p.Texts[file], p.imports[file])
	}
	p.Uses = used.sorted()
	return nil
}

// pythonFiles follows imports from file to file.
type pythonFiles struct {
	root    *os.Root // nil: none
	closed  []fs.FileInfo
	found   map[string]string // code by path, with slashes
	absent  map[string]bool   // paths that do not exist
	pending []string          // found but not scanned yet
	file    string            // the file that is being scanned
	size    int
	parts   int // see maxModuleParts
	problem *Problem
}

// follow adds the files that a file imports, and returns its imports. dir is its package's folder relative to the script's folder, or ""
// for the script.
func (p *pythonFiles) follow(file, code, dir string) []pyimport.Import {
	imports := pyimport.Scan(code)
	p.file = file
	for _, im := range imports {
		if p.root == nil || p.problem != nil {
			break
		}
		names := im.Module
		if im.Level > 0 {
			from := dir
			if dir == "." {
				from = ""
			}
			parents := strings.Split(from, "/")
			if from == "" || im.Level > len(parents) {
				continue // Python reports that there is no such package
			}
			names = append(slices.Clone(parents[:len(parents)-(im.Level-1)]), im.Module...)
		} else if len(names) == 0 || slices.Contains([]string{"servers", "skills", "mcprun", "_mcprun"}, names[0]) {
			continue
		}
		p.module(names)
		for _, name := range im.Names {
			if name == "*" || p.problem != nil {
				continue // a package itself imports the modules that its __all__ names, or does not use them
			}
			p.module(append(slices.Clone(names), name))
		}
	}
	return imports
}

// module adds the files of a module, after those of its packages.
func (p *pythonFiles) module(names []string) {
	if len(names) > maxModuleDepth {
		return // Python reports that there is no such module
	}
	if p.parts += len(names); p.parts > maxModuleParts {
		p.problem = cmp.Or(p.problem, &Problem{File: p.file, Text: "the script, and the files beside it, import too many names: import modules, and use what is in them as MODULE.NAME"})
		return
	}
	for i := range names {
		base := strings.Join(names[:i+1], "/")
		if i < len(names)-1 || !p.add(base+".py") {
			p.add(base + "/__init__.py")
		}
	}
}

// add adds a file and reports whether it exists.
func (p *pythonFiles) add(file string) bool {
	if _, ok := p.found[file]; ok {
		return true
	}
	if p.absent[file] || p.problem != nil {
		return false
	}
	p.parts += strings.Count(file, "/") + 1
	text, there, err := p.read(file)
	switch {
	case !there:
		if len(p.absent) < 100_000 {
			p.absent[file] = true
		}
		return false
	case len(p.found) == maxModules:
		p.problem = &Problem{File: file, Text: fmt.Sprintf("the script imports more than %d files beside it", maxModules)}
		return false
	case len(text) > maxModuleBytes-p.size:
		p.problem = &Problem{File: file, Text: fmt.Sprintf("the files beside the script that it imports have more than %d bytes", maxModuleBytes)}
		return false
	case err != nil:
		p.problem = &Problem{File: file, Text: err.Error()}
		return false
	}
	code := strings.TrimPrefix(string(text), "\ufeff")
	if !utf8.ValidString(code) {
		p.problem = &Problem{File: file, Line: lineOf(code, invalidAt(code)), Text: "the file is not UTF-8"}
		return false
	}
	p.size += len(text)
	p.found[file] = code
	p.pending = append(p.pending, file)
	return true
}

// read reads a file that scripts may read, up to the limit. It checks the opened file, since the path may have changed in the meantime.
func (p *pythonFiles) read(file string) (text []byte, there bool, err error) {
	f, err := safeopen.File(p.root, file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err != nil {
		info, missing := p.root.Stat(file)
		return nil, missing == nil && info.Mode().IsRegular() && !p.shut(file, info), err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || p.shut(file, info) {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(f, int64(maxModuleBytes-p.size)+1))
	return text, true, err
}

// shut reports whether a file is hidden or closed to scripts. To scripts, such a file does not exist.
func (p *pythonFiles) shut(file string, info fs.FileInfo) bool {
	return refuse(p.closed, p.root.Name(), file, info) != nil
}

// pythonSkills returns the files of the skills that are imported.
func (f *files) pythonSkills(imports []pyimport.Import) []string {
	if f.skills == nil {
		return nil
	}
	var out []string
	for _, im := range imports {
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
