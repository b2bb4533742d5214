package gen

import (
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// Status is where the tools of a configured server came from.
type Status string

// The statuses.
const (
	Listed Status = "listed" // it was asked and answered
	Stored Status = "stored" // it was not to be asked, so the tree's stored list was used
	Failed Status = "failed" // it could not be asked, so the tree's stored list, if any, was used
)

// Report is what [Sync] found and did.
type Report struct {
	// Config is the path of the configuration, and Out the absolute folder of the tree.
	Config, Out string
	// Servers are the configured servers, sorted by key.
	Servers []ServerReport
	// Changes are the differences between the present lists of the servers and those from which the tree was written.
	Changes []diff.Change
	// Catalog has the tools in the present lists. For a server that was not asked, it has the tools in the tree. It is nil if no server
	// could be asked.
	Catalog *catalog.Catalog
	// Files are the files that were written or removed or, with Check, would be.
	Files []tree.Step
	// Unchanged is the number of generated files that are already right.
	Unchanged int
	// Kept are files that are no longer generated but were not removed, because somebody has changed them.
	Kept []string
	// Gone are the servers that are no longer configured, and whose wrappers are among Files to be removed.
	Gone []string
	// Emptied are the servers of which include and exclude leave no tool, and whose wrappers are among Files to be removed.
	Emptied []string
	// Warnings are sorted by place.
	Warnings []Warning
	// Diff is a unified diff of Files, if it was requested.
	Diff []byte
	// Written reports whether Files were written.
	Written bool
	// Check, WithDiff, Strict and Frozen are the options of the sync.
	Check, WithDiff, Strict, Frozen bool
	// Duration is the duration of the whole sync, for people. It is never written to a file.
	Duration time.Duration
}

// ServerReport is one server of a Report.
type ServerReport struct {
	Key string
	Dir string
	// Source is the configuration file that lists the server.
	Source string
	Status Status
	// Tools is the number of its tools in the tree.
	Tools int
	// Err is why it failed.
	Err      error
	Duration time.Duration
}

// Warning reports a problem that did not stop the work.
type Warning struct {
	// Place is "server", "server/tool" or "server/tool#/json/pointer", or a file of the tree. It is foreign text.
	Place   string `json:"place"`
	Message string `json:"message"`
	// Dropped reports whether the problem leaves a tool without a wrapper.
	Dropped bool `json:"dropped,omitempty"`
	// Suspicious reports whether the server's text looks as if it were meant to instruct a model.
	Suspicious bool `json:"suspicious,omitempty"`
	// Note reports whether this is only a remark about something new in the tree. Ordinary servers cause some notes, and no exit code
	// depends on them.
	Note bool `json:"note,omitempty"`
	// Code names the kind of warning for programs, such as "ref-external". It may be empty.
	Code string `json:"code,omitempty"`
}

// Drift reports whether the tree differs, or differed, from what it should be.
func (r *Report) Drift() bool { return len(r.Files) > 0 }

// Impact returns the worst impact of all changes.
func (r *Report) Impact() diff.Impact {
	worst := diff.NoImpact
	for _, c := range r.Changes {
		worst = worst.Worse(c.Impact)
	}
	return worst
}

// Verdict returns the worst verdict of all changes, or "" if there are none.
func (r *Report) Verdict() diff.Verdict { return diff.Worst(r.Changes) }

// Important reports whether a server withdrew an assurance about a tool.
func (r *Report) Important() bool {
	return slices.ContainsFunc(r.Changes, func(c diff.Change) bool { return c.Important })
}

// Failures returns the servers that could not be asked.
func (r *Report) Failures() []ServerReport {
	var failed []ServerReport
	for _, s := range r.Servers {
		if s.Status == Failed {
			failed = append(failed, s)
		}
	}
	return failed
}

// Dropped reports whether a tool has no wrapper.
func (r *Report) Dropped() bool {
	return slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Dropped })
}

// Suspicious reports whether a server's text looks as if it were meant to steer a model.
func (r *Report) Suspicious() bool {
	return slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Suspicious })
}

// Tools returns the number of tools in the tree.
func (r *Report) Tools() int {
	n := 0
	for _, s := range r.Servers {
		n += s.Tools
	}
	return n
}

// InTree returns the number of servers that have a folder in the tree.
func (r *Report) InTree() int {
	n := 0
	for _, s := range r.Servers {
		if s.Status == Listed || s.Tools > 0 {
			n++
		}
	}
	return n
}

// Outcome is the result of a sync in one word, for all views of a [Report].
type Outcome string

// The outcomes.
const (
	UpToDate  Outcome = "up to date" // nothing had to be written
	Updated   Outcome = "updated"    // Files were written
	OutOfDate Outcome = "out of date"
	Unpinned  Outcome = "unpinned"  // a frozen sync found definitions that the lock does not pin, and wrote nothing
	NotAsked  Outcome = "not asked" // no server could be asked, and the tree has nothing of any
)

// Outcome returns the result of the sync.
func (r *Report) Outcome() Outcome {
	switch {
	case r.Frozen && len(r.Changes) > 0:
		return Unpinned
	case r.Drift() && r.Written:
		return Updated
	case r.Drift():
		return OutOfDate
	case !r.Written && len(r.Failures()) > 0 && r.Tools() == 0:
		return NotAsked
	}
	return UpToDate
}

// ExitCode returns the code of the worst event. A server that could not be asked comes first, because nothing else is certain then.
// docs/reference/lock-and-report.md lists the codes.
func (r *Report) ExitCode() int {
	switch {
	case len(r.Failures()) > 0:
		return exit.Unreachable
	case r.Strict && (r.Dropped() || r.Suspicious()):
		return exit.Strict
	case r.Check && r.Drift(), r.Outcome() == Unpinned:
		return exit.OutOfDate
	}
	return 0
}

// ServerChanges are the changes of one server, grouped by tool. Every view of a report is built from these.
type ServerChanges struct {
	Server string
	Tools  []ToolChanges
	// The numbers of tools that were changed, renamed, added or removed. Breaking is the number that break callers.
	Changed, Renamed, Added, Removed, Breaking int
}

// ToolChanges are the changes of one tool, or of the server itself if Tool is empty. There is at least one change.
type ToolChanges struct {
	Tool    string
	Changes []diff.Change
}

// Impact returns the worst impact of the changes.
func (t ToolChanges) Impact() diff.Impact {
	worst := diff.NoImpact
	for _, c := range t.Changes {
		worst = worst.Worse(c.Impact)
	}
	return worst
}

// Verdict returns the worst verdict of the changes.
func (t ToolChanges) Verdict() diff.Verdict { return diff.Worst(t.Changes) }

// Important reports whether the server withdrew an assurance.
func (t ToolChanges) Important() bool {
	return slices.ContainsFunc(t.Changes, func(c diff.Change) bool { return c.Important })
}

// ByServer groups the report's changes by server and tool, in their order.
func (r *Report) ByServer() []ServerChanges {
	var out []ServerChanges
	for _, c := range r.Changes {
		if len(out) == 0 || out[len(out)-1].Server != c.Server {
			out = append(out, ServerChanges{Server: c.Server})
		}
		s := &out[len(out)-1]
		if len(s.Tools) == 0 || s.Tools[len(s.Tools)-1].Tool != c.Tool {
			s.Tools = append(s.Tools, ToolChanges{Tool: c.Tool})
		}
		t := &s.Tools[len(s.Tools)-1]
		t.Changes = append(t.Changes, c)
	}
	for i := range out {
		for _, t := range out[i].Tools {
			out[i].count(t)
		}
	}
	return out
}

func (s *ServerChanges) count(t ToolChanges) {
	n := 1
	switch first := t.Changes[0]; first.Kind {
	case diff.ServerAdded:
		n = len(first.Tools)
		s.Added += n
	case diff.ServerRemoved:
		n = len(first.Tools)
		s.Removed += n
	case diff.ToolAdded:
		s.Added++
	case diff.ToolRemoved:
		s.Removed++
	case diff.ToolRenamed:
		s.Renamed++
	default:
		if t.Tool == "" {
			return
		}
		s.Changed++
	}
	if t.Impact() == diff.Breaking {
		s.Breaking += n
	}
}
