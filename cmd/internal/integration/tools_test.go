package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolsVariable names the file from which the test binary, started again as a server, takes its tools.
const toolsVariable = "MCPGEN_IT_TOOLS"

// tool is a tool definition of that server.
type tool map[string]any

// serveTools is the main function of a stdio server whose tools are in a file, so that a test can change them. Each tool answers
// with its arguments. It returns false if the process is not that server.
func serveTools() bool {
	path := os.Getenv(toolsVariable)
	if path == "" {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal(text, &tools); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	for _, t := range tools {
		srv.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if t.Name == "hang" { // it hangs until it is cancelled, and then reports that beside its tools
				<-ctx.Done()
				return nil, os.WriteFile(filepath.Join(filepath.Dir(path), "cancelled"), nil, 0o600)
			}
			return &mcp.CallToolResult{StructuredContent: req.Params.Arguments}, nil
		})
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// toolServer is the configuration of that server; its tools are in the project's file of that name.
func toolServer(t testing.TB, path string) server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A binary built with -race sleeps for a second before it ends.
	return server{Command: self, Env: map[string]string{toolsVariable: path, "GORACE": "atexit_sleep_ms=0"}}
}

// ticket and invoice are the tools a server begins with.
func ticket() tool {
	return tool{
		"name": "create_ticket", "description": "Opens a ticket.",
		"inputSchema": object("title", map[string]any{
			"title":    map[string]any{"type": "string", "description": "What it is about"},
			"priority": map[string]any{"enum": []string{"low", "high"}},
		}),
		"outputSchema": object("id", map[string]any{"id": map[string]any{"type": "string"}}),
		"annotations":  map[string]any{"readOnlyHint": false, "destructiveHint": false},
	}
}

func invoice() tool {
	return tool{"name": "get_invoice", "description": "Reads an invoice.", "inputSchema": object("number", map[string]any{
		"number": map[string]any{"type": "integer"},
	})}
}

func object(required string, properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": []string{required}}
}

// with returns a copy of the tool with other members.
func (t tool) with(members tool) tool {
	changed := maps.Clone(t)
	maps.Copy(changed, members)
	return changed
}
