package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// gate bounds how many runs are under way at once, in all and of one customer. Who finds no place waits, but not among too
// many and not too long.
type gate struct {
	places, share, queue int
	most                 time.Duration

	mu      sync.Mutex
	taken   map[string]int // by customer
	all     int
	waiting []*waiter // in the order in which they came
}

// waiter is one that waits for its turn.
type waiter struct {
	customer string
	turn     chan struct{} // closed when it has a place
}

func newGate(places, share, queue int, most time.Duration) *gate {
	return &gate{places: places, share: min(share, places), queue: queue, most: most, taken: map[string]int{}}
}

// busyError says that there was no place.
type busyError struct{ message string }

func (e *busyError) Error() string { return e.message }

// enter takes a place; leave is called once.
func (g *gate) enter(ctx context.Context, customer string) (leave func(), err error) {
	leave = func() { g.leave(customer) }
	g.mu.Lock()
	if g.free(customer) {
		g.take(customer)
		g.mu.Unlock()
		return leave, nil
	}
	if len(g.waiting) >= g.queue {
		g.mu.Unlock()
		return nil, &busyError{fmt.Sprintf("the server is busy: %d calls wait already. Nothing was run; try again in a few seconds.", g.queue)}
	}
	w := &waiter{customer: customer, turn: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()

	late := time.NewTimer(g.most)
	defer late.Stop()
	select {
	case <-w.turn:
		return leave, nil
	case <-late.C:
		err = &busyError{fmt.Sprintf("the server is busy: there was no place for %v. Nothing was run; try again in a few seconds.", g.most)}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if g.forget(w) {
		return nil, err
	}
	leave() // its turn came at the same moment
	return nil, err
}

func (g *gate) free(customer string) bool { return g.all < g.places && g.taken[customer] < g.share }

func (g *gate) take(customer string) {
	g.all++
	g.taken[customer]++
}

// leave gives a place back, to the first that waits and may have it.
func (g *gate) leave(customer string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.taken[customer]--; g.taken[customer] == 0 {
		delete(g.taken, customer)
	}
	for i, w := range g.waiting {
		if g.free(w.customer) {
			g.take(w.customer)
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			close(w.turn)
			return
		}
	}
}

// forget takes one out that waits. It is false when it waits no more: it has a place.
func (g *gate) forget(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, each := range g.waiting {
		if each == w {
			g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}
