package guest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestExactIntegers(t *testing.T) {
	values := []string{
		`9007199254740991`, `9007199254740992`, `-9007199254740993`, `123456789012345678901234567890`, `0.1234567890123456789`, `1e400`, `-0`,
		`{"a":[1,{"id":18446744073709551615}],"s":"9007199254740993 \"\u00e9\\","__proto__":1,"0":true,"f":1234567890123456.5,"n":null,"b":false,"a\nb":[]}`,
		` [ 9007199254740993 , 2 ] `, `"9007199254740993"`,
	}
	h := testhost.Host{Answer: func(tool string, args json.RawMessage) (string, string) {
		var a struct{ I int }
		if json.Unmarshal(args, &a) != nil || tool == "t__back" {
			return "1", ""
		}
		return values[a.I], ""
	}}
	r := runWith(t, call+fmt.Sprintf(`
		for (let i = 0; i < %d; i++) console.log(await call("t__x", { i }));
		const v = await call("t__x", { i: 7 });
		console.log(Object.hasOwn(v, "__proto__"), Object.is(await call("t__x", { i: 6 }), -0), JSON.stringify(v));
		console.log(JSON.stringify({ a: 1n, b: [2n, "3"], c: { d: 10n ** 20n } }, ["a", "b"], 1), JSON.stringify(5n), JSON.stringify({ a: 1n, b: 2 }, (k, v) => k === "b" ? 7n : v));
		const loop = { a: 1n }; loop.loop = loop; try { JSON.stringify(loop) } catch (e) { console.log(e.constructor.name) }
		await call("t__back", v);
		export const result = { n: 9007199254740993n };
	`, len(values)), h, Options{})
	want := `9007199254740991
9007199254740992n
-9007199254740993n
123456789012345678901234567890n
0.12345678901234568
Infinity
-0
{
  '0': true,
  a: [ 1, { id: 18446744073709551615n } ],
  s: '9007199254740993 "é\\',
  ['__proto__']: 1,
  f: 1234567890123456.5,
  n: null,
  b: false,
  'a\nb': []
}
[ 9007199254740993n, 2 ]
9007199254740993
true true {"0":true,"a":[1,{"id":18446744073709551615}],"s":"9007199254740993 \"é\\","__proto__":1,"f":1234567890123456.5,"n":null,"b":false,"a\nb":[]}
{
 "a": 1,
 "b": [
  2,
  "3"
 ]
} 5 {"a":1,"b":7}
TypeError
`
	if r.stdout != want || r.stderr != "" || r.Result.Result != `{"n":9007199254740993}` {
		t.Errorf("got  %s\nwant %s\nstderr %s, result %s", r.stdout, want, r.stderr, r.Result.Result)
	}
	if last := r.Calls[len(r.Calls)-1]; last != `t__back {"0":true,"a":[1,{"id":18446744073709551615}],"s":"9007199254740993 \"é\\","__proto__":1,"f":1234567890123456.5,"n":null,"b":false,"a\nb":[]}` {
		t.Errorf("passed on as %s", last)
	}
}

func TestCallOptions(t *testing.T) {
	r := runWith(t, call+`
		for (const o of [undefined, null, {}, { timeoutMs: 1500.2 }, { raw: true }, { raw: false, timeoutMs: 1 }, { raw: true, timeoutMs: 1e12 }, { raw: "yes" }, { raw: {} }, { raw: "" }, { raw: 0n }, { raw: null, timeoutMs: 0.5 }]) await call("t__x", {}, o);
		for (const timeoutMs of [0, -1, NaN, "5", null, 5n]) try { await call("t__x", {}, { timeoutMs }); console.log("sent") } catch (e) { console.log(e.kind, e.tool, e.message) }
		try { await call("t__x", [], { timeoutMs: -1 }) } catch (e) { console.log(e.kind, e.tool, e.message) }
		console.log(await globalThis[Symbol.for("mcprun.transport")].request("a/b", {}, { timeoutMs: -1, raw: true }));
	`, testhost.Host{}, Options{})
	want := []string{`t__x {}`, `t__x {}`, `t__x {}`, `t__x {} {"timeoutMs":1501}`, `t__x {} {"raw":true}`, `t__x {} {"timeoutMs":1}`, `t__x {} {"timeoutMs":2147483647,"raw":true}`,
		`t__x {} {"raw":true}`, `t__x {} {"raw":true}`, `t__x {}`, `t__x {}`, `t__x {} {"timeoutMs":1}`}
	if strings.Join(r.Calls, "\n") != strings.Join(want, "\n") || r.stdout != strings.Repeat("argument t__x timeoutMs must be a number of milliseconds above zero\n", 7)+"null\n" {
		t.Errorf("calls %q\nstdout %s", r.Calls, r.stdout)
	}
}

func TestSignal(t *testing.T) {
	var asked atomic.Int32
	next := make(chan struct{})
	h := testhost.Host{Delay: 30 * time.Millisecond, Answer: func(string, json.RawMessage) (string, string) {
		switch asked.Add(1) {
		case 1: // the script continues only after it has given up its first call
			select {
			case <-next:
			case <-time.After(30 * time.Second):
			}
		case 2:
			close(next)
		}
		return `{"ok":true}`, ""
	}}
	r := runWith(t, call+`
		const say = (p) => p.then((v) => console.log("value", v), (e) => console.log(e?.name ?? e, e?.message));
		await say(call("t__x", {}, { signal: AbortSignal.abort("before") }));
		const c = new AbortController();
		const late = say(call("t__x", {}, { signal: c.signal }));
		setTimeout(() => c.abort(), 5);
		await late;
		const many = new AbortController();
		const all = Array.from({ length: 300 }, (_, i) => call("t__x", { i }, { signal: many.signal }).catch((e) => e));
		many.abort("all");
		console.log(new Set(await Promise.all(all)));
		await say(call("t__x", {}, { signal: new AbortController().signal }));
		await say(call("t__x", {}, { signal: {} }));
		await say(call("t__x", {}, { signal: 5 }));
	`, h, Options{})
	want := `before undefined
AbortError This operation was aborted
Set(1) { 'all' }
value { ok: true }
TypeError not a function
value { ok: true }
`
	if r.stdout != want || r.stderr != "" || len(r.Cancelled) != 1+maxInFlight || len(r.Calls) != 1+maxInFlight+2 {
		t.Errorf(`stdout %s stderr %s; %d calls, %d cancelled, want %s, "", %d and %d`, r.stdout, r.stderr, len(r.Calls), len(r.Cancelled), want, 1+maxInFlight, 1+maxInFlight+2)
	}
}

func TestRequest(t *testing.T) {
	h := testhost.Host{Ask: func(method string, params json.RawMessage) (string, string) {
		if method == "resources/list" {
			return `[{"uri":"a://b","size":9007199254740993}]`, ""
		}
		return "", fmt.Sprintf(`{"kind":"argument","message":"no method %s %s"}`, method, strings.ReplaceAll(string(params), `"`, "'"))
	}}
	r := runWith(t, `const { request } = globalThis[Symbol.for("mcprun.transport")];
		console.log(await request("resources/list", { server: "drive" }));
		try { await request("nothing") } catch (e) { console.log(e) }
		try { await request(1) } catch (e) { console.log(e.message) }
		try { await request("resources/list", {}, { signal: AbortSignal.abort("no") }) } catch (e) { console.log(e) }
	`, h, Options{})
	if want := "[ { uri: 'a://b', size: 9007199254740993n } ]\n{ kind: 'argument', message: 'no method nothing {}' }\nthe method is not a string\nno\n"; r.stdout != want {
		t.Errorf("got %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
}

func TestVars(t *testing.T) {
	h := testhost.Host{Vars: map[string]json.RawMessage{
		"customer": json.RawMessage(`{"id":9007199254740993}`), "n": json.RawMessage("5"), "not-a-name": json.RawMessage(`"x"`), "console": json.RawMessage("1"),
		"__proto__": json.RawMessage("1"), "class": json.RawMessage("1"),
	}}
	r := runWith(t, `
		const vars = globalThis[Symbol.for("mcprun.vars")];
		console.log(vars, Object.isFrozen(vars), customer.id, n, typeof console.log);
		try { vars.n = 6 } catch (e) { console.log(e.name) }
		n = 7; console.log(n, vars.n, globalThis["class"], globalThis["not-a-name"]);
		for (const f of [() => { globalThis[Symbol.for("mcprun.vars")] = 1 }, () => { vars.more = 1 }]) try { f(); console.log("changed") } catch (e) { console.log(e.name) }
	`, h, Options{})
	want := `{
  ['__proto__']: 1,
  class: 1,
  console: 1,
  customer: { id: 9007199254740993n },
  n: 5,
  'not-a-name': 'x'
} true 9007199254740993n 5 function
TypeError
7 5 1 undefined
TypeError
TypeError
`
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
}

func TestComputedImport(t *testing.T) {
	var asked atomic.Int32
	h := testhost.Host{Ask: func(method string, params json.RawMessage) (string, string) {
		asked.Add(1)
		var p struct{ Specifier, From string }
		if method != "import" || json.Unmarshal(params, &p) != nil || p.From != "script.ts" {
			return "", `{"kind":"argument","message":"what?"}`
		}
		module := func(id, code string) (string, string) {
			b, _ := json.Marshal(map[string]string{"id": id, "code": code})
			return string(b), ""
		}
		switch p.Specifier {
		case "./servers/a", "./servers/a/index.ts":
			return module("servers/a", `console.log("ran"); import fs from "node:fs"; export const list = fs.readdirSync("/workspace"); export default 5; export class C {}`)
		case "./slow":
			return module("slow", `await new Promise((ok) => setTimeout(ok, 5)); export const slow = 1;`)
		case "./throws":
			return module("throws", `const before = 1;`+"\n"+`throw new RangeError("inside")`)
		case "./bad":
			return module("bad", `this is no code`)
		}
		return "", `{"kind":"argument","message":"there is no module \"./servers/b\"; did you mean \"./servers/a\"?"}`
	}}
	r := runWith(t, `
		const load = globalThis[Symbol.for("mcprun.import")], need = globalThis[Symbol.for("mcprun.require")];
		const [a, b] = await Promise.all([load("./servers/a", "script.ts"), load("./servers/a/index.ts", "script.ts")]);
		console.log(a === b, a.default, a.list, a.C === b.C, (await load("./slow", "script.ts")).slow);
		for (const name of ["./throws", "./throws", "./bad", "./servers/b"]) try { await load(name, "script.ts") } catch (e) { console.log(e.name, e.message, e.code, e.stack.split("\n")[1]) }
		console.log((await load("node:path")).join("a", "b"), (await load("fs/promises")).readFile.name.length >= 0, need("node:path").join("c", "d"));
		try { await load("node:net") } catch (e) { console.log(e.message) }
		try { need("./servers/a") } catch (e) { console.log(e.code) }
		globalThis[Symbol.for("mcprun.bundled")] = (name, from) => name === "./x" ? { from } : undefined;
		console.log(need("./x", "script.ts"));
	`, h, Options{})
	want := `ran
true 5 [] true 1
RangeError inside undefined     at import:throws:2:21
RangeError inside undefined     at import:throws:2:21
SyntaxError expecting ';' undefined     at import:bad:1:6
Error there is no module "./servers/b"; did you mean "./servers/a"? ERR_MODULE_NOT_FOUND     at script.ts:5:88
a/b true c/d
the embedded sandbox has no module "node:net": call the tools in ./servers instead, or use fetch in a run with a network
MODULE_NOT_FOUND
{ from: 'script.ts' }
`
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
}
