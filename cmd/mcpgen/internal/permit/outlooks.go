package permit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Outlooks holds what a project's policy says about the tools that a sync found. A nil Outlooks says nothing.
type Outlooks struct {
	policy *policy.Policy
	tools  map[toolName]*policy.Tool
}

// toolName is a server's name in the configuration, and the tool's own name.
type toolName struct{ server, tool string }

// NewOutlooks returns the outlooks for runs of the project itself, and what is likely wrong in the rules; see [policy.Policy.Misspelt].
// It returns nil if there is no policy, or no catalog.
func NewOutlooks(opts gen.Options, report *gen.Report) (list *Outlooks, misspelt []string, err error) {
	if report.Catalog == nil {
		return nil, nil, nil
	}
	cfg, err := gen.LoadConfig(opts)
	if err != nil || cfg.Settings.Policy.File == "" {
		return nil, nil, err
	}
	p, err := policy.New(&cfg.Settings.Policy, nil)
	if err != nil {
		return nil, nil, err
	}
	list = &Outlooks{p, map[toolName]*policy.Tool{}}
	tools := chain.New(chain.Options{Catalog: report.Catalog, Servers: chain.ServersOf(cfg)}).Tools()
	for i := range tools {
		list.tools[toolName{tools[i].Server, tools[i].Name}] = &tools[i]
	}
	return list, p.Misspelt(func() []policy.Tool { return tools }), nil
}

// Of returns the outlooks of the tools that a change adds or renames.
func (o *Outlooks) Of(c *diff.Change) (list []policy.Outlook) {
	if o == nil {
		return nil
	}
	var names []string
	switch c.Kind {
	case diff.ServerAdded:
		names = c.Tools
	case diff.ToolAdded, diff.ToolRenamed:
		names = []string{c.Tool}
	}
	for _, name := range names {
		if tool := o.tools[toolName{c.Server, name}]; tool != nil {
			list = append(list, o.policy.Show(tool, "", risk.None))
		}
	}
	return list
}

// mostNames bounds the tools that a line names.
const mostNames = 10

// Lines describes the outlooks of the tools that a change adds: a single tool's outlook, or those of a server grouped by
// decision, the least strict first.
func (o *Outlooks) Lines(c *diff.Change) []string {
	list := o.Of(c)
	if c.Kind != diff.ServerAdded {
		var lines []string
		for i := range list {
			lines = append(lines, list[i].String())
		}
		return lines
	}
	tools := map[policy.Effect][]string{}
	for i := range list {
		name := list[i].Tool
		switch {
		case list[i].Fails:
			name += " (a condition cannot be evaluated)"
		case len(list[i].Unless) > 0:
			name += " (some calls otherwise)"
		}
		tools[list[i].Decision.Effect] = append(tools[list[i].Decision.Effect], name)
	}
	var lines []string
	for _, effect := range []policy.Effect{policy.Allow, policy.Ask, policy.Deny} {
		names := tools[effect]
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		line := fmt.Sprintf("%s %s: %s", effect, cli.Count(len(names), "tool"), strings.Join(names[:min(mostNames, len(names))], ", "))
		if more := len(names) - mostNames; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line)
	}
	return lines
}
