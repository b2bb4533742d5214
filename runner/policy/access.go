package policy

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/policy/internal/spelling"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// access is what a level lets scripts do to files, hosts and the system.
type access struct {
	level Level               // the built-in level
	own   *config.PolicyLevel // the operator's level, or nil for a built-in one
}

// workspaceDir is where sandboxes show the workspace; see package sandbox.
const workspaceDir = "/workspace"

// Commands returns the commands that a customer's level allows, or nil if it names none.
func (p *Policy) Commands(customer string) *judge.Commands {
	if p == nil {
		return nil
	}
	return p.part(customer).access.commands()
}

func (a access) commands() *judge.Commands {
	if a.own == nil || a.own.Commands == nil {
		return nil
	}
	return &judge.Commands{Allow: a.own.Commands.Allow, Deny: a.own.Commands.Deny}
}

// kinds are the kinds of operations of a script, in the order in which they are refused: the rules that find them, the words for them, the
// lowest built-in level that allows them, and the list in an operator's level that allows them instead.
var kinds = []struct {
	key, does, what string
	rules           []string
	from            Level
	list            func(*config.PolicyLevel) []string
	fits            func(entry, target string) bool
}{
	{"hosts", "uses the network", "a host", []string{"network"}, ExecuteFull, func(l *config.PolicyLevel) []string { return l.Hosts }, fitsHost},
	{"write", "writes a file", "a file", []string{"file-write"}, WriteRestricted, func(l *config.PolicyLevel) []string { return l.Write }, fitsPath},
	{"write", "deletes a file", "a file", []string{"file-delete", "own-file-delete"}, WriteRestricted, func(l *config.PolicyLevel) []string { return l.Write }, fitsPath},
	{"read", "reads a file", "a file", []string{"file-read"}, ReadOnly, func(l *config.PolicyLevel) []string { return l.Read }, fitsPath},
}

// builtInHosts are the hosts that the built-in levels let scripts reach, if a run has a network.
var builtInHosts = map[Level][]string{
	ReadOnly:        {"api.openai.com", "api.anthropic.com"},
	WriteRestricted: {"api.openai.com", "api.anthropic.com", "github.com"},
	ExecuteFull:     {"*"},
}

// Reach returns the name of a customer's level, and the hosts that it lets scripts reach. Without a level, both are empty.
func (p *Policy) Reach(customer string) (level string, hosts []string) {
	if p == nil {
		return "", nil
	}
	part := p.part(customer)
	return part.name, part.access.hosts()
}

// hosts returns the hosts of a level.
func (a access) hosts() []string {
	if a.own != nil && a.own.Hosts != nil {
		return a.own.Hosts
	}
	return builtInHosts[a.level]
}

// allows reports whether level l is at least as permissive as from.
func (l Level) allows(from Level) bool {
	order := []Level{ReadOnly, WriteRestricted, ExecuteFull}
	return l == "" || slices.Index(order, l) >= slices.Index(order, from)
}

// refuse returns why a script must not start, or "" if the level lets it.
func (a access) refuse(program *Program) string {
	for i := range program.Operations {
		if op := &program.Operations[i]; op.Rule == "process" {
			if reason := a.refuseCommand(op); reason != "" {
				return fmt.Sprintf("the script runs a command%s: %s", named(op), reason)
			}
		}
	}
	for _, kind := range kinds {
		var list []string
		if a.own != nil {
			list = kind.list(a.own)
		}
		if list == nil && a.level.allows(kind.from) || kind.key == "hosts" && program.Network {
			continue
		}
		for i := range program.Operations {
			op := &program.Operations[i]
			if !slices.Contains(kind.rules, op.Rule) || !op.Computed && slices.ContainsFunc(list, func(entry string) bool { return kind.fits(entry, op.Target) }) {
				continue
			}
			switch {
			case len(list) == 0:
				return fmt.Sprintf("the script %s%s", kind.does, named(op))
			case op.Computed:
				return fmt.Sprintf("the script %s%s: it computes the name of %s, and the level allows only %s", kind.does, named(op), kind.what, clipped(list))
			}
			return fmt.Sprintf("the script %s%s: the level allows only %s", kind.does, named(op), clipped(list))
		}
	}
	if program.Unread != "" && a.own != nil {
		return "not all that the script does can be read from it: " + program.Unread
	}
	return ""
}

// refuseCommand returns why a command must not run.
func (a access) refuseCommand(op *judge.Operation) string {
	commands := a.commands()
	switch {
	case commands == nil && a.level.allows(ExecuteFull):
		return ""
	case commands == nil:
		return "the level allows none"
	case op.Computed:
		return "it computes the command, or options and variables that may change it (such as env, shell, executable): write the command with its arguments as constants in the call"
	}
	return commands.Refuse(op.Target)
}

// named names the target of an operation, with its place in the script.
func named(op *judge.Operation) string {
	text := ""
	if op.Target != "" {
		text = fmt.Sprintf(" %q", ident.Clip(op.Target, 200))
	}
	if at := op.At(); at != "" {
		text += " (" + at + ")"
	}
	return text
}

func clipped(list []string) string { return ident.Clip(strings.Join(list, ", "), 300) }

// fitsPath reports whether a script's file equals or lies below an entry of an operator's level. Relative paths are relative to the
// workspace.
func fitsPath(entry, target string) bool {
	in, err := spelling.Under(absolute(target), absolute(entry))
	return err == nil && in
}

func absolute(name string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.Contains(name, ":") {
		return name
	}
	return workspaceDir + "/" + name
}

// fitsHost reports whether a host, with or without a port, matches an entry of an operator's level.
func fitsHost(entry, target string) bool {
	host := target
	if name, _, err := net.SplitHostPort(target); err == nil {
		host = name
	}
	return !strings.Contains(host, "/") && config.FitsHost(entry, host)
}

// accessList is one list of a level: what scripts may use or, for denied commands, must not use.
type accessList struct {
	key     string
	all     bool // everything is allowed, without a list
	entries []string
	denies  bool
}

// Access returns what the level of a customer lets scripts use, each with the key of the list, as in "write: output". It is empty if there
// is no level.
func (p *Policy) Access(customer string) []string {
	part := p.part(customer)
	out := []string{}
	if part.level == "" {
		return out
	}
	for _, l := range part.access.lists() {
		if !l.denies || len(l.entries) > 0 {
			out = append(out, l.key+": "+l.String())
		}
	}
	return out
}

// lists returns the lists of a level, including those that its built-in level implies.
func (a access) lists() []accessList {
	var out []accessList
	for _, kind := range kinds {
		l := accessList{key: kind.key, all: a.level.allows(kind.from)}
		if a.own != nil {
			if own := kind.list(a.own); own != nil {
				l.all, l.entries = false, own
			}
		}
		if !slices.ContainsFunc(out, func(o accessList) bool { return o.key == l.key }) {
			out = append(out, l)
		}
	}
	allow, deny := accessList{key: "commands.allow", all: a.level.allows(ExecuteFull)}, accessList{key: "commands.deny", denies: true}
	if c := a.commands(); c != nil {
		allow.all, allow.entries, deny.entries = c.Allow == nil && c.Deny != nil, c.Allow, c.Deny
	}
	return append(out, allow, deny)
}

func (l *accessList) String() string {
	switch {
	case l.all:
		return "all"
	case len(l.entries) == 0:
		return "none"
	}
	return strings.Join(l.entries, ", ")
}

// wider reports whether the list permits something that before did not.
func (l *accessList) wider(before *accessList) bool {
	more, than := l, before
	if l.denies {
		more, than = before, l
	}
	return !than.all && (more.all || slices.ContainsFunc(more.entries, func(e string) bool { return !slices.Contains(than.entries, e) }))
}
