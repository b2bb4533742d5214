package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// servePrompt offers the prompt task, with which a host's own model does a task.
func (cs *customerServer) servePrompt() {
	cs.mcp.AddPrompt(&mcp.Prompt{
		Name: "task", Title: "Do a task", Description: "Select the tools that a task needs, with their functions and the rules of scripts.",
		Arguments: []*mcp.PromptArgument{{Name: "task", Title: "Task", Description: "what is to be done, in words", Required: true}},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		v := cs.s.now.Load()
		if v.Task == nil {
			return nil, fmt.Errorf("there is no generated tree, so there are no tools to select; make one with: mcpgen sync")
		}
		text, err := v.Task(ctx, req.Params.Arguments["task"], v.Languages[0])
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: exit.Hinted(err).Error()}
		}
		return &mcp.GetPromptResult{
			Description: "Do a task", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
		}, nil
	})
}
