package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/call"
)

// maxListed bounds, in bytes, the arguments of calls that are listed instead of made.
const maxListed = 4 << 20

// dryRun lists calls instead of making them, except for those that change nothing.
func (c *Calls) dryRun(next handler) handler {
	if !c.set.DryRun {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if c.chain.readOnly(req) && !c.unknownYet(req.Args) {
			return next(ctx, req)
		}
		req.skipped = c.chain.whySkipped(req)
		return c.list(req)
	}
}

// list lists a call instead of making it.
func (c *Calls) list(req *request) (*call.Result, error) {
	c.mu.Lock()
	c.dryCalls[req.Seq] = true
	if c.listed += len(req.Args); c.listed <= maxListed {
		req.arguments = c.asListed(req.Args)
	}
	c.mu.Unlock()
	value, err := json.Marshal(map[string]int{"call": req.Seq})
	return &call.Result{Value: value, As: call.AsDry}, err
}

// whySkipped returns why a dry run does not call a tool that may be read-only, or "" if the tool is not read-only.
func (ch *Chain) whySkipped(req *request) string {
	_, tool, ok := ch.catalog.Lookup(req.Tool)
	switch {
	case ch.readOnly(req):
		return "its arguments contain the result of a skipped call"
	case !ok || tool.Hints.ReadOnly == nil:
		return "the server does not mark the tool as read-only; if it is, add it to read_only: in mcpgen.yaml"
	case *tool.Hints.ReadOnly:
		return "the server marks the tool as read-only but is not trusted; add the tool to read_only: in mcpgen.yaml"
	}
	return ""
}

// The two forms in which the result of a skipped call appears in the arguments of a later one.
const (
	placeholder     = `{"call":`
	placeholderText = `<result of call `
)

// given matches the first form. In a JSON string its quotes would be escaped, so it is a value.
var given = regexp.MustCompile(`\{"call":([0-9]{1,9})\}`)

// asListed returns arguments for the list, with words in place of the results of skipped calls. The lock is held.
func (c *Calls) asListed(args []byte) []byte {
	return given.ReplaceAllFunc(args, func(found []byte) []byte {
		n, err := strconv.Atoi(string(found[len(placeholder) : len(found)-1]))
		if err != nil || !c.dryCalls[n] {
			return found
		}
		return fmt.Appendf(nil, `"%s%d>"`, placeholderText, n)
	})
}

// unknownYet reports whether the arguments contain the result of a skipped call and so are not known yet.
func (c *Calls) unknownYet(args []byte) bool {
	for _, mark := range []string{placeholder, placeholderText} {
		for rest := args; ; {
			i := bytes.Index(rest, []byte(mark))
			if i < 0 {
				break
			}
			rest = rest[i+len(mark):]
			end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
			if end < 1 {
				continue
			}
			n, err := strconv.Atoi(string(rest[:end]))
			c.mu.Lock()
			known := err == nil && c.dryCalls[n]
			c.mu.Unlock()
			if known {
				return true
			}
		}
	}
	return false
}
