package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// SignalError reports that a signal ended the work. Its exit code is 128 plus the signal's number.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by " + e.Signal.String() }

// ExitCode is 130 for SIGINT, 143 for SIGTERM and 129 for SIGHUP.
func (e *SignalError) ExitCode() int { return 128 + int(e.Signal) }

// endTime is how long a program may take to end after a signal. Removing a container takes up to half a minute.
const endTime = 45 * time.Second

// signalContext is cancelled by the first SIGINT, SIGTERM or SIGHUP. If SIGHUP is ignored (nohup), it stays ignored. After the
// first signal, signals have their default effect again, so that a second Ctrl-C ends a process that hangs. The caller must call
// stop. If it has not done so within endTime of the signal, late is called.
func signalContext(parent context.Context, late func(*SignalError)) (ctx context.Context, stop func()) {
	stopped := make(chan struct{})
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		sig := awaitSignal(ctx, signals)
		if sig == nil {
			return
		}
		signal.Stop(signals)
		cancel(sig)
		hurry(sig, stopped, late)
	}()
	return ctx, sync.OnceFunc(func() {
		close(stopped)
		signal.Stop(signals)
		cancel(context.Canceled)
	})
}

// signalOf returns the signal that ended ctx, or nil.
func signalOf(ctx context.Context) error {
	if sig, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok {
		return sig
	}
	return nil
}

// awaitSignal returns the first signal, or nil when ctx ends before there is one.
func awaitSignal(ctx context.Context, signals <-chan os.Signal) *SignalError {
	select {
	case s := <-signals:
		if sig, ok := s.(syscall.Signal); ok {
			return &SignalError{Signal: sig}
		}
	case <-ctx.Done():
	}
	return nil
}

// hurry calls late when endTime passes before stopped is closed.
func hurry(sig *SignalError, stopped <-chan struct{}, late func(*SignalError)) {
	select {
	case <-stopped:
	case <-time.After(endTime):
		late(sig)
	}
}
