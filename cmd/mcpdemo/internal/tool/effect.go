package tool

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Effect is what calling a tool changes. It decides the tool's annotations.
type Effect int

const (
	// Reads changes nothing.
	Reads Effect = iota
	// Creates only adds: calling it again adds again.
	Creates
	// Updates overwrites something; the same call again changes nothing more.
	Updates
	// Modifies may destroy, and the same call again does something else.
	Modifies
	// Deletes removes something for good.
	Deletes
)

// annotations returns every hint explicitly, because the defaults of the
// protocol are the dangerous ones. No demo server talks to the outside, so
// openWorldHint is always false.
func (e Effect) annotations(title string) *mcp.ToolAnnotations {
	destructive := e == Updates || e == Modifies || e == Deletes
	openWorld := false
	return &mcp.ToolAnnotations{
		Title:           title,
		ReadOnlyHint:    e == Reads,
		DestructiveHint: &destructive,
		IdempotentHint:  e == Reads || e == Updates || e == Deletes,
		OpenWorldHint:   &openWorld,
	}
}
