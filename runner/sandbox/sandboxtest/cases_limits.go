package sandboxtest

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func limitCases() []testCase {
	return []testCase{
		{name: "time limit", timeout: 1500 * time.Millisecond, code: both(
			`console.log("running"); while (true) {}`, "print('running')\nwhile True: pass"),
			check: killed("running")},
		{name: "time limit in native code", timeout: 1500 * time.Millisecond, code: both(
			`console.log("running"); /(a+)+$/.test("a".repeat(40) + "b"); while (true) {}`,
			"import re; print('running'); re.match('(a+)+$', 'a' * 40 + 'b')\nwhile True: pass"),
			check: killed("running")},
		{name: "memory limit", limits: sandbox.Limits{Memory: 150_000_000}, timeout: 30 * time.Second, code: both(
			`console.log("running"); const keep: unknown[] = []; while (true) { const b = new Uint8Array(1 << 20); b.fill(1); keep.push(b); }`,
			"print('running')\nkeep = []\nwhile True: keep.append(bytes(1 << 20) + b'x')"),
			check: func(t *testing.T, w *world, r *result) {
				if !strings.HasPrefix(r.stdout, "running") || r.exit.Killed != "memory" || r.exit.Code != 137 {
					t.Errorf("exit %+v, want 137, killed by memory", r.exit)
				}
			}},
		{name: "memory under the limit", limits: sandbox.Limits{Memory: 300_000_000}, code: both(
			`const b = new Uint8Array(60_000_000); b.fill(1); console.log("fits");`,
			`b = bytes(60_000_000) + b"x"; print("fits")`),
			check: prints("fits\n")},
		{name: "file size limit", limits: sandbox.Limits{FileSize: 1 << 20}, code: both(`
const fs = await import("node:fs");
try { for (let i = 0; i < 100; i++) fs.appendFileSync("big", "x".repeat(100_000)); console.log("LEAK"); } catch {}
console.log("checked");`, `
try:
    with open("big", "wb") as f:
        for _ in range(100): f.write(b"x" * 100_000)
    print("LEAK")
except OSError: pass
print("checked")`),
			check: func(t *testing.T, w *world, r *result) {
				if r.refused == nil && strings.Contains(r.stdout, "LEAK") { // being killed for it is all right too
					t.Errorf("a file of 10 MB could be written")
				}
			}},
		{name: "processes are bounded", limits: sandbox.Limits{Processes: 64}, timeout: 20 * time.Second, code: python(`
import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
        n += 1
    print("LEAK", n)
except OSError: pass
print("checked")`),
			check: func(t *testing.T, w *world, r *result) {
				if r.exit.Killed != "processes" {
					nothing(t, w, r)
				}
			}},
		{name: "fork bomb ends with the run", limits: sandbox.Limits{Processes: 64}, timeout: 3 * time.Second, code: python(`
import os
print("running")
while True:
    try: os.fork()
    except OSError: pass`),
			check: func(t *testing.T, w *world, r *result) {
				if r.exit.Killed != "processes" && r.exit.Killed != "memory" {
					killed("running")(t, w, r)
				}
			}},
		{name: "many descriptors", limits: sandbox.Limits{Files: 128}, code: python(`
keep = []
try:
    for _ in range(1000): keep.append(open("/dev/null"))
    print("LEAK")
except OSError: pass
print("checked")`), check: nothing},
	}
}

// killed checks a run that its context ended: at once, whatever it was doing, after it had printed something.
func killed(printed string) func(*testing.T, *world, *result) {
	return func(t *testing.T, _ *world, r *result) {
		t.Helper()
		if !strings.HasPrefix(r.stdout, printed) {
			t.Errorf("the script did not start")
		}
		if r.exit.Code != 137 || r.exit.Killed != "" {
			t.Errorf("exit %+v, want 137 and no limit named", r.exit)
		}
		if r.elapsed > 6*time.Second {
			t.Errorf("it took %v to end", r.elapsed)
		}
	}
}
