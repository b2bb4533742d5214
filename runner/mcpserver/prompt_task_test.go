package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// TestPromptTask checks the prompt with which a host's own model does a task, in both eras.
func TestPromptTask(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		w := newFixture(t)
		w.opt.Task = func(_ context.Context, text, language string) (string, error) {
			if text == "" {
				return "", errors.New("the task is empty")
			}
			return "do " + text + " in " + language, nil
		}
		c := w.stdio(w.server(), revision, nil)
		list, err := c.ListPrompts(t.Context(), nil)
		if err != nil || len(list.Prompts) != 1 || list.Prompts[0].Name != "task" || !list.Prompts[0].Arguments[0].Required {
			t.Fatalf("%s: prompts %+v, %v, want task", revision, list, err)
		}
		got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task", Arguments: map[string]string{"task": "Calculate 5 + 3"}})
		if err != nil || len(got.Messages) != 1 || got.Messages[0].Content.(*mcp.TextContent).Text != "do Calculate 5 + 3 in typescript" {
			t.Errorf("%s: %+v, %v, want the text of Task", revision, got, err)
		}
		if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task"}); err == nil || !strings.Contains(err.Error(), "the task is empty") {
			t.Errorf("%s: without a task: %v, want an error that says so", revision, err)
		}
	}
	w := newFixture(t)
	if _, err := w.stdio(w.server(), "2025-11-25", nil).GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task"}); err == nil || !strings.Contains(err.Error(), "mcpgen sync") {
		t.Errorf("without a tree: %v, want an error that says what to do", err)
	}
	w = newFixture(t)
	w.opt.Mode = mcpserver.ModePassthrough
	if c := w.stdio(w.server(), "2025-11-25", nil); c.InitializeResult().Capabilities.Prompts != nil {
		t.Error("prompts are offered where no script can run")
	}
}
