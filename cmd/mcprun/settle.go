package main

import (
	"fmt"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// settle fills in what no flag said: from the environment, else from the run section of mcpgen.yaml.
func (o *runOptions) settle(p *project) error {
	file := p.settings.Run
	o.defaultImage = file.Image
	timeout := ""
	if file.Timeout > 0 {
		timeout = file.Timeout.String()
	}
	workspace := file.Workspace
	if workspace != "" && !filepath.IsAbs(workspace) {
		workspace = filepath.Join(p.dir, workspace)
	}
	for _, d := range []struct{ flag, env, file string }{
		{"sandbox", "MCPRUN_SANDBOX", file.Sandbox},
		{"timeout", "MCPRUN_TIMEOUT", timeout},
		{"memory", "MCPRUN_MEMORY", file.Memory},
		{"workspace", "MCPRUN_WORKSPACE", workspace},
	} {
		if o.cmd.Flags().Changed(d.flag) {
			continue
		}
		value, from := o.app.Env(d.env), d.env
		if value == "" {
			value, from = d.file, fmt.Sprintf("%s: run.%s", p.settings.Path, d.flag)
		}
		if value == "" {
			continue
		}
		if err := o.cmd.Flags().Lookup(d.flag).Value.Set(value); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("%s: %w", from, err), Command: "mcprun"}
		}
	}
	return nil
}
