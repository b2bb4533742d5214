package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// askTime is how long a run that is over waits for sweeps that may still be asking what there is: an engine may be
	// far away, or down.
	askTime = time.Second
	// removeTime is how long it waits for what is being removed. What is left then is tried again by the next run.
	removeTime = 5 * time.Second
)

// sweep removes what runs whose mcprun died have left: in every sandbox, not only in the one that is used now, and what
// servers started. It works beside the run; the returned function waits for it, but not long.
func sweep(ctx context.Context, all []sandbox.Backend, log *slog.Logger) (wait func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	removed := func(what string, err error) {
		if err != nil {
			log.Debug("remove what dead runs have left", "of", what, "err", err)
		}
	}
	group.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		removed("servers", upstream.Sweep(ctx))
	})
	for _, b := range all {
		group.Go(func() { removed(b.Name(), b.Sweep(ctx)) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	return func() {
		defer cancel()
		if !endsWithin(done, askTime) {
			cancel() // whoever removes something does not stop half-way
			endsWithin(done, removeTime)
		}
	}
}

func endsWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
