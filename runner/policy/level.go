package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/exit"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Level is a bundle of what runs may do.
type Level string

// The levels, from the strictest. The empty level is that of a project that names none.
const (
	ReadOnly        Level = "read_only"
	WriteRestricted Level = "write_restricted"
	ExecuteFull     Level = "execute_full"
)

// ceilings returns those of a level. What a policy says itself replaces them one by one.
func (l Level) ceilings() config.PolicyCeilings {
	switch l {
	case ReadOnly:
		return config.PolicyCeilings{Timeout: time.Minute, Risk: risk.Medium.String()}
	case WriteRestricted:
		return config.PolicyCeilings{Timeout: 5 * time.Minute, Risk: risk.High.String()}
	}
	return config.PolicyCeilings{}
}

// merge returns the ceilings of the first that has each.
func merge(first, then config.PolicyCeilings) config.PolicyCeilings {
	return config.PolicyCeilings{
		Timeout: cmp.Or(first.Timeout, then.Timeout), CPU: cmp.Or(first.CPU, then.CPU), Memory: cmp.Or(first.Memory, then.Memory),
		Disk: cmp.Or(first.Disk, then.Disk), Processes: cmp.Or(first.Processes, then.Processes), Risk: cmp.Or(first.Risk, then.Risk),
	}
}

// Ceilings returns the highest limits of a run for a customer. The empty customer is the project itself.
func (p *Policy) Ceilings(customer string) config.PolicyCeilings { return p.part(customer).ceilings }

// Program is what a script does, as far as can be read before it runs.
type Program struct {
	Risk risk.Risk
	// Writes, Deletes, Commands and Hosts are files, commands and addresses.
	Writes, Deletes, Commands, Hosts []string
}

// DecideRun decides whether a script may start: Allow or Deny. It knows only what reading the script has found; what the script
// cannot do in any case is a matter of its sandbox.
func (p *Policy) DecideRun(customer string, program *Program) Decision {
	part := p.part(customer)
	deny := func(format string, args ...any) Decision {
		return Decision{Effect: Deny, Rule: part.rule(), At: part.at, Reason: fmt.Sprintf(format, args...)}
	}
	most, err := risk.Parse(part.ceilings.Risk)
	if err == nil && most != risk.None && program.Risk > most {
		return deny("the script's risk is %s; the policy allows at most %s", program.Risk, most)
	}
	refused := []struct {
		does string
		what []string
	}{{"runs a command", program.Commands}, {"uses the network", program.Hosts}, {"writes a file", program.Writes}, {"deletes a file", program.Deletes}}
	switch part.level {
	case ReadOnly:
	case WriteRestricted:
		refused = refused[:2]
	default:
		refused = nil
	}
	for _, r := range refused {
		if len(r.what) > 0 {
			return deny("the script %s: %s", r.does, ident.Clip(r.what[0], 200))
		}
	}
	return Decision{Effect: Allow}
}

// RunError refuses a script that the policy does not let start.
type RunError struct {
	Script   string
	Decision Decision
}

func (e *RunError) Error() string {
	return fmt.Sprintf("policy refused to run %s: %s (%s)", e.Script, e.Decision.Reason, e.Decision.Source())
}

// ExitCode is that of a script that was refused before it ran.
func (e *RunError) ExitCode() int { return exit.Refused }

// CheckRun is DecideRun for a script with a name; the error is a *RunError, or nil.
func (p *Policy) CheckRun(script, customer string, program *Program) error {
	if d := p.DecideRun(customer, program); d.Effect != Allow {
		return &RunError{script, d}
	}
	return nil
}

// NeedsProgram reports whether a decision may depend on what a script does as a whole: by a level, or a rule's risk or condition.
func (p *Policy) NeedsProgram() bool {
	needs := func(part *part) bool {
		return part.level != "" || slices.ContainsFunc(part.rules, func(r *rule) bool { return r.risk != risk.None || r.when != nil })
	}
	return needs(p.all) || slices.ContainsFunc(slices.Collect(maps.Values(p.customers)), needs)
}

// rule names the level, or the ceilings of a policy without one.
func (p *part) rule() string {
	if p.level == "" {
		return "ceilings"
	}
	return "level " + string(p.level)
}
