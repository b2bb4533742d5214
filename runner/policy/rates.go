package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Rates counts calls for the rules of all policies that share it. It is safe for concurrent use.
//
// Calls within a minute are counted in memory, without those of other processes. The same holds for calls of sessions, customers and days,
// unless [Rates.In] names a store.
type Rates struct {
	*memory
	counts *counts // the numbers of sessions, customers and days; nil: they are kept in memory
}

type memory struct {
	turn    chan struct{}          // holds a value while a call is counted
	made    map[string][]time.Time // the latest calls, at most as many as a rule allows per minute
	tallies map[string]tally       // the numbers of Rates without a store
}

// NewRates returns a Rates that has counted nothing.
func NewRates() *Rates {
	return &Rates{memory: &memory{turn: make(chan struct{}, 1), made: map[string][]time.Time{}, tallies: map[string]tally{}}}
}

const (
	// maxRates bounds the number of rules and customers remembered. The oldest are forgotten once they have had no call for a minute.
	maxRates = 10_000
	// tallyWait bounds how long a call is counted.
	tallyWait = 10 * time.Second
)

// over holds the numbers of calls at which a rule starts to apply, or numbers of calls made.
type over config.PolicyOver

// threshold is one of these numbers, with the period it is counted for.
type threshold struct {
	of   string
	most int
}

const (
	perRun      = "run"
	perMinute   = "minute"
	perSession  = "session"
	perCustomer = "customer"
	perDay      = "day"
)

func (o over) numbers() [5]threshold {
	return [...]threshold{{perRun, o.Run}, {perMinute, o.Minute}, {perSession, o.Session}, {perCustomer, o.Customer}, {perDay, o.Day}}
}

// lasts reports whether one of the numbers outlives a run and a minute.
func (o over) lasts() bool { return o.Session > 0 || o.Customer > 0 || o.Day > 0 }

// reached returns the first number that is reached after the calls made.
func (o over) reached(made over) (threshold, bool) {
	all := made.numbers()
	for i, n := range o.numbers() {
		if n.most > 0 && all[i].most >= n.most {
			return n, true
		}
	}
	return threshold{}, false
}

// reach returns the rule as it applies after the calls made, and whether it applies.
func (f *rule) reach(made over) (*rule, bool) {
	if f.over == (over{}) {
		return f, true
	}
	own, ok := *f, false
	own.reached, ok = f.over.reached(made)
	return &own, ok
}

// apply passes the rules whose numbers of calls are reached to decide, and counts the call for all rules unless it is denied. A call that
// cannot be counted is denied. If another process counts for the same number meanwhile, decide is called again. The caller holds the run's
// lock.
func (r *Rates) apply(ctx context.Context, req *Request, fits []*rule, decide func([]*rule) Decision) Decision {
	once := func(ctx context.Context) (Decision, *rule, error) {
		c := &counting{rates: r, req: req, now: time.Now(), read: map[string]*tally{}}
		return c.apply(ctx, fits, decide)
	}
	shared := slices.IndexFunc(fits, func(f *rule) bool { return f.over.Minute > 0 || f.over.lasts() })
	if shared < 0 {
		d, _, _ := once(ctx) // it fails only for numbers that outlive a run
		return d
	}
	own, cancel := context.WithTimeout(ctx, tallyWait)
	defer cancel()
	of := fits[shared] // a rule that could not be counted
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-own.Done():
		return uncounted(of, own.Err())
	}
	pauses := &backoff.ExponentialBackOff{InitialInterval: time.Millisecond, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: 50 * time.Millisecond}
	d, err := backoff.Retry(own, func() (d Decision, err error) {
		if d, of, err = once(own); err != nil && !errors.Is(err, store.ErrConflict) {
			err = backoff.Permanent(err)
		}
		return d, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(tallyWait))
	if err != nil {
		return uncounted(of, err)
	}
	return d
}

// uncounted denies a call that a rule counts but that could not be counted.
func uncounted(f *rule, err error) Decision {
	switch {
	case exit.Hint(err) != "":
		err = fmt.Errorf("%w: %s", err, exit.Hint(err))
	case errors.Is(err, store.ErrConflict):
		err = fmt.Errorf("%w: call again later", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the state did not answer in time (%w): end the process that keeps it busy, then call again", err)
	}
	return Decision{Effect: Deny, Rule: f.name, At: f.at, Reason: fmt.Sprintf("the calls cannot be counted: %v", err)}
}

// counting is the state of counting one call.
type counting struct {
	rates *Rates
	req   *Request
	now   time.Time
	store store.Store       // nil until it is needed
	read  map[string]*tally // the tallies that the call counts for, by name
}

// apply is [Rates.apply] once. After an error nothing is counted; it is about the rule that is returned.
func (c *counting) apply(ctx context.Context, fits []*rule, decide func([]*rule) Decision) (d Decision, of *rule, err error) {
	var applying []*rule
	for _, f := range fits {
		made, err := c.made(ctx, f)
		if err != nil {
			return d, f, err
		}
		if own, ok := f.reach(made); ok {
			applying = append(applying, own)
		}
	}
	if d = decide(applying); d.Effect == Deny {
		return d, nil, nil
	}
	for _, t := range c.read {
		of = t.rule
		t.Calls++
	}
	if err := c.keep(ctx); err != nil {
		return d, of, err
	}
	for _, f := range fits {
		if c.count(f); f.over != (over{}) && !slices.Contains(d.Counted, f.counter()) {
			d.Counted = append(d.Counted, f.counter())
		}
	}
	return d, nil, nil
}

// allCalls is the counter of all calls that were let through.
const allCalls = "calls"

// counter names the calls that a rule counts, in whichever process, wherever the rule stands in its list.
func (f *rule) counter() string {
	sum := sha256.Sum256([]byte(f.tally))
	return hex.EncodeToString(sum[:16])
}

// tally is a number of calls that outlives a run, as it is stored.
type tally struct {
	Rule     string `json:"rule"` // for people who read it
	Of       string `json:"of"`   // session, customer or day
	Customer string `json:"customer,omitempty"`
	Session  string `json:"session,omitempty"`
	Day      string `json:"day,omitempty"` // in UTC
	Calls    int    `json:"calls"`

	rule    *rule
	version int64 // of the document
}

func (t *tally) key(name string) store.Key {
	return store.Key{Customer: t.Customer, Kind: tallyKind, Name: name}
}

// made returns the number of calls made that a rule counts.
func (c *counting) made(ctx context.Context, f *rule) (made over, err error) {
	run := c.req.Run
	if f.over != (over{}) {
		made.Run = run.count[f.id] + run.before[f.counter()]
	}
	made.Session = made.Run // without a session, the run is its own session
	if last := c.rates.made[f.key(run)]; f.over.Minute > 0 && len(last) >= f.over.Minute && c.now.Sub(last[len(last)-f.over.Minute]) < time.Minute {
		made.Minute = f.over.Minute
	}
	for _, n := range []struct {
		of     string
		counts bool
		made   *int
	}{{perSession, f.over.Session > 0 && run.Session != "", &made.Session}, {perCustomer, f.over.Customer > 0, &made.Customer}, {perDay, f.over.Day > 0, &made.Day}} {
		if n.counts && err == nil {
			*n.made, err = c.tally(ctx, f, n.of)
		}
	}
	return made, err
}

// tally reads a number of calls that outlives a run, and notes that this call counts for it.
func (c *counting) tally(ctx context.Context, f *rule, of string) (int, error) {
	run := c.req.Run
	want := tally{Rule: f.name, Of: of, Customer: run.Customer, rule: f}
	if of == perSession {
		want.Session = run.Session
	}
	id, err := json.Marshal([]string{f.tally, want.Of, want.Customer, want.Session})
	if err != nil {
		return 0, err
	}
	if of == perDay { // the previous day's number is replaced
		want.Day = c.now.UTC().Format(time.DateOnly)
	}
	sum := sha256.Sum256(id)
	name := hex.EncodeToString(sum[:16])
	if c.read[name] == nil {
		had, err := c.load(ctx, want.key(name))
		if err != nil {
			return 0, err
		}
		want.version = had.version
		if had.Day == want.Day {
			want.Calls = had.Calls
		}
		c.read[name] = &want
	}
	return c.read[name].Calls + run.unsent[name], nil
}

// load reads a tally.
func (c *counting) load(ctx context.Context, k store.Key) (t tally, err error) {
	r := c.rates
	if r.counts == nil {
		return r.tallies[k.Name], nil
	}
	if c.store == nil {
		if c.store, err = r.counts.open(ctx); err != nil {
			return t, err
		}
	}
	return load(ctx, c.store, k)
}

// keep writes the tallies, which include the call. A call that is not sent counts for its run only.
func (c *counting) keep(ctx context.Context) error {
	r, run := c.rates, c.req.Run
	if !c.req.Unsent && c.store != nil {
		return keep(ctx, c.store, c.read)
	}
	if run.unsent == nil {
		run.unsent = map[string]int{}
	}
	for name, t := range c.read {
		if c.req.Unsent {
			run.unsent[name]++
		} else {
			r.tallies[name] = *t
		}
	}
	return nil
}

// count counts the call in memory.
func (c *counting) count(f *rule) {
	run, r := c.req.Run, c.rates
	if f.over == (over{}) {
		return
	}
	if run.count == nil {
		run.count = map[string]int{}
	}
	run.count[f.id]++
	if f.over.Minute == 0 {
		return
	}
	key := f.key(run)
	if _, known := r.made[key]; !known && len(r.made) >= maxRates {
		maps.DeleteFunc(r.made, func(_ string, last []time.Time) bool { return c.now.Sub(last[len(last)-1]) >= time.Minute })
	}
	last := append(r.made[key], c.now)
	r.made[key] = last[max(0, len(last)-f.over.Minute):]
}

// key identifies a rule and a customer: each customer is counted separately.
func (f *rule) key(run *Run) string { return f.id + "\x00" + run.Customer }

// tallyOf identifies a rule in the numbers that outlive it, wherever the rule stands in its list: by its name, or else by its content
// without the numbers.
func tallyOf(list string, r *config.PolicyRule) (string, error) {
	effect, globs := r.Effect()
	says := []any{list, r.Name}
	if r.Name == "" || r.Name == config.NameOf(effect, globs) {
		says = []any{list, effect, globs, r.Hint, r.Risk, r.Arguments, r.When}
	}
	text, err := json.Marshal(says)
	return string(text), err
}

// Lasting reports whether a rule counts calls beyond a run and a minute; see [Rates.In].
func (p *Policy) Lasting() bool {
	return slices.ContainsFunc(p.parts(), func(part *part) bool {
		return slices.ContainsFunc(part.rules, func(r *rule) bool { return r.over.lasts() })
	})
}
