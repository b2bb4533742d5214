package gen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/exit"
)

// checkStored returns an error if wrappers would be generated from a stored list that was edited since the lock was written: the edit would
// get into the lock although no server sent it. For a server that was asked it only warns, because its stored list is not used.
func (s *job) checkStored(r listed) error {
	key := r.report.Key
	if !s.stored.Altered[key] {
		return nil
	}
	file := catalog.StoredPath(s.stored.Servers[key].Dir)
	if r.report.Status != Listed {
		return &Error{
			Message: fmt.Sprintf("server %q: %s was changed after the lock was written (its digest is not the one in %s), and the server %s; nothing was written",
				key, file, catalog.LockPath, unasked(r.report.Err)),
			Remedy: "restore " + file + " and " + catalog.LockPath + " from version control, or sync while the server can be reached. " +
				"If you made the change yourself, for example in a merge, and trust it, remove " + catalog.LockPath + " and run \"mcpgen sync --offline\"",
			Code: exit.Usage, Err: r.report.Err,
		}
	}
	s.report.Warnings = append(s.report.Warnings, Warning{
		Place: file, Message: "it was changed after the lock was written; it is written again", Code: "altered",
	})
	return nil
}

// addUnpinned adds a change for each tool that differs from the lock although it does not differ from the stored list. That
// happens if the stored list was edited to hold the new definition, if it is missing, and if the lock itself was changed, for
// example by a merge.
func (s *job) addUnpinned(now *catalog.Catalog) {
	if s.stored.Lock == nil {
		return
	}
	known, prompts := map[[2]string]bool{}, map[string]bool{}
	for _, c := range s.report.Changes {
		known[[2]string{c.Server, c.Tool}] = true
		prompts[c.Server] = prompts[c.Server] || c.Kind == diff.Prompts
	}
	for _, server := range now.Servers {
		if s.added(server.Key) {
			continue
		}
		if !prompts[server.Key] && !s.promptsPinned(&server) {
			s.report.Changes = append(s.report.Changes, s.unpinnedPrompts(&server))
		}
		for _, t := range server.Tools {
			if !s.pinned(server.Key, t) && !known[[2]string{server.Key, t.Name}] {
				s.report.Changes = append(s.report.Changes, s.unpinnedChange(server, t))
			}
		}
	}
	slices.SortStableFunc(s.report.Changes, func(a, b diff.Change) int {
		return slices.Compare([]string{a.Server, a.Tool}, []string{b.Server, b.Tool})
	})
}

// pinned reports whether the lock pins a definition.
func (s *job) pinned(server string, t catalog.Tool) bool {
	return s.stored.Lock.Servers[server].Tools[t.Name].Digest == t.Digest
}

// promptsPinned reports whether the lock pins the prompts of a server.
func (s *job) promptsPinned(server *catalog.Server) bool {
	return s.stored.Lock.Servers[server.Key].SamePrompts(server)
}

// added reports whether a server, and so every tool of it, is reported as new.
func (s *job) added(server string) bool {
	return slices.ContainsFunc(s.report.Changes, func(c diff.Change) bool {
		return c.Server == server && c.Kind == diff.ServerAdded
	})
}

func (s *job) unpinnedChange(server catalog.Server, t catalog.Tool) diff.Change {
	file := catalog.StoredPath(server.Dir)
	why := file + " already has the new one: the lock was changed, or merged"
	if _, ok := s.stored.Servers[server.Key]; !ok {
		why = file + ", which would show the difference, can't be read"
	} else if s.stored.Altered[server.Key] {
		why = file + " was changed beforehand and does not show the difference"
	}
	message := "the definition is not the one that the lock pins; " + why
	return diff.Change{
		Server: server.Key, Dir: server.Dir, Tool: t.Name, ID: t.ID, Kind: diff.Definition, Impact: diff.Breaking, Important: true,
		Items: []diff.Item{{Op: diff.Changed, Impact: diff.Breaking, Important: true, Message: message}},
	}
}

func (s *job) unpinnedPrompts(server *catalog.Server) diff.Change {
	message := "the prompts are not the ones that the lock pins, and " + catalog.StoredPath(server.Dir) + " does not show the difference"
	return diff.Change{
		Server: server.Key, Dir: server.Dir, Kind: diff.Prompts, Impact: diff.Breaking, Important: true,
		Items: []diff.Item{{Op: diff.Changed, Impact: diff.Breaking, Important: true, Message: message}},
	}
}

// serverFromLock reconstructs a server whose stored list is missing or damaged from the lock, which has the names and digests of
// its tools. Tools that exist now have their new definitions; addUnpinned finds those that differ.
func serverFromLock(locked catalog.LockServer, lock *catalog.Lock, now catalog.Server) catalog.Server {
	out := catalog.Server{Key: now.Key, Dir: locked.Directory}
	if b, err := catalog.MarshalServer(&now); err == nil && lock.Files[catalog.StoredPath(now.Dir)] == catalog.FileDigest(b) {
		out.Title, out.Instructions = now.Title, now.Instructions // otherwise these may have been anything
	}
	if locked.SamePrompts(&now) {
		out.HasPrompts, out.Prompts = now.HasPrompts, now.Prompts
	}
	out.Resources = locked.Resources
	there := map[string]bool{}
	for _, t := range now.Tools {
		if _, ok := locked.Tools[t.Name]; ok {
			out.Tools, there[t.Name] = append(out.Tools, t), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(locked.Tools)) {
		if !there[name] {
			out.Tools = append(out.Tools, catalog.Tool{Name: name, Digest: locked.Tools[name].Digest, Raw: json.RawMessage(`{}`)})
		}
	}
	return out
}
