package hint

import (
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Failure is a failed script, with what is known about its run.
type Failure struct {
	Name, Code string
	Language   sandbox.Language
	Dir        string              // the folder of the script, or empty
	Err        *bridge.ScriptError // nil if it did not fail
	Network    bool                // the run had a network
	Handles    bool                // the script received a handle for a large result
	// ParsedTools and TextTools are as in [chain.Summary].
	ParsedTools, TextTools []string
	// Installed says which packages scripts may import, as a part of a sentence, or is empty. It may be nil. It is called if the error is
	// about one that is not there.
	Installed func() string
	Tree      string           // the generated folder, or empty
	Catalog   *catalog.Catalog // the catalog of the tree
}
