package upstream

import "context"

// Wait is what a request waits for.
type Wait string

const (
	WaitStart  Wait = "start"  // the server to be started or dialled, and to agree on a protocol version
	WaitList   Wait = "list"   // the server's list of tools
	WaitAnswer Wait = "answer" // the answer, or nothing in particular
)

type waitsKey struct{}

// WithWaits returns a context under which requests of a [Pool] report what they wait for, each time this changes.
// report is called in the request's own goroutine and must return at once.
func WithWaits(ctx context.Context, report func(Wait)) context.Context {
	return context.WithValue(ctx, waitsKey{}, report)
}

// Waits reports what the request of ctx begins to wait for. Only a substitute for a [Pool] has to call it.
func Waits(ctx context.Context, what Wait) {
	if report, ok := ctx.Value(waitsKey{}).(func(Wait)); ok {
		report(what)
	}
}
