// Package tooltest holds the checks that every demo server must pass.
package tooltest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// Call is one tool call of a tour through a server.
type Call struct {
	Tool string
	Args map[string]any
	// Want must be part of the result's JSON or, with Fails, of the error text.
	Want  string
	Fails bool
}

// Connect returns a client session with the server over memory. Both end with
// the test.
func Connect(t *testing.T, srv *tool.Server) *mcp.ClientSession {
	t.Helper()
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	serverSession, err := srv.Connect(ctx, serverEnd, nil)
	if err != nil {
		t.Fatalf("connect server: %v", err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		t.Fatalf("connect client: %v", err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = serverSession.Wait()
		if err := srv.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return client
}

// Tour checks the description of every tool and makes the calls in order. It
// fails when a tool is never called successfully.
func Tour(t *testing.T, srv *tool.Server, calls []Call) {
	t.Helper()
	client := Connect(t, srv)
	list, err := client.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatalf("list tools: %v", err)
	}
	if client.InitializeResult().Instructions == "" {
		t.Error("the server has no instructions")
	}
	uncalled := map[string]bool{}
	for _, tl := range list.Tools {
		uncalled[tl.Name] = true
		checkTool(t, tl)
	}
	for _, call := range calls {
		text, isError := Do(t, client, call.Tool, call.Args)
		if isError != call.Fails || !strings.Contains(text, call.Want) {
			t.Errorf("%s(%v): error %v, want %v with %q in:\n%.2000s", call.Tool, call.Args, isError, call.Fails, call.Want, text)
		}
		if !isError {
			delete(uncalled, call.Tool)
		}
	}
	for name := range uncalled {
		t.Errorf("tool %s was never called successfully", name)
	}
}

// Do calls a tool and returns its structured result as JSON, or its error text.
func Do(t *testing.T, client *mcp.ClientSession, name string, args map[string]any) (text string, isError bool) {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	res, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	if res.IsError {
		return res.Content[0].(*mcp.TextContent).Text, true
	}
	if res.StructuredContent == nil {
		t.Fatalf("%s returned no structured content", name)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), false
}

// Decode calls a tool, which must succeed, and decodes its structured result.
func Decode[T any](t *testing.T, client *mcp.ClientSession, name string, args map[string]any) T {
	t.Helper()
	text, isError := Do(t, client, name, args)
	if isError {
		t.Fatalf("%s(%v): %s", name, args, text)
	}
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// checkTool holds a tool to what a good public server offers.
func checkTool(t *testing.T, tl *mcp.Tool) {
	t.Helper()
	if tl.Title == "" || len(tl.Description) < 60 || tl.Annotations == nil || tl.OutputSchema == nil {
		t.Errorf("%s lacks a title, a description of 60 bytes, annotations or an output schema: %+v", tl.Name, tl)
	}
	checkDescribed(t, tl.Name+" input", tl.InputSchema)
	checkDescribed(t, tl.Name+" output", tl.OutputSchema)
}

// checkDescribed wants a description on every property, at every depth.
func checkDescribed(t *testing.T, where string, schema any) {
	t.Helper()
	node, _ := schema.(map[string]any)
	for _, key := range []string{"properties", "$defs"} {
		children, _ := node[key].(map[string]any)
		for name, child := range children {
			property, _ := child.(map[string]any)
			if text, _ := property["description"].(string); text == "" {
				t.Errorf("%s: property %q has no description", where, name)
			}
			checkDescribed(t, where+"."+name, child)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if node[key] != nil {
			checkDescribed(t, where+"."+key, node[key])
		}
	}
}
