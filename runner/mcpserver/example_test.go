package mcpserver_test

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
)

// A client calls execute_code over a pair of pipes.
func Example() {
	server, err := mcpserver.New(&mcpserver.Options{
		Run: func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
			return &runner.Result{Cause: runner.CauseExit, Stdout: "ran " + job.Language + "\n"}, nil
		},
		Customer: func(_ context.Context, id string) (*mcpserver.Customer, error) {
			return &mcpserver.Customer{ID: id}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() { _ = server.Stdio(ctx, "", in, out) }()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "console.log(1)"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output: ran typescript
}
