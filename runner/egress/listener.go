package egress

import (
	"net"
	"sync"
)

// listener hands connections that come from elsewhere to a server of net/http.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// give passes a connection to the server, or returns false once the listener is closed.
func (l *listener) give(c net.Conn) bool {
	select {
	case l.conns <- c:
		return true
	case <-l.done:
		return false
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }

// address is the address of a sandbox's end, which has none.
type address struct{}

func (address) Network() string { return "sandbox" }
func (address) String() string  { return "sandbox" }
