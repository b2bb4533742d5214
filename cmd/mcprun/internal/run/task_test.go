package run

import (
	"regexp"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/task"
)

// TestTaskExamples checks that the demo servers' tools which the examples of the help need are selected.
func TestTaskExamples(t *testing.T) {
	opened, err := gen.Open(gen.Options{Out: "../../../../servers"})
	if err != nil {
		t.Fatal(err)
	}
	tree := &task.Tree{Tree: opened, Index: opened.Index(nil)}
	want := [][]string{{"calculator__add"}, {"drive__get_sheet", "crm__create_record"}, {"weather__get_forecast"}}
	examples := regexp.MustCompile(`"(.+)"`).FindAllStringSubmatch(NewTaskCommand(&cli.App{}, resources.Provider(nil)).Example, -1)
	if len(examples) != len(want) {
		t.Fatalf("examples %q, want %d", examples, len(want))
	}
	for i, e := range examples {
		s, err := tree.Select(t.Context(), e[1], sandbox.LangTypeScript, 0, 0)
		if err != nil {
			t.Fatalf("%s: %v", e[1], err)
		}
		for _, id := range want[i] {
			if !slices.ContainsFunc(s.Tools, func(tool task.Tool) bool { return tool.ID == id }) {
				t.Errorf("%q selects %v, want %s", e[1], s, id)
			}
		}
	}
}
