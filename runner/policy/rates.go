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

// Rates counts calls, for the rules of all policies that share it. It is safe for concurrent use.
//
// Calls within a minute it counts in memory: what other processes do, it does not know. So it does for those of sessions, customers and
// days, unless [Rates.In] names a folder.
type Rates struct {
	*memory
	dir string // where the numbers of sessions, customers and days are kept; empty: in memory
}

type memory struct {
	mu      sync.Mutex
	made    map[string][]time.Time // the last calls, at most as many as a rule allows a minute
	tallies map[string]tally       // those of Rates without a folder
}

// NewRates returns a Rates that has counted nothing.
func NewRates() *Rates {
	return &Rates{memory: &memory{made: map[string][]time.Time{}, tallies: map[string]tally{}}}
}

// In returns a Rates that shares the calls within a minute with r. The numbers of sessions, customers and days it keeps in a folder of
// the project, which it creates: all processes that count there count together. Scripts must not reach the folder.
func (r *Rates) In(dir string) *Rates { return &Rates{memory: r.memory, dir: dir} }

const (
	// maxRates bounds the rules and customers that are remembered. The oldest are forgotten when they have had no call for a minute.
	maxRates = 10_000
	// tallyWait bounds the wait for other processes that count.
	tallyWait = 10 * time.Second
	tallyLock = "lock"
)

// over are the numbers of calls from which a rule applies, or numbers of calls that were made.
type over config.PolicyOver

// threshold is one of these numbers, and what the calls are of.
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

// reached returns the first number that is reached when so many calls were made.
func (o over) reached(made over) (threshold, bool) {
	all := made.numbers()
	for i, n := range o.numbers() {
		if n.most > 0 && all[i].most >= n.most {
			return n, true
		}
	}
	return threshold{}, false
}

// reach returns the rule as it applies when so many calls were made, and whether it does.
func (f *rule) reach(made over) (*rule, bool) {
	if f.over == (over{}) {
		return f, true
	}
	own, ok := *f, false
	own.reached, ok = f.over.reached(made)
	return &own, ok
}

// apply passes those rules to decide whose numbers of calls are reached, and counts the call for all unless it is denied. A call
// that cannot be counted is denied. The lock of the run is held.
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

// uncounted denies a call that a rule counts and that could not be counted.
func uncounted(f *rule, err error) Decision {
	return Decision{Effect: Deny, Rule: f.name, At: f.at, Reason: fmt.Sprintf("the calls cannot be counted: %v", err)}
}

// counting is the counting of one call.
type counting struct {
	rates  *Rates
	req    *Request
	now    time.Time
	locked func()            // unlocks the folder; nil: it is not locked
	read   map[string]*tally // those that the call counts for, by the names of their files
}

// tally is a number of calls that outlives a run, as its file has it.
type tally struct {
	Rule     string `json:"rule"` // for whoever reads the file
	Of       string `json:"of"`   // session, customer or day
	Customer string `json:"customer,omitempty"`
	Session  string `json:"session,omitempty"`
	Day      string `json:"day,omitempty"` // in UTC
	Calls    int    `json:"calls"`

	rule *rule
}

// made returns how many calls were made that a rule counts.
func (c *counting) made(ctx context.Context, f *rule) (made over, err error) {
	run := c.req.Run
	made.Run, made.Session = run.count[f.id], run.count[f.id] // without a session, a run is one of its own
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

// tally returns a number of calls that outlives a run, and notes that this call counts for it.
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
	if of == perDay { // the file of the day before is used again
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

// load reads a tally; the folder stays locked until the call is counted.
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

// keep writes a tally that counts the call. A call that is not sent counts for its run only.
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

// count counts the call for what is in memory.
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

// key names a rule and a customer: each customer has a number of its own.
func (f *rule) key(run *Run) string { return f.id + "\x00" + run.Customer }

// tallyOf names a rule for the numbers that outlive it, wherever it stands in its list: by its name, or else by what it says besides
// the numbers.
func tallyOf(list string, r *config.PolicyRule) (string, error) {
	effect, globs := r.Effect()
	says := []any{list, r.Name}
	if r.Name == "" || r.Name == config.NameOf(effect, globs) {
		says = []any{list, effect, globs, r.Hint, r.Risk, r.Arguments, r.When}
	}
	text, err := json.Marshal(says)
	return string(text), err
}

// Lasting reports whether a rule has a number of calls that outlives a run and a minute; see [Rates.In].
func (p *Policy) Lasting() bool {
	return slices.ContainsFunc(p.parts(), func(part *part) bool {
		return slices.ContainsFunc(part.rules, func(r *rule) bool { return r.over.lasts() })
	})
}
