package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
)

func TestMain(m *testing.M) {
	backends.RunChild()
	os.Exit(m.Run())
}

// TestWarmStarts runs scripts the way that is measured: the runner with a pool where a sandbox is expected.
func TestWarmStarts(t *testing.T) {
	t.Chdir("../../..")
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
	err = b.warm(t.Context(), b.backends[i], sandbox.LangTypeScript, 2, func(p *pool.Pool) error {
		samples, err := b.starts(t.Context(), p, sandbox.LangTypeScript, func() error { return full(t.Context(), p, 2) },
			func() string { return hello(sandbox.LangTypeScript) })
		if err != nil {
			return err
		}
		if s := p.Stats(); len(samples) != startRuns || s.Warm != startRuns || s.Cold != 1 {
			t.Errorf("%d samples, %+v", len(samples), s)
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

func TestUnknownGroup(t *testing.T) {
	err := (&bench{}).measureGroups(t.Context(), list("starts,finishes"))
	if err == nil || !strings.Contains(err.Error(), `"finishes"; there are starts, idle,`) {
		t.Errorf("error %v", err)
	}
}

func TestSkippedOnce(t *testing.T) {
	b := &bench{}
	b.skip("this")
	b.skip("that")
	b.skip("this")
	if len(b.skipped) != 2 {
		t.Errorf("%q", b.skipped)
	}
}
