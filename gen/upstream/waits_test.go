package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// hangsUp is an endpoint that ends every connection without an answer.
func hangsUp(t *testing.T) config.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(s.Close)
	return config.Server{Key: "fake", Transport: config.TransportHTTP, URL: s.URL}
}

// TestAConnectionThatIsCut says so, and not only "EOF".
func TestAConnectionThatIsCut(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.HTTPServer(t, upstreamtest.Normal, nil), testOptions())
	_, err := s.Call(testContext(t), upstreamtest.ToolCrash, nil, nil)
	wantConnectionError(t, err, `server "fake": the connection was closed before an answer came`)
}

// TestPoolLeavesAStart for those who come later.
func TestPoolLeavesAStart(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.SlowModern)
	p := testPool(t, testOptions(), srv)
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		for upstreamtest.Starts(t, srv) == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := p.Call(ctx, "fake", upstreamtest.ToolEcho, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if n := upstreamtest.Starts(t, srv); n != 1 {
		t.Errorf("%d starts, want 1", n)
	}
}

// TestWhatARequestWaitsFor is told, as it changes.
func TestWhatARequestWaitsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode upstreamtest.Mode
		want []Wait
	}{
		{upstreamtest.Normal, []Wait{WaitStart, WaitAnswer, WaitList, WaitAnswer}},
		{upstreamtest.HangOnList, []Wait{WaitStart, WaitAnswer, WaitList}},
		{upstreamtest.HangAlways, []Wait{WaitStart}},
	} {
		p := testPool(t, testOptions(), upstreamtest.Server(t, c.mode))
		ctx, cancel := context.WithCancel(testContext(t))
		var seen []Wait
		ctx = WithWaits(ctx, func(w Wait) {
			if ctx.Err() != nil {
				return
			}
			seen = append(seen, w)
			if c.mode != upstreamtest.Normal && slices.Equal(seen, c.want) {
				time.AfterFunc(500*time.Millisecond, cancel) // it waits for nothing else by then
			}
		})
		_, err := p.Definition(ctx, "fake", upstreamtest.ToolEcho)
		if (err == nil) != (c.mode == upstreamtest.Normal) || !slices.Equal(seen, c.want) {
			t.Errorf("%s: %q, error %v", c.mode, seen, err)
		}
		cancel()
	}
}
