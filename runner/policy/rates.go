package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/internal/kept"
)

// Rates counts calls for the rules of all policies that share it. It is safe for concurrent use.
//
// Calls within a minute are counted in memory, without those of other processes. The same holds for calls of sessions, customers and days,
// unless [Rates.In] names a folder.
type Rates struct {
	*memory
	dir string // holds the numbers of sessions, customers and days; empty: they are kept in memory
}

type memory struct {
	mu      sync.Mutex
	made    map[string][]time.Time // the latest calls, at most as many as a rule allows per minute
	tallies map[string]tally       // the numbers of Rates without a folder
}

// NewRates returns a Rates that has counted nothing.
func NewRates() *Rates {
	return &Rates{memory: &memory{made: map[string][]time.Time{}, tallies: map[string]tally{}}}
}

// In returns a Rates that shares the calls within a minute with r, and keeps the numbers of sessions, customers and days in a folder of the
// project, which it creates. All processes that use the folder count together. Scripts must not be able to reach it.
func (r *Rates) In(dir string) *Rates { return &Rates{memory: r.memory, dir: dir} }

const (
	// maxRates bounds the number of rules and customers remembered. The oldest are forgotten once they have had no call for a minute.
	maxRates = 10_000
	// tallyWait bounds the wait for other counting processes.
	tallyWait = 10 * time.Second
	tallyLock = "lock"
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
// cannot be counted is denied. The caller holds the run's lock.
func (r *Rates) apply(ctx context.Context, req *Request, fits []*rule, decide func([]*rule) Decision) Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &counting{rates: r, req: req, now: time.Now(), read: map[string]*tally{}}
	defer func() { c.unlock() }()
	var applying []*rule
	for _, f := range fits {
		made, err := c.made(ctx, f)
		if err != nil {
			return uncounted(f, err)
		}
		if own, ok := f.reach(made); ok {
			applying = append(applying, own)
		}
	}
	d := decide(applying)
	if d.Effect == Deny {
		return d
	}
	for name, t := range c.read {
		t.Calls++
		if err := c.keep(name, t); err != nil {
			return uncounted(t.rule, err)
		}
	}
	for _, f := range fits {
		c.count(f)
	}
	return d
}

// uncounted denies a call that a rule counts but that could not be counted.
func uncounted(f *rule, err error) Decision {
	return Decision{Effect: Deny, Rule: f.name, At: f.at, Reason: fmt.Sprintf("the calls cannot be counted: %v", err)}
}

// counting is the state of counting one call.
type counting struct {
	rates  *Rates
	req    *Request
	now    time.Time
	locked func()            // unlocks the folder; nil if it is not locked
	read   map[string]*tally // the tallies that the call counts for, by file name
}

// tally is a number of calls that outlives a run, as stored in its file.
type tally struct {
	Rule     string `json:"rule"` // for people who read the file
	Of       string `json:"of"`   // session, customer or day
	Customer string `json:"customer,omitempty"`
	Session  string `json:"session,omitempty"`
	Day      string `json:"day,omitempty"` // in UTC
	Calls    int    `json:"calls"`

	rule *rule
}

// made returns the number of calls made that a rule counts.
func (c *counting) made(ctx context.Context, f *rule) (made over, err error) {
	run := c.req.Run
	made.Run, made.Session = run.count[f.id], run.count[f.id] // without a session, the run is its own session
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
	if of == perDay { // the previous day's file is reused
		want.Day = c.now.UTC().Format(time.DateOnly)
	}
	sum := sha256.Sum256(id)
	name := hex.EncodeToString(sum[:16]) + ".json"
	if c.read[name] == nil {
		had, err := c.load(ctx, name)
		if err != nil {
			return 0, err
		}
		if had.Day == want.Day {
			want.Calls = had.Calls
		}
		c.read[name] = &want
	}
	return c.read[name].Calls + run.unsent[name], nil
}

// load reads a tally. The folder stays locked until the call is counted.
func (c *counting) load(ctx context.Context, name string) (t tally, err error) {
	r := c.rates
	if r.dir == "" {
		return r.tallies[name], nil
	}
	if c.locked == nil {
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			return t, err
		}
		own, cancel := context.WithTimeout(ctx, tallyWait)
		defer cancel()
		if c.locked, err = kept.Lock(own, filepath.Join(r.dir, tallyLock)); err != nil {
			return t, fmt.Errorf("lock %s: %w: make the folder writable for you", r.dir, err)
		}
	}
	if err = kept.Read(filepath.Join(r.dir, name), &t); err == nil && t.Calls < 0 {
		err = fmt.Errorf("%s is damaged (calls is negative): remove it", filepath.Join(r.dir, name))
	}
	return t, err
}

// keep writes a tally that includes the call. A call that is not sent counts for its run only.
func (c *counting) keep(name string, t *tally) error {
	switch r, run := c.rates, c.req.Run; {
	case c.req.Unsent:
		if run.unsent == nil {
			run.unsent = map[string]int{}
		}
		run.unsent[name]++
	case r.dir == "":
		r.tallies[name] = *t
	default:
		return kept.Write(filepath.Join(r.dir, name), t)
	}
	return nil
}

func (c *counting) unlock() {
	if c.locked != nil {
		c.locked()
	}
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
