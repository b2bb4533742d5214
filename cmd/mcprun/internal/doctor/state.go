package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
)

// inspectState looks at the state of the project in the folder base.
func (o *command) inspectState(ctx context.Context, base string, settings *config.Settings) {
	place, err := o.place.Place(o.app, base)
	if err != nil {
		text := cli.ErrorLine(err)
		o.state = &state.Inspection{Error: &text, Recorded: "none"}
		return
	}
	o.state = state.Inspect(ctx, place, cmp.Or(o.app.Env(flags.EnvPrefix+"AUDIT"), settings.Variables[flags.EnvPrefix+"AUDIT"], settings.Run["audit"].Value))
}

// stateWords describes the state in a line.
func stateWords(i *state.Inspection, now time.Time) string {
	if i.Error != nil {
		if i.Remedy == nil {
			return *i.Error
		}
		return fmt.Sprintf("does not work: %s; to mend it: %s", *i.Error, *i.Remedy)
	}
	recorded := map[string]string{"all": "all runs are recorded", "usual": "runs of customers and of mcprun serve are recorded", "none": "no runs are recorded"}[i.Recorded]
	if !i.Exists {
		return fmt.Sprintf("%s, which is made when something is kept; %s", i.Place, recorded)
	}
	kind := map[string]string{"sqlite": "SQLite", "postgres": "Postgres"}[i.Kind]
	words := []string{fmt.Sprintf("%s (%s, tables of version %d, %s)", i.Place, kind, *i.Version, flags.Bytes(int(*i.Bytes))), recorded, cli.Count(int(*i.Rows), "row")}
	switch h := i.Head; {
	case h != nil:
		words = append(words, fmt.Sprintf("the newest signed head is %s old and covers %d", now.Sub(h.Time).Round(time.Second), h.Rows))
	case *i.Rows > 0:
		words = append(words, "no head is signed yet")
	}
	return strings.Join(words, "; ")
}
