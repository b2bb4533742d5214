package sandboxtest

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// packageCases import installed packages.
func packageCases() []testCase {
	return []testCase{
		{name: "packages", packages: true, code: both(`import { size } from "confpkg"; console.log(size, "true true true true");`, `import builtins, colorsys, json, mmap, sys
import confpkg
with open(confpkg.__file__, "rb") as f:
    runs = len(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC))  # as a library in machine code
late = [p for p in sys.path if p.endswith("-packages")]
print(confpkg.size, "true" if confpkg.__file__ == "/mcp/site-packages/confpkg/__init__.py" else confpkg.__file__, "true" if late[0] == "/mcp/site-packages" else sys.path,
      "true" if runs else runs, "false" if hasattr(builtins, "pth") else "true")`),
			check: func(t *recorder, w *world, r *result) {
				prints("3 true true true true\n")(t, w, r)
				if r.stderr != "" && (strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "confbad (RuntimeError: it is broken)")) {
					t.Errorf("stderr %q, want nothing, or one warning of confbad", r.stderr)
				}
			}},
		{name: "no packages without any", code: map[sandbox.Language]string{sandbox.LangPython: `import sys
try:
    import confpkg
except ModuleNotFoundError as error:
    print(error, "/mcp/site-packages" in sys.path, os.path.exists("/mcp/site-packages"))`}, check: prints("No module named 'confpkg' False False\n")},
	}
}
