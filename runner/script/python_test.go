package script

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestPythonImports(t *testing.T) {
	for code, want := range map[string]string{
		"import a":                "a",
		"import a.b as c, d ,e.f": "a.b d e.f",
		"from a import b":         "a:b",
		"from a.b import (c as d,\n  e, # f\n  g,\n)":             "a.b:c,e,g",
		"from .a import b\nfrom . import c\nfrom ...d.e import f": ".a:b .:c ...d.e:f",
		"from .. import *":                                   "..:*",
		"x = 1; import a; from b import c":                   "a b:c",
		"try: import a\nexcept ImportError: import b":        "a b",
		"if x:\n\timport a\nelse:\n    from b import c":      "a b:c",
		"def f():\n  import a\n  return a":                   "a",
		"import a \\\n  .b":                                  "a.b",
		"from a \\\n import b":                               "a:b",
		"'import a'\n\"from b import c\"":                    "",
		"'''\nimport a\n'''\nimport b":                       "b",
		`"""a""" ; import b`:                                 "b",
		"# import a\nimport b # import c":                    "b",
		"r'\\'\nimport a":                                    "a",
		"r'\\\\'\nimport a":                                  "a",
		"rb'''x'''\nimport a":                                "a",
		"x = '\\''\nimport a":                                "a",
		"x = 'a\\\nimport b'\nimport c":                      "c",
		"x = f'{y}'\nimport a":                               "a",
		"x = f'{d[\"import b\"]}'\nimport a":                 "a",
		"x = f\"{d[\"k\"]}\"\nimport a":                      "a",
		"x = f'{{import b}}'\nimport a":                      "a",
		"x = f'{y:{w}.{p}}'\nimport a":                       "a",
		"x = f'''{\n y\n}\nimport b'''\nimport a":            "a",
		"x = f'{y!r}' f'{z:>10}'\nimport a":                  "a",
		"x = [\n'import b',\nimport_x\n]\nimport a":          "a",
		"def g():\n  yield from h\nimport a":                 "a",
		"raise X from Y\nimport a":                           "a",
		"x.import_module\nimport a":                          "a",
		"importlib.import_module('a.b')":                     "a.b",
		"importlib.import_module(name)":                      "",
		"importlib.import_module(f'a{b}')":                   "",
		"__import__('a')":                                    "a",
		"importlib.import_module('../a')":                    "",
		"import größe":                                       "größe",
		"from __future__ import annotations\r\nimport a\r\n": "__future__:annotations a",
		"import a\rimport b":                                 "a b",
		"import":                                             "",
		"import a.":                                          "a",
		"from a import":                                      "a:",
		"from import b\nimport c":                            "c",
		"x = 'not closed\nimport a":                          "a",
		"\"\"\"not closed\nimport a":                         "",
		"class from_x: pass\nlambda: 0":                      "",
		"match x:\n  case 1: import a":                       "a",
		"@d\ndef f(a: int = 1, *, b): import c":              "c",
		"a = {'x': 1, 'y': [2]}; import b":                   "b",
	} {
		var got []string
		for _, im := range pythonImports(code) {
			text := strings.Repeat(".", im.level) + strings.Join(im.module, ".")
			if im.names != nil || strings.Contains(code, "from a import") && len(code) < 14 {
				text += ":" + strings.Join(im.names, ",")
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: %q, want %q", code, text, want)
		}
	}
}

func modules(t *testing.T, code, dir string) (map[string]string, error) {
	t.Helper()
	p, err := Prepare(t.Context(), Source{Name: "s.py", Code: code, Language: sandbox.LangPython, Dir: dir}, Options{Runtime: sandbox.Python})
	if err != nil {
		return nil, err
	}
	return p.Modules, nil
}

func TestPythonModules(t *testing.T) {
	dir := folder(t, map[string]string{
		"helper.py": "import other\nimport os\n", "other.py": "\ufeffimport helper\n", "unused.py": "", "secret.txt": "",
		"pkg/__init__.py": "from .sub import x\nfrom . import late\n", "pkg/sub.py": "from ..helper import y\nx = 1", "pkg/late.py": "", "pkg/not.py": "",
		"pkg/deep/__init__.py": "", "pkg/deep/mod.py": "from ..other import z\nfrom .. import sub2\nfrom .near import n", "pkg/deep/near.py": "", "pkg/other.py": "", "pkg/sub2.py": "",
		"space/one.py": "", "both.py": "", "both/__init__.py": "", "servers/x.py": "", "mcprun.py": "", "skills/y.py": "",
	})
	for code, want := range map[string]string{
		"":                                  "",
		"import helper":                     "helper.py other.py",
		"from helper import y":              "helper.py other.py",
		"import pkg":                        "pkg/__init__.py pkg/late.py pkg/sub.py",
		"import pkg.deep.mod":               "pkg/__init__.py pkg/deep/__init__.py pkg/deep/mod.py pkg/deep/near.py pkg/late.py pkg/other.py pkg/sub.py pkg/sub2.py",
		"from pkg import deep":              "pkg/__init__.py pkg/deep/__init__.py pkg/late.py pkg/sub.py",
		"from pkg.deep import near, absent": "pkg/__init__.py pkg/deep/__init__.py pkg/deep/near.py pkg/late.py pkg/sub.py",
		"import space.one":                  "space/one.py",
		"from space import one":             "space/one.py",
		"import both":                       "both.py",
		"import servers.x, mcprun":          "",
		"from skills.y import z":            "",
		"import os, absent, secret":         "",
		"from . import helper":              "", // a script is in no package
		"from .. import helper":             "",
	} {
		found, err := modules(t, code, dir)
		if text := strings.Join(slices.Sorted(maps.Keys(found)), " "); err != nil || text != want {
			t.Errorf("%q: %q %v, want %q", code, text, err, want)
		}
	}
	if found, err := modules(t, "import other", dir); err != nil || found["other.py"] != "import helper\n" {
		t.Errorf("%q %v", found, err)
	}
	if found, err := modules(t, "import helper", ""); err != nil || found != nil {
		t.Errorf("a script without a folder has %q %v", found, err)
	}
}

func TestPythonModulesStayBelow(t *testing.T) {
	dir := folder(t, map[string]string{"secret.py": "x = 'CANARY'", "work/s.py": "", "work/pkg/__init__.py": "from ...secret import x\nfrom .....secret import x"})
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Symlink("../secret.py", filepath.Join(work, "link.py")), os.Symlink("..", filepath.Join(work, "up")), os.Mkdir(filepath.Join(work, "folder.py"), 0o755)); err != nil {
		t.Fatal(err)
	}
	found, err := modules(t, "import link, up.secret, pkg, folder\nfrom up import secret\n__import__('..secret')", work)
	if err != nil || len(found) != 1 || found["pkg/__init__.py"] == "" {
		t.Errorf("%q %v", found, err)
	}
}

func TestPythonModulesAreBounded(t *testing.T) {
	files, code := map[string]string{}, ""
	for i := range maxModules + 1 {
		files[fmt.Sprintf("m%d.py", i)] = ""
		code += fmt.Sprintf("import m%d\n", i)
	}
	files["big.py"] = "#" + strings.Repeat("x", 3<<20)
	files["bigger.py"] = "#" + strings.Repeat("x", 3<<20)
	files["latin.py"] = "x = 1\ny = '\xe4'\n"
	dir := folder(t, files)
	for code, want := range map[string]string{
		code:                        "more than 200 files",
		"import big\nimport bigger": "more than 4194304 bytes",
		"import latin":              "latin.py:2: the file is not UTF-8",
		"from " + strings.Repeat("a.", 60) + "a import n" + strings.Repeat(",n", 20_000): "s.py: the script, and the files beside it, import too many names",
	} {
		if _, err := modules(t, code, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzPythonImports(f *testing.F) {
	for _, code := range []string{"import a", "f'{x:{y}}'", "'''", "f\"{\"", "from .. import (a", "\\\n", "f'''{#\n'''"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		for _, im := range pythonImports(code) {
			for _, name := range append(im.module, im.names...) {
				if strings.ContainsAny(name, "/\\.\x00") {
					t.Errorf("%q imports %q", code, name)
				}
			}
		}
	})
}

// TestPythonImportsOfALongLine: it took a minute and more when each quote was asked for the end of its line.
func TestPythonImportsOfALongLine(t *testing.T) {
	code := "f\"{" + strings.Repeat(`"a"`, 250_000) + "\"\nimport found\n"
	start := time.Now()
	found := pythonImports(code)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(found) != 1 || found[0].line != 2 {
		t.Errorf("found %v", found)
	}
}
