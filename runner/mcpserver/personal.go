package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// Personal data leaves this package in three ways, and each has one place: hideResult for the results of tools, hidden for those of all
// other methods, and askHidden for questions. Progress comes from the runner, which has masked it.

// personal returns what is done with the customer's personal data, or nil if it is passed on as it is.
func (cs *customerServer) personal() *chain.Personal {
	if cs.customer.Personal == nil {
		return nil
	}
	return cs.customer.Personal()
}

// hideResult removes personal data from the result of a tool, and logs why some of it cannot be restored.
func (cs *customerServer) hideResult(res *mcp.CallToolResult) {
	p := cs.personal()
	if p == nil {
		return
	}
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			text.Text = p.Mask(text.Text)
		}
	}
	if data, ok := res.StructuredContent.(json.RawMessage); ok {
		res.StructuredContent = p.MaskJSON(data)
	}
	if err := p.Outlet.Trouble(); err != nil {
		cs.logger().Warn("personal data was replaced by something that cannot be restored", "error", hinted(err))
	}
}

// hidden removes personal data from results of methods other than tools/call, and from errors.
func (cs *customerServer) hidden(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		p := cs.personal()
		if p == nil {
			return res, err
		}
		if err != nil { // the result may be a nil pointer of some type
			return res, hideError(p, err)
		}
		switch res := res.(type) {
		case *mcp.ReadResourceResult:
			for _, c := range res.Contents {
				c.Text = p.Mask(c.Text)
			}
		case *mcp.ListResourcesResult:
			for _, r := range res.Resources {
				r.Description = p.Mask(r.Description)
			}
		case *skillsListResult:
			for i := range res.Skills {
				res.Skills[i].Frontmatter = p.MaskJSON(res.Skills[i].Frontmatter)
			}
		case *skillGetResult:
			res.Skill.Frontmatter = p.MaskJSON(res.Skill.Frontmatter)
		}
		return res, nil
	}
}

func hideError(p *chain.Personal, err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		masked := *e
		masked.Message = p.Mask(e.Message)
		return &masked
	}
	if text := p.Mask(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// askHidden asks with questions without personal data, and restores the tokens in the answers.
func (cs *customerServer) askHidden(ask upstream.ElicitFunc) upstream.ElicitFunc {
	return func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
		p := cs.personal()
		if p == nil {
			return ask(ctx, q)
		}
		masked := *q
		masked.Message, masked.Schema = p.Mask(q.Message), p.MaskJSON(q.Schema)
		reply, err := ask(ctx, &masked)
		if err != nil || len(reply.Content) == 0 {
			return reply, err
		}
		restored := *reply
		if content, failed := p.Outlet.Restore(reply.Content); failed == nil { // otherwise it is what the person typed
			restored.Content = content
		}
		return &restored, nil
	}
}

// restored returns a text that the model writes into the workspace, where scripts have real values in output mode.
func (c *toolCall) restored(text string) (string, error) {
	p := c.cs.personal()
	if p == nil || p.Mode != config.PIIOutput || p.Bridges() {
		return text, nil
	}
	text, err := p.Outlet.RestoreText(text)
	if err != nil {
		return "", c.errorf("%v", hinted(err))
	}
	return text, nil
}

// masked returns a text without personal data. It must be called before the text is cut, since half of an address would not be recognized;
// of the beginning of a longer text, the last line is left out.
func (c *toolCall) masked(text string, isBeginning bool) string {
	p := c.cs.personal()
	if end := strings.LastIndexByte(text, '\n') + 1; p != nil && isBeginning && end > 0 {
		text = text[:end]
	}
	return p.Mask(text)
}
