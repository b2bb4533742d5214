package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
)

// envPrefix begins the name of every variable that stands for a flag.
const envPrefix = "MCPRUN_"

// settle fills in what no flag said: from the environment, else from the run section of mcpgen.yaml.
func (o *runOptions) settle(p *project) error {
	o.defaultImage = p.settings.Run.Image
	if err := settleFlags(o.app, o.cmd.Flags(), &p.settings, p.dir); err != nil {
		return err
	}
	return o.settleRisk(p.settings.Run.Risk)
}

// settleFlags fills in those of a command's flags that can be set elsewhere, too. Paths are from dir, the folder of the
// settings.
func settleFlags(app *cli.App, flags *pflag.FlagSet, settings *config.Settings, dir string) error {
	for _, d := range defaults(settings.Run, dir) {
		flag := flags.Lookup(d.flag)
		if flag == nil || flag.Changed {
			continue
		}
		key := strings.ReplaceAll(d.flag, "-", "_")
		env := envPrefix + strings.ToUpper(key)
		if value := app.Env(env); value != "" {
			if err := flag.Value.Set(value); err != nil {
				return &cli.UsageError{Err: fmt.Errorf("%s: %w", env, err), Command: "mcprun"}
			}
		} else if d.value != "" {
			if err := flag.Value.Set(d.value); err != nil {
				return &config.FileError{File: settings.Path, Line: settings.Run.Lines[key], Key: "run." + key, Problem: err.Error()}
			}
		}
	}
	return nil
}

// fileValue is what mcpgen.yaml says for a flag, as it would be written there; empty when it says nothing.
type fileValue struct{ flag, value string }

// defaults lists every flag that has a variable and a setting. Paths are from dir, the folder of the settings.
func defaults(file config.RunSettings, dir string) []fileValue {
	from := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	return []fileValue{
		{"sandbox", file.Sandbox},
		{"workspace", from(file.Workspace)},
		{"workspaces", from(file.Workspaces)},
		{"quota", file.Quota},
		{"timeout", written(file.Timeout, time.Duration.String)},
		{"memory", file.Memory},
		{"cpu", written(file.CPU, time.Duration.String)},
		{"processes", written(file.Processes, strconv.Itoa)},
		{"open-files", written(file.OpenFiles, strconv.Itoa)},
		{"file-size", file.FileSize},
		{"output-limit", file.OutputLimit},
		{"disk", file.Disk},
		{"disk-files", written(file.DiskFiles, strconv.Itoa)},
		{"tmp", file.Tmp},
		{"call-timeout", written(file.CallTimeout, time.Duration.String)},
		{"parallel", written(file.Parallel, strconv.Itoa)},
		{"max-result", file.MaxResult},
		{"max-output", written(file.MaxOutput, strconv.Itoa)},
		{"allow-drift", said(file.AllowDrift)},
		{"strict-output", said(file.StrictOutput)},
		{"elicit", elicitFrom(file.Elicit, from)},
		{"daemon", file.Daemon},
		{"skills", from(file.Skills)},
		{"tsc", programFrom(file.TSC, from)},
		{"pyright", programFrom(file.Pyright, from)},
	}
}

// written is a value in words, or nothing for the zero one.
func written[T comparable](v T, words func(T) string) string {
	var zero T
	if v == zero {
		return ""
	}
	return words(v)
}

// said is a switch in words, or nothing where it was left alone.
func said(on *bool) string {
	if on == nil {
		return ""
	}
	return strconv.FormatBool(*on)
}

// elicitFrom is where answers come from; a file is one of the project.
func elicitFrom(how string, from func(string) string) string {
	if how == elicitPrompt || how == elicitDecline {
		return how
	}
	return from(how)
}

// programFrom is a program: a bare name is looked for on PATH, a path is one of the project.
func programFrom(name string, from func(string) string) string {
	if !strings.ContainsRune(filepath.ToSlash(name), '/') {
		return name
	}
	return from(name)
}

// settleRisk takes the greatest risk that was said anywhere: it is a floor, so a flag raises what the project asks for
// and never lowers it.
func (o *runOptions) settleRisk(file string) error {
	for _, said := range []struct{ from, value string }{
		{"--risk", o.riskFlag}, {envPrefix + "RISK", o.app.Env(envPrefix + "RISK")}, {"run.risk", file},
	} {
		r, err := runner.ParseRisk(said.value)
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("%s: %w", said.from, err), Command: "mcprun"}
		}
		o.risk = o.risk.Max(r)
	}
	return nil
}

// imageName is the image that was asked for: by flag, by environment, by settings.
func (o *backendOptions) imageName(app *cli.App) string {
	return cmp.Or(o.image, app.Env(envPrefix+"IMAGE"), o.defaultImage)
}
