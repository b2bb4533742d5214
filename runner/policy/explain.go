package policy

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Verdict is what a rule says about a call.
type Verdict struct {
	Rule   string `json:"rule"`
	At     string `json:"at"`
	Effect Effect `json:"effect"`
	Fits   bool   `json:"fits"`
	// Why says why the rule does not apply, or is empty if it does.
	Why string `json:"why,omitempty"`
}

// Explain decides a call without counting it, and lists what each rule says.
func (p *Policy) Explain(tool *Tool, e *Example) (Decision, []Verdict) {
	req := e.request(tool)
	part := p.part(e.Customer)
	var list []Verdict
	about := part.about(req)
	for _, r := range part.rules {
		v := Verdict{Rule: r.name, At: r.at, Effect: r.effect, Why: r.why(req, about, e.made())}
		v.Fits = v.Why == ""
		list = append(list, v)
	}
	return p.try(tool, e), list
}

// why says why a rule does not apply, or returns "" if it does.
func (r *rule) why(req *Request, about []*rule, made over) string {
	named := false
	for _, each := range about {
		named = named || each == r
	}
	switch {
	case !named:
		return "it applies to other tools: " + strings.Join(r.globs, ", ")
	case req.Risk() < r.risk:
		return fmt.Sprintf("the risk (%s) is below %s", req.Risk(), r.risk)
	case !r.selects(req):
		return "the tool's hints do not match " + r.hint
	}
	if r.declared {
		if reason := req.undeclared(); reason != "" {
			return reason
		}
	}
	if r.when != nil {
		facts, err := req.facts(req.Run.made(), req.Run.tainted())
		holds := false
		if err == nil {
			holds, err = r.when.holds(facts)
		}
		switch {
		case err != nil:
			return failure(r.explain(req, err))
		case !holds:
			return "the condition is false: " + ident.Clip(r.when.text, 200)
		}
	}
	if _, ok := r.reach(made); !ok {
		numbers := config.PolicyOver(r.over)
		return "it applies only " + numbers.String()
	}
	return ""
}
