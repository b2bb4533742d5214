package audit_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestNoteChange: a digest has a row when it is new, whatever else has changed meanwhile.
func TestNoteChange(t *testing.T) {
	m := &memory{}
	l, err := audit.Open(m, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range [][2]string{{"policy", ""}, {"policy", "a"}, {"tree", "1"}, {"policy", "a"}, {"tree", "2"}, {"policy", "b"}, {"policy", "b"}, {"tree", "2"}, {"policy", ""}} {
		if err := l.NoteChange(t.Context(), c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	var got []audit.Change
	err = m.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		row, err := audit.Decode(r)
		if err != nil {
			return err
		}
		got = append(got, audit.Change{})
		return json.Unmarshal(row.Body, &got[len(got)-1])
	})
	want := []audit.Change{{"policy", "", "a"}, {"tree", "", "1"}, {"tree", "1", "2"}, {"policy", "a", "b"}, {"policy", "b", ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the rows are %v, %v, want %v", got, err, want)
	}
}
