//go:build linux

package process_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestManyRuns makes many runs at once, some of which are killed, and looks for leaks.
func TestManyRuns(t *testing.T) {
	b := backend(t)
	once := func(n int) error {
		s := spec(sandbox.Python, "import sys; print(1)\nif sys.stdin.read(): \n  while True: pass")
		s.Stdout = io.Discard
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if n%10 == 0 {
			s.Limits.CPU = time.Second
			s.Stdin = onlyByte{}
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		p, err := b.Start(ctx, s)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		_, err = p.Wait()
		return err
	}
	if err := once(1); err != nil { // opens what stays open from the first run on
		t.Fatal(err)
	}
	before := openFiles(t)
	var g errgroup.Group
	g.SetLimit(16)
	for n := range 200 {
		g.Go(func() error { return once(n) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after > before+8 {
		t.Errorf("open descriptors grew from %d to %d, want at most %d", before, after, before+8)
	}
	// Only of this process: tests of other packages, which run at the same time, have their own.
	if left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/mcprun-%d-*", os.Getpid())); len(left) > 0 {
		t.Errorf("left: %q, want len(left) at most 0", left)
	}
}

// onlyByte is a reader that returns one byte and then ends.
type onlyByte struct{}

func (onlyByte) Read(p []byte) (int, error) { p[0] = 'x'; return 1, io.EOF }

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
