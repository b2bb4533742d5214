package bridge_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
)

// pythonTree is a small generated tree.
var pythonTree = map[string]string{
	"servers/__init__.py":                    "",
	"servers/client.py":                      "class MCPError(Exception): pass\ndef call_mcp_tool(tool, args):\n    raise MCPError('no such record')\n",
	"servers/google_drive/__init__.py":       "from .get_document import get_document\n",
	"servers/google_drive/get_document.py":   "from ..client import call_mcp_tool\ndef get_document(**args):\n    return call_mcp_tool('google_drive__get_document', args)\n",
	"servers/google_drive/list_documents.py": "",
	"servers/crm/__init__.py":                "",
}

// TestPythonUncaught: what a person reads points to the script's own lines, and suggests the nearest names for those that do not exist.
func TestPythonUncaught(t *testing.T) {
	for name, code := range map[string]string{
		"await":         "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError('inside')\nawait f()",
		"await twice":   "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return 1 / n\nprint(await asyncio.gather(f(1), f(0)))",
		"module":        "import helper\nhelper.work(0)",
		"module syntax": "import broken",
		"wrapper":       "from servers.google_drive import get_document\nget_document(id=1)",
		"server":        "from servers.gogle_drive import get_document",
		"tool module":   "import servers.google_drive.getdocument",
		"tool name":     "from servers.google_drive import get_documnt",
		"attribute":     "import servers.google_drive as drive\ndrive.get_documents(id=1)",
		"nothing near":  "import servers.weather",
		"package":       "import pandas",
		"name":          "documents = [1]\nprint(document)",
		"skill":         "from skills.report import run",
		"thread":        "import threading\ndef work():\n    raise ValueError('in a thread')\nt = threading.Thread(target=work, name='worker'); t.start(); t.join()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := guestRun{lang: "python", code: code, tree: pythonTree, modules: map[string]string{
				"helper.py": "from sub.deep import divide\ndef work(n):\n    return divide(n)\n", "sub/deep.py": "def divide(n):\n    return 1 / n\n", "broken.py": "x = (1,\n",
			}}.run(t)
			message := ""
			if e.out.Error != nil {
				message = e.out.Error.Message
			}
			golden(t, "python-"+name, strings.ReplaceAll(carets.ReplaceAllString(e.stderr, "")+"--- message\n"+message+"\n", e.root, "/mcp"))
		})
	}
}

// TestPythonShowsLines: the module that formats errors is imported only when there is an error, and still knows the script's lines.
func TestPythonShowsLines(t *testing.T) {
	for name, code := range map[string]string{
		"uncaught, without descriptors":  "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\ntry:\n    while True: os.dup(1)\nexcept OSError: pass\nraise ValueError('it was here')",
		"in a traceback of the script's": "import sys, traceback\ntry:\n    raise ValueError('it was here')\nexcept ValueError:\n    sys.stderr.write(traceback.format_exc())",
		"imported by a function":         "import sys\ndef shown():\n    import traceback\n    return traceback.format_exc()\ntry:\n    raise ValueError('it was here')\nexcept ValueError:\n    sys.stderr.write(shown())",
		"in a module":                    "import failing",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := guestRun{lang: "python", code: code, modules: map[string]string{"failing.py": "raise ValueError('it was here')\n"}}.run(t)
			if !strings.Contains(e.stderr, "    raise ValueError('it was here')\n") {
				t.Errorf("its line is missing, want %q in it:\n%s", "    raise ValueError('it was here')\n", e.stderr)
			}
		})
	}
}

// TestPythonHints: the module that formats errors knows the whole library, the keys in a tool's answer, and where to put markers below a
// last line without a line break.
func TestPythonHints(t *testing.T) {
	for name, test := range map[string]struct{ code, want string }{
		"library":   {"x = read_fil('a.txt')", "NameError: name 'read_fil' is not defined. Did you mean: 'read_file'?\n"},
		"key":       {"row = {'uri': 1}\nrow.uri", "AttributeError: 'dict' object has no attribute 'uri'; it is a key: write ['uri']\n"},
		"no key":    {"row = {'uri': 1}\nrow.url", "AttributeError: 'dict' object has no attribute 'url'\n"},
		"last line": {"a = 0\nx = 1 / a", "    x = 1 / a\n        ~~^~~\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if e := (guestRun{lang: "python", tree: pythonTree, code: test.code}).run(t); !strings.Contains(e.stderr, test.want) {
				t.Errorf("no %q in:\n%s", test.want, e.stderr)
			}
		})
	}
}

// TestPythonShadowed: files beside the script may have the names of Python's own modules. Modules that the guest imports late are still
// Python's.
func TestPythonShadowed(t *testing.T) {
	for _, name := range []string{"json", "re", "enum", "types", "collections", "traceback", "linecache", "base64", "importlib"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := "import " + name + "\nassert " + name + ".mine\nlist_files()\nfrom _mcprun import call\nprint(call('s__echo', {'a': [1]}))\nresult = {'a': 1}\nraise ValueError('it was here')"
			e := guestRun{lang: "python", tree: pythonTree, code: code, modules: map[string]string{name + ".py": "mine = True\n"}}.run(t)
			if e.out.Error == nil || e.out.Error.Message != "it was here" || !strings.Contains(e.stderr, "    raise ValueError('it was here')\n") || strings.Contains(e.stderr, "guest.py") {
				t.Errorf("%+v\n%s", e.out.Error, e.stderr)
			}
		})
	}
}

// TestPythonLittleLeft: an error is reported, with fewer words, even if the script has removed everything needed to format it.
func TestPythonLittleLeft(t *testing.T) {
	for name, code := range map[string]string{
		"modules":   "import sys\nfor n in ('json', 're', 'traceback', '_mcprun_report'): sys.modules[n] = None\nraise ValueError('it was here')",
		"finders":   "import sys\nsys.modules.pop('_mcprun_report', None)\nsys.meta_path.clear()\nraise ValueError('it was here')",
		"importing": "import builtins\ndef no(*a, **k): raise KeyError('no')\nbuiltins.__import__ = no\nraise ValueError('it was here')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := guestRun{lang: "python", code: code}.run(t)
			if e.out.Error == nil || e.out.Error.Name != "ValueError" || !strings.Contains(e.stderr, "ValueError: it was here\n") || strings.Contains(e.stderr, "guest.py") {
				t.Errorf("%+v\n%s", e.out.Error, e.stderr)
			}
		})
	}
}

// TestPythonModules: files beside the script are imported as in plain Python, while the guest library and the tree are always available.
func TestPythonModules(t *testing.T) {
	r := guestRun{lang: "python", tree: pythonTree, modules: map[string]string{
		"helper.py": "from pkg import value\nimport pkg.sub.deep as deep\ndef f(): return value + deep.more\n", "pkg/__init__.py": "value = 1\n", "pkg/sub/deep.py": "more = 2\n",
		"random.py": "def choice(x): return 'mine'\n", "servers/__init__.py": "stolen = 1\n", "mcprun.py": "stolen = 1\n",
	}, code: `import helper, random, servers, mcprun, inspect, importlib.util
assert helper.f() == 3 and random.choice([1]) == "mine"
assert not hasattr(servers, "stolen") and not hasattr(mcprun, "stolen")
assert inspect.getsource(helper.f) == "def f(): return value + deep.more\n" and helper.__file__ == "helper.py", helper.__file__
assert importlib.util.find_spec("pandas_of_nowhere") is None
try: import servers.nowhere
except ImportError as e: assert e.name == "servers.nowhere"
from mcprun import filter_by_field
result = filter_by_field.__name__`}
	if e := r.run(t); e.err != nil || e.stderr != "" || string(e.out.Result) != `"filter_by_field"` {
		t.Errorf(`%+v %s, want stderr "", %q and no error`, e, e.out.Result, `"filter_by_field"`)
	}
}

// TestPythonAwait: a script may await at its top level, and one that does not may start its own event loop.
func TestPythonAwait(t *testing.T) {
	for name, code := range map[string]string{
		"top":  "import asyncio, _mcprun\nvalues = await asyncio.gather(*(asyncio.to_thread(_mcprun.call, 't', {'i': i}) for i in range(3)))\nresult = values == [{'i': i} for i in range(3)]",
		"loop": "import asyncio\nasync def main():\n    global result\n    await asyncio.sleep(0)\n    result = 1\nasyncio.run(main())",
		"for":  "async def gen():\n    yield 1\nasync for result in gen(): pass",
		"exit": "import asyncio, sys\nresult = 1\nawait asyncio.sleep(0)\nsys.exit(0)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if e := (guestRun{lang: "python", code: code}).run(t); e.err != nil || e.stderr != "" || string(e.out.Result) != "1" && string(e.out.Result) != "true" {
				t.Errorf("%+v %s", e, e.out.Result)
			}
		})
	}
}

// TestPythonSignalsTearNothing interrupts calls at every moment: none may be lost, mixed up or incomplete.
func TestPythonSignalsTearNothing(t *testing.T) {
	r := guestRun{lang: "python", code: `import signal, _mcprun, time
class Late(Exception): pass
def late(*_): raise Late
signal.signal(signal.SIGALRM, late)
def took():
    began = time.monotonic()
    _mcprun.call("t", {"i": 0, "pad": ""})
    return time.monotonic() - began
done = late_ones = i = 0
began = time.monotonic()
# Some of the moments are in the midst of a call, and some after several, however busy the machine is now.
while time.monotonic() < began + 2 or (done <= 100 or late_ones <= 100) and time.monotonic() < began + 60:
    if i % 50 == 0:
        unit = min(took() for _ in range(3)) / 10
    i += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.00002 + (i % 50) * unit)
        try:
            for j in range(5):
                value = _mcprun.call("t", {"i": i, "pad": "x" * (i % 7 * 3000)})
                assert value["i"] == i, (value["i"], i)
                done += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        late_ones += 1
assert _mcprun.call("t", {"i": 0})["i"] == 0
assert done > 100 and late_ones > 100, (done, late_ones)
result = "whole"`}
	r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
		return &call.Result{Value: req.Args}, nil
	}
	if e := r.run(t); e.err != nil || string(e.out.Result) != `"whole"` {
		t.Errorf("%+v %+v, want string(e.out.Result) %q and no error", e, e.out, `"whole"`)
	}
}

// module returns an ES module with one source line per line, and its source map.
func module(name, code string) string {
	mappings := "AAAA" + strings.Repeat(";AACA", strings.Count(code, "\n"))
	m, _ := json.Marshal(map[string]any{"version": 3, "sources": []string{"script:" + name}, "sourcesContent": []string{code}, "names": []string{}, "mappings": mappings})
	return code + "\n//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString(m)
}

// TestNodeImports: the host answers a computed import(), once for each module, and errors in it have their place.
func TestNodeImports(t *testing.T) {
	const begin = `const load = globalThis[Symbol.for("mcprun.import")], need = globalThis[Symbol.for("mcprun.require")];` + "\n"
	var asked atomic.Int32
	answers := func(_ context.Context, ask *call.Ask) (json.RawMessage, error) {
		asked.Add(1)
		var p struct{ Specifier, From string }
		if err := json.Unmarshal(ask.Params, &p); err != nil || ask.Method != "import" {
			return nil, &call.Error{Kind: call.KindArgument, Message: "odd " + ask.Method}
		}
		code, ok := map[string]string{
			"./lib.ts": "export const n = await Promise.resolve(4);\n\nexport function fail() { null.x; }",
			"./bad.ts": "const a = 1;\nexport const r = /(/;",
			"./oops":   "const a = 1;\nthrow new RangeError('while loading');",
		}[p.Specifier]
		if !ok || p.From != "script:script.ts" {
			return nil, &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("%q is not there", p.Specifier)}
		}
		return json.Marshal(map[string]string{"id": "script:" + p.Specifier, "code": module(strings.TrimPrefix(p.Specifier, "./"), code)})
	}
	for name, test := range map[string]struct{ code, stdout, stderr string }{
		"module":  {`const [a, b] = await Promise.all([load("./lib.ts", "script:script.ts"), load("./lib.ts", "script:script.ts")]); console.log(a.n, a === b);`, "4 true\n", ""},
		"builtin": {`console.log((await load("fs", "")).readFileSync.name, need("node:path").sep);`, "readFileSync /\n", ""},
		"missing": {`try { await load("./no.ts", "script:script.ts"); } catch (e) { console.log(e.code, e.message); }`, "ERR_MODULE_NOT_FOUND \"./no.ts\" is not there\n", ""},
		"require": {`try { need("./lib.ts", ""); } catch (e) { console.log(e.code, e.message.includes("await import")); }`, "MODULE_NOT_FOUND true\n", ""},
		"error":   {`(await load("./lib.ts", "script:script.ts")).fail();`, "", "lib.ts:3\nexport function fail() { null.x; }\n"},
		"loading": {`await load("./oops", "script:script.ts");`, "", "oops:2\nthrow new RangeError('while loading');\n"},
		"engine":  {`await load("./bad.ts", "script:script.ts");`, "", "bad.ts:2\nexport const r = /(/;\n"},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			e := guestRun{lang: "typescript", code: begin + test.code, answers: answers}.run(t)
			if e.err != nil || e.stdout != test.stdout || !strings.HasPrefix(e.stderr, test.stderr) || (test.stderr == "") != (e.exit == 0) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestNodeEngineSyntax: errors in the script that only the engine finds have their place too.
func TestNodeEngineSyntax(t *testing.T) {
	code := module("script.ts", "import fs from 'node:fs';\nconst x = await 1;\nconsole.log(fs, x, /[/);\nexport { x as result };")
	e := guestRun{lang: "typescript", code: code}.run(t)
	golden(t, "uncaught-engine.typescript", e.stderr)
}

// TestNodeAbortsMany: if one signal aborts many calls, most of which are held back, none of those are sent.
func TestNodeAbortsMany(t *testing.T) {
	r := guestRun{lang: "typescript", code: `const { call } = globalThis[Symbol.for("mcprun.transport")];
const stop = new AbortController();
const all = Array.from({ length: 500 }, () => call("t", {}, { signal: stop.signal }).catch((e) => e.name));
await call("u", {}).catch(() => {});
`, handler: func(ctx context.Context, req *call.Request) (*call.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	r.code = strings.Replace(r.code, `await call("u", {}).catch(() => {});`, `setTimeout(() => stop.abort(), 50);
export const result = new Set(await Promise.all(all)).size;`, 1)
	if e := r.run(t); e.err != nil || string(e.out.Result) != "1" || e.out.Calls != 128 {
		t.Errorf(`%+v %+v, want string(e.out.Result) "1", out.Calls 128 and no error`, e, e.out)
	}
}

// TestFailedImportNeverHangs: the connection ends while a module is awaited.
func TestFailedImportNeverHangs(t *testing.T) {
	asked := make(chan struct{})
	r := guestRun{lang: "typescript", code: `await globalThis[Symbol.for("mcprun.import")]("./x", "");`,
		answers: func(ctx context.Context, _ *call.Ask) (json.RawMessage, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}, during: func(cut func()) { <-asked; time.Sleep(10 * time.Millisecond); cut() }}
	if e := r.run(t); e.exit != 125 || !errors.Is(e.err, bridge.ErrClosed) {
		t.Errorf("%+v, want exit 125 and %v", e, bridge.ErrClosed)
	}
}
