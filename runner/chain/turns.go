package chain

import (
	"context"
	"sync"
	"time"
)

// lateTurn bounds how long a call waits for an earlier one that has not arrived. A call that was cancelled at once never arrives.
const lateTurn = time.Second

// turns puts calls, which arrive in different goroutines, into the order in which the script made them, and numbers them by tool.
type turns struct {
	mu      sync.Mutex
	next    int // the number of the call whose turn it is
	waiting map[int]chan struct{}
	ranks   map[string]int
}

func newTurns() *turns {
	return &turns{next: 1, waiting: map[int]chan struct{}{}, ranks: map[string]int{}}
}

// take waits until the earlier calls have arrived, and returns how many of them were of the same tool.
func (t *turns) take(ctx context.Context, seq int, tool string) int {
	t.mu.Lock()
	if seq > t.next {
		mine := make(chan struct{})
		t.waiting[seq] = mine
		t.mu.Unlock()
		late := time.NewTimer(lateTurn)
		defer late.Stop()
		select {
		case <-mine:
		case <-late.C:
		case <-ctx.Done():
		}
		t.mu.Lock()
		delete(t.waiting, seq)
	}
	defer t.mu.Unlock()
	if seq >= t.next {
		t.next = seq + 1
		if w := t.waiting[t.next]; w != nil {
			delete(t.waiting, t.next)
			close(w)
		}
	}
	rank := t.ranks[tool]
	t.ranks[tool]++
	return rank
}
