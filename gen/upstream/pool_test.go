package upstream

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func testPool(t *testing.T, opts *Options, servers ...config.Server) *Pool {
	t.Helper()
	p := NewPool(servers, opts)
	t.Cleanup(func() { p.Close() })
	return p
}

func poolCall(t *testing.T, p *Pool, tool, args string) *CallResult {
	t.Helper()
	res, err := p.Call(testContext(t), "fake", tool, json.RawMessage(args), nil)
	if err != nil {
		t.Fatalf("Call(%s): %v", tool, err)
	}
	return res
}

func TestPoolSharesOneConnection(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	p := testPool(t, testOptions(), srv)
	if n := upstreamtest.Starts(t, srv); n != 0 {
		t.Errorf("%d starts before the first call", n)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := p.Call(testContext(t), "fake", upstreamtest.ToolSlow, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := upstreamtest.Starts(t, srv); n != 1 {
		t.Errorf("%d starts, want 1", n)
	}
}

func TestPoolReconnectsAndRemembersTheEra(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.ExitOnProbe)
	p := testPool(t, testOptions(), srv)
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if n := upstreamtest.Starts(t, srv); n != 2 {
		t.Errorf("%d starts, want 2: the probe and the fallback", n)
	}
	_, err := p.Call(testContext(t), "fake", upstreamtest.ToolCrash, nil, nil)
	wantConnectionError(t, err, "exit status 3")
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	if n := upstreamtest.Starts(t, srv); n != 3 {
		t.Errorf("%d starts, want 3: no second probe", n)
	}
}

func TestPoolRenewsAForgottenSession(t *testing.T) {
	t.Parallel()
	fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: true})
	p := testPool(t, testOptions(), fake.Config())
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	fake.Forget()
	poolCall(t, p, upstreamtest.ToolEcho, `{}`) // the server cannot have acted on it, so it is made again
}

func TestPoolConceals(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.Lookup = func(name string) (string, bool) { return "hunter2-hunter2", name == "TOKEN" }
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Env["SECRET"] = "${TOKEN}"
	unset := config.Server{Key: "other", Transport: config.TransportStdio, Command: "x", Args: []string{"${NOT_SET}", "${TOKEN}"}}
	p := testPool(t, opts, srv, unset)
	for range 2 { // before the first session, and after
		if got := p.Conceal("a hunter2-hunter2"); got != "a [TOKEN]" {
			t.Errorf("conceal: %q", got)
		}
		poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	}
}

func TestPoolErrors(t *testing.T) {
	t.Parallel()
	p := testPool(t, testOptions(), upstreamtest.Server(t, upstreamtest.Normal))
	if _, err := p.Call(testContext(t), "nobody", "x", nil, nil); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("error %v", err)
	}
	_, err := p.Call(testContext(t), "fake", upstreamtest.ToolRPCError, nil, nil)
	wantProtocolError(t, err, -32050, "on fire")
	p.Close()
	_, err = p.Call(testContext(t), "fake", upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "the pool is closed")
}

func TestPoolFailureIsNotKept(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	program := srv.Command
	srv.Command = srv.Dir + "/later"
	p := testPool(t, testOptions(), srv)
	_, err := p.Call(testContext(t), "fake", upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "no such file")
	if err := os.Symlink(program, srv.Command); err != nil {
		t.Fatal(err)
	}
	poolCall(t, p, upstreamtest.ToolEcho, `{}`)
}

func TestPoolCloseDuringConnect(t *testing.T) {
	t.Parallel()
	srv := upstreamtest.Server(t, upstreamtest.HangAlways)
	p := testPool(t, testOptions(), srv)
	failed := make(chan error, 1)
	go func() {
		_, err := p.Connect(testContext(t), "fake")
		failed <- err
	}()
	for upstreamtest.Starts(t, srv) == 0 {
		time.Sleep(time.Millisecond)
	}
	p.Close()
	wantConnectionError(t, <-failed, "the pool is closed")
}

func TestPoolClosesInParallel(t *testing.T) {
	t.Parallel()
	var servers []config.Server
	for _, key := range []string{"a", "b", "c", "d"} {
		srv := upstreamtest.Server(t, upstreamtest.Stubborn)
		srv.Key = key
		servers = append(servers, srv)
	}
	p := testPool(t, testOptions(), servers...)
	var wg sync.WaitGroup
	for _, srv := range servers {
		wg.Go(func() {
			if _, err := p.Connect(testContext(t), srv.Key); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	start := time.Now()
	p.Close()
	if took, one := time.Since(start), 3*time.Second; took > 2*one {
		t.Errorf("closing four took %s, one takes %s", took, one)
	}
}
