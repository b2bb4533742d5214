package exit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocs checks that the tables of exit codes in the documentation have the constants of this package: each table those of its
// program.
func TestDocs(t *testing.T) {
	constants := constants(t)
	mcpgen, mcprun := constants[0], constants[1]
	mcpgen["Interrupted"] = mcprun["Interrupted"]
	delete(mcprun, "Failed") // the script's own
	for page, want := range map[string]map[string]string{"lock-and-report.md": mcpgen, "mcprun.md": mcprun} {
		got := table(t, "../../docs/reference/"+page)
		if want := slices.Sorted(maps.Values(want)); !slices.Equal(got, want) {
			t.Errorf("%s has the exit codes %v, want %v", page, got, want)
		}
	}
}

// constants returns the values of each group of constants, by name.
func constants(t *testing.T) (groups []map[string]string) {
	file, err := parser.ParseFile(token.NewFileSet(), "exit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
			values := map[string]string{}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				values[value.Names[0].Name] = value.Values[0].(*ast.BasicLit).Value
			}
			groups = append(groups, values)
		}
	}
	if len(groups) != 2 {
		t.Fatalf("exit.go has %d groups of constants, want one for each program", len(groups))
	}
	return groups
}

var row = regexp.MustCompile(`(?m)^\| (\d+)[^|]*\|`)

// table returns the codes below the heading "Exit codes" of a page, without success. Where a row has several, the first counts.
func table(t *testing.T, page string) (codes []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Exit codes\n")
	if !ok {
		t.Fatalf("%s has no heading \"Exit codes\"", page)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		if m[1] != "0" {
			codes = append(codes, m[1])
		}
	}
	slices.Sort(codes)
	return codes
}
