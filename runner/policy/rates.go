package policy

import (
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Rates counts calls within a minute, for the rules of all policies that share it. It counts in memory: what other processes do, it
// does not know. It is safe for concurrent use.
type Rates struct {
	mu   sync.Mutex
	made map[string][]time.Time // the last calls, at most as many as a rule allows a minute
}

// NewRates returns a Rates that has counted nothing.
func NewRates() *Rates { return &Rates{made: map[string][]time.Time{}} }

// maxRates bounds the rules and customers that are remembered. The oldest are forgotten when they have had no call for a minute.
const maxRates = 10_000

// over are the numbers of calls from which a rule applies.
type over config.PolicyOver

// idle reports whether the rule does not apply yet when that many calls were made, within a minute.
func (o over) idle(made int) bool {
	return o != over{} && (o.Run == 0 || made < o.Run) && (o.Minute == 0 || made < o.Minute)
}

// apply passes those rules to decide whose numbers of calls are reached, and counts the call for all unless it is denied. The lock
// of the run is held.
func (r *Rates) apply(run *Run, fits []*rule, decide func([]*rule) Decision) Decision {
	var counted, applying []*rule
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, f := range fits {
		if f.over.Run > 0 || f.over.Minute > 0 {
			counted = append(counted, f)
			if !r.reached(run, f, now) {
				continue
			}
		}
		applying = append(applying, f)
	}
	d := decide(applying)
	if d.Effect != Deny {
		for _, f := range counted {
			r.count(run, f, now)
		}
	}
	return d
}

// reached reports whether the next call is above the numbers of a rule.
func (r *Rates) reached(run *Run, f *rule, now time.Time) bool {
	if f.over.Run > 0 && run.count[f] >= f.over.Run {
		return true
	}
	last := r.made[f.key(run)]
	return f.over.Minute > 0 && len(last) >= f.over.Minute && now.Sub(last[len(last)-f.over.Minute]) < time.Minute
}

func (r *Rates) count(run *Run, f *rule, now time.Time) {
	if run.count == nil {
		run.count = map[*rule]int{}
	}
	run.count[f]++
	if f.over.Minute == 0 {
		return
	}
	key := f.key(run)
	if _, known := r.made[key]; !known && len(r.made) >= maxRates {
		for key, last := range r.made {
			if now.Sub(last[len(last)-1]) >= time.Minute {
				delete(r.made, key)
			}
		}
	}
	last := append(r.made[key], now)
	r.made[key] = last[max(0, len(last)-f.over.Minute):]
}

// key names a rule and a customer: each customer has a number of its own.
func (f *rule) key(run *Run) string { return f.id + "\x00" + run.Customer }
