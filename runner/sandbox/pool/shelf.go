package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// maxShelves bounds how many shapes are remembered.
	maxShelves = 64
	// minRetry and maxRetry bound the pause after a guest that could not be started ahead; it doubles each time.
	minRetry, maxRetry = 500 * time.Millisecond, 30 * time.Second
	// settleTime is how long a guest may be busy with what its run will need after it has said that it is ready.
	settleTime = 500 * time.Millisecond
)

// shelf holds the idle guests of one shape. The pool's lock guards it.
type shelf struct {
	shape    sandbox.Shape
	spec     sandbox.Spec // what its guests are started with, but for ID and Secret
	kept     bool         // wanted without runs, too
	used     time.Time    // when a run last asked
	target   int          // how many idle guests are wanted
	starting []time.Time  // when each guest was begun that is not ready yet
	idle     []*guest     // oldest first
	failures int          // since the last guest that was good for a run
	retry    time.Time
}

// shelf returns the one for shape, making it if needed, and notes that it was asked for.
func (p *Pool) shelf(shape sandbox.Shape, spec sandbox.Spec) *shelf {
	s := p.shelves[shape]
	if s == nil {
		p.forgetOldest()
		s = &shelf{shape: shape, spec: sandbox.Spec{
			Runtime: spec.Runtime, Args: spec.Args, Guest: spec.Guest, Tree: spec.Tree, Skills: spec.Skills, Workspace: shape.Workspace,
		}}
		p.shelves[shape] = s
	}
	s.used = time.Now()
	s.spec.Limits = bounds(shape.Limits, s.spec.Limits, spec.Limits.WithDefaults())
	return s
}

// bounds are those of a shape and, where it has none, what lets all pass that were asked for: so far, and now. Zero
// processor time is no bound.
func bounds(shape, sofar, now sandbox.Limits) sandbox.Limits {
	return sandbox.Limits{
		Memory:    cmp.Or(shape.Memory, max(sofar.Memory, now.Memory)),
		CPU:       shape.CPU,
		Processes: cmp.Or(shape.Processes, max(sofar.Processes, now.Processes)),
		Files:     cmp.Or(shape.Files, max(sofar.Files, now.Files)),
		FileSize:  cmp.Or(shape.FileSize, max(sofar.FileSize, now.FileSize)),
		Tmp:       cmp.Or(shape.Tmp, max(sofar.Tmp, now.Tmp)),
		Output:    cmp.Or(shape.Output, max(sofar.Output, now.Output)),
		Disk:      cmp.Or(shape.Disk, max(sofar.Disk, now.Disk)),
		DiskFiles: cmp.Or(shape.DiskFiles, max(sofar.DiskFiles, now.DiskFiles)),
	}
}

// forgetOldest makes place for one more shelf where there are too many.
func (p *Pool) forgetOldest() {
	if len(p.shelves) < maxShelves {
		return
	}
	var oldest *shelf
	for _, s := range p.shelves {
		if !s.kept && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest != nil {
		p.clear(oldest)
		delete(p.shelves, oldest.shape) // a guest that is being started for it is closed when it is ready
	}
}

// clear closes a shelf's idle guests.
func (p *Pool) clear(s *shelf) {
	for _, g := range s.idle {
		p.retire(g)
	}
	s.idle = nil
}

// take removes the guest that was started last, so that those too many grow old and expire, but one that has settled
// where there is one; nil when there is none that is alive. It becomes a running one.
func (p *Pool) take(s *shelf) *guest {
	for len(s.idle) > 0 {
		n := max(s.settled(time.Now())-1, 0)
		g := s.idle[n]
		s.idle = slices.Delete(s.idle, n, n+1)
		if g.dead() {
			p.lost(s, g)
			continue
		}
		close(g.taken)
		p.idle--
		p.running++
		if now := time.Now(); p.opt.HeadStart > 0 && !p.calm.After(now) {
			p.calm = now.Add(p.opt.HeadStart)
		}
		return g
	}
	return nil
}

// settled counts the guests that were ready settleTime ago; they are the first ones.
func (s *shelf) settled(now time.Time) int {
	for i, g := range s.idle {
		if now.Sub(g.since) < settleTime {
			return i
		}
	}
	return len(s.idle)
}

// lost notes the end of a guest that was still to be used; it is on no shelf any more.
func (p *Pool) lost(s *shelf, g *guest) {
	p.count.died++
	s.fail()
	p.opt.Logger.Debug("an idle guest has ended", "sandbox", p.Name(), "runtime", s.spec.Runtime)
	p.retire(g)
}

// near counts the guests that were begun at least age ago and are not ready yet.
func (s *shelf) near(now time.Time, age time.Duration) int {
	n := 0
	for _, begun := range s.starting {
		if now.Sub(begun) >= age {
			n++
		}
	}
	return n
}

// fail puts off the next start.
func (s *shelf) fail() {
	s.retry = time.Now().Add(min(minRetry<<min(s.failures, 10), maxRetry))
	s.failures++
}

// expire closes what no run has used for long: whole shelves, and of others the oldest guests beyond Min.
func (p *Pool) expire(now time.Time) {
	for shape, s := range p.shelves {
		if !s.kept && now.Sub(s.used) >= p.opt.IdleExpiry && !p.awaited(s) {
			p.count.expired += int64(len(s.idle))
			p.clear(s)
			delete(p.shelves, shape)
			continue
		}
		for len(s.idle) > p.opt.Min && now.Sub(s.idle[0].since) >= p.opt.IdleExpiry {
			p.count.expired++
			p.retire(s.idle[0])
			s.idle = slices.Delete(s.idle, 0, 1)
			s.target = max(s.target-1, p.opt.Min)
		}
	}
}

// next is when expire or refill would find something to do for s; zero: not by time alone.
func (p *Pool) next(s *shelf, now time.Time) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if !s.kept && !p.awaited(s) {
		sooner(s.used.Add(p.opt.IdleExpiry))
	}
	if len(s.idle) > p.opt.Min {
		sooner(s.idle[0].since.Add(p.opt.IdleExpiry))
	}
	if len(s.idle)+len(s.starting) < s.target && s.retry.After(now) {
		sooner(s.retry)
	}
	return at
}

// evict closes an idle guest of the shelf that was used longest ago, but not of one used after than, nor of except. It
// tells whether there was one.
func (p *Pool) evict(except *shelf, than time.Time) bool {
	var oldest *shelf
	for _, s := range p.shelves {
		if s != except && len(s.idle) > 0 && !s.used.After(than) && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	p.count.expired++
	p.retire(oldest.idle[0])
	oldest.idle = slices.Delete(oldest.idle, 0, 1)
	return true
}
