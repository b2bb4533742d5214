package run

import (
	"context"
	"os"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/daemon"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/term"
	"github.com/mcpgen/mcpgen/gen/config"
)

// runByDaemon runs the command in the daemon if --daemon asks for it and a daemon is available. If done is false, nothing
// was run.
func (o *Options) runByDaemon(ctx context.Context) (done bool, err error) {
	if o.Resources.InDaemon() || o.Check || o.plan != "" || o.schedule != nil || o.task != nil {
		return false, nil
	}
	file := config.RunSettings{}
	cfg, err := o.Load(o.App)
	if err == nil && cfg != nil { // the run itself reports what is wrong with it
		file = cfg.Settings.Run
	}
	if o.early("daemon", file) != daemonAuto || o.needsTerminal(o.early("elicit", file), o.early("approve", file)) ||
		o.early("approve-command", file) != "" { // it needs the environment of this process
		return false, nil
	}
	if cfg != nil {
		if err := o.Consent(ctx, o.App, o.Resources, cfg); err != nil {
			return true, err // the daemon refuses it as well, and asks nobody
		}
	}
	code, done, err := daemon.Run(ctx, o.App)
	if done && err == nil && code != 0 {
		err = cli.Quiet(code)
	}
	return done, err
}

// early returns the final value of a flag before ApplyDefaults has run.
func (o *Options) early(name string, file config.RunSettings) string {
	flag := o.Cmd.Flags().Lookup(name)
	if flag.Changed {
		return flag.Value.String()
	}
	key := strings.ReplaceAll(name, "-", "_")
	if v := o.App.Env(flags.EnvPrefix + strings.ToUpper(key)); v != "" {
		return v
	}
	return file[key].Value
}

// needsTerminal reports whether a person would be asked at a terminal that is not one of this process's streams. The daemon
// cannot open such a terminal.
func (o *Options) needsTerminal(elicit, approve string) bool {
	asks := elicit == term.ElicitPrompt || elicit == "" && o.App.Env("CI") == "" || mayAskAtTerminal(o.App, approve)
	if !o.App.Terminal.Stderr || o.App.Terminal.Stdin || !asks {
		return false
	}
	tty, err := os.Open(term.TerminalName())
	if err != nil {
		return false
	}
	_ = tty.Close()
	return true
}
