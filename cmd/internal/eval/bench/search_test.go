package main

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// TestFinders asks every search a question that it can answer.
func TestFinders(t *testing.T) {
	t.Chdir("../../../..")
	c, err := searchtest.Catalog(nil, "servers")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range finders(c, search.New(c, nil)) {
		got, err := f.find(t.Context(), []string{"climate"}, 3)
		if err != nil || len(got) == 0 || len(got) > 3 || got[0] != "demo_weather__get_climate" {
			t.Errorf("%s found %v, %v, want demo_weather__get_climate first", f.name, got, err)
		}
	}
	set, err := searchtest.Load("testdata/search", c)
	if err != nil {
		t.Fatal(err)
	}
	if set.Absent == 0 || len(set.Tuning) == 0 || len(set.HeldOut) == 0 {
		t.Errorf("%d and %d questions, %d absent", len(set.Tuning), len(set.HeldOut), set.Absent)
	}
	b := &bench{root: "."}
	if err := b.recall(t.Context(), c, set); err != nil {
		t.Fatal(err)
	}
	if len(b.table.rows) != 36 { // of two searches, six sets of questions, three shares
		t.Errorf("got %d rows, want 36", len(b.table.rows))
	}
}

// TestEmbeddings measures an endpoint whose vectors say nothing.
func TestEmbeddings(t *testing.T) {
	t.Chdir("../../../..")
	c, err := searchtest.Catalog(nil, "servers")
	if err != nil {
		t.Fatal(err)
	}
	set, err := searchtest.Load("testdata/search", c)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		var data []any
		for i := range asked.Input {
			vector := make([]float64, 32)
			for j := range vector {
				vector[j] = random.NormFloat64()
			}
			data = append(data, map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	defer endpoint.Close()
	b := &bench{root: ".", env: func(name string) string { return map[string]string{"BENCH_EMBEDDINGS_URL": endpoint.URL}[name] }}
	if err := b.embeddings(t.Context(), c, set, "none"); err != nil {
		t.Fatal(err)
	}
	if len(b.table.rows) != 6 || !strings.Contains(b.table.rows[5].Name, "none with weight 0") {
		t.Errorf("got %d rows, the last one %q; want 6, with a weight of 0 or 0.1", len(b.table.rows), b.table.rows[len(b.table.rows)-1].Name)
	}
	endpoint.Close()
	if err := b.embeddings(t.Context(), c, set, "none"); err == nil {
		t.Error("an endpoint that is gone was measured: got no error, want an error")
	}
}
