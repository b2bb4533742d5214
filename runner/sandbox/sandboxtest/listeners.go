package sandboxtest

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
)

// listeners offer the canary to anything that connects to the host.
type listeners struct {
	port, port6 string // of TCP on the loopback interface; port6 is empty if the machine has no such address
	udp         string // a port
	abstract    string // the name of a unix socket without a file; empty if there is no such thing
	free        string // a port without a listener
	connections atomic.Int32
}

func (w *world) listen(t *testing.T) {
	t.Helper()
	w.port = w.serve(t, "tcp4", "127.0.0.1:0")
	w.port6 = w.port
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		w.port6 = w.serve(t, "tcp6", "[::1]:0")
	}
	// This socket is visible in the workspace.
	socket := filepath.Join(w.workspace, "host.sock")
	w.serve(t, "unix", socket)
	must(t, os.Chmod(socket, 0o777))
	if runtime.GOOS == "linux" {
		w.abstract = "sandboxtest-" + w.id
		w.serve(t, "unix", "@"+w.abstract)
	}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	_, w.udp, _ = net.SplitHostPort(conn.LocalAddr().String())
	go func() {
		for {
			if _, from, err := conn.ReadFrom(make([]byte, 100)); err == nil {
				w.connections.Add(1)
				_, _ = conn.WriteTo([]byte(w.secret), from)
			} else {
				return
			}
		}
	}()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	_, w.free, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
}

// serve answers on an address until the test ends and returns its port.
func (w *world) serve(t *testing.T, network, addr string) string {
	t.Helper()
	l, err := net.Listen(network, addr)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.connections.Add(1)
			_, _ = conn.Write([]byte(w.secret))
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
