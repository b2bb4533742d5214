package main

import (
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
