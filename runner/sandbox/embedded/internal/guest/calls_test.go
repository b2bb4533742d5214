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

const call = `const { call } = globalThis[Symbol.for("mcprun.transport")];` + "\n"

func TestCall(t *testing.T) {
	h := testhost.Host{Answer: func(tool string, args json.RawMessage) (string, string) {
		switch tool {
		case "t__echo":
			return string(args), ""
		case "t__null":
			return "null", ""
		case "t__text":
			return `"a text"`, ""
		}
		return "", `{"kind":"tool","message":"failed","server":"t","tool":"t__x","content":[{"type":"text","text":"why"}],"data":{"n":1}}`
	}}
	r := runWith(t, call+`
		console.log(await call("t__echo", { a: [1, "é😀\ud800", { __proto__: null, x: 1n }], b: undefined, d: new Date(0) }), await call("t__echo"), await call("t__null", {}), await call("t__text", {}));
		try { await call("t__x", {}) } catch (e) { console.log(Object.getPrototypeOf(e) === Object.prototype, e instanceof Error, JSON.stringify(e)) }
		for (const bad of [[], "x", 1, null, new Map(), () => {}, { a: NaN }, { a: () => 1 }, { a: Symbol() }, { a: [undefined] }]) {
			try { await call("t__echo", bad); console.log("sent", bad) } catch (e) { console.log(e.kind, e.message) }
		}
		for (const bad of [undefined, 1, {}]) try { await call(bad, {}); console.log("sent") } catch (e) { console.log(e.kind, e.message) }
		try { await call("t__echo", { get a() { throw new TypeError("mine") } }) } catch (e) { console.log(e instanceof TypeError, e.message) }
		try { await call("t__echo", { a: "x".repeat(17 << 20) }) } catch (e) { console.log(e.kind, e.message) }
	`, h, Options{Memory: 500 << 20})
	want := `{ a: [ 1, 'é😀` + "\ufffd" + `', { x: 1 } ], d: '1970-01-01T00:00:00.000Z' } {} null a text
true false {"kind":"tool","message":"failed","server":"t","tool":"t__x","content":[{"type":"text","text":"why"}],"data":{"n":1}}
argument the input is not an object
argument the input is not an object; a call has the tool's id and its input: callMCPTool("server__tool", { … })
argument the input is not an object
argument the input is not an object
argument input is a Map, which JSON cannot hold; use Object.fromEntries(map)
argument input is a function, which JSON cannot hold
argument input.a is NaN, which JSON cannot hold
argument input.a is a function, which JSON cannot hold
argument input.a is a symbol, which JSON cannot hold
argument input.a[0] is undefined, which JSON cannot hold
argument the tool id is not a string
argument the tool id is not a string
argument the tool id is not a string
true mine
argument input has 17825800 bytes as JSON; the limit is 16769024
`
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got  %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
}

func TestCallsRunInParallel(t *testing.T) {
	var asked atomic.Int32
	all := make(chan struct{})
	h := testhost.Host{Answer: func(string, json.RawMessage) (string, string) { // answers none of the calls before all have arrived
		if asked.Add(1) == 20 {
			close(all)
		}
		select {
		case <-all:
			return "1", ""
		case <-time.After(30 * time.Second):
			return "0", ""
		}
	}}
	r := runWith(t, call+`console.log(await Promise.all(Array.from({ length: 20 }, () => call("t__x", {}))).then((all) => all.every((v) => v === 1)))`, h, Options{})
	if r.stdout != "true\n" {
		t.Errorf("the 20 calls were not made together; stdout %q, stderr %q, want %q", r.stdout, r.stderr, "true\n")
	}
}

func TestCallsAreHeldBack(t *testing.T) {
	var now, most, asked atomic.Int32
	some := make(chan struct{})
	h := testhost.Host{Answer: func(string, json.RawMessage) (string, string) {
		most.Store(max(most.Load(), now.Add(1)))
		if asked.Add(1) == 20 {
			close(some)
		}
		select { // so that calls pile up, however slowly they arrive
		case <-some:
		case <-time.After(30 * time.Second):
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return "1", ""
	}}
	r := runWith(t, call+`
		const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => call("t__x", { i })));
		console.log(all.reduce((a, b) => a + b));
	`, h, Options{})
	if r.stdout != "1000\n" || most.Load() > maxInFlight || most.Load() < 20 {
		t.Errorf("stdout %q, %d at once", r.stdout, most.Load())
	}
	for i, c := range r.Calls {
		if c != fmt.Sprintf(`t__x {"i":%d}`, i) {
			t.Fatalf("call %d is %s: out of order", i, c)
		}
	}
}

// A script may break the language's own objects; calls do not depend on them.
func TestTransportSurvivesTampering(t *testing.T) {
	r := runWith(t, `
		const key = Symbol.for("mcprun.transport"), t = globalThis[key];
		for (const f of [() => { globalThis[key] = null }, () => { t.call = null }, () => { delete t.call }, () => { t.x = 1 }, () => { Object.defineProperty(globalThis, key, { value: 1 }) }])
			try { f(); console.log("changed") } catch (e) { console.log(e.constructor.name) }
		const boom = () => { throw new Error("tampered") };
		const { log } = console, { defineProperty, getOwnPropertyNames } = Object;
		const P = Promise, { then } = Promise.prototype, apply = Reflect.apply;
		for (const o of [Array.prototype, Object.prototype, String.prototype, Function.prototype, Map.prototype, JSON, Promise, Promise.prototype, Reflect, Object, Math, Number, Symbol, Error])
			for (const name of getOwnPropertyNames(o)) {
				if (name === "prototype" || name === "constructor" || name === "length" || name === "name" || name === "__proto__") continue;
				try { if (typeof o[name] === "function") o[name] = boom } catch {}
			}
		globalThis.Promise = globalThis.JSON = globalThis.Array = undefined;
		const value = await t.call("t__x", { a: [1, { b: "c" }] });
		log(value.ok);
		let kind; try { await t.call("t__x", 1) } catch (e) { kind = e.kind } log(kind);
		export const result = { a: [1] };
	`, testhost.Host{}, Options{})
	if want := strings.Repeat("TypeError\n", 5) + "true\nargument\n"; r.stdout != want || r.Code != 0 || r.Result.Result != `{"a":[1]}` {
		t.Errorf("stdout %q, code %d, result %s, stderr %s, want %q, 0 and %q", r.stdout, r.Code, r.Result.Result, r.stderr, want, `{"a":[1]}`)
	}
}

// Printing also continues to work if the objects are broken before its first use.
func TestConsoleSurvivesTampering(t *testing.T) {
	r := script(t, `
		Array.prototype.push = Array.prototype.join = Array.prototype.map = String.prototype.split = () => { throw 1 };
		Array.prototype[Symbol.iterator] = function* () { yield "evil" };
		Object.prototype.toString = Object.prototype.polluted = 1;
		Map.prototype.get = Set.prototype.add = JSON.stringify = RegExp.prototype.test = () => { throw 2 };
		console.log({ a: [1, 2], m: new Map() }, "x");
		throw new Error("end");
	`)
	if r.Code != 1 || r.Error == nil || r.Error.Message != "end" || !strings.Contains(r.stderr, "Error: end") {
		t.Errorf("stdout %q stderr %q error %+v", r.stdout, r.stderr, r.Error)
	}
}

func TestReplyDuringBusyLoopIsKept(t *testing.T) {
	r := runWith(t, call+`
		const p = call("t__x", {}); const end = Date.now() + 50; while (Date.now() < end); console.log((await p).ok);
	`, testhost.Host{}, Options{})
	if r.stdout != "true\n" {
		t.Errorf("%q %q, want %q", r.stdout, r.stderr, "true\n")
	}
}

func TestManyTimers(t *testing.T) {
	expect(t, `
		let n = 0;
		for (let i = 0; i < 20000; i++) setTimeout(() => { n++ }, i % 7).ref();
		const kept = Array.from({ length: 1000 }, () => setInterval(() => {}, 1e6)); kept.forEach((t, i) => i % 2 ? clearInterval(t) : t.unref());
		for (let i = 0; i < 1000; i++) clearImmediate(setImmediate(() => { n = -1 }));
		process.on("exit", () => console.log(n));
	`, "20000\n")
}
