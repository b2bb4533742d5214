package main

import (
	"context"
	"os"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
)

// What --daemon may say.
const (
	daemonAuto = "auto"
	daemonOff  = "off"
)

// runByDaemon hands the whole command to the daemon when that is wanted and can be. When it is not done, nothing of it was.
func (o *runOptions) runByDaemon(ctx context.Context) (done bool, err error) {
	if o.host.inDaemon() || o.check {
		return false, nil
	}
	var file config.RunSettings
	if cfg, err := o.load(o.app); err == nil && cfg != nil { // the run itself says what is wrong with it
		file = cfg.Settings.Run
	}
	if o.early("daemon", file.Daemon) != daemonAuto || o.needsTerminal(o.early("elicit", file.Elicit)) {
		return false, nil
	}
	code, done, err := viaDaemon(ctx, o.app)
	if done && err == nil && code != 0 {
		err = cli.Quiet(code)
	}
	return done, err
}

// early is what a flag will be settled to.
func (o *runOptions) early(name, file string) string {
	flag := o.cmd.Flags().Lookup(name)
	if flag.Changed {
		return flag.Value.String()
	}
	if v := o.app.Env(envPrefix + strings.ToUpper(name)); v != "" {
		return v
	}
	return file
}

// needsTerminal tells whether a person would be asked at a terminal that is no stream of this process: a daemon has none.
func (o *runOptions) needsTerminal(elicit string) bool {
	if !o.app.Terminal.Stderr || o.app.Terminal.Stdin || elicit != "" && elicit != elicitPrompt || elicit == "" && o.app.Env("CI") != "" {
		return false
	}
	tty, err := os.Open(terminalName)
	if err != nil {
		return false
	}
	_ = tty.Close()
	return true
}
