package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// What one server may put into a catalog. What goes beyond is left out, with a warning.
const (
	MaxTools           = 10_000
	MaxDefinitionBytes = 8 << 20  // one tool
	MaxServerBytes     = 64 << 20 // all tools of a server
	MaxDepth           = 256      // nesting of one definition
)

// NewServer reads a server's tool list. It accepts anything: what can't be a tool is left out, what is odd is
// corrected, with a warning for each. Tools are in the server's order and have no id yet; [New] does the rest.
// The raw definitions are kept, not copied, and must not change afterwards.
func NewServer(key, title, instructions string, rawTools []json.RawMessage) (Server, []Warning) {
	digest := func(_ string, raw json.RawMessage) (string, error) { return Digest(raw) }
	r := reader{server: key, seen: map[string]bool{}, digest: digest}
	s := Server{Key: key, Title: strings.ToValidUTF8(title, "\uFFFD"), Instructions: strings.ToValidUTF8(instructions, "\uFFFD")}
	total := 0
	for i, raw := range rawTools {
		place := fmt.Sprintf("%s#/tools/%d", key, i)
		if len(s.Tools) == MaxTools {
			r.drop(key, "the server lists %d tools; only the first %d are used", len(rawTools), MaxTools)
			break
		}
		if total+storedSize(raw) > MaxServerBytes {
			r.drop(key, "the tool definitions are larger than %d MiB together; only the first %d tools are used",
				MaxServerBytes>>20, len(s.Tools))
			break
		}
		if tool, ok := r.tool(place, raw); ok {
			s.Tools = append(s.Tools, tool)
			total += storedSize(raw)
		}
	}
	return s, r.warnings
}

type reader struct {
	server   string
	seen     map[string]bool // names so far
	digest   func(name string, raw json.RawMessage) (string, error)
	warnings []Warning
}

func (r *reader) warn(place, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Place: place, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) drop(place, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Place: place, Message: fmt.Sprintf(format, args...), Dropped: true})
}

// tool reads one definition. Keys are matched exactly: encoding/json's own matching ignores case, and a server could
// show one name to a person and another to us.
func (r *reader) tool(place string, raw json.RawMessage) (Tool, bool) {
	sound, problem := soundText(raw)
	if problem != "" {
		r.drop(r.named(place, raw), "the definition %s; the tool is left out", problem)
		return Tool{}, false
	}
	if !utf8.Valid(raw) {
		r.warn(place, "the definition is not valid UTF-8; the bad bytes are replaced")
		raw = sound
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		r.drop(place, "a tool must be an object, not %s; it is left out", jsonType(raw))
		return Tool{}, false
	}
	name, ok := r.name(place, fields["name"])
	if !ok {
		return Tool{}, false
	}
	place = r.server + "/" + clip(name)
	digest, err := r.digest(name, raw)
	if err != nil {
		r.drop(place, "the definition has no digest: %v; the tool is left out", err)
		return Tool{}, false
	}
	r.seen[name] = true
	t := Tool{Name: name, Raw: raw, Digest: digest}
	t.Description = r.text(place, "description", fields)
	t.Title = r.text(place, "title", fields)
	r.annotations(place, fields["annotations"], &t)
	t.Input = fields["inputSchema"]
	if kind := jsonType(t.Input); kind != "an object" {
		r.warn(place+"#/inputSchema", "the input schema must be an object, not %s; any object is accepted", kind)
		t.Input = json.RawMessage(`{}`)
	}
	if out := fields["outputSchema"]; len(out) > 0 && jsonType(out) != "null" {
		t.Output = out
	}
	return t, true
}

// storedSize is the size that counts: a definition that is read must also be read when it comes from a tree.
func storedSize(raw []byte) int { return len(escapeHidden(raw)) }

// soundText returns a definition as UTF-8, or the reason why it is not read.
func soundText(raw json.RawMessage) (sound json.RawMessage, problem string) {
	switch {
	case storedSize(raw) > MaxDefinitionBytes:
		return nil, fmt.Sprintf("has %d bytes; the limit is %d", storedSize(raw), MaxDefinitionBytes)
	case Depth(raw) > MaxDepth:
		return nil, fmt.Sprintf("is nested more than %d levels deep", MaxDepth)
	}
	if !utf8.Valid(raw) {
		return bytes.ToValidUTF8(raw, []byte("\uFFFD")), ""
	}
	return raw, ""
}

func (r *reader) name(place string, raw json.RawMessage) (string, bool) {
	var name string
	switch err := json.Unmarshal(raw, &name); {
	case len(raw) == 0 || jsonType(raw) == "null":
		r.drop(place, "the tool has no name; it is left out")
	case err != nil:
		r.drop(place, "the tool's name must be a string, not %s; the tool is left out", jsonType(raw))
	case r.seen[name]:
		r.drop(place, "a second tool is called %q; the first one is used", clip(name))
	default:
		if name == "" {
			r.warn(place, "the tool's name is empty")
		}
		return name, true
	}
	return "", false
}

// named is the place of a tool that is not read any further: by its name where it has one.
func (r *reader) named(place string, raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["name"], &name) != nil || name == "" {
		return place
	}
	return r.server + "/" + clip(name)
}

// clip shortens a name for a message to the 128 bytes that the MCP specification advises; any name can be mapped to files.
func clip(name string) string { return ident.Clip(name, 128) }

// text reads an optional string.
func (r *reader) text(place, field string, fields map[string]json.RawMessage) string {
	raw := fields[field]
	if len(raw) == 0 || jsonType(raw) == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		r.warn(place+"#/"+field, "the %s must be a string, not %s; it is ignored", field, jsonType(raw))
	}
	return s
}

// annotations reads the hints, and the title where the definition itself has none.
func (r *reader) annotations(place string, raw json.RawMessage, t *Tool) {
	if len(raw) == 0 || jsonType(raw) == "null" {
		return
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		r.warn(place+"#/annotations", "the annotations must be an object, not %s; they are ignored", jsonType(raw))
		return
	}
	if t.Title == "" {
		t.Title = r.text(place+"#/annotations", "title", fields)
	}
	for _, hint := range []struct {
		field string
		to    **bool
	}{
		{"readOnlyHint", &t.Hints.ReadOnly},
		{"destructiveHint", &t.Hints.Destructive},
		{"idempotentHint", &t.Hints.Idempotent},
		{"openWorldHint", &t.Hints.OpenWorld},
	} {
		raw := fields[hint.field]
		switch jsonType(raw) {
		case "a boolean":
			value := raw[0] == 't'
			*hint.to = &value
		case "nothing", "null":
		default:
			r.warn(place+"#/annotations/"+hint.field, "the hint must be a boolean, not %s; it is ignored", jsonType(raw))
		}
	}
}

// jsonType names the JSON type of raw for a message.
func jsonType(raw json.RawMessage) string {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 {
		return "nothing"
	}
	switch trimmed[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// Depth is the deepest nesting of arrays and objects. It reads bytes only, so that a hostile text costs one pass.
func Depth(raw []byte) int {
	deepest, now, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}
