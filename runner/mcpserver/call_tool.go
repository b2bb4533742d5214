package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/listing"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/images"
	"github.com/mcpgen/mcpgen/runner/workspace"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// resultsFolder holds results that are too large for a model, in the host's folder of the workspace.
const resultsFolder = "results"

// maxBlocks bounds the content blocks of a result besides its text.
const maxBlocks = 100

type callToolArgs struct {
	Tool      string          `json:"tool" required:""`
	Arguments json.RawMessage `json:"arguments"`
}

func callCallTool(ctx context.Context, c *toolCall, args *callToolArgs) (*reply, error) {
	if err := c.object(&args.Arguments); err != nil {
		return nil, c.refused(ctx, err)
	}
	if t := c.cs.s.ownTool(args.Tool); t != nil {
		return t.run(ctx, &toolCall{cs: c.cs, view: c.view, tool: t, args: args.Arguments, progress: c.progress, session: c.session, client: c.client, ask: c.ask, canAsk: c.canAsk})
	}
	if c.cs.s.opt.Call == nil {
		return nil, c.refused(ctx, c.errorf("calls without a script are not available here; use execute_code"))
	}
	return c.forward(ctx, args, c.upstreamReply)
}

// object checks the arguments for a tool of another server.
func (c *toolCall) object(args *json.RawMessage) error {
	switch text := strings.TrimSpace(string(*args)); {
	case text == "null":
		*args = nil
	case text != "" && text[0] != '{':
		return c.errorf("arguments must be an object")
	}
	return nil
}

// forward makes a call, logs it, and returns the result that reply builds from the answer.
func (c *toolCall) forward(ctx context.Context, args *callToolArgs, reply func(context.Context, *CallAnswer) (*reply, error)) (*reply, error) {
	r, record, err := c.send(ctx, args, reply)
	c.noteCall(args.Tool, record, r, err)
	if err == nil {
		r.hidden = true
	}
	return r, err
}

func (c *toolCall) send(ctx context.Context, args *callToolArgs, reply func(context.Context, *CallAnswer) (*reply, error)) (*reply, chain.CallRecord, error) {
	answer, err := c.cs.s.opt.Call(ctx, &CallJob{Customer: c.cs.customer, Session: c.session, Client: c.client, Tool: args.Tool, Args: args.Arguments, Ask: c.ask, CanAsk: c.canAsk, Watch: c.progress.Watch, Work: c.work, Ending: c.cs.s.ctx.Done()})
	if err != nil {
		return nil, chain.CallRecord{}, c.errorf("%v", err)
	}
	switch {
	case answer.Failed && answer.Code != 0 && c.cs.s.opt.Mode == ModePassthrough: // its callers are programs
		return nil, answer.Record, &jsonrpc.Error{Code: int64(answer.Code), Message: answer.Message}
	case answer.Failed && len(answer.Raw) == 0:
		return nil, answer.Record, modelErrorf("%s", answer.Message)
	case answer.Record.Outcome == chain.OutcomeDry: // there is no result
		return skipped(&answer.Record), answer.Record, nil
	}
	r, err := reply(ctx, answer)
	return r, answer.Record, err
}

// skipped returns the reply to a call that a dry run lists instead of making it.
func skipped(record *chain.CallRecord) *reply {
	text := fmt.Sprintf("dry run: skipped %s %s", record.Tool, ident.CleanLine(string(record.Arguments)))
	if record.Skipped != "" {
		text += "; " + ident.CleanLine(record.Skipped)
	}
	return &reply{text: text, data: map[string]any{"skipped": text}}
}

// noteCall logs a call as a run that consists of this call, without its result, which may be confidential.
func (c *toolCall) noteCall(tool string, record chain.CallRecord, r *reply, err error) {
	run := &customer.Run{Name: c.tool.name, Code: tool, Cause: string(runner.CauseExit), DurationMS: record.DurationMS, CallCount: 1, Cache: record.CacheUse().Some()}
	one := runner.LoggedCall(&record)
	one.Tool, one.Outcome = cmp.Or(one.Tool, tool), cmp.Or(one.Outcome, chain.OutcomeOK)
	switch {
	case one.Outcome != chain.OutcomeOK:
	case err != nil: // the result could not be read
		one.Outcome = string(runner.CauseError)
	case r.failed: // the tool reported it in its result
		one.Outcome = string(call.KindTool)
	}
	if err != nil || r.failed {
		run.ExitCode, run.Cause = call.Kind(one.Outcome).ExitCode(exit.Failed), string(runner.CauseError)
	}
	if err != nil {
		run.Message = err.Error()
	}
	run.Calls = []customer.Call{one}
	c.cs.note(Entry{c.session, run})
}

// upstreamReply returns another server's result unchanged, so that it costs no more than a direct call. A result over the limit goes to a
// file, and only its beginning is shown.
func (c *toolCall) upstreamReply(ctx context.Context, a *CallAnswer) (*reply, error) {
	res, err := c.read(a)
	if err != nil {
		return nil, err
	}
	r := &reply{failed: res.IsError || a.Failed}
	r.blocks, r.text = splitContent(res.Content)
	if r.text == "" && res.Structured != nil {
		r.text = string(res.Structured)
	}
	limit := c.cs.s.opt.MaxText
	switch {
	case len(r.text) > limit || len(res.Structured) > limit:
		r.text = c.keepLarge(ctx, r.text, res.Structured, c.hides(a.Record.Tool))
		if len(res.Structured) > 0 || len(r.blocks) == 0 {
			r.data = map[string]any{"preview": r.text}
		}
	case len(res.Structured) > 0:
		r.data, r.foreign = asObject(res.Structured), true
	}
	if r.failed && r.data == nil && len(r.blocks) == 0 {
		r.data = map[string]any{"error": r.text}
	}
	for _, w := range cleanLines(firstOf(a.Warnings, 3)) {
		r.text = joinOutput(r.text, "warning: "+w)
	}
	return r, nil
}

// upstreamResult is another server's result.
type upstreamResult struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"` // empty if there is none
	IsError    bool              `json:"isError"`
}

func (c *toolCall) read(a *CallAnswer) (*upstreamResult, error) {
	res := &upstreamResult{}
	if err := json.Unmarshal(a.Raw, res); err != nil {
		return nil, c.errorf("the server's result cannot be read: %v", err)
	}
	if string(res.Structured) == "null" {
		res.Structured = nil
	}
	return res, nil
}

// splitContent returns the blocks of a result that are passed on, and the text of the rest.
func splitContent(content []json.RawMessage) (blocks []mcp.Content, text string) {
	var texts []string
	free, dropped := images.MaxBytes, 0
	for _, raw := range content {
		block, blockText := parseBlock(raw)
		switch {
		case block == nil && blockText != nil:
			texts = append(texts, *blockText)
		case block != nil && len(blocks) >= maxBlocks:
			dropped++
		case block != nil && len(raw) <= free:
			free -= len(raw)
			blocks = append(blocks, block)
		default:
			texts = append(texts, fmt.Sprintf("[a block of %d bytes is left out: use execute_code to save it to a file]", len(raw)))
		}
	}
	if dropped > 0 {
		texts = append(texts, fmt.Sprintf("[%d more blocks that are not text are left out: use execute_code to save them to files]", dropped))
	}
	return blocks, joinOutput(texts...)
}

// readBlock returns a content block, or nil if its type is unknown. Annotations that are not valid are left out: clients throw
// away a whole result for them.
func readBlock(raw json.RawMessage) mcp.Content {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil
	}
	if given, has := parts["annotations"]; has && !validAnnotations(given) {
		delete(parts, "annotations")
		raw, _ = json.Marshal(parts) // it was read from JSON
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"content":[`+string(raw)+`]}`), &res); err != nil || len(res.Content) != 1 {
		return nil
	}
	return res.Content[0]
}

func validAnnotations(raw json.RawMessage) bool {
	var a mcp.Annotations
	if err := json.Unmarshal(raw, &a); err != nil {
		return false
	}
	unknown := func(r mcp.Role) bool { return r != "user" && r != "assistant" }
	return !slices.ContainsFunc(a.Audience, unknown) && a.Priority >= 0 && a.Priority <= 1 &&
		(a.LastModified == "" || new(time.Time).UnmarshalText([]byte(a.LastModified)) == nil)
}

// parseBlock returns a content block, or the text of one. It returns neither if the type is unknown.
func parseBlock(raw json.RawMessage) (block mcp.Content, text *string) {
	switch b := readBlock(raw).(type) {
	case *mcp.TextContent:
		return nil, &b.Text
	case *mcp.EmbeddedResource:
		if b.Resource == nil {
			return nil, nil
		}
		if b.Resource.Text != "" {
			return nil, &b.Resource.Text
		}
		return b, nil
	case *mcp.ImageContent, *mcp.AudioContent, *mcp.ResourceLink:
		return b, nil
	}
	return nil, nil
}

// keepLarge writes a result to a file in the workspace. It returns the beginning of the result and says where the rest is. hidden says that the
// result has tokens in place of personal data.
func (c *toolCall) keepLarge(ctx context.Context, text string, structured json.RawMessage, hidden bool) string {
	data, extension := []byte(text), "txt"
	if len(structured) > 0 {
		data, extension = structured, "json"
	}
	where := "and could not be kept"
	if c.cs.customer.Files != "" {
		whole := data
		if hidden {
			whole = c.unmasked(data)
		}
		if file, err := c.keep(ctx, extension, whole); err != nil {
			where += " (" + hidePath(err).Error() + ")"
		} else {
			where = "all of it is in " + file + " in the workspace"
		}
	}
	const preview = 2000
	return fmt.Sprintf("%s\n[the result has %d bytes, more than the %d that are shown; %s. Use execute_code to work with such results.]",
		ident.Head(string(data), preview), len(data), c.cs.s.opt.MaxText, where)
}

// keep writes data to a new file in the host's folder of the workspace, and returns its path in the workspace.
func (c *toolCall) keep(ctx context.Context, extension string, data []byte) (string, error) {
	dir, err := workspace.Open(c.cs.customer.Files)
	if err != nil {
		return "", err
	}
	if err := c.checkQuota(ctx, dir, int64(len(data))); err != nil {
		return "", err
	}
	store := workspace.NewStore(dir, int64(len(data)))
	defer store.Close()
	return store.Put(resultsFolder, "call-"+strings.ToLower(rand.Text()[:12])+"."+extension, data)
}

// asObject returns a value as structured content, which must be an object. Any other value becomes its member [listing.Result], as in other
// servers. Revisions before 2026-07-28 allow objects only, and their clients discard a result with anything else, although the call was
// made.
func asObject(value json.RawMessage) json.RawMessage {
	if value = bytes.TrimSpace(value); value[0] == '{' {
		return value
	}
	return json.RawMessage(`{"` + listing.Result + `":` + string(value) + `}`)
}
