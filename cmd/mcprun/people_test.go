package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// canaries are personal data of the server of people. None of them may reach a client of mcprun serve.
var canaries = []string{"kim.canary@zephyrus.example.com", "+49 30 901821", "Kimberly Canaryton", "Zephyrus Holdings GmbH", "m.okafor@tailspin.example.com", "Mary Okafor"}

// peopleServer is an MCP server that gives personal data in every way that MCP has. It appends the arguments of its calls to the file that the
// first argument names.
func peopleServer() {
	srv := mcp.NewServer(&mcp.Implementation{Name: "people", Version: "1"}, nil)
	c := canaries
	sentence := fmt.Sprintf("%s of %s has the address %s and the number %s", c[2], c[3], c[0], c[1])
	list := map[string]any{"contacts": []map[string]any{
		{"id": "00Q1", "name": c[2], "email": c[0], "phone": c[1], "company": c[3]},
		{"id": "00Q2", "name": c[5], "email": c[4]},
	}}
	add := func(name string, readOnly bool, do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		hints := &mcp.ToolAnnotations{ReadOnlyHint: readOnly}
		srv.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`), Annotations: hints},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return nil, err
				}
				defer f.Close()
				if _, err := fmt.Fprintf(f, "%s %s\n", name, req.Params.Arguments); err != nil {
					return nil, err
				}
				return do(ctx, req)
			})
	}
	text := func(text string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	add("list_contacts", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: list}, nil
	})
	add("describe", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(sentence) })
	add("blocks", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: sentence},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "people://kim", MIMEType: "text/plain", Text: sentence}},
			&mcp.ResourceLink{URI: "people://kim", Name: c[2], Description: sentence},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte(strings.Repeat("not an image", 20))},
		}}, nil
	})
	add("refuse", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "not now: " + sentence}}}, nil
	})
	add("break", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(sentence)
	})
	add("big", true, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strings.Repeat(sentence+"\n", 2000))
	})
	add("slow", true, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: sentence}); err != nil {
				return nil, err
			}
		}
		return text("done")
	})
	add("ask", true, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		schema := fmt.Appendf(nil, `{"type":"object","properties":{"to":{"type":"string","title":%q,"default":%q}}}`, sentence, c[0])
		answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "write to " + sentence + "?", RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprintf("%s %v", answer.Action, answer.Content))
	})
	add("send", false, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("sent " + string(req.Params.Arguments))
	})
	srv.AddResource(&mcp.Resource{URI: "people://kim", Name: "kim", MIMEType: "text/plain"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "people://kim", MIMEType: "text/plain", Text: sentence}}}, nil
	})
	srv.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "greet " + sentence}}}}, nil
	})
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
