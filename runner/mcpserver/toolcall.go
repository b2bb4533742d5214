package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/arguments"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
)

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
	ask     upstream.ElicitFunc
	canAsk  bool // with forms
}

// reply is the outcome of a tool. Hosts show a model either the text or the structured content, so each is complete.
type reply struct {
	text string
	data any // marshals to a JSON object; clients get it with a member success
	// foreign means that data comes from another server and is passed on unchanged.
	foreign bool
	blocks  []mcp.Content
	meta    map[string]any // for programs
	failed  bool
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

// hinted adds an error's hint to its text.
func hinted(err error) error {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return fmt.Errorf("%w; %s", err, h.Hint())
	}
	return err
}

// reasonOf returns why the project cannot be used, without what only a person can decide.
func reasonOf(err error) string {
	var private interface{ ForModel() string }
	if errors.As(err, &private) {
		return private.ForModel()
	}
	return hinted(err).Error()
}

// withArgs wraps a function that takes decoded arguments as a tool's function.
func withArgs[Args any](run func(ctx context.Context, c *toolCall, args *Args) (*reply, error)) func(context.Context, *toolCall) (*reply, error) {
	return func(ctx context.Context, c *toolCall) (*reply, error) {
		args := new(Args)
		if err := arguments.Decode(c.args, args); err != nil {
			return nil, c.errorf("%v", err)
		}
		return run(ctx, c, args)
	}
}

// handler answers the calls of a tool.
func (cs *customerServer) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState != "" {
			return cs.resume(ctx, t, req)
		}
		v, err := cs.s.refresh(ctx)
		if err != nil {
			return cs.result(nil, modelErrorf("%s: nothing was done: %s", t.name, reasonOf(err)))
		}
		cs.openStream(req)
		if t.long {
			return cs.startLongCall(ctx, v, t, req)
		}
		p := progress.New(ctx, req, cs.s.opt.Quiet, t.name+" running")
		defer p.Close()
		return cs.result(t.run(ctx, &toolCall{cs: cs, view: v, tool: t, args: req.Params.Arguments, progress: p}))
	}
}

// openStream sends the headers of the HTTP answer once the request is known to be valid and to get a result.
func (cs *customerServer) openStream(req *mcp.CallToolRequest) {
	if req.Extra != nil {
		cs.s.streams.Open(req.Extra.Header)
	}
}

// metaKey is the member of a result's _meta for what programs may want and a model need not read.
const metaKey = "com.github.mcpgen/run"

// result returns the result for the client. Errors that are not written for the model may describe this machine and only go to the log.
func (cs *customerServer) result(r *reply, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		var forModel *modelError
		var busy *runqueue.BusyError
		text := err.Error()
		if !errors.As(err, &forModel) && !errors.As(err, &busy) {
			cs.logger().Warn("a tool failed", "error", err)
			text = "the server could not do this; its log has the reason"
		}
		text = ident.CleanText(text) // it may quote other servers
		r = &reply{text: text, data: map[string]any{"success": false, "error": text}, failed: true}
	}
	res := &mcp.CallToolResult{IsError: r.failed, StructuredContent: r.data}
	if r.data != nil && !r.foreign {
		data, err := withSuccess(r.data, !r.failed)
		if err != nil {
			return nil, err
		}
		res.StructuredContent = data
	}
	if r.text != "" || len(r.blocks) == 0 {
		res.Content = append(res.Content, &mcp.TextContent{Text: r.text})
	}
	res.Content = append(res.Content, r.blocks...)
	if r.meta != nil {
		res.Meta = mcp.Meta{metaKey: r.meta}
	}
	return res, nil
}

// withSuccess returns an object as JSON, with a leading member success unless it already begins with one.
func withSuccess(data any, success bool) (json.RawMessage, error) {
	text, err := compactJSON(data)
	if err != nil {
		return nil, err
	}
	const member = `{"success":`
	switch rest, _ := strings.CutPrefix(text, "{"); {
	case strings.HasPrefix(text, member):
		return json.RawMessage(text), nil
	case rest == "}":
		return json.RawMessage(member + strconv.FormatBool(success) + "}"), nil
	default:
		return json.RawMessage(member + strconv.FormatBool(success) + "," + rest), nil
	}
}

// formatNumber writes a number without an exponent.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// compactJSON marshals without spaces, and without escapes for HTML.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// cutText cuts a text after most characters, and says that it was cut.
func cutText(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return fmt.Sprintf("%s\n[cut: %d more bytes]", text[:i], len(text)-i)
		}
		n++
	}
	return text
}

// cleanLines turns each text into one line without invisible characters.
func cleanLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = ident.CleanLine(text)
	}
	return out
}

// firstOf returns the first n elements, or all if there are fewer.
func firstOf[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// mentions reports whether one of the texts contains the query, ignoring case.
func mentions(query string, texts ...string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), query) })
}
