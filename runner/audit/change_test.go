package audit_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestNoteChanges: what is new has a row, whatever else has changed meanwhile, with the texts before and after.
func TestNoteChanges(t *testing.T) {
	m := &memory{}
	l, err := audit.Open(m, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mask := func(text string) string { return strings.ReplaceAll(text, "ann", "[NAME #1]") }
	for _, c := range [][2]string{{"", ""}, {"ask ann", ""}, {"ask ann", "1"}, {"ask ann", "1"}, {"ask ben", "2"}, {"ask ben", "2"}, {"", "2"}} {
		if err := l.NoteChanges(t.Context(), mask, audit.Subject{What: "policy", Text: c[0]}, audit.Subject{What: "tree", Digest: c[1]}); err != nil {
			t.Fatal(err)
		}
	}
	ann, ben := digest("ask ann"), digest("ask ben")
	masked := digest("ask [NAME #1]")
	want := []audit.Change{
		{What: "policy", To: ann, ToText: masked}, {What: "tree", To: "1"}, {What: "policy", From: ann, To: ben, FromText: masked, ToText: ben},
		{What: "tree", From: "1", To: "2"}, {What: "policy", From: ben, FromText: ben},
	}
	if got := changes(t, m); !slices.Equal(got, want) {
		t.Errorf("the rows are %+v, want %+v", got, want)
	}
}

// TestNoteChangesAfterRetention: that something has changed is not claimed when nobody knows what it was.
func TestNoteChangesAfterRetention(t *testing.T) {
	m := &memory{}
	l, err := audit.Open(m, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	note := func(subjects ...audit.Subject) {
		t.Helper()
		if err := l.NoteChanges(t.Context(), strings.Clone, subjects...); err != nil {
			t.Fatal(err)
		}
	}
	note(audit.Subject{What: "tree", Digest: "1"})
	m.rows[0].Content = nil
	note(audit.Subject{What: "tree", Digest: "1"})
	note(audit.Subject{What: "tree", Digest: "1"})
	if got, want := changes(t, m), []audit.Change{{What: "tree", To: "1", Unsure: true}}; !slices.Equal(got, want) {
		t.Errorf("the rows are %+v, want %+v", got, want)
	}
}

func digest(text string) audit.Text {
	return audit.Text(fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
}

// changes returns the rows about changes that have contents.
func changes(t *testing.T, m *memory) (list []audit.Change) {
	t.Helper()
	err := m.Rows(t.Context(), store.Range{}, func(r store.Row) error {
		row, err := audit.Decode(r)
		if err != nil || row.Forgotten {
			return err
		}
		list = append(list, audit.Change{})
		return json.Unmarshal(row.Body, &list[len(list)-1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
