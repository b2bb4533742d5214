package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ending is a way for a run to end.
type ending struct {
	name       string
	typescript string // what the script does once it is ready
	python     string
	flags      []string
	timeout    time.Duration  // of the run, which reports it; 0 for the usual one
	signal     syscall.Signal // sent once the script is ready: to mcprun and its group, as a terminal does
	crash      bool           // the signal goes to mcprun alone, and leaves it no time to end anything
	code       int            // of mcprun
	cause      string
	says       string        // in the message, the error or the output
	within     time.Duration // from ready to the end; 0 for commandTime
}

// preamble calls a server, which starts it, and reports that the script is ready.
func preamble(where place) string {
	if where.language == "python" {
		return `import sys
from servers.calculator import add
from servers.weather import list_cities
print(add(numbers=[1, 2])["result"], flush=True)
open("ready", "w").close()
`
	}
	return `import { writeFileSync } from "node:fs";
import { add } from "./servers/calculator";
import { listCities } from "./servers/weather";
console.log((await add({ numbers: [1, 2] })).result);
writeFileSync("ready", "");
`
}

func endings() []ending {
	const (
		busyTS, busyPy       = "for (;;);", "while True: pass"
		waitingTS, waitingPy = "await listCities();", "list_cities()" // the server takes a minute to answer
		soon                 = 20 * time.Second
	)
	return []ending{
		{name: "own code", typescript: "process.exit(7);", python: "sys.exit(7)", code: 7, cause: "exit"},
		{name: "code of a limit", typescript: "process.exit(124);", python: "sys.exit(124)", code: 124, cause: "exit"},
		{name: "uncaught error", typescript: `throw new RangeError("too far");`, python: `raise IndexError("too far")`, code: 1, cause: "error", says: "too far"},
		{name: "uncaught tool error", typescript: `await add({ numbers: "x" } as never);`, python: `add(numbers="x")`, code: 1, cause: "error", says: "MCPArgumentError"},
		{name: "busy at its time", typescript: busyTS, python: busyPy, timeout: 3 * time.Second, code: 124, cause: "timeout", within: soon},
		{name: "waiting at its time", typescript: waitingTS, python: waitingPy, timeout: 3 * time.Second, code: 124, cause: "timeout", within: soon},
		{name: "memory", flags: []string{"--memory", "150"}, code: 137, cause: "memory", says: "150",
			typescript: `const kept: unknown[] = []; for (;;) kept.push(new Array(50_000).fill(0).map(() => ({ a: Math.random() })));`,
			python:     "kept = []\nwhile True: kept.append(bytearray(b'x' * 1_000_000))"},
		{name: "busy and interrupted", typescript: busyTS, python: busyPy, signal: syscall.SIGINT, code: 130, cause: "interrupted", within: soon},
		{name: "waiting and interrupted", typescript: waitingTS, python: waitingPy, signal: syscall.SIGINT, code: 130, cause: "interrupted", within: soon},
		{name: "terminated", typescript: waitingTS, python: waitingPy, signal: syscall.SIGTERM, code: 143, cause: "interrupted", within: soon},
		{name: "hung up", typescript: busyTS, python: busyPy, signal: syscall.SIGHUP, code: 129, cause: "interrupted", within: soon},
		{name: "crashed", typescript: waitingTS, python: waitingPy, signal: syscall.SIGQUIT, code: 2, crash: true},
		{name: "busy and killed", typescript: busyTS, python: busyPy, signal: syscall.SIGKILL, code: -1, crash: true},
		{name: "waiting and killed", typescript: waitingTS, python: waitingPy, signal: syscall.SIGKILL, code: -1, crash: true},
	}
}

// TestEnds ends runs in every way, in every sandbox, and checks the exit code, the cause, and that nothing is left.
func TestEnds(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) { // by nohup: what is started here would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	servers := map[string]server{
		// Started by a shell, as launchers of packages do it: the server is a grandchild.
		"calculator": {Command: "sh", Args: []string{"-c", `"$0" "$@"; true`, binary("mcpdemo"), "calculator"}},
		"weather":    {Command: binary("mcpdemo"), Args: []string{"weather", "--latency", "60s"}},
	}
	synced := newProject(t, servers)
	synced.sync()
	for _, where := range places() {
		for _, end := range endings() {
			t.Run(where.String()+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				where.need(t)
				p := newProject(t, servers)
				if err := os.CopyFS(p.path("servers"), os.DirFS(synced.path("servers"))); err != nil {
					t.Fatal(err)
				}
				code := end.typescript
				if where.language == "python" {
					code = end.python
				}
				p.write("end"+where.ext(), preamble(where)+code+"\n")
				endRun(t, p, where, end)
			})
		}
	}
}

func endRun(t *testing.T, p *project, where place, end ending) {
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	args := append([]string{"--json", "--sandbox", where.sandbox, "--workspace", p.workspace(where)}, end.flags...)
	if end.timeout > 0 {
		args = append(args, "--timeout", end.timeout.String())
		end.says = end.timeout.String()
	}
	cmd := p.command(ctx, "mcprun", append(args, "end"+where.ext())...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.start(cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	family, isReady := waitReady(t, p, where, cmd, ended)
	if !isReady && end.timeout > 0 && end.timeout < 10*time.Second { // on a busy machine the start takes long
		end.timeout *= 4
		endRun(t, p, where, end)
		return
	}
	if !isReady {
		t.Fatalf("the script was never ready:\n%s%s", clip(stdout.String()), clip(stderr.String()))
	}
	ready := time.Now()
	if end.signal != 0 {
		target := -cmd.Process.Pid
		if end.crash {
			target = cmd.Process.Pid
		}
		if err := syscall.Kill(target, end.signal); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
	if ctx.Err() != nil {
		t.Fatalf("mcprun did not end in %s:\n%s%s", commandTime, clip(stdout.String()), clip(stderr.String()))
	}
	if took := time.Since(ready); end.within != 0 && took > end.within {
		t.Errorf("it took %s to end, the limit is %s", took, end.within)
	}
	if code := cmd.ProcessState.ExitCode(); code != end.code {
		t.Errorf("exit code %d, want %d\n%s%s", code, end.code, clip(stdout.String()), clip(stderr.String()))
	}
	if end.crash {
		afterKill(t, p, where, family)
		return
	}
	for _, each := range family {
		// The process that cleans up after mcprun ends once it sees that mcprun has ended.
		for deadline := time.Now().Add(goneTime); each.alive(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%s outlives mcprun", each)
				break
			}
		}
	}
	checkEnd(t, end, stdout.Bytes())
}

// waitReady returns the descendants of mcprun when the script is ready. A run that has already ended has none.
func waitReady(t *testing.T, p *project, where place, cmd *exec.Cmd, ended chan error) (family []process, ok bool) {
	t.Helper()
	for {
		_, err := os.Stat(filepath.Join(p.workspace(where), "ready"))
		select {
		case err := <-ended:
			ended <- err
			_, statErr := os.Stat(filepath.Join(p.workspace(where), "ready"))
			return nil, statErr == nil
		case <-time.After(5 * time.Millisecond):
			if err == nil {
				return descendants(cmd.Process.Pid), true
			}
		}
	}
}

// TestNoHangup checks that a run started with nohup outlives its terminal.
func TestNoHangup(t *testing.T) {
	t.Parallel()
	where := place{"embedded", "typescript"}
	where.need(t)
	p := newProject(t, map[string]server{})
	p.write("wait.ts", `import { existsSync, writeFileSync } from "node:fs";
writeFileSync("ready", "");
while (!existsSync("go on")) await new Promise((done) => setTimeout(done, 20));
await new Promise((done) => setTimeout(done, 500));
`)
	cmd := p.command(t.Context(), "mcprun", "--sandbox", where.sandbox, "--workspace", p.workspace(where), "wait.ts")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	p.start(cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if _, isReady := waitReady(t, p, where, cmd, ended); !isReady {
		t.Fatalf("the script was never ready:\n%s", clip(said.String()))
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.workspace(where), "go on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v:\n%s", err, clip(said.String()))
	}
}

// TestInterruptedAgain checks that repeated Ctrl-C ends mcprun at once, and that the next start removes what it leaves.
func TestInterruptedAgain(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newKillProject(t)
			code := map[string]string{"typescript": "for (;;);", "python": "while True: pass"}[where.language]
			p.write("busy"+where.ext(), preamble(where)+code+"\n")
			cmd := p.command(t.Context(), "mcprun", "--sandbox", where.sandbox, "--workspace", p.workspace(where), "busy"+where.ext())
			p.start(cmd)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			family, isReady := waitReady(t, p, where, cmd, ended)
			if !isReady {
				t.Fatal("the script was never ready")
			}
			for began := time.Now(); ; {
				_ = cmd.Process.Signal(syscall.SIGINT)
				select {
				case <-ended:
				case <-time.After(2 * time.Millisecond):
					if time.Since(began) < 20*time.Second {
						continue
					}
					t.Error("it goes on")
					_ = cmd.Process.Kill()
				}
				break
			}
			afterKill(t, p, where, family)
		})
	}
}

// afterKill checks that everything left by a killed mcprun is gone a few seconds after the next run starts.
func afterKill(t *testing.T, p *project, where place, family []process) {
	t.Helper()
	if len(family) == 0 {
		t.Error("mcprun had no children: the test looks at nothing")
	}
	args := []string{"-q", "--sandbox", where.sandbox, "--workspace", p.path("next"), "--language", where.language, "-e", "pass"}
	if where.language == "typescript" {
		args[len(args)-1] = "0"
	}
	p.runIn(t, "mcprun", args...).want(t, 0)
	p.goneWithin(t, family, goneTime)
}

func checkEnd(t *testing.T, end ending, stdout []byte) {
	t.Helper()
	var res result
	if err := json.Unmarshal(stdout, &res); err != nil {
		t.Fatalf("--json is not an object: %v\n%s", err, clip(string(stdout)))
	}
	if res.Cause != end.cause || res.ExitCode != end.code {
		t.Errorf("cause %q and exit code %d, want %q and %d: %s", res.Cause, res.ExitCode, end.cause, end.code, res.Message)
	}
	said := res.Message + res.Stderr
	if res.Error != nil {
		said += res.Error.Name + res.Error.Message
	}
	if !strings.Contains(said, end.says) {
		t.Errorf("%q is not in %q", end.says, clip(said))
	}
	if res.Stdout != "3\n" || res.CallCount == 0 || res.Calls[0].Tool != "calculator__add" || res.Calls[0].Outcome != "ok" {
		t.Errorf("what it did before is lost: stdout %q, calls %v", res.Stdout, res.Calls)
	}
}
