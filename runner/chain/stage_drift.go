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
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// definer returns a server's current definition of a tool. *upstream.Pool implements it.
type definer interface {
	Definition(ctx context.Context, server, tool string) (json.RawMessage, error)
}

// drift compares a tool's definition with the one that the tree was made from. A harmless change is recorded and let through if
// the arguments fit the new schema too. Any other change refuses the call, since nobody has reviewed the changed tool.
func (c *Calls) drift(next handler) handler {
	up, ok := c.chain.upstreams.(definer)
	if !ok {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		req.waiting.begin(ctx, waitList)
		live, err := up.Definition(ctx, req.Server, req.Name)
		var changed *drifted
		switch {
		case errors.Is(err, upstream.ErrUnknownTool):
			changed = &drifted{verdict: diff.BreakingVerdict, text: "the server no longer lists this tool"}
		case err != nil && (!c.set.AllowDrift || isConnection(err) || ctx.Err() != nil):
			return nil, unchecked(ctx, req, err)
		case err == nil:
			changed = c.chain.drifted(req, live)
		}
		if changed != nil && changed.verdict != "" {
			req.drift = string(changed.verdict) + ": " + changed.text
			misfit := changed.misfit(req.Args)
			switch {
			case c.set.AllowDrift:
				c.warn(req, "called despite its drift from the tree (--allow-drift): %s", changed.text)
			case changed.verdict != diff.Harmless:
				c.advise(req, `review the change with "mcpgen sync --diff" and accept it with "mcpgen sync" (or "mcpgen sync --migrate", which also adapts scripts), or allow it with --allow-drift`)
				return nil, refusal(call.KindDenied, req, `drift (%s): %s; a person has to review and accept the change`, changed.verdict, changed.text)
			case misfit != "":
				c.advise(req, `accept the change with "mcpgen sync"`)
				return nil, refusal(call.KindDenied, req, `drift: %s, and %s; once a person has accepted the change, adapt the call`, changed.text, misfit)
			default:
				c.advise(req, `accept the change with "mcpgen sync"`)
				c.warn(req, `called despite a harmless change: %s`, changed.text)
			}
		}
		req.waiting.begin(ctx, waitAnswer)
		return next(ctx, req)
	}
}

// unchecked returns the error of a call whose tool's definition could not be read. If the server does not list its tools, the
// error says so and gives a remedy, because the server's own error is about its list and not about the call.
func unchecked(ctx context.Context, req *request, err error) *call.Error {
	out := callError(ctx, req, notSent(err))
	var refused *upstream.ProtocolError
	why := ""
	switch {
	case ctx.Err() != nil:
		return out
	case errors.As(err, &refused) && refused.Code == upstream.CodeBadAnswer:
		why = "gave an invalid answer to tools/list: " + ident.Clip(refused.Message, maxListReason)
	case errors.As(err, &refused):
		why = fmt.Sprintf("answered tools/list with error %d: %s", refused.Code, ident.Clip(refused.Message, maxListReason))
	case errors.Is(err, upstream.ErrListTimeout):
		why, out.Retryable = "did not answer tools/list in time", true
	default:
		return out
	}
	out.Message = fmt.Sprintf(`cannot check the tools of server %q against the lock: it %s; nothing was sent; "mcpgen sync --check" shows whether it does so outside this run too; then fix or update the server`,
		req.Server, why)
	return out
}

// maxListReason bounds, in bytes, how much of a server's error about its list is quoted, because the remedy follows the quote.
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

// drifted says how a tool's definition has changed. An empty verdict means that it is the locked one.
type drifted struct {
	live    json.RawMessage
	verdict diff.Verdict
	text    string              // of the server, in part
	input   *validate.Validator // of a harmless change; nil if the schema does not compile
}

// misfit describes why arguments that fit the locked schema do not fit the new one, because one of them was not declared
// before.
func (d *drifted) misfit(args json.RawMessage) string {
	if d.input == nil {
		return ""
	}
	if err := d.input.ValidateAs("the arguments", args); err != nil {
		return err.Error()
	}
	return ""
}

// drifted compares a live definition with the locked one. Each is compared once.
func (ch *Chain) drifted(req *request, live json.RawMessage) *drifted {
	server, locked, ok := ch.catalog.Lookup(req.Tool)
	if !ok {
		return &drifted{verdict: diff.BreakingVerdict, text: "it is not in the tree"}
	}
	ch.mu.Lock()
	known := ch.compared[req.Tool]
	ch.mu.Unlock()
	if known != nil && bytes.Equal(known.live, live) {
		return known
	}
	d := &drifted{live: live}
	if digest, err := catalog.Digest(live); err != nil || digest != locked.Digest {
		changes := diff.Definitions(server.Key, locked.Raw, live, ch.texts())
		d.verdict, d.text = diff.Worst(changes), describeChanges(changes)
		if d.verdict == "" { // it cannot be read
			d.verdict = diff.Undecided
		}
	}
	if d.verdict == diff.Harmless {
		var tool struct {
			Input json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(live, &tool) == nil && len(tool.Input) > 0 {
			d.input, _ = validate.Compile(tool.Input) // a schema that does not compile checks nothing, as in the lock
		}
	}
	ch.mu.Lock()
	ch.compared[req.Tool] = d
	ch.mu.Unlock()
	return d
}

const (
	maxChangeLines = 3
	maxChangeText  = 200 // bytes of a line
)

// describeChanges describes changes, the worst first. It quotes text from the server.
func describeChanges(changes []diff.Change) string {
	const plainly = "its definition has changed since the tree was generated"
	var lines []string
	for _, verdict := range []diff.Verdict{diff.BreakingVerdict, diff.Undecided, diff.Harmless} {
		for _, change := range changes {
			if change.Verdict != verdict {
				continue
			}
			all := change.Lines()
			if change.Why != "" { // a suspicious text is not quoted at length
				all = []string{change.Why}
			}
			for _, line := range all {
				if len(lines) < maxChangeLines {
					if kind := string(change.Kind) + ": "; !strings.HasPrefix(line, kind) {
						line = kind + line
					}
					lines = append(lines, ident.Clip(line, maxChangeText))
				}
			}
		}
	}
	if len(lines) == 0 {
		return plainly
	}
	return plainly + " (" + strings.Join(lines, "; ") + ")"
}
