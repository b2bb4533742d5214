package serve

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

// indifferent are the flags that do not say what a call does: who may connect and how, what is shown, how many calls there are at once, and
// where all servers of a group keep their state anyway. All others keep servers apart, also those that will be added.
var indifferent = []string{
	"http", "token-file", "no-token", "allow-host", "allow-origin", "customer",
	"index-tokens", "prices", "quiet", "debug", "help",
	"parallel", "queue-time", "rate",
	"state", "audit", "trust-config",
}

// group names the servers that would do the same with a call as this one: they have its mode, the secret of its user, and the same flags. A
// default counts as not given, so that a flag that is added keeps no server apart from what an older version began.
func (o *command) group(p *project.Project, secret []byte) (string, error) {
	values := o.run.Decisive(p)
	if p.Cfg != nil {
		for _, path := range p.Cfg.Paths {
			values["config"] += portable(o.app, p.Base, path) + "\n"
		}
	}
	o.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if _, known := values[f.Name]; known || value == f.DefValue || slices.Contains(indifferent, f.Name) {
			return
		}
		if f.Value.Type() == "folder" || strings.ContainsRune(value, filepath.Separator) && slices.Contains([]string{"runsc", "approve-command"}, f.Name) {
			value = portable(o.app, p.Base, value)
		}
		values[f.Name] = value
	})
	text := "mcprun serve\n"
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s %q\n", name, values[name])
	}
	mark, err := hkdf.Key(sha256.New, secret, nil, text, 8)
	return fmt.Sprintf("calls-%s-%x", o.tools, mark), err
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
