// Package tools has the command tools, which installs type checkers.
package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/checkers"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/script/check/tools"
)

// NewCommand returns `mcprun tools`.
func NewCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Install the type checkers for scripts"}
	cmd.AddCommand(newInstallCmd(app))
	return cmd
}

const installHelp = `install downloads TypeScript's native compiler (tsc) and pyright from the npm registry, for
this user. mcprun uses them for --check, and when a script fails or prints what a missing
value becomes. Each file must have the hash that is compiled into mcprun.
tsc is a program of its own. pyright needs node.
A project's own checkers, and those on PATH, go before them.`

func newInstallCmd(app *cli.App) *cobra.Command {
	registry := ""
	names := names()
	cmd := &cobra.Command{
		Use: "install [" + strings.Join(names, "|") + "]...", Short: "Install tsc and pyright, or one of them",
		Long: installHelp, Example: "  mcprun tools install\n  mcprun tools install tsc",
		Args: cli.Args(cobra.OnlyValidArgs), ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return install(cmd.Context(), app, cmp.Or(registry, registryOf(cmd.Context(), app)), func(t *tools.Tool) bool { return len(args) == 0 || slices.Contains(args, t.Name) })
		},
	}
	cmd.Flags().Var(flags.Text(&registry, "url"), "registry", "an npm registry (default: that of npm_config_registry, else the one that npm is configured with)")
	return cmd
}

// registryOf returns the npm registry that the environment names, else the one that npm is configured with, or "" if there is none.
func registryOf(ctx context.Context, app *cli.App) string {
	if named := cmp.Or(app.Env("npm_config_registry"), app.Env("NPM_CONFIG_REGISTRY")); named != "" {
		return named
	}
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// names returns the names of the tools for this machine.
func names() []string {
	var names []string
	for _, t := range tools.All(runtime.GOOS, runtime.GOARCH) {
		names = append(names, t.Name)
	}
	return names
}

// InstallMissing installs the checkers of the languages for which none is found.
func InstallMissing(ctx context.Context, app *cli.App) error {
	places := checkers.Places(app, app.Dir)
	return install(ctx, app, registryOf(ctx, app), func(t *tools.Tool) bool {
		language := sandbox.LangTypeScript
		if t.Node {
			language = sandbox.LangPython
		}
		_, err := places.Find(language)
		_, missing := errors.AsType[*check.MissingError](err)
		return missing
	})
}

// install installs the tools that are wanted.
func install(ctx context.Context, app *cli.App, registry string, wanted func(*tools.Tool) bool) error {
	dir := checkers.Dir(app)
	if dir == "" {
		return cli.WithHint(errors.New("there is no place for the type checkers"), "set HOME or XDG_CACHE_HOME")
	}
	for _, t := range tools.All(runtime.GOOS, runtime.GOARCH) {
		if !wanted(&t) {
			continue
		}
		fresh, err := t.Install(ctx, dir, registry)
		if err != nil {
			return err
		}
		text := "%s %s is already in %s\n"
		if fresh {
			text = "Installed %s %s in %s\n"
		}
		fmt.Fprintf(app.Stdout, text, t.Name, t.Version, t.Folder(dir))
		if _, err := exec.LookPath("node"); t.Node && err != nil {
			fmt.Fprintf(app.Stderr, "mcprun: %s needs node, which was not found: install it from https://nodejs.org\n", t.Name)
		}
	}
	return nil
}
