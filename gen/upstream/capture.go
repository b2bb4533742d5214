package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// capture receives what a server answered to one request. It is read when the request has returned.
type capture struct {
	// set are members of the parameters in place of what the SDK would send; nil removes one.
	set map[string]json.RawMessage
	// headers says that tools with x-mcp-header have to be made known to the SDK, which sends those headers.
	headers bool

	// land is asked before a large answer is read; nil: nobody is.
	land   func(bytes int) error
	landed bool

	tap    *tap
	id     jsonrpc.ID
	sent   bool // the server may have got it
	raw    json.RawMessage
	answer *jsonrpc.Error // the server's error, as opposed to one of the SDK

	done   chan struct{} // closed when the answer is here, of a request that was sent past the SDK; nil of any other
	failed error         // what the answer says is wrong, after done
}

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

// await waits for room for an answer of so many bytes, if it is large.
func (c *capture) await(bytes int) error {
	if c.land == nil || c.landed || bytes < LargeAnswer {
		return nil
	}
	c.landed = true
	return c.land(bytes)
}

// release forgets the request, and tells whether it has not been answered; the server is then owed its cancellation.
func (c *capture) release() (open bool) {
	if c.tap == nil {
		return false
	}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	if _, open = c.tap.pending[c.id]; open {
		delete(c.tap.pending, c.id)
		c.tap.owed++
	}
	return open
}

// setMembers returns the request with these members of its parameters, nil for none.
func setMembers(req *jsonrpc.Request, set map[string]json.RawMessage) (*jsonrpc.Request, error) {
	if len(set) == 0 {
		return req, nil
	}
	params := make(map[string]json.RawMessage)
	if len(req.Params) > 0 {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return nil, fmt.Errorf("set the parameters: %w", err)
		}
	}
	for name, value := range set {
		if params[name] = value; value == nil {
			delete(params, name)
		}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("set the parameters: %w", err)
	}
	out := *req
	out.Params = raw
	return &out, nil
}

// stub is what the SDK sees in place of a result; nil for methods whose results it is to see.
func stub(method string) json.RawMessage {
	switch method {
	case methodListTools:
		return json.RawMessage(`{"resultType":"complete","tools":[]}`)
	case methodCallTool:
		return json.RawMessage(`{"resultType":"complete","content":[]}`)
	case methodListResources:
		return json.RawMessage(`{"resultType":"complete","resources":[]}`)
	case methodListTemplates:
		return json.RawMessage(`{"resultType":"complete","resourceTemplates":[]}`)
	case methodReadResource:
		return json.RawMessage(`{"resultType":"complete","contents":[]}`)
	case methodListPrompts:
		return json.RawMessage(`{"resultType":"complete","prompts":[]}`)
	case methodGetPrompt:
		return json.RawMessage(`{"resultType":"complete","messages":[]}`)
	}
	return nil
}
