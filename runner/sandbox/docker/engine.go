package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// engine holds the facts about an engine that do not change while it runs.
type engine struct {
	version  string
	cgroup   string
	rootless bool // the engine runs as the caller, and its root is the caller
	watched  bool // the engine cannot enforce limits; this process does: see watch.go
	podman   bool // it is Podman, with Docker's API
	remapped bool // the engine maps the users of its containers to others
	missing  []string
	arch     string // in Go's terms
	remote   string // why it shares neither folders nor sockets with this process; empty if it does
}

func (e *engine) product() string {
	if e.podman {
		return "Podman"
	}
	return "Docker Engine"
}

// engineError adds the engine's name to the errors of requests that it did not answer, and returns other errors unchanged. The
// client does not mark all such errors: on a separate connection, as for attach, a refusal is the network's error and a hang-up
// is EOF.
func (b *Backend) engineError(err error) error {
	switch {
	case err == nil, errors.As(err, new(*EngineError)):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &EngineError{Host: b.opt.Host, Err: errEngineClosed}
	case client.IsErrConnectionFailed(err), errors.As(err, new(*net.OpError)):
		return &EngineError{Host: b.opt.Host, Err: err}
	}
	return err
}

// hasOption looks for name in a list like "name=seccomp,profile=default".
func hasOption(options []string, name string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		first, _, _ := strings.Cut(o, ",")
		return strings.TrimPrefix(first, "name=") == name
	})
}
