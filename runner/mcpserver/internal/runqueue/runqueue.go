// Package runqueue bounds how many runs a server has at once, in all and per customer. Callers that find no place wait in the order of
// arrival. A customer that has used up its share lets others pass. The queue is bounded in time, and in length for each customer.
package runqueue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Queue hands out places. It is safe for concurrent use.
type Queue struct {
	places, share, length int
	maxWait               time.Duration

	mu       sync.Mutex
	taken    map[string]int // by customer
	total    int
	waiting  []*waiter // in order of arrival
	watching []*waiter
}

// waiter is a caller that waits for a place.
type waiter struct {
	customer string
	turn     chan struct{} // closed when it has a place
}

// New returns a queue with the given number of places, of which one customer may have share at once. At most length callers of a
// customer wait, each at most maxWait.
func New(places, share, length int, maxWait time.Duration) *Queue {
	return &Queue{places: places, share: min(share, places), length: length, maxWait: maxWait, taken: map[string]int{}}
}

// BusyError reports that there was no place. Its text is meant for a model.
type BusyError struct{ message string }

func (e *BusyError) Error() string { return e.message }

// Try is Enter with less patience, for a caller that can wait elsewhere.
func (q *Queue) Try(ctx context.Context, customer string, patience time.Duration) (leave func(), ok bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	leave, err := q.enter(ctx, customer, q.length, timer.C)
	return leave, err == nil
}

// Enter takes a place for a customer, waiting for one if necessary. The caller must call leave once. The error is a *[BusyError] or the
// cause of the context's end.
func (q *Queue) Enter(ctx context.Context, customer string) (leave func(), err error) {
	timer := time.NewTimer(q.maxWait)
	defer timer.Stop()
	return q.enter(ctx, customer, q.length, timer.C)
}

// Await is Enter without bounds, for a caller that was admitted elsewhere.
func (q *Queue) Await(ctx context.Context, customer string) (leave func(), err error) {
	return q.enter(ctx, customer, math.MaxInt, nil)
}

func (q *Queue) enter(ctx context.Context, customer string, length int, late <-chan time.Time) (leave func(), err error) {
	leave = func() { q.leave(customer) }
	q.mu.Lock()
	if q.free(customer) {
		q.take(customer)
		q.mu.Unlock()
		return leave, nil
	}
	if q.crowd(customer) >= length {
		q.mu.Unlock()
		return nil, &BusyError{fmt.Sprintf("the server is busy: %d calls wait already. Nothing was run; try again in a few seconds.", q.length)}
	}
	w := &waiter{customer: customer, turn: make(chan struct{})}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()

	select {
	case <-w.turn:
		return leave, nil
	case <-late:
		err = &BusyError{fmt.Sprintf("the server is busy: no place became free for %v. Nothing was run; try again in a few seconds.", q.maxWait)}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !q.remove(w) {
		leave() // it was given a place at the same moment
	}
	return nil, err
}

// Watch waits until there may be a place for a customer, or ctx is done. It takes none. Each place that nobody waits for lets one caller go.
func (q *Queue) Watch(ctx context.Context, customer string) {
	w := &waiter{customer: customer, turn: make(chan struct{})}
	q.mu.Lock()
	q.watching = append(q.watching, w)
	q.tell()
	q.mu.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.watching = slices.DeleteFunc(q.watching, func(other *waiter) bool { return other == w })
	}
}

// tell lets the first go that watches for a place that is free.
func (q *Queue) tell() {
	if i := slices.IndexFunc(q.watching, func(w *waiter) bool { return q.free(w.customer) }); i >= 0 {
		close(q.watching[i].turn)
		q.watching = slices.Delete(q.watching, i, i+1)
	}
}

// crowd returns how many callers of a customer wait.
func (q *Queue) crowd(customer string) (n int) {
	for _, w := range q.waiting {
		if w.customer == customer {
			n++
		}
	}
	return n
}

func (q *Queue) free(customer string) bool { return q.total < q.places && q.taken[customer] < q.share }

func (q *Queue) take(customer string) {
	q.total++
	q.taken[customer]++
}

// leave frees a place and gives it to the first waiter that may have it.
func (q *Queue) leave(customer string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	q.taken[customer]--
	if q.taken[customer] == 0 {
		delete(q.taken, customer)
	}
	i := slices.IndexFunc(q.waiting, func(w *waiter) bool { return q.free(w.customer) })
	if i < 0 {
		q.tell()
		return
	}
	w := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.take(w.customer)
	close(w.turn)
}

// remove takes a waiter out of the queue. It returns false if the waiter already has a place.
func (q *Queue) remove(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}
