package docker

import (
	"context"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"
)

// TestDenied: who may not use the engine is told so, and not to start it.
func TestDenied(t *testing.T) {
	no := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	}
	c, err := client.New(client.WithHost("unix:///run/engine.sock"), client.WithDialContext(no))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Info(t.Context(), client.InfoOptions{})
	e := &EngineError{Host: "unix:///run/engine.sock", Err: err}
	if want := "docker engine at unix:///run/engine.sock does not answer: permission denied"; e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
	if !strings.Contains(e.Hint(), "group") {
		t.Errorf(`hint %q, want "group" in it`, e.Hint())
	}
}
