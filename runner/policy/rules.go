package policy

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Policy decides by rules. It is safe for concurrent use.
type Policy struct {
	all       *part
	customers map[string]*part
	rates     *Rates
	cfg       *config.Policy
}

// part is what applies to the runs of one customer, or to all others.
type part struct {
	level    Level  // the built-in level, or the one that the operator's level extends
	name     string // the name of the level
	access   access
	at       string // the file of the policy; empty if there is none
	ceilings config.PolicyCeilings
	topAt    string // the position of the ceilings
	fallback Effect // the effect for calls that no rule fits; if empty, the level decides
	lastAt   string // the position of the fallback
	rules    []*rule
	tainted  bool     // a condition uses taint
	chosen   sync.Map // tool names → the rules whose globs fit
}

// rule is a compiled rule.
type rule struct {
	id       string // unique among all policies
	tally    string // see tallyOf
	name, at string
	effect   Effect
	globs    []string // in lower case, unless effect is Allow
	hint     string
	risk     risk.Risk
	declared bool // calls with undeclared arguments are denied
	when     *condition
	over     over
	reached  threshold // in a copy that applies: the number in over that is reached
	origin   string    // in a copy that applies: where the tainted data comes from, if not from the run's own calls
}

// New compiles a policy. rates counts calls; if it is nil, the policy counts in memory for itself. Errors are *config.FileError.
func New(cfg *config.Policy, rates *Rates) (*Policy, error) {
	if rates == nil {
		rates = NewRates()
	}
	p := &Policy{customers: map[string]*part{}, rates: rates, cfg: cfg}
	var err error
	if p.all, err = newPart(cfg, "policy", &cfg.PolicyPart, nil); err != nil {
		return nil, err
	}
	for id := range cfg.Customers {
		own := cfg.Customers[id]
		if own.Level == "" {
			own.Level, own.LevelAt = cfg.Level, cfg.LevelAt
		}
		if own.Default == "" {
			own.Default, own.DefaultAt = cfg.Default, cfg.DefaultAt
		}
		own.Ceilings, own.CeilingsAt = merge(own.Ceilings, cfg.Ceilings), cmp.Or(own.CeilingsAt, cfg.CeilingsAt)
		if p.customers[id], err = newPart(cfg, "policy.customers."+id, &own, p.all.rules); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// newPart compiles rules. first are the rules that come before them.
func newPart(policy *config.Policy, key string, cfg *config.PolicyPart, first []*rule) (*part, error) {
	file := policy.File
	p := &part{level: Level(cfg.Level), name: cfg.Level, fallback: Effect(cfg.Default), rules: first[:len(first):len(first)]}
	if own, ok := policy.Levels[cfg.Level]; ok {
		p.level, p.access.own = Level(own.Extends), &own
	}
	p.access.level = p.level
	p.ceilings = merge(cfg.Ceilings, p.level.ceilings())
	p.at = position(file, cfg.LevelAt.Line)
	p.topAt = position(file, cmp.Or(cfg.CeilingsAt, cfg.LevelAt).Line)
	if p.fallback != "" {
		p.lastAt = position(file, cfg.DefaultAt.Line)
	}
	for i := range cfg.Rules {
		r := &cfg.Rules[i]
		place := fmt.Sprintf("%s.rules[%d]", key, i)
		when, err := compile(file, place, r)
		if err != nil {
			return nil, err
		}
		effect, globs := r.Effect()
		out := &rule{id: file + "\x00" + place, name: cmp.Or(r.Name, config.NameOf(effect, globs)), at: position(file, r.At.Line), effect: Effect(effect), globs: globs, hint: r.Hint, declared: r.Arguments == config.ArgumentsDeclared, when: when}
		if out.effect != Allow {
			out.globs = strings.Split(strings.ToLower(strings.Join(globs, "\n")), "\n")
		}
		if out.tally, err = tallyOf(key, r); err != nil {
			return nil, err
		}
		if out.risk, err = risk.Parse(r.Risk); err != nil {
			return nil, err // the schema has rejected it
		}
		if r.Over != nil {
			out.over = over(*r.Over)
		}
		p.rules = append(p.rules, out)
	}
	p.tainted = slices.ContainsFunc(p.rules, func(r *rule) bool { return r.when != nil && r.when.tainted })
	return p, nil
}

// position returns file:line, or the file alone if the line is 0. A policy that is not from a file has no positions.
func position(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return filepath.Base(file)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// part returns the part that applies to a customer.
func (p *Policy) part(customer string) *part {
	if own, ok := p.customers[customer]; ok {
		return own
	}
	return p.all
}

// Decide implements Decider.
func (p *Policy) Decide(ctx context.Context, req *Request) Decision {
	part := p.part(req.Run.Customer)
	req.Run.mu.Lock() // until the call is counted, so that no other call slips through in between
	defer req.Run.mu.Unlock()
	if part.tainted {
		if err := req.Run.refresh(); err != nil {
			return Decision{Effect: Deny, Rule: taintRule, Reason: err.Error()}
		}
	}
	fits, failed := part.fitting(req)
	if failed != nil {
		return *failed
	}
	d := p.rates.apply(ctx, req, fits, func(fits []*rule) Decision { return part.decide(req, fits) })
	if d.Effect != Deny {
		req.Run.calls++
		d.Counted = append(d.Counted, allCalls)
	}
	return d
}

// fitting returns the rules that fit a call, regardless of the number of calls made. A condition that fails decides at once.
func (p *part) fitting(req *Request) (fits []*rule, failed *Decision) {
	if req.DeclaredOnly {
		if reason := req.undeclared(); reason != "" {
			return nil, &Decision{Effect: Deny, Rule: declaredRule, Reason: reason}
		}
	}
	var facts map[string]any
	for _, r := range p.about(req) {
		if !r.selects(req) {
			continue
		}
		if r.declared {
			if reason := req.undeclared(); reason != "" {
				return nil, &Decision{Effect: Deny, Rule: r.name, At: r.at, Reason: reason}
			}
		}
		if r.when != nil {
			var err error
			if facts == nil {
				facts, err = req.facts(req.Run.made(), req.Run.tainted())
			}
			var holds bool
			if err == nil {
				holds, err = r.when.holds(facts)
			}
			if err != nil {
				return nil, &Decision{Effect: Deny, Rule: r.name, At: r.at, Reason: failure(r.explain(req, err))}
			}
			if !holds {
				continue
			}
			if text := req.Run.origin(r.when.text); text != "" && r.when.tainted {
				own := *r
				own.origin, r = text, &own
			}
		}
		fits = append(fits, r)
	}
	return fits, nil
}

// taintRule is the name of the rule that denies calls while it is unknown whose data a run has.
const taintRule = "taint"

// UsesTaint reports whether a condition for a customer's runs depends on the servers whose data a run has; see [Run.Inherit].
func (p *Policy) UsesTaint(customer string) bool { return p.part(customer).tainted }

// failure describes the error of a condition.
func failure(err error) string { return "the condition failed: " + ident.Clip(err.Error(), 400) }

// decide decides by the rules that fit: deny wins over ask, and ask over allow. Of rules with the same effect the first wins.
func (p *part) decide(req *Request, fits []*rule) Decision {
	by := map[Effect]*rule{}
	for _, r := range fits {
		if by[r.effect] == nil {
			by[r.effect] = r
		}
	}
	if req.Tool == Scripts {
		return p.decideScript(req, by)
	}
	level := p.byLevel(req)
	switch r := cmp.Or(by[Deny], by[Ask], by[Allow]); {
	case by[Deny] == nil && level.Effect == Deny:
		return level
	case r != nil:
		return Decision{Effect: r.effect, Rule: r.name, At: r.at, Reason: r.reason()}
	}
	if last := p.byDefault(req); strictness(last.Effect) > strictness(level.Effect) {
		return last
	}
	return level
}

// byLevel returns the level's decision about a call.
func (p *part) byLevel(req *Request) Decision {
	d := Decision{Effect: Allow}
	if req.Hints.ReadOnly {
		return d
	}
	switch p.level {
	case ReadOnly:
		d.Effect = Deny
	case WriteRestricted:
		d.Effect = Ask
	default:
		return d
	}
	d.Rule, d.At = p.rule(), p.at
	d.Reason = "it may change data: mark the tool in read_only: in mcpgen.yaml, or trust its server, if it only reads"
	return d
}

// byDefault returns the default decision about a call that no rule fits.
func (p *part) byDefault(req *Request) Decision {
	switch {
	case p.fallback == Ask || p.fallback == Deny:
		return Decision{Effect: p.fallback, Rule: p.defaultRule(), At: p.lastAt, Reason: "no rule is about this call"}
	case p.fallback == "" && p.level == "":
		return defaults{}.Decide(context.Background(), req)
	}
	return Decision{Effect: Allow}
}

// defaultRule names the default in decisions.
func (p *part) defaultRule() string { return "default: " + string(p.fallback) }

// reason says which conditions besides the tool made the rule apply.
func (r *rule) reason() string {
	calls, were, text := fmt.Sprintf("%d such calls", r.reached.most), "were", ""
	if r.reached.most == 1 {
		calls, were = "1 such call", "was"
	}
	switch r.reached.of {
	case perRun:
		text = "the run has already made " + calls
	case perMinute:
		text = fmt.Sprintf("%s %s made within a minute", calls, were)
	case perSession:
		text = "the session has already made " + calls
	case perCustomer:
		text = fmt.Sprintf("%s %s already made for the customer, or for the project if there is no customer", calls, were)
	case perDay:
		text = fmt.Sprintf("%s %s already made today; the count starts again at 00:00 UTC", calls, were)
	}
	if r.effect == Allow {
		return ""
	}
	if text == "" {
		return r.origin
	}
	if text != "" && r.hint == "writes" {
		text += "; a tool counts as writing unless read_only: in mcpgen.yaml, or a trusted server, marks it as read-only"
	}
	return text
}

// about returns the rules whose globs fit the tool of a call.
func (p *part) about(req *Request) []*rule {
	key := [...]string{req.Tool, req.Dir, req.Server, req.Name}
	if known, ok := p.chosen.Load(key); ok {
		return known.([]*rule)
	}
	list := slices.DeleteFunc(slices.Clone(p.rules), func(r *rule) bool {
		return !slices.ContainsFunc(r.globs, func(glob string) bool { return r.names(glob, req) })
	})
	p.chosen.Store(key, list) // bounded by the number of tools: calls of others are refused before a policy is asked
	return list
}

// names reports whether a glob of the rule matches the tool of a call.
func (r *rule) names(glob string, req *Request) bool {
	if req.Tool == Scripts {
		return glob == Scripts
	}
	exact, loose := req.names()
	names := loose
	if r.effect == Allow {
		names = exact
	}
	return fitsAny(glob, names)
}

func fitsAny(glob string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return config.MatchGlob(glob, name) })
}

// selects reports whether the hints and the risk of a call match the rule's.
func (r *rule) selects(req *Request) bool {
	switch {
	case req.Risk() < r.risk:
		return false
	case r.hint == "reads":
		return req.Hints.ReadOnly
	case r.hint == "writes":
		return !req.Hints.ReadOnly
	case r.hint == "destructive":
		return req.Hints.Destructive
	case r.hint == "open_world":
		return req.Hints.OpenWorld
	}
	return true
}

// names returns the names of a tool that globs are compared with: its id, and its server's name with its own. A rule that asks or denies
// also matches names that differ in case or in characters that ids do not have, so that neither an alias nor a similarly named tool escapes
// it.
func (r *Request) names() (exact, loose []string) {
	exact = []string{r.Tool, r.Dir + "__" + r.Name, r.Server + "__" + r.Name}
	for _, name := range append(exact, ident.Snake(r.Server)+"__"+ident.Snake(r.Name)) {
		loose = append(loose, strings.ToLower(name))
	}
	return exact, loose
}
