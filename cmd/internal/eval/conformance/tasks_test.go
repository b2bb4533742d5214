package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolsVariable says that this process is the server whose tools the suite's scenarios of tasks call. mcprun serve passes them on.
const toolsVariable = "MCPGEN_CONFORMANCE_TOOLS"

// taskTime is more than the time after which mcprun serve makes a call a task.
const taskTime = 900 * time.Millisecond

// serveTools serves the tools that the scenarios of tasks need over standard input and output. None knows of tasks.
func serveTools() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "tasks", Version: "1"}, nil)
	add := func(name, properties string, run func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{
			Name: name, Description: "Part of the conformance suite.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`),
		}, run)
	}
	text := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	rest := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	form := func(fields string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Mode: "form", Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{` + fields + `}}`)}
	}
	const name, confirm = `"name":{"type":"string"}`, `"confirm":{"type":"boolean"}`
	add("greet", name, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Name string }
		err := json.Unmarshal(req.Params.Arguments, &args)
		return text("Hello, %s!", args.Name), err
	})
	add("slow_compute", `"seconds":{"type":"number"},"label":{"type":"string"}`, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Seconds float64 }
		err := json.Unmarshal(req.Params.Arguments, &args)
		rest(ctx, time.Duration(args.Seconds*float64(time.Second)))
		return text("computed"), err
	})
	add("failing_job", "", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rest(ctx, taskTime)
		res := text("the job failed")
		res.IsError = true
		return res, nil
	})
	add("protocol_error_job", "", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rest(ctx, taskTime)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke the server"}
	})
	asks := func(tool string, before, after time.Duration, questions map[string]string) {
		add(tool, `"filename":{"type":"string"}`, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) == 0 {
				rest(ctx, before)
				asked := mcp.InputRequestMap{}
				for key, fields := range questions {
					asked[key] = form(fields)
				}
				return &mcp.CallToolResult{InputRequests: asked}, nil
			}
			rest(ctx, after)
			answers, err := json.Marshal(req.Params.InputResponses)
			return text("%s", answers), err
		})
	}
	asks("confirm_delete", taskTime, 0, map[string]string{"sure": confirm})
	asks("multi_input", taskTime, 0, map[string]string{"first": name, "second": confirm})
	asks("test_tool_with_task", 0, taskTime, map[string]string{"who": name})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// serveTasks starts mcprun serve in a project of its own, with the tools of serveTools, and returns its URL.
func (s *suite) serveTasks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"suite": map[string]any{"command": self, "env": map[string]string{toolsVariable: "1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	sync := exec.Command(filepath.Join(s.bin, "mcpgen"), "sync", "--trust-config")
	sync.Dir = dir
	if out, err := sync.CombinedOutput(); err != nil {
		t.Fatalf("mcpgen sync: %v\n%s", err, out)
	}
	return s.start(t, dir, "--tools", "passthrough")
}

// isAboutTasks reports whether a scenario needs the tools of serveTools.
func (s scenario) isAboutTasks() bool { return strings.HasPrefix(s.name, "tasks-") }
