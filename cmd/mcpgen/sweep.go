package main

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/gen"
)

// sweepTime bounds the removal of what servers of killed programs have left.
const sweepTime = 3 * time.Second

// sweep works beside what the command does; the returned function waits for it.
func sweep(ctx context.Context) (wait func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = gen.SweepUpstreams(ctx) // the next one tries again
	}()
	return func() {
		<-done
		cancel()
	}
}
