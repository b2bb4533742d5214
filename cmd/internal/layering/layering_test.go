package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcpgen/mcpgen"

// source is one Go file of the module, whatever platform it is for.
type source struct {
	name string // path below the module
	pkg  string // its folder
	test bool
	file *ast.File
}

func (s *source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, imported := range s.imports() {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			switch {
			case isOurs:
				if problem := checkOurs(&s, ours); problem != "" {
					t.Errorf("%s imports %s: %s", s.name, ours, problem)
				}
			case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
				if problem := checkLibrary(&s, imported); problem != "" {
					t.Errorf("%s imports %s: %s", s.name, imported, problem)
				}
			}
		}
	}
}

func checkOurs(s *source, imported string) string {
	if strings.HasPrefix(s.pkg+"/", "gen/") && strings.HasPrefix(imported+"/", "runner/") {
		return "gen never imports runner"
	}
	if s.pkg == imported || s.test { // tests may import more, but not upwards
		return ""
	}
	for _, r := range rules() {
		if fits(r.pkg, s.pkg) {
			if slices.ContainsFunc(r.mayBe, func(p string) bool { return fits(p, imported) }) {
				return ""
			}
			return fmt.Sprintf("%s may import of ours: %s", r.pkg, strings.Join(r.mayBe, ", "))
		}
	}
	return "there is no rule for the importing package; add one to rules, and say why in docs/design.md"
}

func checkLibrary(s *source, imported string) string {
	for _, h := range homes() {
		if imported != h.library && !strings.HasPrefix(imported, h.library+"/") {
			continue
		}
		if s.test || slices.ContainsFunc(h.pkgs, func(p string) bool { return fits(p, s.pkg) }) {
			return ""
		}
		return fmt.Sprintf("its home is %s", strings.Join(append(h.pkgs, "tests"), ", "))
	}
	return "the library has no home; add it to homes, and one line of reason to docs/design.md"
}

// TestEveryPackageHasARule makes sure that no new package is outside of all layers.
func TestEveryPackageHasARule(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if seen[s.pkg] || s.file.Name.Name == "deps" {
			continue
		}
		seen[s.pkg] = true
		if !slices.ContainsFunc(rules(), func(r rule) bool { return fits(r.pkg, s.pkg) }) && hasCode(t, s.pkg) {
			t.Errorf("package %q has no rule", s.pkg)
		}
	}
	if len(seen) < 10 {
		t.Fatalf("only %d packages were found", len(seen))
	}
}

// hasCode reports whether a folder has Go files that are not tests.
func hasCode(t *testing.T, pkg string) bool {
	return slices.ContainsFunc(sources(t), func(s source) bool { return s.pkg == pkg && !s.test })
}

// TestProcessState checks that libraries take values and writers. Only commands, and the programs that a sandbox's launcher runs
// as, touch what belongs to the process.
func TestProcessState(t *testing.T) {
	forbidden := map[string][]string{
		"os":   {"Args", "Exit", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Stdin", "Stdout", "Stderr", "Getwd", "Chdir"},
		"fmt":  {"Print", "Printf", "Println"},
		"log":  {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
		"flag": {"Parse", "CommandLine"},
	}
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "cmd/") || slices.ContainsFunc(programs(), func(p string) bool { return fits(p, s.pkg) || p == s.name }) {
			continue
		}
		names := map[string]string{} // local name → package
		for _, spec := range s.file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			name := path.Base(p)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = p
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(forbidden[names[x.Name]], sel.Sel.Name) {
				t.Errorf("%s uses %s.%s: only commands may", s.name, x.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// programs lists the places outside of cmd that are, or start as, a process of their own: packages by pattern, or files.
func programs() []string {
	return []string{
		// The child that a sandbox starts as a second process of the same program. It recognises itself by its arguments, and its
		// standard streams are its channel to the host.
		"runner/sandbox/internal/jail/init_linux.go",
		"runner/sandbox/internal/reaper/reaper.go",
		"runner/store/storetest/kill.go", // likewise, in tests; it writes until it is killed
		"runner/sandbox/docker/guard.go", // likewise; it removes containers
		"runner/sandbox/gvisor/enter_linux.go",
		"runner/script/child.go", // likewise; it bundles scripts
		"runner/sandbox/embedded/child.go",
		"runner/sandbox/embedded/guest.go",
		"runner/sandbox/embedded/guest_32bit.go",
		"runner/sandbox/embedded/unjailed_unix.go",
		"runner/sandbox/embedded/unjailed_windows.go",
		// Helpers of tests, which run the test binary again as a server or look at their own environment.
		"gen/upstream/upstreamtest",
		// What tests share: it finds type checkers as they do.
		"gen/render/internal/rendertest",
		"runner/sandbox/sandboxtest",
	}
}

// TestNoInit checks that nothing happens because a package is linked in, except that a sandbox's own first process begins.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		if s.name == "cmd/internal/backends/early/early.go" {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", s.name)
			}
		}
	}
}

// TestRulesCanFail makes sure that the patterns are not so wide that nothing can break a rule.
func TestRulesCanFail(t *testing.T) {
	for _, tt := range []struct {
		pkg, imported string
		ok            bool
	}{
		{"gen/render", "gen/catalog", false},
		{"gen/render", "gen/ir", true},
		{"gen/tree", "gen/ident", false},
		{"gen", "gen/tree", true},
		{"gen", "gen/upstream/upstreamtest", false},
		{"gen/config", "runner/call", false},
		{"runner", "runner/sandbox/docker", false},
		{"runner/sandbox/docker", "runner/sandbox/process", false},
		{"runner/sandbox/docker", "runner/sandbox", true},
		{"cmd/mcpgen", "gen/catalog", false},
		{"cmd/mcpgen", "gen", true},
		{"somewhere/new", "gen", false},
	} {
		problem := checkOurs(&source{pkg: tt.pkg}, tt.imported)
		if (problem == "") != tt.ok {
			t.Errorf("%s imports %s: %q", tt.pkg, tt.imported, problem)
		}
	}
	if checkLibrary(&source{pkg: "gen"}, "github.com/spf13/cobra") == "" || checkLibrary(&source{pkg: "gen"}, "example.com/new") == "" ||
		checkLibrary(&source{pkg: "cmd/mcprun"}, "github.com/spf13/cobra") != "" {
		t.Error("a library outside of its home was not noticed, or one at home was")
	}
}

// fits matches a path with a pattern.
func fits(pattern, name string) bool {
	switch {
	case pattern == "**":
		return true
	case strings.HasSuffix(pattern, "/**"):
		base := strings.TrimSuffix(pattern, "/**")
		return name == base || strings.HasPrefix(name, base+"/")
	case strings.HasSuffix(pattern, "/*"):
		return path.Dir(name) == strings.TrimSuffix(pattern, "/*")
	}
	return pattern == name
}

// sources parses every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata" || base == "build" || base == "workspace") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(base) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		out = append(out, source{name: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"), file: file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(out, func(s source) bool { return s.file.Name.Name == "deps" }) // keeps versions in go.mod
}
