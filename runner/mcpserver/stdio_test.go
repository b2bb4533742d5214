package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestUnreadOutput checks that a client that does not read cannot keep the server from ending.
func TestUnreadOutput(t *testing.T) {
	s := newFixture(t).server()
	in, send := io.Pipe()
	_, out := io.Pipe() // nobody reads
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(s.Stdio(ctx, "acme", in, out), s.Close()) }()
	for id := range 3 {
		fmt.Fprintf(send, `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n", id)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server is still running, want it ended")
	}
}

// TestResultOfInterruptedRun checks that a client gets the result of a run that the server's end interrupts.
func TestResultOfInterruptedRun(t *testing.T) {
	w := newFixture(t)
	began := make(chan struct{})
	w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
		close(began)
		<-ctx.Done()
		return &runner.Result{Cause: runner.CauseInterrupted, ExitCode: exit.Interrupted, Stdout: "so far\n"}, nil
	}
	s := w.server()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = s.Stdio(ctx, "acme", in, out); _ = out.Close() }()
	go func() {
		fmt.Fprintln(send, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		fmt.Fprintln(send, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(send, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"1"}}}`)
		<-began
		cancel()
	}()
	if text, err := io.ReadAll(receive); err != nil || !strings.Contains(string(text), "so far") {
		t.Errorf("the client got %s, %v; want the output so far", text, err)
	}
}

// TestAnswersAtTheEnd checks that a client which closes the input after its last request gets the answer.
func TestAnswersAtTheEnd(t *testing.T) {
	for range 50 {
		s := newFixture(t).server()
		receive, out := io.Pipe()
		in := io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_tools","arguments":{"category":"mcprun"}}}
`))
		go func() { _ = s.Stdio(t.Context(), "acme", in, out); _ = out.Close() }()
		if text, err := io.ReadAll(receive); err != nil || strings.Count(string(text), `"result"`) != 2 {
			t.Fatalf("the client got %s, %v; want two results", text, err)
		}
	}
}
