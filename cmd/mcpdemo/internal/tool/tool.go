// Package tool is what the demo servers have in common: one function that
// adds a typed tool with complete schemas and annotations to an MCP server.
//
// Start at [NewServer] and [Add]. Schemas come from the Go types of a tool's
// input and output; struct tags (see [schemaFor]) add what a Go type cannot
// say: bounds, enums, defaults and formats.
package tool

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Version is the version every demo server reports. It only changes when the
// tools do, because clients may show it beside what they generated.
const Version = "1.0.0"

// Server is an MCP server together with what it has opened.
type Server struct {
	*mcp.Server
	close func() error
}

// NewServer returns a server without tools. The instructions are what a
// client hands to its model once, before any tool is called.
func NewServer(name, title, instructions string) *Server {
	return &Server{Server: mcp.NewServer(
		&mcp.Implementation{Name: name, Title: title, Version: Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			// Only tools: an empty set keeps the SDK from advertising logging.
			Capabilities: &mcp.ServerCapabilities{},
		},
	)}
}

// OnClose makes Close call f.
func (s *Server) OnClose(f func() error) { s.close = f }

// Close releases what the server has opened. Sessions must have ended.
func (s *Server) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Delay makes every tool call take at least d, as a call to a remote service
// does. Calls wait concurrently, and a cancelled call stops waiting.
func (s *Server) Delay(d time.Duration) {
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return next(ctx, method, req)
		}
	})
}

// Spec describes a tool beside its types.
type Spec struct {
	Name        string
	Title       string
	Description string
	Effect      Effect
	// Output replaces the schema inferred from the output type where Go types
	// cannot express it, for example a recursive one. Nil means inferred.
	Output *jsonschema.Schema
}

// Add adds a tool to the server. Arguments are validated against the input
// schema and completed with its defaults before run sees them; an error of run
// becomes a result with isError, so the model reads it and can correct itself.
//
// Add panics when the types or their tags make no valid schema: that is a
// mistake in the program which every start would show.
func Add[In, Out any](s *Server, spec Spec, run func(ctx context.Context, in In) (Out, error)) {
	input, err := schemaFor[In]()
	if err != nil {
		panic("tool " + spec.Name + ": input: " + err.Error())
	}
	output := spec.Output
	if output == nil {
		if output, err = schemaFor[Out](); err != nil {
			panic("tool " + spec.Name + ": output: " + err.Error())
		}
	}
	mcp.AddTool(s.Server, &mcp.Tool{
		Name:         spec.Name,
		Title:        spec.Title,
		Description:  spec.Description,
		Annotations:  spec.Effect.annotations(spec.Title),
		InputSchema:  input,
		OutputSchema: output,
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := run(ctx, in)
		return nil, out, err
	})
}
