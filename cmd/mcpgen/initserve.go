package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/syncview"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/adopt"
	"github.com/mcpgen/mcpgen/gen/config/hosts"
)

// move moves the servers of hosts into the project, and leaves mcprun serve in the hosts' files.
func (o *initOptions) move(ctx context.Context, p project) error {
	places, err := o.places(p)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return &cli.UsageError{Err: fmt.Errorf("--serve: there is no program's file to change beside %s", o.name(p.config)), Command: "mcpgen init"}
	}
	files, err := o.read(places, p.dir)
	if err != nil {
		return err
	}
	opts, err := o.adoptOptions(p)
	if err != nil {
		return err
	}
	if opts.Serve, err = o.serveOptions(p, places); err != nil {
		return err
	}
	plan, err := adopt.Make(files, opts)
	if err != nil {
		return err
	}
	o.outcomes(plan)
	if len(plan.Hosts) == 0 {
		o.say("\nnothing to move: all files stay as they are")
		return nil
	}
	o.say("")
	o.showDiff(plan.Diff(opts, p.settings(), o.name))
	o.writeEnv = true // a secret that leaves the host's file must not be lost
	trusted := o.trustedBefore(p)
	if ok, err := o.agree(ctx, plan, p); err != nil || !ok {
		return err
	}
	if err := o.environment(plan, p.dir); err != nil {
		return err
	}
	if err := o.putProject(p, plan, opts); err != nil {
		return err
	}
	for _, h := range plan.Hosts { // last, so that no server is lost if something fails earlier
		if now, err := readIfThere(h.Path); err != nil || !bytes.Equal(now, h.Before) {
			return errors.Join(err, fmt.Errorf("%s was changed in the meantime and was not touched; run the command again", o.name(h.Path)))
		}
		if err := os.MkdirAll(filepath.Dir(h.Path), 0o755); err != nil {
			return err
		}
		if err := o.put(h.Path, h.After, h.Before != nil); err != nil {
			return err
		}
	}
	if err := o.tellFormatters(p); err != nil {
		return err
	}
	if trusted {
		if err := o.trust(p); err != nil {
			o.warn(cli.ErrorLine(err))
		}
	}
	o.tellLoaded(plan)
	sync := "mcpgen sync"
	if startsNpx(o.mcprun()) {
		sync = "npx mcpgen sync"
	} else if _, err := exec.LookPath("mcprun"); err != nil {
		o.warn("mcprun is not on PATH, where these programs look for it")
	}
	o.say("\nNext: run %q, then start the program again. It now starts mcprun, which serves the tools of these servers.", sync)
	return nil
}

// trustedBefore reports whether the user trusts the configuration as it is, or there is none. Only then does a yes to the changes
// trust the new configuration.
func (o *initOptions) trustedBefore(p project) bool {
	var cfg *config.Config
	at, err := config.Locate(p.dir, o.app.Configs(nil))
	if err == nil {
		cfg, err = at.Load()
	}
	switch {
	case err == nil && trust.Gate{App: o.app}.Agreed(cfg):
		return true
	case !p.fresh:
		return false
	case err == nil: // without its servers: they come from another program's list, and the changes show those that are taken
		settings := *cfg
		settings.Servers = nil
		if !(trust.Gate{App: o.app}).Agreed(&settings) {
			return false
		}
	default:
		if _, err := os.Lstat(p.settings()); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	_, err = os.Lstat(filepath.Join(p.dir, config.DotEnvName))
	return errors.Is(err, fs.ErrNotExist)
}

// trust records that the user agreed to what was written.
func (o *initOptions) trust(p project) error {
	at, err := config.Locate(p.dir, o.app.Configs(nil))
	if err != nil {
		return err
	}
	cfg, err := at.Load()
	if err != nil {
		return err
	}
	return trust.Gate{App: o.app}.Agree(cfg)
}

func (o *initOptions) serveOptions(p project, places []hosts.Place) (*adopt.Serve, error) {
	vars, err := config.DotEnv(p.dir)
	if err != nil {
		return nil, err
	}
	var settings config.Settings
	if at, err := config.Locate(p.dir, o.app.Configs(nil)); err == nil {
		if cfg, err := at.Load(); err == nil { // sync reports mistakes in it
			settings = cfg.Settings
		}
	}
	return &adopt.Serve{
		Reach: func(f *config.File) adopt.Reach {
			place := placeOf(places, f)
			return adopt.Reach{Shared: place.Scope == hosts.OfPerson, Named: place.Named}
		},
		Own: o.person(p.dir).Own, OnlyNamed: o.yes || !o.app.Interactive(),
		Variables: vars,
		Unwanted:  func(key string) bool { off := settings.Servers[key].Disabled; return off != nil && *off },
		Launch: func(f *config.File) config.Launch {
			person := placeOf(places, f).Scope == hosts.OfPerson
			launch := o.mcprun()
			if !person && !startsNpx(launch) {
				launch.Command = "mcprun" // its path differs on other people's machines
			}
			launch.Args = append(launch.Args, "serve")
			switch {
			case person: // in the user's own file: the host may start mcprun in any folder
				launch.Args = append(launch.Args, "--config", p.dir)
			case f.Host == config.Cursor || f.Host == config.VSCode:
				launch.Args = append(launch.Args, "--config", "${workspaceFolder}")
			}
			return launch
		},
	}, nil
}

// placeOf returns the place of a file that was read. Other files are the project's.
func placeOf(places []hosts.Place, f *config.File) hosts.Place {
	for _, place := range places {
		if place.Path == f.Path {
			return place
		}
	}
	return hosts.Place{Scope: hosts.InProject}
}

// mcprun returns a command that starts mcprun without a shell's PATH and still works after an update: the one on PATH, else the
// one beside this program. npm's folders are on PATH only for what npm starts, and may belong to a cache, so an mcprun in one of
// them is started with npx.
func (o *initOptions) mcprun() config.Launch {
	path, err := exec.LookPath("mcprun")
	if err != nil || !filepath.IsAbs(path) {
		path = "mcprun"
		if self, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(self), "mcprun"+filepath.Ext(self))
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				path = beside
			}
		}
	}
	if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "node_modules") {
		return npx(runtime.GOOS, "-y", "mcprun")
	}
	return config.Launch{Command: path}
}

// npx returns a command that starts npx on a system. On Windows npx is a script, which hosts start through the shell only.
func npx(system string, args ...string) config.Launch {
	if system == "windows" {
		return config.Launch{Command: "cmd", Args: append([]string{"/c", "npx"}, args...)}
	}
	return config.Launch{Command: "npx", Args: args}
}

// startsNpx reports whether a command starts npx, on any system.
func startsNpx(l config.Launch) bool {
	name, _ := config.Program(l.Command, l.Args)
	return name == "npx"
}

func (o *initOptions) showDiff(text []byte) {
	_, _ = io.WriteString(o.app.Stdout, syncview.ColourDiff(o.app.OutStyle(), text))
}

// agree asks whether to go on. Nothing has been written yet.
func (o *initOptions) agree(ctx context.Context, plan *adopt.Plan, p project) (bool, error) {
	vars, err := config.DotEnv(p.dir)
	if err != nil {
		return false, err
	}
	var secrets []string
	for _, v := range plan.Variables {
		if _, there := vars[v.Name]; v.Value() != "" && !there {
			secrets = append(secrets, v.Name)
		}
	}
	if len(secrets) > 0 {
		o.say("\n%s gets %s", o.name(filepath.Join(p.dir, config.DotEnvName)), strings.Join(secrets, ", "))
		if ignored, inGit := adopt.IgnoredByGit(p.dir, config.DotEnvName); inGit && !ignored {
			o.say("%s gets %s", o.name(filepath.Join(p.dir, ".gitignore")), config.DotEnvName)
		}
	}
	o.planFormatters(p)
	for _, shared := range plan.Shared {
		o.say("\n%s is for all your projects: in each of them, %s will start mcprun with the servers and tools of %s.", o.name(shared.Path), shared.Host, cli.EscapeLine(p.dir))
	}
	if o.dryRun {
		o.tellLoaded(plan)
	}
	switch {
	case o.dryRun:
		return false, nil
	case o.yes:
		return true, nil
	case !o.app.Interactive():
		return false, cli.WithHint(errors.New("nothing was written, because there is no terminal to ask at"), "read the changes, and run the command again with --yes")
	}
	ok, err := o.app.Confirm(ctx, "\nMake these changes?")
	for _, shared := range plan.Shared {
		if ok && err == nil {
			ok, err = o.app.Confirm(ctx, "Change "+o.name(shared.Path)+" for all your projects?")
		}
	}
	if err == nil && !ok {
		o.say("nothing was written")
	}
	return ok, err
}

// tellLoaded says how to keep a program from loading the definitions of servers that were copied from the user's own file.
func (o *initOptions) tellLoaded(plan *adopt.Plan) {
	for _, l := range plan.Loaded {
		o.say("\n%s stays as it is, for your other projects. So %s loads %s here too, beside mcprun.\nTo switch that off in this project: %s.",
			o.name(l.File.Path), l.File.Host, cli.EscapeLine(strings.Join(l.Servers, ", ")), l.File.Host.SwitchOff())
	}
}
