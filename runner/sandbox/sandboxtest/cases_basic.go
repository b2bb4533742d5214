package sandboxtest

import (
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func basicCases() []testCase {
	return []testCase{
		{name: "hello", code: both(`console.log("hello")`, `print("hello")`), check: prints("hello\n")},
		{name: "both streams", code: both(
			`console.log("out"); console.error("err")`,
			`import sys; print("out"); print("err", file=sys.stderr)`),
			check: func(t *recorder, w *world, r *result) {
				prints("out\n")(t, w, r)
				if r.stderr != "err\n" {
					t.Errorf("stderr is %q", r.stderr)
				}
			}},
		{name: "exit code", code: both(`process.exit(7)`, `import sys; sys.exit(7)`),
			check: func(t *recorder, _ *world, r *result) {
				if r.exit.Code != 7 || r.exit.Killed != "" {
					t.Errorf("exit %+v, want code 7", r.exit)
				}
			}},
		{name: "arguments", args: []string{"a b", "--x", "é"}, code: both(
			`console.log(JSON.stringify(process.argv.slice(2)))`,
			`import sys, json; print(json.dumps(sys.argv[1:], ensure_ascii=False, separators=(",", ":")))`),
			check: prints("[\"a b\",\"--x\",\"é\"]\n")},
		{name: "no workspace", noWorkspace: true, code: both(
			`import fs from "node:fs"; fs.writeFileSync("x", "1"); console.log(process.cwd(), fs.readFileSync("x", "utf8"))`,
			`import os; open("x", "w").write("1"); print(os.getcwd(), open("x").read())`),
			check: prints("/workspace 1\n")},
		{name: "stdin", stdin: "first\nsecond\n", code: python(`import sys; print(sys.stdin.read().upper(), end="")`),
			check: prints("FIRST\nSECOND\n")},
		// The second line is printed only after the first has arrived, which shows that output is not held back.
		{name: "output streams", timeout: 40 * time.Second, code: both(
			importTS+`console.log("early"); await callMCPTool("test__when_early", {}); console.log("late")`,
			importPy+`print("early"); call_mcp_tool("test__when_early", {}); print("late")`),
			check: prints("early\nlate\n")},
		{name: "uncaught error", code: both(
			"const x: number = 1;\nthrow new TypeError('bad thing ' + x);\n",
			"x = 1\nraise TypeError(f'bad thing {x}')\n"),
			check: func(t *recorder, _ *world, r *result) {
				if r.exit.Code != 1 || r.outcome.Error == nil {
					t.Fatalf("an uncaught error was not reported")
				}
				e := r.outcome.Error
				if e.Name != "TypeError" || e.Message != "bad thing 1" {
					t.Errorf("error is %q %q", e.Name, e.Message)
				}
				if !strings.Contains(e.Stack, "script.ts:2") && !strings.Contains(e.Stack, `script.py", line 2`) {
					t.Errorf("the stack does not point to line 2 of the script:\n%s", e.Stack)
				}
			}},
		{name: "uncaught error of the library", code: both(
			"import { readFile } from 'mcprun';\nawait readFile('nothing');\n",
			"from servers.client import call_mcp_tool\nread_file('nothing')\n"),
			check: func(t *recorder, _ *world, r *result) {
				if r.exit.Code != 1 || r.outcome.Error == nil {
					t.Fatalf("an uncaught error was not reported")
				}
				stack := r.outcome.Error.Stack
				if !strings.Contains(stack, "script.ts:2") && !strings.Contains(stack, `script.py", line 2`) {
					t.Errorf("the stack does not point to line 2 of the script:\n%s", stack)
				}
				if strings.Contains(stack, "mcprun.ts") || strings.Contains(stack, "_mcprun") || strings.HasPrefix(r.stderr, "mcprun:") {
					t.Errorf("the library's own lines are shown:\n%s\n%s", stack, r.stderr)
				}
			}},
		{name: "result", code: both(
			`export const result = { n: 42, list: ["é", null, true] };`,
			`result = {"n": 42, "list": ["é", None, True]}`),
			check: func(t *recorder, w *world, r *result) {
				ok(t, w, r)
				if got := strings.ReplaceAll(string(r.outcome.Result), " ", ""); got != `{"n":42,"list":["é",null,true]}` {
					t.Errorf("result is %s", got)
				}
			}},
		{name: "result that is filled late", code: map[sandbox.Language]string{
			sandbox.LangTypeScript: `export const result: unknown[] = []; setTimeout(() => result.push("late"), 20);`},
			check: func(t *recorder, w *world, r *result) {
				ok(t, w, r)
				if got := string(r.outcome.Result); got != `["late"]` {
					t.Errorf("result is %s", got)
				}
			}},
		{name: "what fetch says", code: map[sandbox.Language]string{
			sandbox.LangTypeScript: `async function load() { return fetch("http://example.com/"); }
try { await load(); } catch (e: any) { console.log(e.message, e.code, /load \(.*script\.ts:1:/.test(e.stack)); }`},
			check: prints("fetch failed: there is no network in this sandbox (egress is off); call the tools in ./servers, or ask for it: mcprun --network, or network: true for execute_code ERR_NETWORK_DISABLED true\n")},
		{name: "a BigInt and a replacer", code: map[sandbox.Language]string{
			sandbox.LangTypeScript: `console.log(JSON.stringify({ a: 1n }), JSON.stringify({ a: [1n] }, (k, v) => typeof v === "bigint" ? String(v) : v), JSON.stringify({ a: 1 }, (k, v) => k ? 2n : v));`},
			check: prints(`{"a":1} {"a":["1"]} {"a":2}` + "\n")},
		{name: "output before a hard exit", code: both(
			`console.log("x".repeat(4 << 20)); process.exit(0)`,
			`import sys; print("x" * (4 << 20)); sys.exit(0)`),
			check: func(t *recorder, w *world, r *result) {
				ok(t, w, r)
				if len(r.stdout) != 4<<20+1 {
					t.Errorf("%d bytes of output arrived, want %d", len(r.stdout), 4<<20+1)
				}
				r.stdout = "(long)"
			}},
		// The guest checks every two seconds whether the host is there, because gVisor does not tell it. From the second check on it waits
		// for 100 s, which is longer than the run may take after its output. The end of the script must not wait for that.
		{name: "an end between two looks at the host", timeout: 40 * time.Second, code: python(`import sys, time
bridge = sys.modules["_mcprun_bridge"]
bridge.WATCH_TIME, bridge.BYE_TIMEOUT = 100_000, 100
time.sleep(3)
print("end")`), check: prints("end\n")},
		{name: "much output", code: both(
			`const line = "x".repeat(1023) + "\n"; for (let i = 0; i < 20 * 1024; i++) process.stdout.write(line);`,
			`import sys
for _ in range(20 * 1024): sys.stdout.write("x" * 1023 + "\n")`),
			check: func(t *recorder, w *world, r *result) {
				ok(t, w, r)
				if len(r.stdout) != 20<<20 {
					t.Errorf("%d bytes of output arrived, want %d", len(r.stdout), 20<<20)
				}
				r.stdout = "(long)"
			}},
	}
}
