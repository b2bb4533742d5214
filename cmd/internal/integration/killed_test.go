package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	// killsVariable says how often programs are killed, in all; MCPGEN_KILLS_SEED picks other moments.
	killsVariable = "MCPGEN_KILLS"
	seedVariable  = "MCPGEN_KILLS_SEED"
	fewKills      = 28
	// killedAtOnce is how many runs of one project are killed before the next start.
	killedAtOnce = 3
	// goneTime bounds the time from the next start until everything that a killed program has left is gone.
	goneTime = 10 * time.Second
)

func number(t *testing.T, variable string, fallback int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number above 0, want at least 1 and no error", variable, text)
	}
	return n
}

// victim is a program that is killed at any moment of its life.
type victim struct {
	name string
	// args are those of one of several that run at the same time.
	program string
	args    func(i int) []string
	atOnce  int // how many of one project run at the same time
	// next starts the program, or another one, again. It must remove what the killed one has left.
	next func()
	// whole checks that nothing was left half-done, before the next start and after it.
	whole func(when string)
}

// killing is a series of kills.
type killing struct {
	t      *testing.T
	p      *project
	v      victim
	random *rand.Rand

	mu     sync.Mutex
	family []process
	hits   int           // it was alive
	life   time.Duration // roughly the run time of a program that is not killed
}

// TestKilled kills mcprun at random moments with SIGKILL, in every sandbox, and mcpgen sync. 10 s after the next start, nothing
// is left on the machine, and the tree is whole.
func TestKilled(t *testing.T) {
	t.Parallel()
	total := number(t, killsVariable, fewKills)
	seed := uint64(number(t, seedVariable, 1))
	t.Logf("%s=%d %s=%d", killsVariable, total, seedVariable, seed)
	each := max(2, total/(len(places())+1))
	var kills, hits atomic.Int64
	t.Run("all", func(t *testing.T) { // returns when the parallel ones below are done
		for i, where := range places() {
			t.Run(where.String(), func(t *testing.T) {
				t.Parallel()
				where.need(t)
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				p := newKillProject(t)
				hits.Add(killTimes(t, p, runVictim(t, p, where, random), random, each))
				kills.Add(int64(each))
			})
		}
		t.Run("sync", func(t *testing.T) {
			t.Parallel()
			p, times := newKillProject(t), max(2, total-each*len(places()))
			hits.Add(killTimes(t, p, syncVictim(t, p), rand.New(rand.NewPCG(seed, 1000)), times))
			kills.Add(int64(times))
		})
	})
	// How long one takes is measured once; on a busy machine others may be over before their kill.
	if hits.Load()*5 < kills.Load() {
		t.Errorf("only %d of %d kills hit a program while it ran", hits.Load(), kills.Load())
	}
}

// newKillProject creates a project whose server has a daemon: a process in a session of its own that neither the end of a stream
// nor SIGTERM ends.
func newKillProject(t *testing.T) *project {
	t.Helper()
	p := newProject(t, killServers("weather"))
	if err := os.Mkdir(p.path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"TMPDIR=" + p.path("tmp")}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(p.path("tmp")); len(left) > 0 {
			t.Errorf("left in the folder for temporary files: %v, want len(left) at most 0", left)
		}
	})
	p.sync()
	return p
}

func killServers(second string) map[string]server {
	return map[string]server{
		"calculator": {Command: "sh", Args: []string{"-c", `setsid sh -c 'trap "" TERM; sleep 300; sleep 300' </dev/null >/dev/null 2>&1 &
"$0" "$@"; true`, binary("mcpdemo"), "calculator"}},
		second: {Command: binary("mcpdemo"), Args: []string{second}},
	}
}

// runVictim is mcprun with a script that calls, writes, and starts processes that don't end by themselves.
func runVictim(t *testing.T, p *project, where place, random *rand.Rand) victim {
	t.Helper()
	script := `import { writeFileSync } from "node:fs";
import { add } from "./servers/calculator";
writeFileSync("file", "x".repeat(100_000));
for (let i = 0; i < 20; i++) console.log((await add({ numbers: [i, 1] })).result);
`
	switch {
	case where.language == "python":
		script = `import os, time
from servers.calculator import add
open("file", "w").write("x" * 100_000)
if os.fork() == 0:
    os.setsid()
    while True: time.sleep(0.001)
for i in range(20):
    print(add(numbers=[i, 1])["result"], flush=True)
`
	case where.sandbox != "embedded":
		script = `import { spawn } from "node:child_process";
spawn(process.execPath, ["-e", "setInterval(() => {}, 1)"], { detached: true, stdio: "ignore" }).unref();
` + script
	}
	file := p.write("victim"+where.ext(), script)
	before := takeSnapshot(t, p.path("servers"))
	return victim{
		name: where.String(), program: "mcprun", atOnce: killedAtOnce,
		args: func(i int) []string {
			return []string{"--sandbox", where.sandbox, "--workspace", p.path(fmt.Sprintf("workspace-%d", i)), "--approve-command", "true", file}
		},
		next: func() {
			// In any sandbox: what was left in the others has to go as well.
			next := places()[random.IntN(len(places()))]
			next.need(t)
			args := []string{"-q", "--sandbox", next.sandbox, "--workspace", p.path("next"), "--language", next.language, "-e", "0"}
			p.runIn(t, "mcprun", args...).want(t, 0)
		},
		whole: func(when string) {
			if diff := cmp.Diff(before, takeSnapshot(t, p.path("servers"))); diff != "" {
				t.Errorf("the tree has changed %s (-before +after):\n%s", when, clip(diff))
			}
		},
	}
}

// syncVictim is mcpgen sync, which each time replaces the wrappers of one server by those of another.
func syncVictim(t *testing.T, p *project) victim {
	t.Helper()
	trees := map[string]snapshot{}
	second := ""
	turn := func() {
		second = map[string]string{"": "drive", "drive": "weather", "weather": "drive"}[second]
		p.writeJSON(".mcp.json", map[string]any{"mcpServers": killServers(second)})
	}
	contents := func() snapshot {
		s := takeSnapshot(t, p.path("servers"))
		for name, text := range s {
			_, s[name], _ = strings.Cut(text, "\n") // without its time
		}
		return s
	}
	for range 2 {
		turn()
		p.run("mcpgen", "sync", "--prune").want(t, 0)
		trees[second] = contents()
	}
	turn()
	return victim{
		name: "sync", program: "mcpgen", atOnce: 1, // they would wait for each other
		args: func(int) []string { return []string{"sync", "--prune"} },
		next: func() {
			p.run("mcpgen", "sync", "--prune").want(t, 0)
			if diff := cmp.Diff(trees[second], contents()); diff != "" {
				t.Errorf("the next sync does not repair the tree (-want +got):\n%s", clip(diff))
			}
			p.run("mcpgen", "sync", "--check").want(t, 0)
			turn()
		},
		whole: func(when string) {
			for name, text := range contents() {
				isTemp := strings.HasPrefix(name, ".mcpgen"+string(filepath.Separator)) && name != filepath.Join(".mcpgen", "lock.json")
				if !isTemp && !slices.ContainsFunc([]string{"drive", "weather"}, func(of string) bool { return trees[of][name] == text }) {
					t.Errorf("%s is a file that no tree has, %s:\n%s", name, when, clip(text))
				}
			}
		},
	}
}

// killTimes returns how many kills came while the program ran.
func killTimes(t *testing.T, p *project, v victim, random *rand.Rand, times int) (hits int64) {
	k := &killing{t: t, p: p, v: v, random: random}
	began := time.Now()
	k.run(v.atOnce, nil)
	k.life = time.Since(began)
	v.next()
	k.gone()
	for done := 0; done < times; {
		n := min(v.atOnce, times-done)
		delays := make([]time.Duration, n)
		for i := range delays {
			delays[i] = time.Duration(random.Float64() * float64(k.life))
		}
		k.run(n, delays)
		done += n
		v.whole("after a kill")
		v.next()
		k.gone()
		v.whole("after the next start")
		if t.Failed() {
			return int64(k.hits)
		}
	}
	t.Logf("%s: killed %d times, %d times while it ran; undisturbed it takes about %s", v.name, times, k.hits, k.life.Round(time.Millisecond))
	return int64(k.hits)
}

// run starts several programs and kills each after its delay. Without delays they end by themselves.
func (k *killing) run(n int, delays []time.Duration) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), commandTime)
	defer cancel()
	var all sync.WaitGroup
	for i := range n {
		cmd := k.p.command(ctx, k.v.program, k.v.args(i)...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		k.p.start(cmd)
		if delays == nil {
			all.Go(func() {
				if err := cmd.Wait(); err != nil {
					k.t.Errorf("undisturbed, %s ends with %v:\n%s", k.v.name, err, clip(said.String()))
				}
			})
			continue
		}
		seeFamily := i%2 == 0
		all.Go(func() { k.kill(cmd, delays[i], seeFamily) })
	}
	all.Wait()
	if ctx.Err() != nil {
		k.t.Fatalf("%s did not end in %s", k.v.name, commandTime)
	}
}

// kill kills a program. With seeFamily it is stopped first, to find out reliably which processes are its own.
func (k *killing) kill(cmd *exec.Cmd, after time.Duration, seeFamily bool) {
	time.Sleep(after)
	// Not cmd.Process.Signal, which would report an end that Wait has not seen. But a zombie accepts signals too.
	pid := cmd.Process.Pid
	_, alive := lookUp(pid)
	if seeFamily {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		family := descendants(pid)
		k.mu.Lock()
		k.family = append(k.family, family...)
		k.mu.Unlock()
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_ = cmd.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if alive {
		k.hits++
		k.life = k.life * 102 / 100
	} else {
		k.life = k.life * 9 / 10 // the machine is less busy than it was
	}
}

// gone waits until nothing is left.
func (k *killing) gone() {
	k.t.Helper()
	k.mu.Lock()
	family := k.family
	k.family = nil
	k.mu.Unlock()
	k.p.goneWithin(k.t, family, goneTime)
}

// goneWithin fails the test if something of the project's programs is left after that time.
func (p *project) goneWithin(t *testing.T, family []process, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(20 * time.Millisecond) {
		left := p.leftNow()
		for _, each := range family {
			if each.alive() {
				left = append(left, each.String())
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s after the next start there is left:\n%s", d, strings.Join(left, "\n"))
		}
	}
}
