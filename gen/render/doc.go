package render

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Doc returns the documentation of a tool's function: the description, or else the title; hints; and the tool's own name if the function's
// name differs by more than spelling.
func (t *Tool) Doc(function string) string {
	var parts []string
	if description := text.Body(t.Description, t.Stored()); description != "" {
		parts = append(parts, description)
	} else if !text.SameWords(t.Title, t.Name) {
		parts = append(parts, text.Body(t.Title, t.Stored()))
	}
	if !text.SameWords(t.Name, function) {
		parts = append(parts, "Tool name: "+text.Quote(text.Cut(t.Name, 200, ""), text.Braces))
	}
	doc := strings.Join(parts, "\n")
	if hints := hintText(t.Hints); hints != "" {
		doc = text.Join(doc, "("+hints+")")
	}
	return doc
}

func hintText(h Hints) string {
	var words []string
	yes := func(b *bool) bool { return b != nil && *b }
	switch {
	case yes(h.ReadOnly):
		words = append(words, "read-only")
	case yes(h.Destructive):
		words = append(words, "destructive")
	case h.Destructive != nil:
		words = append(words, "not destructive")
	}
	if yes(h.Idempotent) && !yes(h.ReadOnly) {
		words = append(words, "idempotent")
	}
	return strings.Join(words, ", ")
}

// Summary returns a tool's line in an index. comment converts a text to the lines of a comment in the language.
func (t *Tool) Summary(comment func(string) []string) string {
	const mark = "DEPRECATED: "
	about := ""
	switch {
	case strings.TrimSpace(t.Description) != "":
		about = t.Description
	case !text.SameWords(t.Title, t.Name):
		about = t.Title
	}
	line := text.Summary(comment(about), MaxSummary)
	if t.Deprecated && !strings.Contains(strings.ToLower(line), "deprecated") {
		return text.Summary(comment(mark+about), MaxSummary)
	}
	return line
}

// Doc returns the documentation at the top of a server's index.
func (s *Server) Doc() string {
	const limit = 800 // instructions are read every time the index is
	var parts []string
	if title := strings.TrimSpace(s.Title); !text.SameWords(title, s.Key) {
		parts = append(parts, text.Cut(title, limit, s.Stored()))
	}
	if lead := strings.TrimSpace(s.Lead); !strings.Contains(s.Instructions, lead) {
		parts = append(parts, text.Cut(lead, limit, s.Stored()))
	}
	if instructions := strings.TrimSpace(s.Instructions); instructions != "" {
		parts = append(parts, text.Cut(instructions, limit, s.Stored()))
	}
	return strings.Join(parts, "\n")
}

// InputDoc returns the documentation of a tool's input, apart from the tool's description and the input's properties.
func (t *Tool) InputDoc() string {
	d := t.Input.Doc
	if ref, ok := t.Input.Root.(ir.Ref); ok {
		for _, def := range t.Input.Defs {
			if def.Name == ref.Name {
				d.Add(def.Doc)
			}
		}
	}
	said := ir.Doc{Description: t.Description}
	said.AddDescription(d.Description)
	if said.Description == t.Description {
		d.Description = ""
	}
	d.Title = "" // generators derive it from the tool's name
	return text.Field("", d, false, t.Stored())
}

// OutputDoc returns the documentation of a tool's output, which must not be nil: its limits, and the number of replies from which it was
// learned.
func (t *Tool) OutputDoc() string {
	learned := ""
	switch {
	case t.Learned == 1:
		learned = "Learned from 1 reply; not declared by the server"
	case t.Learned > 1:
		learned = fmt.Sprintf("Learned from %d replies; not declared by the server", t.Learned)
	}
	return text.Join(learned, text.Field("", ir.Doc{Limits: t.Output.Doc.Limits}, false, ""))
}
