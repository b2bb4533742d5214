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

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func modules(t *testing.T, code, dir string) (map[string]string, error) {
	t.Helper()
	p, err := Read(t.Context(), Source{Name: "s.py", Code: code, Language: sandbox.LangPython, Dir: dir}, Options{})
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
		t.Errorf("%q %v, want %q and no error", found, err, "import helper\n")
	}
	if found, err := modules(t, "import helper", ""); err != nil || found != nil {
		t.Errorf("a script without a folder has %q %v, want nil and no error", found, err)
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
