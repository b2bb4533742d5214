package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// commands measures whole commands, from their start to the first line that they print: mcprun alone and with its daemon, of
// a script that prints a line and of one that calls a tool first, and the same call by mcporter, a command from npm.
func (b *bench) commands(ctx context.Context) error {
	home, err := b.folder()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		return err
	}
	demo := filepath.Join(b.root, "bin", "mcpdemo")
	if err := configure(home, map[string][]string{"calculator": {demo, "calculator"}}); err != nil {
		return err
	}
	environ := append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+filepath.Join(home, "run"), "XDG_STATE_HOME="+filepath.Join(home, "state"),
		"XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	if err := b.inFolder(ctx, home, environ, filepath.Join(b.root, "bin", "mcpgen"), "sync"); err != nil {
		return err
	}
	if err := b.mcprunCommands(ctx, home, environ); err != nil {
		return err
	}
	return b.mcporter(ctx, home, environ)
}

const (
	helloCode = `console.log("hello")`
	callCode  = `import { add } from "./servers/calculator"; console.log((await add({ numbers: [1, 2] })).result)`
	callAlone = "mcprun: command to output, one call"
)

func (b *bench) mcprunCommands(ctx context.Context, home string, environ []string) error {
	mcprun := filepath.Join(b.root, "bin", "mcprun")
	const alone = "mcprun: command to output"
	for _, m := range []struct{ name, baseline, daemon, code string }{
		{alone, "", "off", helloCode},
		{alone + ", with the daemon", alone, "auto", helloCode},
		{callAlone, "", "off", callCode},
		{callAlone + ", with the daemon", callAlone, "auto", callCode},
	} {
		samples, err := commandIn(ctx, home, environ, mcprun, "run", "--daemon", m.daemon, "--sandbox", "embedded", "-e", m.code)
		if err != nil {
			return err
		}
		b.table.add(m.name, "ms", m.baseline, samples)
	}
	return b.inFolder(ctx, home, environ, mcprun, "daemon", "stop")
}

// mcporter measures its call of the same tool. It needs a newer node than many machines have; the tests' packages hold one.
func (b *bench) mcporter(ctx context.Context, home string, environ []string) error {
	packages := filepath.Join(b.root, "testdata/npm/node_modules")
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	node, program := filepath.Join(packages, "node-linux-"+arch, "bin", "node"), filepath.Join(packages, "mcporter", "dist", "cli.js")
	for _, file := range []string{node, program} {
		if _, err := os.Stat(file); err != nil {
			b.skip("mcporter: " + err.Error())
			return nil
		}
	}
	for _, m := range []struct{ name, life string }{
		{"mcporter call: command to output", "ephemeral"},
		{"mcporter call: command to output, with its daemon", "keep-alive"},
	} {
		file := filepath.Join(home, m.life+".json")
		cfg, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"calculator": map[string]any{
			"command": filepath.Join(b.root, "bin", "mcpdemo"), "args": []string{"calculator"}, "lifecycle": m.life}}, "imports": []string{}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, cfg, 0o600); err != nil {
			return err
		}
		words := []string{node, program, "--config", file}
		samples, err := commandIn(ctx, home, environ, append(words, "call", "calculator.add(numbers: [1, 2])")...)
		if err != nil {
			return err
		}
		b.table.add(m.name, "ms", callAlone, samples)
		if m.life == "keep-alive" {
			err = b.inFolder(ctx, home, environ, append(words, "daemon", "stop")...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inFolder runs a command that must succeed.
func (b *bench) inFolder(ctx context.Context, dir string, environ []string, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", filepath.Base(words[0]), err, out)
	}
	return nil
}
