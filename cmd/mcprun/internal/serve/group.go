package serve

import (
	"fmt"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
)

// indifferent are the flags that do not say what a call does: who may connect and how, what is shown, how many calls there are at once, and
// where all servers of a group keep their state anyway. All others keep servers apart, also those that will be added.
var indifferent = []string{
	"http", "token-file", "no-token", "allow-host", "allow-origin", "customer",
	"index-tokens", "prices", "quiet", "debug", "help",
	"parallel", "queue-time", "rate",
	"state", "audit", "trust-config",
}

// group names the servers that would do the same with a call as this one: they have its mode, the secret of its user, and the same flags. A
// default counts as not given, so that a flag that is added keeps no server apart from what an older version began.
func (o *command) group(p *project.Project, secret []byte) (string, error) {
	mark, err := o.run.Mark(p, "mcprun serve", o.cmd.Flags(), secret, indifferent)
	return fmt.Sprintf("calls-%s-%s", o.tools, mark), err
}
