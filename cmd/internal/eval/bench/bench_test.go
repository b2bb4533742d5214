package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

func TestMain(m *testing.M) {
	backends.RunChild()
	os.Exit(m.Run())
}

// TestWarmStarts runs scripts as they are measured, in a pool.
func TestWarmStarts(t *testing.T) {
	t.Chdir("../../../..")
	b, err := newBench(t.Context(), []string{"embedded"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	i := slices.IndexFunc(b.backends, func(be sandbox.Backend) bool { return be.Name() == "embedded" })
	if i < 0 {
		t.Fatal("there is no embedded sandbox")
	}
	before := processes()
	err = b.withPool(t.Context(), b.backends[i], sandbox.LangTypeScript, 2, func(p *pool.Pool) error {
		warm := p.Stats().Warm
		runs, err := b.starts(t.Context(), p, sandbox.LangTypeScript, func() error { return waitFull(t.Context(), p, 2) })
		if err != nil {
			return err
		}
		if got := p.Stats().Warm - warm; len(runs.starts) != startRuns || len(runs.ends) != startRuns || got != startRuns {
			t.Errorf("%d starts and %d ends of %d warm runs, want %d", len(runs.starts), len(runs.ends), got, startRuns)
		}
		if mib, ok := memoryOfNew(before); ok && (mib <= 0 || mib > 500) {
			t.Errorf("two idle guests hold %v MiB", mib)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.skipped) > 0 && strings.Contains(strings.Join(b.skipped, " "), "warm") {
		t.Errorf("skipped: %q", b.skipped)
	}
}

// TestTimes measures a run whose output comes right away and whose end takes long.
func TestTimes(t *testing.T) {
	const wait = 50 * time.Millisecond
	var runs times
	err := runs.add(func(stdout io.Writer) error {
		fmt.Fprintln(stdout, "hello")
		time.Sleep(wait)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if runs.ends[0] < millis(wait) {
		t.Errorf("ends = %v ms, want at least %v", runs.ends, wait)
	}
	if err := runs.add(func(io.Writer) error { return nil }); err == nil || len(runs.ends) != 1 {
		t.Errorf("add() error = %v of a run without output, want one, and no sample", err)
	}
}

// TestFailedGroup checks that the error names a group that fails, and that the other groups are measured.
func TestFailedGroup(t *testing.T) {
	broken := errors.New("broken")
	var done []string
	step := func(name string, err error) func(context.Context) error {
		return func(context.Context) error {
			done = append(done, name)
			return err
		}
	}
	groups := []group{
		{"one", []func(context.Context) error{step("1a", nil), step("1b", broken), step("1c", nil)}},
		{"two", []func(context.Context) error{step("2", nil)}},
		{"three", []func(context.Context) error{step("3", broken)}},
	}
	err := measureGroups(t.Context(), groups, nil)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "the group one failed") || !strings.Contains(err.Error(), "the group three failed") {
		t.Errorf("measureGroups() error = %v, want one that names one and three", err)
	}
	if want := []string{"1a", "1b", "2", "3"}; !slices.Equal(done, want) {
		t.Errorf("measured %q, want %q", done, want)
	}
}

func TestUnknownGroup(t *testing.T) {
	err := measureGroups(t.Context(), (&bench{}).groups(), list("starts,finishes"))
	if err == nil || !strings.Contains(err.Error(), `"finishes"; there are starts, idle,`) {
		t.Errorf("measureGroups() error = %v, want one that lists the groups", err)
	}
}

func TestSkippedOnce(t *testing.T) {
	b := &bench{}
	b.skip("this")
	b.skip("that")
	b.skip("this")
	if len(b.skipped) != 2 {
		t.Errorf("skipped = %q, want two", b.skipped)
	}
}
