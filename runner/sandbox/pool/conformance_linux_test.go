package pool_test

import (
	"os/exec"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

// TestConformance checks that everything works through a pool. The attacks run in warm guests of each backend, without a pool.
func TestConformance(t *testing.T) {
	p := pool.New(process.New(&process.Options{LookPath: exec.LookPath}), nil)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	sandboxtest.Run(t, p, sandboxtest.Options{Column: "process", WorksOnly: true, Pooled: true})
	if s := p.Stats(); s.Warm == 0 {
		t.Errorf("no run had a warm guest: %+v", s)
	}
}
