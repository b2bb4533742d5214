package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/adopt"
)

// environment lists the variables that the adopted servers need, and with --write-env adds the secrets among them to
// .env.
func (o *initOptions) environment(plan *adopt.Plan, dir string) error {
	vars, err := config.DotEnv(dir)
	if err != nil {
		return err
	}
	known := config.WithDotEnv(o.app.LookupEnv, vars)
	var missing, secrets []adopt.Variable
	for _, v := range plan.Variables {
		_, set := known(v.Name)
		switch {
		case v.Value() != "" && o.writeEnv:
			if other, set := o.app.LookupEnv(v.Name); o.serve && set && other != v.Value() {
				o.warn(fmt.Sprintf("the environment has another %s, which takes precedence over the one in %s", v.Name, config.DotEnvName))
			}
			if value, there := vars[v.Name]; there && o.serve && value == v.Value() {
				continue
			} else if there {
				o.warn(fmt.Sprintf("%s has %s already; what it says there stays", config.DotEnvName, v.Name))
				continue
			}
			secrets = append(secrets, v)
		case v.Value() != "" || !set:
			missing = append(missing, v)
		}
	}
	if err := o.writeSecrets(secrets, dir); err != nil {
		return err
	}
	if len(missing) > 0 {
		o.say("\nSet these variables, in the environment or in a .env that git ignores:")
		for _, v := range missing {
			line := fmt.Sprintf("  %s  for %s of %q", v.Name, cli.EscapeLine(v.Field), cli.EscapeLine(v.Server))
			if v.Value() != "" {
				line += "; its value stands in the file it comes from"
			}
			o.say("%s", line)
		}
		o.say("")
	}
	return nil
}

// writeSecrets adds secrets to .env, which only its owner may read, and makes git ignore the file.
func (o *initOptions) writeSecrets(secrets []adopt.Variable, dir string) error {
	if len(secrets) == 0 {
		return nil
	}
	file := filepath.Join(dir, config.DotEnvName)
	if err := o.keepOutOfGit(dir); err != nil {
		return err
	}
	if o.dryRun {
		o.say("\n%s would get %s", o.name(file), cli.Count(len(secrets), "variable"))
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	var out strings.Builder
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			out.WriteByte('\n')
		}
		if info.Mode().Perm()&0o077 != 0 {
			o.warn(fmt.Sprintf("others could read %s; it is yours alone now", o.name(file)))
		}
	}
	var names []string
	for _, v := range secrets {
		out.WriteString(adopt.EnvLine(v.Name, v.Value()))
		names = append(names, v.Name)
	}
	_, err = f.WriteString(out.String())
	if err = errors.Join(f.Chmod(0o600), err, f.Close()); err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	o.say("\nwrote %s to %s, which only you can read%s", strings.Join(names, ", "), o.name(file), gitWords(dir))
	return nil
}

// keepOutOfGit adds .env to .gitignore if git would check it in.
func (o *initOptions) keepOutOfGit(dir string) error {
	if ignored, inGit := adopt.IgnoredByGit(dir, config.DotEnvName); ignored || !inGit {
		return nil
	}
	file := filepath.Join(dir, ".gitignore")
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the secrets out of git: %w", err)
	}
	lines := string(before)
	if lines != "" && !strings.HasSuffix(lines, "\n") {
		lines += "\n"
	}
	return o.put(file, []byte(lines+config.DotEnvName+"\n"), before != nil)
}

func gitWords(dir string) string {
	if _, inGit := adopt.IgnoredByGit(dir, config.DotEnvName); inGit {
		return " and git ignores"
	}
	return "; this is no git repository: do not check it in"
}
