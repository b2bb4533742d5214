package upstream

import (
	"sync"
	"time"
)

const (
	// maxProgressText bounds the message of a notification of progress, in bytes.
	maxProgressText = 1 << 10
	// maxProgressWaiting is how many notifications may wait to be passed on; of more, the newest is kept.
	maxProgressWaiting = 64
	// progressBurst is how many are passed on as they come; after that there is one every progressPause.
	progressBurst = 100
	progressPause = 20 * time.Millisecond
)

// pump passes progress on, one at a time and in order, so that the reader of a session never waits for a listener.
type pump struct {
	tell func(Progress)

	mu      sync.Mutex
	waiting []Progress
	closed  bool
	wake    chan struct{} // holds one when there is something new
	ended   chan struct{} // closed when tell is not called any more
	started bool
}

func newPump(tell func(Progress)) *pump {
	return &pump{tell: tell, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// put adds a notification. It never waits.
func (p *pump) put(note Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if len(p.waiting) == maxProgressWaiting {
		p.waiting[maxProgressWaiting-1] = note
	} else {
		p.waiting = append(p.waiting, note)
	}
	if !p.started { // most calls have no progress
		p.started = true
		go p.run()
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close passes on what waits, and returns when tell is not called any more.
func (p *pump) close() {
	p.mu.Lock()
	p.closed = true
	started := p.started
	p.mu.Unlock()
	if !started {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	<-p.ended
}

func (p *pump) run() {
	defer close(p.ended)
	told := 0
	for {
		<-p.wake
		for {
			note, ok, closed := p.take()
			if !ok && closed {
				return
			}
			if !ok {
				break
			}
			if told++; told > progressBurst && !closed {
				time.Sleep(progressPause)
			}
			p.tell(note)
		}
	}
}

// take takes the oldest that waits.
func (p *pump) take() (note Progress, ok, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return Progress{}, false, p.closed
	}
	note = p.waiting[0]
	p.waiting = p.waiting[1:]
	return note, true, p.closed
}
