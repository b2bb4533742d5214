// Package image has the command image, which installs the image of the docker sandbox.
package image

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/tools"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

const imageHelp = `The docker sandbox runs scripts in one image: node, python3 and their libraries, without a
shell. Its digest is compiled into mcprun. image installs it in the engine that DOCKER_HOST
names. A release pulls the image by its digest. Other builds build it from Debian packages,
which needs mmdebstrap, npm and python3; every build is identical, bit for bit.
With --data it is a larger image (300 MB instead of 180), with numpy, pandas and openpyxl.
Scripts run in it as soon as the engine has it.
If no type checker is found, image also does what mcprun tools install does.`

// NewCommand returns `mcprun image`.
func NewCommand(app *cli.App) *cobra.Command {
	var opt docker.InstallOptions
	cmd := &cobra.Command{
		Use: "image", Short: "Install the image of the docker sandbox: pull it, or build it",
		Long: imageHelp,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := backends.Docker(backends.Options{LookupEnv: app.LookupEnv, Dir: app.Dir})
			defer b.Close()
			opt.Log = app.Stderr
			name, installed, err := b.InstallImage(cmd.Context(), opt)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("The engine has the image %s.", name)
			switch {
			case opt.Newest:
				text = fmt.Sprintf("Built %s from the newest packages. To use it: export MCPRUN_IMAGE=%s", name, name)
			case installed:
				text = fmt.Sprintf("Installed the image %s. Check it with: mcprun doctor", name)
			}
			if _, err = fmt.Fprintln(app.Stdout, text); err != nil {
				return err
			}
			if err := tools.InstallMissing(cmd.Context(), app); err != nil { // scripts run without them
				fmt.Fprintf(app.Stderr, "mcprun: no type checker was installed; try again with mcprun tools install: %s\n", cli.EscapeLine(err.Error()))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.Build, "build", false, "build the image, even if it could be pulled")
	f.BoolVar(&opt.Newest, "newest", false, "build from the newest Debian packages; the image differs from the pinned one")
	f.BoolVar(&opt.Data, "data", false, "install the larger image, with numpy, pandas and openpyxl for Python scripts")
	cmd.MarkFlagsMutuallyExclusive("build", "newest")
	f.SortFlags = false
	return cmd
}
