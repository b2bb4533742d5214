package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/adopt"
	"github.com/mcpgen/mcpgen/gen/config/hosts"
)

// person returns the person whose files are read.
func (o *initOptions) person(project string) hosts.Person {
	home := o.app.Env("HOME")
	if runtime.GOOS == "windows" {
		home = o.app.Env("USERPROFILE")
	}
	return hosts.Person{OS: runtime.GOOS, Home: home, Env: o.app.LookupEnv, Project: project}
}

// suggestion lists the hosts that have servers to import.
func (o *initOptions) suggestion(project string) string {
	var found []string
	for _, h := range config.Hosts() {
		places := o.person(project).Find(h)
		places = slices.DeleteFunc(places, func(p hosts.Place) bool { return filepath.Base(p.Path) == config.FileName })
		if len(places) > 0 {
			found = append(found, string(h))
		}
	}
	if len(found) == 0 {
		return "HOST, such as cursor or claude-desktop"
	}
	return strings.Join(found, ",")
}

// adopt imports the servers of other hosts into the project.
func (o *initOptions) adopt(p project) error {
	places, err := o.places(p)
	if err != nil {
		return err
	}
	if len(places) == 0 { // the host's only file is the project's own list
		return o.start(p)
	}
	files, err := o.read(places, p.dir)
	if err != nil {
		return err
	}
	opts, err := o.adoptOptions(p)
	if err != nil {
		return err
	}
	plan, err := adopt.Make(files, opts)
	if err != nil {
		return err
	}
	o.outcomes(plan)
	if plan.Config == nil {
		o.say("\nnothing to add: %s stays as it is", o.name(p.config))
		o.paidTwice(places)
		return nil
	}
	if err := o.environment(plan, p.dir); err != nil {
		return err
	}
	if err := o.putProject(p, plan, opts); err != nil {
		return err
	}
	if !o.dryRun {
		o.say("\nNext: look at %s, then run \"mcpgen sync\". It starts the commands that are listed there.", o.name(p.config))
	}
	o.paidTwice(append(places, hosts.Place{Host: config.ClaudeCode, Path: p.config}))
	return nil
}

func (o *initOptions) adoptOptions(p project) (adopt.Options, error) {
	opts := adopt.Options{Dir: p.dir, Home: o.person(p.dir).Home, Path: p.config, Force: o.force}
	var err error
	if opts.Config, err = readIfThere(p.config); err != nil {
		return opts, fmt.Errorf("read the configuration: %w", err)
	}
	if opts.Settings, err = readIfThere(p.settings()); err != nil {
		return opts, fmt.Errorf("read the settings: %w", err)
	}
	return opts, nil
}

// paidTwice lists the hosts that still load the definitions of servers from their own files.
func (o *initOptions) paidTwice(places []hosts.Place) {
	var names, files []string
	for _, place := range places {
		base := filepath.Base(place.Path)
		own := place.Host != config.ClaudeCode || base == config.FileName || base == ".claude.json"
		if !own {
			continue
		}
		f, err := config.ReadFile(place.Path, &config.ReadOptions{Host: place.Host})
		if err == nil && slices.ContainsFunc(f.Servers, func(s config.Server) bool { return !s.Disabled && !s.ServesTree() }) {
			if !slices.Contains(names, string(place.Host)) {
				names = append(names, string(place.Host))
			}
			files = append(files, fmt.Sprintf("%s from %s", place.Host, o.name(place.Path)))
		}
	}
	if len(names) > 0 {
		o.say(`
Every definition is paid for twice where a program still loads it from its own list into the model's context:
  %s
To have the program start mcprun serve in place of these servers:
  mcpgen init --from %s --serve`, strings.Join(files, "\n  "), strings.Join(names, ","))
	}
}

// putProject writes the project's files. It creates the folder of the list of servers if it is missing.
func (o *initOptions) putProject(p project, plan *adopt.Plan, opts adopt.Options) error {
	if plan.Config != nil && !o.dryRun {
		if err := os.MkdirAll(filepath.Dir(p.config), 0o755); err != nil {
			return err
		}
	}
	if err := o.put(p.config, plan.Config, opts.Config != nil); err != nil {
		return err
	}
	return o.put(p.settings(), plan.Settings, opts.Settings != nil)
}

// places returns the files that --from names, or the existing files of the hosts that it names, without the project's own list.
func (o *initOptions) places(p project) ([]hosts.Place, error) {
	person := o.person(p.dir)
	var places []hosts.Place
	for _, from := range o.from {
		name, file, named := strings.Cut(from, ":")
		host := config.Host(strings.ToLower(strings.TrimSpace(name)))
		wanted := []config.Host{host}
		if host == "all" && !named {
			wanted = config.Hosts()
		} else if !slices.Contains(config.Hosts(), host) {
			return nil, &cli.UsageError{
				Err:     fmt.Errorf("--from %q: no such host; there are %s, and all", name, hostList()),
				Command: "mcpgen init", Near: cli.Near(name, hostNames()),
			}
		}
		if named {
			places = append(places, person.Name(host, filepath.Clean(o.app.Path(file))))
			continue
		}
		found := false
		for _, h := range wanted {
			for _, place := range person.Find(h) {
				if found = true; place.Path != p.config {
					places = append(places, place)
				}
			}
		}
		if !found {
			return nil, o.nothing(from, person, wanted)
		}
	}
	return places, nil
}

// nothing returns the error for a host without a file.
func (o *initOptions) nothing(from string, person hosts.Person, wanted []config.Host) error {
	var looked []string
	for _, h := range wanted {
		for _, place := range person.Places(h) {
			looked = append(looked, place.Path)
		}
	}
	if more := len(looked) - 6; more > 0 {
		looked = append(looked[:6], fmt.Sprintf("%d more places", more))
	}
	return cli.WithHint(fmt.Errorf("--from %s: there is no file of it", from),
		fmt.Sprintf("looked for %s; name another file with --from %s:FILE", strings.Join(looked, ", "), from))
}

// read reads all files. A server with a mistake is left out; a file that cannot be read at all is an error.
func (o *initOptions) read(places []hosts.Place, dir string) ([]*config.File, error) {
	var files []*config.File
	for _, place := range places {
		f, err := config.ReadFile(place.Path, &config.ReadOptions{Host: place.Host, Project: dir})
		if f == nil {
			return nil, err
		}
		for _, problem := range unjoin(err) {
			o.warn("left out: " + problem.Error())
		}
		for _, n := range f.Notes {
			switch {
			case !n.Minor:
				o.warn(n.String())
			case o.verbose:
				_, _ = fmt.Fprintf(o.app.Stderr, "note: %s\n", cli.EscapeLine(n.String()))
			}
		}
		files = append(files, f)
	}
	return files, nil
}

func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

// outcomes prints what happens to each server, by file.
func (o *initOptions) outcomes(plan *adopt.Plan) {
	style, source := o.app.OutStyle(), ""
	if len(plan.Outcomes) == 0 {
		o.say("there are no servers in these files")
	}
	for _, out := range plan.Outcomes {
		if out.Source != source {
			source = out.Source
			o.say("%s", style.Bold(fmt.Sprintf("%s: %s", out.Host, o.name(source))))
		}
		line := fmt.Sprintf("  %s: %s", cli.EscapeLine(out.Key), out.Action)
		if out.Why != "" {
			line += " (" + cli.EscapeLine(out.Why) + ")"
		}
		o.say("%s", line)
	}
}
