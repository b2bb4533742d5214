package guest

import (
	"container/heap"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// loop is the event loop: it holds the timers, and the functions that other goroutines post. Other goroutines may only call
// post and saidBye.
type loop struct {
	mu     sync.Mutex
	queue  []func()
	wake   chan struct{}
	lost   bool
	bye    chan struct{}
	byeOne sync.Once

	timers    timerHeap
	byID      map[int64]*timer
	lastTimer int64
	immediate []*timer
	// waiting counts calls without a reply and reads of stdin, which keep the loop alive.
	waiting int
	// refs counts the timers that keep the loop alive.
	refs int
}

func newLoop() *loop {
	return &loop{wake: make(chan struct{}, 1), bye: make(chan struct{}), byID: map[int64]*timer{}}
}

// post queues f for the loop's goroutine, and wakes it.
func (l *loop) post(f func()) {
	l.mu.Lock()
	l.queue = append(l.queue, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the queued functions, and empties the queue.
func (l *loop) take() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue
	l.queue = nil
	return q
}

// saidBye records that the host said bye or is gone.
func (l *loop) saidBye() { l.byeOne.Do(func() { close(l.bye) }) }

func (l *loop) waitBye(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-l.bye:
	case <-t.C:
	}
}

// timer is a callback of the script with its arguments; it owns these values.
type timer struct {
	id     int64
	at     time.Time
	every  time.Duration // the period of an interval, otherwise zero
	repeat bool
	ref    bool // keeps the loop alive
	fn     engine.Value
	args   []engine.Value
	index  int
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].id < h[j].id
	}
	return h[i].at.Before(h[j].at)
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }

// Push is container/heap's.
func (h *timerHeap) Push(x any) { t := x.(*timer); t.index = len(*h); *h = append(*h, t) }

// Pop is container/heap's.
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	t.index = -1
	return t
}

// add starts a timer. ms is interpreted as in Node: a value outside 1 to 2^31-1 means 1.
func (l *loop) add(fn engine.Value, args []engine.Value, ms float64, repeat bool) int64 {
	if !(ms >= 1 && ms <= 1<<31-1) {
		ms = 1
	}
	l.lastTimer++
	every := time.Duration(ms * float64(time.Millisecond))
	t := &timer{id: l.lastTimer, at: time.Now().Add(every), every: every, repeat: repeat, ref: true, fn: fn, args: args}
	l.byID[t.id] = t
	l.refs++
	heap.Push(&l.timers, t)
	return t.id
}

func (l *loop) addImmediate(fn engine.Value, args []engine.Value) int64 {
	l.lastTimer++
	t := &timer{id: l.lastTimer, ref: true, fn: fn, args: args, index: -1}
	l.byID[t.id] = t
	l.refs++
	l.immediate = append(l.immediate, t)
	return t.id
}

// remove removes a timer and returns it, or nil if it is not running.
func (l *loop) remove(id int64) *timer {
	t := l.byID[id]
	if t == nil {
		return nil
	}
	delete(l.byID, id)
	l.setRef(t, false)
	if t.index >= 0 {
		heap.Remove(&l.timers, t.index)
	}
	return t
}

// setRef sets whether a timer keeps the loop alive.
func (l *loop) setRef(t *timer, on bool) {
	if t.ref && !on {
		l.refs--
	} else if on && !t.ref {
		l.refs++
	}
	t.ref = on
}

// alive reports whether anything is left that may call the script.
func (l *loop) alive() bool { return l.waiting > 0 || l.refs > 0 }

// wait blocks until something was posted or the next timer is due.
func (l *loop) wait() {
	if len(l.immediate) > 0 {
		return
	}
	var due <-chan time.Time // without timers it never fires
	if len(l.timers) > 0 {
		t := time.NewTimer(time.Until(l.timers[0].at))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-l.wake:
	case <-due:
	}
}

// turn runs the loop until the script has ended. It returns the exported result, owned by the caller, or undefined.
func (g *guest) turn(module engine.Value, ns func() engine.Value) engine.Value {
	result := engine.Undefined()
	exported := false
	for {
		if !g.runJobs() {
			return engine.Undefined()
		}
		if !exported && g.vm.State(module) == engine.Fulfilled {
			exported, result = true, g.awaited(ns()) // export default main()
			continue
		}
		if exported && g.moduleEnd == nil && g.vm.State(result) != engine.Pending {
			g.noteModuleEnd()
		}
		if !g.loop.alive() {
			break
		}
		g.loop.wait()
		if g.lostHost() || !g.runQueue() || !g.runTimers() || !g.runImmediates() {
			return engine.Undefined()
		}
	}
	switch {
	case g.vm.State(module) == engine.Pending:
		g.unsettled()
		return engine.Undefined()
	case g.vm.State(result) == engine.Fulfilled:
		return g.vm.Settled(result)
	}
	return engine.Undefined() // the exported promise never settled
}

// runJobs runs promise jobs until none is left, and reports whether the script continues.
func (g *guest) runJobs() bool {
	g.vm.RunJobs()
	return !g.exited && g.failure == nil && !g.vm.Halted() && g.checkRejections()
}

func (g *guest) runQueue() bool {
	for _, f := range g.loop.take() {
		f()
		if !g.runJobs() {
			return false
		}
	}
	return true
}

// runTimers calls the timers that were due when it began.
func (g *guest) runTimers() bool {
	now := time.Now()
	last := g.loop.lastTimer
	for len(g.loop.timers) > 0 {
		t := g.loop.timers[0]
		if t.at.After(now) || t.id > last {
			break
		}
		if t.repeat {
			t.at = now.Add(t.every)
			heap.Fix(&g.loop.timers, t.index)
		} else {
			g.loop.remove(t.id)
		}
		if !g.fire(t) {
			return false
		}
	}
	return true
}

func (g *guest) runImmediates() bool {
	batch := g.loop.immediate
	g.loop.immediate = nil
	for _, t := range batch {
		if g.loop.remove(t.id) == nil {
			continue // cleared
		}
		if !g.fire(t) {
			return false
		}
	}
	return true
}

func (g *guest) fire(t *timer) bool {
	g.now = t
	v, err := g.vm.Call(t.fn, engine.Undefined(), t.args...)
	g.now = nil
	if err != nil && !g.vm.Halted() {
		g.uncaught(err)
	} else if err == nil {
		g.vm.Free(v)
	}
	if g.loop.byID[t.id] != t { // one-shot, or cleared by its own callback
		g.freeTimer(t)
	}
	return g.runJobs()
}

func (g *guest) freeTimer(t *timer) {
	g.vm.Free(t.fn)
	for _, a := range t.args {
		g.vm.Free(a)
	}
	t.args = nil
	t.fn = engine.Undefined()
}
