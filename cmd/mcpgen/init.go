package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/edit"
	"github.com/mcpgen/mcpgen/gen/config/hosts"
)

func newInitCmd(app *cli.App) *cobra.Command {
	o := &initOptions{app: app}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create mcpgen.json and mcpgen.yaml, or add the servers of an editor or agent",
		Long: `init creates mcpgen.json, the list of MCP servers, unless there is a list here or above, and mcpgen.yaml beside it. Programs
such as Claude Code do not read mcpgen.json. They read .mcp.json, and load every definition of its servers into the model's
context, so that a server in there is paid for twice.

With --from it adds the servers that other programs have, those of the project first:
` + hostList() + `, or all of these.
Their files are only read. A server that the project has already is skipped, unless --force. A token or password is not
copied: it becomes a variable, and init says which to set. Settings that the list has no keys for (tool filters, time-outs,
logins) go to mcpgen.yaml.

A program with its own list of servers loads every definition into the model's context. With --serve, the servers move to
mcpgen.json, and "mcprun serve" takes their place in the program's file. Everything else in that file stays. Secrets go to
.env, and .env to .gitignore. init shows the changes and asks, unless --yes. A server that cannot be moved stays.

Your own file of a program, which is for all your projects, is not changed unless you name it. If the program has no other
servers here, those are copied, "mcprun serve" goes to the program's file for this project, and init says how to switch the
others off here. claude-desktop and windsurf have no file for one project: init asks a second time before it changes theirs,
and with --yes you must name it.

With --agents-md it also writes a paragraph about the tree for agents, between two markers in AGENTS.md, and in CLAUDE.md if
there is one. Once the markers are there, each init updates the paragraph.

If the project uses prettier, biome or ruff, init adds the tree to the files that they ignore.`,
		Example: `  mcpgen init
  mcpgen init --from cursor,vscode            # add servers
  mcpgen init --from all --dry-run            # show what that would add
  mcpgen init --from claude-code --serve      # move them, and let Claude Code start mcprun serve
  mcpgen init --from claude-code:~/.claude.json --serve   # also those that you have in all projects
  mcpgen init --from codex:./other/config.toml
  mcpgen init --from claude-desktop --write-env   # secrets into .env, which goes to .gitignore
  mcpgen init --agents-md                     # tell agents about the tree`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.from, "from", nil, "add the servers of `HOST[:FILE]`; may be given several times, or as a list")
	f.StringArrayVar(&o.agents, "agents-md", nil, "write the paragraph for agents to this `file` (default: AGENTS.md, and CLAUDE.md if it exists)")
	f.Lookup("agents-md").NoOptDefVal = usualAgentFiles
	f.BoolVar(&o.serve, "serve", false, "with --from: move the servers, and leave mcprun serve in the other program's file")
	f.BoolVar(&o.yes, "yes", false, "with --serve: do not ask")
	f.BoolVar(&o.force, "force", false, "with --from: replace servers that the project has already")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; print what would be written")
	f.BoolVar(&o.writeEnv, "write-env", false, "with --from: write secrets to .env, which only you can read, instead of only naming them")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of mcpgen.yaml, and do nothing else")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also print which keys of other programs are ignored, and where files were looked for")
	cli.CompleteFlag(cmd, "from", cli.FixedWords(append(hostNames(), "all")...))
	return cmd
}

func (o *initOptions) run(ctx context.Context) error {
	if o.schema {
		_, err := fmt.Fprint(o.app.Stdout, config.SettingsSchema())
		return err
	}
	switch {
	case len(o.from) == 0 && (o.force || o.writeEnv || o.serve):
		return &cli.UsageError{Err: errors.New("--force, --write-env and --serve need --from"), Command: "mcpgen init"}
	case o.yes && !o.serve:
		return &cli.UsageError{Err: errors.New("--yes needs --serve"), Command: "mcpgen init"}
	}
	p, err := o.project()
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // so that "mcpgen init | head" writes all files
	switch {
	case o.serve:
		err = o.move(ctx, p)
	case len(o.from) > 0:
		err = o.adopt(p)
	default:
		err = o.start(p)
	}
	if err != nil {
		return err
	}
	if err := o.tellAgents(p); err != nil {
		return err
	}
	if !o.serve { // move calls it itself
		if err := o.tellFormatters(p); err != nil {
			return err
		}
	}
	o.tellEditors(p)
	return nil
}

// tellEditors prints the editor settings that make the imports in scripts resolve.
func (o *initOptions) tellEditors(p project) {
	out := "servers"
	if at, err := config.Locate(p.dir, o.app.Configs(nil)); err == nil {
		if cfg, err := at.Load(); err == nil {
			out = filepath.ToSlash(cfg.Settings.Out)
		}
	}
	if !strings.HasPrefix(out, ".") && !filepath.IsAbs(out) {
		out = "./" + out
	}
	o.say(`
For your editor to know the tree and the library of scripts:
  tsconfig.json    { "extends": "%[1]s/.mcpgen/editor/tsconfig.json" }
  pyproject.toml   [tool.pyright]
                   extends = "%[1]s/.mcpgen/editor/pyright.json"`, out)
}

// start creates the files that are missing.
func (o *initOptions) start(p project) error {
	if p.fresh {
		if err := o.create(p.config, edit.EmptyServers); err != nil {
			return err
		}
	} else {
		o.say("%s is there already; it stays as it is", o.name(p.config))
	}
	if err := o.create(p.settings(), config.StarterSettings); err != nil {
		return err
	}
	if p.fresh {
		o.say(`
Next: add your servers to %s, for example

  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "./data"] },
    "issues": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } }
  }

or take over those that your editor or agent has: mcpgen init --from %s.
Then run "mcpgen sync". It starts the commands that are listed there, and writes wrappers for their tools.`, o.name(p.config), o.suggestion(p.dir))
		return nil
	}
	o.say("\nNext: run \"mcpgen sync\". It starts the servers in %s, and writes wrappers for their tools.", o.name(p.config))
	o.paidTwice([]hosts.Place{{Host: config.ClaudeCode, Path: p.config}})
	return nil
}
