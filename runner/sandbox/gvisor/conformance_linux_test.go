package gvisor_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

// Each program runs in a guest of its own. The neighbours' programs use only one language each, to save time.
func TestConformance(t *testing.T) {
	sandboxtest.Run(t, backend(t, "module"), sandboxtest.Options{})
}

// Guests that waited and were then adopted.
func TestConformanceWarm(t *testing.T) {
	sandboxtest.Run(t, backend(t, "module"), sandboxtest.Options{Warm: true, Languages: []sandbox.Language{sandbox.LangTypeScript}})
}

// Debian's gVisor is years older, and in places less faithful to Linux.
func TestConformanceDebian(t *testing.T) {
	col, ok := sandboxtest.Named("gvisor of 2022")
	if !ok || col.Languages == nil {
		t.Fatalf("the table says %+v", col)
	}
	sandboxtest.Run(t, backend(t, "debian"), sandboxtest.Options{Column: col.Name, Languages: col.Languages})
}
