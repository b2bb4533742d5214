package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// backendOptions are what a person can say about the sandboxes themselves.
type backendOptions struct {
	image        string
	defaultImage string // from the settings
}

func (o *backendOptions) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.image, "image", "", "image for the docker sandbox, instead of the pinned one (MCPRUN_IMAGE)")
}

func (o *backendOptions) backends(app *cli.App, log *slog.Logger) ([]sandbox.Backend, error) {
	image := o.image
	if image == "" {
		image = app.Env("MCPRUN_IMAGE")
	}
	if image == "" {
		image = o.defaultImage
	}
	return backends.List(backends.Options{LookupEnv: app.LookupEnv, Image: image, Logger: log})
}
