package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

// TestMain lets the tests start sandboxes: these run this program again as their first process. Under another name it is
// one of the commands of the scripts.
func TestMain(m *testing.M) {
	backends.RunChild()
	testscript.Main(m, map[string]func(){"mcprun": main, "deskmcp": deskServer})
}
