package gen

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// converted are the types of one tool, and what was not understood of its schemas. output is nil where it has none.
type converted struct {
	input                   ir.Schema
	output                  *ir.Schema
	inputNotes, outputNotes []schema.Note
}

// convert turns the schemas of all tools into types, several at once. The result is by server and tool.
func convert(c *catalog.Catalog) [][]converted {
	const share = 64 // tools that one goroutine converts at a time
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	out := make([][]converted, len(c.Servers))
	for i, server := range c.Servers {
		out[i] = make([]converted, len(server.Tools))
		for from := 0; from < len(server.Tools); from += share {
			group.Go(func() error {
				for j := from; j < min(from+share, len(server.Tools)); j++ {
					out[i][j] = convertTool(&server.Tools[j])
				}
				return nil
			})
		}
	}
	_ = group.Wait() // none of them fails
	return out
}

func convertTool(t *catalog.Tool) converted {
	var out converted
	out.input, out.inputNotes = schema.Convert(t.Input)
	if t.Output != nil {
		output, notes := schema.Convert(t.Output)
		out.output, out.outputNotes = &output, notes
	}
	return out
}
