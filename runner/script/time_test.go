//go:build !race

package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// The race detector makes reading five to thirty times as slow, so what is promised of its time is tested without it.

// TestHostileTextIsBounded: what cannot be read is an error with its place, and takes neither long nor much.
func TestHostileTextIsBounded(t *testing.T) {
	for name, code := range map[string]string{
		"syntax":  "const a = 1;\nconst b = = 2;\n",
		"nesting": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		"literal": "const a = '" + strings.Repeat("x", 900_000) + "';",
		"chain":   "const a = ''" + strings.Repeat("+'b'", 5000) + ";",
		"aliases": "let a = eval;" + strings.Repeat("a = a + a;", 500) + "a('1');",
	} {
		began := time.Now()
		_, err := factsOf(t, code)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v, want at most %v", name, took, 20*time.Second)
		}
		if bad, ok := errors.AsType[*script.Error](err); name == "syntax" && (!ok || bad.Problems[0].Line != 2) {
			t.Errorf("%s: error %v, want one in line 2", name, err)
		}
	}
	facts := &judge.Facts{}
	texts := map[string]string{"deep.py": strings.Repeat("-", 100_000) + "1", "bad.py": "x = 1\ndef f(:\n"}
	if err := facts.Python(texts, []string{"deep.py", "bad.py"}, parsePython(t, texts)); err != nil || len(facts.Unreadable) != 2 || facts.Unreadable[1].Line != 2 {
		t.Errorf("Python() = %v, unreadable %+v; want two, one in line 2", err, facts.Unreadable)
	}
}

// TestOrdinaryScriptIsReadSoon: an ordinary script of 4 KB is read and judged in less than 50 ms. The fastest try of half a minute
// counts, because other tests run at the same time.
func TestOrdinaryScriptIsReadSoon(t *testing.T) {
	const part = `const rows_N = await listRows({ sheet: "orders", limit: 50 });
for (const row of rows_N.items.filter((r) => r.total > 100 && r.open)) {
  await updateRecord({ id: row.id, data: { total: row.total, note: ` + "`seen ${row.name}`" + ` } });
}
`
	code := `import { listRows } from "./servers/drive";` + "\n" + `import { updateRecord } from "./servers/crm";` + "\n"
	for i := 0; len(code)+len(part) < 4096; i++ {
		code += strings.ReplaceAll(part, "_N", fmt.Sprint("_", i))
	}
	fastest := time.Hour
	for end := time.Now().Add(30 * time.Second); fastest > 50*time.Millisecond && time.Now().Before(end); {
		began := time.Now()
		facts, err := factsOf(t, code)
		if err != nil {
			t.Fatal(err)
		}
		if r := facts.Judge(&judge.Options{}); r.Risk != risk.Medium {
			t.Fatalf("Judge() = %+v, want medium risk", r)
		}
		fastest = min(fastest, time.Since(began))
	}
	if t.Logf("%d bytes in %v", len(code), fastest); fastest > 50*time.Millisecond {
		t.Errorf("%d bytes took %v, want at most 50ms", len(code), fastest)
	}
}
