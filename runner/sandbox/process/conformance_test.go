//go:build linux

package process_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, backend(t), sandboxtest.Options{})
}

// TestConformanceWarm has every case run in a guest that was started before there was a script.
func TestConformanceWarm(t *testing.T) {
	sandboxtest.Run(t, backend(t), sandboxtest.Options{Warm: true})
}
