package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

func TestOutOfMemory(t *testing.T) {
	for _, code := range []string{
		`const a = []; for (;;) a.push(new Array(1000).fill(1))`,
		`const a = []; for (;;) { const b = new Uint8Array(1 << 20); b.fill(1); a.push(b) }`,
		`new ArrayBuffer(1e9)`,
		`const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })`,
		`async function f() { const a = []; for (;;) { a.push("x".repeat(1e6) + a.length); if (a.length % 10 === 0) await 0 } } await f()`,
		`setTimeout(() => { const a = []; for (;;) a.push({}) }, 1)`,
		`JSON.parse("[" + "[],".repeat(20e6) + "[]]")`,
		`const f = () => { const x = new Array(1000).fill(0); return [x, f] }; const keep = []; for (;;) keep.push(f())`,
	} {
		r := runWith(t, code, testhost.Host{}, Options{Memory: 64 << 20})
		if !r.OutOfMemory || r.Code != 137 || !strings.Contains(r.stderr, "memory") {
			t.Errorf("%s: %+v, stderr %q", code, r.Outcome, r.stderr)
		}
	}
}

func TestOutOfMemoryCanBeCaught(t *testing.T) {
	r := runWith(t, `
		const f = () => { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) };
		try { f() } catch (e) { console.log(e.name, e.message) }
		console.log("alive");
		throw null;
	`,
		testhost.Host{}, Options{Memory: 64 << 20})
	if r.stdout != "InternalError out of memory\nalive\n" || r.Code != 137 {
		t.Errorf("%+v %q %q, want %q and Code 137", r.Outcome, r.stdout, r.stderr, "InternalError out of memory\nalive\n")
	}
}

func TestRecursion(t *testing.T) {
	expect(t, `
		const tries = {
			plain: () => { (function f() { f() })() },
			getter: () => { const o = { get x() { return this.x } }; o.x },
			json: () => { let o = []; for (let i = 0; i < 1e5; i++) o = [o]; JSON.stringify(o) },
			parse: () => JSON.parse("[".repeat(1e6)),
			proxy: () => { let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x },
			regexp: () => new RegExp("(?:".repeat(1e5) + ")".repeat(1e5)),
			source: () => eval("(".repeat(1e5)),
			sort: () => { const f = () => [2, 1].sort(f); f() },
			toString: () => { const a = []; a[0] = { toString: () => String(a[0]) }; String(a) },
			replace: () => { const f = () => "a".replace(/a/, f); f() },
			apply: () => { const f = () => Reflect.apply(f, null, []); f() },
			generator: () => { function* g() { yield* g() } g().next() },
			classes: () => { class A { constructor() { new A() } } new A() },
		};
		for (const [name, f] of Object.entries(tries)) try { f(); console.log(name, "no error") } catch (e) { if (!(e instanceof Error)) console.log(name, e) }
		let deep = []; for (let i = 0; i < 1e4; i++) deep = [deep];
		try { console.log(deep) } catch (e) { console.log("log", e) }
		let chain = new Error("0"); for (let i = 0; i < 5000; i++) chain = new Error("n", { cause: chain });
		try { structuredClone(deep) } catch (e) { if (!/stack/.test(e.message)) console.log(e) }
		console.log("alive");
	`, "[ [ [ [Array] ] ] ]\nalive\n")
}

func TestGiants(t *testing.T) {
	r := runWith(t, `
		const tries = [() => "x".repeat(2 ** 31), () => new Array(2 ** 32), () => new Uint8Array(2 ** 40), () => "abc".padEnd(2 ** 31), () => new Array(1e9).fill(0),
			() => Buffer.alloc(1e10), () => 10n ** (10n ** 9n), () => Array.from({ length: 1e9 }), () => [].concat(...new Array(1e7)),
			() => crypto.getRandomValues(new Uint8Array(1e7)), () => require("crypto").randomBytes(1e9), () => "x".repeat(1e8).split("")];
		for (const [i, f] of tries.entries()) try { f(); console.log(i, "no error") } catch (e) { if (!(e instanceof Error)) console.log(i, e) }
		console.log("alive", [, ...new Array(3)].length);
	`, testhost.Host{}, Options{Memory: 64 << 20})
	if r.stdout != "alive 4\n" {
		t.Errorf("%+v %q %q, want %q", r.Outcome, r.stdout, r.stderr, "alive 4\n")
	}
}

func TestNoWayOut(t *testing.T) {
	r := script(t, `
		const found = [];
		for (const name of ["std", "os", "bjson", "scriptArgs", "print", "__loadScript", "gc", "Deno", "Bun", "host", "Worker", "WebAssembly", "SharedArrayBuffer_", "WebSocket", "XMLHttpRequest", "EventSource"]) if (name in globalThis) found.push(name);
		console.log(found, Object.keys(process.env), process.binding, process.mainModule, process.dlopen);
		try { await fetch("http://127.0.0.1/") } catch (e) { console.log(e.name, e.message) }
		for (const name of ["node:net", "node:http", "node:child_process", "node:worker_threads", "node:vm", "/etc/passwd", "./x.js", "file:///etc/passwd", "mcprun:core", "mcprun:node/fs", "data:text/javascript,1", ""])
			try { await import(name); console.log("imported", name) } catch (e) { if (!e.code) console.log(name, e) }
		try { require("child_process") } catch (e) { console.log(e.code) }
	`)
	want := "[] [] undefined undefined undefined\nTypeError fetch failed: there is no network in this sandbox (egress is off); call the tools in ./servers, or ask for it: mcprun --network, or network: true for execute_code\nERR_MODULE_NOT_FOUND\n"
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got  %q\nwant %q\nstderr %q", r.stdout, want, r.stderr)
	}
}

func TestFilesStayInside(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"workspace", "tree", "tree/drive"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "SECRET", "tree/drive/index.ts": "wrapper", "workspace/a": "a"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"workspace/out": "../secret", "workspace/abs": filepath.Join(base, "secret"), "workspace/dir": "..", "workspace/in": "a"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := OpenFiles(Folders{Workspace: filepath.Join(base, "workspace"), Tree: filepath.Join(base, "tree")})
	if err != nil {
		t.Fatal(err)
	}
	r := runWith(t, `
		import fs from "node:fs";
		const attempt = (what, f) => { try { console.log("LEAK", what, f()) } catch (e) { if (!e.code) console.log(what, e) } };
		for (const p of ["out", "abs", "dir/secret", "../secret", "/workspace/../secret", "/etc/passwd", "/secret", "/mcp/../etc/passwd", "/proc/self/environ", "servers/../../secret", "file:///etc/passwd", "\0", ""])
			attempt(p, () => fs.readFileSync(p, "utf8"));
		for (const dir of ["servers", "servers/drive", "/mcp/servers", "/mcp", "/", "/etc"]) {
			attempt("write " + dir, () => fs.writeFileSync(dir + "/x", "x"));
			attempt("mkdir " + dir, () => fs.mkdirSync(dir + "/y"));
			attempt("rm " + dir, () => fs.rmSync(dir, { recursive: true }));
			attempt("rename " + dir, () => fs.renameSync(dir, "moved"));
			attempt("rename onto " + dir, () => fs.renameSync("a", dir));
		}
		attempt("rm .", () => fs.rmSync(".", { recursive: true }));
		attempt("rm /workspace", () => fs.rmSync("/workspace", { recursive: true, force: true }));
		console.log(fs.readFileSync("in", "utf8"), fs.readdirSync("servers"), fs.readdirSync("/mcp/servers/drive"), fs.readFileSync("servers/drive/index.ts", "utf8"), fs.readdirSync("/"), fs.readdirSync("/mcp"), fs.readdirSync("."), fs.realpathSync("./servers/../in"), fs.lstatSync("out").isSymbolicLink());
	`, testhost.Host{}, Options{Files: files})
	want := "a [ 'drive' ] [ 'index.ts' ] wrapper [ 'mcp', 'workspace' ] [ 'servers' ] [ 'a', 'abs', 'dir', 'in', 'out', 'servers' ] /workspace/a true\n"
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got  %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
	for _, name := range []string{"secret", "tree/drive/index.ts", "workspace/a"} {
		if _, err := os.Stat(filepath.Join(base, name)); err != nil {
			t.Error(err)
		}
	}
}
