package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Outlook is a policy's view of a tool before the arguments are known.
type Outlook struct {
	Tool string `json:"tool"`
	// Decision is the decision about a call for which no condition holds and no limit is reached.
	Decision Decision `json:"decision"`
	// Fails reports that the condition of the rule cannot be evaluated for any call, so every call is denied. The decision's reason says
	// why.
	Fails bool `json:"fails,omitempty"`
	// Unless lists the rules that decide some calls differently, in their order, followed by what changes with the risk of the script.
	Unless []Exception `json:"unless,omitempty"`
}

// Exception is a rule that applies only to some calls of a tool.
type Exception struct {
	Effect Effect `json:"effect"`
	Rule   string `json:"rule"`
	At     string `json:"at"`
	// Risk is the lowest risk at which it decides, When is its condition, and Over its numbers of calls. At least one of them is set.
	Risk risk.Risk          `json:"risk,omitempty"`
	When string             `json:"when,omitempty"`
	Over *config.PolicyOver `json:"over,omitempty"`
	// Reason says why all calls are denied, if the condition cannot be evaluated for any.
	Reason string `json:"reason,omitempty"`

	of *rule // nil: not a single rule, but the overall outcome
}

// If describes the calls that the rule applies to, such as "from risk high on, if args.size > 5".
func (x *Exception) If() string {
	var parts []string
	if x.Risk != risk.None {
		parts = append(parts, fmt.Sprintf("from risk %s on", x.Risk))
	}
	if x.When != "" {
		parts = append(parts, "if "+strings.Join(strings.Fields(x.When), " "))
	}
	if x.Over != nil {
		parts = append(parts, x.Over.String())
	}
	return ident.Clip(strings.Join(parts, ", "), 200)
}

// String describes the outlook in one line.
func (o *Outlook) String() string {
	text := string(o.Decision.Effect)
	if o.Decision.Rule != "" {
		text += " by " + o.Decision.Source()
	}
	if o.Fails {
		text += " (" + o.Decision.Reason + ")"
	}
	for i := range o.Unless {
		x := &o.Unless[i]
		text += fmt.Sprintf("; %s: %s", x.If(), x.Effect)
		if x.Rule != "" {
			text += fmt.Sprintf(" by rule %q", x.Rule)
		}
		if x.Reason != "" {
			text += " (" + x.Reason + ")"
		}
	}
	return text
}

// Show returns the outlook for calls of a tool by a customer's script of a given risk. The empty customer is the project itself. If no risk
// is given, the outlook also says what changes at higher risks.
func (p *Policy) Show(tool *Tool, customer string, script risk.Risk) Outlook {
	part := p.part(customer)
	e := Example{Customer: customer, Risk: script}
	unknown := sync.OnceValue(func() []*cel.AttributePatternType { return unknownBefore(tool) })
	req := e.request(tool)
	out := part.outlook(req, unknown)
	if script != risk.None || tool.ID != Scripts && !slices.ContainsFunc(part.about(req), (*rule).looksAtRisk) {
		return out
	}
	last := out.Decision.Effect
	for _, e.Risk = range risk.All() {
		if e.Risk <= req.Risk() { // the tool's own
			continue
		}
		at := part.outlook(e.request(tool), unknown)
		if d := at.Decision; d.Effect != last {
			x := Exception{Effect: d.Effect, Rule: d.Rule, At: d.At, Risk: e.Risk}
			if at.Fails {
				x.Reason = d.Reason
			}
			out.Unless, last = append(out.Unless, x), d.Effect
		}
		for _, x := range at.Unless {
			if x.Risk = e.Risk; !slices.ContainsFunc(out.Unless, func(known Exception) bool { return known.of == x.of }) {
				out.Unless = append(out.Unless, x)
			}
		}
	}
	return out
}

// Never returns the ids of the tools of which a customer's calls without a script are always denied, whatever the arguments.
func (p *Policy) Never(tools []Tool, customer string) map[string]bool {
	never := map[string]bool{}
	for i := range tools {
		if o := p.Show(&tools[i], customer, risk.None); o.Decision.Effect == Deny && !slices.ContainsFunc(o.Unless, func(x Exception) bool { return x.Risk == risk.None }) {
			never[tools[i].ID] = true
		}
	}
	return never
}

// looksAtRisk reports whether the risk of a call may affect the rule.
func (r *rule) looksAtRisk() bool {
	return r.risk != risk.None || r.when != nil && r.when.risk
}

// outlook returns the outlook for calls of one risk.
func (p *part) outlook(req *Request, unknown func() []*cel.AttributePatternType) Outlook {
	var fits, depend []*rule
	for _, r := range p.about(req) {
		if !r.selects(req) {
			continue
		}
		holds, known, err := r.when.beforehand(req, unknown)
		switch {
		case err != nil:
			return Outlook{Tool: req.Tool, Decision: Decision{Effect: Deny, Rule: r.name, At: r.at, Reason: inOutlook(req, err)}, Fails: true}
		case !known || holds && r.over != (over{}):
			depend = append(depend, r)
		case holds:
			fits = append(fits, r)
		}
	}
	out := Outlook{Tool: req.Tool, Decision: p.decide(req, fits)}
	for _, r := range depend {
		// Where another rule decides for certain, this one can only make the decision stricter.
		if p.decide(req, append(slices.Clone(fits), r)).Effect == out.Decision.Effect {
			continue
		}
		x := Exception{Effect: r.effect, Rule: r.name, At: r.at, of: r}
		if r.when != nil {
			x.When = r.when.text
		}
		if numbers := config.PolicyOver(r.over); r.over != (over{}) {
			x.Over = &numbers
		}
		out.Unless = append(out.Unless, x)
	}
	return out
}

// inOutlook describes the error of a condition that fails whatever the arguments are.
func inOutlook(req *Request, err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "no such key: "); ok && newDeclaration(req.Input).lacks(name) {
		return fmt.Sprintf("its condition names args.%s, which the tool does not have", ident.Clip(name, 100))
	}
	return failure(err)
}

// unknownBefore returns what is unknown about a tool's calls before a run: the arguments, and what the run has done.
func unknownBefore(tool *Tool) []*cel.AttributePatternType {
	out := []*cel.AttributePatternType{cel.AttributePattern("calls"), cel.AttributePattern("taint"), cel.AttributePattern("session")}
	if tool.ID == Scripts {
		return out // a script that starts has no arguments
	}
	d := newDeclaration(tool.Input)
	if s := d.arguments(); !s.named || s.open || len(s.patterns) > 0 {
		return append(out, cel.AttributePattern("args"))
	}
	for _, name := range d.names() {
		out = append(out, cel.AttributePattern("args").QualString(name))
	}
	return out
}

// beforehand evaluates as much of a condition as is possible before a run. known reports whether the result is final. A nil condition
// holds.
func (c *condition) beforehand(req *Request, unknown func() []*cel.AttributePatternType) (holds, known bool, err error) {
	if c == nil {
		return true, true, nil
	}
	facts, err := req.facts(0, nil)
	if err != nil {
		return false, false, err
	}
	program, err := c.partial()
	if err != nil {
		return false, false, err
	}
	vars, err := cel.PartialVars(facts, unknown()...)
	if err != nil {
		return false, false, err
	}
	out, _, err := program.Eval(vars)
	if err != nil {
		return false, false, err
	}
	if types.IsUnknown(out) {
		return false, false, nil
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, false, fmt.Errorf("the condition returned %s, not bool", out.Type())
	}
	return holds, true, nil
}

// WithLevel returns the policy with another level, for the project and all customers. The new policy has its own counters.
func (p *Policy) WithLevel(level string) (*Policy, error) {
	if all := p.cfg.LevelNames(); !slices.Contains(all, level) {
		return nil, fmt.Errorf("no level %q: use one of %s", level, strings.Join(all, ", "))
	}
	cfg := *p.cfg
	cfg.Level, cfg.Customers = level, maps.Clone(cfg.Customers)
	for id, own := range cfg.Customers {
		own.Level = ""
		cfg.Customers[id] = own
	}
	out, err := New(&cfg, nil)
	if err != nil {
		return nil, err
	}
	for _, part := range out.parts() {
		part.at = ""
	}
	return out, nil
}
