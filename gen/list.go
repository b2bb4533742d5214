package gen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
)

// maxParallel is the maximum number of servers that are asked at once.
const maxParallel = 64

// listed is the result of listing one server.
type listed struct {
	server   *catalog.Server // nil if neither the server nor the tree has a list
	report   ServerReport
	warnings []catalog.Warning
	ended    <-chan struct{} // see Listing.Ended
}

// list returns the tools of all configured servers. Each list comes from the server or, if the server is not asked or fails, from the tree.
func (s *job) list(ctx context.Context) ([]catalog.Server, error) {
	results := make([]listed, len(s.config.Servers))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, srv := range s.config.Servers {
		if s.opts.Offline || len(s.opts.Servers) > 0 && !slices.Contains(s.opts.Servers, srv.Key) {
			results[i] = s.fromTree(srv)
			continue
		}
		group.Go(func() error {
			results[i] = s.fromServer(ctx, srv)
			return nil // a server's failure affects only itself
		})
	}
	_ = group.Wait()
	for _, r := range results {
		if r.ended != nil {
			s.closing = append(s.closing, r.ended)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(results, func(a, b listed) int { return strings.Compare(a.report.Key, b.report.Key) })
	var servers []catalog.Server
	for _, r := range results {
		for _, w := range r.warnings {
			s.report.Warnings = append(s.report.Warnings, Warning{Place: w.Place, Message: w.Message, Dropped: w.Dropped})
		}
		if err := s.checkStored(r); err != nil {
			return nil, err
		}
		if r.server != nil {
			s.filter(r.server)
			r.server.Dir = s.dirs[r.server.Key]
			r.report.Tools = len(r.server.Tools)
			servers = append(servers, *r.server)
		} else if err := s.checkMissing(r.report); err != nil {
			return nil, err
		}
		r.report.Dir = s.dirs[r.report.Key]
		if configured, ok := s.config.Server(r.report.Key); ok {
			r.report.Source = configured.Source
		}
		s.report.Servers = append(s.report.Servers, r.report)
	}
	return servers, nil
}

// awaitSessions waits until every session is closed, so that no server outlives a sync.
func (s *job) awaitSessions() {
	for _, ended := range s.closing {
		<-ended
	}
}

// fromServer lists a server, or uses its stored list if that fails.
func (s *job) fromServer(ctx context.Context, srv config.Server) listed {
	start := time.Now()
	s.progress(Event{Server: srv.Key})
	listing, err := s.opts.Lister(ctx, srv)
	took := time.Since(start)
	if err != nil {
		s.progress(Event{Server: srv.Key, Done: true, Err: err, Duration: took})
		out := s.fromTree(srv)
		out.report.Status, out.report.Err, out.report.Duration = Failed, err, took
		return out
	}
	server, warnings := catalog.NewServer(srv.Key, listing.Title, listing.Instructions, listing.Tools)
	warnings = append(warnings, s.addOffers(&server, listing)...)
	for _, text := range listing.Omitted {
		warnings = append(warnings, catalog.Warning{Place: srv.Key, Message: text})
	}
	s.keepStoredForm(&server)
	s.progress(Event{Server: srv.Key, Done: true, Tools: len(server.Tools), Duration: took})
	return listed{
		server: &server, warnings: warnings, ended: listing.Ended,
		report: ServerReport{Key: srv.Key, Status: Listed, Duration: took},
	}
}

// addOffers adds a server's resources and prompts.
func (s *job) addOffers(server *catalog.Server, listing *Listing) []catalog.Warning {
	server.Resources = listing.Resources
	switch {
	case !listing.HasPrompts:
		return nil
	case listing.PromptsErr != nil:
		stored := s.stored.Servers[server.Key]
		server.HasPrompts, server.Prompts = stored.HasPrompts, stored.Prompts
		return []catalog.Warning{{Place: server.Key, Message: fmt.Sprintf("its prompts could not be listed; the tree keeps those that it has: %v", listing.PromptsErr)}}
	}
	warnings := server.SetPrompts(listing.Prompts)
	old := map[string]catalog.Prompt{}
	for _, p := range s.stored.Servers[server.Key].Prompts {
		old[p.Name] = p
	}
	for i, p := range server.Prompts { // as in keepStoredForm
		if o, ok := old[p.Name]; ok && o.Digest == p.Digest {
			server.Prompts[i] = o
		}
	}
	return warnings
}

// fromTree returns the list of a server that is stored in the tree.
func (s *job) fromTree(srv config.Server) listed {
	report := ServerReport{Key: srv.Key, Status: Stored}
	stored, ok := s.stored.Servers[srv.Key]
	if !ok {
		if s.opts.Offline {
			report.Status, report.Err = Failed, errNotStored
		}
		return listed{report: report}
	}
	stored.Tools = slices.Clone(stored.Tools) // leaves s.stored unchanged
	return listed{server: &stored, report: report}
}

var errNotStored = errors.New("the tree has no tools stored for it; sync once without --offline")

// checkMissing returns an error if the tree has wrappers of a server for which there is no list, because they would be removed as stale.
func (s *job) checkMissing(r ServerReport) error {
	if s.stored.Lock == nil {
		return nil
	}
	if locked, ok := s.stored.Lock.Servers[r.Key]; ok {
		return &Error{
			Message: fmt.Sprintf("server %q: %s is missing or damaged, and the server %s; nothing was written", r.Key, catalog.StoredPath(locked.Directory), unasked(r.Err)),
			Remedy:  "restore the file from version control, or sync while the server can be reached",
			Code:    exit.Unreachable, Err: r.Err,
		}
	}
	return nil
}

// keepStoredForm replaces each definition with the stored one if they differ only in white space and the order of keys. Some servers list
// keys in a different order each time, which nobody should have to review.
func (s *job) keepStoredForm(server *catalog.Server) {
	old := map[string]catalog.Tool{}
	for _, t := range s.stored.Servers[server.Key].Tools {
		old[t.Name] = t
	}
	for i, t := range server.Tools {
		if o, ok := old[t.Name]; ok && o.Digest == t.Digest {
			server.Tools[i] = o
		}
	}
}

// filter applies the include and exclude globs of the settings.
func (s *job) filter(server *catalog.Server) {
	all := len(server.Tools)
	for name := range s.config.Settings.Servers[server.Key].UseCases {
		if name != config.AllTools && !slices.ContainsFunc(server.Tools, func(t catalog.Tool) bool { return t.Name == name }) {
			s.report.Warnings = append(s.report.Warnings, Warning{Place: server.Key, Message: fmt.Sprintf("use_cases name the tool %q, which it does not have", name)})
		}
	}
	server.Tools = slices.DeleteFunc(server.Tools, func(t catalog.Tool) bool { return !s.config.Allows(server.Key, t.Name) })
	if all > 0 && len(server.Tools) == 0 {
		s.emptied = append(s.emptied, server.Key)
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place:   server.Key,
			Message: fmt.Sprintf("include and exclude leave none of its %d tools", all),
		})
	}
}

func (s *job) progress(e Event) {
	if s.opts.Progress != nil {
		s.opts.Progress(e)
	}
}
