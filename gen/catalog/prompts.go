package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxPrompts is the maximum number of prompts that one server may put into a catalog. Further ones are left out, with a warning.
const MaxPrompts = 1000

// maxArguments is the maximum number of arguments of one prompt; further ones are ignored.
const maxArguments = 100

// Prompt is one prompt as the server listed it.
type Prompt struct {
	// Name is the server's own name for it, sent on the wire.
	Name string
	// Title and Description are the server's own words, hostile.
	Title, Description string
	// Arguments are in the server's order; their names differ.
	Arguments []PromptArgument
	// Raw is the whole definition as sent, Digest is [Digest] of it.
	Raw    json.RawMessage
	Digest string
}

// PromptArgument is one argument of a prompt. Its value is a text (MCP 2025-06-18, server/prompts).
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// SetPrompts notes that the server offers prompts, and reads their definitions with the care that [NewServer] takes of
// tools. They are kept sorted by name. The definitions are kept, not copied, and must not change afterwards.
func (s *Server) SetPrompts(rawPrompts []json.RawMessage) []Warning {
	r := reader{server: s.Key, seen: map[string]bool{}}
	s.HasPrompts, s.Prompts = true, nil
	total := 0
	for i, raw := range rawPrompts {
		if len(s.Prompts) == MaxPrompts || total+storedSize(raw) > MaxServerBytes {
			r.warn(s.Key, "the server lists %d prompts; only the first %d are used", len(rawPrompts), len(s.Prompts))
			break
		}
		if p, ok := r.prompt(fmt.Sprintf("%s#/prompts/%d", s.Key, i), raw); ok {
			s.Prompts = append(s.Prompts, p)
			total += storedSize(raw)
		}
	}
	slices.SortFunc(s.Prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return r.warnings
}

// prompt reads one definition.
func (r *reader) prompt(place string, raw json.RawMessage) (Prompt, bool) {
	raw, problem := soundText(raw)
	if problem != "" {
		r.warn(place, "the prompt's definition %s; it is left out", problem)
		return Prompt{}, false
	}
	var fields map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["name"], &name) != nil || jsonType(fields["name"]) == "null" {
		r.warn(place, "a prompt must be an object with a name; it is left out")
		return Prompt{}, false
	}
	if r.seen[name] {
		r.warn(place, "a second prompt is called %q; the first one is used", clip(name))
		return Prompt{}, false
	}
	digest, err := Digest(raw)
	if err != nil {
		r.warn(place, "the prompt's definition has no digest: %v; it is left out", err)
		return Prompt{}, false
	}
	r.seen[name] = true
	place = r.server + "#/prompts/" + clip(name)
	out := Prompt{Name: name, Raw: raw, Digest: digest}
	out.Title, out.Description = r.text(place, "title", fields), r.text(place, "description", fields)
	out.Arguments = r.arguments(place+"/arguments", fields["arguments"])
	return out, true
}

// arguments reads those of one prompt; what can't be one is left out.
func (r *reader) arguments(place string, raw json.RawMessage) []PromptArgument {
	if kind := jsonType(raw); kind == "nothing" || kind == "null" {
		return nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		r.warn(place, "the arguments must be a list of objects; they are ignored")
		return nil
	}
	var out []PromptArgument
	seen := map[string]bool{}
	for _, fields := range list {
		var a PromptArgument
		if json.Unmarshal(fields["name"], &a.Name) != nil || jsonType(fields["name"]) == "null" || seen[a.Name] {
			r.warn(place, "an argument has no name, or that of another one; it is ignored")
			continue
		}
		if len(out) == maxArguments {
			r.warn(place, "the prompt has %d arguments; only the first %d are used", len(list), maxArguments)
			break
		}
		seen[a.Name] = true
		a.Title, a.Description = r.text(place, "title", fields), r.text(place, "description", fields)
		a.Required = string(fields["required"]) == "true"
		out = append(out, a)
	}
	return out
}
