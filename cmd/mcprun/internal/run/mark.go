package run

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
)

// Indifferent are the flags that do not say what a call does: who may connect and how, what is read and shown, how many calls there are at once,
// and where the state is kept. All others decide about calls, also those that will be added.
var Indifferent = []string{
	"http", "token-file", "no-token", "allow-host", "allow-origin", "customer", "index-tokens", "prices", "parallel", "queue-time", "rate",
	"id", "input", "var", "vars", "eval", "language", "elicit", "daemon", "restore", "all",
	"json", "verbose", "trace", "quiet", "debug", "help", "state", "audit", "trust-config",
}

// Mark returns a digest of the user's secret and of what flags and settings of a command may decide about a call, for the group of its
// durable work: processes with the same mark would do the same. ApplyDefaults must have been called.
func (o *Options) Mark(p *project.Project, command string, set *pflag.FlagSet, secret []byte) (string, error) {
	text, values := command+"\n", o.decided(p, set)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s %q\n", name, values[name])
	}
	mark, err := hkdf.Key(sha256.New, secret, nil, text, 8)
	return fmt.Sprintf("%x", mark), err
}

// decided returns what flags and settings of a command may decide about a call, by the flag's name. A default counts as not given, so that a
// flag that is added keeps no process apart from what an older version began.
func (o *Options) decided(p *project.Project, set *pflag.FlagSet) map[string]string {
	values := o.Decisive(p)
	if p.Cfg != nil {
		for _, path := range p.Cfg.Paths {
			values["config"] += portable(o.App, p.Base, path) + "\n"
		}
	}
	set.VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if _, known := values[f.Name]; known || value == f.DefValue || slices.Contains(Indifferent, f.Name) {
			return
		}
		if f.Value.Type() == "folder" || strings.ContainsRune(value, filepath.Separator) && slices.Contains([]string{"runsc", "approve-command"}, f.Name) {
			value = portable(o.App, p.Base, value)
		}
		values[f.Name] = value
	})
	return values
}

// portable returns the path of a file as another machine has it, where the project is elsewhere and the user has another home.
func portable(app *cli.App, base, path string) string {
	path = app.Path(path)
	for _, from := range []struct{ folder, name string }{{base, "."}, {app.Env("HOME"), "~"}} {
		if rest, err := filepath.Rel(from.folder, path); from.folder != "" && err == nil && filepath.IsLocal(rest) {
			return from.name + "/" + filepath.ToSlash(rest)
		}
	}
	return path
}
