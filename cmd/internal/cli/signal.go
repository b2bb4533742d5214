package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// SignalError says that a signal ended the work. Exit code 128 + the signal's number.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by " + e.Signal.String() }

// ExitCode is 130 for SIGINT, 143 for SIGTERM and 129 for SIGHUP.
func (e *SignalError) ExitCode() int { return 128 + int(e.Signal) }

// signalContext ends with the first SIGINT or SIGTERM, or SIGHUP as a terminal sends it that is closed; where that is
// ignored, as by nohup, it stays so. From then on signals have their usual effect again, so that a
// second Ctrl-C ends a process that hangs. stop must be called.
func signalContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if sig, ok := s.(syscall.Signal); ok {
				cancel(&SignalError{Signal: sig})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
	}
}

// signalOf returns the signal that ended ctx, or nil.
func signalOf(ctx context.Context) error {
	if sig, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok {
		return sig
	}
	return nil
}
