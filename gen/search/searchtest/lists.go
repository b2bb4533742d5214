package searchtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// List is a recorded list of the tools of one server, each as the server sent it.
type List struct {
	ID    string            `json:"id"`
	Tools []json.RawMessage `json:"tools"`
}

// ReadLists reads recorded lists, one per file. A list without an id is named after its file.
func ReadLists(paths []string) ([]List, error) {
	out := make([]List, len(paths))
	for i, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, fmt.Errorf("read the recorded tools in %s: %w", path, err)
		}
		out[i].ID = cmp.Or(out[i].ID, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return out, nil
}

// Server returns the server of the list.
func (l List) Server() catalog.Server {
	s, _ := catalog.NewServer(l.ID, "", "", l.Tools)
	return s
}
