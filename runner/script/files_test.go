package script

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNotForScripts: a script runs beside the project's configuration, which may hold what opens a server to anybody.
func TestNotForScripts(t *testing.T) {
	dir, opt := world(t, map[string]string{
		".mcp.json": `{"token":"SECRET"}`, "host.json": `{"token":"SECRET"}`, ".cursor/mcp.json": `{"token":"SECRET"}`, "settings.ts": "export const SECRET = 1",
		"theirs/a/secret.json": `{"token":"SECRET"}`, "theirs2.json": `{"open":1}`,
		"data.json": `{"open":1}`, "lib/data.json": `{"open":1}`, "workspace/own.json": `{"open":1}`,
	})
	opt.Closed = []string{filepath.Join(dir, "host.json"), filepath.Join(dir, "settings.ts"), filepath.Join(dir, "is-not-there.json"), filepath.Join(dir, "theirs")}
	for link, target := range map[string]string{
		"workspace/a.json": "../.mcp.json", "workspace/b.json": "../host.json", "workspace/c": "../.cursor", "workspace/d.json": "a.json", "workspace/e.json": "own.json", "workspace/f": "../lib",
		"workspace/g": "../theirs/a",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := importing(t, nil, "", dir, opt)
	for _, specifier := range []string{
		"./.mcp.json", "./.mcp", "./lib/../.mcp.json", "/workspace/.mcp.json", "./host.json", "./host", "./settings.ts", "./settings", "./.cursor/mcp.json",
		"./workspace/a.json", "./workspace/b.json", "./workspace/c/mcp.json", "./workspace/d.json",
		"./theirs/a/secret.json", "./theirs/a/secret", "./lib/../theirs/a/secret.json", "./workspace/g/secret.json",
	} {
		_, code, err := p.Import(t.Context(), specifier, "script:script.ts")
		var e *Error
		if !errors.As(err, &e) || code != "" || !strings.Contains(err.Error(), "cannot be imported: ") {
			t.Errorf("%s: %q %v", specifier, code, err)
		}
		if _, err := Read(t.Context(), Source{Name: "script.ts", Code: "import x from '" + specifier + "'; console.log(x);", Language: "typescript", Dir: dir}, opt); !errors.As(err, &e) {
			t.Errorf("%s, written out: %v", specifier, err)
		}
	}
	for _, specifier := range []string{"./data.json", "./lib/data", "./workspace/own.json", "./workspace/e.json", "./workspace/f/data.json", "./theirs2.json"} {
		if _, code, err := p.Import(t.Context(), specifier, "script:script.ts"); err != nil || !strings.Contains(code, "open") && !strings.Contains(code, "__mcprun") {
			t.Errorf("%s: %q %v", specifier, code, err)
		}
	}
}

// TestChangedAfterItWasFound: a script may put something else where a module was.
func TestChangedAfterItWasFound(t *testing.T) {
	dir, opt := world(t, map[string]string{".mcp.json": "SECRET", "workspace/a.json": "{}"})
	f := newFiles(Source{Name: "script.ts", Dir: dir})
	defer f.close()
	if err := f.open(dir, opt); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "workspace/a.json")
	if !f.isFile(scriptNamespace, "workspace/a.json") {
		t.Fatal("a file is not found")
	}
	if err := errors.Join(os.Remove(at), os.Symlink("../.mcp.json", at)); err != nil {
		t.Fatal(err)
	}
	if text, err := f.text(scriptNamespace, "workspace/a.json"); err == nil {
		t.Errorf("read %q: got no error, want an error", text)
	}
}

// TestNotForPython: the same for the files beside a Python script.
func TestNotForPython(t *testing.T) {
	dir, opt := world(t, map[string]string{
		"host.py": "SECRET = 1", "theirs/a/b.py": "SECRET = 1", "theirs2.py": "OPEN = 1", "link/__init__.py": "",
		".env": "SECRET = 1", ".hidden/c.py": "SECRET = 1", "workspace/own.py": "OPEN = 1",
	})
	opt.Closed = []string{filepath.Join(dir, "host.py"), filepath.Join(dir, "theirs")}
	for link, target := range map[string]string{
		"link/to": "../theirs/a", "workspace/a.py": "../.env", "workspace/b": "../.hidden", "workspace/d.py": "a.py", "workspace/e.py": "own.py",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	code := "import host\nfrom theirs.a import b\nimport link.to.b\nimport theirs2\nimport workspace.a, workspace.b.c\nfrom workspace import d, e\n"
	p, err := Read(t.Context(), Source{Name: "script.py", Code: code, Language: "python", Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for name := range p.Job.Modules {
		found = append(found, name)
	}
	slices.Sort(found)
	if got := strings.Join(found, " "); got != "link/__init__.py theirs2.py workspace/e.py" {
		t.Errorf(`modules: %s, want "link/__init__.py theirs2.py workspace/e.py"`, got)
	}
}
