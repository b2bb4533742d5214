package bridge_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
)

// TestGuestUncaughtIsBounded: a long answer from a server, in an uncaught error, does not hide the place of the error.
func TestGuestUncaughtIsBounded(t *testing.T) {
	const most = 64 << 10
	for name, message := range map[string]string{
		"one line":           strings.Repeat("x", 5<<20),
		"not ASCII":          strings.Repeat("é😀", 1<<20),
		"lines":              strings.Repeat("a line of text\n", 300_000),
		"a JavaScript stack": strings.Repeat("    at read (/srv/index.js:10:5)\n", 20_000),
		"many stacks":        strings.Repeat("Error: it broke\n    at read (/srv/index.js:10:5)\n", 20_000),
		"a Python stack":     strings.Repeat("  File \"/srv/index.py\", line 3, in read\n    read()\n", 20_000),
		"control":            strings.Repeat("\x1b", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			both(t, `async function inner() { await call("demo__fails", {}).catch((e) => { throw new Error("inside: " + e.message); }); }
async function outer() { await inner().catch((e) => { throw new Error("outside: " + e.message, { cause: e }); }); }
await outer();`, `def inner():
    call("demo__fails")
def outer():
    try:
        inner()
    except Exception as e:
        raise RuntimeError(f"outside: {e}")
outer()`, func(t *testing.T, r guestRun) {
				r.handler = func(context.Context, *call.Request) (*call.Result, error) {
					return nil, &call.Error{Kind: call.KindTool, Message: message}
				}
				e := r.run(t)
				wanted := []string{"Error: outside: ", "    at async outer (bundle:3:", "    at async bundle:4:1", "characters left out)\n    "}
				if r.lang == "python" {
					wanted = []string{"Traceback (most recent call last):\n", "line 6, in outer\n", "line 3, in inner\n", "line 8, in outer\n", "line 9, in <module>\n", "RuntimeError: outside: ", " characters left out)"}
				} else if name != "many stacks" {
					wanted = append(wanted, "    at async inner (bundle:2:", "Error: inside: ")
				}
				for _, want := range wanted {
					if !strings.Contains(e.stderr, want) {
						t.Errorf("stderr lacks %q", want)
					}
				}
				if e.exit != 1 || len(e.stderr) > most || len(e.stderr) < most/4 || strings.Contains(e.stderr, "\ufffd") {
					t.Errorf("exit code %d, %d bytes of stderr, want 1, at most %d, at least %d and no %q in it", e.exit, len(e.stderr), most, most/4, "\ufffd")
				}
				if t.Failed() {
					t.Logf("%.300s\n[…]\n%s", e.stderr, e.stderr[max(0, len(e.stderr)-700):])
				}
			})
		})
	}
}

// TestGuestCountsWhatItLeavesOut: the printed part and the count of the omitted part add up to the whole.
func TestGuestCountsWhatItLeavesOut(t *testing.T) {
	const size = 1 << 20
	both(t, fmt.Sprintf(`throw new Error("é".repeat(%d));`, size), fmt.Sprintf(`raise ValueError("é" * %d)`, size), func(t *testing.T, r guestRun) {
		e := r.run(t)
		note := fmt.Sprintf("é… (%d characters left out)\n", size-strings.Count(e.stderr[strings.Index(e.stderr, "Error: "):], "é"))
		if !strings.Contains(e.stderr, note) {
			t.Errorf("stderr lacks %q: %s", note, e.stderr[max(0, len(e.stderr)-200):])
		}
	})
}

// TestPythonNotesAreBounded: no part of an error is so long that it hides the others.
func TestPythonNotesAreBounded(t *testing.T) {
	for name, code := range map[string]string{
		"note":   "e = ValueError('small'); e.add_note('n' * (1 << 20)); raise e",
		"odd":    "e = ValueError('small'); e.__notes__ = [1, 'n' * (1 << 20)]; raise e",
		"group":  "raise ExceptionGroup('small', [ValueError('v' * (1 << 20)), TypeError('t' * (1 << 20))])",
		"syntax": "raise SyntaxError('small' + 's' * (1 << 20))",
		"frames": "def f(n): g(n - 1)\ndef g(n):\n    if n < 0: raise ValueError('small')\n    f(n)\nimport sys; sys.setrecursionlimit(9000)\nf(2000)",
		"thread": "import threading\ndef f(): raise ValueError('small' + 'x' * (1 << 20))\nt = threading.Thread(target=f); t.start(); t.join(); raise SystemExit(1)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := guestRun{lang: "python", code: code}.run(t)
			if e.exit != 1 || len(e.stderr) > 64<<10 || !strings.Contains(e.stderr, "small") || !strings.Contains(e.stderr, ", in ") || !strings.Contains(e.stderr, " characters left out)") {
				t.Errorf("exit code %d, %d bytes of stderr: %.500s", e.exit, len(e.stderr), e.stderr)
			}
		})
	}
}

// TestPythonResultAsText: a result is not lost because JSON cannot represent a part of it; a value that is not data but has the name of a
// result is.
func TestPythonResultAsText(t *testing.T) {
	for code, want := range map[string]string{
		"result = {1}": `"{1}"`,
		"import datetime; result = datetime.date(2020, 1, 1)": `"2020-01-01"`,
		"result = b'x'": `"b'x'"`,
		"import decimal; result = {'sum': decimal.Decimal('1.50')}": `{"sum":"1.50"}`,
		"result = '\\ud83d'": `"?"`,
		"class C:\n    def __str__(self): return 'c'\nresult = C()":       `"c"`,
		"result = [float('nan'), float('-inf')]":                          `["NaN","-Infinity"]`,
		"class C:\n    def __str__(self): raise ValueError\nresult = C()": "mcprun: no result: result is of type __main__.C, which JSON cannot hold\n",
		"result = [{'a': 1}.values(), {'b': 2}.keys()]":                   `[[1],["b"]]`,
		"result = (x for x in [1])":                                       "mcprun: no result: result is of type generator, which JSON cannot hold\n",
		"def result(): pass":                                              "",
		"result = lambda: 1":                                              "",
		"result = print":                                                  "",
		"result = [].append":                                              "",
		"class result: pass":                                              "",
		"import json as result":                                           "",
		"import functools; result = functools.partial(print)":             "",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			e := (guestRun{lang: "python", code: code}).run(t)
			if got := e.stderr + string(e.out.Result); e.err != nil || e.exit != 0 || got != want {
				t.Errorf("result %q, want %q; %+v", got, want, e.out)
			}
		})
	}
}

// TestNodeHidesGlue: the bundler's own frames are not shown in a stack.
func TestNodeHidesGlue(t *testing.T) {
	code := `const glue = { require: (name) => globalThis[Symbol.for("mcprun.require")](name) };
const $requ0$ = (name) => glue.require(name); $requ0$("./" + "x");`
	sources := `{"version":3,"sources":["entry:modules","script:script.ts"],"sourcesContent":["glue","the script"],"names":[],"mappings":"AAAA;ACAA"}`
	e := guestRun{lang: "typescript", code: code + "\n//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(sources))}.run(t)
	want := "script.ts:1\nthe script\n^\n\nError: require(\"./x\") of a path that is computed: use await import(…) instead\n    at script.ts:1:1 {\n  code: 'MODULE_NOT_FOUND'\n}\n"
	if e.exit != 1 || e.stderr != want {
		t.Errorf("exit code %d, stderr %s\nwant %s", e.exit, e.stderr, want)
	}
}
