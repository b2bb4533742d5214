package main

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

// TestMain lets the tests start sandboxes: these run this program again as their first process.
func TestMain(m *testing.M) {
	backends.RunChild()
	os.Exit(m.Run())
}
