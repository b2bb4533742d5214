package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fourServers are the servers of the examples of tasks: calculator (3 tools), weather (2), filesystem (3), database (3). The first argument names
// the one to be.
func fourServers() {
	tools := map[string][]string{
		"calculator": {"add|Add two numbers|a:number b:number", "multiply|Multiply two numbers|a:number b:number", "calculate|Evaluate a mathematical expression|expression:string"},
		"weather":    {"get_current_weather|Get current weather for a city|city:string", "get_forecast|Get the weather forecast for a city|city:string"},
		"filesystem": {"read_file|Read a file|path:string", "write_file|Write a file|path:string content:string", "list_directory|List the content of a directory|path:string"},
		"database":   {"query|Run a SQL query|sql:string", "insert|Insert a row into a table|table:string", "list_tables|List all tables|"},
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: os.Args[1], Version: "1"}, nil)
	for _, line := range tools[os.Args[1]] {
		parts := strings.Split(line, "|")
		properties, required := map[string]any{}, []string{}
		for _, f := range strings.Fields(parts[2]) {
			name, typ, _ := strings.Cut(f, ":")
			properties[name], required = map[string]string{"type": typ}, append(required, name)
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
		if err != nil {
			panic(err)
		}
		srv.AddTool(&mcp.Tool{Name: parts[0], Description: parts[1], InputSchema: json.RawMessage(schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				A, B       float64
				Expression string
			}
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			if in.Expression != "" {
				if _, err := fmt.Sscanf(in.Expression, "%g + %g", &in.A, &in.B); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{StructuredContent: map[string]float64{"result": in.A + in.B}}, nil
		})
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
