package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestProgress checks that output arrives while the code runs, as progress and as log messages for clients that ask.
func TestProgress(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			seen := make(chan string, 100)
			w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
				fmt.Fprintln(job.Stdout, "first line")
				select {
				case <-seen:
				case <-time.After(20 * time.Second):
					return nil, errors.New("nobody saw the first line")
				}
				fmt.Fprint(job.Stdout, "last line")
				return &runner.Result{Cause: runner.CauseExit, Stdout: "first line\nlast line"}, nil
			}
			var mu sync.Mutex
			var progress []float64
			var said []string
			cs := w.stdio(w.server(), revision, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				progress, said = append(progress, req.Params.Progress), append(said, req.Params.Message)
				seen <- req.Params.Message
			}})
			params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}
			params.SetProgressToken("p")
			res, err := cs.CallTool(t.Context(), params)
			if err != nil || res.IsError {
				t.Fatalf("%v %s", err, textOf(res))
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(said, "first line") || !slices.IsSorted(progress) {
				t.Errorf("said %q, progress %v", said, progress)
			}
		})
	}
}

// TestCancel checks that a cancelled request ends its run before the request is over.
func TestCancel(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			begun, ended := make(chan bool, 1), make(chan error, 1)
			w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
				begun <- true
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
			cs := w.stdio(w.server(), revision, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-begun; cancel() }()
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}); err == nil {
				t.Error("the cancelled call got a result, want an error")
			}
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the run is still in progress, want it ended")
			}
		})
	}
}

// TestInputEnds checks that the end of standard input ends the runs in progress.
func TestInputEnds(t *testing.T) {
	w := newFixture(t)
	begun := make(chan bool, 1)
	w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
		begun <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	in, out := io.Pipe()
	ended := make(chan error, 1)
	s := w.server()
	go func() { ended <- s.Stdio(t.Context(), "acme", in, nopCloser{io.Discard}) }()
	fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(out, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"1"}}}`)
	<-begun
	_ = out.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run is still in progress, want it ended")
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestBusy checks that runs wait for a place, within bounds of time and number.
func TestBusy(t *testing.T) {
	w := newFixture(t)
	w.opt.Parallel, w.opt.Waiting, w.opt.MaxWait = 1, 1, 50*time.Millisecond
	hold, begun := make(chan bool), make(chan bool, 10)
	w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
		begun <- true
		<-hold
		return &runner.Result{Cause: runner.CauseExit}, nil
	}
	cs := w.stdio(w.server(), revisions[1], nil)
	var first sync.WaitGroup
	first.Go(func() { call(t, cs, "execute_code", map[string]any{"code": "1"}) })
	<-begun
	res := call(t, cs, "execute_code", map[string]any{"code": "1"})
	if text := textOf(res); !res.IsError || !strings.Contains(text, "busy") || !strings.Contains(text, "try again") {
		t.Errorf("error %v: %s", res.IsError, text)
	}
	if res := call(t, cs, "list_skills", nil); res.IsError { // calls that need no place continue
		t.Error(textOf(res))
	}
	close(hold)
	first.Wait()
}

// TestFlood checks that endless output sends few messages, and that nothing waits for a client that does not read.
func TestFlood(t *testing.T) {
	w := newFixture(t)
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		for i := range 200_000 {
			fmt.Fprintf(job.Stdout, "line %d ü\n", i)
		}
		fmt.Fprint(job.Stderr, strings.Repeat("x", 1<<20))
		return &runner.Result{Cause: runner.CauseExit, Stdout: "much"}, nil
	}
	var mu sync.Mutex
	messages, longest := 0, 0
	cs := w.stdio(w.server(), revisions[1], &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		messages, longest = messages+1, max(longest, len(req.Params.Message))
	}})
	params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}
	params.SetProgressToken("p")
	if res, err := cs.CallTool(t.Context(), params); err != nil || textOf(res) != "much" {
		t.Fatalf("%v %+v", err, res)
	}
	mu.Lock()
	defer mu.Unlock()
	if messages == 0 || messages > 500 || longest > 2100 {
		t.Errorf("%d messages of up to %d bytes", messages, longest)
	}
}
