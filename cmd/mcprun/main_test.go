package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

// TestMain lets the tests start sandboxes, which run this program again as their first process. Under another name, the program
// is one of the commands of the scripts.
func TestMain(m *testing.M) {
	backends.RunChild()
	testscript.Main(tests{m}, map[string]func(){"mcprun": main, "deskmcp": deskServer, "peoplemcp": peopleServer, "recordmcp": recordServer, "fourmcp": fourServers})
}

// programs is the folder of the programs that tests build.
var programs string

// tests are the tests of this package, with a folder for programs.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	os.Setenv("MCPGEN_TRUST", "1") // the tests of consent take it away
	var err error
	if programs, err = os.MkdirTemp("", "mcprun-test-programs-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programs)
	return t.m.Run()
}

// buildMcpgen builds mcpgen in the folder of programs, once.
var buildMcpgen = sync.OnceValue(func() error {
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(programs, "mcpgen"), "../mcpgen")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does, whose compiled packages it uses
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build mcpgen: %w\n%s", err, out)
	}
	return nil
})
