package runner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// maxSteps is the greatest depth of a member that a warning can name.
const maxSteps = 32

// missingMember returns a warning about a member that a script read from a tool's result and that the result does not have. It returns ""
// if the tool's output schema declares the member or allows undeclared ones. The path is a JSON array from the guest, so it is hostile: the
// names of members from the result down, with null for an item of a list.
func missingMember(output json.RawMessage, path string) string {
	var steps []*string
	if json.Unmarshal([]byte(path), &steps) != nil || len(steps) == 0 || len(steps) > maxSteps || steps[len(steps)-1] == nil {
		return ""
	}
	name := *steps[len(steps)-1]
	declared, closed := schema.Members(output, steps[:len(steps)-1])
	switch near := ident.Nearest(name, declared, 1); {
	case !closed || slices.Contains(declared, name):
		return ""
	case len(steps) == 1 && slices.Contains([]string{"structuredContent", "content", "data", "result"}, name):
		return fmt.Sprintf("the call returns the structured content itself, which has no member %q; it has: %s", name, ident.List(declared))
	case len(near) > 0:
		return fmt.Sprintf("its result has no member %q; did you mean %q?", ident.Clip(name, 100), near[0])
	}
	return fmt.Sprintf("its result has no member %q there; it has: %s", ident.Clip(name, 100), ident.List(declared))
}
