package audits

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/store"
)

// recordCommand is a command that reads the record of a project.
type recordCommand struct {
	app     *cli.App
	project project.LocationFlags
	state.PlaceFlag
}

func (o *recordCommand) bind(f *pflag.FlagSet) {
	cli.BindConfig(f, &o.project.Configs)
	o.PlaceFlag.Bind(f)
}

// locate returns the project's configuration, which may be nil, and where its state is.
func (o *recordCommand) locate(cmd *cobra.Command) (cfg *config.Config, place string, err error) {
	if cfg, err = o.project.LoadFor(cmd.Context(), o.app, cmd.Flags()); err != nil {
		return nil, "", err
	}
	base := o.app.Dir
	if cfg != nil {
		base = cfg.Dir
	}
	place, err = o.Place(o.app, base)
	return cfg, place, err
}

// openRecord opens the store with the record. The caller closes it.
func (o *recordCommand) openRecord(cmd *cobra.Command) (store.Store, error) {
	_, place, err := o.locate(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) && !strings.Contains(place, "://") {
		return nil, cli.WithHint(fmt.Errorf("nothing is recorded: there is no file %s", cli.EscapeLine(place)),
			"mcprun serve and runs with --customer are recorded, and others with --audit; --state names another database")
	}
	return state.OpenRecord(cmd.Context(), place)
}

// outputFlag is the flag --output.
type outputFlag struct{ path string }

func (o *outputFlag) bind(f *pflag.FlagSet) {
	f.VarP(flags.Text(&o.path, "file"), "output", "o", "write to this file instead of standard output")
}

// write writes to the file, which only its owner may read, or to standard output. The file is complete, or what it was before.
func (o *outputFlag) write(app *cli.App, write func(io.Writer) error) error {
	if o.path == "" {
		return write(app.Stdout)
	}
	return atomicfile.WriteStream(app.Path(o.path), 0o600, write)
}
