package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
)

// TestEditor checks scripts as a person's editor does, with the tree's own editor settings: the scripts use everything that a script may
// import, and lines that must be errors are marked as errors.
func TestEditor(t *testing.T) {
	dir := filepath.Dir(rendertest.Write(t, renderGolden(t).Tree))
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata/editor", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	put("example.ts", read("example.ts"))
	put("tsconfig.json", `{ "extends": "./servers/.mcpgen/editor/tsconfig.json" }`)
	put("jobs/example.ts", strings.NewReplacer(`"./servers/`, `"../servers/`, `"./servers"`, `"../servers"`).Replace(read("example.ts")))
	put("jobs/tsconfig.json", `{ "extends": "../servers/.mcpgen/editor/tsconfig.json" }`)
	put("example.py", read("example.py"))
	put("pyproject.toml", "[tool.pyright]\nextends = \"servers/.mcpgen/editor/pyright.json\"\ninclude = [\"example.py\"]\ntypeCheckingMode = \"strict\"\nreportMissingModuleSource = false\n")
	rendertest.Run(t, dir, rendertest.Checker(t, "tsc"), "-p", ".")
	rendertest.Run(t, dir, rendertest.Checker(t, "tsc"), "-p", "jobs")
	rendertest.Run(t, dir, rendertest.Checker(t, "pyright"), "-p", ".", "--warnings")

	// Errors must be reported, or the checks above prove nothing.
	put("example.ts", "import { readFile } from \"mcprun\";\nexport const n: number = await readFile(\"x\");\n")
	if out := wrong(t, dir, "tsc"); !strings.Contains(out, "example.ts(2,14)") {
		t.Errorf("tsc finds nothing wrong, want \"example.ts(2,14)\" in it:\n%s", out)
	}
	put("example.py", "n: int = read_file(\"x\")\n")
	if out := wrong(t, dir, "pyright"); !strings.Contains(out, "example.py:1:10") {
		t.Errorf("pyright finds nothing wrong, want \"example.py:1:10\" in it:\n%s", out)
	}
}

// wrong runs a type checker that must find something, and returns its output.
func wrong(t *testing.T, dir, program string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rendertest.Checker(t, program), "-p", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s finds nothing wrong: got no error, want an error", program)
	}
	return string(out)
}
