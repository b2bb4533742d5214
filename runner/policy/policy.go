// Package policy decides which calls a run may make: allow, ask or deny.
//
// Decisions are made through one interface, [Decider]. Package chain asks it about each call, on the host, once the tool is known and the
// arguments are final and valid, but before anything is sent. [New] builds one from the rules in mcpgen.yaml; [Default] applies without
// rules. [Diff] compares two policies.
//
// Arguments are hostile: the work of conditions is bounded, and a condition that cannot be evaluated denies the call.
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Effect is the outcome of a decision.
type Effect string

const (
	Allow Effect = "allow"
	Ask   Effect = "ask" // a person decides; if nobody can be asked, the call is refused
	Deny  Effect = "deny"
)

// Decision is the answer to a Request.
type Decision struct {
	Effect Effect `json:"effect"`
	// Rule is the name of the rule that decided, and At its place as file:line. At is empty for a default.
	Rule string `json:"rule,omitempty"`
	At   string `json:"at,omitempty"`
	// Reason says why, for the script and for people.
	Reason string `json:"reason,omitempty"`
	// By names who was asked and answered, if anybody was.
	By string `json:"by,omitempty"`
	// Counted names what the call counts for in its run: each is a counter of [Run.Continue]. Nil: it is not counted.
	Counted []string `json:"-"`
}

// Source names the rule with its place.
func (d Decision) Source() string {
	if d.At == "" {
		return fmt.Sprintf("rule %q", d.Rule)
	}
	return fmt.Sprintf("rule %q, %s", d.Rule, d.At)
}

// Decider decides about calls. It is safe for concurrent use.
type Decider interface {
	// Decide decides one call. It is called once for each call and counts it; retries are not decided again.
	Decide(ctx context.Context, req *Request) Decision
}

// Request is a call that is about to be made.
type Request struct {
	// Server is the server's name in the configuration, and Name the tool's own name, as it is sent. Dir is the server's folder
	// in the tree, and Tool the tool's id there. For a resource or a prompt, Name is the method, such as resources/read.
	Server, Dir, Name, Tool string
	// Args is a JSON object with the values that the server will get. It is hostile.
	Args  json.RawMessage
	Hints Hints
	// Input is the schema of the arguments. DeclaredOnly refuses arguments that it does not declare, even if it allows additional
	// properties.
	Input        json.RawMessage
	DeclaredOnly bool
	Run          *Run
	// Unsent means that the call is decided but not sent, as in a dry run or a replay. It counts for its own run only. Listed means that it
	// has no result either, as in a dry run.
	Unsent, Listed bool

	shown risk.Risk // the risk of a script that is about to start; the one in Run may come from a person
}

// Hints are what is known about a tool's effects. What a server says about itself can only make a call look more dangerous.
type Hints struct {
	// ReadOnly and Idempotent are set only if a person or a trusted server says so.
	ReadOnly, Idempotent bool
	// Destructive and OpenWorld are set if the server says so. MCP's defaults do not count.
	Destructive, OpenWorld bool
}

// Words for what a tool does, by its hints.
const (
	Reads       = "reads"
	Writes      = "writes" // or nobody says that it only reads
	Destructive = "destructive"
)

// Word returns [Reads], [Writes] or [Destructive].
func (h Hints) Word() string {
	switch {
	case h.Destructive:
		return Destructive
	case h.ReadOnly:
		return Reads
	}
	return Writes
}

// Risk returns the risk of a call, and why it is not lower.
func (h Hints) Risk() (level risk.Risk, why string) {
	switch h.Word() {
	case Destructive:
		return risk.High, "the server says that the tool is destructive"
	case Reads:
		return risk.Low, "the tool only reads"
	}
	return risk.Medium, "the tool may change something"
}

// Risk returns the risk of the script, or that of the call by its hints if that is higher.
func (r *Request) Risk() risk.Risk {
	own, _ := r.Hints.Risk()
	return max(own, r.Run.Risk)
}

// Subject is the customer of a run, with what is known before the run starts.
type Subject struct {
	// Customer and Session are ids, which may be empty.
	Customer, Session string
	// Risk is the risk of the script, or the zero value for a call without a script.
	Risk risk.Risk
}

// Run is what a policy knows about a run. It is safe for concurrent use. The zero value is a run of the project itself.
type Run struct {
	Subject
	// Conversation is the history of the same client before and beside this run. Data received there counts as received here, and vice
	// versa. It may be nil.
	Conversation *Run
	// Keeper remembers beyond the run whose data it received. It may be nil, and is nil in a Conversation.
	Keeper Keeper

	mu     sync.Mutex
	from   map[string]string // servers whose data the run may have got other than by its own calls; the value describes the place
	calls  int
	taint  map[string]bool
	count  map[string]int // calls let through, by rule
	before map[string]int // and in earlier parts of the run, by counter
	unsent map[string]int // calls among these that were not sent, by the key of the lasting number
}

// Keeper remembers whose data a run has received.
type Keeper interface {
	// Receive is called before data of servers reaches the run.
	Receive(servers []string) error
	// Inherited returns the servers whose data now lies where the run can read it, each with a description of the place.
	Inherited() (map[string]string, error)
}

// Continue records what happened in earlier parts of the run, in other processes: the servers whose data it received, under both of their
// names, and how many calls counted for each of [Decision.Counted]. After an error the run must not go on.
func (r *Run) Continue(received []string, counted map[string]int) error {
	for _, server := range received {
		if err := r.Received(&Request{Server: server, Dir: server}); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.before == nil {
		r.before = map[string]int{}
	}
	for name, n := range counted { // again, if the run has to start again, or for each call of a conversation
		r.before[name] = max(r.before[name], n)
	}
	return nil
}

// made returns the calls that were let through in all parts of the run. The caller holds the lock.
func (r *Run) made() int { return r.calls + r.before[allCalls] }

// Received records that the run is about to receive data of a call's server. The server is recorded under both of its names. After an error
// the data must not reach the run.
func (r *Run) Received(req *Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taint == nil {
		r.taint = map[string]bool{}
	}
	r.taint[req.Server], r.taint[req.Dir] = true, true
	if r.Keeper != nil && !req.Listed {
		if err := r.Keeper.Receive([]string{req.Server, req.Dir}); err != nil {
			return err
		}
	}
	if r.Conversation != nil {
		return r.Conversation.Received(req)
	}
	return nil
}

// Inherit records that the run can read data of servers that it did not receive itself, each with a description of the place. The run's
// client then counts as having it too. After an error the data must not reach the run.
func (r *Run) Inherit(from map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inherit(from)
	if r.Keeper == nil || len(from) == 0 {
		return nil
	}
	return r.Keeper.Receive(slices.Sorted(maps.Keys(from)))
}

// inherit is Inherit without the Keeper. The caller holds the lock.
func (r *Run) inherit(from map[string]string) {
	if r.from == nil {
		r.from = map[string]string{}
	}
	for server, where := range from {
		if r.from[server] == "" {
			r.from[server] = where
		}
	}
	if r.Conversation != nil && len(from) > 0 {
		_ = r.Conversation.Inherit(from) // no Keeper, so it cannot fail
	}
}

// refresh inherits what others have put where the run can read it. The caller holds the lock.
func (r *Run) refresh() error {
	if r.Keeper == nil {
		return nil
	}
	from, err := r.Keeper.Inherited()
	if err == nil {
		r.inherit(from)
	}
	return err
}

// origin describes where data came from that the run did not receive itself: data of the server that a condition names, or of all servers
// if it names none. It is empty if the run received all of its data itself.
func (r *Run) origin(condition string) string {
	var meant, all []string
	for _, server := range slices.Sorted(maps.Keys(r.from)) {
		if r.taint[server] {
			continue
		}
		text := fmt.Sprintf("%s may hold data of %s", r.from[server], server)
		if all = append(all, text); strings.Contains(condition, server) {
			meant = append(meant, text)
		}
	}
	if len(meant) > 0 {
		return meant[0]
	}
	return ident.Clip(strings.Join(all, "; "), 400)
}

// Taint lists the servers whose data the run has received, sorted.
func (r *Run) Taint() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tainted()
}

// tainted is Taint. The caller holds the lock.
func (r *Run) tainted() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.taint)), maps.Keys(r.from))
	if r.Conversation != nil {
		names = append(names, r.Conversation.Taint()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Default returns the decisions that apply without configuration: a tool asks if its server marks it as destructive, and every other call
// is allowed.
func Default() Decider { return defaults{} }

// WithConsent returns d with a person's consent given beforehand: where d would ask, a call of a tool whose id matches one of the globs is
// allowed. What d denies stays denied.
func WithConsent(d Decider, globs []string) Decider {
	if len(globs) == 0 {
		return d
	}
	return consent{d, globs}
}

type consent struct {
	Decider
	globs []string
}

func (c consent) Decide(ctx context.Context, req *Request) Decision {
	d := c.Decider.Decide(ctx, req)
	if d.Effect == Ask && slices.ContainsFunc(c.globs, func(g string) bool { return config.MatchGlob(g, req.Tool) }) {
		d.Effect, d.By = Allow, "--allow"
	}
	return d
}

type defaults struct{}

// DefaultRule is the name of the rule for destructive tools that applies without configuration.
const DefaultRule = "destructive tools ask"

func (defaults) Decide(_ context.Context, req *Request) Decision {
	if req.DeclaredOnly {
		if reason := req.undeclared(); reason != "" {
			return Decision{Effect: Deny, Rule: declaredRule, Reason: reason}
		}
	}
	if req.Hints.Destructive {
		return Decision{Effect: Ask, Rule: DefaultRule, Reason: "its server marks it as destructive"}
	}
	return Decision{Effect: Allow}
}
