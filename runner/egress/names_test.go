package egress_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a name server.
type names struct {
	conn  net.PacketConn
	hosts map[string]string
	mu    sync.Mutex
	seen  []string
}

func newNames(t testing.TB, hosts map[string]string) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn, hosts: hosts}
	go n.serve()
	t.Cleanup(func() { conn.Close() })
	return n
}

func (n *names) serve() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		n.mu.Lock()
		n.seen = append(n.seen, q.Name.String())
		n.mu.Unlock()
		m.Response, m.Additionals = true, nil
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
		if ip, err := netip.ParseAddr(n.hosts[q.Name.String()]); err != nil {
			m.RCode = dnsmessage.RCodeNameError
		} else if ip.Is4() && q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}}}
		} else if ip.Is6() && q.Type == dnsmessage.TypeAAAA {
			m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
		}
		if out, err := m.Pack(); err == nil {
			n.conn.WriteTo(out, from)
		}
	}
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *names) asked(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, each := range n.seen {
		if each == name {
			return true
		}
	}
	return false
}
