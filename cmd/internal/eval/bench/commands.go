package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// commands measures whole commands, from their start to the first line that they print: mcprun alone and with its daemon,
// with a script that prints a line and with one that calls a tool first.
func (b *bench) commands(ctx context.Context) error {
	home, err := b.folder()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		return err
	}
	if err := configure(home, map[string][]string{"calculator": {filepath.Join(b.root, "bin", "mcpdemo"), "calculator"}}); err != nil {
		return err
	}
	environ := append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+home, "XDG_RUNTIME_DIR="+filepath.Join(home, "run"), "XDG_STATE_HOME="+filepath.Join(home, "state"),
		"XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	if err := runIn(ctx, home, environ, filepath.Join(b.root, "bin", "mcpgen"), "sync"); err != nil {
		return err
	}
	const (
		helloCode = `console.log("hello")`
		callCode  = `import { add } from "./servers/calculator"; console.log((await add({ numbers: [1, 2] })).result)`
		alone     = "mcprun: command to output"
		callAlone = "mcprun: command to output, one call"
	)
	mcprun := filepath.Join(b.root, "bin", "mcprun")
	for _, m := range []struct{ name, baseline, daemon, code string }{
		{alone, "", "off", helloCode},
		{alone + ", with the daemon", alone, "auto", helloCode},
		{callAlone, "", "off", callCode},
		{callAlone + ", with the daemon", callAlone, "auto", callCode},
	} {
		t, err := command(ctx, home, environ, mcprun, "run", "--daemon", m.daemon, "--sandbox", "embedded", "-e", m.code)
		if err != nil {
			return err
		}
		b.table.add(m.name, "ms", m.baseline, t.starts)
	}
	return runIn(ctx, home, environ, mcprun, "daemon", "stop")
}

// runIn runs a command that must succeed in a folder.
func runIn(ctx context.Context, dir string, environ []string, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", filepath.Base(words[0]), err, out)
	}
	return nil
}
