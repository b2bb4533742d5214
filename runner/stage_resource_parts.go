package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/call"
)

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

// storeParts stores the long parts of a ReadResourceResult. It refuses a part that is an object: a server could forge a handle.
func (c *calls) storeParts(req *request, value json.RawMessage) (out json.RawMessage, stored bool, err error) {
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
				return nil, false, fmt.Errorf("the %s of the resource's contents is an object; it must be a string", name)
			}
			if c.store == nil || c.set.MaxResult < 0 || int64(len(part)) <= c.set.MaxResult {
				continue
			}
			var h handle
			if err := c.keepText(&h, fmt.Sprintf("%s-%d-%d-%s", c.id, req.Seq, i, name), part); err != nil {
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
