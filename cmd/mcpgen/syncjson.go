package main

import (
	"github.com/mcpgen/mcpgen/gen"
)

// syncJSON is the output of sync --json. Its fields are a promise to programs: they are added to, never changed.
type syncJSON struct {
	Config    string        `json:"config"`
	Out       string        `json:"out"`
	InSync    bool          `json:"inSync"`
	Written   bool          `json:"written"`
	Refused   bool          `json:"refused"`
	ExitCode  int           `json:"exitCode"`
	Impact    string        `json:"impact"`
	Important bool          `json:"important"`
	Repair    string        `json:"repair,omitempty"`
	Servers   []serverJSON  `json:"servers"`
	Changes   []changeJSON  `json:"changes"`
	Files     []fileJSON    `json:"files"`
	Unchanged int           `json:"unchanged"`
	Kept      []string      `json:"kept,omitempty"`
	Warnings  []warningJSON `json:"warnings"`
	Skills    []skillJSON   `json:"brokenSkills,omitempty"`
	Diff      string        `json:"diff,omitempty"`
	Duration  int64         `json:"durationMs"`
}

// changeJSON is a change with a line in words for each of its items.
type changeJSON struct {
	gen.Change
	Details []string `json:"details"`
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

type fileJSON struct {
	Path   string `json:"path"`
	Action string `json:"action"`
}

type warningJSON struct {
	Place      string `json:"place"`
	Message    string `json:"message"`
	Dropped    bool   `json:"dropped,omitempty"`
	Suspicious bool   `json:"suspicious,omitempty"`
	Code       string `json:"code,omitempty"`
}

func newSyncJSON(p *syncPrinter) *syncJSON {
	r := p.report
	out := &syncJSON{
		Config: r.Config, Out: r.Out, InSync: !r.Drift() && len(r.Failures()) == 0, Written: r.Written,
		ExitCode: p.opts.exitCode(r), Unchanged: r.Unchanged, Kept: r.Kept, Diff: string(r.Diff),
		Refused: p.opts.refuses(r), Impact: string(r.Impact()), Important: r.Important(),
		Changes: []changeJSON{}, Files: []fileJSON{}, Warnings: []warningJSON{}, Servers: []serverJSON{},
		Duration: r.Duration.Milliseconds(),
	}
	if p.skills != nil {
		out.Skills = p.skills.broken
	}
	for _, c := range r.Changes {
		out.Changes = append(out.Changes, changeJSON{c, c.Lines()})
	}
	if r.Drift() && !r.Written {
		out.Repair = p.repair()
	}
	for _, s := range r.Servers {
		out.Servers = append(out.Servers, newServerJSON(s))
	}
	for _, f := range r.Files {
		out.Files = append(out.Files, fileJSON{Path: f.Path, Action: string(f.Action)})
	}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, warningJSON(w))
	}
	return out
}

func newServerJSON(s gen.ServerReport) serverJSON {
	j := serverJSON{Name: s.Key, Dir: s.Dir, Source: s.Source, Status: string(s.Status), Tools: s.Tools, Duration: s.Duration.Milliseconds()}
	if s.Err != nil {
		j.Error = s.Err.Error()
	}
	return j
}
