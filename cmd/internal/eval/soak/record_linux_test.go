package soak

import (
	"bufio"
	"context"
	"database/sql"
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

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

const (
	// recordVariable makes this test binary a writer. Its value is what writerOf needs, as JSON.
	recordVariable = "MCPGEN_SOAK_WRITER"
	// recordRunsVariable sets the number of recorded runs in each store.
	recordRunsVariable = "MCPGEN_SOAK_RECORD"
	fewRecordRuns      = 200
	recordWriters      = 2
	callsOfRun         = 3
	// runsOfWriter is more than a writer makes before it is killed.
	runsOfWriter = 100_000
)

// runTests runs the tests. In a writer's process, it writes.
func runTests(m *testing.M) int {
	if settings := os.Getenv(recordVariable); settings != "" {
		fmt.Fprintln(os.Stderr, writeRecord(settings))
		return 1
	}
	return pgtest.Main(m)
}

// writer is a process that makes recorded runs until it is killed. It prints a line for each effect of a call, before it has it, and for each
// run whose end it has acknowledged.
type writer struct {
	Place, Key, Heads, Dir string
	First                  int // number of its first run
}

func openRecord(ctx context.Context, place string) (store.Store, error) {
	if strings.Contains(place, "://") {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(ctx, place, sqlite.Options{})
}

func ahead(place string) string {
	if strings.Contains(place, "://") {
		return ""
	}
	return place + "-ahead-"
}

// writeRecord is what a writer does. It does not return without an error.
func writeRecord(settings string) error {
	var w writer
	if err := json.Unmarshal([]byte(settings), &w); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := openRecord(ctx, w.Place)
	if err != nil {
		return err
	}
	key, err := audit.ReadKey(w.Key)
	if err != nil {
		return err
	}
	log, err := audit.Open(&sometimesFull{Record: s}, audit.Options{Key: key, HeadFile: w.Key + ".head", Ahead: ahead(w.Place), Publish: audit.PublishFile(w.Heads)})
	if err != nil {
		return err
	}
	b, err := openWarm("embedded", w.Dir)
	if err != nil {
		return err
	}
	r, err := runner.New(&runner.Options{Tree: tree(), Upstreams: effects{}})
	if err != nil {
		return err
	}
	var last atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				n := w.First + int(last.Add(1))
				script := runner.Script{Name: fmt.Sprintf("run-%d.ts", n), Code: recordedScript(n), Language: sandbox.LangTypeScript, Timeout: runTime, Calls: chain.Settings{Audit: log}}
				res, err := r.Launch(ctx, &script, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}, Sandbox: b.Name()})
				_, refused := errors.AsType[*runner.RecordError](err)
				switch {
				case refused:
					fmt.Printf("refused %d\n", n)
				case err != nil:
					fmt.Printf("failed %d %v\n", n, err)
				case strings.Contains(strings.Join(res.Warnings, " "), "record of this run is incomplete"):
					fmt.Printf("incomplete %d\n", n)
				default:
					fmt.Printf("done %d %d\n", n, res.ExitCode)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// recordedScript makes calls, of which some fail, and ends with a code of its own.
func recordedScript(n int) string {
	return fmt.Sprintf(`import { add } from "./servers/calculator";
for (let k = 0; k < %d; k++) { try { await add({ numbers: [%d, k] }); } catch (e) {} }
process.exit(%d);`, callsOfRun, n, n%2)
}

// effects is a server that prints what it does.
type effects struct{}

func (effects) Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	var in struct{ Numbers []int }
	if err := json.Unmarshal(args, &in); err != nil || len(in.Numbers) != 2 {
		return nil, fmt.Errorf("call %s(%s): %v", tool, args, err)
	}
	fmt.Printf("effect %d %d\n", in.Numbers[0], in.Numbers[1])
	if (in.Numbers[0]+in.Numbers[1])%7 == 0 {
		return nil, errors.New("the server is gone")
	}
	return adder{}.Call(ctx, server, tool, args, opt)
}

// sometimesFull is a record that is full now and then.
type sometimesFull struct {
	store.Record
	n atomic.Int64
}

func (s *sometimesFull) full() error {
	if s.n.Add(1)%50 >= 46 {
		return fmt.Errorf("%w: the test says so", store.ErrFull)
	}
	return nil
}

func (s *sometimesFull) Extend(ctx context.Context, next func(int64, tlog.HashReader) (store.Addition, error)) error {
	if err := s.full(); err != nil {
		return err
	}
	return s.Record.Extend(ctx, next)
}

// told is what writers have printed.
type told struct {
	mu      sync.Mutex
	effects map[[2]int]bool
	done    map[int]int  // exit codes of acknowledged runs
	refused map[int]bool // runs that were not started
	kinds   map[string]int
}

// run starts a writer, and kills it after some acknowledged runs.
func (a *told) run(w writer, runs int) error {
	settings, err := json.Marshal(w)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), recordVariable+"="+string(settings))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	left := runs
	var failed error
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // half a line was not told
			break
		}
		var kind string
		var n, more int
		if found, _ := fmt.Sscan(line, &kind, &n, &more); found < 2 {
			return fmt.Errorf("a writer says %q", line)
		}
		a.mu.Lock()
		a.kinds[kind]++
		switch kind {
		case "effect":
			a.effects[[2]int{n, more}] = true
		case "refused":
			a.refused[n] = true
		case "done":
			a.done[n] = more
			left--
		}
		a.mu.Unlock()
		if kind == "failed" || left == 0 {
			_ = cmd.Process.Kill() // what it has printed until then is still in the pipe
		}
		if kind == "failed" {
			failed = errors.New(line)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if failed != nil {
		return failed
	}
	if left > 0 {
		return fmt.Errorf("a writer ended: %s", stderr.String())
	}
	return nil
}

// TestRecordWithFaults makes recorded runs in processes that are killed again and again, with servers that fail, a store that is full or busy
// now and then, and, in Postgres, connections that break. Then it counts the rows.
func TestRecordWithFaults(t *testing.T) {
	runs := number(t, recordRunsVariable, fewRecordRuns)
	need(t, "embedded")
	t.Run("sqlite", func(t *testing.T) {
		place := filepath.Join(t.TempDir(), "state.db")
		recordWithFaults(t, place, runs, "sqlite", place, func(ctx context.Context, c *sql.Conn) error { // another process writes for long
			_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
			if err == nil {
				time.Sleep(20 * time.Millisecond)
				_, err = c.ExecContext(ctx, "ROLLBACK")
			}
			return err
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Cleanup(pgtest.Stop) // other tests look for what is left behind
		place := pgtest.Database(t)
		recordWithFaults(t, place, runs, "pgx", place, func(ctx context.Context, c *sql.Conn) error { // also between a commit and its answer
			_, err := c.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1")
			return err
		})
	})
}

func recordWithFaults(t *testing.T, place string, runs int, driver, address string, disturb func(context.Context, *sql.Conn) error) {
	dir := privateDir(t)
	w := writer{Place: place, Key: filepath.Join(dir, "key"), Heads: filepath.Join(dir, "heads"), Dir: dir}
	key, err := audit.CreateKey(w.Key, "soak")
	if err != nil {
		t.Fatal(err)
	}
	s, err := openRecord(t.Context(), place) // makes the tables
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stop := disturbing(t, driver, address, disturb)
	a := &told{effects: map[[2]int]bool{}, done: map[int]int{}, refused: map[int]bool{}, kinds: map[string]int{}}
	began := time.Now()
	var kills atomic.Int64
	var all sync.WaitGroup
	for range recordWriters {
		all.Go(func() {
			for {
				a.mu.Lock()
				enough := len(a.done) >= runs
				a.mu.Unlock()
				if enough || t.Failed() {
					return
				}
				own := w
				own.First = int(kills.Add(1)) * runsOfWriter
				if err := a.run(own, 1+rand.IntN(max(runs/20, 20))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stop()
	took := time.Since(began)
	log, err := audit.Open(s, audit.Options{Key: key, HeadFile: w.Key + ".head", Ahead: ahead(place), Publish: audit.PublishFile(w.Heads)}) // adds what killed writers left
	if err != nil {
		t.Fatal(err)
	}
	log.Later(audit.Entry{Kind: audit.KindLogin, Body: audit.Login{Event: "login"}}) // so that a head covers all
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	rows := a.check(t, s)
	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	heads, err := os.ReadFile(w.Heads)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(w.Key + ".head")
	if err != nil {
		t.Fatal(err)
	}
	v, err := audit.Verify(t.Context(), s, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Heads: heads, Kept: kept})
	if err != nil || v.Finding != nil || v.Rows != rows || v.Signed != rows || v.Kept != rows || v.Published != rows {
		t.Errorf("Verify() = %+v, %v, want %d intact rows, all signed", v, err, rows)
	}
	t.Logf("%d runs acknowledged in %s, %d processes killed; %d rows, %d heads; told: %v", len(a.done), took.Round(time.Millisecond), kills.Load(), rows, v.Heads, a.kinds)
}

// disturbing disturbs the database until stop is called.
func disturbing(t *testing.T, driver, address string, disturb func(context.Context, *sql.Conn) error) (stop func()) {
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
			}
			c, err := db.Conn(context.Background())
			if err == nil {
				_ = disturb(context.Background(), c) // it may be busy itself
				err = c.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	return func() {
		close(ended)
		working.Wait()
		_ = db.Close()
	}
}

// check compares the record with what the writers have told, and returns the number of rows.
func (a *told) check(t *testing.T, s store.Record) (rows int64) {
	type action struct {
		run  string
		kind audit.Kind
		call int
	}
	seen := map[action]int{}
	intents := map[[2]int]int{}  // by the number of the run, and of the call
	runs := map[int]string{}     // ids by the number of the run
	codes := map[string]int{}    // exit codes
	ends := map[string]int{}     // of calls
	numbers := map[string]bool{} // of runs that have begun
	err := s.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		rows++
		row, err := audit.Decode(r)
		if err != nil {
			return err
		}
		var body struct {
			Name      string
			Call      int
			ExitCode  int
			Arguments struct{ Numbers []int }
		}
		if err := json.Unmarshal(row.Body, &body); err != nil {
			return err
		}
		seen[action{row.Run, row.Kind, body.Call}]++
		n := 0
		_, _ = fmt.Sscanf(body.Name, "run-%d.ts", &n)
		switch row.Kind {
		case audit.KindRun:
			runs[n], numbers[row.Run] = row.Run, true
		case audit.KindCall:
			intents[[2]int(body.Arguments.Numbers)]++
		case audit.KindCallEnd:
			ends[row.Run]++
		case audit.KindRunEnd:
			codes[row.Run] = body.ExitCode
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range seen {
		if n != 1 {
			t.Errorf("the record has %d rows of kind %s for call %d of run %s, want 1", n, what.kind, what.call, what.run)
		}
	}
	for effect := range a.effects {
		if intents[effect] != 1 {
			t.Errorf("call %d of run %d had its effect, and has %d intents in the record, want 1", effect[1], effect[0], intents[effect])
		}
		if a.refused[effect[0]] {
			t.Errorf("run %d was refused, and made a call", effect[0])
		}
	}
	for n, code := range a.done {
		id := runs[n]
		got, ended := codes[id]
		if !numbers[id] || !ended || got != code || ends[id] != callsOfRun {
			t.Errorf("run %d was acknowledged with code %d: it has an intent %v, an end %v with code %d, and ends of %d calls, want all and %d", n, code, numbers[id], ended, got, ends[id], callsOfRun)
		}
	}
	return rows
}
