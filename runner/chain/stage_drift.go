package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// definer returns the definition that a server has of a tool now. *upstream.Pool implements it.
type definer interface {
	Definition(ctx context.Context, server, tool string) (json.RawMessage, error)
}

// concealer removes the values of the configuration's variables from a text. *upstream.Pool implements it.
type concealer interface{ Conceal(text string) string }

// drift refuses a tool whose definition has changed since the tree was made: nobody has reviewed what would be called.
func (c *Calls) drift(next handler) handler {
	up, ok := c.chain.upstreams.(definer)
	if !ok {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		req.waiting.begin(ctx, waitList)
		live, err := up.Definition(ctx, req.Server, req.Name)
		changed := ""
		switch {
		case errors.Is(err, upstream.ErrUnknownTool):
			changed = "the server does not list this tool any more"
		case err != nil && (!c.set.AllowDrift || isConnection(err) || ctx.Err() != nil):
			return nil, unchecked(ctx, req, err)
		case err == nil:
			changed = c.chain.changed(req, live)
		}
		switch {
		case changed == "":
		case c.set.AllowDrift:
			c.warn(req, "called although it drifted from the tree: %s", changed)
		default:
			return nil, refusal(call.KindDenied, req, `drift: %s; look at it with "mcpgen sync --diff" and accept it with "mcpgen sync", or let it through with --allow-drift`, changed)
		}
		req.waiting.begin(ctx, waitAnswer)
		return next(ctx, req)
	}
}

// unchecked returns the error of a call whose tool's definition could not be read. If the server does not list its tools, the
// error says so and what helps: the server's own error is about its list, not about the call.
func unchecked(ctx context.Context, req *request, err error) *call.Error {
	out := callError(ctx, req, notSent(err))
	var refused *upstream.ProtocolError
	why := ""
	switch {
	case ctx.Err() != nil:
		return out
	case errors.As(err, &refused) && refused.Code == upstream.CodeBadAnswer:
		why = "does not answer tools/list as MCP says: " + ident.Clip(refused.Message, maxListReason)
	case errors.As(err, &refused):
		why = fmt.Sprintf("answers tools/list with error %d: %s", refused.Code, ident.Clip(refused.Message, maxListReason))
	case errors.Is(err, upstream.ErrListTimeout):
		why, out.Retryable = "did not answer tools/list in time", true
	default:
		return out
	}
	out.Message = fmt.Sprintf(`the definitions of server %q cannot be checked against the lock, since it %s; nothing was sent; try it with "mcpgen sync --check", fix or update the server, or allow calls with --allow-drift`,
		req.Server, why)
	return out
}

// maxListReason bounds, in bytes, the quote of a server that does not list its tools: the remedy follows it.
const maxListReason = 1000

// notSent marks the error of a connection that was lost while the definition was read: the call itself was not sent.
func notSent(err error) error {
	var gone *upstream.ConnectionError
	if !errors.As(err, &gone) {
		return err
	}
	before := *gone
	before.NotSent = true
	return &before
}

func isConnection(err error) bool {
	var gone *upstream.ConnectionError
	return errors.As(err, &gone)
}

// changed describes how a tool's definition differs from the locked one; empty when it does not.
func (ch *Chain) changed(req *request, live json.RawMessage) string {
	server, locked, ok := ch.catalog.Lookup(req.Tool)
	if !ok {
		return "it is not in the tree"
	}
	ch.mu.Lock()
	known := ch.same[req.Tool]
	ch.mu.Unlock()
	if known != nil && bytes.Equal(known, live) {
		return ""
	}
	digest, err := catalog.Digest(live)
	if err == nil && digest == locked.Digest {
		ch.mu.Lock()
		ch.same[req.Tool] = live
		ch.mu.Unlock()
		return ""
	}
	return describeChange(server.Key, locked, live)
}

const (
	maxChangeLines = 3
	maxChangeText  = 200 // bytes of a line
)

// describeChange describes the difference. Its quotes are text of the server.
func describeChange(server string, locked *catalog.Tool, live json.RawMessage) string {
	const plainly = "its definition changed since the tree was made"
	var lines []string
	for _, change := range diff.Definitions(server, locked.Raw, live) {
		for _, line := range change.Lines() {
			if len(lines) < maxChangeLines {
				if kind := string(change.Kind) + ": "; !strings.HasPrefix(line, kind) {
					line = kind + line
				}
				lines = append(lines, ident.Clip(line, maxChangeText))
			}
		}
	}
	if len(lines) == 0 {
		return plainly
	}
	return plainly + " (" + strings.Join(lines, "; ") + ")"
}
