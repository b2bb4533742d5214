package config

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Guardrails is the key guardrails of mcpgen.yaml: checks of runs and calls beside policy, levels and sandbox, which it never switches off.
// With the zero value, all plugins are asked, and nothing else of it applies.
type Guardrails struct {
	// Present reports whether the key is there, or a variable has set it.
	Present bool `yaml:"-"`
	// Enabled false switches off everything below, and all plugins.
	Enabled bool
	// Strict refuses scripts with findings of medium or higher risk, other than those about tools.
	Strict bool
	Checks GuardrailChecks
	// MaxTime and MaxMemory are the highest limits of a run.
	MaxTime   time.Duration `yaml:"max_time"`
	MaxMemory string        `yaml:"max_memory"` // a size
}

// GuardrailChecks are the kinds of checks that are made.
type GuardrailChecks struct{ Security, Privacy, Business bool }

// DefaultGuardrails returns what the key without members means.
func DefaultGuardrails() Guardrails {
	return Guardrails{Present: true, Enabled: true, Checks: GuardrailChecks{true, true, true}, MaxTime: 300 * time.Second, MaxMemory: "512MB"}
}

// UnmarshalYAML reads the members over the defaults.
func (g *Guardrails) UnmarshalYAML(n *yaml.Node) error {
	type plain Guardrails
	*g = DefaultGuardrails()
	return n.Decode((*plain)(g))
}

// complete makes the checks that the schema cannot make. n is nil without the key.
func (g *Guardrails) complete(file *node.File, n *yaml.Node) error {
	if n != nil && n.Tag == "!!null" {
		*g = DefaultGuardrails()
	}
	if !g.Present {
		return nil
	}
	if g.MaxTime <= 0 {
		return file.ErrorAt(node.Value(n, "max_time").Line, "guardrails.max_time", "it leaves runs no time", "write a time such as 300s")
	}
	if size, err := ParseSize(g.MaxMemory); err != nil || size == 0 {
		return file.ErrorAt(node.Value(n, "max_memory").Line, "guardrails.max_memory", fmt.Sprintf("%q is not a memory size", g.MaxMemory), "write a size such as 512MB")
	}
	return nil
}

// AreOff reports whether all checks are switched off.
func (g *Guardrails) AreOff() bool { return g.Present && !g.Enabled }

// Checked reports whether plugins of a kind are asked.
func (g *Guardrails) Checked(kind string) bool {
	if !g.Present {
		return true
	}
	on := map[string]bool{CheckSecurity: g.Checks.Security, CheckPrivacy: g.Checks.Privacy, CheckBusiness: g.Checks.Business}
	return g.Enabled && on[kind]
}

// RefusesFindings reports whether scripts with findings are refused.
func (g *Guardrails) RefusesFindings() bool {
	return g.Present && g.Strict && g.Checked(CheckSecurity)
}

// Ceilings returns the highest limits of a run: its time, and its memory in bytes. 0: no limit.
func (g *Guardrails) Ceilings() (maxTime time.Duration, maxMemory int64) {
	if !g.Present || g.AreOff() {
		return 0, 0
	}
	maxMemory, _ = ParseSize(g.MaxMemory) // which complete has checked
	return g.MaxTime, maxMemory
}

// The variables that set guardrails.enabled and guardrails.strict.
const (
	GuardrailsVariable       = runPrefix + "GUARDRAILS"
	GuardrailsStrictVariable = runPrefix + "GUARDRAILS_STRICT"
)

// With returns the guardrails as variables change them. loosened is the variable that makes them less strict, or "".
func (g Guardrails) With(lookup func(name string) string) (out Guardrails, loosened string, err error) {
	out = g
	for _, v := range []struct {
		name  string
		field *bool
		was   bool
	}{{GuardrailsVariable, &out.Enabled, g.Enabled || !g.Present}, {GuardrailsStrictVariable, &out.Strict, g.Strict}} {
		text := lookup(v.name)
		if text == "" {
			continue
		}
		on, bad := strconv.ParseBool(text)
		if bad != nil {
			return g, "", fmt.Errorf("%s: %q is neither true nor false", v.name, text)
		}
		if !out.Present {
			strict := out.Strict
			out = DefaultGuardrails()
			out.Strict = strict
		}
		if *v.field = on; v.was && !on {
			loosened = v.name
		}
	}
	return out, loosened, nil
}
