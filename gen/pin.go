package gen

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// altered refuses to make wrappers from a stored list that is not the one the lock was made with: whoever changed it
// would have its words in the lock without a server having said them. A server that was asked needs no stored list,
// and a warning will do.
func (s *job) altered(r listed) error {
	key := r.report.Key
	if !s.stored.Altered[key] {
		return nil
	}
	file := catalog.StoredPath(s.stored.Servers[key].Dir)
	if r.report.Status != Listed {
		return &AlteredError{Server: key, File: file, Err: r.report.Err}
	}
	s.report.Warnings = append(s.report.Warnings, Warning{
		Place: file, Message: "it was changed after the lock was written; it is written anew", Code: "altered",
	})
	return nil
}

// unpinned adds a change for each tool that is not what the lock pins and of which no change is known. That is so when
// somebody put the new definition into the stored list beforehand.
func (s *job) unpinned(now *catalog.Catalog) {
	if s.stored.Lock == nil || len(s.stored.Altered) == 0 {
		return
	}
	known := map[[2]string]bool{}
	for _, c := range s.report.Changes {
		known[[2]string{c.Server, c.Tool}] = true
	}
	for _, server := range now.Servers {
		locked := s.stored.Lock.Servers[server.Key]
		for _, t := range server.Tools {
			if locked.Tools[t.Name].Digest == t.Digest || known[[2]string{server.Key, t.Name}] || known[[2]string{server.Key, ""}] {
				continue
			}
			s.report.Changes = append(s.report.Changes, unpinnedChange(server, t))
		}
	}
	slices.SortStableFunc(s.report.Changes, func(a, b catalog.Change) int {
		return slices.Compare([]string{a.Server, a.Tool}, []string{b.Server, b.Tool})
	})
}

func unpinnedChange(server catalog.Server, t catalog.Tool) catalog.Change {
	message := "the definition is not the one that the lock pins; " + catalog.StoredPath(server.Dir) + " was changed beforehand and does not tell how it differs"
	return catalog.Change{
		Server: server.Key, Dir: server.Dir, Tool: t.Name, ID: t.ID, Kind: catalog.Definition, Impact: catalog.Breaking, Important: true,
		Items: []catalog.Item{{Op: catalog.Changed, Impact: catalog.Breaking, Important: true, Message: message}},
	}
}

// refused reports whether something stands against writing: a check, what strict forbids, or definitions that a frozen
// lock does not pin.
func (s *job) refused() bool {
	switch {
	case s.opts.Check:
		return true
	case s.opts.Strict && (s.report.Dropped() || s.report.Suspicious()):
		return true
	}
	return s.opts.Frozen && len(s.report.Changes) > 0
}

// warnStored says which files of the tree could not be read, and are not needed.
func warnStored(stored *catalog.Stored) []Warning {
	var warnings []Warning
	for _, problem := range stored.Problems {
		place, message, _ := strings.Cut(problem, ": ")
		warnings = append(warnings, Warning{Place: place, Message: message + "; it is written anew", Code: "damaged"})
	}
	return warnings
}
