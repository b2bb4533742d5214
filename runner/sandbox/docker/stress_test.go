package docker_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// Many runs, some of which are killed by a limit or given up: no run fails for a reason of the backend's, and
// nothing stays, neither in the engine nor in this process. MCPRUN_STRESS_RUNS makes it longer.
func TestManyRunsLeaveNothing(t *testing.T) {
	dir := shortDir(t)
	manyRuns(t, newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir }), dir, 60)
}

func TestRemoteManyRunsLeaveNothing(t *testing.T) {
	b := remoteBackend(t)
	manyRuns(t, b, shortDir(t), 40)
	for _, v := range volumes(t, newGuest(t, sandbox.Python, "").ID) {
		t.Errorf("%s is left", v)
	}
}

func manyRuns(t *testing.T, b *docker.Backend, dir string, runs int) {
	if n, err := strconv.Atoi(os.Getenv("MCPRUN_STRESS_RUNS")); err == nil {
		runs = n
	}
	fine := newGuest(t, sandbox.Python, `print("x" * 1000)`)
	fine.run(t, b)
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range runs {
		g.Go(func() error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			spec, want := fine.Spec, sandbox.Exit{}
			spec.Stdout, spec.Stderr = new(counter), nil
			switch i % 20 {
			case 7:
				spec.Guest = map[string][]byte{"guest.py": []byte("b = []\nwhile True: b.append(bytearray(1 << 20))")}
				spec.Limits.Memory, want = 50<<20, sandbox.Exit{Code: 137, Killed: "memory"}
			case 14:
				spec.Guest = map[string][]byte{"guest.py": []byte("while True: pass")}
				want = sandbox.Exit{Code: 137}
			}
			p, err := b.Start(ctx, spec)
			if err != nil {
				return err
			}
			if i%20 == 14 {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			exit, err := p.Wait()
			// On a busy machine the engine may report too late that memory ran out; the conformance suite checks what is reported.
			if exit.Code != want.Code || exit.Killed != want.Killed && exit.Killed != "" {
				t.Errorf("run %d: exit %+v, want %+v", i, exit, want)
			}
			if n := *spec.Stdout.(*counter); want.Code == 0 && n != 1001 {
				t.Errorf("run %d: %d bytes of output", i, n)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, fine.ID, dir)
	b.Close() // gives back the connections kept for the next run
	for range 1500 {
		if runtime.NumGoroutine() <= goroutines+2 && openDescriptors(t) <= descriptors+2 {
			return
		}
		time.Sleep(20 * time.Millisecond) // the client's goroutines end when the engine has closed their connections
	}
	buf := make([]byte, 1<<20)
	t.Errorf("goroutines %d → %d, descriptors %d → %d\n%s", goroutines, runtime.NumGoroutine(), descriptors, openDescriptors(t), buf[:runtime.Stack(buf, true)])
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
