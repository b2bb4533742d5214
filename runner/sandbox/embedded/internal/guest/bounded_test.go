package guest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestUncaughtIsBounded(t *testing.T) {
	for name, message := range map[string]string{
		"one line":    `"x".repeat(5 << 20)`,
		"not ASCII":   `"é😀".repeat(1 << 20)`,
		"lines":       `"a line of text\n".repeat(300_000)`,
		"a stack":     `"    at read (/srv/index.js:10:5)\n".repeat(20_000)`,
		"many stacks": `"Error: it broke\n    at read (/srv/index.js:10:5)\n".repeat(20_000)`,
		"control":     `"\x1b".repeat(1 << 20)`,
	} {
		r := runWith(t, "function inner() { throw new Error("+message+"); }\nfunction outer() { inner(); }\nouter();", testhost.Host{}, Options{Memory: 500 << 20})
		for _, want := range []string{" characters left out)\n", "\n    at inner (script.ts:1:", "\n    at outer (script.ts:2:", "\n    at script.ts:3:"} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("%s: stderr lacks %q", name, want)
			}
		}
		if r.Code != 1 || len(r.stderr) > maxReport || len(r.stderr) < maxReport/2 || strings.Contains(r.stderr, "\ufffd") {
			t.Errorf("%s: code %d, %d bytes of stderr, want 1, at most %d, at least %d and no %q in it", name, r.Code, len(r.stderr), maxReport, maxReport/2, "\ufffd")
		}
		if t.Failed() {
			t.Fatalf("%.300s\n[…]\n%s", r.stderr, r.stderr[max(0, len(r.stderr)-700):])
		}
	}
}

// The place of an error is shown regardless of the length of its message.
func TestUncaughtKeepsItsPlace(t *testing.T) {
	r := script(t, `throw new Error("é".repeat(1 << 20))`)
	if note := fmt.Sprintf("é… (%d characters left out)\n    at script.ts:1:", 1<<20-strings.Count(r.stderr, "é")); !strings.Contains(r.stderr, note) {
		t.Errorf("stderr lacks %q: %s", note, r.stderr[max(0, len(r.stderr)-200):])
	}
}

// The bundler's own frames are not shown in a stack.
func TestHidesGlue(t *testing.T) {
	code := `const glue = { require: (name) => globalThis[Symbol.for("mcprun.require")](name) };
const $requ0$ = (name) => glue.require(name); $requ0$("./" + "x");`
	sources := `{"version":3,"sources":["entry:modules","script:script.ts"],"sourcesContent":["glue","the script"],"names":[],"mappings":"AAAA;ACAA"}`
	r := script(t, code+"\n//# sourceMappingURL=data:application/json;base64,"+base64.StdEncoding.EncodeToString([]byte(sources))+"\n")
	if want := "script.ts:1\nthe script\n^\n\nError: Cannot find module './x'"; !strings.HasPrefix(r.stderr, want) || !strings.Contains(r.stderr, "\n    at script.ts:1:1 {\n  code: 'MODULE_NOT_FOUND'\n}\n") || strings.Count(r.stderr, "    at ") != 1 {
		t.Errorf("stderr %s, want %q at its start, %q in it and 1", r.stderr, want, "\n    at script.ts:1:1 {\n  code: 'MODULE_NOT_FOUND'\n}\n")
	}
}
