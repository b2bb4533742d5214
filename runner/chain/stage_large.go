package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// previewLength is the length of a preview, in characters.
	previewLength = 2000
	// longestValue is the length of personal data, in characters, that may be cut where a preview is looked at.
	longestValue  = 200
	resultsFolder = "results"
)

// handle is what a script gets instead of a large result.
type handle struct {
	Path    string `json:"path"` // absolute, in the sandbox
	Size    int    `json:"size"` // bytes
	Type    string `json:"type"` // "json" or "text"
	Preview string `json:"preview"`
	// Text reports that the file has the JSON text of [call.AsJSON].
	Text bool `json:"text,omitempty"`
	// Content reports that the file has content blocks or a whole CallToolResult, whose data can be saved.
	Content bool `json:"content,omitempty"`
}

// large writes a large result to a file of the workspace and gives the script a handle. If there is no workspace, or it is full, the script
// gets the result itself, up to the limit of the bridge.
func (c *Calls) large(next handler) handler {
	if c.run.Store == nil || c.set.MaxResult < 0 {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || int64(len(res.Value)) <= c.set.MaxResult || res.As == call.AsDry {
			return res, err
		}
		value, err := c.keep(req, res)
		if err != nil {
			c.warnNotStored(req, err)
			return res, nil
		}
		req.whole = res.Value
		kept := *res
		kept.Value, kept.As = value, call.AsHandle
		return &kept, nil
	}
}

// warnNotStored warns that the script got a large result, or a part of one, although there is a limit.
func (c *Calls) warnNotStored(req *request, err error) {
	if errors.Is(err, workspace.ErrNoRoom) {
		err = workspace.ErrNoRoom // one warning for all of them
	}
	c.warn(req, "a result of more than %d bytes could not be saved to the workspace, so the script received all of it: %v", c.set.MaxResult, err)
}

// keep writes a result to a file and returns its handle.
func (c *Calls) keep(req *request, res *call.Result) (json.RawMessage, error) {
	name, h := fmt.Sprintf("%s-%d", c.run.ID, req.Seq), handle{Size: len(res.Value), Type: "json", Content: req.Raw || res.As == call.AsContent}
	if res.Value[0] == '"' {
		h.Text, h.Type = res.As == call.AsJSON, "text"
		if h.Text {
			name, h.Type = name+".json", "json"
		} else {
			name += ".txt"
		}
		if err := c.keepText(req, &h, name, res.Value); err != nil {
			return nil, err
		}
		return json.Marshal(h)
	}
	at, err := c.run.Store.Put(resultsFolder, name+".json", res.Value)
	if err != nil {
		return nil, err
	}
	c.kept.Store(true)
	h.Path, h.Preview = path.Join(sandbox.WorkspaceDir, at), c.preview(req, string(res.Value))
	return json.Marshal(h)
}

// keepText writes the text of a JSON string to a file of that name and fills in its handle, except Type.
func (c *Calls) keepText(req *request, h *handle, name string, value json.RawMessage) error {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return err
	}
	at, err := c.run.Store.PutText(resultsFolder, name, text)
	if err != nil {
		return err
	}
	c.kept.Store(true)
	h.Path, h.Size = path.Join(sandbox.WorkspaceDir, at), len(text)
	h.Preview = c.preview(req, text)
	return nil
}

// preview returns the beginning of a result. In output mode it has tokens, because half of a value at its end would not be recognized when the
// script prints it.
func (c *Calls) preview(req *request, text string) string {
	if p := c.set.Personal; p.Of(req.Server) == config.PIIOutput {
		begin := ident.First(text, 2*previewLength)
		masked := p.Mask(begin)
		if len(begin) < len(text) {
			masked = ident.First(masked, max(0, utf8.RuneCountInString(masked)-longestValue))
		}
		text = masked
	}
	return ident.First(text, previewLength)
}

// storedMember marks the text or blob of a resource that was written to a file. Guests turn it into a handle.
const storedMember = "mcprun/handle"

// resourceParts is like large for the contents of a resource: it writes a long text or blob to a file of the workspace and gives the
// script a handle in its place.
func (c *Calls) resourceParts(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Name != methodReadResource {
			return res, err
		}
		value, stored, err := c.storeParts(req, res.Value)
		if err != nil {
			return nil, refusal(call.KindProtocol, req, "%v", err)
		}
		if !stored {
			return res, nil
		}
		req.whole = res.Value
		kept := *res
		kept.Value = value
		return &kept, nil
	}
}

// storeParts stores the long parts of a ReadResourceResult. It refuses a part that is an object: a server could forge a handle.
func (c *Calls) storeParts(req *request, value json.RawMessage) (out json.RawMessage, stored bool, err error) {
	var whole map[string]json.RawMessage
	var contents []map[string]json.RawMessage
	if json.Unmarshal(value, &whole) != nil || whole["contents"] == nil {
		return value, false, nil
	}
	if json.Unmarshal(whole["contents"], &contents) != nil {
		return nil, false, errors.New("the contents of the resource are not a list of objects")
	}
	for i, item := range contents {
		for _, name := range []string{"text", "blob"} {
			part := item[name]
			if len(part) > 0 && part[0] == '{' {
				return nil, false, fmt.Errorf("the %s of the resource's contents must be a string, not an object", name)
			}
			if c.run.Store == nil || c.set.MaxResult < 0 || int64(len(part)) <= c.set.MaxResult {
				continue
			}
			h := handle{Type: "text"}
			if err := c.keepText(req, &h, fmt.Sprintf("%s-%d-%d-%s.txt", c.run.ID, req.Seq, i, name), part); err != nil {
				c.warnNotStored(req, err)
				continue
			}
			if item[name], err = json.Marshal(map[string]handle{storedMember: h}); err != nil {
				return nil, false, err
			}
			stored = true
		}
	}
	if !stored {
		return value, false, nil
	}
	if whole["contents"], err = json.Marshal(contents); err != nil {
		return nil, false, err
	}
	out, err = json.Marshal(whole)
	return out, true, err
}
