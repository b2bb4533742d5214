package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/listing"
	"github.com/mcpgen/mcpgen/runner/call"
)

const (
	// maxToolName bounds the names of tools in a list, because OpenAI accepts no longer ones.
	maxToolName = 64
	// maxPassed bounds a result that is passed to a host's code, in bytes. It is less than the largest message that clients read.
	maxPassed = 10 << 20
	// idKey is the member of a tool's _meta that holds its id if the id is too long for a name.
	idKey = "com.github.mcpgen/id"
	// otherToolName is the name of the tool that receives calls of unlisted names. No id contains a dot.
	otherToolName = "mcprun.other"
)

// passthroughTools returns the tools of the tree. Each of them is call_tool for a single tool.
func passthroughTools(p *Project) []*tool {
	if p.Catalog == nil {
		return nil
	}
	var out []*tool
	var ids []string
	for i := range p.Catalog.Servers {
		for j := range p.Catalog.Servers[i].Tools {
			t := &p.Catalog.Servers[i].Tools[j]
			shape, about := t.Output, ""
			if learned, ok := p.Learned[t.ID]; ok && t.Output == nil {
				shape, about = learned.Schema, fmt.Sprintf("learned from %d replies; not declared by the server", learned.Replies)
				if learned.Replies == 1 {
					about = "learned from 1 reply; not declared by the server"
				}
			}
			output, described := listing.Output(shape, about)
			out = append(out, &tool{
				id: t.ID, title: ident.Clip(ident.CleanLine(t.Title), listing.MaxText), description: ident.Clip(ident.CleanText(t.Description), listing.MaxText),
				input: string(listing.Input(t.Input)), output: string(output), hints: annotations(t.Hints),
				run: callPassed(t.ID, described), long: true, stage: t.ID + " running",
			})
			ids = append(ids, t.ID)
		}
	}
	for i, name := range ident.Unique(ids, shortName, nil) {
		if out[i].name = name; name != ids[i] {
			out[i].meta = mcp.Meta{idKey: ids[i]}
		}
	}
	return out
}

// shortName returns an id, or for a long one its beginning and a hash of the whole.
func shortName(id string) string {
	if len(id) <= maxToolName {
		return id
	}
	hash := "_" + ident.Hash(id)
	return strings.TrimRight(id[:maxToolName-len(hash)], "_") + hash
}

// annotations returns the hints that a tool's server gives.
func annotations(h catalog.Hints) *mcp.ToolAnnotations {
	if h == (catalog.Hints{}) {
		return nil
	}
	said := func(b *bool) bool { return b != nil && *b }
	return &mcp.ToolAnnotations{ReadOnlyHint: said(h.ReadOnly), IdempotentHint: said(h.Idempotent), DestructiveHint: h.Destructive, OpenWorldHint: h.OpenWorld}
}

// callPassed returns the function of a tool that passes calls on. described reports whether the tool's results have a schema: clients then
// demand structured content.
func callPassed(id string, described bool) func(context.Context, *toolCall) (*reply, error) {
	return func(ctx context.Context, c *toolCall) (*reply, error) {
		if c.cs.s.opt.Call == nil {
			return nil, c.refused(ctx, c.errorf("calls are not available here"))
		}
		args := &callToolArgs{Tool: id, Arguments: c.args}
		if err := c.object(&args.Arguments); err != nil {
			return nil, c.refused(ctx, err)
		}
		return c.forward(ctx, args, func(_ context.Context, a *CallAnswer) (*reply, error) { return c.passedReply(a, described) })
	}
}

// passedReply returns another server's result for code, with its blocks unchanged. Notes about it follow in a block of their own, because
// code may read the text as JSON.
func (c *toolCall) passedReply(a *CallAnswer, described bool) (*reply, error) {
	res, err := c.read(a)
	if err != nil {
		return nil, err
	}
	if len(a.Raw) > maxPassed {
		return nil, c.errorf("the call was made; its result of %d bytes is not passed on, because it is more than %d. Ask for less, for example for fewer rows or fields", len(a.Raw), maxPassed)
	}
	r := &reply{failed: res.IsError || a.Failed, foreign: true}
	var texts []string
	for _, raw := range res.Content {
		block := readBlock(raw)
		if block == nil {
			block = &mcp.TextContent{Text: fmt.Sprintf("[a block of %d bytes, of an unknown type, is left out]", len(raw))}
		}
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
		r.blocks = append(r.blocks, block)
	}
	text := joinOutput(texts...)
	switch {
	case r.failed && res.Structured == nil:
		r.data, r.foreign = map[string]any{"error": text}, false
	case res.Structured != nil:
		r.data = asObject(res.Structured)
	case described && len(res.Content) == 1 && len(texts) == 1 && call.HoldsJSON(text):
		r.data = asObject(json.RawMessage(text))
	case described:
		value, _ := json.Marshal(text) // a string can always be marshalled
		r.data = asObject(value)
	}
	if len(r.blocks) == 0 && r.text == "" && res.Structured != nil {
		r.text = string(res.Structured)
	}
	for _, w := range cleanLines(firstOf(a.Warnings, 3)) {
		r.blocks = append(r.blocks, &mcp.TextContent{Text: "warning: " + w})
	}
	return r, nil
}

// otherTool is the tool that receives calls of unlisted names: an id that is too long for a name, another name of a tool, or a name that
// does not exist, for which the call suggests others.
func otherTool() *tool {
	return &tool{
		name: otherToolName, input: inputSchema("{}"), long: true, stage: "call running",
		run: func(ctx context.Context, c *toolCall) (*reply, error) {
			id, _ := ctx.Value(calledKey{}).(string)
			return callPassed(id, false)(ctx, c)
		},
	}
}

// calledKey is the context key of the name under which otherTool was called.
type calledKey struct{}

// routed routes calls of unlisted names to otherTool.
func (s *Server) routed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			if _, listed := s.now.Load().place[call.Params.Name]; !listed {
				ctx = context.WithValue(ctx, calledKey{}, call.Params.Name)
				call.Params.Name = otherToolName
			}
		}
		return next(ctx, method, req)
	}
}
