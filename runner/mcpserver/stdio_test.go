package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
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
