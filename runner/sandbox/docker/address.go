package docker

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/client"
	"go.opentelemetry.io/otel/trace/noop"
)

// checkHost accepts sockets and pipes of this machine, and TCP.
func checkHost(host string) error {
	scheme, rest, ok := strings.Cut(host, "://")
	refuse := func(hint, format string, args ...any) error {
		return &EngineError{Host: host, Err: fmt.Errorf(format, args...), hint: hint}
	}
	switch {
	case !ok || rest == "":
		return refuse("set DOCKER_HOST to unix:///var/run/docker.sock", "not an address of the form unix:///path or tcp://host:port")
	case scheme == "unix", scheme == "npipe":
		return nil
	case scheme == "tcp":
		if _, _, err := net.SplitHostPort(strings.TrimRight(rest, "/")); err != nil {
			return refuse("write it as tcp://host:2376", "it must name a host and a port")
		}
		return nil
	case scheme == "ssh":
		return refuse(fmt.Sprintf("forward the engine's socket and use the copy: ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock %s & DOCKER_HOST=unix:///tmp/engine.sock", rest),
			"ssh addresses are not supported")
	}
	return refuse("use unix:///path or tcp://host:port", "unknown scheme %q", scheme)
}

// clientOptions returns the options with which the client reaches the engine.
func clientOptions(opt Options) ([]client.Opt, error) {
	// Without a provider, the client adds a span to the run's for each of its requests.
	all := []client.Opt{client.WithHost(opt.Host), client.WithUserAgent("mcprun"), client.WithTraceProvider(noop.NewTracerProvider())}
	if opt.CertDir == "" || !strings.HasPrefix(opt.Host, "tcp://") {
		return all, nil
	}
	file := func(name string) string { return filepath.Join(opt.CertDir, name) }
	for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		if _, err := os.Stat(file(name)); err != nil {
			return nil, &EngineError{Host: opt.Host, Err: fmt.Errorf("find the certificates for TLS: %w", err),
				hint: "put ca.pem, cert.pem and key.pem into the folder named by DOCKER_CERT_PATH (default ~/.docker)"}
		}
	}
	return append(all, client.WithTLSClientConfig(file("ca.pem"), file("cert.pem"), file("key.pem"))), nil
}

// plainTCP reports whether the engine is reached by unencrypted TCP over a network.
func (b *Backend) plainTCP() bool {
	rest, ok := strings.CutPrefix(b.opt.Host, "tcp://")
	if !ok || b.opt.CertDir != "" {
		return false
	}
	host, _, _ := net.SplitHostPort(strings.TrimRight(rest, "/"))
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}
