package storetest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
)

// placeVariable makes the binary of a test a writer.
const placeVariable = "STORETEST_PLACE"

// Child is called first in TestMain. In a process that [Kill] has started, it appends rows, prints the index of each once it is written, and
// never returns.
func Child(open func(ctx context.Context, place string) (store.Store, error)) {
	place, child := os.LookupEnv(placeVariable)
	if !child {
		return
	}
	s, err := open(context.Background(), place)
	for err == nil {
		var index int64
		if index, err = Append(context.Background(), s, store.Row{Kind: "call", Run: strconv.Itoa(os.Getpid())}); err == nil {
			_, err = fmt.Println(index)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Kill starts two processes that write to the store at a place, kills each after some rows, and checks that no row which they have reported is
// missing. It does so the given number of times.
func Kill(t *testing.T, place string, open func() store.Store, times int) {
	t.Helper()
	s := open()
	for range times {
		var writers [2]*writer
		for i := range writers {
			writers[i] = startWriter(t, place)
		}
		last := int64(-1)
		for _, w := range writers {
			last = max(last, w.kill(t, 1+rand.IntN(40)))
		}
		if size, err := s.Size(t.Context()); err != nil || size <= last {
			t.Fatalf("Size() = %d, %v after a process was killed, want more than %d, which it had written", size, err, last)
		}
	}
	t.Logf("%d rows", Check(t, s))
	if _, err := Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
		t.Errorf("Extend() after all were killed = %v", err)
	}
}

type writer struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

func startWriter(t *testing.T, place string) *writer {
	t.Helper()
	w := &writer{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), placeVariable+"="+place)
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	return w
}

// kill kills the process after it has reported n rows, and returns the index of the last one that it has reported.
func (w *writer) kill(t *testing.T, n int) (last int64) {
	t.Helper()
	for ; w.lines.Scan(); n-- {
		var err error
		if last, err = strconv.ParseInt(w.lines.Text(), 10, 64); err != nil {
			break // half a line
		}
		if n == 1 {
			_ = w.cmd.Process.Kill() // what it has reported until then is still in the pipe
		}
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	if n > 0 {
		t.Fatalf("a writer ended: %s", w.stderr.String())
	}
	return last
}
