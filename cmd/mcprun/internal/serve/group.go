package serve

import (
	"fmt"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
)

// group names the servers that would do the same with a call as this one: they have its mode, the secret of its user, and the same flags. A
// default counts as not given, so that a flag that is added keeps no server apart from what an older version began.
func (o *command) group(p *project.Project, secret []byte) (string, error) {
	mark, err := o.run.Mark(p, "mcprun serve", o.cmd.Flags(), secret)
	return fmt.Sprintf("calls-%s-%s", o.tools, mark), err
}
