package task

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// lists returns recorded tool lists of public servers, which may be beside the repository.
func lists(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("MCPGEN_TEST_CORPUS"), "../../../shared/corpus"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestSelectionRecall checks in how many selections the tool is that answers a question, and how many tools they have. The demo servers are in
// every checkout; the recorded lists may be beside the repository.
func TestSelectionRecall(t *testing.T) {
	for name, want := range map[string]struct {
		paths  []string
		recall float64 // at least
		mean   float64 // at most
	}{"demo": {nil, 0.93, 3.2}, "recorded": {lists(t), 0.89, 6.5}} {
		paths := want.paths
		c, err := searchtest.Catalog(paths, "../../servers")
		if err != nil {
			t.Fatal(err)
		}
		set, err := searchtest.Load("../../testdata/search", c)
		if err != nil {
			t.Fatal(err)
		}
		tree := &Tree{Index: search.New(c, nil)}
		all := slices.Concat(set.Tuning, set.HeldOut, set.Fresh, set.Unseen)
		found, tools := 0, 0
		for _, q := range all {
			hits, err := tree.likely(t.Context(), q.Text, &Selection{})
			if err != nil {
				t.Fatal(err)
			}
			hits = hits[:min(len(hits), DefaultMaxTools)]
			tools += len(hits)
			if slices.ContainsFunc(hits, func(h likelyHit) bool { return slices.Contains(q.Tools, h.ID) }) {
				found++
			}
		}
		recall, mean := float64(found)/float64(len(all)), float64(tools)/float64(len(all))
		t.Logf("%s: %d questions, %d tools: recall %.3f with %.1f tools", name, len(all), c.Tools(), recall, mean)
		if recall < want.recall || mean > want.mean {
			t.Errorf("%s: recall %.3f with %.1f tools, want at least %.3f with at most %.1f", name, recall, mean, want.recall, want.mean)
		}
	}
}
