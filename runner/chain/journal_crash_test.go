package chain

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// TestMain makes the test binary a process that runs a script of calls, and may be killed.
func TestMain(m *testing.M) {
	if setup := os.Getenv("CHAIN_MORTAL"); setup != "" {
		p := &mortal{}
		if err := errors.Join(json.Unmarshal([]byte(setup), p), p.run()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// mortal is a process that makes the calls of a script. It writes a line to the file calls for each call that a server gets, and one to the file
// acknowledged for each outcome that its script has.
type mortal struct {
	Dir    string
	KillAt int64 // kills itself at this boundary: before and after each effect, and before each acknowledgement; zero: never

	boundary            atomic.Int64
	calls, acknowledged *os.File
}

// at is a boundary, where the process may die.
func (p *mortal) at() {
	if p.boundary.Add(1) != p.KillAt {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

func (p *mortal) Call(_ context.Context, _, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	p.at()
	fmt.Fprintf(p.calls, "%s %s\n", tool, args)
	p.at()
	if rand.N(5) == 0 {
		return &upstream.CallResult{IsError: true, Content: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"type":"text","text":"failure %d"}`, rand.Uint64()))}}, nil
	}
	return structured(fmt.Sprintf(`{"n":%d}`, rand.Uint32())), nil
}

// branches and stepsEach are the size of the script: branches at once, of steps that follow one another.
const branches, stepsEach = 4, 12

func (p *mortal) run() error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(p.Dir, "state.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for name, to := range map[string]**os.File{"calls": &p.calls, "acknowledged": &p.acknowledged} {
		if *to, err = os.OpenFile(filepath.Join(p.Dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	j, err := journal.Open(ctx, s, store.Key{Kind: "journal", Name: "run-1"}, make([]byte, 32))
	if err != nil {
		return err
	}
	var raw []json.RawMessage
	for _, d := range definitions {
		raw = append(raw, json.RawMessage(d))
	}
	server, _ := catalog.NewServer("crm", "", "", raw)
	cat, err := catalog.New([]catalog.Server{server})
	if err != nil {
		return err
	}
	c, err := New(Options{Catalog: cat, Upstreams: p, Servers: trusted}).NewCalls(ctx, Run{ID: "run-1", Settings: Settings{Journal: j}})
	if err != nil {
		return err
	}
	handler := c.Handler()
	var all sync.WaitGroup
	for branch := range branches {
		all.Go(func() {
			for step := range stepsEach {
				tool := []string{"send", "send", "put", "get"}[step%4]
				args := fmt.Sprintf(`{"id":%d}`, 100*branch+step/2) // the two sends are equal
				said := outcomeOf(handler(ctx, &call.Request{Tool: "crm__" + tool, Args: json.RawMessage(args)}))
				p.at()
				fmt.Fprintf(p.acknowledged, "%d.%d %s\n", branch, step, said)
			}
		})
	}
	all.Wait()
	return nil
}

// TestKilled kills the process of a script fifty times and more, in several runs, and continues it until it ends: no call that changes
// something is made twice, and what the script once knew stays so.
func TestKilled(t *testing.T) {
	kills, unknown := 0, 0
	for kills < 50 {
		dir := t.TempDir()
		for once := 0; ; once++ {
			ended := runMortal(t, dir, once)
			checkMortal(t, dir)
			if ended {
				break
			}
			kills++
		}
		acknowledged := linesOf(t, filepath.Join(dir, "acknowledged"))
		for _, l := range acknowledged {
			unknown += strings.Count(l, "unknown: unknown whether the call was made")
		}
		if len(acknowledged) < branches*stepsEach {
			t.Fatalf("the script had %d outcomes, want at least %d", len(acknowledged), branches*stepsEach)
		}
	}
	t.Logf("%d kills, %d times unknown", kills, unknown)
	if unknown == 0 {
		t.Error("no call was interrupted")
	}
}

// runMortal runs a process that kills itself, or is killed, and returns whether it has ended before.
func runMortal(t *testing.T, dir string, once int) (ended bool) {
	t.Helper()
	p := &mortal{Dir: dir}
	const boundaries = 3 * branches * stepsEach
	switch once % 3 {
	case 0, 1: // fewer are left with each execution
		p.KillAt = 1 + rand.Int64N(boundaries)
	}
	setup, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHAIN_MORTAL="+string(setup))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if p.KillAt == 0 {
		timer := time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("a process said %s", stderr.String())
	}
	return err == nil
}

// checkMortal checks what happened until now.
func checkMortal(t *testing.T, dir string) {
	t.Helper()
	made := map[string]int{}
	for _, l := range linesOf(t, filepath.Join(dir, "calls")) {
		made[l]++
	}
	for l, n := range made {
		if strings.HasPrefix(l, "send ") && n > 2 { // the script has each twice
			t.Fatalf("%s was made %d times, want at most 2", l, n)
		}
	}
	said := map[string]string{}
	for _, l := range linesOf(t, filepath.Join(dir, "acknowledged")) {
		at, outcome, _ := strings.Cut(l, " ")
		if before, known := said[at]; known && before != outcome {
			t.Fatalf("call %s had the outcome %s, and then %s", at, before, outcome)
		}
		said[at] = outcome
		if !strings.HasPrefix(outcome, `{"n":`) && !strings.HasPrefix(outcome, "tool: failure") && !strings.HasPrefix(outcome, "unknown: unknown whether the call was made") {
			t.Fatalf("call %s = %s", at, outcome)
		}
	}
}

func linesOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // killed before it began
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	return lines
}
