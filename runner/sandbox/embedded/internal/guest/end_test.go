package guest

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestExitCodes(t *testing.T) {
	for code, want := range map[string]int{
		`process.exit(7)`:                      7,
		`process.exit()`:                       0,
		`process.exit(-1)`:                     255,
		`process.exitCode = 3`:                 3,
		`process.exitCode = 3; process.exit()`: 3,
		`setTimeout(() => process.exit(4), 1); await new Promise(() => {})`:                          4,
		`try { process.exit(5) } finally { console.log("never") }`:                                   5,
		`try { process.exit(5) } catch { console.log("never") } console.log("never")`:                5,
		`[1].map(() => process.exit(6)); console.log("never")`:                                       6,
		`(async () => { process.exit(8) })().finally(() => console.log("never")); await 0; await 0;`: 8,
		`throw 1`:                     1,
		`await new Promise(() => {})`: 13,
		`process.on("exit", (c) => { process.exitCode = c + 9 })`:                                   9,
		`process.on("exit", () => process.exit(11))`:                                                11,
		`queueMicrotask(() => { throw new Error("x") }); setTimeout(() => console.log("never"), 1)`: 1,
		`setTimeout(() => { throw new Error("x") }, 1); setTimeout(() => console.log("never"), 5)`:  1,
		`setImmediate(() => { throw null })`:                                                        1,
	} {
		r := script(t, code)
		if r.Code != want || r.stdout != "" || !r.Done {
			t.Errorf("%s: code %d, want %d; done %v; stdout %q stderr %q", code, r.Code, want, r.Done, r.stdout, r.stderr)
		}
	}
}

func TestUncaught(t *testing.T) {
	for _, c := range []struct{ code, name, message, stderr string }{
		{`throw new TypeError("bad")`, "TypeError", "bad", "script.ts:1\n\nTypeError: bad\n    at script.ts:1:"},
		{`async function main() { await null; throw new RangeError("later") }; main()`, "RangeError", "later", "RangeError: later\n    at main ("},
		{`Promise.reject({ kind: "tool", message: "plain" })`, "tool", "plain", "Uncaught:\n{ kind: 'tool', message: 'plain' }\n"},
		{`throw "text"`, "Error", "'text'", "Uncaught:\n'text'\n"},
		{`throw undefined`, "Error", "undefined", "Uncaught:\nundefined\n"},
		{`throw Object.assign(new Error("with"), { code: "E1", cause: new Error("why") })`, "Error", "with", "  code: 'E1'"},
		{`class MyError extends Error { name = "MyError" }; throw new MyError("m")`, "MyError", "m", "MyError: m\n    at"},
		{"class A extends Error {}\nclass B extends A { constructor(m) {\nsuper(m) } }\nfunction f() {\nthrow new B('m') }\nf()", "Error", "m", "script.ts:5\n\nB [Error]: m\n    at f (script.ts:5:"},
		{"class E extends Error {}\nclass Maker { constructor() {\nthrow new E('m') } }\nnew Maker()", "Error", "m", "E [Error]: m\n    at Maker (script.ts:3:"},
		{"class E extends Error {}\nObject.defineProperty(E.prototype, 'constructor', { get() { throw 1 } })\nthrow new E('m')", "Error", "m", "Error: m\n    at E (script.ts:"},
		{`null.x`, "TypeError", "cannot read property 'x' of null", "TypeError: cannot read"},
		{`throw { get message() { throw 1 }, get name() { throw 2 }, get stack() { throw 3 } }`, "Error", "", "Uncaught:"},
		{`throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 1 }, ownKeys() { throw 1 } })`, "Error", "", "Uncaught:"},
		{`throw Symbol("s")`, "Error", "Symbol(s)", "Uncaught:\nSymbol(s)"},
		{`import "./nowhere.js"`, "Error", "Cannot find module", "Cannot find module"},
		{`import "node:child_process"`, "Error", `no module "node:child_process"`, "--sandbox"},
		{"let x\nimport r from \"node:readline\";", "Error", `no module "node:readline"`, "script.ts:2\n\nError: the embedded sandbox has no module"},
		{"let x\nx = JSON.parse('{\"a\": ')", "SyntaxError", "", "script.ts:2\n"},
		{"let x\nx = /(/", "SyntaxError", "expecting ')'", "script.ts:2\n"},
		{"let x\nx = /(/", "SyntaxError", "", "SyntaxError: expecting ')'\n    at script.ts:2:"},
		{`new Intl.NumberFormat("de")`, "ReferenceError", "'Intl' is not defined", "ReferenceError: 'Intl' is not defined\n    at script.ts:1:"},
		{`nothing`, "ReferenceError", "'nothing' is not defined", "ReferenceError: 'nothing' is not defined\n    at script.ts:1:"},
		{`throw new Error("\x1b]0;title\x07\u202ered\ttab")`, "Error", "\x1b]0;title\a\u202ered\ttab", `Error: \x1b]0;title\x07\u202ered` + "\ttab\n"},
		{`throw new Error("👨\u200d👩 می\u200cخواهم")`, "Error", "👨\u200d👩 می\u200cخواهم", "Error: 👨\u200d👩 می\u200cخواهم\n"},
		{`syntax error here`, "SyntaxError", "", "SyntaxError"},
	} {
		r := script(t, c.code)
		if r.Code != 1 || r.Error == nil {
			t.Errorf("%s: code %d, error %+v, stderr %q", c.code, r.Code, r.Error, r.stderr)
			continue
		}
		if r.Error.Name != c.name || !strings.Contains(r.Error.Message, c.message) || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%s: error %+v, stderr %q, want %q %q and %q", c.code, r.Error, r.stderr, c.name, c.message, c.stderr)
		}
	}
}

func TestHandledLater(t *testing.T) {
	expect(t, `
		const p = Promise.reject(new Error("x")); p.catch(() => console.log("handled"));
		const q = Promise.reject(1); await Promise.resolve(); q.catch(() => console.log("in time"));
		await Promise.allSettled([Promise.reject(2)]);
		process.on("unhandledRejection", (e) => console.log("listener", e));
		Promise.reject(3);
		await new Promise((ok) => setTimeout(ok, 1));
		process.on("uncaughtException", (e) => console.log("exception", e.message));
		setTimeout(() => { throw new Error("thrown") }, 1);
	`, "handled\nin time\nlistener 3\nexception thrown\n")
}

func TestResult(t *testing.T) {
	for code, want := range map[string]string{
		`export const result = { a: [1, "x", null, true, 1.5e30, -0], b: undefined }`: `{"a":[1,"x",null,true,1.5e+30,0]}`,
		`export default "é\u2028\n\"\ud800"`:                                          `"é` + "\u2028" + `\n\"` + "\ufffd" + `"`,
		`export default Promise.resolve([1])`:                                         `[1]`,
		`export default (async () => { await 0; return 5 })()`:                        `5`,
		`export default function f() {}`:                                              ``,
		`export const result = null`:                                                  `null`,
		`export const result = 10n ** 30n`:                                            `1000000000000000000000000000000`,
		`export const result = { m: new Map([["a", new Set([1])]]), n: [NaN, undefined, Symbol()], i: -1 / 0, f() {} }`:      `{"m":{"a":[1]},"n":["NaN",null,null],"i":"-Infinity"}`,
		`export const result = JSON.stringify([new Map([[{}, 1]]), new Map([[1, 2]]), new Set("a")])`:                        `"[[[{},1]],{\"1\":2},[\"a\"]]"`,
		`export const result = JSON.stringify({ m: new Map([["a", 1]]) }, (_, v) => v instanceof Map ? { map: [...v] } : v)`: `"{\"m\":{\"map\":[[\"a\",1]]}}"`,
		`export const result = new Date(0)`:                       `"1970-01-01T00:00:00.000Z"`,
		`export let result; result = 1; setTimeout(() => { }, 1)`: `1`,
		`console.log("none")`:                                     ``,
		`export const result = { toJSON() { return [new Number(1), new String("s"), new Boolean(false)] } }`: `[1,"s",false]`,
		`export const result = { __proto__: { hidden: 1 }, ["__proto__"]: 2, "a b": { "": 3 } }`:             `{"__proto__":2,"a b":{"":3}}`,
	} {
		if r := script(t, code); r.Result.Result != want || r.Code != 0 || r.stderr != "" {
			t.Errorf("%s: result %s, want %s; code %d, stderr %q", code, r.Result.Result, want, r.Code, r.stderr)
		}
	}
	for code, want := range map[string]string{
		`const o = {}; o["x-y"] = o; export const result = o`:                        `the exported result["x-y"] contains itself`,
		`export const result = new Uint8Array(3)`:                                    "binary data",
		`let o = []; for (let i = 0; i < 600; i++) o = [o]; export const result = o`: "nested deeper than 500",
		`export const result = { get x() { throw new Error("getter") } }`:            "no result: Error: getter",
		`export const result = "x".repeat(17 << 20)`:                                 "the exported result has 17825794 bytes",
		`export const result = new Array(1e9)`:                                       "the exported result has more than",
		`export const result = [Promise.resolve()]`:                                  "the exported result[0] is a Promise; await it first",
	} {
		if r := script(t, code); r.Result.Result != "" || !strings.Contains(r.stderr, want) || r.Code != 0 {
			t.Errorf("%s: result %.100s, code %d, stderr %q, want %q", code, r.Result.Result, r.Code, r.stderr, want)
		}
	}
}

func TestSourceMap(t *testing.T) {
	// Built by esbuild from two files; line 2 of script.ts calls a function of servers/a.ts that throws.
	code := "// servers/a.ts\nfunction fail(text) {\n  throw new Error(text);\n}\n\n// script.ts\nvar x = \"é\";\nfail(x);\n" +
		"//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsic2VydmVycy9hLnRzIiwgInNjcmlwdC50cyJdLAogICJzb3VyY2VzQ29udGVudCI6IFsiZXhwb3J0IGZ1bmN0aW9uIGZhaWwodGV4dDogc3RyaW5nKTogbmV2ZXIgeyB0aHJvdyBuZXcgRXJyb3IodGV4dCkgfVxuIiwgImltcG9ydCB7IGZhaWwgfSBmcm9tIFwiLi9zZXJ2ZXJzL2EudHNcIjtcbmNvbnN0IHg6IHN0cmluZyA9IFwiXHUwMEU5XCI7IGZhaWwoeCk7XG4iXSwKICAibWFwcGluZ3MiOiAiO0FBQU8sU0FBUyxLQUFLLE1BQXFCO0FBQUUsUUFBTSxJQUFJLE1BQU0sSUFBSTtBQUFFOzs7QUNDbEUsSUFBTSxJQUFZO0FBQUssS0FBSyxDQUFDOyIsCiAgIm5hbWVzIjogW10KfQo=\n"
	r := script(t, code)
	want := "script.ts:2\nconst x: string = \"é\"; fail(x);\n                       ^\n\nError: é\n    at fail (servers/a.ts:1:"
	if !strings.HasPrefix(r.stderr, want) || !strings.Contains(r.stderr, "\n    at script.ts:2:") {
		t.Errorf("stderr %q\nwant %q", r.stderr, want)
	}
	if r.Error == nil || !strings.Contains(r.Error.Stack, "script.ts:2:") {
		t.Errorf("error %+v", r.Error)
	}
}

func TestStdin(t *testing.T) {
	for _, code := range []string{
		`import fs from "node:fs"; console.log(fs.readFileSync(0, "utf8"))`,
		`let all = ""; process.stdin.setEncoding("utf8"); for await (const c of process.stdin) all += c; console.log(all)`,
		`let all = ""; process.stdin.on("data", (c) => { all += c }).on("end", () => console.log(all))`,
	} {
		r := runWith(t, code, testhost.Host{}, Options{Stdin: strings.NewReader("from é stdin")})
		if r.stdout != "from é stdin\n" || r.Code != 0 {
			t.Errorf("%s: %q %q, want %q and Code 0", code, r.stdout, r.stderr, "from é stdin\n")
		}
	}
}
