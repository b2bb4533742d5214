package policy

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/risk"
)

// Tool is a tool of the tree, or a method of a server's resources or prompts, as a policy sees it.
type Tool struct {
	Server, Dir, Name, ID string
	Hints                 Hints
	// Input and DeclaredOnly are those of [Request].
	Input        json.RawMessage
	DeclaredOnly bool
}

// Example is a call, with the state of its run that affects the decision.
type Example struct {
	Args     json.RawMessage `json:"args"`
	Customer string          `json:"customer,omitempty"`
	Session  string          `json:"session,omitempty"`
	Risk     risk.Risk       `json:"risk,omitempty"`
	// Taint lists the servers whose data the run has received. Calls is the number of calls it has made.
	Taint []string `json:"taint,omitempty"`
	Calls int      `json:"calls,omitempty"`
	// Made is the number of earlier calls that rules with limits have counted. They count for the period in Of (run, minute, session,
	// customer or day), or for all periods if Of is empty.
	Made int    `json:"made,omitempty"`
	Of   string `json:"of,omitempty"`
}

// Change is a difference between two policies: calls of one tool that they decide differently.
type Change struct {
	Tool     string   `json:"tool"`
	Old, New Decision `json:"-"`
	// From and To are the effects. Rule is the new rule, or the old one if no rule of the new policy decides.
	From Effect `json:"from"`
	To   Effect `json:"to"`
	Rule string `json:"rule,omitempty"`
	At   string `json:"at,omitempty"`
	// Example is the plainest of the calls that were tried. Count of the Tried calls changed.
	Example Example `json:"example"`
	Count   int     `json:"count"`
	Tried   int     `json:"tried"`
}

// Widens reports whether the new policy is less strict about the calls.
func (c *Change) Widens() bool { return strictness(c.To) < strictness(c.From) }

func strictness(e Effect) int { return slices.Index([]Effect{Allow, Ask, Deny}, e) }

// maxTried bounds the calls that are tried for each tool.
const maxTried = 1000

// Diff compares two policies over the same tools, with the hints that each policy gives them. It tries calls with arguments built from the
// tools' schemas and from the constants of the rules, at most 1,000 for each tool. Every reported change is real. Changes that depend on
// names, hints, risk, numbers and comparisons with constants are found; a condition that compares arguments with each other may differ in
// calls that were not tried.
func Diff(before, after *Policy, were, are []Tool) []Change {
	var out []Change
	for i := range are {
		out = append(out, diffTool(before, after, &were[i], &are[i], are)...)
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(strictness(a.To)-strictness(a.From), strictness(b.To)-strictness(b.From)), strings.Compare(a.Tool, b.Tool))
	})
	return out
}

func diffTool(before, after *Policy, was, tool *Tool, all []Tool) []Change {
	found := map[[2]Effect]*Change{}
	var order [][2]Effect
	tried := 0
	for _, e := range examples(before, after, was, tool, all) {
		tried++
		a, b := before.try(was, e), after.try(tool, e)
		if a.Effect == b.Effect {
			continue
		}
		key := [2]Effect{a.Effect, b.Effect}
		if found[key] == nil {
			order = append(order, key)
			c := &Change{Tool: tool.ID, Old: a, New: b, From: a.Effect, To: b.Effect, Example: *e}
			if c.Rule, c.At = b.Rule, b.At; c.Rule == "" {
				c.Rule, c.At = a.Rule, a.At
			}
			found[key] = c
		}
		found[key].Count++
	}
	out := make([]Change, 0, len(order))
	for _, key := range order {
		found[key].Tried = tried
		out = append(out, *found[key])
	}
	return out
}

// request returns the example as a call of a tool.
func (e *Example) request(tool *Tool) *Request {
	run := &Run{Subject: Subject{Customer: e.Customer, Session: e.Session, Risk: e.Risk}, calls: e.Calls, taint: map[string]bool{}}
	for _, name := range e.Taint {
		run.taint[name] = true
	}
	return &Request{Server: tool.Server, Dir: tool.Dir, Name: tool.Name, Tool: tool.ID, Args: e.Args, Hints: tool.Hints, Input: tool.Input, DeclaredOnly: tool.DeclaredOnly, Run: run, shown: e.Risk}
}

// try decides an example without counting it.
func (p *Policy) try(tool *Tool, e *Example) Decision {
	req := e.request(tool)
	part := p.part(e.Customer)
	fits, failed := part.fitting(req)
	if failed != nil {
		return *failed
	}
	var applying []*rule
	for _, r := range fits {
		if own, ok := r.reach(e.made()); ok {
			applying = append(applying, own)
		}
	}
	return part.decide(req, applying)
}

// made returns the numbers of earlier calls.
func (e *Example) made() (made over) {
	for of, n := range map[string]*int{perRun: &made.Run, perMinute: &made.Minute, perSession: &made.Session, perCustomer: &made.Customer, perDay: &made.Day} {
		if e.Of == "" || e.Of == of {
			*n = e.Made
		}
	}
	return made
}

// dimension is one way in which calls differ, with a function for each value. The first value is the plainest.
type dimension []func(*draft)

// draft is an example under construction.
type draft struct {
	Example
	args any
}

// examples returns calls of a tool that two policies may decide differently, the plainest first.
func examples(before, after *Policy, was, tool *Tool, all []Tool) []*Example {
	p := newProbes()
	made, kinds := map[int]bool{0: true}, map[string]bool{}
	customers, risks, declared := map[string]bool{"": true}, false, was.DeclaredOnly || tool.DeclaredOnly
	plain := (&Example{}).request(tool)
	for _, policy := range []*Policy{before, after} {
		parts := []*part{policy.all}
		for id, part := range policy.customers {
			customers[id] = true
			parts = append(parts, part)
		}
		for _, part := range parts {
			for _, r := range part.about(plain) {
				p.add(r.when)
				risks = risks || r.risk > risk.None
				declared = declared || r.declared
				for _, n := range r.over.numbers() {
					made[n.most] = true
					if n.most > 0 {
						kinds[n.of] = true
					}
				}
			}
		}
	}
	if p.uses["customer"] {
		maps.Copy(customers, p.texts)
	}
	s := newSampler(tool.Input)
	if p.uses["paths"] || p.uses["emails"] { // they read all arguments
		for _, name := range newDeclaration(tool.Input).names() {
			p.paths[name] = true
		}
	}
	var dims []dimension
	for _, path := range slices.Sorted(maps.Keys(p.paths)) {
		steps := strings.Split(path, separator)
		var d dimension
		for _, v := range s.values(steps, p) {
			d = append(d, func(x *draft) { x.args = set(x.args, steps, v) })
		}
		d = append([]func(*draft){func(*draft) {}}, d...)
		dims = append(dims, d)
	}
	if declared {
		dims = append(dims, dimension{func(*draft) {}, func(x *draft) { x.args = set(x.args, []string{"undeclared"}, "x") }})
	}
	dims = append(dims,
		vary(slices.Sorted(maps.Keys(customers)), func(x *draft, v string) { x.Customer = v }),
		vary(slices.Sorted(maps.Keys(made)), func(x *draft, v int) { x.Made = v }))
	if len(kinds) > 1 { // a number may have replaced a value of another type
		dims = append(dims, vary(append([]string{""}, slices.Sorted(maps.Keys(kinds))...), func(x *draft, v string) {
			if x.Made > 0 {
				x.Of = v
			}
		}))
	}
	if risks || p.uses["risk"] {
		dims = append(dims, vary(append([]risk.Risk{risk.None}, risk.All()...), func(x *draft, v risk.Risk) { x.Risk = v }))
	}
	if p.uses["session"] {
		dims = append(dims, vary(append([]string{""}, p.sortedTexts()...), func(x *draft, v string) { x.Session = v }))
	}
	if p.uses["calls"] {
		dims = append(dims, vary(p.sortedNumbers(), func(x *draft, v float64) { x.Calls = max(0, int(v)) }))
	}
	if p.uses["taint"] {
		dims = append(dims, vary(taints(p, all), func(x *draft, v []string) { x.Taint = v }))
	}
	return drafts(s, dims)
}

func vary[T any](values []T, set func(*draft, T)) dimension {
	var d dimension
	for _, v := range values {
		d = append(d, func(x *draft) { set(x, v) })
	}
	return d
}

// taints returns the sets of servers to try: none, each that a condition may mean, and all of them.
func taints(p *probes, all []Tool) [][]string {
	out, known := [][]string{nil}, map[string]bool{}
	for _, t := range all {
		for _, name := range []string{t.Server, t.Dir} {
			if p.texts[name] && !known[name] {
				known[name] = true
				out = append(out, received(all, []string{name}))
			}
		}
	}
	return append(out, received(all, slices.Collect(maps.Keys(known))))
}

// drafts builds an example of each combination whose arguments fit the schema, at most maxTried.
func drafts(s *sampler, dims []dimension) []*Example {
	var out, unfit []*Example
	known := map[string]bool{}
	add := func(pick []int) {
		if len(out) >= maxTried {
			return
		}
		d := &draft{args: s.value(s.root, 0)}
		if _, ok := d.args.(map[string]any); !ok {
			d.args = map[string]any{}
		}
		for i, each := range dims {
			each[pick[i]](d)
		}
		args, err := json.Marshal(d.args)
		if err != nil {
			return
		}
		d.Args = args
		key, _ := json.Marshal(d.Example)
		switch {
		case known[string(key)]:
		case s.fits(args):
			out = append(out, &d.Example)
		case len(unfit) < maxTried:
			unfit = append(unfit, &d.Example)
		}
		known[string(key)] = true
	}
	combine(dims, add)
	if out == nil { // better than nothing: the schema asks for values that are hard to construct
		return unfit
	}
	return out
}

// combine calls add for every combination of values. If there are too many, it tries those that differ from the plainest in one dimension,
// and then a random selection, the same on every call.
func combine(dims []dimension, add func(pick []int)) {
	product := 1
	for _, d := range dims {
		product = min(product*len(d), maxTried+1)
	}
	pick := make([]int, len(dims))
	if product <= maxTried {
		for {
			add(pick)
			i := len(dims) - 1
			for ; i >= 0; i-- {
				if pick[i]++; pick[i] < len(dims[i]) {
					break
				}
				pick[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
	add(pick)
	for i := range dims {
		for v := range dims[i] {
			one := make([]int, len(dims))
			one[i] = v
			add(one)
		}
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 2 * maxTried {
		for i := range dims {
			pick[i] = chance.IntN(len(dims[i]))
		}
		add(pick)
	}
}
