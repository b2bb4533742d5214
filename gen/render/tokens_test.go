package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/tokens"
)

// maxCost is what a wrapper may cost a model at the median, of the tokens that the tool's definition costs it as
// indented JSON, which is how clients show definitions and how the corpus is recorded.
const maxCost = 0.60

// TestWrappersCostLessThanDefinitions counts tokens: of each wrapper, and of each definition as its server sent it. The
// median is that of the recorded tools of real servers; where they are not there, of ours the sum counts.
func TestWrappersCostLessThanDefinitions(t *testing.T) {
	for target, ratios := range costs(t, []string{goldenDir + "/google-drive.json"}) {
		sum := ratios.total
		t.Logf("%s: our own tools cost %.3f of their definitions", target, sum)
		if sum > maxCost {
			t.Errorf("%s: the wrappers of our own tools cost %.3f of their definitions' tokens, more than %.2f", target, sum, maxCost)
		}
	}
	for target, ratios := range costs(t, corpusPaths(t)) {
		indented, compact := median(ratios.indented), median(ratios.compact)
		t.Logf("%s: %d tools, at the median %.3f of indented JSON, %.3f of compact JSON; all of them %.3f of indented",
			target, len(ratios.indented), indented, compact, ratios.total)
		if indented > maxCost {
			t.Errorf("%s: a wrapper costs %.3f of its definition's tokens at the median, more than %.2f", target, indented, maxCost)
		}
	}
}

// ratios are what wrappers in one language cost, of what the definitions do.
type ratios struct {
	indented, compact []float64 // of each tool, by the layout of the JSON
	total             float64   // of all together, indented
}

// costs measures the tools of recorded servers, by language.
func costs(t *testing.T, paths []string) map[string]*ratios {
	t.Helper()
	out := map[string]*ratios{}
	wrappers, definitions := map[string]int{}, 0
	for _, path := range paths {
		result, err := Render([]Server{loadServer(t, path)}, []Target{TypeScript(), Python()})
		if err != nil {
			t.Fatal(err)
		}
		for id, raw := range rawTools(t, path) {
			var indented, compact bytes.Buffer
			if err := json.Compact(&compact, raw); err != nil {
				t.Fatal(err)
			}
			if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			long, short := tokens.Count(indented.String()), tokens.Count(compact.String())
			definitions += long
			for target, names := range result.Names {
				n := tokens.Count(string(result.Tree[names[id].File]))
				wrappers[target] += n
				if out[target] == nil {
					out[target] = &ratios{}
				}
				out[target].indented = append(out[target].indented, float64(n)/float64(long))
				out[target].compact = append(out[target].compact, float64(n)/float64(short))
			}
		}
	}
	for target, r := range out {
		r.total = float64(wrappers[target]) / float64(definitions)
	}
	return out
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// corpusPaths returns the recorded tool lists that lie beside the repository, if any.
func corpusPaths(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// rawTools returns the definitions in a file of a server's tools as they were sent, by the ids that loadServer gives.
func rawTools(t testing.TB, path string) map[string]json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for i, tool := range loadServer(t, path).Tools {
		out[tool.ID] = file.Tools[i]
	}
	return out
}
