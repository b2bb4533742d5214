package pool

import "time"

// Stats are a pool's figures.
type Stats struct {
	// At this moment: guests that are idle, being started ahead, or with a run, and runs that wait for one.
	Idle, Starting, Running, Waiting int
	// Since New: runs that got an idle guest, runs that had one started, and runs that had to wait for either, which are
	// counted in one of the first two as well unless they gave up.
	Warm, Cold, Waited int64
	// Busy counts runs that were refused.
	Busy int64
	// Refills counts guests that were started ahead, and RefillTime is the mean time from start to readiness.
	Refills    int64
	RefillTime time.Duration
	// Failed counts guests that could not be started ahead or not be handed over, Died those that ended while idle, and
	// Expired those that were closed unused because of their age or for want of room.
	Failed, Died, Expired int64
}

type counters struct {
	warm, cold, waited, busy, refills, failed, died, expired int64
	refilling                                                time.Duration
}

// Stats returns the figures now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.count
	s := Stats{
		Idle: p.idle, Starting: p.starting, Running: p.running, Waiting: len(p.waiting),
		Warm: c.warm, Cold: c.cold, Waited: c.waited, Busy: c.busy,
		Refills: c.refills, Failed: c.failed, Died: c.died, Expired: c.expired,
	}
	s.RefillTime = p.refillTime()
	return s
}

// refillTime is the mean time that a guest takes to get ready; zero before the first.
func (p *Pool) refillTime() time.Duration {
	if p.count.refills == 0 {
		return 0
	}
	return p.count.refilling / time.Duration(p.count.refills)
}
