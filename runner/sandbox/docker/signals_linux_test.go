package docker

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A rootless engine has its user's limits, and may not raise them; any other engine may.
func TestSignalsOfARootlessEngine(t *testing.T) {
	const inChild = "MCPRUN_TEST_FEW_SIGNALS"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignalsOfARootlessEngine$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
		t.Fatal(err)
	}
	if few, many := (&engine{rootless: true}).signals(), (&engine{}).signals(); few != 100 || many != sigPending {
		t.Errorf("%d for a rootless engine, %d for another", few, many)
	}
}
