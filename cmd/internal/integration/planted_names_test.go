package integration

import (
	"os"
	"strings"
	"testing"
)

// plants put something else where the tree and the skills appear to scripts, if the sandbox lets them.
var plants = map[string]string{
	".ts": `import fs from "node:fs";
for (const name of ["servers", "skills"]) {
  try { fs.symlinkSync("/etc", name); } catch { try { fs.writeFileSync(name, "mine"); } catch {} }
}
`,
	".py": `import os
for name in ("servers", "skills"):
    try:
        os.symlink("/etc", name)
    except OSError:
        pass
`,
}

// TestPlantedNames checks that the first run of a customer, in a project without a tree, cannot prevent later runs.
func TestPlantedNames(t *testing.T) {
	t.Parallel()
	use := map[string]string{
		".ts": `import { add } from "./servers/calculator/index.ts"; console.log("runs", typeof add);`,
		".py": "from servers.calculator import add\nprint('runs', callable(add))\n",
	}
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{"calculator": {Command: binary("mcpdemo"), Args: []string{"calculator"}}})
			flags := []string{"--sandbox", where.sandbox, "--customer", "c"}
			p.runIn(t, "mcprun", append(flags, p.write("plant"+where.ext(), plants[where.ext()]))...).want(t, 0)
			if info, err := os.Lstat(p.path("workspaces/c/state/servers")); err != nil || info.IsDir() {
				t.Fatalf("nothing was planted: %v", err)
			}
			p.sync()
			for i := range 2 {
				out := p.runIn(t, "mcprun", append(flags, p.write("use"+where.ext(), use[where.ext()]))...).want(t, 0)
				if !strings.HasPrefix(out.stdout, "runs") || strings.Contains(out.stderr, "servers.moved-") != (i == 0) {
					t.Errorf("run %d: %q, %q", i, out.stdout, out.stderr)
				}
			}
		})
	}
}
