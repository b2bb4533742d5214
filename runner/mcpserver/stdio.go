package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/wire"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// unreadTime is how long an ending server waits for its client to read the last messages.
const unreadTime = 2 * time.Second

// Stdio serves one client over a pair of streams, as a customer. It returns nil when the input or ctx ends. Runs in progress are then
// cancelled, and the server serves no other client.
func (s *Server) Stdio(ctx context.Context, customer string, in io.ReadCloser, out io.WriteCloser) (err error) {
	cs, err := s.customer(customer)
	if err != nil {
		return err
	}
	input := &endingReader{ReadCloser: in, end: func() { s.cancel(errClosing) }}
	writer := wire.NewWriter(out)
	context.AfterFunc(s.ctx, func() { time.AfterFunc(unreadTime, writer.GiveUp) })
	transport := &countingTransport{Transport: &mcp.IOTransport{Reader: input, Writer: writer}}
	session, err := cs.mcp.Connect(context.WithoutCancel(ctx), transport, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	defer func() { s.sessionEnded(session, telemetry.Connection{Pipe: true}, time.Since(began), err != nil) }()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.end()
		transport.drain(unreadTime) // closing the session would drop the results of interrupted runs
		_ = session.Close()
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || input.ended.Load() {
		return nil
	}
	return fmt.Errorf("read a message of the client: %w", err)
}

// endingReader calls end when reading fails, because nobody will read further answers.
type endingReader struct {
	io.ReadCloser
	end   func()
	ended atomic.Bool
}

func (r *endingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil {
		r.ended.Store(true)
		r.end()
	}
	return n, err
}

// countingTransport counts unanswered requests, except subscriptions, which get no answer until they are cancelled.
type countingTransport struct {
	mcp.Transport
	open          atomic.Int64
	subscriptions sync.Map // the ids of the subscriptions
}

const methodSubscribe = "subscriptions/listen"

// Connect implements [mcp.Transport].
func (t *countingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countingConnection{c, t}, nil
}

// drain waits until every request is answered, but at most for the given time.
func (t *countingTransport) drain(most time.Duration) {
	for end := time.Now().Add(most); t.open.Load() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

type countingConnection struct {
	mcp.Connection
	*countingTransport
}

func (c *countingConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain(unreadTime) // the SDK drops answers that come after this
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.ID.IsValid() {
		if req.Method == methodSubscribe {
			c.subscriptions.Store(req.ID, true)
		} else {
			c.open.Add(1)
		}
	}
	return m, err
}

func (c *countingConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if res, ok := m.(*jsonrpc.Response); ok {
		if _, subscription := c.subscriptions.LoadAndDelete(res.ID); !subscription {
			defer c.open.Add(-1)
		}
	}
	return c.Connection.Write(ctx, m)
}
