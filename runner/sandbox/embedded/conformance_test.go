package embedded

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	kinds(t, func(t *testing.T, b *Backend) { sandboxtest.Run(t, b, sandboxtest.Options{}) })
}
