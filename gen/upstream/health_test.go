package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestHealth(t *testing.T) {
	now := time.Now()
	var h health
	var delays []time.Duration
	for range maxFailures {
		if err := h.open("x", now); err != nil {
			t.Fatalf("open after %d failures: %v", len(h.failures), err)
		}
		delays = append(delays, h.delay(now))
		now = now.Add(time.Second)
		h.fail(failure{at: now}, "it fell over")
	}
	for i, d := range delays {
		if most := firstDelay << max(0, i-2); i < 2 && d != 0 || i >= 2 && (d < most/2 || d >= most) {
			t.Errorf("delay %d is %v", i, d)
		}
	}
	err := h.open("x", now)
	var gone *ConnectionError
	if !errors.Is(err, ErrCircuitOpen) || !errors.Is(err, ErrConnection) || !errors.As(err, &gone) || !gone.NotSent || gone.RetryAt.Before(now.Add(openTime/2)) {
		t.Fatalf("error %#v", err)
	}
	// One more try, which fails: it opens at once, for longer.
	for i := range 10 {
		now = h.until
		if err := h.open("x", now); err != nil {
			t.Fatal(err)
		}
		h.fail(failure{at: now}, "again")
		if open := h.until.Sub(now); open < min(openTime<<(i+1), maxOpenTime)/2 || open > maxOpenTime {
			t.Errorf("open for %v", open)
		}
	}
	now = h.until
	h.succeed()
	h.fail(failure{at: now}, "once")
	if err := h.open("x", now); err != nil || h.delay(now) != 0 {
		t.Errorf("after an answer: %v", err)
	}
	// An answer disproves what a gateway said, and not a crash.
	h = health{}
	for i := range 3 * maxFailures {
		h.fail(failure{now, true}, "said")
		if i == 0 {
			h.fail(failure{at: now}, "crashed")
		}
		h.succeed()
	}
	if len(h.failures) != 1 || h.open("x", now) != nil {
		t.Errorf("failures %v", h.failures)
	}
	h = health{}
	// Failures far between never open it.
	for range 20 {
		now = now.Add(failureWindow / 3)
		h.fail(failure{at: now}, "now and then")
		if err := h.open("x", now); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoolOpensTheCircuit(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	p := testPool(t, testOptions(), srv)
	for i := range maxFailures {
		_, err := p.Call(testContext(t), "fake", upstreamtest.ToolCrash, nil, nil)
		wantConnectionError(t, err, "exit status 3")
		var gone *ConnectionError
		if errors.As(err, &gone); gone.NotSent || errors.Is(err, ErrCircuitOpen) {
			t.Errorf("crash %d: %#v", i, gone)
		}
	}
	starts := upstreamtest.Starts(t, srv)
	if starts != maxFailures {
		t.Errorf("%d starts", starts)
	}
	start := time.Now()
	for range 3 {
		_, err := p.Call(testContext(t), "fake", upstreamtest.ToolEcho, nil, nil)
		wantConnectionError(t, err, "it failed repeatedly and is left alone; it is tried again in")
		wantConnectionError(t, err, "exit status 3")
		if !errors.Is(err, ErrCircuitOpen) {
			t.Errorf("error %v", err)
		}
	}
	if took := time.Since(start); took > time.Second || upstreamtest.Starts(t, srv) != starts {
		t.Errorf("it took %v and %d starts", took, upstreamtest.Starts(t, srv)-starts)
	}
	got := p.Stats()
	if len(got) != 1 || got[0].State != StateOpen || got[0].RetryAt.IsZero() || got[0].Restarts != maxFailures-1 || got[0].Calls != maxFailures {
		t.Errorf("stats %+v", got)
	}
	p.mu.Lock()
	p.members["fake"].health.until = time.Now()
	p.mu.Unlock()
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if p.members["fake"].health.probing {
		t.Error("an answer does not count")
	}
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
		t.Errorf("stats %+v", s)
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
		for i := range maxFailures + 3 {
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
			t.Errorf("%s: %d answers of an open circuit", key, opened)
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
	if _, err := p.Call(testContext(t), "fake", upstreamtest.ToolSlow, []byte(`{"ms":400}`), nil); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats()[0]; s.State != StateConnected || s.Since.IsZero() || s.LastUsed.IsZero() {
		t.Errorf("stats %+v", s)
	}
	for p.Stats()[0].State != StateIdle {
		time.Sleep(5 * time.Millisecond) // bounded by the test's time
	}
	if s := p.Stats()[0]; s.Failures != 0 || s.LastFailure != "" {
		t.Errorf("stats %+v", s)
	}
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if n := upstreamtest.Starts(t, srv); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
}

func TestPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Progress
		p := newPump(func(note Progress) {
			time.Sleep(time.Second) // a listener that is slow
			got = append(got, note)
		})
		for i := range 200 {
			p.put(Progress{Progress: float64(i)})
		}
		p.close()
		p.put(Progress{Progress: 1000})
		synctest.Wait()
		if n := len(got); n < maxProgressWaiting || n > maxProgressWaiting+1 || got[n-1].Progress != 199 {
			t.Errorf("%d notifications, the last %v", n, got[n-1])
		}
		for i := range maxProgressWaiting - 1 {
			if got[i].Progress != float64(i) {
				t.Errorf("notification %d is %v", i, got[i])
			}
		}
		newPump(nil).close() // without any
	})
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
			for range maxFailures {
				_, err := p.Call(testContext(t), "web", upstreamtest.ToolEcho, nil, nil)
				wantConnectionError(t, err, fmt.Sprintf("HTTP status %d", c.status))
				time.Sleep(failurePause) // what comes at once has one cause
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
	for range maxFailures + 1 {
		_, err = p.Call(testContext(t), "web", upstreamtest.ToolEcho, nil, nil)
		time.Sleep(failurePause)
	}
	if !errors.Is(err, ErrCircuitOpen) {
		t.Errorf("error %v", err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
}
