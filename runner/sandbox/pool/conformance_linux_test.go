package pool_test

import (
	"os/exec"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

// A pool is a backend like the one below it, and holds what that one holds.
func TestConformance(t *testing.T) {
	p := pool.New(process.New(&process.Options{LookPath: exec.LookPath}), nil)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	sandboxtest.Run(t, p, sandboxtest.Options{})
	if s := p.Stats(); s.Warm == 0 {
		t.Errorf("no run had a warm guest: %+v", s)
	}
}
