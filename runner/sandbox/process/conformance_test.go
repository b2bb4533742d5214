//go:build linux

package process_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, backend(t), sandboxtest.Options{})
}
