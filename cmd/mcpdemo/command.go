// Command mcpdemo holds six MCP servers that do real work on local data:
// calculator, weather, filesystem, database, drive and crm. They are what the
// repository's .mcp.json configures, what its examples call, and what its tests
// measure. Each runs as a process of its own: mcpdemo NAME speaks MCP on stdin
// and stdout.
//
// Start at [newCommand]; each server is a package below internal.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/calculator"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/crm"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/database"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/drive"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/filesystem"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/weather"
)

// options are the flags of all servers.
type options struct {
	data    string
	latency time.Duration // weather only

	stdin  io.ReadCloser
	stdout io.WriteCloser
}

// newCommand returns the root command; every server is a subcommand.
func newCommand(stdin io.ReadCloser, stdout io.WriteCloser, stderr io.Writer) *cobra.Command {
	o := &options{stdin: stdin, stdout: stdout}
	root := &cobra.Command{
		Use:           "mcpdemo SERVER",
		Short:         "MCP servers that do real work on local data",
		Long:          "mcpdemo runs one of six MCP servers on stdin and stdout.\nTheir data is created on first use and kept in the folder given by --data.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetErr(stderr)
	root.SetOut(stderr) // stdout belongs to the protocol
	root.PersistentFlags().StringVar(&o.data, "data", "", "folder for the servers' data (default $XDG_STATE_HOME/mcpdemo)")

	weatherCmd := o.server("weather", "climate normals and forecasts of 24 cities", func(context.Context, string) (*tool.Server, error) {
		return weather.New(o.latency)
	})
	weatherCmd.Flags().DurationVar(&o.latency, "latency", 0, "simulate a remote service: every tool call takes at least this long")
	root.AddCommand(
		o.server("calculator", "arithmetic, expressions and statistics", func(context.Context, string) (*tool.Server, error) { return calculator.New() }),
		weatherCmd,
		o.server("filesystem", "files below one folder", func(_ context.Context, dir string) (*tool.Server, error) { return filesystem.New(dir) }),
		o.server("database", "a shop's SQLite database", database.New),
		o.server("drive", "documents and sheets kept as files", func(_ context.Context, dir string) (*tool.Server, error) { return drive.New(dir) }),
		o.server("crm", "customer records in the manner of Salesforce", crm.New),
	)
	return root
}

// server returns the subcommand of one server, whose data is in a folder of its
// name below the data folder.
func (o *options) server(name, short string, open func(ctx context.Context, dir string) (*tool.Server, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			data := o.data
			if data == "" {
				if data, err = defaultData(); err != nil {
					return err
				}
			}
			srv, err := open(cmd.Context(), filepath.Join(data, name))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, srv.Close()) }()
			err = srv.Run(cmd.Context(), &mcp.IOTransport{Reader: o.stdin, Writer: o.stdout})
			if cmd.Context().Err() != nil || errors.Is(err, io.EOF) {
				return nil // a clean end
			}
			return err
		},
	}
}

// defaultData is the per-user folder for state that outlives a process.
func defaultData() (string, error) {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "mcpdemo"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("find a folder for the data: no home directory; give one with --data")
	}
	return filepath.Join(home, ".local", "state", "mcpdemo"), nil
}
