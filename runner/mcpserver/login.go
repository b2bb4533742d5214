package mcpserver

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Login says that a client has begun to use its token, or has sent one that is not accepted.
type Login struct {
	Customer string // empty if it was refused, or is the project itself
	Address  string // of the client
	Refused  bool
}

const (
	refusedEvery = time.Second // of several refused logins within this time, the first is told
	loginEvery   = time.Hour   // requests without a session are one login for this long
)

// logins tells of the logins of HTTP clients. A nil tell tells nothing.
type logins struct {
	tell func(Login)

	mu      sync.Mutex
	refused time.Time            // when one was last told
	began   map[string]time.Time // of requests without a session, by customer
}

// accept notes a request of a customer. opens reports that it begins a session; other requests given to it belong to none.
func (l *logins) accept(r *http.Request, customer string, opens bool) {
	if l.tell == nil {
		return
	}
	if !opens {
		l.mu.Lock()
		again := time.Since(l.began[customer]) < loginEvery
		if !again {
			if l.began == nil {
				l.began = map[string]time.Time{}
			}
			l.began[customer] = time.Now()
		}
		l.mu.Unlock()
		if again {
			return
		}
	}
	l.tell(Login{Customer: customer, Address: addressOf(r)})
}

// refuse notes a request whose token is not accepted.
func (l *logins) refuse(r *http.Request) {
	if l.tell == nil {
		return
	}
	l.mu.Lock()
	again := time.Since(l.refused) < refusedEvery
	if !again {
		l.refused = time.Now()
	}
	l.mu.Unlock()
	if !again {
		l.tell(Login{Address: addressOf(r), Refused: true})
	}
}

// addressOf returns the address of a client, without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
