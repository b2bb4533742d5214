package upstream

import (
	"context"
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
		t.Errorf("%d starts before the first call, want 0", n)
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

// TestPoolRenewsAForgottenSession: a server that was restarted cannot have acted on a request in its old session, so every
// request is made again in a new one.
func TestPoolRenewsAForgottenSession(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		status int
		body   string
	}{
		{404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`},
		{404, "gone"},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`},
		{400, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`},
		{400, `{"error":"no valid session"}`},
		{500, `{"error":"Error POSTing to endpoint (HTTP 400): No valid session ID provided"}`},
	} {
		fake := upstreamtest.NewHTTP(t, upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{Sessions: true, UnknownStatus: refusal.status, UnknownBody: refusal.body})
		p := testPool(t, testOptions(), fake.Config())
		for name, request := range map[string]func(ctx context.Context) error{
			"a call": func(ctx context.Context) error {
				_, err := p.Call(ctx, "fake", upstreamtest.ToolEcho, nil, nil)
				return err
			},
			"tools/list": func(ctx context.Context) error {
				p.mu.Lock()
				if s := p.members["fake"].session; s != nil {
					s.conn.changes.Add(1) // the list that it knows is out of date
				}
				p.mu.Unlock()
				_, err := p.Definition(ctx, "fake", upstreamtest.ToolEcho)
				return err
			},
			"resources/list": func(ctx context.Context) error {
				_, err := p.ListResources(ctx, "fake")
				return err
			},
			"resources/read": func(ctx context.Context) error {
				_, err := p.ReadResource(ctx, "fake", "demo://one", nil)
				return err
			},
			"prompts/get": func(ctx context.Context) error {
				_, err := p.GetPrompt(ctx, "fake", "greet", nil, nil)
				return err
			},
		} {
			if err := request(testContext(t)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			fake.Forget()
			if err := request(testContext(t)); err != nil {
				t.Errorf("%s after %d %s: %v", name, refusal.status, refusal.body, err)
			}
		}
		if s := p.Stats()[0]; s.Failures != 0 || s.Restarts != 5 {
			t.Errorf("statistics %+v, want 5 restarts and no failures", s)
		}
	}
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
			t.Errorf(`conceal: %q, want "a [TOKEN]"`, got)
		}
		poolCall(t, p, upstreamtest.ToolEcho, `{}`)
	}
}

func TestPoolErrors(t *testing.T) {
	t.Parallel()
	p := testPool(t, testOptions(), upstreamtest.Server(t, upstreamtest.Normal))
	if _, err := p.Call(testContext(t), "nobody", "x", nil, nil); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("error %v, want %v", err, ErrUnknownServer)
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
	if took := time.Since(start); took >= 10*time.Second { // one after the other: at least 2.5 s each
		t.Errorf("closing four took %s, want less than %s", took, 10*time.Second)
	}
}
