package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/config"
)

type initOptions struct {
	app      *cli.App
	from     []string
	agents   []string
	force    bool
	dryRun   bool
	writeEnv bool
	schema   bool
	verbose  bool
	serve    bool
	yes      bool
}

// project is the project that init works on.
type project struct {
	// dir is the project's folder, config the file that lists its servers.
	dir, config string
	// fresh reports that there was no such file.
	fresh bool
}

// settings is the project's mcpgen.yaml.
func (p project) settings() string { return filepath.Join(p.dir, config.SettingsName) }

// project finds the project, or chooses the place for a new one.
func (o *initOptions) project() (project, error) {
	named := o.app.Configs(nil)
	at, err := config.Locate(o.app.Dir, named)
	p := project{dir: o.app.Dir, config: filepath.Join(o.app.Dir, config.OwnName)}
	if _, none := errors.AsType[*config.NotFoundError](err); err != nil && !none {
		return p, err
	}
	chosen := len(named) > 0 // the user named the file
	if err == nil {
		p.dir, p.config = at.Dir(), at.Paths[0]
		chosen = chosen || at.Project != ""
	}
	if o.serve && !chosen { // .mcp.json is Claude Code's own
		p.config = filepath.Join(p.dir, config.OwnName)
	}
	_, err = os.Stat(p.config)
	p.fresh = errors.Is(err, fs.ErrNotExist)
	return p, nil
}

// create writes a file unless it exists.
func (o *initOptions) create(path, content string) error {
	if o.dryRun {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			o.say("would create %s", o.name(path))
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create a starter file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		o.say("%s is there already; it stays as it is", o.name(path))
		return nil
	}
	if err != nil {
		return fmt.Errorf("create a starter file: %w", err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	o.say("created %s", o.name(path))
	return nil
}

// put writes a file; with --dry-run it prints what would be written.
func (o *initOptions) put(path string, text []byte, was bool) error {
	verb := "created"
	if was {
		verb = "updated"
	}
	switch {
	case text == nil:
		return nil
	case o.dryRun:
		o.say("\n%s would be %s:\n\n%s", o.name(path), verb, cli.Escape(string(text)))
		return nil
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return err
	}
	o.say("%s %s", verb, o.name(path))
	return nil
}

// readIfThere returns nil for a file that does not exist.
func readIfThere(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (o *initOptions) name(path string) string {
	if rel, err := filepath.Rel(o.app.Dir, path); err == nil && !strings.HasPrefix(rel, ".."+string(filepath.Separator)+"..") {
		path = filepath.ToSlash(rel)
	}
	return cli.EscapeLine(path)
}

func (o *initOptions) say(format string, args ...any) {
	_, _ = fmt.Fprintln(o.app.Stdout, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}

func (o *initOptions) warn(message string) {
	_, _ = fmt.Fprintf(o.app.Stderr, "%s %s\n", o.app.ErrStyle().Yellow("warning:"), cli.EscapeLine(message))
}

func hostNames() []string {
	var names []string
	for _, h := range config.Hosts() {
		names = append(names, string(h))
	}
	return names
}

func hostList() string { return strings.Join(hostNames(), ", ") }
