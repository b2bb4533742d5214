package policy

import (
	"maps"
	"sync"
	"time"
)

// conversationIdle is how long a client may be silent before its history is forgotten.
const conversationIdle = time.Hour

// Conversations remember, for a server whose clients make runs and calls one after another, what each client did. The zero value
// remembers nothing yet. It is safe for concurrent use.
type Conversations struct {
	mu  sync.Mutex
	all map[Subject]*conversation
}

type conversation struct {
	run  *Run
	last time.Time
}

// Of returns a customer's client in a session (which may be empty) as one run, to which its calls without a script belong. The run ends
// once the client has been silent for an hour.
func (c *Conversations) Of(customer, session string) *Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(c.all, func(_ Subject, one *conversation) bool { return now.Sub(one.last) > conversationIdle })
	if c.all == nil {
		c.all = map[Subject]*conversation{}
	}
	key := Subject{Customer: customer, Session: session}
	one := c.all[key]
	if one == nil {
		one = &conversation{run: &Run{Subject: key}}
		c.all[key] = one
	}
	one.last = now
	return one.run
}
