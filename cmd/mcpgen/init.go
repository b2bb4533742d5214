package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

const starterServers = `{
  "mcpServers": {}
}
`

const starterSettings = `# Settings of mcpgen. The servers themselves are in .mcp.json beside this file.
version: 1

# Languages to write wrappers in.
languages: [typescript, python]

# The folder of the tree, from here. Check it in.
out: servers

# What to take of single servers, by their names in .mcp.json. In a glob, * is any text and ? any one character.
# servers:
#   drive:
#     include: ["get_*", "list_*"]
#     exclude: ["*_admin_*"]
`

type initOptions struct{ app *cli.App }

func newInitCmd(app *cli.App) *cobra.Command {
	o := &initOptions{app: app}
	return &cobra.Command{
		Use:   "init",
		Short: "Create mcpgen.yaml, and .mcp.json if there is none",
		Long: `init creates what a project needs: .mcp.json, the list of its MCP servers, unless there is one here or above, up to the
root of the git repository; and mcpgen.yaml beside it. A file that is there is never changed.`,
		Example: `  mcpgen init
  mcpgen init && $EDITOR .mcp.json && mcpgen sync`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return o.run() },
	}
}

func (o *initOptions) run() error {
	config, err := gen.FindConfig(o.app.Dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	switch {
	case fresh:
		config = filepath.Join(o.app.Dir, gen.ConfigName)
		if err := o.create(config, starterServers); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		o.say("%s is there already; it stays as it is", o.name(config))
	}
	if err := o.create(filepath.Join(filepath.Dir(config), gen.SettingsName), starterSettings); err != nil {
		return err
	}
	if fresh {
		o.say(`
Next: add your servers to %s, for example

  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "./data"] },
    "issues": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } }
  }

and run "mcpgen sync". It starts the commands that are listed there, and writes wrappers for their tools.`, gen.ConfigName)
		return nil
	}
	o.say("\nNext: run \"mcpgen sync\". It starts the servers in %s, and writes wrappers for their tools.", o.name(config))
	return nil
}

// create writes a file that isn't there.
func (o *initOptions) create(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		o.say("%s is there already; it stays as it is", o.name(path))
		return nil
	}
	if err != nil {
		return fmt.Errorf("create a starter file: %w", err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	o.say("created %s", o.name(path))
	return nil
}

func (o *initOptions) name(path string) string {
	if rel, err := filepath.Rel(o.app.Dir, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	return cli.CleanLine(path)
}

func (o *initOptions) say(format string, args ...any) {
	_, _ = fmt.Fprintln(o.app.Stdout, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}
