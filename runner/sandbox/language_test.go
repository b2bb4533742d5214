package sandbox_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestLanguageOf(t *testing.T) {
	for file, want := range map[string]sandbox.Language{
		"a.ts": sandbox.LangTypeScript, "dir/a.TSX": sandbox.LangTypeScript, "a.mts": sandbox.LangTypeScript, "a.cts": sandbox.LangTypeScript,
		"a.js": sandbox.LangTypeScript, "a.mjs": sandbox.LangTypeScript, "a.cjs": sandbox.LangTypeScript, "a.jsx": sandbox.LangTypeScript,
		"a.py": sandbox.LangPython, "a.d.ts": "", "a.D.TS": "", "a.pyi": "", "a.json": "", "ts": "", "": "",
	} {
		if got := sandbox.LanguageOf(file); got != want {
			t.Errorf("LanguageOf(%q) = %q, want %q", file, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]sandbox.Language{
		"typescript": sandbox.LangTypeScript, "JS": sandbox.LangTypeScript, "python": sandbox.LangPython, "python3": sandbox.LangPython, "": "", "ruby": "",
	} {
		if got, ok := sandbox.Named(name); got != want || ok != (want != "") {
			t.Errorf("Named(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestJavaScript(t *testing.T) {
	for file, want := range map[string]bool{"a.js": true, "a.MJS": true, "a.cjs": true, "dir/a.jsx": true, "a.ts": false, "a.tsx": false, "a.js.ts": false, "a.json": false, "a.py": false, "js": false} {
		if got := sandbox.JavaScript(file); got != want {
			t.Errorf("JavaScript(%q) = %v, want %v", file, got, want)
		}
	}
}
