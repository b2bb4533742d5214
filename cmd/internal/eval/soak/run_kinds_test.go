package soak

import (
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// kind is a kind of run, with its expected end.
type kind struct {
	name               string
	typescript, python string // after the preamble
	limits             sandbox.Limits
	timeout            time.Duration // zero for a timeout that is never reached
	cancel             bool          // its context is canceled at a random moment
	cause              runner.Cause
	code               int
}

const (
	preambleTS = `import { writeFileSync } from "node:fs";
import { add } from "./servers/calculator";
console.log((await add({ numbers: [1, 2] })).result);
`
	preamblePy = `import sys, time
from servers.calculator import add
print(add(numbers=[1, 2])["result"], flush=True)
`
	busyTS, busyPy = "for (;;);", "while True: pass"
)

// ordinary returns the nth kind that ends by itself or is canceled.
func ordinary(n int) kind {
	switch n % 20 {
	case 3:
		return kind{name: "fails", typescript: `throw new Error("no")`, python: `raise ValueError("no")`, cause: runner.CauseError, code: 1}
	case 5:
		return kind{name: "exits", typescript: "process.exit(5)", python: "sys.exit(5)", cause: runner.CauseExit, code: 5}
	case 13:
		return kind{name: "is canceled", typescript: busyTS, python: busyPy, cancel: true, cause: runner.CauseInterrupted}
	}
	return kind{name: "succeeds", typescript: `writeFileSync("file", "x")`, python: `open("file", "w").write("x")`, cause: runner.CauseExit}
}

// limited returns the kinds that a limit ends.
func limited() []kind {
	return []kind{
		{name: "time", typescript: busyTS, python: busyPy, timeout: time.Second, cause: runner.CauseTimeout, code: exit.Timeout},
		{name: "memory", limits: sandbox.Limits{Memory: 150 << 20}, cause: runner.CauseMemory, code: exit.Killed,
			typescript: `const kept: unknown[] = []; for (;;) kept.push(new Uint8Array(1_000_000).fill(1));`,
			python:     "kept = []\nwhile True: kept.append(bytearray(b'x' * 1_000_000))"},
		{name: "output", limits: sandbox.Limits{Output: 1 << 20}, cause: runner.CauseOutput, code: exit.Killed,
			typescript: `for (;;) console.log("x".repeat(10_000));`, python: "while True: print('x' * 10_000)"},
		{name: "disk", limits: sandbox.Limits{Disk: 8 << 20}, cause: runner.CauseDisk, code: exit.Killed,
			typescript: `for (let i = 0; i < 32; i++) writeFileSync("file" + i, "x".repeat(1_000_000)); ` + busyTS,
			python:     "for i in range(32): open(f'file{i}', 'w').write('x' * 1_000_000)\nwhile True: time.sleep(1)"},
		{name: "processor", limits: sandbox.Limits{CPU: time.Second}, typescript: busyTS, python: busyPy, cause: runner.CauseCPU, code: exit.Killed},
	}
}

// pick returns the kind and the language of the nth run. One run in twenty is ended by a limit.
func pick(n int, languages []sandbox.Language) (kind, sandbox.Language) {
	which := n % len(languages)
	n /= len(languages)
	if n%20 == 7 {
		all := limited()
		return all[(n/20+2*which)%len(all)], languages[which]
	}
	return ordinary(n), languages[which]
}
