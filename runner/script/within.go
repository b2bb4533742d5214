package script

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"
)

// maxBundleTime bounds the making of one bundle; those of honest scripts take milliseconds.
const maxBundleTime = 20 * time.Second

// How much the process may grow while a bundle is made. A text of a few hundred bytes can ask for any amount (members of
// an enum are added up, and written out where they are used), and one that is nested deeply for a stack at whose limit
// the process dies.
const (
	maxBundleHeap  = 2 << 30
	maxBundleStack = 256 << 20
	watchEvery     = 10 * time.Millisecond
)

// What ends the making of a bundle.
var (
	errTooCostly   = fmt.Errorf("it cannot be put together in %v: it is too large, is nested too deeply, or has too many errors", maxBundleTime)
	errTooMuch     = errors.New("it cannot be put together: it is nested too deeply, or comes to too much text")
	errTooDeep     = errors.New("it cannot be put together: it is nested too deeply")
	errTooMuchText = errors.New("it cannot be put together: it comes to too much text")
)

// tooCostly makes it an *Error about a script.
func tooCostly(name string, err error) error {
	for _, end := range []error{errTooCostly, errTooMuch} {
		if errors.Is(err, end) {
			return &Error{Problems: []Problem{{File: name, Text: end.Error()}}}
		}
	}
	return err
}

// within makes a bundle in bounded time and memory. The bundler cannot be stopped: one that is left to itself keeps its
// slot until it has ended, and only the end of the process ends what it takes. Slots may be nil.
func within(ctx context.Context, slots chan struct{}, work func() (*bundle, error)) (*bundle, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxBundleTime, errTooCostly)
	defer cancel()
	if slots != nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	type result struct {
		made *bundle
		err  error
	}
	done := make(chan result, 1)
	heap, stack := inUse()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	go func() {
		made, err := work()
		if slots != nil {
			<-slots
		}
		done <- result{made, err}
	}()
	for {
		select {
		case r := <-done:
			return r.made, r.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-watch.C:
			if h, s := inUse(); h > heap+maxBundleHeap || s > stack+maxBundleStack {
				return nil, errTooMuch
			}
		}
	}
}

// inUse is the memory of the process: objects, and stacks of goroutines.
func inUse() (heap, stack uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
