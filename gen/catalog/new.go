package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Dirs gives each server key its folder. The result depends on the whole set, so it is made from all configured
// servers, also those that can't be reached: a server's folder must not depend on another's health.
func Dirs(keys []string) map[string]string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	dirs := ident.Unique(sorted, ident.Snake, reservedDir)
	byKey := make(map[string]string, len(sorted))
	for i, key := range sorted {
		byKey[key] = dirs[i]
	}
	return byKey
}

// reservedDir adds to the names that no tree can use those whose stored list would be the lock or the phrases.
func reservedDir(name string) bool {
	return ident.ReservedDir(name) || StoredPath(name) == LockPath || StoredPath(name) == PhrasesPath
}

// New sorts servers and tools and fills in folders and tool ids, each unique. A server whose Dir is set keeps it. It
// takes ownership of servers. Two servers of one key or one folder are an error.
func New(servers []Server) (*Catalog, error) {
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.Key, b.Key) })
	keys := make([]string, len(servers))
	for i, s := range servers {
		if i > 0 && keys[i-1] == s.Key {
			return nil, fmt.Errorf("two servers are called %q", s.Key)
		}
		keys[i] = s.Key
	}
	dirs := Dirs(keys)
	owner := map[string]string{}
	c := &Catalog{Servers: servers, byID: map[string]toolRef{}}
	for i := range servers {
		s := &servers[i]
		if s.Dir == "" {
			s.Dir = dirs[s.Key]
		}
		if other, taken := owner[s.Dir]; taken {
			return nil, fmt.Errorf("servers %q and %q would share the folder %q", other, s.Key, s.Dir)
		}
		owner[s.Dir] = s.Key
		slices.SortFunc(s.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
		nameTools(s)
	}
	return c, c.index()
}

func nameTools(s *Server) {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	for i, part := range ident.Unique(names, ident.Snake, nil) {
		s.Tools[i].ID = s.Dir + "__" + part
	}
}

// index fills byID. Ids are unique inside a server; across servers they can only meet when a folder's name holds a
// double underscore, and then both get a hash, whichever comes first.
func (c *Catalog) index() error {
	count := map[string]int{}
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			count[t.ID]++
		}
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		for j := range s.Tools {
			t := &s.Tools[j]
			if count[t.ID] > 1 {
				sum := sha256.Sum256([]byte(s.Key + "\x00" + t.Name))
				t.ID += "_" + hex.EncodeToString(sum[:4])
			}
			if _, taken := c.byID[t.ID]; taken {
				return fmt.Errorf("tools of %q: the id %q is not unique", s.Key, t.ID)
			}
			c.byID[t.ID] = toolRef{i, j}
		}
	}
	return nil
}
