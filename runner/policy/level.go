package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// Level is a built-in bundle of permissions for runs.
type Level string

// The levels, strictest first. The empty level is that of a project that names none.
const (
	ReadOnly        Level = "read_only"
	WriteRestricted Level = "write_restricted"
	ExecuteFull     Level = "execute_full"
)

// ceilings returns the ceilings of a level. Each one that a policy sets itself replaces the level's.
func (l Level) ceilings() config.PolicyCeilings {
	switch l {
	case ReadOnly:
		return config.PolicyCeilings{Timeout: time.Minute, Risk: risk.Medium.String()}
	case WriteRestricted:
		return config.PolicyCeilings{Timeout: 5 * time.Minute, Risk: risk.High.String()}
	}
	return config.PolicyCeilings{}
}

// merge returns the ceilings in first, completed by those in then.
func merge(first, then config.PolicyCeilings) config.PolicyCeilings {
	return config.PolicyCeilings{
		Timeout: cmp.Or(first.Timeout, then.Timeout), CPU: cmp.Or(first.CPU, then.CPU), Memory: cmp.Or(first.Memory, then.Memory),
		Disk: cmp.Or(first.Disk, then.Disk), Processes: cmp.Or(first.Processes, then.Processes), Risk: cmp.Or(first.Risk, then.Risk),
	}
}

// Ceilings returns the highest limits of a run for a customer. The empty customer is the project itself.
func (p *Policy) Ceilings(customer string) config.PolicyCeilings { return p.part(customer).ceilings }

// Program describes what reading a script has found that it does.
type Program struct {
	Risk risk.Assessment
	// Operations are what it does with files, hosts and the system.
	Operations []judge.Operation
	// Network says that the script runs with a network, whose proxy decides about each connection. Otherwise it must not use one.
	Network bool
	// Unread says why the script may do more than that. It is empty if the whole script was understood.
	Unread string
}

// DecideRun decides whether a script may start. It knows only what reading the script has found; the sandbox enforces what no script can
// do. A nil Policy applies the defaults.
//
// The level and the ceilings may deny it. Of the rules about [Scripts], deny wins over ask, and ask over allow. If no rule applies, the
// level execute_full asks. A script that shows a critical risk asks even if a rule allows it.
func (p *Policy) DecideRun(subject Subject, program *Program) Decision {
	if p == nil {
		p = &Policy{all: &part{}}
	}
	part := p.part(subject.Customer)
	if reason := part.access.refuse(program); reason != "" {
		return Decision{Effect: Deny, Rule: part.rule(), At: part.at, Reason: reason}
	}
	if d := part.byCeiling(program.Risk.Overall()); d.Effect == Deny {
		return d
	}
	tool := ScriptsTool()
	req := (&Example{Args: json.RawMessage("{}"), Customer: subject.Customer, Session: subject.Session, Risk: program.Risk.Overall()}).request(&tool)
	req.shown = program.Risk.Shown
	fits, failed := part.fitting(req)
	if failed != nil {
		return *failed
	}
	return part.decide(req, fits)
}

// byCeiling returns the ceilings' decision about a script of a risk.
func (p *part) byCeiling(script risk.Risk) Decision {
	most, err := risk.Parse(p.ceilings.Risk)
	if err != nil || most == risk.None || script <= most {
		return Decision{Effect: Allow}
	}
	return Decision{Effect: Deny, Rule: p.rule(), At: p.at, Reason: fmt.Sprintf("the script's risk is %s; the policy allows at most %s", script, most)}
}

// Scripts stands for scripts that are about to start. It takes the place of a tool in rules, and is the id of [ScriptsTool]. No tool has
// this id, and a glob with wildcards does not match it.
const Scripts = config.ScriptsGlob

// ScriptsTool returns the entry that represents scripts among the tools that a policy decides about.
func ScriptsTool() Tool {
	return Tool{Name: Scripts, ID: Scripts, Hints: Hints{ReadOnly: true}, Input: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
}

// CriticalRule is the name of the built-in rule for scripts of critical risk, which always applies.
const CriticalRule = "critical scripts ask"

// decideScript decides about a script by the rules that apply.
func (p *part) decideScript(req *Request, by map[Effect]*rule) Decision {
	d := p.byCeiling(req.Risk())
	switch r := cmp.Or(by[Deny], by[Ask], by[Allow]); {
	case d.Effect == Deny:
	case r != nil:
		d = Decision{Effect: r.effect, Rule: r.name, At: r.at}
	case p.level == ExecuteFull:
		d = Decision{Effect: Ask, Rule: p.rule(), At: p.at, Reason: "the level asks before a script starts, unless a rule with allow: scripts lets it"}
	}
	if d.Effect == Allow && req.shown >= risk.Critical {
		d = Decision{Effect: Ask, Rule: CriticalRule, Reason: "a script that shows a critical risk asks before it starts"}
	}
	return d
}

// RunError refuses a script that the policy does not let start.
type RunError struct {
	Script   string
	Decision Decision
}

func (e *RunError) Error() string {
	if e.Decision.Reason == "" {
		return fmt.Sprintf("policy refused to run %s: %s", e.Script, e.Decision.Source())
	}
	return fmt.Sprintf("policy refused to run %s: %s (%s)", e.Script, e.Decision.Reason, e.Decision.Source())
}

// ExitCode returns the exit code of a script that was refused before it ran.
func (e *RunError) ExitCode() int { return exit.Refused }

// NeedsProgram reports whether a decision may depend on the script as a whole: through a level, or a rule's risk or condition.
func (p *Policy) NeedsProgram() bool {
	needs := func(part *part) bool {
		return part.level != "" || slices.ContainsFunc(part.rules, func(r *rule) bool { return r.risk != risk.None || r.when != nil })
	}
	return needs(p.all) || slices.ContainsFunc(slices.Collect(maps.Values(p.customers)), needs)
}

// rule names the level, or the ceilings if the policy has no level.
func (p *part) rule() string {
	if p.level == "" {
		return "ceilings"
	}
	return "level " + p.name
}
