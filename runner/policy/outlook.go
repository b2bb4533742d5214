package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Outlook is what a policy says of a tool before its arguments are known.
type Outlook struct {
	Tool string `json:"tool"`
	// Decision is the one on a call for which no condition holds and no number is reached.
	Decision Decision `json:"decision"`
	// Unless are the rules that decide otherwise about some calls, in their order.
	Unless []Exception `json:"unless,omitempty"`
}

// Exception is a rule that fits some calls of a tool only.
type Exception struct {
	Effect Effect `json:"effect"`
	Rule   string `json:"rule"`
	At     string `json:"at"`
	// When is its condition, and Over its numbers of calls. One of the two is there, or both.
	When string             `json:"when,omitempty"`
	Over *config.PolicyOver `json:"over,omitempty"`
}

// If describes the calls that the rule fits.
func (x *Exception) If() string {
	var parts []string
	if x.When != "" {
		parts = append(parts, strings.Join(strings.Fields(x.When), " "))
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
	for i := range o.Unless {
		x := &o.Unless[i]
		text += fmt.Sprintf("; if %s: %s by rule %q", x.If(), x.Effect, x.Rule)
	}
	return text
}

// Show returns the outlook for the calls of a tool by a script of a risk for a customer. The empty customer is the project itself.
func (p *Policy) Show(tool *Tool, customer string, script risk.Risk) Outlook {
	part := p.part(customer)
	e := Example{Customer: customer, Risk: script}
	req := e.request(tool)
	var fits, depend []*rule
	for _, r := range part.about(req) {
		switch {
		case !r.selects(req):
		case r.over != (over{}) || r.when.depends():
			depend = append(depend, r)
		case r.when == nil:
			fits = append(fits, r)
		default:
			facts, err := req.facts(0, nil)
			if err != nil {
				depend = append(depend, r)
			} else if holds, err := r.when.holds(facts); err != nil {
				return Outlook{Tool: tool.ID, Decision: Decision{Effect: Deny, Rule: r.name, At: r.at, Reason: failure(err)}}
			} else if holds {
				fits = append(fits, r)
			}
		}
	}
	out := Outlook{Tool: tool.ID, Decision: part.decide(req, fits)}
	for _, r := range depend {
		// What another rule decides for certain, this one may only make stricter.
		if part.decide(req, append(slices.Clone(fits), r)).Effect == out.Decision.Effect {
			continue
		}
		x := Exception{Effect: r.effect, Rule: r.name, At: r.at}
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

// depends reports whether a condition looks at what is not known before a run.
func (c *condition) depends() bool {
	p := newProbes()
	p.add(c)
	return len(p.paths) > 0 || p.uses["args"] || p.uses["calls"] || p.uses["taint"] || p.uses["session"]
}

// WithLevel returns the policy with another level, for the project and all customers. It counts on its own.
func (p *Policy) WithLevel(level Level) (*Policy, error) {
	if !slices.Contains([]Level{ReadOnly, WriteRestricted, ExecuteFull}, level) {
		return nil, fmt.Errorf("no level %q: use %s, %s or %s", level, ReadOnly, WriteRestricted, ExecuteFull)
	}
	cfg := *p.cfg
	cfg.Level, cfg.Customers = string(level), maps.Clone(cfg.Customers)
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
