package script

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// A text of a few hundred bytes can have the bundler take any amount of memory or time, or so much stack that its process
// dies. Nothing stops it but the end of that process. So a program that serves more than one run has bundles made in
// processes of their own, which it can end.

// BundlerOptions configure a [Bundler]. The zero value is ready.
type BundlerOptions struct {
	// Exe is the program whose main begins with [Child]. Empty: the running one.
	Exe string
	// Doubtful keeps to this process the scripts that cannot cost much, and the start of another with them. It is for a
	// program that makes one run and would lose nothing else.
	Doubtful bool
	// Workers is how many processes there may be, each of which makes one bundle at a time, and half as many again for
	// bundles that take more than a second. Zero: as many as processors, at least 2, at most 8.
	Workers int
	// Idle is how long a process waits for the next bundle before it is ended. Zero: 10 minutes.
	Idle time.Duration
}

// Bundler makes bundles in child processes that have bounds of memory, stack and time: 512 MiB, 64 MiB, 20 seconds. What
// would pass one ends as an [*Error], and nothing else with it. It is safe for concurrent use.
type Bundler struct {
	opt   BundlerOptions
	slots chan struct{} // taken by bundles that are being made
	slow  chan struct{} // taken instead by those that take long
	doubt chan struct{} // taken as well by those that look as if they might take long, as long as they hold a slot

	mu     sync.Mutex
	idle   []*worker // the one used last at the end
	closed bool
}

// NewBundler makes a Bundler, which starts processes when they are needed; nil options are the zero value. The caller
// closes it.
func NewBundler(opt *BundlerOptions) *Bundler {
	b := &Bundler{}
	if opt != nil {
		b.opt = *opt
	}
	b.opt.Exe = cmp.Or(b.opt.Exe, ownProgram())
	b.opt.Workers = cmp.Or(b.opt.Workers, max(2, min(runtime.NumCPU(), maxAtWork)))
	b.opt.Idle = cmp.Or(b.opt.Idle, 10*time.Minute)
	half := (b.opt.Workers + 1) / 2
	b.slots, b.slow, b.doubt = make(chan struct{}, b.opt.Workers), make(chan struct{}, half), make(chan struct{}, half)
	return b
}

// errBundlerClosed is what those get who come too late.
var errBundlerClosed = errors.New("make a bundle: the program is ending")

// Close ends the processes: those at work when they have made their bundle, or when who waits for it goes.
func (b *Bundler) Close() error {
	b.mu.Lock()
	idle := b.idle
	b.idle, b.closed = nil, true
	b.mu.Unlock()
	for _, w := range idle {
		w.retire()
	}
	return nil
}

// make makes a bundle, here or in a worker. Errors that are of the script are an *Error.
func (b *Bundler) make(ctx context.Context, t task, seen *reads) (*bundle, error) {
	if b.opt.Doubtful {
		own := newReads()
		made, err := within(ctx, nil, func() (*bundle, error) { return t.bundle(own, doubt) })
		if !errors.Is(err, errDoubtful) {
			seen.add(own)
			return made, tooCostly(t.Src.Name, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxBundleTime, errTooCostly)
	defer cancel()
	leave, err := b.enter(ctx, t.doubtful())
	if err != nil {
		return nil, tooCostly(t.Src.Name, err)
	}
	defer leave()
	for again := false; ; again = true {
		w, fresh, err := b.worker(again)
		if err != nil {
			return nil, err
		}
		a, err := w.do(ctx, t)
		if err == nil {
			b.keep(w, a)
			seen.add(a.reads())
			return a.bundle()
		}
		w.kill()
		if err = t.judge(ctx, w, fresh, err); errors.Is(err, errWorkerGone) && !fresh {
			continue
		}
		return nil, err
	}
}

// slowTime is how long a bundle may take among the others. Honest ones take milliseconds.
const slowTime = time.Second

// enter waits for a place among those that make bundles. Texts that look costly get half of the places at most, and who
// takes long is moved aside, so that a few texts that were made to cost time do not keep everybody else waiting.
func (b *Bundler) enter(ctx context.Context, doubtful bool) (leave func(), err error) {
	places := []chan struct{}{b.slots}
	if doubtful {
		places = []chan struct{}{b.doubt, b.slots} // who waits for the first keeps nobody from the second
	}
	if len(places) > 1 && cap(b.slots) == 1 {
		places = places[1:] // there is no half
	}
	for i, place := range places {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			give(places[:i])
			return nil, context.Cause(ctx)
		}
	}
	var mu sync.Mutex
	aside := time.AfterFunc(slowTime, func() {
		mu.Lock()
		defer mu.Unlock()
		if places == nil {
			return
		}
		select {
		case b.slow <- struct{}{}:
			give(places)
			places = []chan struct{}{b.slow}
		default:
		}
	})
	return func() {
		aside.Stop()
		mu.Lock()
		defer mu.Unlock()
		give(places)
		places = nil
	}, nil
}

// give gives places back.
func give(places []chan struct{}) {
	for _, place := range places {
		<-place
	}
}

// worker returns a process that waits for work, or starts one; fresh tells that it was started just now.
func (b *Bundler) worker(mustStart bool) (w *worker, fresh bool, err error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, false, errBundlerClosed
	}
	for !mustStart && len(b.idle) > 0 && w == nil {
		last := len(b.idle) - 1
		w, b.idle = b.idle[last], b.idle[:last]
		if !w.rest.Stop() {
			w = nil // it is being ended
		}
	}
	b.mu.Unlock()
	if w != nil {
		return w, false, nil
	}
	w, err = startWorker(b.opt.Exe)
	return w, true, err
}

// keep keeps a worker for the next bundle, unless this one has left it large.
func (b *Bundler) keep(w *worker, a *answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || a.Large {
		go w.retire()
		return
	}
	w.rest = time.AfterFunc(b.opt.Idle, func() {
		b.mu.Lock()
		for i, other := range b.idle {
			if other == w {
				b.idle = append(b.idle[:i], b.idle[i+1:]...)
				break
			}
		}
		b.mu.Unlock()
		w.retire()
	})
	b.idle = append(b.idle, w)
}
