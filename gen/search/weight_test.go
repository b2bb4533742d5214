package search_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// standIn is an embedder of known quality. The vector of a text about a tool is the tool's vector plus noise of a given length; the vector
// of any other text is noise.
type standIn struct {
	tools map[string]string // by text, the tool that it is about
	noise float64
	calls int
}

// newStandIn returns an embedder that knows what the texts of a catalog's tools and the questions are about.
func newStandIn(c *catalog.Catalog, questions []searchtest.Question, noise float64) *standIn {
	s := &standIn{tools: map[string]string{}, noise: noise}
	for i := range c.Servers {
		for _, t := range c.Servers[i].Tools {
			name := strings.Join(strings.FieldsFunc(t.Name, func(r rune) bool { return r == '_' || r == '-' }), " ")
			s.tools[name] = t.ID
			s.tools[c.Servers[i].Key+": "+name] = t.ID
		}
	}
	for _, q := range questions {
		s.tools[q.Text] = q.Tools[0]
	}
	return s
}

func (s *standIn) Name() string { return "stand-in" }

func (s *standIn) Embed(_ context.Context, texts []string) ([][]float32, error) {
	s.calls++
	out := make([][]float32, len(texts))
	for i, text := range texts {
		first, _, isTool := strings.Cut(text, "\n") // the text of a tool has more lines
		noise := s.noise
		if isTool {
			noise = 0
		}
		out[i] = direction("noise "+text, noise)
		if id, ok := s.tools[first]; ok {
			for j, x := range direction(id, 1) {
				out[i][j] += x
			}
		} else {
			out[i] = direction("noise "+text, 1)
		}
	}
	return out, nil
}

// direction returns a vector of about the given length that depends only on the text.
func direction(text string, length float64) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := make([]float32, 64)
	for i := range out {
		out[i] = float32(length * r.NormFloat64() / 8)
	}
	return out
}

// TestWeight checks that a good embedder gets a great weight and a bad one a small weight, and that neither loses answers.
func TestWeight(t *testing.T) {
	c, set := judged(t, nil)
	questions := slices.Concat(set.HeldOut, set.Unseen, set.Fresh, set.Tuning)
	score := func(opt *search.Options) (float64, float64) {
		t.Helper()
		x := index(t, c, opt)
		s, err := searchtest.Judge(t.Context(), searchtest.Index(x), questions)
		if err != nil {
			t.Fatal(err)
		}
		a, err := x.Answer(t.Context(), search.Query{Text: "close a ticket"})
		if err != nil || a.Degraded != nil {
			t.Fatal(err, a.Degraded)
		}
		return s.At3, a.Weight
	}
	words, none := score(nil)
	if none != 0 {
		t.Errorf("the weight is %v without an embedder, want 0", none)
	}
	for _, tt := range []struct {
		name        string
		noise       float64
		least, most float64 // bounds of the weight
		gain        float64 // least change of recall@3
	}{
		{"good", 0.5, 1, 1, 0.04}, {"useful", 2, 0.25, 1, 0.02}, {"bad", 1000, 0, 0.1, -0.021},
	} {
		got, weight := score(&search.Options{Embedder: newStandIn(c, questions, tt.noise)})
		t.Logf("%s: weight %v, recall@3 %.3f; by words %.3f", tt.name, weight, got, words)
		if weight < tt.least || weight > tt.most {
			t.Errorf("%s: the weight is %v, want %v to %v", tt.name, weight, tt.least, tt.most)
		}
		if got < words+tt.gain {
			t.Errorf("%s: recall@3 is %.3f, by words %.3f; want a change of at least %.3f", tt.name, got, words, tt.gain)
		}
	}
}

// TestWeightIsKept checks that the weight is determined once for the same tools, and again for others.
func TestWeightIsKept(t *testing.T) {
	c, _ := judged(t, nil)
	dir := t.TempDir()
	ask := func(c *catalog.Catalog) float64 {
		t.Helper()
		a, err := index(t, c, &search.Options{Embedder: newStandIn(c, nil, 0.5), CacheDir: dir}).Answer(t.Context(), search.Query{Text: "x"})
		if err != nil || a.Degraded != nil {
			t.Fatal(err, a.Degraded)
		}
		return a.Weight
	}
	if got := ask(c); got != 1 {
		t.Errorf("the weight is %v, want 1", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v, want len(files) 1 and no error", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{
		strings.Replace(string(raw), ":1}", ":0.25}", 1): 0.25, // the stored weight is used
		strings.Replace(string(raw), ":1}", ":77}", 1):   1,    // unless it is not a weight
		"{": 1,
	} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask(c); got != want {
			t.Errorf("kept %s: the weight is %v, want %v", text, got, want)
		}
		if want == 0.25 {
			if got := ask(small(t)); got == 0.25 {
				t.Error("other tools have the same weight")
			}
		}
	}
}
