package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

type doctorOptions struct {
	app *cli.App
	backendOptions
	json bool
}

func newDoctorCmd(app *cli.App) *cobra.Command {
	o := &doctorOptions{app: app}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell which sandboxes work on this machine, why not, and what to do",
		Long: "doctor tries each sandbox's requirements and starts none.\nIt exits with 0 when at least one is usable, else with 1.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON array")
	o.backendOptions.bind(cmd)
	return cmd
}

// finding is one sandbox as doctor shows it.
type finding struct {
	Name      string             `json:"name"`
	Usable    bool               `json:"usable"`
	Detail    string             `json:"detail"`
	Remedy    string             `json:"remedy,omitempty"`
	Languages []sandbox.Language `json:"languages"`
	Missing   []string           `json:"missing"`
}

func (o *doctorOptions) run(ctx context.Context) error {
	backends, err := o.backends(o.app, nil)
	if err != nil {
		return err
	}
	defer closeAll(backends)
	findings := make([]finding, 0, len(backends))
	usable := false
	for _, b := range backends {
		st := b.Probe(ctx)
		usable = usable || st.Usable
		findings = append(findings, finding{
			Name: b.Name(), Usable: st.Usable, Detail: st.Detail, Remedy: st.Remedy,
			Languages: append([]sandbox.Language{}, st.Languages...), Missing: append([]string{}, st.Missing...),
		})
	}
	if o.json {
		err = o.app.JSON(findings)
	} else {
		o.print(findings)
	}
	if err == nil && !usable {
		return cli.Quiet(1)
	}
	return err
}

func (o *doctorOptions) print(findings []finding) {
	style, w := o.app.OutStyle(), o.app.Stdout
	for _, f := range findings {
		mark := style.Green("usable    ")
		if !f.Usable {
			mark = style.Red("not usable")
		}
		fmt.Fprintf(w, "%s  %s  %s\n", style.Bold(fmt.Sprintf("%-8s", f.Name)), mark, cli.CleanLine(f.Detail))
		const indent = "          "
		if len(f.Languages) > 0 {
			words := make([]string, len(f.Languages))
			for i, l := range f.Languages {
				words[i] = string(l)
			}
			fmt.Fprintf(w, "%sruns: %s\n", indent, strings.Join(words, ", "))
		}
		for _, m := range f.Missing {
			fmt.Fprintf(w, "%s%s %s\n", indent, style.Yellow("missing:"), cli.CleanLine(m))
		}
		if f.Remedy != "" {
			fmt.Fprintf(w, "%s%s %s\n", indent, style.Bold("do:"), strings.ReplaceAll(cli.Clean(f.Remedy), "\n", "\n"+indent+"    "))
		}
	}
}
