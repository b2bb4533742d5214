package syncview

import (
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/tree"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// reportJSON is the output of sync --json. Its fields are a promise to programs: they are added to, never changed.
type reportJSON struct {
	Config    string        `json:"config"`
	Out       string        `json:"out"`
	InSync    bool          `json:"inSync"`
	Written   bool          `json:"written"`
	Refused   bool          `json:"refused"`
	ExitCode  int           `json:"exitCode"`
	Impact    string        `json:"impact"`
	Verdict   string        `json:"verdict,omitempty"`
	Important bool          `json:"important"`
	Repair    string        `json:"repair,omitempty"`
	Servers   []serverJSON  `json:"servers"`
	Changes   []changeJSON  `json:"changes"`
	Files     []tree.Step   `json:"files"`
	Unchanged int           `json:"unchanged"`
	Kept      []string      `json:"kept,omitempty"`
	Warnings  []gen.Warning `json:"warnings"`
	Skills    any           `json:"brokenSkills,omitempty"`
	Workflows any           `json:"brokenWorkflows,omitempty"`
	Migration any           `json:"migration,omitempty"`
	Diff      string        `json:"diff,omitempty"`
	Duration  int64         `json:"durationMs"`
}

// changeJSON is a change with a line in words for each of its items.
type changeJSON struct {
	diff.Change
	Details []string `json:"details"`
	// Policy is what the policy says of new tools.
	Policy []policy.Outlook `json:"policy,omitempty"`
}

type serverJSON struct {
	Name     string `json:"name"`
	Dir      string `json:"dir"`
	Source   string `json:"source,omitempty"`
	Status   string `json:"status"`
	Tools    int    `json:"tools"`
	Error    string `json:"error,omitempty"`
	Duration int64  `json:"durationMs"`
}

func (v *View) json() *reportJSON {
	r := v.Report
	out := &reportJSON{
		Config: r.Config, Out: r.Out, InSync: !r.Drift() && len(r.Failures()) == 0, Written: r.Written,
		ExitCode: v.ExitCode, Unchanged: r.Unchanged, Kept: r.Kept, Diff: string(r.Diff), Skills: v.Skills, Workflows: v.Workflows, Migration: v.Migration,
		Refused: r.Outcome() == gen.Unpinned, Impact: string(r.Impact()), Verdict: string(r.Verdict()), Important: r.Important(),
		Changes: []changeJSON{}, Files: append([]tree.Step{}, r.Files...), Warnings: append([]gen.Warning{}, r.Warnings...), Servers: []serverJSON{},
		Duration: r.Duration.Milliseconds(),
	}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, changeJSON{c, c.Lines(), v.Policy.Of(&c)})
	}
	if r.Drift() && !r.Written {
		out.Repair = v.Repair
	}
	for _, s := range r.Servers {
		js := serverJSON{Name: s.Key, Dir: s.Dir, Source: s.Source, Status: string(s.Status), Tools: s.Tools, Duration: s.Duration.Milliseconds()}
		if s.Err != nil {
			js.Error = s.Err.Error()
		}
		out.Servers = append(out.Servers, js)
	}
	return out
}
