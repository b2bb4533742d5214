package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/templates"
)

// guestRun is one run of a real guest program in a plain process.
type guestRun struct {
	lang, code string
	args       []string
	handler    call.Handler
	byPath     bool // connect by a path instead of an inherited descriptor
	answers    call.Answerer
	vars       map[string]json.RawMessage
	modules    map[string]string
	tree       map[string]string // files below the folder that contains the tree, by path
	stdin      string
	// early says that there is no job yet, and does what happens before it arrives. Nil: the job is there at once.
	early func(host net.Conn)
	// during is called once the guest has started, with a function that cuts the connection.
	during func(cut func())
}

// ended is how the run ended.
type ended struct {
	exit           int
	stdout, stderr string
	root           string // the folder that is /mcp in a sandbox
	secret         string // the pipe that held the secret, as Linux names it; empty elsewhere
	out            *bridge.Outcome
	err            error
}

// installed is the place of a guest program, and how to start it.
type installed struct {
	root string // the folder that is /mcp in a sandbox
	argv []string
	name string // the name of scripts
}

// install writes a guest to a folder in the same layout as sandboxes: below a root in which the tree would be.
func install(t testing.TB, lang string) installed {
	t.Helper()
	root := t.TempDir()
	program, args, files, name, main := "node", templates.NodeArgs(), templates.NodeGuest(), "script.ts", "guest.mjs"
	if lang == "python" {
		program, args, files, name, main = "python3", templates.PythonArgs(), templates.PythonGuest(), "script.py", "guest.py"
	}
	found, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("%s is not installed", program)
		}
		t.Fatal(err)
	}
	in := installed{root: root, name: name}
	for file, content := range files {
		path := filepath.Join(root, "guest", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	in.argv = append(append([]string{found}, args...), filepath.Join(root, "guest", main))
	return in
}

// runTime bounds a run even on a busy machine; some runs move a hundred megabytes.
const runTime = 5 * time.Minute

func (r guestRun) run(t testing.TB) ended {
	t.Helper()
	in := install(t, r.lang)
	for name, text := range r.tree {
		path := filepath.Join(in.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := listener.(*net.UnixListener).SetDeadline(time.Now().Add(runTime)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	address, guestEnd := "unix:"+listener.Addr().String(), (*os.File)(nil)
	if !r.byPath {
		address, guestEnd = sandbox.BridgeAddress, dial(t, listener)
	}
	cmd := exec.CommandContext(ctx, in.argv[0], append(in.argv[1:], address)...)
	secret := secretPipe(t)
	cmd.ExtraFiles = []*os.File{guestEnd, secret}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &stdout, &stderr, strings.NewReader(r.stdin)
	cmd.Dir = folder
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + folder}
	if pyenv := os.Getenv("PYENV_ROOT"); pyenv != "" {
		cmd.Env = append(cmd.Env, "PYENV_ROOT="+pyenv)
	}
	e := ended{root: in.root}
	e.secret, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", secret.Fd()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close() // so that the guest has the only copy
	}
	host, err := listener.Accept()
	if err != nil {
		t.Fatalf("the guest did not connect: %v; %s", err, &stderr)
	}
	serving, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	if r.during != nil {
		go r.during(func() { cut(bridge.ErrClosed) })
	}
	if r.handler == nil {
		r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
			return &call.Result{Value: req.Args}, nil
		}
	}
	if r.early != nil {
		if err := bridge.Wait(host); err != nil {
			t.Fatal(err)
		}
		r.early(host)
	}
	e.out, e.err = bridge.Serve(serving, host, bridge.Options{Secret: testSecret, Handler: r.handler, Answers: r.answers,
		Job: bridge.Job{Language: r.lang, Name: in.name, Code: r.code, Args: r.args, Vars: r.vars, Modules: r.modules}})
	err = cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	e.exit, e.stdout, e.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	left, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, path := range left {
		if !strings.HasSuffix(path, "/s") && e.exit != 125 && e.exit >= 0 {
			t.Errorf("left behind: %s", path)
		}
	}
	return e
}

const testSecret = "s3cret"

// dial returns the guest's end of a connection.
func dial(t testing.TB, listener net.Listener) *os.File {
	t.Helper()
	guest, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	file, err := guest.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// secretPipe returns the guest's end of a pipe that holds the secret.
func secretPipe(t testing.TB) *os.File {
	t.Helper()
	out, into, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if _, err := into.WriteString(testSecret); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGuestStartedByHand: a guest started by hand says what it is for and does not wait.
func TestGuestStartedByHand(t *testing.T) {
	for _, lang := range []string{"typescript", "python"} {
		in := install(t, lang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, in.argv[0], in.argv[1:]...)
		out, err := cmd.CombinedOutput()
		if string(out) != "mcprun: this program is started by mcprun\n" || cmd.ProcessState.ExitCode() != 125 {
			t.Errorf("%s: %v: %s", lang, err, out)
		}
	}
}

// both runs a test in each language.
func both(t *testing.T, ts, py string, test func(t *testing.T, r guestRun)) {
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		test(t, guestRun{lang: "typescript", code: "const call = globalThis[Symbol.for('mcprun.transport')].call;\n" + ts})
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		test(t, guestRun{lang: "python", code: "import _mcprun; call = _mcprun.call\n" + py})
	})
}

func TestGuestResultAndArguments(t *testing.T) {
	for _, byPath := range []bool{true, false} {
		both(t, `
import fs from "node:fs";
const link = (fd) => { try { return fs.readlinkSync("/proc/self/fd/" + fd); } catch {} };
console.log("open", Array.from({ length: 64 }, (_, fd) => link(fd)).filter(Boolean).join());
const [, started, ...rest] = process.argv;
console.log([started === process.cwd() + "/script.ts" ? "script.ts" : started, ...rest].join(), JSON.stringify(process.env).includes("MCPRUN"));
process.stdin.on("data", (d) => console.log("stdin", String(d)));
export const result = await call("a__b", { n: 12345678901234567890n, f: 1.5, s: "é\u2028\ud83d", o: undefined, l: [null, true, new Date(0)] });`, `
import sys, os
def link(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}")
    except OSError: return ""
print("open", ",".join(filter(None, map(link, range(64)))))
print(",".join(sys.argv), "MCPRUN" in str(os.environ))
print("stdin", sys.stdin.read())
assert sys.path[0] + "/guest" == os.path.dirname(os.path.abspath(call.__func__.__code__.co_filename)), sys.path
assert os.getcwd() not in sys.path and "" not in sys.path, sys.path
result = call("a__b", {"n": 12345678901234567890, "f": 1.5, "s": "é\u2028", "l": [None, True, ("x",)]})`,
			func(t *testing.T, r guestRun) {
				r.byPath, r.args, r.stdin = byPath, []string{"-x", "é"}, "typed"
				var got string
				r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
					got = req.Tool + string(req.Args)
					return &call.Result{Value: json.RawMessage(`{"big":12345678901234567890,"f":1.50}`)}, nil
				}
				e := r.run(t)
				name, no, want := "script.ts", "false", `{"n":12345678901234567890,"f":1.5,"s":"é`+"\u2028\ufffd"+`","l":[null,true,"1970-01-01T00:00:00.000Z"]}`
				result := `{"big":12345678901234567890,"f":1.5}`
				if r.lang == "python" {
					name, no, want = "script.py", "False", `{"n":12345678901234567890,"f":1.5,"s":"é`+"\u2028"+`","l":[null,true,["x"]]}`
				}
				if e.err != nil || e.exit != 0 || e.stderr != "" || string(e.out.Result) != result || e.out.Error != nil {
					t.Fatalf(`%+v %+v, want exit 0, stderr "", string(e.out.Result) %v, out.Error nil and no error`, e, e.out, result)
				}
				if got != "a__b"+want {
					t.Errorf("call = %s, want %s", got, want)
				}
				open, rest, _ := strings.Cut(e.stdout, "\n")
				if want := name + ",-x,é " + no + "\nstdin typed\n"; rest != want {
					t.Errorf("stdout = %q, want %q", rest, want)
				}
				if e.secret != "" && (!strings.Contains(open, "pipe:") || strings.Contains(open, e.secret)) {
					t.Errorf("%s is to be closed; %s", e.secret, open)
				}
			})
	}
}

func TestGuestExit(t *testing.T) {
	for name, test := range map[string]struct {
		ts, py string
		exit   int
		out    string // stderr
		result string
	}{
		"no result":   {ts: `1;`, py: `x = 1`},
		"zero":        {ts: `process.exit(0);`, py: `raise SystemExit`},
		"code":        {ts: `setInterval(() => {}, 1000); process.exit(7);`, py: `import sys; sys.exit(7)`, exit: 7},
		"exitCode":    {ts: `process.exitCode = 9;`, py: `result = 1; raise SystemExit(9)`, exit: 9, result: "?1"},
		"text":        {ts: `console.error("no luck"); process.exit(1);`, py: `import sys; sys.exit("no luck")`, exit: 1, out: "no luck\n"},
		"timers":      {ts: `setTimeout(async () => { await call("t", {}); process.exitCode = 5; }, 50);`, py: "import threading, os\nt = threading.Timer(0.05, lambda: call('t', {})); t.start()\nimport atexit; atexit.register(lambda: call('t', {}))\nraise SystemExit(5)", exit: 5},
		"default":     {ts: `export default (async () => { await call("t", {}); return [1]; })();`, py: `result = [1]`, result: "[1]"},
		"not JSON":    {ts: `export const result = { m: new Map([["a", new Set(["b"])]]), n: [NaN, () => 1], f() {} };`, py: `result = {"m": {"a": ["b"]}, "n": [float("nan"), None]}`, result: `?{"m":{"a":["b"]},"n":["NaN",null]}`},
		"as text":     {ts: `export const result = JSON.parse(JSON.stringify(new Map([[1, ["2026-01-02", "1.50", "{3}", "a/b"]]])));`, py: "import datetime, decimal, pathlib\nresult = {1: [datetime.date(2026, 1, 2), decimal.Decimal('1.50'), {3}, pathlib.Path('a/b')]}", result: `?{"1":["2026-01-02","1.50","{3}","a/b"]}`},
		"replacer":    {ts: `export const result = JSON.parse(JSON.stringify({ m: new Map([["a", 1]]) }, (_, v) => v instanceof Map ? { map: [...v] } : v));`, py: `result = {"m": {"map": [["a", 1]]}}`, result: `?{"m":{"map":[["a",1]]}}`},
		"itself":      {ts: `const a = []; a.push(a); export const result = a;`, py: "result = [{1}]; result.append(result)", out: "mcprun: no result: ", result: ""},
		"other thing": {ts: `export default function f() {}`, py: `result = print`},
		"stuck await": {ts: `await new Promise(() => {});`, py: `raise SystemExit(13)`, exit: 13, out: "?Warning: Detected unsettled top-level await in script.ts\n"},
		"call in flight": {ts: `call("t", {}).then(() => { process.exitCode = 4; });`,
			py: "import threading\nthreading.Thread(target=lambda: call('t', {})).start()\nraise SystemExit(4)", exit: 4},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, test.ts, test.py, func(t *testing.T, r guestRun) {
				e := r.run(t)
				out, optional := strings.CutPrefix(test.out, "?")
				result, resultOptional := strings.CutPrefix(test.result, "?")
				if e.err != nil || e.exit != test.exit || e.stdout != "" || !strings.HasPrefix(e.stderr, out) && !(optional && e.stderr == "") || out == "" && e.stderr != "" ||
					string(e.out.Result) != result && !(resultOptional && e.out.Result == nil) {
					t.Errorf("%+v %+v", e, e.out)
				}
			})
		})
	}
}

func TestGuestErrors(t *testing.T) {
	both(t, `
const tries = [["no__such", {}], ["t", { a: [1, { b: NaN }] }], ["t", { "x y": 1 / 0 }], ["t", { a: [undefined] }], ["t", { m: new Map() }], ["t", { f() {} }],
  ["t", []], ["t", "x"], [7, {}], ["t", Buffer.from("x")], ["t", { b: new Uint8Array(2) }]];
const loop = { a: {} }; loop.a.b = loop; tries.push(["t", loop]);
let deep = {}; for (let i = 0; i < 600; i++) deep = { d: deep }; tries.push(["t", deep]);
tries.push(["t", { s: "x".repeat(17 << 20) }]);
for (const [tool, args] of tries) {
  try { await call(tool, args); console.log("ok"); }
  catch (e) { console.log(e.kind, "|", e.message.slice(0, 90), "|", e.server, e.code, JSON.stringify(e.content), JSON.stringify(e.data)); }
}`, `
import json, datetime, dataclasses
tries = [["no__such", {}], ["t", {"a": [1, {"b": float("nan")}]}], ["t", {"x y": float("inf")}], ["t", {"a": [{1}]}], ["t", {"m": {1: 2}}], ["t", {"f": print}],
  ["t", []], ["t", "x"], [7, {}], ["t", {"s": "\ud83d"}], ["t", {"b": b"x"}], ["t", {"d": datetime.date(2020, 1, 1)}]]
loop = {"a": {}}; loop["a"]["b"] = loop; tries.append(["t", loop])
deep = {}
for _ in range(600): deep = {"d": deep}
tries.append(["t", deep])
tries.append(["t", {"s": "x" * (17 << 20)}])
for tool, args in tries:
    try:
        call(tool, args); print("ok")
    except _mcprun.CallError as e:
        f = e.fields
        print(f["kind"], "|", f["message"][:90], "|", f["server"], f["code"], json.dumps(f["content"]), json.dumps(f["data"]))`,
		func(t *testing.T, r guestRun) {
			calls := 0
			r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
				calls++
				return nil, &call.Error{Kind: call.KindTool, Message: "it <failed>", Server: "no", Code: -32000,
					Content: json.RawMessage(`[{"type":"text","text":"x"}]`), Data: json.RawMessage(`{"n":1}`)}
			}
			e := r.run(t)
			if e.exit != 0 || e.stderr != "" || calls != 1 {
				t.Errorf(`%+v, %d calls were sent, want exit 0, stderr "" and 1`, e, calls)
			}
			golden(t, "errors."+r.lang, e.stdout)
		})
}

func TestGuestUncaught(t *testing.T) {
	for name, test := range map[string]struct{ ts, py string }{
		"throw": {`function f(x) {
  throw new TypeError("bad\nthing");
}
[1].map(f);`, `def f(x):
    raise ValueError("bad\nthing")
f(1)`},
		"chain":     {`try { null.x; } catch (e) { throw new Error("outer", { cause: e }); }`, "try:\n    None.x\nexcept Exception as e:\n    raise RuntimeError('outer') from e"},
		"value":     {`throw { kind: "odd" };`, `raise SystemError`},
		"rejection": {`Promise.reject(new RangeError("late"));`, "def f(): raise IndexError('late')\nfrom concurrent.futures import Future\nf()"},
		"builtin":   {`import fs from "node:fs"; await fs.promises.readFile("/nonexistent");`, `open("/nonexistent")`},
		"call":      {`await call("t", { a: NaN });`, `call("t", {"a": float("nan")})`},
		"timer":     {`setTimeout(() => { throw new Error("in a timer"); }, 1); setTimeout(() => console.log("ran on"), 500);`, "def f():\n    raise KeyError('k')\ndef g():\n    f()\ng()"},
		"awaited":   {`await null.x;`, "async def f():\n    return await {}\nawait f()"},
		"syntax":    {`throw new SyntaxError("x");`, "x = 1\nif x\n  pass"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, test.ts, test.py, func(t *testing.T, r guestRun) {
				e := r.run(t)
				if e.exit != 1 || e.err != nil || e.out.Error == nil || e.stdout != "" {
					t.Fatalf("%+v %+v", e, e.out)
				}
				e.out.Error.Stack = carets.ReplaceAllString(e.out.Error.Stack, "")
				text, _ := json.MarshalIndent(e.out.Error, "", " ")
				golden(t, "uncaught-"+name+"."+r.lang, carets.ReplaceAllString(e.stderr, "")+"--- done\n"+string(text)+"\n")
			})
		})
	}
}

// carets matches what Python prints below a source line, which differs between versions.
var carets = regexp.MustCompile(`(?m)^[ ~^]+\n`)

func TestGuestHandlesItsOwnErrors(t *testing.T) {
	both(t, `process.on("uncaughtException", (e) => { console.log("mine", e.message); });
setTimeout(() => console.log("goes on"), 10);
throw new Error("x");`, `import sys
sys.excepthook = lambda t, e, tb: print("mine", e)
import atexit; atexit.register(print, "goes on")
raise ValueError("x")`, func(t *testing.T, r guestRun) {
		if e := r.run(t); e.stdout != "mine x\ngoes on\n" || e.stderr != "" || e.err != nil {
			t.Errorf(`%+v %+v, want stdout %q, stderr "" and no error`, e, e.out, "mine x\ngoes on\n")
		}
	})
}
