package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/arguments"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
)

// tool is one tool. Every client pays for the definition in tokens, so a description contains only what the name does not say, and a schema
// only what a model must know. Arguments are checked more strictly than the schema says.
type tool struct {
	name, title, description string
	// input is a JSON Schema. Our own tools have no schema of the output: it would cost tokens, and require structured content even with
	// images.
	input, output string
	hints         *mcp.ToolAnnotations
	meta          mcp.Meta
	id            string // the id of a tool of the tree
	// always asks hosts that load definitions on demand to load this one at once. Without it, a model would not know what there is.
	always bool
	run    func(ctx context.Context, c *toolCall) (*reply, error)
	// long calls wait for a place in the queue, and may ask the client's user; stage is what they do while no call of the
	// script is in progress.
	long  bool
	stage string
	// listed tools are in tools/list in [ModeCore], too.
	listed bool
}

func (t *tool) definition() *mcp.Tool {
	d := &mcp.Tool{Meta: t.meta, Name: t.name, Title: t.title, Description: t.description, Annotations: t.hints, InputSchema: json.RawMessage(t.input)}
	if t.output != "" {
		d.OutputSchema = json.RawMessage(t.output)
	}
	if t.always {
		d.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
	}
	return d
}

// toolCall is one tools/call from its first request to its result. In the stateless revision it may take several requests:
// a question to the client ends one, and its answer comes with the next.
type toolCall struct {
	cs       *customerServer
	view     *view
	tool     *tool
	args     json.RawMessage
	progress *progress.Progress
	// session is the client's HTTP session; empty in stateless requests and over stdio.
	session string
	client  Client
	ask     upstream.ElicitFunc
	canAsk  bool // with forms
	passOn  passFunc
	work    string // as in Job
	task    bool   // it is a task, or may become one
	leave   func() // frees its place in the queue; nil: it has no place
}

// inputSchema returns the schema of an object with these properties, some of which are required.
func inputSchema(properties string, required ...string) string {
	if len(required) == 0 {
		return `{"type":"object","properties":` + properties + `}`
	}
	return `{"type":"object","properties":` + properties + `,"required":["` + strings.Join(required, `","`) + `"]}`
}

// reply is the outcome of a tool. Hosts show a model either the text or the structured content, so each is complete.
type reply struct {
	text string
	data any // marshals to a JSON object; clients get it with a member success
	// foreign means that data comes from another server and is passed on unchanged.
	foreign bool
	// hidden means that the runner has removed personal data, unless the mode of the server is off, or that there are only definitions of tools,
	// which tools/list shows too.
	hidden bool
	blocks []mcp.Content
	meta   map[string]any // for programs
	failed bool
}

// modelError is an error whose text is meant for the model.
type modelError struct{ message string }

func (e *modelError) Error() string { return e.message }

func modelErrorf(format string, args ...any) error { return &modelError{fmt.Sprintf(format, args...)} }

// errorf returns an error for the model that begins with the tool's name.
func (c *toolCall) errorf(format string, args ...any) error {
	return modelErrorf("%s: %s", c.tool.name, fmt.Sprintf(format, args...))
}

// advise returns advice that names a tool in the way in which the client reaches it, or "" if the mode does not offer the tool.
func (c *toolCall) advise(format, tool string) string {
	switch {
	case c.cs.s.opt.Mode == ModeCode:
		return ""
	case !c.cs.s.lists(tool):
		tool = ownID(tool) + " (with call_tool)"
	}
	return fmt.Sprintf(format, tool)
}

// reasonOf returns why the project cannot be used, without what only a person can decide.
func reasonOf(err error) string {
	var private interface{ ForModel() string }
	if errors.As(err, &private) {
		return private.ForModel()
	}
	return exit.Hinted(err).Error()
}

// withArgs wraps a function that takes decoded arguments as a tool's function.
func withArgs[Args any](run func(ctx context.Context, c *toolCall, args *Args) (*reply, error)) func(context.Context, *toolCall) (*reply, error) {
	return func(ctx context.Context, c *toolCall) (*reply, error) {
		args := new(Args)
		if err := arguments.Decode(c.args, args); err != nil {
			return nil, c.refused(ctx, c.errorf("%v", err))
		}
		return run(ctx, c, args)
	}
}
