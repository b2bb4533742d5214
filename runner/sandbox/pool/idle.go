package pool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// idleSet holds the idle guests of one shape. The pool's lock guards it.
type idleSet struct {
	shape    sandbox.Shape
	spec     sandbox.Spec // the spec its guests are started with, apart from ID and Secret
	used     time.Time    // when a run last asked for one
	want     int          // how many guests should be idle
	idle     []*guest     // oldest first
	starting int
	waiting  []chan *guest // runs that wait, first come, first served; a nil guest means that the run must start one itself
}

// set returns the set of spec's shape, creating it if needed. Guests are started with the shape's limits. Where the shape has none, they
// get the widest limits that runs have asked for.
func (p *Pool) set(shape sandbox.Shape, spec sandbox.Spec) *idleSet {
	s := p.sets[shape]
	if s == nil {
		s = &idleSet{shape: shape, spec: sandbox.Spec{
			Runtime: spec.Runtime, Args: spec.Args, Guest: spec.Guest, Tree: spec.Tree, Skills: spec.Skills, Workspace: shape.Workspace,
			Packages: spec.Packages, Preload: spec.Preload,
		}}
		p.sets[shape] = s
	}
	s.used = time.Now()
	bound, before, now := shape.Limits, s.spec.Limits, spec.Limits.WithDefaults()
	s.spec.Limits = sandbox.Limits{
		Memory:    cmp.Or(bound.Memory, max(before.Memory, now.Memory)),
		CPU:       bound.CPU, // zero means no bound
		Processes: cmp.Or(bound.Processes, max(before.Processes, now.Processes)),
		Files:     cmp.Or(bound.Files, max(before.Files, now.Files)),
		FileSize:  cmp.Or(bound.FileSize, max(before.FileSize, now.FileSize)),
		Tmp:       cmp.Or(bound.Tmp, max(before.Tmp, now.Tmp)),
		Output:    cmp.Or(bound.Output, max(before.Output, now.Output)),
		Disk:      cmp.Or(bound.Disk, max(before.Disk, now.Disk)),
		DiskFiles: cmp.Or(bound.DiskFiles, max(before.DiskFiles, now.DiskFiles)),
	}
	return s
}

// take returns an idle guest of spec's shape, or nil if the run must start its own. It waits for a guest that is being started and for
// which no other run waits.
func (p *Pool) take(ctx context.Context, spec sandbox.Spec) (*guest, error) {
	shape := p.backend.Shape(spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	s := p.set(shape, spec)
	for len(s.idle) > 0 {
		g := s.idle[0] // the oldest has finished preparing itself after becoming ready
		if g.dead() {
			p.lost(s, g)
			continue
		}
		s.drop(g)
		return g, nil
	}
	s.want = min(s.want+1, p.opt.MaxIdle)
	if s.starting <= len(s.waiting) {
		return nil, nil
	}
	w := make(chan *guest, 1)
	s.waiting = append(s.waiting, w)
	p.mu.Unlock()
	late := time.NewTimer(waitTime)
	defer late.Stop()
	var g *guest
	select {
	case g = <-w:
	case <-ctx.Done():
	case <-late.C:
	}
	p.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(o chan *guest) bool { return o == w })
	if g == nil && len(w) > 0 { // it came at the last moment
		g = <-w
	}
	err := ctx.Err()
	if p.closed {
		err = cmp.Or(err, errClosed)
	}
	if err == nil || g == nil {
		return g, err
	}
	p.mu.Unlock()
	err = errors.Join(err, g.close())
	p.mu.Lock()
	return nil, err
}

// serve hands g to the run that has waited longest. It reports false if no run is waiting.
func (s *idleSet) serve(g *guest) bool {
	if len(s.waiting) == 0 {
		return false
	}
	s.waiting[0] <- g
	s.waiting = s.waiting[1:]
	return true
}

// drop removes g from the set.
func (s *idleSet) drop(g *guest) {
	s.idle = slices.DeleteFunc(s.idle, func(o *guest) bool { return o == g })
	close(g.taken)
}

// refill starts guests where fewer are idle than wanted, beginning with the most recently used shape, and forgets shapes of which no guest
// is wanted.
func (p *Pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, s := range p.byUse() {
		for s.has() < s.want {
			if !p.makeRoom(s) {
				s.want = s.has()
				break
			}
			p.warm(s)
		}
		if s.want == 0 && s.has() == 0 {
			delete(p.sets, s.shape)
		}
	}
}

// has counts the guests that are idle or soon will be.
func (s *idleSet) has() int { return len(s.idle) + s.starting - len(s.waiting) }

// idle counts the idle guests of all shapes.
func (p *Pool) idle() (n int) {
	for _, s := range p.sets {
		n += len(s.idle)
	}
	return n
}

// byUse lists the sets, the most recently used first.
func (p *Pool) byUse() []*idleSet {
	list := make([]*idleSet, 0, len(p.sets))
	for _, s := range p.sets {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *idleSet) int { return b.used.Compare(a.used) })
	return list
}

// makeRoom reports whether one more guest of s may be idle. If s has no guest, one of a less recently used shape is closed to make room.
func (p *Pool) makeRoom(s *idleSet) bool {
	all := p.byUse()
	total := 0
	for _, o := range all {
		total += max(o.has(), 0)
	}
	if total < p.opt.MaxIdle {
		return true
	}
	if s.has() > 0 {
		return false
	}
	for _, o := range slices.Backward(all) {
		if o != s && len(o.idle) > 0 && o.used.Before(s.used) {
			o.want--
			p.retire(o, o.idle[0])
			return true
		}
	}
	return false
}

// warm starts one guest for s in the background.
func (p *Pool) warm(s *idleSet) {
	s.starting++
	spec := s.spec
	p.work.Go(func() {
		g, err := ready(p.life, p.backend, spec)
		p.mu.Lock()
		defer p.mu.Unlock()
		s.starting--
		if err != nil {
			// The pool tries again when the next run finds no guest.
			s.want = max(s.has(), 0)
			if len(s.waiting) > s.starting {
				s.serve(nil)
			}
			if !p.closed {
				p.stats.Failed++
				p.opt.Logger.Warn("could not start a guest in advance", "sandbox", p.Name(), "runtime", spec.Runtime, "error", err)
			}
			return
		}
		switch {
		case p.closed:
			p.close(g)
		case s.serve(g):
			close(g.taken)
		case p.idle() >= p.opt.MaxIdle: // the run for which it was started has given up
			s.want = max(s.has(), 0)
			p.close(g)
		default:
			s.idle = append(s.idle, g)
			p.work.Go(func() { p.watch(s, g) })
		}
	})
}

// watch removes a guest from its set when it ends, or when it has been idle for too long, which means that there are more than runs need.
func (p *Pool) watch(s *idleSet, g *guest) {
	expiry := time.NewTimer(p.opt.IdleTime)
	defer expiry.Stop()
	select {
	case <-g.taken:
		return
	case <-g.idle.Done():
	case <-expiry.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !slices.Contains(s.idle, g):
	case g.dead():
		p.lost(s, g)
	default:
		s.want--
		p.retire(s, g)
	}
	if s.want == 0 && s.has() == 0 && p.sets[s.shape] == s {
		delete(p.sets, s.shape)
	}
}

// lost removes a guest that has ended.
func (p *Pool) lost(s *idleSet, g *guest) {
	p.stats.Died++
	s.want = max(s.want-1, 0)
	p.opt.Logger.Debug("an idle guest ended", "sandbox", p.Name(), "runtime", s.spec.Runtime)
	p.retire(s, g)
}

// retire closes an idle guest in the background.
func (p *Pool) retire(s *idleSet, g *guest) {
	s.drop(g)
	p.close(g)
}

// close closes, in the background, a guest that belongs to no set.
func (p *Pool) close(g *guest) {
	p.work.Go(func() {
		err := g.close()
		if err == nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.opt.Logger.Warn("could not remove an idle guest", "sandbox", p.Name(), "error", err)
		if p.closed {
			p.errs = append(p.errs, err)
		}
	})
}
