package gen

import (
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/catalog/drift"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// Status is how a server of the configuration came into the tree.
type Status string

// The statuses.
const (
	Listed Status = "listed" // it was asked and answered
	Stored Status = "stored" // it was not to be asked: what the tree had stored was used
	Failed Status = "failed" // it could not be asked: what the tree had stored, if anything, was used
)

// Report is what [Sync] found and did.
type Report struct {
	// Config is the path of the configuration, Out the absolute folder of the tree.
	Config, Out string
	// Servers are those of the configuration, sorted by key.
	Servers []ServerReport
	// Changes are the differences between what servers list now and what the tree was written from.
	Changes []diff.Change
	// Catalog has the tools that servers list now; where a server was not asked, those that the tree has. Nil if none could be asked.
	Catalog *catalog.Catalog
	// Files are those that were, or with Check would be, written or removed.
	Files []tree.Step
	// Unchanged is the number of generated files that are as they should be.
	Unchanged int
	// Kept are files that are no longer generated but were changed by somebody, and so were not removed.
	Kept []string
	// Gone are the servers that are no longer configured, and whose wrappers are among Files to be removed.
	Gone []string
	// Emptied are the servers of which include and exclude leave no tool, and whose wrappers are among Files to be removed.
	Emptied []string
	// Warnings are sorted by place.
	Warnings []Warning
	// Diff is a unified diff of Files, when it was asked for.
	Diff []byte
	// Written reports whether Files were written.
	Written bool
	// Check, WithDiff, Strict and Frozen are the options of the sync.
	Check, WithDiff, Strict, Frozen bool
	// Duration is of the whole, for people; it is never written to a file.
	Duration time.Duration
}

// ServerReport is one server of a Report.
type ServerReport struct {
	Key string
	Dir string
	// Source is the configuration file the server comes from.
	Source string
	Status Status
	// Tools is the number of its tools in the tree.
	Tools int
	// Err is why it failed.
	Err      error
	Duration time.Duration
}

// Warning is something odd that did not stop the work.
type Warning struct {
	// Place is "server", "server/tool" or "server/tool#/json/pointer", or a file of the tree. Foreign text.
	Place   string `json:"place"`
	Message string `json:"message"`
	// Dropped reports whether a tool has no wrapper because of it.
	Dropped bool `json:"dropped,omitempty"`
	// Suspicious reports whether the server's text looks as if it were meant to instruct a model.
	Suspicious bool `json:"suspicious,omitempty"`
	// Note reports whether it is only a remark on what is new in the tree: ordinary servers have some, and no exit code depends on it.
	Note bool `json:"note,omitempty"`
	// Code names the kind of warning for programs, such as "ref-external"; empty where there is none.
	Code string `json:"code,omitempty"`
}

// Drift reports whether the tree is not, or was not, what it should be.
func (r *Report) Drift() bool { return len(r.Files) > 0 }

// Impact is the worst one of all changes.
func (r *Report) Impact() diff.Impact {
	worst := diff.NoImpact
	for _, c := range r.Changes {
		worst = worst.Worse(c.Impact)
	}
	return worst
}

// Verdict is the worst one of all changes; empty without one.
func (r *Report) Verdict() diff.Verdict { return drift.Worst(r.Changes) }

// Important reports whether a server took back an assurance about a tool.
func (r *Report) Important() bool {
	return slices.ContainsFunc(r.Changes, func(c diff.Change) bool { return c.Important })
}

// Failures are the servers that could not be asked.
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

// Tools is the number of tools in the tree.
func (r *Report) Tools() int {
	n := 0
	for _, s := range r.Servers {
		n += s.Tools
	}
	return n
}

// InTree is the number of servers that the tree has a folder of.
func (r *Report) InTree() int {
	n := 0
	for _, s := range r.Servers {
		if s.Status == Listed || s.Tools > 0 {
			n++
		}
	}
	return n
}

// Outcome is what came of a sync, in one word for all views of a [Report].
type Outcome string

// The outcomes.
const (
	UpToDate  Outcome = "up to date" // nothing had to be written
	Updated   Outcome = "updated"    // Files were written
	OutOfDate Outcome = "out of date"
	Unpinned  Outcome = "unpinned"  // a frozen sync met definitions that the lock does not pin, and wrote nothing
	NotAsked  Outcome = "not asked" // no server could be asked, and the tree has nothing of any
)

// Outcome returns what came of the sync.
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

// ExitCode is the worst of what happened: a server that could not be asked first, because then nothing else is certain.
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

// ServerChanges are the changes of one server, grouped by tool. Every view of a report is made of these.
type ServerChanges struct {
	Server string
	Tools  []ToolChanges
	// The numbers of tools that were changed, renamed, added or removed; Breaking counts those that break callers.
	Changed, Renamed, Added, Removed, Breaking int
}

// ToolChanges are the changes of one tool, or of the server itself where Tool is empty. There is at least one.
type ToolChanges struct {
	Tool    string
	Changes []diff.Change
}

// Impact is the worst one of the changes.
func (t ToolChanges) Impact() diff.Impact {
	worst := diff.NoImpact
	for _, c := range t.Changes {
		worst = worst.Worse(c.Impact)
	}
	return worst
}

// Verdict is the worst one of the changes.
func (t ToolChanges) Verdict() diff.Verdict { return drift.Worst(t.Changes) }

// Important reports whether the server took back an assurance.
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
