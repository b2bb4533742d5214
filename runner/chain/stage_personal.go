package chain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// Personal says what is done with personal data in a run. A nil *Personal passes it on as it is.
type Personal struct {
	// Outlet is the way by which everything leaves for the model, and by which its tokens come back.
	Outlet *pii.Outlet
	// Mode is the mode of servers that are not in Servers. It decides about what has no server: variables, files and what a script prints.
	Mode config.PIIMode
	// Servers are the modes of single servers, by their key.
	Servers map[string]config.PIIMode
}

// Of returns the mode of a server.
func (p *Personal) Of(server string) config.PIIMode {
	if p == nil {
		return config.PIIOff
	}
	return cmp.Or(p.Servers[server], p.Mode, config.PIIOff)
}

// String describes the modes, as in "output, crm: off".
func (p *Personal) String() string {
	text := string(p.Of(""))
	if p == nil {
		return text
	}
	for _, server := range slices.Sorted(maps.Keys(p.Servers)) {
		if mode := p.Of(server); mode != p.Of("") {
			text += ", " + server + ": " + string(mode)
		}
	}
	return text
}

// Bridges reports whether results of any server reach scripts with tokens only.
func (p *Personal) Bridges() bool {
	return p != nil && (p.Mode == config.PIIBridge || slices.Contains(slices.Collect(maps.Values(p.Servers)), config.PIIBridge))
}

// ShowsScripts reports whether scripts have real values while the model has tokens: in output mode, unless a server is bridged.
func (p *Personal) ShowsScripts() bool {
	return p != nil && p.Mode == config.PIIOutput && !p.Bridges()
}

// Mixes reports whether scripts get tokens from some servers, and real values from others.
func (p *Personal) Mixes() bool {
	return p.Bridges() && (p.Mode != config.PIIBridge || slices.ContainsFunc(slices.Collect(maps.Values(p.Servers)), func(m config.PIIMode) bool {
		return m != config.PIIBridge
	}))
}

// Mask replaces the personal data in a text that leaves.
func (p *Personal) Mask(text string) string {
	if p == nil || text == "" {
		return text
	}
	return p.Outlet.Mask(text)
}

// MaskJSON is Mask for JSON.
func (p *Personal) MaskJSON(raw json.RawMessage) json.RawMessage {
	if p == nil || len(raw) == 0 {
		return raw
	}
	return p.Outlet.MaskJSON(raw)
}

// MaskForeign is Mask for a text of a server, which has no tokens: see [pii.Outlet.MaskForeign].
func (p *Personal) MaskForeign(text string) string {
	if p == nil || text == "" {
		return text
	}
	return string(p.Outlet.MaskForeign([]byte(text)))
}

// Restored returns JSON with what its tokens stand for, for a check by the host.
func (p *Personal) Restored(raw json.RawMessage) (json.RawMessage, error) {
	return p.restored(raw, nil)
}

// RestoredOf is Restored for what came of a masked text: other tokens than those in it are a *[pii.UnknownTokenError].
func (p *Personal) RestoredOf(raw json.RawMessage, masked string) (json.RawMessage, error) {
	return p.restored(raw, append([]string{}, pii.Tokens(masked)...))
}

func (p *Personal) restored(raw json.RawMessage, of []string) (json.RawMessage, error) {
	if p == nil {
		return raw, nil
	}
	out, _, err := p.Outlet.RestoreArguments(raw, pii.ArgumentOptions{FromTokens: p.Bridges(), Of: of})
	return out, err
}

// personal masks the results and errors of servers in bridge mode before the script gets them, and in every mode those of a call without a
// script, whose caller is the model. In output mode the script gets real values; the outlet learns from them what to find in its output, and
// what only looks like a token is quoted, in errors too.
func (c *Calls) personal(next handler) handler {
	p := c.set.Personal
	if p == nil || c.player != nil { // a recording has tokens already
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		mode := p.Of(req.Server)
		o := p.Outlet.For(req.Name).With(req.restored)
		hides := mode == config.PIIBridge || mode == config.PIIOutput && c.run.Direct
		switch {
		case hides && err != nil:
			return nil, changedError(err, o.MaskForeign, func(content json.RawMessage) json.RawMessage { return maskResult(o, content, true) })
		case mode == config.PIIOutput && err != nil:
			return nil, changedError(err, o.Quote, func(content json.RawMessage) json.RawMessage { return o.Quote(content) })
		case mode == config.PIIOff || err != nil || res.As == call.AsDry:
		case hides:
			masked := *res
			masked.Value, masked.Raw = maskResult(o, res.Value, req.Raw || req.isAsk || res.As == call.AsContent), nil
			if req.Raw {
				masked.Raw = masked.Value
			}
			return &masked, nil
		default:
			p.Outlet.For(req.Name).Learn(res.Value)
			quoted := *res
			quoted.Value = p.Outlet.Quote(res.Value)
			return &quoted, nil
		}
		return res, err
	}
}

// restore replaces tokens in the arguments by what they stand for, so that everything below sees what the server gets. A server whose mode
// is off gets them as they are written.
func (c *Calls) restore(next handler) handler {
	p := c.set.Personal
	switch {
	case c.player != nil: // nothing is sent
		return next
	case p == nil && c.set.Issued == nil:
		return next
	case p == nil:
		return c.refuseTokens(next)
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if p.Of(req.Server) == config.PIIOff {
			if token := p.Outlet.FindToken(string(req.Args)); token != "" {
				c.warn(req, "the token %s was sent as it is written, because this server's mode below pii: is off", strings.Trim(token, "[]"))
			}
			return next(ctx, req)
		}
		if err := c.restoreArguments(req); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// restoreArguments replaces tokens in the arguments by what they stand for. Personal must not be nil. An error is a *call.Error.
func (c *Calls) restoreArguments(req *request) error {
	p := c.set.Personal
	opt := pii.ArgumentOptions{FromTokens: p.Bridges()}
	args, used, err := p.Outlet.RestoreArguments(req.Args, opt)
	if v := c.chain.validators(req.Tool).input; err == nil && used.HasNumber() && v != nil && v.ValidateAs("", args) != nil {
		opt.NumbersAsText = true
		if text, _, err := p.Outlet.RestoreArguments(req.Args, opt); err == nil && v.ValidateAs("", text) == nil { // a number where the tool wants a string
			args = text
		}
	}
	unknown, isUnknown := errors.AsType[*pii.UnknownTokenError](err)
	large, isLarge := errors.AsType[*pii.LimitError](err)
	switch {
	case isUnknown:
		return refusal(call.KindArgument, req, "%v; nothing was sent; %s", unknown, unknown.Hint())
	case isLarge:
		return refusal(call.KindArgument, req, "%v; nothing was sent", large)
	case err != nil:
		return refusal(call.KindInternal, req, "the vault of personal data can't be used, so nothing was sent: whoever started mcprun is told why")
	}
	if !bytes.Equal(args, req.Args) {
		c.restored.Store(true)
	}
	req.Args, req.restored = args, used
	return nil
}

// refuseTokens refuses arguments with tokens that stand for values where nobody has said that tokens are to be sent as they are.
func (c *Calls) refuseTokens(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if !c.askedHost.Load() {
			if token := c.set.Issued(string(req.Args)); token != "" {
				return nil, refusal(call.KindArgument, req, "the arguments have the token %s, but this run shows personal data, and sends tokens as they are written; nothing was sent; "+
					"use --pii output to send what it stands for, or --pii off to send it as it is", strings.Trim(token, "[]"))
			}
		}
		return next(ctx, req)
	}
}

// changedError returns the error of a call with its texts and its content changed.
func changedError(err error, text func([]byte) []byte, content func(json.RawMessage) json.RawMessage) error {
	e, ok := errors.AsType[*call.Error](err)
	if !ok {
		return err
	}
	changed := *e
	changed.Message, changed.Data = string(text([]byte(e.Message))), text(e.Data)
	if len(e.Content) > 0 {
		changed.Content = content(e.Content)
	}
	return &changed
}

// maskResult masks a result. Images and other binary content of MCP stay as they are.
func maskResult(o *pii.Outlet, value json.RawMessage, isContent bool) json.RawMessage {
	if !isContent {
		return o.MaskForeign(value)
	}
	b := binary{mark: rand.Text()}
	masked := o.MaskForeign(b.cut(value, maxContent))
	for i, data := range b.data {
		masked = bytes.Replace(masked, b.place(i), data, 1)
	}
	return masked
}

// binary holds the binary parts of content.
type binary struct {
	mark string // nobody can guess it
	data [][]byte
}

// place is the JSON string that stands for a part.
func (b *binary) place(i int) []byte { return fmt.Appendf(nil, `"(%s %d)"`, b.mark, i) }

// maxContent is the depth of objects and lists in which binary parts are: result, messages, message, content, resource, blob.
const maxContent = 6

// cut returns content without its binary parts: the members data and blob of objects with a mimeType, if they are base64.
func (b *binary) cut(raw json.RawMessage, depth int) json.RawMessage {
	if depth == 0 || !bytes.Contains(raw, []byte(`"mimeType"`)) {
		return raw
	}
	var list []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		for i := range list {
			list[i] = b.cut(list[i], depth-1)
		}
		return marshalled(list)
	case raw[0] == '{' && json.Unmarshal(raw, &members) == nil:
		_, isTyped := members["mimeType"]
		for _, name := range slices.Sorted(maps.Keys(members)) {
			value := members[name]
			if isTyped && (name == "data" || name == "blob") && isBase64(value) {
				members[name] = b.place(len(b.data))
				b.data = append(b.data, value)
			} else if name != "structuredContent" && len(value) > 0 {
				members[name] = b.cut(value, depth-1)
			}
		}
		return marshalled(members)
	}
	return raw
}

// isBase64 reports whether a JSON string is base64, and longer than what could be a name or number.
func isBase64(quoted json.RawMessage) bool {
	var data []byte // which JSON has as base64
	return quoted[0] == '"' && json.Unmarshal(quoted, &data) == nil && len(data) > 32
}

// marshalled returns a value that was read from JSON as JSON, without escapes for HTML.
func marshalled(v any) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(out.Bytes())
}
