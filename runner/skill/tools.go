package skill

import (
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// tools is what skills are checked against, from the lock of a tree.
type tools struct {
	catalog  *catalog.Catalog // nil: definitions are not at hand
	digests  map[string]string
	wrappers map[string]string // ids by files of wrappers
	ids      []string
}

func newTools(lock *catalog.Lock, cat *catalog.Catalog) *tools {
	t := &tools{catalog: cat, digests: map[string]string{}, wrappers: map[string]string{}}
	for _, server := range lock.Servers {
		for _, tool := range server.Tools {
			t.digests[tool.ID] = tool.Digest
			t.ids = append(t.ids, tool.ID)
			for _, names := range tool.Names {
				t.wrappers[names.File] = tool.ID
			}
		}
	}
	return t
}

// definition is what a server says of a tool now; nil when that is not at hand.
func (t *tools) definition(id string) (server string, raw []byte) {
	if t.catalog == nil {
		return "", nil
	}
	s, tool, ok := t.catalog.Lookup(id)
	if !ok {
		return "", nil
	}
	return s.Key, tool.Raw
}

// near are ids that may have been meant.
func (t *tools) near(id string) []string { return ident.Nearest(id, t.ids, 3) }
