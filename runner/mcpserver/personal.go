package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// Personal data leaves this package in three ways, and each has one place: hideResult for the results of tools, hidden for those of all
// other methods, and hideQuestion for questions. Progress comes from the runner, which has masked it.

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
		cs.logger().Warn("personal data was replaced by something that cannot be restored", "error", exit.Hinted(err))
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

// hiddenQuestion is a question with what the client sees of it.
type hiddenQuestion struct {
	*upstream.Question
	shown    *upstream.Question // without personal data
	personal *chain.Personal    // nil: the answer counts as it is
}

// hideQuestion returns a question without personal data. A server has no tokens, so what looks like one in its question stands for nothing else
// in the answer. Questions and answers of servers whose mode is off stay as they are. Those of mcprun itself have tokens.
func (cs *customerServer) hideQuestion(q *upstream.Question) *hiddenQuestion {
	p := cs.personal()
	if p == nil || !q.Own && p.Of(q.Server) == config.PIIOff {
		return &hiddenQuestion{q, q, nil}
	}
	shown := *q
	if q.Own {
		shown.Message, shown.Schema = p.Mask(q.Message), p.MaskJSON(q.Schema)
	} else {
		shown.Message = p.MaskForeign(q.Message)
		if len(q.Schema) > 0 {
			shown.Schema = p.Outlet.MaskForeign(q.Schema)
		}
	}
	return &hiddenQuestion{q, &shown, p}
}

// answer returns a client's answer with what its tokens stand for.
func (q *hiddenQuestion) answer(res *mcp.ElicitResult) *upstream.Reply {
	reply := answerOf(res, q.Question)
	if q.personal == nil || len(reply.Content) == 0 {
		return reply
	}
	if content, err := q.personal.Outlet.Restore(reply.Content); err == nil { // otherwise it is what the person typed
		reply.Content = content
	}
	return reply
}

// restored returns a text or JSON with tokens as it is in the workspace, where scripts have real values in output mode.
func (c *toolCall) restored(text string) (string, error) {
	p := c.cs.personal()
	if !p.ShowsScripts() {
		return text, nil
	}
	var err error
	if json.Valid([]byte(text)) {
		var value []byte
		value, err = p.Outlet.Restore([]byte(text))
		text = string(value)
	} else {
		text, err = p.Outlet.RestoreText(text)
	}
	if err != nil {
		return "", c.errorf("%v", exit.Hinted(err))
	}
	return text, nil
}

// hides reports whether the results of a tool have tokens in place of personal data.
func (c *toolCall) hides(tool string) bool {
	p := c.cs.personal()
	if p == nil || c.view.Catalog == nil {
		return false
	}
	server, _, ok := c.view.Catalog.Lookup(tool)
	return ok && p.Of(server.Key) != config.PIIOff
}

// unmasked returns a masked result for a file of the workspace, where scripts have real values in output mode. If something in it cannot be
// restored, all of it stays as it is.
func (c *toolCall) unmasked(data []byte) []byte {
	text, err := c.restored(string(data))
	if err != nil {
		return data
	}
	return []byte(text)
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
