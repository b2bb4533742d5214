package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// maxBody is the largest request over HTTP; a whole transcript fits.
const maxBody = 16 << 20

// serveStdio speaks MCP until the input ends or ctx does. Both are a clean end.
func serveStdio(ctx context.Context, srv *tool.Server, in io.ReadCloser, out io.WriteCloser) error {
	err := srv.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serveHTTP serves streamable HTTP until ctx ends. It announces its URL on
// stderr as soon as connections are accepted.
//
// There is no authentication, hence loopback only, and requests of web pages
// are refused: by Host header (in the SDK) and by Origin (here).
func serveHTTP(ctx context.Context, srv *tool.Server, addr string, stderr io.Writer) error {
	addr, err := loopback(addr)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for HTTP: %w", err)
	}
	// Stateless serves the protocol's both eras from one handler.
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv.Server }, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(handler))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(stderr, "mcpdemo: listening on http://%s/mcp\n", listener.Addr())

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // calls that would not end are cut off
	}
	<-ended
	return nil
}

// loopback checks an address; without a host it becomes 127.0.0.1.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--http %q is no address; write for example 127.0.0.1:0", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("--http %q is not a loopback address: the demo servers have no authentication", addr)
	}
	return net.JoinHostPort(host, port), nil
}
