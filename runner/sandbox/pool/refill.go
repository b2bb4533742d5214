package pool

import (
	"slices"
	"time"
)

// refill starts guests where fewer are idle than wanted, for the shelf used last first. Runs that wait for room come
// before it, and so do those whose guests are being started for them: on a machine that is busy with these, guests ahead
// of their runs would make all of them later. A run that was given an idle guest has a head start for the same reason.
func (p *Pool) refill(now time.Time) {
	if slices.ContainsFunc(p.waiting, func(w *waiter) bool { return len(w.shelf.starting) == 0 }) {
		return
	}
	if p.calm.After(now) {
		return
	}
	for _, s := range p.byUse() {
		for len(s.idle)+len(s.starting) < s.target && p.starting+p.launching < p.opt.Starts && !s.retry.After(now) && p.place(s) {
			p.warm(s)
		}
	}
}

// place tells whether one more guest may be idle. A shelf that has none takes the place of one used longer ago.
func (p *Pool) place(s *shelf) bool {
	if p.idle+p.starting < p.opt.MaxIdle && p.room() {
		return true
	}
	return len(s.idle)+len(s.starting) == 0 && p.closing == 0 && p.evict(s, s.used) && p.room()
}

// byUse lists the shelves, the one used last first.
func (p *Pool) byUse() []*shelf {
	list := make([]*shelf, 0, len(p.shelves))
	for _, s := range p.shelves {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *shelf) int { return b.used.Compare(a.used) })
	return list
}

// warm starts one guest for s, in the background.
func (p *Pool) warm(s *shelf) {
	began := time.Now()
	p.starting++
	s.starting = append(s.starting, began)
	spec := s.spec
	p.work.Go(func() {
		g, err := ready(p.life, p.backend, spec)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.starting--
		i := slices.Index(s.starting, began)
		s.starting = slices.Delete(s.starting, i, i+1)
		switch {
		case err != nil:
			if !p.closed {
				p.count.failed++
				s.fail()
				p.opt.Logger.Warn("a guest could not be started ahead", "sandbox", p.Name(), "runtime", spec.Runtime, "error", err)
			}
		default:
			p.idle++
			p.count.refills++
			p.count.refilling += time.Since(began)
			if p.closed || p.shelves[s.shape] != s { // nobody wants it any more
				p.retire(g)
				break
			}
			s.idle = append(s.idle, g)
			p.work.Go(func() { p.watch(s, g) })
		}
		p.settle()
	})
}

// watch notices the end of a guest on its shelf.
func (p *Pool) watch(s *shelf, g *guest) {
	select {
	case <-g.taken:
		return
	case <-g.idle.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(s.idle, g); i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
		p.lost(s, g)
		p.settle()
	}
}

// retire closes, in the background, a guest that counts as idle and that the caller takes off its shelf.
func (p *Pool) retire(g *guest) {
	p.idle--
	p.closing++
	close(g.taken)
	p.work.Go(func() {
		err := g.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closing--
		if err != nil {
			p.opt.Logger.Warn("an idle guest could not be removed", "sandbox", p.Name(), "error", err)
			if p.closed {
				p.errs = append(p.errs, err)
			}
		}
		p.settle()
	})
}
