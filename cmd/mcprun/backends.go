package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// backendOptions are what a person can say about the sandboxes themselves.
type backendOptions struct {
	image        string
	defaultImage string // from the settings
	runsc        string
}

func (o *backendOptions) bind(f *pflag.FlagSet) {
	f.Var(word{&o.image, "name"}, "image", "of the docker sandbox, instead of the pinned one; it also selects docker")
	f.Var(word{&o.runsc, "program"}, "runsc", "gVisor's, for the gvisor sandbox, instead of the one on PATH")
}

func (o *backendOptions) backends(app *cli.App, log *slog.Logger) ([]sandbox.Backend, error) {
	return backends.List(backends.Options{LookupEnv: app.LookupEnv, Image: o.imageName(app), Runsc: o.runsc, Logger: log})
}

func closeAll(list []sandbox.Backend) {
	for _, b := range list {
		_ = b.Close()
	}
}
