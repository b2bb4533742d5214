package sandboxtest

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// timeLimit is the time limit of the cases about it.
const timeLimit = 1500 * time.Millisecond

// overrun bounds the time between a time limit and the end of the run, since other tests keep the machine busy.
const overrun = 5 * time.Second

func limitCases() []testCase {
	memory := sandbox.Limits{Memory: 150_000_000}
	return []testCase{
		{name: "time limit", heavy: true, timeout: timeLimit, code: both(
			`console.log("running"); while (true) {}`, "print('running')\nwhile True: pass"),
			check: onTime},
		{name: "time limit in native code", heavy: true, timeout: timeLimit, code: both(
			`console.log("running"); /(a+)+$/.test("a".repeat(40) + "b"); while (true) {}`,
			"import re; print('running'); re.match('(a+)+$', 'a' * 40 + 'b')\nwhile True: pass"),
			check: onTime},
		{name: "a stopped script", heavy: true, timeout: timeLimit, check: onTime},
		{name: "memory limit", limits: memory, heavy: true, code: both(
			`console.log("running"); const keep: unknown[] = []; while (true) { const b = new Uint8Array(1 << 20); b.fill(1); keep.push(b); }`,
			"print('running')\nkeep = []\nwhile True: keep.append(bytes(1 << 20) + b'x')"),
			check: limit(sandbox.LimitMemory)},
		{name: "memory of many small objects", limits: memory, heavy: true, check: limit(sandbox.LimitMemory)},
		{name: "memory in strings", limits: memory, heavy: true, check: limit(sandbox.LimitMemory)},
		{name: "memory in one piece", limits: memory, heavy: true, check: limitOrRefused(sandbox.LimitMemory)},
		{name: "memory of children", limits: memory, heavy: true, check: limitOrRefused(sandbox.LimitMemory)},
		{name: "shared memory", limits: memory, heavy: true, check: limitOrRefused(sandbox.LimitMemory)},
		{name: "memory in tmp", limits: sandbox.Limits{Memory: 150_000_000, Tmp: 32 << 20}, heavy: true, check: limitOrRefused(sandbox.LimitMemory)},
		{name: "memory in a large tmp", limits: sandbox.Limits{Memory: 150_000_000, Tmp: 1 << 30}, heavy: true, code: both(
			`console.log("running"); const fs = await import("node:fs"); for (let i = 0; i < 60; i++) fs.writeFileSync("/tmp/f" + i, Buffer.alloc(10 << 20, 120)); setTimeout(() => console.log("LEAK 600 MiB in /tmp"), 6000);`,
			"import time\nprint('running', flush=True)\nfor i in range(60):\n    with open(f'/tmp/f{i}', 'wb') as f: f.write(bytes(10 << 20))\ntime.sleep(6); print('LEAK 600 MiB in /tmp')"),
			check: limit(sandbox.LimitMemory)},
		*kernelMemory("queues", kernelMemory("tables", nil)),
		{name: "very many watched descriptors", serial: true, check: limitOrRefused(sandbox.LimitFiles)},
		{name: "memory under the limit", limits: sandbox.Limits{Memory: 300_000_000}, code: both(
			`const b = new Uint8Array(60_000_000); b.fill(1); console.log("fits");`,
			`b = bytes(60_000_000) + b"x"; print("fits")`),
			check: prints("fits\n")},
		{name: "processor time", limits: sandbox.Limits{CPU: time.Second}, heavy: true, check: limit(sandbox.LimitCPU)},
		{name: "processor time of children", limits: sandbox.Limits{CPU: time.Second}, heavy: true, check: limit(sandbox.LimitCPU)},
		{name: "priorities are not raised by a limit", limits: sandbox.Limits{CPU: 5 * time.Second, Processes: 64}, code: python(`
import resource
for n in (resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    soft, hard = resource.getrlimit(n)
    try: resource.setrlimit(n, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); print("LEAK", n, soft, hard) if hard != resource.RLIM_INFINITY else None
    except (OSError, ValueError): pass
print("checked")`), check: nothing},
	}
}

// kernelMemory returns a case about one kind of kernel memory. Each kind needs its own case, because the first may end the run.
func kernelMemory(kind string, then *testCase) *testCase {
	const name = "memory of the kernel"
	return &testCase{name: name, args: []string{kind}, code: programs(strings.ReplaceAll(name, " ", "-")), limits: sandbox.Limits{Memory: 150_000_000},
		heavy: true, check: limitOrRefused(sandbox.LimitMemory, sandbox.LimitProcesses), then: then}
}

func processCases() []testCase {
	few := sandbox.Limits{Processes: 64}
	return []testCase{
		{name: "processes are bounded", limits: few, serial: true, code: python(`
import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        n += 1
    time.sleep(10)  # one that is counted from outside may have passed the limit meanwhile
    print("LEAK", n)
except OSError: pass
print("checked")`),
			check: limitOrRefused(sandbox.LimitProcesses, sandbox.LimitMemory)},
		{name: "fork bomb ends with the run", limits: few, serial: true, timeout: timeLimit, code: python(`
import os
print("running")
while True:
    try: os.fork()
    except OSError: pass`),
			check: killedOr("running", sandbox.LimitProcesses, sandbox.LimitMemory)},
		// If threads and memory run out at the same moment, the kernel may evict and reload the program's pages until the time is up.
		{name: "a thread bomb", limits: sandbox.Limits{Processes: 64, Memory: 1 << 30}, serial: true, check: limitOrRefused(sandbox.LimitProcesses, sandbox.LimitMemory)},
		{name: "a bomb of programs", coldOnly: true, limits: few, serial: true, timeout: 6 * time.Second, check: func(t *recorder, w *world, r *result) {
			harmless(t, w, r)
			if strings.Contains(r.stdout, "checked") { // there are no programs at all
				return
			}
			killedOr("running", sandbox.LimitProcesses, sandbox.LimitMemory)(t, w, r)
			hit := slices.Contains(r.exit.Hit, sandbox.LimitProcesses) || slices.Contains(r.exit.Hit, sandbox.LimitMemory)
			if !hit && !strings.Contains(r.stdout, "refused") {
				t.Errorf("no program was refused, and the limits hit are %q, without processes and memory", r.exit.Hit)
			}
		}},
		{name: "many descriptors", limits: sandbox.Limits{Files: 128}},
	}
}

// killed checks that the context ended the run at once, whatever it was doing, after it had printed something.
func killed(printed string) func(*recorder, *world, *result) { return killedOr(printed) }

// onTime checks that the run was killed after [timeLimit] and at most [overrun] later.
func onTime(t *recorder, w *world, r *result) {
	killed("running")(t, w, r)
	t.Logf("the run ended %v after its time", r.elapsed-timeLimit)
	if r.elapsed < timeLimit || r.elapsed > timeLimit+overrun {
		t.Errorf("a run with %v of time ended after %v", timeLimit, r.elapsed)
	}
}

// killedOr is like [killed], but one of the limits may have ended the run earlier.
func killedOr(printed string, limits ...string) func(*recorder, *world, *result) {
	return func(t *recorder, _ *world, r *result) {
		if !strings.HasPrefix(r.stdout, printed) {
			t.Errorf("the script did not start")
		}
		if slices.Contains(limits, r.exit.Killed) {
			return
		}
		if r.exit.Code != 137 || r.exit.Killed != "" {
			t.Errorf("exit %+v, want 137 and no limit named", r.exit)
		}
		if r.elapsed > 30*time.Second {
			t.Errorf("it took %v to end", r.elapsed)
		}
	}
}

// limit checks that the named limit ended the run, and that earlier output arrived.
func limit(name string) func(*recorder, *world, *result) {
	return func(t *recorder, w *world, r *result) {
		harmless(t, w, r)
		if !strings.HasPrefix(r.stdout, "running") {
			t.Errorf("earlier output is missing")
		}
		if r.exit.Killed != name || r.exit.Code <= 128 { // SIGKILL, SIGXCPU, or an interpreter's abort
			t.Errorf("exit %+v, want a signal's, killed by %s", r.exit, name)
		}
		if !slices.Contains(r.exit.Hit, name) {
			t.Errorf("the limits hit are %q, without %s", r.exit.Hit, name)
		}
	}
}

// limitOrRefused checks that one of the limits ended the run, or that the script got an error and continued.
func limitOrRefused(names ...string) func(*recorder, *world, *result) {
	return func(t *recorder, w *world, r *result) {
		harmless(t, w, r)
		if slices.Contains(names, r.exit.Killed) {
			return
		}
		if r.exit.Killed != "" || !strings.Contains(r.stdout, "checked") {
			t.Errorf("neither ended by a limit of %v nor refused", names)
		}
	}
}
