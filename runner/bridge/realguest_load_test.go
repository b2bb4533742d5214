package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares with a file in testdata; a missing one fails.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestGuestParallelCalls(t *testing.T) {
	both(t, `const all = await Promise.all(Array.from({ length: 20 }, (_, i) => call("t", { i })));
if (all.some((r, i) => r.i !== i)) throw new Error("mixed up");
export const result = "together";`, `from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool:
    all = list(pool.map(lambda i: call("t", {"i": i}), range(20)))
assert [r["i"] for r in all] == list(range(20))
result = "together"`, func(t *testing.T, r guestRun) {
		var asked atomic.Int32
		all := make(chan struct{})
		r.handler = func(ctx context.Context, req *call.Request) (*call.Result, error) { // answers none of the calls before all have arrived
			if asked.Add(1) == 20 {
				close(all)
			}
			select {
			case <-all:
			case <-time.After(30 * time.Second):
				return nil, errors.New("the other calls do not come")
			}
			return &call.Result{Value: req.Args}, nil
		}
		if e := r.run(t); e.err != nil || string(e.out.Result) != `"together"` {
			t.Errorf("%+v %+v, want string(e.out.Result) %q and no error", e, e.out, `"together"`)
		}
	})
}

// TestGuestHoldsBack makes more calls at once, and with more bytes, than the host allows.
func TestGuestHoldsBack(t *testing.T) {
	both(t, `await Promise.all(Array.from({ length: 1000 }, (_, i) => call("t", { i })));
const s = "x".repeat(5 << 20);
await Promise.all(Array.from({ length: 20 }, (_, i) => call("t", { s })));
export const result = "held";`, `from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(300) as pool:
    list(pool.map(lambda i: call("t", {"i": i}), range(1000)))
s = "x" * (5 << 20)
with ThreadPoolExecutor(20) as pool:
    list(pool.map(lambda i: call("t", {"s": s}), range(20)))
result = "held"`, func(t *testing.T, r guestRun) {
		r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
			time.Sleep(time.Millisecond) // so that calls pile up
			return nil, nil
		}
		if e := r.run(t); e.err != nil || string(e.out.Result) != `"held"` || e.out.Calls != 1020 {
			t.Errorf("%+v %+v, want string(e.out.Result) %q, out.Calls 1020 and no error", e, e.out, `"held"`)
		}
	})
}

func TestGuestLargeValues(t *testing.T) {
	both(t, `const r = await call("t", { rows: 1 }); export const result = r;`, `result = call("t", {"rows": 1})`, func(t *testing.T, r guestRun) {
		value := json.RawMessage(`[` + strings.Repeat(`{"name":"sömebody","n":12345},`, 170_000) + `0]`)
		r.handler = func(context.Context, *call.Request) (*call.Result, error) { return &call.Result{Value: value}, nil }
		if e := r.run(t); e.err != nil || string(e.out.Result) != string(value) {
			t.Errorf("%v, exit %d, %d bytes, stderr %s, want string(e.out.Result) %v and no error", e.err, e.exit, len(e.out.Result), e.stderr, string(value))
		}
	})
}

func TestGuestCancels(t *testing.T) {
	both(t, `const stop = AbortSignal.timeout(500);
try { await globalThis[Symbol.for("mcprun.transport")].call("slow", {}, { signal: stop }); } catch (e) { console.log(e.name); }
await call("fast", {});`, `import signal
class TimeoutError(Exception): pass
def late(*_): raise TimeoutError
signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 3)
try: call("slow", {})
except TimeoutError as e: print(type(e).__name__)
call("fast", {})`, func(t *testing.T, r guestRun) {
		var cancelled atomic.Bool
		r.handler = func(ctx context.Context, req *call.Request) (*call.Result, error) {
			if req.Tool == "fast" {
				return nil, nil
			}
			<-ctx.Done()
			cancelled.Store(true)
			return nil, ctx.Err()
		}
		if e := r.run(t); e.err != nil || e.exit != 0 || e.stdout != "TimeoutError\n" || !cancelled.Load() || e.out.Calls != 2 {
			t.Errorf("%+v %+v cancelled %v", e, e.out, cancelled.Load())
		}
	})
}

// TestGuestEndsWithoutHost cuts the connection of a script that waits and, in Python, of one that never yields.
func TestGuestEndsWithoutHost(t *testing.T) {
	both(t, `setInterval(() => {}, 1000); process.on("exit", () => console.log("ran")); await call("t", {}); await new Promise(() => {});`,
		`call("t", {})`+"\nwhile True: pass", func(t *testing.T, r guestRun) {
			called := make(chan struct{})
			r.handler = func(context.Context, *call.Request) (*call.Result, error) {
				defer close(called)
				return nil, nil
			}
			r.during = func(cut func()) { <-called; cut() }
			if e := r.run(t); e.exit != 125 || !errors.Is(e.err, bridge.ErrClosed) || e.stdout != "" {
				t.Errorf(`%+v %+v, want exit 125, %v and stdout ""`, e, e.out, bridge.ErrClosed)
			}
		})
}

// TestGuestHardExit leaves the interpreter in ways that run no exit handlers.
func TestGuestHardExit(t *testing.T) {
	both(t, `process.kill(process.pid, "SIGKILL"); await new Promise(() => {});`, `import os; os._exit(3)`, func(t *testing.T, r guestRun) {
		r.byPath = true
		if e := r.run(t); !errors.Is(e.err, bridge.ErrClosed) || e.out.Done || e.exit == 0 {
			t.Errorf("%+v %+v", e, e.out)
		}
	})
}

func TestGuestFork(t *testing.T) {
	r := guestRun{lang: "python", code: `import os, sys, _mcprun
pid = os.fork()
if pid == 0:
    try:
        _mcprun.call("t", {})
    except _mcprun.CallError as e:
        print(e.fields["kind"], flush=True)
    sys.exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
_mcprun.call("t", {})
result = "parent"`}
	if e := r.run(t); e.err != nil || e.stdout != "internal\n" || string(e.out.Result) != `"parent"` || e.out.Calls != 1 {
		t.Errorf("%+v %+v, want stdout %q, string(e.out.Result) %q, out.Calls 1 and no error", e, e.out, "internal\n", `"parent"`)
	}
}

// BenchmarkGuestCall measures a call as scripts make it, one after the other.
func BenchmarkGuestCall(b *testing.B) {
	for name, r := range map[string]guestRun{
		"node": {lang: "typescript", code: `const { call } = globalThis[Symbol.for("mcprun.transport")];
const n = Number(process.argv[2]); const begin = performance.now();
for (let i = 0; i < n; i++) await call("t", { i });
export const result = (performance.now() - begin) * 1e6 / n;`},
		"python": {lang: "python", code: `import _mcprun, sys, time
n = int(sys.argv[1]); begin = time.perf_counter()
for i in range(n): _mcprun.call("t", {"i": i})
result = (time.perf_counter() - begin) * 1e9 / n`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.args = []string{"5000"}
				e := r.run(b)
				var ns float64
				if err := json.Unmarshal(e.out.Result, &ns); err != nil {
					b.Fatalf("%+v", e)
				}
				b.ReportMetric(ns/1000, "µs/call")
			}
		})
	}
}
