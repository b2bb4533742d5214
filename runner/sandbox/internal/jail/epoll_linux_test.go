//go:build linux && (amd64 || arm64)

package jail_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestManyWatches checks that one run cannot use up the user's quota of epoll watches. A closed descriptor stays
// watched as long as another descriptor refers to the same file.
func TestManyWatches(t *testing.T) {
	cfg := shell("")
	cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", `
import os, select, time
held = [select.epoll() for _ in range(4)]
files = [os.pipe()[0] for _ in range(20)]
try:
    for e in held:
        for f in files:
            for n in range(200, 1000):
                os.dup2(f, n)
                e.register(n, select.EPOLLIN)
                os.close(n)
except OSError as error: print(error)
time.sleep(40)
`}
	if got := run(t, cfg); got.Killed != sandbox.LimitFiles {
		t.Errorf("%+v %q %.300s: got %v, want %v", got.Exit, got.stdout, got.stderr, got.Killed, sandbox.LimitFiles)
	}
	withoutRoot(t)
}
