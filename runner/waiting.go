package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

// waitFor is what a call waits for.
type waitFor string

const (
	waitTurn   waitFor = "a place in the queue"
	waitMemory waitFor = "memory for its result"
	waitRetry  waitFor = "its next try"
	waitPerson waitFor = "a person's answer"
	waitAnswer waitFor = WaitAnswer
	waitStart  waitFor = "the server to start"
	waitList   waitFor = "the server's list of tools"
)

// waiting records what a call waits for, and since when. It is safe for concurrent use.
type waiting struct {
	mu    sync.Mutex
	what  waitFor // empty: nothing yet
	since time.Time
	again bool // a server may have acted on an earlier try

	changed func(what waitFor) // called when what changes; may be nil
}

// begin records what the call waits for from now on. After ctx has ended it changes nothing: the last wait is reported.
func (w *waiting) begin(ctx context.Context, what waitFor) {
	w.mu.Lock()
	changes := what != w.what && ctx.Err() == nil
	if changes {
		w.what, w.since = what, time.Now()
	}
	w.mu.Unlock()
	if changes && w.changed != nil {
		w.changed(what)
	}
}

func (w *waiting) now() (what waitFor, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.what, time.Since(w.since)
}

// sent records that a server may have acted on a try; wasSent reports it.
func (w *waiting) sent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = true
}

func (w *waiting) wasSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.again
}

// unsent reports whether the call waits for something that comes before it is sent.
func (w *waiting) unsent() bool {
	what, _ := w.now()
	return what == waitStart || what == waitList
}

// words returns the text after "waiting for".
func (w waitFor) words(server string) string {
	switch w {
	case waitStart:
		return fmt.Sprintf("server %q to start", server)
	case waitList:
		return fmt.Sprintf("the list of tools of server %q", server)
	}
	return string(w)
}

// ofUpstream converts what a request of package upstream waits for.
func ofUpstream(w upstream.Wait) waitFor {
	switch w {
	case upstream.WaitStart:
		return waitStart
	case upstream.WaitList:
		return waitList
	}
	return waitAnswer
}
