package upstream

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestRefreshAcrossProcesses has several processes find out at the same time that the access token is no longer valid.
// The refresh token is good for one use: a second use makes the authorization server revoke everything.
func TestRefreshAcrossProcesses(t *testing.T) {
	t.Parallel()
	if url := os.Getenv("UPSTREAM_TEST_REFRESH"); url != "" { // one of the processes
		opts := testOptions()
		opts.Logins = NewLogins(os.Getenv("UPSTREAM_TEST_LOGINS"), false)
		s := open(t, config.Server{Key: "fake", Transport: config.TransportHTTP, URL: url}, opts)
		for range 5 {
			mustCall(t, s, upstreamtest.ToolEcho, `{}`)
		}
		return
	}
	c := newScene(t, protectedServer{})
	c.auth.changeGrant = func(map[string]any) { time.Sleep(300 * time.Millisecond) }
	c.mustLogin(t)
	for round := 1; round <= 3; round++ {
		c.auth.forget(false)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				cmd := exec.Command(os.Args[0], "-test.run=^TestRefreshAcrossProcesses$")
				cmd.Env = append(os.Environ(), "UPSTREAM_TEST_REFRESH="+c.srv.URL, "UPSTREAM_TEST_LOGINS="+c.dir)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		wg.Wait()
		if n := c.auth.timesSeen("refresh"); n != round || c.auth.timesSeen("reuse") != 0 {
			t.Errorf("round %d: %d refreshes in all, %d with a used token", round, n, c.auth.timesSeen("reuse"))
		}
	}
}
