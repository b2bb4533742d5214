package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// direct measures calls to the calculator made with the SDK alone, in microseconds.
func (b *bench) direct(ctx context.Context, n int) (samples []float64, err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, filepath.Join(b.root, "bin", "mcpdemo"), "calculator")}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the calculator: %w", err)
	}
	defer func() {
		if e := session.Close(); err == nil {
			err = e
		}
	}()
	for i := range n + 20 {
		start := time.Now()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"numbers": []int{i, 2}}})
		if err != nil {
			return nil, err
		}
		if res.IsError {
			return nil, fmt.Errorf("the calculator answered with an error")
		}
		if i >= 20 {
			samples = append(samples, micros(time.Since(start)))
		}
	}
	return samples, nil
}
