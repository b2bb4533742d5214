package runner

import (
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// GoodFor returns the greatest risk that a sandbox of a strength may run.
func GoodFor(s sandbox.Strength) risk.Risk {
	switch s {
	case sandbox.OwnKernel:
		return risk.Critical
	case sandbox.Container:
		return risk.High
	}
	return risk.Low
}

// goodFor reports whether a backend may run code of a risk.
func goodFor(b sandbox.Backend, r risk.Risk) bool { return GoodFor(b.Strength()) >= r }
