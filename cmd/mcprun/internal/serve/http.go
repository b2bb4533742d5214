package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/mcpserver/bearer"
)

const (
	maxTokenFile = 4 << 20 // bytes
	// endTime bounds how long results of interrupted runs may take to reach their clients.
	endTime = 3 * time.Second
)

// serveHTTP serves until ctx ends. It prints the address to standard error as soon as it accepts connections.
func (o *command) serveHTTP(ctx context.Context, server *mcpserver.Server, tokens *bearer.Tokens, login func(mcpserver.Login)) error {
	addr, err := o.address()
	if err != nil {
		return err
	}
	handler, err := server.Handler(&mcpserver.HTTPOptions{Tokens: tokens, Customer: o.run.Customer, Hosts: o.hosts, Origins: o.origins, Login: login})
	if err != nil {
		return o.usage("--allow-origin: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for HTTP: %w", err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	fmt.Fprintf(o.app.Stderr, "mcprun: serving MCP at http://%s%s\n", listener.Addr(), mcpserver.Path)
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }() // ends the runs in progress, whose results are then sent
	if err := web.Shutdown(grace); err != nil {
		_ = web.Close() // streams that clients keep open
	}
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}

// address returns the address to listen on. The default host is 127.0.0.1. Without tokens only a loopback address is accepted.
func (o *command) address() (string, error) {
	host, port, err := net.SplitHostPort(o.http)
	if err != nil {
		return "", o.usage("--http %q is no address; write for example 127.0.0.1:8700", o.http)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); o.noToken && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", o.usage("--no-token needs a loopback address, and --http %q is not one: other machines could run code here", o.http)
	}
	return net.JoinHostPort(host, port), nil
}

// readPrivate reads a file that others must not be able to read or to change.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a regular file", path)
	case info.Size() > maxTokenFile:
		return nil, fmt.Errorf("%q is larger than %s", path, flags.Bytes(maxTokenFile))
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%q can be read by others: chmod 600 it", path)
	}
	return io.ReadAll(io.LimitReader(f, maxTokenFile))
}
