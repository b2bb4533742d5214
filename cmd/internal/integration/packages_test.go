package integration

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// addPackages gives a project a folder of wheels, and a lock with packages of a registry that serves them.
func addPackages(t *testing.T, p *project) {
	t.Helper()
	var wheel bytes.Buffer
	w := zip.NewWriter(&wheel)
	record := ""
	for _, file := range [][2]string{
		{"vectors/__init__.py", "from ._sum import total\n"}, {"vectors/_sum.py", "def total(values: list[int]) -> int:\n    return sum(values)\n"}, {"vectors/py.typed", ""},
		{"vectors.pth", "import os; os._exit(9)\n"},
		{"Vector_Tools-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: Vector_Tools\nVersion: 1.0\n"},
		{"Vector_Tools-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	} {
		record += file[0] + ",,\n"
		zipped(t, w, file[0], file[1])
	}
	zipped(t, w, "Vector_Tools-1.0.dist-info/RECORD", record+"Vector_Tools-1.0.dist-info/RECORD,,\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p.write("wheels/Vector_Tools-1.0-py3-none-any.whl", wheel.String())

	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	tw := tar.NewWriter(gz)
	for _, file := range [][2]string{
		{"package.json", `{"name": "vectors", "version": "1.0.0", "main": "main.js", "types": "main.d.ts"}`},
		{"main.js", "exports.total = (values) => values.reduce((a, b) => a + b, 0);\n"},
		{"main.d.ts", "export declare function total(values: number[]): number;\n"},
	} {
		if err := tw.WriteHeader(&tar.Header{Name: "package/" + file[0], Mode: 0o644, Size: int64(len(file[1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(packed.Bytes())
	hash := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(packed.Bytes())
			return
		}
		fmt.Fprintf(w, `{"name": "vectors", "versions": {"1.0.0": {"name": "vectors", "version": "1.0.0", "dist": {"tarball": "%s/vectors.tgz", "integrity": %q}}}}`, s.URL, hash)
	})
	s.Start()
	t.Cleanup(s.Close)
	p.write("package-lock.json", fmt.Sprintf(`{"lockfileVersion": 3, "packages": {"": {"dependencies": {"vectors": "^1.0.0"}}, "node_modules/vectors": {"version": "1.0.0", "integrity": %q}}}`, hash))
	p.write("mcpgen.yaml", "version: 1\nrun:\n  packages: {python: wheels, javascript: package-lock.json, preload: [vectors]}\n")
	p.env = append(p.env, "XDG_CACHE_HOME="+p.path("cache"), "npm_config_registry="+s.URL)
	t.Cleanup(func() { // folders of packages are read-only
		_ = filepath.WalkDir(p.path("cache"), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
	})
}

func zipped(t *testing.T, w *zip.Writer, name, text string) {
	t.Helper()
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackages installs packages, imports them in every sandbox and both languages, and refuses to run with what was changed since.
func TestPackages(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]server{})
	addPackages(t, p)
	python := p.write("total.py", "import vectors\nprint(vectors.total([1, 2, 39]))\n")
	script := p.write("total.ts", "import { total } from \"vectors\";\nconsole.log(total([1, 2, 39]));\n")
	before := p.run("mcprun", script).want(t, 125)
	if !strings.Contains(before.stderr, "not installed") || !strings.Contains(before.stderr, `run "mcprun packages install"`) {
		t.Errorf("before: stderr %q, want what to do", before.stderr)
	}
	if out := p.run("mcprun", "doctor", "--no-speed"); !strings.Contains(out.stdout, "packages") || !strings.Contains(out.stdout, "not installed") {
		t.Errorf("doctor before says %q", out.stdout)
	}
	installed := p.run("mcprun", "packages", "install").want(t, 0)
	if !strings.Contains(installed.stdout, "1 package for Python") || !strings.Contains(installed.stdout, "1 package for TypeScript") {
		t.Errorf("install prints %q", installed.stdout)
	}
	var list struct {
		Folder   string
		Packages []struct{ Language, Name, Version string }
	}
	if err := json.Unmarshal([]byte(p.run("mcprun", "packages", "list", "--json").want(t, 0).stdout), &list); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list.Packages); got != "[{python Vector_Tools 1.0} {typescript vectors 1.0.0}]" {
		t.Errorf("list = %s", got)
	}
	t.Run("places", func(t *testing.T) {
		for _, where := range places() {
			t.Run(where.String(), func(t *testing.T) {
				t.Parallel()
				where.need(t)
				file := script
				if where.language == "python" {
					file = python
				}
				if res := p.runJSON(t, where, 0, file); res.Stdout != "42\n" {
					t.Errorf("stdout %q, stderr %q, want 42", res.Stdout, res.Stderr)
				}
			})
		}
	})
	for file, want := range map[string]string{
		p.write("wrong.py", "import vectors\nvectors.total(\"a\")\n"):              `Argument of type "Literal['a']"`,
		p.write("wrong.ts", "import { total } from \"vectors\";\ntotal(\"a\");\n"): "Argument of type 'string' is not assignable",
		python: "",
		script: "",
	} {
		out := p.run("mcprun", "--check", "--tsc", needNPM(t, ".bin", "tsc"), "--pyright", needNPM(t, ".bin", "pyright"), file)
		if (out.code == 0) != (want == "") || !strings.Contains(out.stdout, want) {
			t.Errorf("--check %s: code %d, %q, %q, want %q", filepath.Base(file), out.code, out.stdout, out.stderr, want)
		}
	}
	module := filepath.Join(list.Folder, "javascript", "node_modules", "vectors", "main.js")
	if err := os.Chmod(module, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, []byte("exports.total = () => \"changed\";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.run("mcprun", python).want(t, 125); !strings.Contains(out.stderr, "main.js: it was changed after the packages were installed") {
		t.Errorf("with a changed file: stderr %q", out.stderr)
	}
	p.run("mcprun", "packages", "install").want(t, 0)
	if out := p.run("mcprun", "--sandbox", "embedded", script).want(t, 0); out.stdout != "42\n" {
		t.Errorf("after the repair: stdout %q", out.stdout)
	}
}
