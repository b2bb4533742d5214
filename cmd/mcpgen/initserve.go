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
	files = o.ownLast(places, files)
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
	for _, h := range plan.Hosts { // last, so that no server is lost when something fails before
		if now, err := os.ReadFile(h.Path); err != nil || !bytes.Equal(now, h.Before) {
			return errors.Join(err, fmt.Errorf("%s was changed in the meantime and was not touched; run the command again", o.name(h.Path)))
		}
		if err := o.put(h.Path, h.After, true); err != nil {
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
	sync := "mcpgen sync"
	if o.mcprun().Command == "npx" {
		sync = "npx mcpgen sync"
	} else if _, err := exec.LookPath("mcprun"); err != nil {
		o.warn("mcprun is not on PATH, where these programs look for it")
	}
	o.say("\nNext: run %q, then start the program again. It now starts mcprun, which serves the tools of these servers.", sync)
	return nil
}

// trustedBefore reports whether the person trusts the configuration as it is, or there is none. Only then is it trusted after a
// yes to the changes.
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
	case err == nil: // of its list, which is another's, the changes show what is taken
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

// trust keeps that the person agreed to what was written.
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

// ownLast leaves out a person's own files, which are for all projects, of hosts that have servers for this project, unless such
// a file was named: other projects need their servers.
func (o *initOptions) ownLast(places []hosts.Place, files []*config.File) []*config.File {
	has := map[config.Host]bool{}
	for i, f := range files {
		if places[i].Scope == hosts.InProject && len(f.Servers) > 0 || len(f.Local()) > 0 {
			has[places[i].Host] = true
		}
	}
	var out []*config.File
	for i, f := range files {
		if places[i].Scope != hosts.OfPerson || !has[places[i].Host] {
			out = append(out, f)
			continue
		}
		var stay []string
		local := *f
		local.Servers = nil
		for _, s := range f.Servers {
			if slices.Contains(f.Local(), s.Key) {
				local.Servers = append(local.Servers, s)
			} else if !s.Disabled && !s.ServesTree() {
				stay = append(stay, cli.EscapeLine(s.Key))
			}
		}
		if len(stay) > 0 {
			o.say("%s: %s stays, for all projects (%s); to move these too: --from %s:%s",
				places[i].Host, o.name(f.Path), strings.Join(stay, ", "), places[i].Host, o.name(f.Path))
		}
		out = append(out, &local)
	}
	return out
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
		Variables: vars,
		Unwanted:  func(key string) bool { off := settings.Servers[key].Disabled; return off != nil && *off },
		Launch: func(f *config.File) config.Launch {
			person := slices.ContainsFunc(places, func(place hosts.Place) bool {
				return place.Path == f.Path && (place.Scope == hosts.OfPerson || place.Scope == "" && !strings.HasPrefix(f.Path, p.dir+string(filepath.Separator)))
			})
			launch := o.mcprun()
			if !person && launch.Command != "npx" {
				launch.Command = "mcprun" // whatever its path is on the machines of others
			}
			launch.Args = append(launch.Args, "serve")
			switch {
			case person: // in a person's own file: the host may start mcprun anywhere
				launch.Args = append(launch.Args, "--config", p.dir)
			case f.Host == config.Cursor || f.Host == config.VSCode:
				launch.Args = append(launch.Args, "--config", "${workspaceFolder}")
			}
			return launch
		},
	}, nil
}

// mcprun returns a command that starts mcprun without a shell's PATH, and that an update does not change: the one on PATH, else
// the one beside this program. npm's folders are on PATH only for what npm starts, and may be a cache's; npx finds either.
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
		return config.Launch{Command: "npx", Args: []string{"-y", "mcprun"}}
	}
	return config.Launch{Command: path}
}

func (o *initOptions) showDiff(text []byte) {
	_, _ = io.WriteString(o.app.Stdout, syncview.ColourDiff(o.app.OutStyle(), text))
}

// agree asks whether to go on. Nothing was written so far.
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
	switch {
	case o.dryRun:
		return false, nil
	case o.yes:
		return true, nil
	case !o.app.Interactive():
		return false, cli.WithHint(errors.New("nothing was written, because there is no terminal to ask at"), "read the changes, and run the command again with --yes")
	}
	ok, err := o.app.Confirm(ctx, "\nMake these changes?")
	if err == nil && !ok {
		o.say("nothing was written")
	}
	return ok, err
}
