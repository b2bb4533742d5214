package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// few returns the tools of the smallest catalog: the ones that the tasks need, and some more.
func few() []string {
	return []string{
		"calculator__evaluate", "calculator__statistics",
		"crm__create_record", "crm__get_record", "crm__query_records", "crm__update_record",
		"database__describe_table", "database__execute", "database__query",
		"drive__append_rows", "drive__create_document", "drive__create_sheet", "drive__get_document", "drive__get_sheet",
		"filesystem__read_file", "filesystem__search_files", "filesystem__write_file",
		"weather__get_climate", "weather__get_forecast", "weather__list_cities",
	}
}

// recorded reads tool lists: files with "tools" and an "id", which defaults to the name of the file. Servers are ordered by the
// digests of their names, which is an arbitrary order but always the same.
func recorded(dir string) ([]catalog.Server, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	lists, err := searchtest.ReadLists(paths)
	if err != nil {
		return nil, err
	}
	var servers []catalog.Server
	taken := map[string]bool{}
	for _, name := range demoServers() {
		taken[name] = true // the name of its folder
	}
	for _, l := range lists {
		for taken[ident.Snake(l.ID)] {
			l.ID += "-recorded" // there is another server of that name
		}
		taken[ident.Snake(l.ID)] = true
		if server := l.Server(); len(server.Tools) > 0 {
			servers = append(servers, server)
		}
	}
	digest := func(s catalog.Server) string {
		sum := sha256.Sum256([]byte(s.Key))
		return hex.EncodeToString(sum[:])
	}
	slices.SortFunc(servers, func(a, b catalog.Server) int { return strings.Compare(digest(a), digest(b)) })
	return servers, nil
}

// compose returns servers that have size tools in total: first the tools of the demo servers (only some of them in small
// catalogs), then whole recorded servers, the last of which is cut. If there are not enough tools, it returns fewer.
func compose(demo *catalog.Catalog, fill []catalog.Server, size int) []catalog.Server {
	keep := few()
	for _, s := range demo.Servers {
		for _, t := range s.Tools {
			if !slices.Contains(keep, t.ID) {
				keep = append(keep, t.ID)
			}
		}
	}
	keep = keep[:min(max(size, len(few())), len(keep))]
	var out []catalog.Server
	n := 0
	for _, s := range demo.Servers {
		s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t catalog.Tool) bool { return !slices.Contains(keep, t.ID) })
		if n += len(s.Tools); len(s.Tools) > 0 {
			out = append(out, s)
		}
	}
	for _, s := range fill {
		if n >= size {
			break
		}
		s.Tools = s.Tools[:min(len(s.Tools), size-n)]
		n += len(s.Tools)
		out = append(out, s)
	}
	return out
}

// writeTree generates the tree of servers in a folder, without starting them.
func writeTree(ctx context.Context, dir string, servers []catalog.Server) (*gen.Tree, error) {
	entries := object{}
	c, err := catalog.New(servers) // gives each its folder
	if err != nil {
		return nil, err
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		entries[s.Key] = object{"command": "true"} // never started
		if slices.Contains(demoServers(), s.Key) {
			entries[s.Key] = demoEntry(s.Key)
		}
		list, err := catalog.MarshalServer(s)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "servers", filepath.FromSlash(catalog.StoredPath(s.Dir)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, list, 0o644); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(object{"mcpServers": entries})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), text, 0o600); err != nil {
		return nil, err
	}
	if _, err := gen.Sync(ctx, gen.Options{Dir: dir, Offline: true}); err != nil {
		return nil, err
	}
	return gen.Open(gen.Options{Dir: dir})
}
