package models

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner/model"
)

// NewCommand returns the command model.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "model", Short: "Check the language model that commands ask",
		Long: `The language model is named by model: in mcpgen.yaml, or by variables of the environment or .env.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(app, at))
	return cmd
}

type check struct {
	app *cli.App
	at  resources.Provider
	project.LocationFlags
	state.PlaceFlag
	json bool
}

func newCheck(app *cli.App, at resources.Provider) *cobra.Command {
	o := &check{app: app, at: at}
	cmd := &cobra.Command{
		Use: "check", Short: "Send the model a short request",
		Long: `check sends the configured model one short request, and prints which model answered, how long it
took, and what it used. This costs a few tokens, which count for the budget.`,
		Example: "  mcprun model check\n  MCPRUN_MODEL=openai/gpt-5-mini mcprun model check --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.BindConsent(cmd.Flags())
	o.PlaceFlag.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// report is what check prints with --json.
type report struct {
	Name    string      `json:"name"`
	Model   string      `json:"model"` // as the endpoint names it
	Latency float64     `json:"latencyMs"`
	Stop    model.Stop  `json:"stop"`
	Usage   model.Usage `json:"usage"`
}

func (o *check) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	p, err := o.Open(ctx, o.app, o.at, o.app.Stderr)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := flags.ApplyDefaults(o.app, cmd.Flags(), &p.Settings); err != nil {
		return err
	}
	o.Attach(o.app, p)
	client, err := Open(ctx, o.app, p)
	if err != nil {
		return err
	}
	got, err := try(ctx, client)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(got)
	}
	cost := "unknown: model.prices in mcpgen.yaml sets the prices"
	if got.Usage.Cost > 0 {
		cost = "$" + strconv.FormatFloat(got.Usage.Cost, 'f', 6, 64)
	}
	return cli.Table(o.app.Stdout, o.app.OutStyle(), nil, [][]string{
		{"endpoint", got.Name}, {"answered by", got.Model}, {"latency", fmt.Sprintf("%.0f ms", got.Latency)},
		{"tokens", fmt.Sprintf("%d read, %d written", got.Usage.Input, got.Usage.Output)}, {"cost", cost},
	})
}

// try sends a short request.
func try(ctx context.Context, client model.Client) (*report, error) {
	begin := time.Now()
	r, err := client.Generate(ctx, &model.Request{Messages: []model.Message{{Role: model.User, Text: "Answer with the word ok."}}, MaxTokens: 1024})
	if err != nil {
		return nil, err
	}
	return &report{client.Name(), r.Model, float64(time.Since(begin).Microseconds()) / 1000, r.Stop, r.Usage}, nil
}
