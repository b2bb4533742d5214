package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestSource finds the files of a script by the names that places have, as they were when the guest got them.
func TestSource(t *testing.T) {
	files := map[string]string{
		"lib/mail.ts": "// é\nexport const mail: number = 1;\n", "late.ts": "export const late: number = 2;\n",
		"lib/__init__.py": "", "lib/post.py": "POST = 1\n",
	}
	dir, opt := world(t, files)
	opt.Skills = filepath.Join(t.TempDir(), "skills")
	for name, text := range map[string]string{"report/scripts/main.ts": "export const report: number = 3;\n", "report/scripts/main.py": "REPORT = 3\n"} {
		file := filepath.Join(opt.Skills, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	find := func(p *Program, wants map[string]string) {
		t.Helper()
		for name, want := range wants {
			if got, ok := p.Source(name); ok != (want != "") || !strings.Contains(got, want) {
				t.Errorf("Source(%q) = %q, %v; want %q", name, got, ok, want)
			}
		}
	}
	typed := importing(t, nil, "import { mail } from './lib/mail.ts'; import { report } from './skills/report/scripts/main.ts'; console.log(mail, report);", dir, opt)
	find(typed, map[string]string{"lib/mail.ts": "// é\nexport const mail: number", "skills/report/scripts/main.ts": "report: number", "late.ts": "", "servers/client.ts": "", "../x": ""})
	if _, _, err := typed.Import(t.Context(), "./late.ts", "script:script.ts"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib/mail.ts"), []byte("// changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	find(typed, map[string]string{"late.ts": "late: number", "lib/mail.ts": "mail: number"})
	python, err := Read(t.Context(), Source{Name: "a.py", Code: "from lib import post\nimport skills.report", Language: sandbox.LangPython, Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	find(python, map[string]string{"lib/post.py": "POST = 1", "skills/report/scripts/main.py": "REPORT = 3", "skills/../../x": "", "late.ts": ""})
}
