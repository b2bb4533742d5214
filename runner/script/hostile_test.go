package script

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestCostlyTexts prepares scripts that are made to cost the host time. An eighth of the largest size shows work that grows with
// the square of the size: at that size the linear cases take a tenth of a second and the bound is a hundred times that.
func TestCostlyTexts(t *testing.T) {
	const size, most = MaxSize / 8, time.Minute
	dir, opt := world(t, nil)
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	number := func(piece string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(piece, "N", strings.Repeat("x", 1+i%3)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676%26))))
		}
		return b.String()
	}
	for name, code := range map[string]string{
		"computed imports":           "const x = 'fs';\nif (x === 'y') {\n" + fill("import(x);\n") + "}",
		"computed in one line":       "const x = 'fs';if (x === 'y') {" + fill("import(x);") + "}",
		"computed requires":          "const x = 'fs';\nif (x === 'y') {\n" + fill("require(x+1);\n") + "}",
		"imports of names":           number("import { getDocument as N } from './servers/google-drive';\n"),
		"imports of namespaces":      number("import * as N from './servers/google-drive'; N.getDocument;\n"),
		"imports that lead nowhere":  number("import './servers/N/x';\n"),
		"imports of files not there": number("import './N';\n"),
		"missing exports":            "import * as d from './servers/google-drive';\n" + number("d.N();\n"),
		"maps in strings":            fill("'//# sourceMappingURL=x';\n"),
		"imports in strings":         fill("'import (x';\n"),
		"escapes":                    fill("'\\u0069mport';\n"),
		"questions in strings":       fill("'import.meta require.main';\n") + "import.meta;",
		"questions without end":      fill("import/*import//") + "import.meta;",
		"questions":                  fill("import.meta.url;require.main;__dirname;\n"),
		"words that are taken":       "const x = 'fs', s = '$imp0$ $imp1$ $imp2$';\nconst m = await import('node:' + x); console.log(m, s);",
	} {
		began := time.Now()
		_, err := Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, opt)
		took := time.Since(began)
		t.Logf("%s: %v, %.100v", name, took.Round(time.Millisecond), err)
		if took > most {
			t.Errorf("%s: Read() took %v, want at most %v", name, took, most)
		}
	}
	for name, code := range map[string]string{
		"imports": number("import N\n"), "strings": fill("f'''{x!r:{'''"), "fields": fill("f\"{\""), "brackets": fill("("), "dots": "from " + fill(".") + " import x", "a deep module": "import a" + fill(".a"),
	} {
		began := time.Now()
		_, err := Read(t.Context(), Source{Name: "script.py", Code: code, Language: sandbox.LangPython, Dir: dir}, opt)
		if took := time.Since(began); took > most || err != nil {
			t.Errorf("%s: Read() = %v after %v, want no error within %v", name, err, took, most)
		}
	}
}
