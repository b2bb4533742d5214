package sandbox

import (
	"context"
	"net"
)

// Warmer is a Backend that can start a guest before there is a run for it: interpreter and guest program are loaded and
// wait. Package pool keeps such guests. A guest is used for one run and then gone, like any other.
type Warmer interface {
	Backend
	// Shape reduces spec to what a guest has to know when it is started, on this machine: what Idle.Adopt can still
	// change is zero in it. An idle guest fits every spec of the shape it was warmed with, and no other.
	Shape(spec Spec) Shape
	// Warm starts a guest of spec's shape. The spec's ID, Secret, Guest and Args count, and its Limits where the shape
	// has none are an upper bound until Adopt; Stdin, Stdout and Stderr do not count. The guest is killed when ctx ends,
	// unless it was adopted before. Warm undoes everything it did when it returns an error.
	Warm(ctx context.Context, spec Spec) (Idle, error)
}

// Shape is what two specs must have in common to be served by the same idle guests. It can be compared. The guest
// program and the interpreter's flags are taken to be the same for all guests of one runtime.
type Shape struct {
	Runtime   Runtime
	Tree      string
	Skills    string
	Workspace string // empty where Adopt can show one
	Limits    Limits // zero where Adopt can set them
}

// Idle is a guest that was started and waits for its job. Its owner calls either Adopt or Close, once.
type Idle interface {
	// Bridge is that of Process. The guest has said its hello, and is therefore ready, when there is something to read; it prepares
	// further when it is told then that there is no job yet, see package bridge.
	Bridge(ctx context.Context) (net.Conn, error)
	// Done is closed when the guest has ended, whyever. It can then only be closed.
	Done() <-chan struct{}
	// Adopt makes this guest that of a run: it shows spec's workspace, sets its limits and connects its streams. Spec's
	// shape must be the guest's; its Secret, Guest and Args do not count, and its ID is for labels only. From then on
	// the guest is killed when ctx ends. The Process's own Bridge fails where this one's was called. Whatever the
	// error, the guest is then gone and nothing of it is left.
	Adopt(ctx context.Context, spec Spec) (Process, error)
	// Close kills the guest and returns when nothing of it is left.
	Close() error
}
