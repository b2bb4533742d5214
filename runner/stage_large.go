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
			if errors.Is(err, workspace.ErrNoRoom) {
				err = workspace.ErrNoRoom // one warning for all of them
			}
			c.warn(req, "a result of more than %d bytes could not be written to the workspace, and the script got all of it: %v", c.set.MaxResult, err)
			return res, nil
		}
		req.whole = res.Value
		kept := *res
		kept.Value, kept.As = value, call.AsHandle
		return &kept, nil
	}
}

// keep writes a result to a file and returns its handle.
func (c *calls) keep(req *request, res *call.Result) (json.RawMessage, error) {
	name, h := fmt.Sprintf("%s-%d", c.id, req.Seq), handle{Size: len(res.Value), Type: "json", Content: req.Raw || res.As == call.AsContent}
	at := ""
	var err error
	if res.Value[0] == '"' {
		var text string
		if err := json.Unmarshal(res.Value, &text); err != nil {
			return nil, err
		}
		h.Size, h.Type, h.Preview = len(text), "text", preview([]byte(text[:min(len(text), previewLength*utf8.UTFMax)]))
		at, err = c.store.PutText(resultsFolder, name+".txt", text)
	} else {
		h.Preview = preview(res.Value)
		at, err = c.store.Put(resultsFolder, name+".json", res.Value)
	}
	if err != nil {
		return nil, err
	}
	c.kept.Store(true)
	h.Path = path.Join(sandbox.WorkspaceDir, at)
	return json.Marshal(h)
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

// storedMember marks the text or blob of a resource that was written to a file. Guests make a handle of it.
const storedMember = "mcprun/handle"

// resourceParts is like large for the contents of a resource: it writes a long text or blob to a file of the workspace and gives the
// script a handle in its place.
func (c *calls) resourceParts(next handler) handler {
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

// storeParts stores the long parts of a ReadResourceResult. It leaves malformed parts to the script, except for objects: a server
// could forge a handle.
func (c *calls) storeParts(req *request, value json.RawMessage) (out json.RawMessage, stored bool, err error) {
	var whole map[string]json.RawMessage
	var contents []json.RawMessage
	if json.Unmarshal(value, &whole) != nil || json.Unmarshal(whole["contents"], &contents) != nil {
		return value, false, nil
	}
	for i, raw := range contents {
		var item map[string]json.RawMessage
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		changed := false
		for _, name := range []string{"text", "blob"} {
			part := item[name]
			if len(part) > 0 && part[0] == '{' {
				return nil, false, fmt.Errorf("the %s of the resource's contents is an object; it must be a string", name)
			}
			if c.store == nil || c.set.MaxResult < 0 || int64(len(part)) <= c.set.MaxResult {
				continue
			}
			handle, err := c.keepPart(req, i, name, part)
			if err != nil {
				if errors.Is(err, workspace.ErrNoRoom) {
					err = workspace.ErrNoRoom // one warning for all of them
				}
				c.warn(req, "contents of a resource of more than %d bytes could not be written to the workspace, and the script got all of them: %v", c.set.MaxResult, err)
				continue
			}
			item[name], changed = handle, true
		}
		if changed {
			if contents[i], err = json.Marshal(item); err != nil {
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

// keepPart writes a part to a file and returns what replaces it.
func (c *calls) keepPart(req *request, i int, name string, part json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(part, &text); err != nil {
		return nil, err
	}
	at, err := c.store.PutText(resultsFolder, fmt.Sprintf("%s-%d-%d-%s.txt", c.id, req.Seq, i, name), text)
	if err != nil {
		return nil, err
	}
	c.kept.Store(true)
	h := handle{Path: path.Join(sandbox.WorkspaceDir, at), Size: len(text), Type: "text", Preview: preview([]byte(text))}
	return json.Marshal(map[string]handle{storedMember: h})
}
