package sandbox

import (
	"context"
	"net"
	"strings"
)

// Warmer is a Backend that can start a guest before there is a run for it, so that interpreter and guest program are loaded when the run
// begins. Package pool keeps such guests. Like any other guest, each is used for one run.
type Warmer interface {
	Backend
	// Shape reduces spec to what must be known when a guest is started on this machine. What Idle.Adopt can still change is zero in the
	// result. An idle guest fits every spec of the shape with which it was started, and no other.
	Shape(spec Spec) Shape
	// Warm starts a guest of spec's shape. It uses the spec's ID, Secret, Guest and Args, and ignores Stdin, Stdout and Stderr. Limits that
	// the shape does not fix are an upper bound until Adopt. The guest is killed when ctx ends, unless it was adopted before. If Warm
	// returns an error, it has undone everything it did.
	Warm(ctx context.Context, spec Spec) (Idle, error)
}

// Shape is what two specs must have in common so that the same idle guests can serve them. It is comparable. The guest program and the
// interpreter's flags are assumed to be the same for all guests of one runtime.
type Shape struct {
	Runtime   Runtime
	Tree      string
	Skills    string
	Workspace string // empty if Adopt can show one
	Limits    Limits // zero if Adopt can set them
	Packages  string
	Preload   string // the names, with a space between them
}

// WithPackages returns the shape with the packages of spec, which no guest can be given after its start.
func (s Shape) WithPackages(spec Spec) Shape {
	s.Packages, s.Preload = spec.Packages, strings.Join(spec.Preload, " ")
	return s
}

// Idle is a guest that was started and waits for its job. Its owner must call either Adopt or Close, once.
type Idle interface {
	// Bridge is like Process.Bridge. The guest is ready when there is something to read: its hello. It continues to prepare itself if it is
	// then told that there is no job yet; see package bridge.
	Bridge(ctx context.Context) (net.Conn, error)
	// Done is closed when the guest has ended, for any reason. The owner must then call Close.
	Done() <-chan struct{}
	// Adopt gives this guest a run: it shows spec's workspace, sets its limits and connects its streams. spec must have the guest's shape;
	// its Secret, Guest and Args are ignored, and its ID is used for labels only. From then on the guest is killed when ctx ends. If Bridge
	// of the Idle was called, Bridge of the Process fails. After an error the guest is gone and nothing of it is left.
	Adopt(ctx context.Context, spec Spec) (Process, error)
	// Close kills the guest and returns when nothing of it is left.
	Close() error
}
