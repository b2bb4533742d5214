package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/circuit"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestPoolOpensTheCircuit(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	p := testPool(t, testOptions(), srv)
	for i := range circuit.MaxFailures {
		_, err := p.Call(testContext(t), "fake", upstreamtest.ToolCrash, nil, nil)
		wantConnectionError(t, err, "exit status 3")
		var gone *ConnectionError
		if errors.As(err, &gone); gone.NotSent || errors.Is(err, ErrCircuitOpen) {
			t.Errorf("crash %d: %#v", i, gone)
		}
	}
	starts := upstreamtest.Starts(t, srv)
	if starts != circuit.MaxFailures {
		t.Errorf("%d starts, want %d", starts, circuit.MaxFailures)
	}
	start := time.Now()
	for range 3 {
		_, err := p.Call(testContext(t), "fake", upstreamtest.ToolEcho, nil, nil)
		wantConnectionError(t, err, "it failed repeatedly and is left alone; it is tried again in")
		wantConnectionError(t, err, "exit status 3")
		if !errors.Is(err, ErrCircuitOpen) {
			t.Errorf("error %v, want %v", err, ErrCircuitOpen)
		}
	}
	if took := time.Since(start); took > 5*time.Second || upstreamtest.Starts(t, srv) != starts {
		t.Errorf("it took %v and %d starts", took, upstreamtest.Starts(t, srv)-starts)
	}
	got := p.Stats()
	if len(got) != 1 || got[0].State != StateOpen || got[0].RetryAt.IsZero() || got[0].Restarts != circuit.MaxFailures-1 || got[0].Calls != circuit.MaxFailures {
		t.Errorf("stats %+v", got)
	}
	p.mu.Lock()
	p.members["fake"].circuit = circuit.New()
	p.mu.Unlock()
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
}

func TestPoolCountsWhatEndsTogetherOnce(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	p := testPool(t, testOptions(), srv)
	failed := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := p.Call(testContext(t), "fake", upstreamtest.ToolHang, nil, nil)
			failed <- err
		}()
	}
	for field[int](t, poolCall(t, p, upstreamtest.ToolCancelled, ""), "hanging") < 20 {
		time.Sleep(time.Millisecond) // bounded by the test's time
	}
	_, err := p.Call(testContext(t), "fake", upstreamtest.ToolCrash, nil, nil)
	wantConnectionError(t, err, "exit status 3")
	for range 20 {
		wantConnectionError(t, <-failed, "")
	}
	if s := p.Stats()[0]; s.Failures != 1 || s.InFlight != 0 || s.State != StateIdle {
		t.Errorf("stats %+v, want Failures 1, InFlight 0 and State %v", s, StateIdle)
	}
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
}

func TestPoolOpensTheCircuitOfAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	gone := upstreamtest.Server(t, upstreamtest.ExitAtOnce)
	lost := config.Server{Key: "web", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1/mcp"}
	p := testPool(t, testOptions(), gone, lost)
	for _, key := range []string{"fake", "web"} {
		opened := 0
		for i := range circuit.MaxFailures + 3 {
			_, err := p.Call(testContext(t), key, upstreamtest.ToolEcho, nil, nil)
			wantConnectionError(t, err, "")
			var c *ConnectionError
			if errors.As(err, &c); !c.NotSent {
				t.Errorf("%s, try %d: %#v", key, i, c)
			}
			if errors.Is(err, ErrCircuitOpen) {
				opened++
			}
		}
		if opened != 3 {
			t.Errorf("%s: %d answers of an open circuit, want 3", key, opened)
		}
	}
}

func TestPoolExpiresIdleSessions(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	opts := testOptions()
	opts.IdleExpiry = 150 * time.Millisecond
	p := testPool(t, opts, srv)
	// A call that is longer than that keeps its session.
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, "fake", upstreamtest.ToolHang, nil, nil)
		ended <- err
	}()
	for p.Stats()[0].State != StateConnected {
		time.Sleep(5 * time.Millisecond) // bounded by the test's time
	}
	time.Sleep(3 * opts.IdleExpiry)
	if s := p.Stats()[0]; s.State != StateConnected || s.InFlight != 1 || s.Since.IsZero() || s.LastUsed.IsZero() {
		t.Errorf("stats %+v", s)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v, want %v", err, context.Canceled)
	}
	for p.Stats()[0].State != StateIdle {
		time.Sleep(5 * time.Millisecond) // bounded by the test's time
	}
	if s := p.Stats()[0]; s.Failures != 0 || s.LastFailure != "" {
		t.Errorf(`stats %+v, want Failures 0 and LastFailure ""`, s)
	}
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if n := upstreamtest.Starts(t, srv); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
}

// A gateway that says of the server behind it that it does not work counts as its failure; a tool that fails does not.
func TestPoolOpensTheCircuitOfAServerThatIsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		opens  bool
	}{{502, "", true}, {503, `{"detail":"busy"}`, true}, {504, "<html>", false}, {500, "", false}} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			fake := upstreamtest.NewHTTP(t, upstreamtest.Normal, nil)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") != "tools/call" {
					fake.ServeHTTP(w, r)
					return
				}
				if strings.HasPrefix(c.body, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
			p := testPool(t, testOptions(), config.Server{Key: "web", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"})
			for range circuit.MaxFailures {
				_, err := p.Call(testContext(t), "web", upstreamtest.ToolEcho, nil, nil)
				wantConnectionError(t, err, fmt.Sprintf("HTTP status %d", c.status))
				time.Sleep(circuit.FailurePause) // what comes at once has one cause
			}
			_, err := p.Call(testContext(t), "web", upstreamtest.ToolEcho, nil, nil)
			if errors.Is(err, ErrCircuitOpen) != c.opens {
				t.Errorf("error %v", err)
			}
			wantConnectionError(t, err, fmt.Sprintf("HTTP status %d", c.status))
		})
	}
}

// Calls that a server is working on go on when a gateway's word of others opens its circuit.
func TestPoolLeavesCallsOfAServerThatIsDown(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.Normal, nil)
	working, release := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			body, _ := io.ReadAll(r.Body)
			if !bytes.Contains(body, []byte("slow")) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			close(working)
			<-release
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	p := testPool(t, testOptions(), config.Server{Key: "web", Transport: config.TransportHTTP, URL: srv.URL + "/mcp"})
	slow := make(chan error, 1)
	go func() {
		_, err := p.Call(testContext(t), "web", upstreamtest.ToolEcho, json.RawMessage(`{"text":"slow"}`), nil)
		slow <- err
	}()
	<-working
	var err error
	for range circuit.MaxFailures + 1 {
		_, err = p.Call(testContext(t), "web", upstreamtest.ToolEcho, nil, nil)
		time.Sleep(circuit.FailurePause)
	}
	if !errors.Is(err, ErrCircuitOpen) {
		t.Errorf("error %v, want %v", err, ErrCircuitOpen)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
}
