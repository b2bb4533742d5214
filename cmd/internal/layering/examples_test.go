package layering

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the pages of docs take from the source")

// shown is a block of Go on a page, below the link to the test that it is from.
var shown = regexp.MustCompile("(?m)^From \\[[^\\]\\n]+\\]\\(([^)\\n]+)\\):\n\n```go\n((?s:.*?))```\n")

// TestDocsShowExamples checks that each Go example of the documentation is the body of a function that the tests run.
func TestDocsShowExamples(t *testing.T) {
	const root = "../../.."
	count := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file := filepath.Join(root, filepath.FromSlash(name))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			page := string(text)
			for _, m := range shown.FindAllStringSubmatch(page, -1) {
				count++
				want, err := exampleOf(filepath.Join(root, filepath.FromSlash(path.Join(path.Dir(name), m[1]))))
				switch {
				case err != nil:
					t.Errorf("%s: %v", name, err)
				case want != m[2] && *update:
					page = strings.Replace(page, m[0], strings.TrimSuffix(m[0], m[2]+"```\n")+want+"```\n", 1)
				case want != m[2]:
					t.Errorf("%s shows another example than %s; run go test ./cmd/internal/layering -update\ngot:\n%s\nwant:\n%s", name, m[1], m[2], want)
				}
			}
			if page != string(text) {
				if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if count < 5 {
		t.Errorf("the documentation shows %d examples, want at least 5", count)
	}
}

// exampleOf returns the body of the only example of a test file, without its indentation.
func exampleOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, 0)
	if err != nil {
		return "", err
	}
	var bodies []string
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
			body := string(text[fset.Position(f.Body.Lbrace).Offset+2 : fset.Position(f.Body.Rbrace).Offset])
			bodies = append(bodies, regexp.MustCompile(`(?m)^\t`).ReplaceAllString(body, ""))
		}
	}
	if len(bodies) != 1 {
		return "", fmt.Errorf("%s has %d examples, want 1", file, len(bodies))
	}
	return bodies[0], nil
}
