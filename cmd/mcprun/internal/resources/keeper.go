package resources

import (
	"errors"
	"sync"
	"time"
)

// keeper is a cache of expensive values by key. It closes values that have been unused for a while, and the least recently used
// ones if there are too many.
type keeper[T any] struct {
	most  int           // bound on the unused entries
	after time.Duration // how long an unused entry is kept
	close func(T)       // nil if values need no closing

	mu      sync.Mutex
	entries map[string]*kept[T]
	closed  bool
}

type kept[T any] struct {
	made  chan struct{} // closed when value and err are set
	value T
	err   error
	users int
	used  time.Time // when the last user left
}

// errNotMade is the error of callers that waited for a value whose creation panicked.
var errNotMade = errors.New("a part of the run could not be made")

func newKeeper[T any](most int, after time.Duration, closeOne func(T)) *keeper[T] {
	if closeOne == nil {
		closeOne = func(T) {}
	}
	return &keeper[T]{most: most, after: after, close: closeOne, entries: map[string]*kept[T]{}}
}

// get returns the value that is kept under key, or creates it with makeOne. Concurrent callers share one value. The caller calls
// release once. An error is not kept.
func (k *keeper[T]) get(key string, makeOne func() (T, error)) (value T, release func(), err error) {
	k.mu.Lock()
	e, ok := k.entries[key]
	if !ok {
		e = &kept[T]{made: make(chan struct{}), err: errNotMade}
		k.entries[key] = e
	}
	e.users++
	k.mu.Unlock()
	if ok {
		<-e.made
	} else {
		func() {
			defer close(e.made) // also when it panics
			e.value, e.err = makeOne()
		}()
	}
	if e.err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if e.users--; k.entries[key] == e {
			delete(k.entries, key)
		}
		return value, func() {}, e.err
	}
	return e.value, func() { k.release(e) }, nil
}

func (k *keeper[T]) release(e *kept[T]) {
	k.mu.Lock()
	e.users--
	e.used = time.Now()
	k.mu.Unlock()
	k.tidy()
}

// tidy closes values that have been unused for too long, and the least recently used ones if there are too many.
func (k *keeper[T]) tidy() { k.keepUnused(k.most) }

// drop closes all unused values.
func (k *keeper[T]) drop() { k.keepUnused(0) }

// keepUnused closes unused values, the least recently used first, until at most most are left and none has been unused for too long.
func (k *keeper[T]) keepUnused(most int) {
	var gone []T
	k.mu.Lock()
	for {
		oldest, unused := "", 0
		for key, e := range k.entries {
			if e.users > 0 {
				continue
			}
			unused++
			if oldest == "" || e.used.Before(k.entries[oldest].used) {
				oldest = key
			}
		}
		if unused == 0 || !k.closed && unused <= most && time.Since(k.entries[oldest].used) < k.after {
			break
		}
		gone = append(gone, k.entries[oldest].value)
		delete(k.entries, oldest)
	}
	k.mu.Unlock()
	for _, v := range gone {
		k.close(v)
	}
}

// shut closes unused values now, and values in use when they are released.
func (k *keeper[T]) shut() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.tidy()
}

// each calls f for everything that is kept.
func (k *keeper[T]) each(f func(T)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.entries {
		select {
		case <-e.made:
			if e.err == nil {
				f(e.value)
			}
		default:
		}
	}
}
