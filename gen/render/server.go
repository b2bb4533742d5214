package render

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Server is one folder of the tree.
type Server struct {
	Key                 string // the name in the configuration
	Dir                 string // the folder, a safe snake-case identifier
	Title, Instructions string // hostile, may be empty
	// Lead is the common beginning of the descriptions of tools, which is left out of them here. It is hostile and may be empty.
	Lead  string
	Tools []Tool // sorted by Name
	// Resources and HasPrompts report what the server offers besides tools.
	Resources, HasPrompts bool
	Prompts               []Prompt // sorted by Name
	// ClosedInputs closes objects in inputs whose schemas do not mention undeclared properties.
	ClosedInputs bool
}

// Tool is one wrapper in each language.
type Tool struct {
	ID                 string // server__tool
	Name               string // the server's own name for it, hostile
	Title, Description string // hostile, may be empty
	// Deprecated reports whether the description or title calls the tool deprecated.
	Deprecated bool
	Hints      Hints
	// Input is an object, or a reference to one, when it is passed to a [Printer].
	Input  ir.Schema
	Output *ir.Schema // nil if the server declares none
	// Learned is the number of replies from which Output was inferred, or 0 if the server declared it.
	Learned int
	// TextResult reports whether a script gets JSON in a text as that text. It matters only without Output.
	TextResult bool
}

// The types of a result that its tool does not declare. The client has both in each language.
const (
	anyUndeclared = "AnyUndeclared"
	textOrContent = "TextOrContent"
)

// UndeclaredResult returns the name of the type of the tool's result if Output is nil.
func (t *Tool) UndeclaredResult() string {
	if t.TextResult {
		return textOrContent
	}
	return anyUndeclared
}

// UndeclaredResults returns the names that [Tool.UndeclaredResult] can return.
func UndeclaredResults() []string { return []string{anyUndeclared, textOrContent} }

// Hints mirror the catalog's. Nil means that the server does not give the hint.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Prompt is one prompt of a server. All of it is hostile text.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
}

// Argument is one argument of a prompt. Its value is a text.
type Argument struct {
	Name, Title, Description string
	Required                 bool
}

// The names of the modules for what a server offers besides tools. Tools never have these names, even if the server offers nothing of the
// kind, so that a tool's name does not depend on it.
const (
	ResourcesName = "resources"
	PromptsName   = "prompts"
)

// IsModule reports whether a file with that name would be a module for what a server offers besides tools.
func IsModule(name string) bool {
	return strings.EqualFold(name, ResourcesName) || strings.EqualFold(name, PromptsName)
}

// Modules returns the names of the server's modules besides its tools. Its index exports each under its name, in this order.
func (s *Server) Modules() []string {
	var out []string
	if s.Resources {
		out = append(out, ResourcesName)
	}
	if s.HasPrompts {
		out = append(out, PromptsName)
	}
	return out
}

// Stored returns the file in the tree that contains the server's own definitions.
func (s *Server) Stored() string { return ".mcpgen/" + s.Dir + ".json" }

// Stored returns that file for the tool's server.
func (t *Tool) Stored() string {
	dir, _, _ := strings.Cut(t.ID, "__")
	return (&Server{Dir: dir}).Stored()
}

// Export is a line in an index for a module other than a tool. Summary is hostile text.
type Export struct{ Name, Summary string }

// Exports returns these lines. comment converts a text to the lines of a comment in the language.
func (s *Server) Exports(comment func(string) []string) []Export {
	var out []Export
	if s.Resources {
		out = append(out, Export{ResourcesName, "list(), templates(), read(uri)"})
	}
	if s.HasPrompts {
		summary := "list()"
		for i, p := range s.Prompts {
			if i == 0 {
				summary += ", get(name, args) of "
			} else {
				summary += ", "
			}
			summary += text.Quote(text.Cut(p.Name, MaxSummary, ""), text.Braces)
		}
		out = append(out, Export{PromptsName, text.Summary(comment(summary), MaxSummary)})
	}
	return out
}

// Object returns the type of a prompt's arguments.
func (p Prompt) Object() ir.Object {
	out := ir.Object{Extra: ir.Never{}}
	for _, a := range p.Arguments {
		doc := ir.Doc{Title: a.Title, Description: a.Description}
		out.Fields = append(out.Fields, ir.Field{Name: a.Name, Type: ir.String{}, Required: a.Required, Doc: doc})
	}
	return out
}

// Optional reports whether a prompt can be used without arguments.
func (p Prompt) Optional() bool {
	return !slices.ContainsFunc(p.Arguments, func(a Argument) bool { return a.Required })
}

// NoArguments reports whether the tool can be called without arguments: {} is a value of its input.
func (t *Tool) NoArguments() bool {
	known := map[string]bool{} // definitions; true while one is being examined, which is the wider answer
	var accepts func(t ir.Type) bool
	accepts = func(typ ir.Type) bool {
		switch typ := typ.(type) {
		case ir.Unknown, ir.Map:
			return true
		case ir.Object:
			return !slices.ContainsFunc(typ.Fields, func(f ir.Field) bool { return f.Required })
		case ir.Union:
			return slices.ContainsFunc(typ.Members, accepts)
		case ir.Intersection:
			return !slices.ContainsFunc(typ.Members, func(m ir.Type) bool { return !accepts(m) })
		case ir.Ref:
			if answer, ok := known[typ.Name]; ok {
				return answer
			}
			known[typ.Name] = true
			known[typ.Name] = accepts(t.Input.Resolve(typ))
			return known[typ.Name]
		}
		return false
	}
	return accepts(t.Input.Root)
}

// MaxSummary bounds a tool's line in an index, in characters.
const MaxSummary = 120
