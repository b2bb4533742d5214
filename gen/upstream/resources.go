package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Offers are the capabilities that a server declares.
type Offers struct{ Tools, Resources, Prompts bool }

// Offers returns what the server declared when it connected. Servers are not always right about it.
func (s *Session) Offers() Offers {
	init := s.sdk.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return Offers{}
	}
	c := init.Capabilities
	return Offers{Tools: c.Tools != nil, Resources: c.Resources != nil, Prompts: c.Prompts != nil}
}

// ListResources returns the resources that the server lists, byte for byte and in its order. Its bounds and errors are
// those of [Session.ListTools]; a server without resources answers with a *ProtocolError of the code -32601.
func (s *Session) ListResources(ctx context.Context) ([]json.RawMessage, error) {
	return s.listAll(ctx, listing{what: "resources", method: methodListResources, member: "resources", send: empty(s.sdk.ListResources)})
}

// ListResourceTemplates does the same with resource templates.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	return s.listAll(ctx, listing{what: "resource templates", method: methodListTemplates, member: "resourceTemplates", send: empty(s.sdk.ListResourceTemplates)})
}

// ListPrompts does the same with prompts.
func (s *Session) ListPrompts(ctx context.Context) ([]json.RawMessage, error) {
	return s.listAll(ctx, listing{what: "prompts", method: methodListPrompts, member: "prompts", send: empty(s.sdk.ListPrompts)})
}

// empty returns a function that sends a request without parameters.
func empty[P, R any](send func(context.Context, *P) (R, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := send(ctx, new(P))
		return err
	}
}

// ReadResource reads a resource and returns the whole ReadResourceResult, byte for byte; its "contents" is a list. The
// errors are those of [Session.Call].
func (s *Session) ReadResource(ctx context.Context, uri string, opt *CallOptions) (json.RawMessage, error) {
	doing := fmt.Sprintf("read %q", ident.Printable(uri, 200))
	return s.exchange(ctx, request{doing: doing, opt: opt, member: "contents", send: func(ctx context.Context, meta mcp.Meta) error {
		_, err := s.sdk.ReadResource(ctx, &mcp.ReadResourceParams{Meta: meta, URI: uri})
		return err
	}})
}

// GetPrompt gets a prompt with its arguments filled in, and returns the whole GetPromptResult, byte for byte; its
// "messages" is a list. The errors are those of [Session.Call].
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string, opt *CallOptions) (json.RawMessage, error) {
	doing := fmt.Sprintf("get the prompt %q", ident.Printable(name, 200))
	return s.exchange(ctx, request{doing: doing, opt: opt, member: "messages", send: func(ctx context.Context, meta mcp.Meta) error {
		_, err := s.sdk.GetPrompt(ctx, &mcp.GetPromptParams{Meta: meta, Name: name, Arguments: args})
		return err
	}})
}

// ListResources lists the resources of a server: see [Session.ListResources].
func (p *Pool) ListResources(ctx context.Context, key string) ([]json.RawMessage, error) {
	return through(ctx, p, key, nil, func(s *Session) ([]json.RawMessage, error) { return s.ListResources(ctx) })
}

// ListResourceTemplates lists the resource templates of a server: see [Session.ListResourceTemplates].
func (p *Pool) ListResourceTemplates(ctx context.Context, key string) ([]json.RawMessage, error) {
	return through(ctx, p, key, nil, func(s *Session) ([]json.RawMessage, error) { return s.ListResourceTemplates(ctx) })
}

// ListPrompts lists the prompts of a server: see [Session.ListPrompts].
func (p *Pool) ListPrompts(ctx context.Context, key string) ([]json.RawMessage, error) {
	return through(ctx, p, key, nil, func(s *Session) ([]json.RawMessage, error) { return s.ListPrompts(ctx) })
}

// ReadResource reads a resource of a server: see [Session.ReadResource].
func (p *Pool) ReadResource(ctx context.Context, key, uri string, opt *CallOptions) (json.RawMessage, error) {
	return through(ctx, p, key, ownerOf(opt), func(s *Session) (json.RawMessage, error) {
		return noting(s, opt, func() (json.RawMessage, error) { return s.ReadResource(ctx, uri, opt) })
	})
}

// GetPrompt gets a prompt of a server: see [Session.GetPrompt].
func (p *Pool) GetPrompt(ctx context.Context, key, name string, args map[string]string, opt *CallOptions) (json.RawMessage, error) {
	return through(ctx, p, key, ownerOf(opt), func(s *Session) (json.RawMessage, error) { return s.GetPrompt(ctx, name, args, opt) })
}

// Definition returns a tool's definition as the server lists it now: see [Session.Definition].
func (p *Pool) Definition(ctx context.Context, key, tool string) (json.RawMessage, error) {
	return through(ctx, p, key, nil, func(s *Session) (json.RawMessage, error) { return s.Definition(ctx, tool) })
}
