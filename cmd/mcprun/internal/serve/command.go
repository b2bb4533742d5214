package serve

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/runner/model"
)

// command holds the flags of mcprun serve, with the options of its runs in run.
type command struct {
	app *cli.App
	run *run.Options
	cmd *cobra.Command

	tools     string
	languages []string
	http      string
	tokenFile string
	noToken   bool
	hosts     []string
	origins   []string

	parallel  int
	queueTime time.Duration
	rate      flags.Rate
	maxTime   time.Duration
	maxMemory int64
	index     int
	prices    model.Prices
}

func (o *command) usage(format string, args ...any) error {
	return &cli.UsageError{Err: fmt.Errorf(format, args...), Command: "mcprun serve"}
}
