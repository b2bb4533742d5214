package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"
)

// A text of a few hundred bytes can make esbuild take any amount of memory or time, or overflow the stack, which ends the
// process. Nothing stops esbuild but the end of its process. So a Bundler makes bundles in child processes that it can kill.

// BundlerOptions configure a [Bundler].
type BundlerOptions struct {
	// OneRun is for a program that makes one run and would lose nothing else: it bundles small scripts in its own process,
	// to save starting another.
	OneRun bool
	// Idle is how long a child process waits for another bundle before it ends. Zero: 10 minutes.
	Idle time.Duration

	exe     string // the program whose main begins with [Child]; empty: the running one
	workers int    // the maximum number of child processes, each making one bundle at a time; zero: the number of processors, from 2 to 8
}

// Bundler makes bundles in child processes, each limited to 512 MiB of memory, 64 MiB of stack and 10 seconds a bundle. A
// script that exceeds a limit gets an [*Error]; nothing else is affected. A Bundler is safe for concurrent use.
type Bundler struct {
	opt   BundlerOptions
	slots chan struct{} // one element for each bundle being made

	mu     sync.Mutex
	idle   []*worker // the most recently used last
	closed bool
}

// maxBundleTime bounds the time to make one bundle. Honest scripts take milliseconds.
const maxBundleTime = 10 * time.Second

var (
	errTooSlow      = fmt.Errorf("it cannot be bundled within %v: it is too large, is nested too deeply, or has too many errors", maxBundleTime)
	errBundlerEnded = errors.New("bundle the script: the program is ending")
)

// NewBundler returns a Bundler that starts processes when they are needed. Nil options are the zero value. The caller must
// close the Bundler.
func NewBundler(opt *BundlerOptions) *Bundler {
	b := &Bundler{}
	if opt != nil {
		b.opt = *opt
	}
	b.opt.exe = cmp.Or(b.opt.exe, ownProgram())
	b.opt.workers = cmp.Or(b.opt.workers, max(2, min(runtime.NumCPU(), 8)))
	b.opt.Idle = cmp.Or(b.opt.Idle, 10*time.Minute)
	b.slots = make(chan struct{}, b.opt.workers)
	return b
}

// Close ends idle processes at once, and busy ones when their bundle is done.
func (b *Bundler) Close() error {
	b.mu.Lock()
	idle := b.idle
	b.idle, b.closed = nil, true
	b.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
	return nil
}

// make makes a bundle. Errors in the script are an *Error. A nil Bundler makes the bundle in this process, without limits.
func (b *Bundler) make(ctx context.Context, t task) (*bundle, error) {
	if b == nil {
		return t.bundle()
	}
	if b.opt.OneRun {
		if made, err := t.bundleSmall(ctx); !errors.Is(err, errNotSmall) {
			return made, err
		}
	}
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.Idle = b.opt.Idle
	ctx, cancel := context.WithTimeoutCause(ctx, maxBundleTime, errTooSlow)
	defer cancel()
	w := b.takeIdle()
	if w != nil {
		if a, err := w.do(ctx, t); err == nil || ctx.Err() != nil {
			return b.finish(ctx, w, t, a, err)
		}
		w.kill() // it may have ended while it was idle, which says nothing about the script
	}
	w, err := b.startWorker()
	if err != nil {
		return nil, err
	}
	a, err := w.do(ctx, t)
	return b.finish(ctx, w, t, a, err)
}

// finish returns the bundle from a process's answer. If the process ended instead, it returns the error that this means.
func (b *Bundler) finish(ctx context.Context, w *worker, t task, a *answer, err error) (*bundle, error) {
	if err == nil {
		b.keep(w)
		return a.bundle()
	}
	w.kill()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, t.limitError(err)
}

// limitError converts err to an *Error if it reports an exceeded limit.
func (t task) limitError(err error) error {
	if !errors.Is(err, errTooSlow) && !errors.Is(err, errTooLarge) {
		return err
	}
	p := Problem{File: t.Src.Name, Text: err.Error()}
	if at := enumWord().FindStringIndex(t.Src.Code); at != nil && t.Module == "" { // the most likely cause
		p.Line = lineOf(t.Src.Code, at[0])
	}
	return &Error{Problems: []Problem{p}}
}

// enumWord matches the beginning of an enum.
var enumWord = pattern(`(?m)^[ \t]*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+\w+`)

// takeIdle returns an idle process, or nil if there is none.
func (b *Bundler) takeIdle() *worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.idle) > 0 {
		last := len(b.idle) - 1
		w := b.idle[last]
		b.idle = b.idle[:last]
		select {
		case <-w.ended:
			go w.kill() // its pipes are still open
		default:
			return w
		}
	}
	return nil
}

func (b *Bundler) startWorker() (*worker, error) {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil, errBundlerEnded
	}
	return startWorker(b.opt.exe)
}

// keep keeps a process for the next bundle.
func (b *Bundler) keep(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		go w.kill()
		return
	}
	b.idle = append(b.idle, w)
}

// bundleSmall makes a bundle in this process. The error is errNotSmall for a script that is not small. Work that has run out
// of time goes on in the background until the process ends.
func (t task) bundleSmall(ctx context.Context) (*bundle, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxBundleTime, errTooSlow)
	defer cancel()
	t.small, t.Known = true, maps.Clone(t.Known)
	type result struct {
		made *bundle
		err  error
	}
	done := make(chan result, 1)
	go func() {
		made, err := t.bundle()
		done <- result{made, err}
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-ctx.Done():
		return nil, t.limitError(context.Cause(ctx))
	}
}
