package upstream

import (
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestConfiguredEra: a server whose era is known is started once, and not probed for another.
func TestConfiguredEra(t *testing.T) {
	t.Parallel()
	for mode, era := range map[upstreamtest.Mode]config.Protocol{
		upstreamtest.HangOnProbe: config.ProtocolLegacy, upstreamtest.ExitOnProbe: config.ProtocolLegacy, upstreamtest.ModernOnly: config.ProtocolModern,
	} {
		srv := upstreamtest.Server(t, mode)
		srv.Protocol = era
		open(t, srv, testOptions())
		if n := upstreamtest.Starts(t, srv); n != 1 {
			t.Errorf("%s was started %d times, want 1", mode, n)
		}
	}
}

// TestConfiguredStartupTimeout checks that it takes precedence over that of the options.
func TestConfiguredStartupTimeout(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.HangAlways)
	srv.StartupTimeout = 200 * time.Millisecond
	_, err := Connect(testContext(t), srv, testOptions())
	wantConnectionError(t, err, "did not get ready in time (200ms)")
}
