package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

const (
	// runsVariable sets the number of runs in each sandbox.
	runsVariable = "MCPGEN_SOAK_RUNS"
	fewRuns      = 40
	// atOnce runs are made at the same time.
	atOnce = 32
	// fewAhead runs are made in a sandbox before the first measurement.
	fewAhead = 8
	// runTime is longer than any run takes, unless it hangs.
	runTime = 5 * time.Minute
	// growthFiles and growthMemory bound the growth of this process after all runs, in open files and goroutines, and in bytes.
	growthFiles = 8
	// idleFiles is added to growthFiles while a varying number of idle guests waits in a pool.
	idleFiles    = 100
	growthMemory = 16 << 20
)

// adder is a server without a process.
type adder struct{}

func (adder) Call(_ context.Context, _, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	var in struct{ Numbers []float64 }
	if err := json.Unmarshal(args, &in); err != nil || tool != "add" {
		return nil, fmt.Errorf("call %s(%s): %v", tool, args, err)
	}
	sum := 0.0
	for _, n := range in.Numbers {
		sum += n
	}
	return &upstream.CallResult{Structured: json.RawMessage(fmt.Sprintf(`{"result":%v}`, sum))}, nil
}

// soak makes many runs in one sandbox.
type soak struct {
	runner    *runner.Runner
	languages []sandbox.Language
	dir       string // for workspaces

	mu      sync.Mutex
	times   []time.Duration // of successful runs
	limited int
	errs    []error
	stats   pool.Stats // of the pool, if there is one
}

// TestSoak makes many runs in each sandbox, one sandbox after the other, because each uses the whole machine.
func TestSoak(t *testing.T) {
	runs := number(t, runsVariable, fewRuns)
	t.Logf("%s=%d", runsVariable, runs)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			soakIn(t, name, runs, func(dir string) (sandbox.Backend, error) { return open(name, dir) })
		})
		t.Run("warm "+name, func(t *testing.T) {
			soakIn(t, name, runs, func(dir string) (sandbox.Backend, error) { return openWarm(name, dir) })
		})
	}
}

func soakIn(t *testing.T, name string, runs int, open func(dir string) (sandbox.Backend, error)) {
	languages := need(t, name)
	r, err := runner.New(&runner.Options{Tree: tree(), Upstreams: adder{}})
	if err != nil {
		t.Fatal(err)
	}
	dir, runtimeDir := privateDir(t), privateDir(t)
	s := &soak{runner: r, languages: languages, dir: dir}
	s.make(t, open, runtimeDir, atOnce, nil) // what the first runs load for good does not count
	before := measure(t)
	var took time.Duration
	s.errs = nil
	s.make(t, open, runtimeDir, fewAhead, func(b sandbox.Backend) {
		waitQuiet(b)
		open := measure(t)
		s.times, s.limited = nil, 0
		began := time.Now()
		s.many(t.Context(), b, runs)
		took = time.Since(began)
		waitQuiet(b)
		more := growthFiles
		if _, warm := b.(*pool.Pool); warm {
			more += idleFiles
		}
		open.compare(t, "while the sandbox is open: ", measure(t), more)
		if more == growthFiles {
			goneWithin(t, goneTime, func() []string { return leftOf(t, os.Getpid(), dir, runtimeDir) })
		}
	})
	after := measure(t)
	for _, left := range leftovers(t, dir, runtimeDir) {
		t.Errorf("left behind: %s", left)
	}
	before.compare(t, "", after, growthFiles)
	slices.Sort(s.times)
	if s.stats.Warm > 0 {
		t.Logf("%+v", s.stats)
	}
	t.Logf("%d runs in %s (%.1f/s), %d ended by a limit, %d errors; successful: p50 %s, p95 %s; files %+d, goroutines %+d, heap %+d KiB, resident %+d KiB",
		runs, took.Round(time.Millisecond), float64(runs)/took.Seconds(), s.limited, len(s.errs),
		quantile(s.times, 50), quantile(s.times, 95), after.files-before.files, after.routines-before.routines,
		(after.heap-before.heap)>>10, (after.resident-before.resident)>>10)
}

// make opens a sandbox, makes n runs in it, calls more unless that is nil, and closes it. A run with an unexpected end fails
// the test.
func (s *soak) make(t *testing.T, open func(dir string) (sandbox.Backend, error), runtimeDir string, n int, more func(sandbox.Backend)) {
	t.Helper()
	b, err := open(runtimeDir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.(*pool.Pool); ok { // at least one run must find an idle guest, however busy the machine is
		s.run(t.Context(), b, 0)
		waitIdle(b)
	}
	s.many(t.Context(), b, n)
	if more != nil {
		more(b)
	}
	if p, ok := b.(*pool.Pool); ok {
		if s.stats = p.Stats(); s.stats.Warm == 0 {
			t.Errorf("no run got a warm guest: %+v", s.stats)
		}
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	const most = 10
	for i, err := range s.errs {
		if i == most {
			t.Errorf("… and %d more", len(s.errs)-most)
			break
		}
		t.Error(err)
	}
}

// many makes n runs.
func (s *soak) many(ctx context.Context, b sandbox.Backend, n int) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			s.run(ctx, b, i)
			return nil
		})
	}
	_ = g.Wait()
}

// waitIdle waits until a pool has an idle guest.
func waitIdle(b sandbox.Backend) {
	p, ok := b.(*pool.Pool)
	for end := time.Now().Add(runTime); ok && p.Stats().Idle == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// waitQuiet waits until a pool starts no more guests.
func waitQuiet(b sandbox.Backend) {
	p, ok := b.(*pool.Pool)
	if !ok {
		return
	}
	for end, quiet := time.Now().Add(runTime), 0; quiet < 20 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if quiet++; p.Stats().Starting > 0 {
			quiet = 0
		}
	}
}

func (s *soak) run(ctx context.Context, b sandbox.Backend, n int) {
	k, lang := pick(n, s.languages)
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if k.cancel {
		timer := time.AfterFunc(rand.N(600*time.Millisecond), cancel)
		defer timer.Stop()
	}
	workspace := ""
	if n%8 != 0 || k.cause == runner.CauseDisk {
		dir, err := os.MkdirTemp(s.dir, "w")
		if err != nil {
			s.note(err)
			return
		}
		defer func() { s.note(os.RemoveAll(dir)) }()
		workspace = filepath.Join(dir, "workspace")
	}
	code := preambleTS + k.typescript
	if lang == sandbox.LangPython {
		code = preamblePy + k.python
	}
	if k.timeout == 0 {
		k.timeout = runTime
	}
	var stdout, stderr beginning
	began := time.Now()
	res, err := s.runner.Launch(ctx, &runner.Script{
		Name: "soak", Code: code, Language: lang, Limits: k.limits, Timeout: k.timeout, Workspace: workspace,
		Stdout: &stdout, Stderr: &stderr,
	}, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}, Sandbox: b.Name()})
	if err != nil {
		if !k.cancel || ctx.Err() == nil {
			s.note(fmt.Errorf("run %d (%s, %s): %w", n, k.name, lang, err))
		}
		return
	}
	inTime := !k.cancel && k.cause != runner.CauseTimeout // to print something
	if res.Cause != k.cause || !k.cancel && res.ExitCode != k.code || inTime && !bytes.HasPrefix(stdout.head, []byte("3\n")) {
		s.note(fmt.Errorf("run %d (%s, %s) ended with cause %q and code %d, want %q and %d: %s\n%.100s\n%.500s",
			n, k.name, lang, res.Cause, res.ExitCode, k.cause, k.code, res.Message, stdout.head, stderr.head))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case res.ExitCode == 0:
		s.times = append(s.times, time.Since(began))
	case res.ExitCode == exit.Timeout || res.ExitCode == exit.Killed:
		s.limited++
	}
}

func (s *soak) note(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// beginning keeps the first 1,000 bytes written to it.
type beginning struct{ head []byte }

func (w *beginning) Write(p []byte) (int, error) {
	w.head = append(w.head, p[:min(len(p), 1000-min(1000, len(w.head)))]...)
	return len(p), nil
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100].Round(100 * time.Microsecond)
}
