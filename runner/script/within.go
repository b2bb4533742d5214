package script

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxBundleTime bounds the making of one bundle; those of honest scripts take milliseconds.
const maxBundleTime = 20 * time.Second

// errTooCostly is the end of a bundle's time.
var errTooCostly = fmt.Errorf("it cannot be put together in %v: it is too large, or has too many errors", maxBundleTime)

// tooCostly makes it an *Error about a script.
func tooCostly(name string, err error) error {
	if errors.Is(err, errTooCostly) {
		return &Error{Problems: []Problem{{File: name, Text: err.Error()}}}
	}
	return err
}

// within makes a bundle in bounded time. The bundler cannot be stopped: one that is left to itself keeps its slot until
// it has ended. Slots may be nil.
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
	go func() {
		made, err := work()
		if slots != nil {
			<-slots
		}
		done <- result{made, err}
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// atWork are the slots of a cache.
func (c *Cache) atWork() chan struct{} {
	if c == nil {
		return nil
	}
	return c.slots
}
