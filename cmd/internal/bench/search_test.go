package main

import (
	"testing"

	"github.com/mcpgen/mcpgen/gen/search/searchtest"
)

// TestFinders asks all that are compared a question that each can answer.
func TestFinders(t *testing.T) {
	t.Chdir("../../..")
	c, err := searchtest.Catalog(nil, "servers")
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFinders(c)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range f.names {
		got, err := f.find[name](t.Context(), "climate", 3)
		if err != nil || len(got) == 0 || len(got) > 3 || got[0] != "demo_weather__get_climate" {
			t.Errorf("%s finds %v, %v", name, got, err)
		}
	}
	set, err := searchtest.Load("testdata/search", c)
	if err != nil {
		t.Fatal(err)
	}
	if set.Absent == 0 || len(set.Tuning) == 0 || len(set.HeldOut) == 0 {
		t.Errorf("%d and %d questions, %d absent", len(set.Tuning), len(set.HeldOut), set.Absent)
	}
	b := &bench{}
	if err := b.recall(t.Context(), c, set); err != nil {
		t.Fatal(err)
	}
	if len(b.table.rows) != 24 { // of three searches, four sets of questions, two shares
		t.Errorf("%d rows", len(b.table.rows))
	}
}
