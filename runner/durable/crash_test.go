package durable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestMain makes the test binary a worker: a process that runs work and may be killed.
func TestMain(m *testing.M) {
	if setup := os.Getenv("DURABLE_WORKER"); setup != "" {
		var w worker
		if err := json.Unmarshal([]byte(setup), &w); err != nil {
			panic(err)
		}
		if err := w.run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// worker is a process of tests. It says its executor's name in a line on stdout, and runs until its stdin is closed.
type worker struct {
	State  string
	Log    string // gets a line for each thing that happens; a line is complete, or not there
	Lease  time.Duration
	KillAt int64  // kills itself at this boundary of steps, counted over all work; zero: never
	Stop   string // waits once, at the place with this name, for a line on stdin; it says so in the log

	boundary atomic.Int64
	stopped  atomic.Bool
	goOn     chan bool
	log      *os.File
}

// note writes a line into the log: the work, the step, what happened.
func (w *worker) note(work *Work, step, what string) {
	fmt.Fprintf(w.log, "%s %s %d %s\n", work.ID, step, os.Getpid(), what)
}

// at is a place where the process may end.
func (w *worker) at(work *Work, place string) {
	if w.boundary.Add(1) == w.KillAt {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	if place == w.Stop && w.stopped.CompareAndSwap(false, true) {
		w.note(work, "place", "reached it")
		<-w.goOn
	}
}

// trip is work with all kinds of steps. Its result tells what each of them returned.
func (w *worker) trip(work *Work, _ json.RawMessage) (json.RawMessage, error) {
	var results []string
	// effect does something once for each line in the log.
	effect := func(step string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			w.at(work, "before "+step)
			value := strconv.FormatUint(rand.Uint64(), 36)
			w.note(work, step, "did "+value)
			w.at(work, "after "+step)
			return value, nil
		}
	}
	returned := func(step, value string, err error) error {
		var unknown *UnknownError
		switch {
		case errors.As(err, &unknown):
			value = "unknown"
		case err != nil:
			w.note(work, step, "failed "+err.Error())
			return err
		}
		w.note(work, step, "returned "+value)
		results = append(results, step+"="+value)
		w.at(work, "between "+step)
		return nil
	}
	for i := range 3 {
		step := fmt.Sprint("step", i)
		value, err := Step(work, step, effect(step))
		if err := returned(step, value, err); err != nil {
			return nil, err
		}
		call := fmt.Sprint("call", i)
		value, err = Call(work, call, false, effect(call))
		if err := returned(call, value, err); err != nil {
			return nil, err
		}
	}
	value, err := Call(work, "again", true, effect("again"))
	if err := returned("again", value, err); err != nil {
		return nil, err
	}
	if err := work.Emit(work.Context(), "halfway"); err != nil {
		return nil, err
	}
	if err := work.Sleep(time.Millisecond); err != nil {
		return nil, err
	}
	value, err = Call(work, "last", false, effect("last"))
	if err := returned("last", value, err); err != nil {
		return nil, err
	}
	return json.Marshal(results)
}

func (w *worker) run() error {
	ctx := context.Background()
	w.goOn = make(chan bool)
	var err error
	if w.log, err = os.OpenFile(w.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	store, err := openStore(ctx, w.State)
	if err != nil {
		return err
	}
	defer store.Close()
	e, err := Open(ctx, Options{State: w.State, Store: store, Lease: w.Lease})
	if err != nil {
		return err
	}
	fmt.Println(e.executor.name)
	e.Register("trip", w.trip)
	if err := e.AddQueue(ctx, Queue{Name: "trips", Concurrency: 100}); err != nil {
		return err
	}
	if err := e.Launch(ctx); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		close(w.goOn)
	}
	return e.Close(ctx)
}

// process is a worker as the test sees it.
type process struct {
	*exec.Cmd
	name   string // of its executor; empty: it did not come so far
	stdin  io.WriteCloser
	stderr bytes.Buffer
}

func (w *worker) start(t *testing.T) *process {
	t.Helper()
	setup, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), "DURABLE_WORKER="+string(setup))
	p.Cmd.Stderr = &p.stderr
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	p.name = strings.TrimSpace(line)
	return p
}

// buried waits for the end of a process that was killed, and releases its leases, which others otherwise wait for.
func (p *process) buried(t *testing.T, s Store) {
	t.Helper()
	err := p.Wait()
	if p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("a worker ended by itself: %v\n%s", err, &p.stderr)
	}
	if p.name == "" {
		return
	}
	for _, lease := range []string{executors + p.name, recoveryLease} {
		if err := s.Release(t.Context(), lease, p.name); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := s.Leases(t.Context(), executors)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases { // it may have died while it took over the work of another
		if err := s.Release(t.Context(), l.Name, p.name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKill kills processes at every boundary of steps and at random moments, until the work is done.
func TestKill(t *testing.T) {
	eachState(t, func(t *testing.T, o Options) {
		kills := 250
		if testing.Short() {
			kills = 20
		}
		w := worker{State: o.State, Log: filepath.Join(t.TempDir(), "log"), Lease: time.Minute}
		client := open(t, o, nil)
		if err := client.AddQueue(t.Context(), Queue{Name: "trips", Concurrency: 100}); err != nil {
			t.Fatal(err)
		}
		var ids []string
		more := func() {
			list, err := client.List(t.Context(), Filter{Open: true})
			if err != nil {
				t.Fatal(err)
			}
			for range 6 - len(list) {
				id, err := client.Start(t.Context(), "trip", nil, Start{Queue: "trips"})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
		}
		for i := range kills {
			more()
			victim := worker{State: w.State, Log: w.Log, Lease: w.Lease}
			if i%3 > 0 {
				victim.KillAt = 1 + int64(i/3)%40
			}
			p := victim.start(t)
			if victim.KillAt == 0 {
				time.Sleep(rand.N(60 * time.Millisecond))
				p.Process.Kill()
			} else {
				// It may have less to do than that.
				timer := time.AfterFunc(5*time.Second, func() { p.Process.Kill() })
				t.Cleanup(func() { timer.Stop() })
			}
			p.buried(t, o.Store)
		}
		last := w.start(t)
		for _, id := range ids {
			// A server may take a lease for a process that was killed while it sent that, after its leases were released. It expires.
			if s := waitFor(t, client, id, 2*w.Lease); s.State != Done {
				t.Errorf("status = %+v, want done", s)
			}
		}
		last.stdin.Close()
		if err := last.Wait(); err != nil {
			t.Errorf("the last worker: %v\n%s", err, &last.stderr)
		}
		unknown := judge(t, client, w.Log, ids)
		t.Logf("%d kills, %d works, %d unknown calls", kills, len(ids), unknown)
	})
}

// judge reads the log of workers: no step was repeated after it had returned, no call at all, and each result is what was returned. It
// returns how many calls were unknown.
func judge(t *testing.T, e *Engine, log string, ids []string) (unknown int) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	did, returned := map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		key := f[0] + " " + f[1]
		switch what, value := f[3], f[4]; what {
		case "did":
			// A process that was stopped right before a call makes it when it goes on, if it does.
			if was := returned[key]; was != "" && was != "unknown" {
				t.Errorf("%s was repeated after it returned %s", key, returned[key])
			}
			did[key] = append(did[key], value)
		case "returned":
			if returned[key] != "" && returned[key] != value {
				t.Errorf("%s returned %s, then %s", key, returned[key], value)
			}
			returned[key] = value
		}
	}
	for key, values := range did {
		if _, step, _ := strings.Cut(key, " "); len(values) > 1 && (strings.HasPrefix(step, "call") || step == "last") {
			t.Errorf("%s was made %d times", key, len(values))
		}
	}
	for _, id := range ids {
		s, err := e.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var results []string
		if err := json.Unmarshal(s.Result, &results); err != nil || len(results) != 8 {
			t.Errorf("%s: result %s, %v; want eight steps", id, s.Result, err)
		}
		for _, result := range results {
			step, value, _ := strings.Cut(result, "=")
			key := id + " " + step
			if value == "unknown" {
				unknown++
				if !strings.HasPrefix(step, "call") && step != "last" {
					t.Errorf("%s is unknown, want only calls that are not idempotent", key)
				}
				continue
			}
			if n := len(did[key]); n == 0 || did[key][n-1] != value {
				t.Errorf("%s = %s, but it did %v", key, value, did[key])
			}
		}
	}
	return unknown
}
