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
	"github.com/mcpgen/mcpgen/gen/config"
)

type initOptions struct {
	app      *cli.App
	from     []string
	agents   []string
	force    bool
	dryRun   bool
	writeEnv bool
	schema   bool
	verbose  bool
}

func newInitCmd(app *cli.App) *cobra.Command {
	o := &initOptions{app: app}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create .mcp.json and mcpgen.yaml, or take over the servers that an editor or agent has",
		Long: `init creates what a project needs: .mcp.json, the list of its MCP servers, unless there is one here or above, up to the
root of the git repository; and mcpgen.yaml beside it.

With --from it takes over the servers that other programs have, their files in the project first, then the person's own:
` + hostList() + `, or all of these.
Their files are only read. Servers are added to .mcp.json; one that is there stays, unless --force. A token or password
that stands in such a file is not copied: it becomes a variable, and init says which to set. What .mcp.json has no keys
for (tool filters, time-outs, logins) goes to mcpgen.yaml.

With --agents-md it also writes the paragraph that tells an agent of the tree, between two markers in AGENTS.md, and in
CLAUDE.md if there is one. Where the markers are, each init keeps the paragraph current and touches nothing else.`,
		Example: `  mcpgen init
  mcpgen init --from cursor,vscode            # take over servers
  mcpgen init --from all --dry-run            # what would that be?
  mcpgen init --from codex:./other/config.toml
  mcpgen init --from claude-desktop --write-env   # secrets into .env, which git must ignore
  mcpgen init --agents-md                     # tell agents of the tree`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return o.run() },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.from, "from", nil, "take over the servers of `HOST[:FILE]`; may be given several times, or as a list")
	f.StringArrayVar(&o.agents, "agents-md", nil, "write the paragraph for agents to this `file` (default: AGENTS.md, and CLAUDE.md if it is there)")
	f.Lookup("agents-md").NoOptDefVal = usualAgentFiles
	f.BoolVar(&o.force, "force", false, "with --from: replace servers that .mcp.json has already")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; print what would be written")
	f.BoolVar(&o.writeEnv, "write-env", false, "with --from: put secrets into .env, readable for you alone, instead of only naming them")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of mcpgen.yaml, and do nothing else")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say also which keys of other programs are ignored, and where files were looked for")
	return cmd
}

func hostList() string {
	var names []string
	for _, h := range config.Hosts() {
		names = append(names, string(h))
	}
	return strings.Join(names, ", ")
}

func (o *initOptions) run() error {
	if o.schema {
		_, err := fmt.Fprint(o.app.Stdout, config.SettingsSchema())
		return err
	}
	if len(o.from) == 0 && (o.force || o.writeEnv) {
		return &cli.UsageError{Err: errors.New("--force and --write-env need --from"), Command: "mcpgen init"}
	}
	path, err := config.Find(o.app.Dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	switch {
	case fresh:
		path = filepath.Join(o.app.Dir, config.FileName)
	case err != nil:
		return err
	}
	if len(o.from) > 0 {
		err = o.adopt(path)
	} else {
		err = o.start(path, fresh)
	}
	if err != nil {
		return err
	}
	if err := o.tellAgents(filepath.Dir(path)); err != nil {
		return err
	}
	o.tellEditors(path)
	return nil
}

// tellEditors says which lines make a person's editor know what scripts can import.
func (o *initOptions) tellEditors(path string) {
	out := "servers"
	if cfg, err := config.Load(path); err == nil {
		out = filepath.ToSlash(cfg.Settings.Out)
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
func (o *initOptions) start(path string, fresh bool) error {
	if fresh {
		if err := o.create(path, config.EmptyServers); err != nil {
			return err
		}
	} else {
		o.say("%s is there already; it stays as it is", o.name(path))
	}
	if err := o.create(filepath.Join(filepath.Dir(path), config.SettingsName), config.StarterSettings); err != nil {
		return err
	}
	if fresh {
		o.say(`
Next: add your servers to %s, for example

  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "./data"] },
    "issues": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } }
  }

or take over those that your editor or agent has: mcpgen init --from %s.
Then run "mcpgen sync". It starts the commands that are listed there, and writes wrappers for their tools.`, config.FileName, o.suggestion(filepath.Dir(path)))
		return nil
	}
	o.say("\nNext: run \"mcpgen sync\". It starts the servers in %s, and writes wrappers for their tools.", o.name(path))
	return nil
}

// create writes a file that isn't there.
func (o *initOptions) create(path, content string) error {
	if o.dryRun {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			o.say("would create %s", o.name(path))
			return nil
		}
	}
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

// replace writes a file whole or not at all, through a link if it is one, and keeps the permissions it has.
func replace(path string, content []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcpgen-*")
	if errors.Is(err, fs.ErrNotExist) { // the error names a file that nobody asked for
		return fmt.Errorf("write %s: there is no folder %s", path, filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone when all went well
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readIfThere returns nil for a file that isn't there.
func readIfThere(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (o *initOptions) name(path string) string {
	if rel, err := filepath.Rel(o.app.Dir, path); err == nil && !strings.HasPrefix(rel, ".."+string(filepath.Separator)+"..") {
		path = filepath.ToSlash(rel)
	}
	return cli.CleanLine(path)
}

func (o *initOptions) say(format string, args ...any) {
	_, _ = fmt.Fprintln(o.app.Stdout, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}

func (o *initOptions) warn(message string) {
	_, _ = fmt.Fprintf(o.app.Stderr, "%s %s\n", o.app.ErrStyle().Yellow("warning:"), cli.CleanLine(message))
}
