package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Policy is the key policy of mcpgen.yaml: which calls scripts may make. The zero value means that there is no policy.
type Policy struct {
	PolicyPart `yaml:",inline"`
	// Levels are the levels that the operator has written, by name.
	Levels map[string]PolicyLevel
	// Customers are the parts for runs of one customer, by id.
	Customers map[string]PolicyPart
	// Unattended are the flags that apply without a terminal: allow, allow_drift, approve, approve_command, config. It may be empty.
	Unattended []string
	// File is the file from which the policy was read, or empty if nothing is configured.
	File string `yaml:"-"`
}

// PolicyPart is a policy for all runs, or an addition for one customer.
type PolicyPart struct {
	// Level is read_only, write_restricted, execute_full, one of Policy.Levels, or empty.
	Level    string
	Ceilings PolicyCeilings
	Rules    []PolicyRule
	// Default is allow, ask or deny, for calls that no rule fits. Empty: the level decides.
	Default string
	// LevelAt, CeilingsAt and DefaultAt are the positions of the values of these keys.
	LevelAt    Position `yaml:"-"`
	CeilingsAt Position `yaml:"-"`
	DefaultAt  Position `yaml:"-"`
}

// PolicyLevel is a level that the operator has written: a built-in one with different lists of what scripts may use. If a list is nil, the
// built-in level decides; an empty list allows nothing.
type PolicyLevel struct {
	// Extends is read_only, write_restricted or execute_full.
	Extends string
	// Read and Write are files, and folders with everything in them. Relative paths are in the workspace.
	Read, Write []string
	// Hosts are names of hosts. *.example.com means all hosts below example.com.
	Hosts []string
	// Commands may be nil.
	Commands *PolicyCommands
}

// PolicyCommands are commands by their names, or globs of whole commands.
type PolicyCommands struct{ Allow, Deny []string }

// PolicyCeilings are the highest limits of a run. 0 means no ceiling.
type PolicyCeilings struct {
	Timeout   time.Duration
	CPU       time.Duration
	Memory    string // a size, as the flag --memory reads it
	Disk      string
	Processes int
	// Risk is the highest risk that a script may have.
	Risk string
}

// PolicyRule allows, asks about or denies the calls that it fits.
type PolicyRule struct {
	Name string
	// One of these has globs, and the others are nil. The globs match tools by their ids or by their own names.
	Allow, Ask, Deny Globs
	// Hint is reads, writes, destructive or open_world. Risk is the lowest risk. Empty: any.
	Hint, Risk string
	// Arguments is [ArgumentsDeclared], which denies calls with arguments that the tool does not declare, or empty. It cannot be combined
	// with Deny.
	Arguments string
	// When is a condition in CEL. It may be empty.
	When string
	// Over makes the rule apply only to calls above a number.
	Over *PolicyOver
	// At is where the rule begins, and WhenAt where the text of When begins.
	At, WhenAt Position `yaml:"-"`
}

// ArgumentsDeclared is the value of the key arguments of a rule or a server: calls may only have arguments that the tool's schema declares,
// even if the schema allows others.
const ArgumentsDeclared = "declared"

// PolicyOver are numbers of calls: in a run, within a minute, in a session, by a customer (or, without one, by the project), and by the
// same on one day in UTC. 0 means unset.
type PolicyOver struct {
	Run      int `json:"run,omitempty"`
	Minute   int `json:"minute,omitempty"`
	Session  int `json:"session,omitempty"`
	Customer int `json:"customer,omitempty"`
	Day      int `json:"day,omitempty"`
}

// String describes from when on the rule applies, such as "after 20 calls within a minute".
func (o *PolicyOver) String() string {
	var parts []string
	for _, each := range []struct {
		n    int
		what string
	}{{o.Run, "in the run"}, {o.Minute, "within a minute"}, {o.Session, "in the session"}, {o.Customer, "of the customer"}, {o.Day, "on one day"}} {
		if each.n > 0 {
			parts = append(parts, fmt.Sprintf("after %d calls %s", each.n, each.what))
		}
	}
	return strings.Join(parts, " or ")
}

// Globs is a list of globs, which may also be written as a single glob.
type Globs []string

// ScriptsGlob, in place of a tool, means scripts that are about to start.
const ScriptsGlob = "scripts"

// Position is a place in a file, from 1.
type Position struct{ Line, Column int }

// UnmarshalYAML reads one glob or a list of them.
func (g *Globs) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]string)(g))
	}
	*g = Globs{n.Value}
	return nil
}

// UnmarshalYAML reads a rule with its positions.
func (r *PolicyRule) UnmarshalYAML(n *yaml.Node) error {
	type plain PolicyRule
	if err := n.Decode((*plain)(r)); err != nil {
		return err
	}
	r.At = Position{n.Line, n.Column}
	if when := node.Value(n, "when"); when != nil {
		r.WhenAt = Position{when.Line, when.Column}
		switch when.Style {
		case yaml.LiteralStyle, yaml.FoldedStyle: // the text begins on the next line, with unknown indentation
			r.WhenAt = Position{when.Line + 1, n.Column + 2}
		case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
			r.WhenAt.Column++
		}
	}
	return nil
}

// Effect returns the rule's effect and its globs.
func (r *PolicyRule) Effect() (effect string, globs []string) {
	switch {
	case r.Deny != nil:
		return "deny", r.Deny
	case r.Ask != nil:
		return "ask", r.Ask
	}
	return "allow", r.Allow
}

// NameOf returns the name of a rule that has no name of its own.
func NameOf(effect string, globs []string) string { return effect + " " + strings.Join(globs, ", ") }

// complete names the rules and makes the checks that the schema cannot make.
func (p *Policy) complete(file *node.File, root *yaml.Node) error {
	if p.Level == "" && p.Default == "" && p.Rules == nil && p.Customers == nil && p.Levels == nil && p.Ceilings == (PolicyCeilings{}) {
		return nil
	}
	p.File = file.Name
	at := func(n *yaml.Node, key string) (at Position) {
		if value := node.Value(n, key); value != nil {
			at = Position{value.Line, value.Column}
		}
		return at
	}
	p.LevelAt, p.CeilingsAt, p.DefaultAt = at(root, "level"), at(root, "ceilings"), at(root, "default")
	levels := node.Value(root, "levels")
	for name := range p.Levels {
		if slices.Contains(BuiltInLevels, name) {
			where := node.Value(levels, name)
			return &FileError{File: file.Name, Line: where.Line, Column: where.Column, Key: "policy.levels." + name, Problem: "a level of this name is built in", Remedy: "give the level another name"}
		}
	}
	if err := p.checkLevel(file, "policy.level", p.Level, p.LevelAt); err != nil {
		return err
	}
	if err := completeRules(file, p.Rules, "policy.rules"); err != nil {
		return err
	}
	for _, id := range sortedKeys(p.Customers) {
		own := p.Customers[id]
		customer := node.Value(node.Value(root, "customers"), id)
		own.LevelAt, own.CeilingsAt, own.DefaultAt = at(customer, "level"), at(customer, "ceilings"), at(customer, "default")
		p.Customers[id] = own
		if err := p.checkLevel(file, "policy.customers."+id+".level", own.Level, own.LevelAt); err != nil {
			return err
		}
		if err := completeRules(file, own.Rules, "policy.customers."+id+".rules"); err != nil {
			return err
		}
	}
	return nil
}

// BuiltInLevels are the levels that every policy has, strictest first.
var BuiltInLevels = []string{"read_only", "write_restricted", "execute_full"}

// LevelNames returns the names of all levels that a policy has.
func (p *Policy) LevelNames() []string {
	return append(slices.Clone(BuiltInLevels), sortedKeys(p.Levels)...)
}

// checkLevel refuses a level that the policy does not have.
func (p *Policy) checkLevel(file *node.File, key, level string, at Position) error {
	if _, own := p.Levels[level]; own || level == "" || slices.Contains(BuiltInLevels, level) {
		return nil
	}
	return &FileError{
		File: file.Name, Line: at.Line, Column: at.Column, Key: key, Problem: fmt.Sprintf("no level is called %q", level),
		Remedy: "use one of " + strings.Join(p.LevelNames(), ", ") + ", or write it below policy.levels",
	}
}

func completeRules(file *node.File, rules []PolicyRule, key string) error {
	for i := range rules {
		r := &rules[i]
		place := fmt.Sprintf("%s[%d]", key, i)
		wrong := func(problem, remedy string) error {
			return &FileError{File: file.Name, Line: r.At.Line, Column: r.At.Column, Key: place, Problem: problem, Remedy: remedy}
		}
		effects := 0
		for _, g := range []Globs{r.Allow, r.Ask, r.Deny} {
			if g != nil {
				effects++
			}
		}
		switch _, globs := r.Effect(); {
		case effects != 1:
			return wrong("a rule has one of allow, ask and deny", `write the tools that it is about, as in deny: "crm__delete_*"`)
		case len(globs) == 0 || slices.Contains(globs, ""):
			return wrong("it names no tool", `name tools, or write "*" for all`)
		case r.Risk != "" && r.Allow != nil:
			return wrong("risk: is the least risk, and an allow rule would allow what is more dangerous", `use when: in an allow rule, as in when: risk <= medium`)
		case r.Arguments != "" && r.Deny != nil:
			return wrong("arguments: does not go with deny, which denies the calls that it fits in any case", "write it in a rule that allows or asks, or below the server in servers:, where it is for all of its tools")
		case slices.Contains(globs, ScriptsGlob) && (r.Hint != "" || r.Over != nil):
			return wrong("hint: and over: are about calls, and scripts make none before they start", "write a rule of its own for scripts, with risk: or when:")
		case r.Over != nil && *r.Over == PolicyOver{}:
			return wrong("over: has no number", "write a number of calls, as in over: {run: 50}, {minute: 20} or {day: 100}")
		case slices.ContainsFunc(rules[:i], func(o PolicyRule) bool { return r.Name != "" && o.Name == r.Name }):
			return wrong(fmt.Sprintf("another rule is called %q too", r.Name), "give it a name of its own")
		}
		if effect, globs := r.Effect(); r.Name == "" {
			r.Name = NameOf(effect, globs)
		}
	}
	return nil
}
