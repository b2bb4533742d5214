package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// defaultMaxResult is the default of CallSettings.MaxResult.
	defaultMaxResult = 1 << 20
	// previewLength is the length of a preview, in characters.
	previewLength = 2000
	resultsFolder = "results"
)

// handle is what a script gets instead of a large result.
type handle struct {
	Path    string `json:"path"` // absolute, in the sandbox
	Size    int    `json:"size"` // bytes
	Type    string `json:"type"` // "json" or "text"
	Preview string `json:"preview"`
	// Content reports that the file has content blocks or a whole CallToolResult, whose data can be saved.
	Content bool `json:"content,omitempty"`
}

// large writes a large result to a file of the workspace and gives the script a handle. Without a workspace, or when that is full,
// the script gets the result itself, up to the limit of the bridge.
func (c *calls) large(next handler) handler {
	if c.store == nil || c.set.MaxResult < 0 {
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
func (c *calls) warnNotStored(req *request, err error) {
	if errors.Is(err, workspace.ErrNoRoom) {
		err = workspace.ErrNoRoom // one warning for all of them
	}
	c.warn(req, "a result of more than %d bytes could not be written to the workspace, and the script got all of it: %v", c.set.MaxResult, err)
}

// keep writes a result to a file and returns its handle.
func (c *calls) keep(req *request, res *call.Result) (json.RawMessage, error) {
	name, h := fmt.Sprintf("%s-%d", c.id, req.Seq), handle{Size: len(res.Value), Type: "json", Content: req.Raw || res.As == call.AsContent}
	if res.Value[0] == '"' {
		err := c.keepText(&h, name, res.Value)
		if err != nil {
			return nil, err
		}
		return json.Marshal(h)
	}
	at, err := c.store.Put(resultsFolder, name+".json", res.Value)
	if err != nil {
		return nil, err
	}
	c.kept.Store(true)
	h.Path, h.Preview = path.Join(sandbox.WorkspaceDir, at), preview(res.Value)
	return json.Marshal(h)
}

// keepText writes the text of a JSON string to a file and fills in its handle.
func (c *calls) keepText(h *handle, name string, value json.RawMessage) error {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return err
	}
	at, err := c.store.PutText(resultsFolder, name+".txt", text)
	if err != nil {
		return err
	}
	c.kept.Store(true)
	h.Path, h.Size, h.Type = path.Join(sandbox.WorkspaceDir, at), len(text), "text"
	h.Preview = preview([]byte(text[:min(len(text), previewLength*utf8.UTFMax)]))
	return nil
}

// preview returns the beginning of a text.
func preview(data []byte) string {
	end, n := 0, 0
	for end < len(data) && n < previewLength {
		_, size := utf8.DecodeRune(data[end:])
		end += size
		n++
	}
	return string(data[:end])
}
