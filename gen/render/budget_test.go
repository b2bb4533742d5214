package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/tokens"
)

// The rule of thumb is right on the whole, for definitions and wrappers alike.
func TestEstimate(t *testing.T) {
	paths := append([]string{goldenDir + "/google-drive.json"}, corpusPaths(t)...)
	var json_, code []float64
	for _, path := range paths {
		result, err := Render([]Server{loadServer(t, path)}, []Target{TypeScript(), Python()})
		if err != nil {
			t.Fatal(err)
		}
		for id, raw := range rawTools(t, path) {
			var indented bytes.Buffer
			if err := json.Indent(&indented, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			json_ = append(json_, float64(estimate(indented.Bytes()))/float64(tokens.Count(indented.String())))
			for _, names := range result.Names {
				text := result.Tree[names[id].File]
				code = append(code, float64(estimate(text))/float64(tokens.Count(string(text))))
			}
		}
	}
	for name, ratios := range map[string][]float64{"definitions": json_, "wrappers": code} {
		slices.Sort(ratios)
		low, middle, high := ratios[len(ratios)/10], ratios[len(ratios)/2], ratios[len(ratios)*9/10]
		t.Logf("%s: %.2f %.2f %.2f of their tokens at the first tenth, the median and the last tenth", name, low, middle, high)
		if low < 0.8 || high > 1.25 {
			t.Errorf("%s are estimated at %.2f to %.2f of their tokens", name, low, high)
		}
	}
}
