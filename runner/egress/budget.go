package egress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// budget counts a run's requests and bytes by host.
type budget struct {
	rate          int
	bytes, volume int64
	unusual       func(t Target, bytes int64) // called once for each host whose bytes reach volume

	mu    sync.Mutex
	hosts map[string]*usage
}

type usage struct {
	made  []time.Time // the latest requests, at most as many as are allowed in a minute
	bytes int64
}

// maxHosts bounds the hosts that are remembered. Beyond it new ones are refused, because forgetting some would reset their counts.
const maxHosts = 10_000

// take counts a request, or refuses it.
func (b *budget) take(t Target) *Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.hosts[t.Host]
	if u == nil {
		if len(b.hosts) >= maxHosts {
			return &Refusal{Check: ByRate, Target: t, Reason: fmt.Sprintf("the run has reached %d hosts, which is too many", maxHosts)}
		}
		u = &usage{}
		b.hosts[t.Host] = u
	}
	now := time.Now()
	switch {
	case u.bytes >= b.bytes:
		return b.exhausted(t)
	case len(u.made) < b.rate:
	case now.Sub(u.made[0]) < time.Minute:
		return &Refusal{
			Check: ByRate, Target: t, Reason: fmt.Sprintf("the rate of %d requests a minute to %s is used up", b.rate, t.Host),
			Remedy: fmt.Sprintf("wait %d seconds; an operator sets another rate with network.rate", int((time.Minute-now.Sub(u.made[0])).Seconds())+1),
		}
	default:
		u.made = u.made[1:]
	}
	u.made = append(u.made, now)
	return nil
}

func (b *budget) exhausted(t Target) *Refusal {
	return &Refusal{
		Check: ByRate, Target: t, Reason: fmt.Sprintf("the run has exchanged %d bytes with %s, which is all that it may", b.bytes, t.Host),
		Remedy: "an operator sets another limit with network.bytes",
	}
}

// add counts bytes to or from a host that take has admitted, and refuses more.
func (b *budget) add(t Target, n int) error {
	b.mu.Lock()
	u := b.hosts[t.Host]
	before := u.bytes
	u.bytes += int64(n)
	after := u.bytes
	b.mu.Unlock()
	if b.volume > 0 && before < b.volume && after >= b.volume {
		b.unusual(t, after)
	}
	if after > b.bytes {
		return b.exhausted(t)
	}
	return nil
}

// metered is a stream whose bytes count.
type metered struct {
	io.Reader
	budget *budget
	target Target
	n      *atomic.Int64 // the bytes of this stream
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.n.Add(int64(n))
	if over := m.budget.add(m.target, n); over != nil {
		err = over
	}
	return n, err
}
