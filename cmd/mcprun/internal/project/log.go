package project

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/gen/config"
)

// The variables of diagnostics. In each pair, our own name counts first.
func levelVariables() []string { return []string{flags.EnvPrefix + "LOG_LEVEL", "LOG_LEVEL"} }
func fileVariables() []string  { return []string{flags.EnvPrefix + "LOG_FILE", "LOG_FILE"} }

// silent is above every level.
const silent = slog.Level(100)

// OpenLog returns the logger of diagnostics, and a function that closes its file. flag is the level that flags of the command set, or nil;
// then LOG_LEVEL counts, and without it the usual level. Messages go to stderr, unless LOG_FILE names a file, which is appended to. settings
// are those of a project whose configuration a person has agreed to, or nil.
func OpenLog(app *cli.App, settings *config.Settings, stderr io.Writer, flag *slog.Level, usual slog.Level) (*slog.Logger, func() error, error) {
	from := variables(app, settings)
	level, file := usual, ""
	for _, name := range fileVariables() {
		if file, _ = from(name); file != "" {
			level = min(usual, slog.LevelInfo)
			break
		}
	}
	for _, name := range levelVariables() {
		text, _ := from(name)
		if text == "" {
			continue
		}
		err := level.UnmarshalText([]byte(text))
		if err != nil && name != "LOG_LEVEL" { // which other programs read too, and which may have words of theirs
			return nil, nil, flags.Usage("%s is %q; write debug, info, warn or error", name, text)
		}
		break
	}
	if flag != nil {
		level = *flag
	}
	out, closeFile := stderr, func() error { return nil }
	if file != "" {
		f, err := openLogFile(app, settings, file)
		if err != nil {
			return nil, nil, cli.WithHint(fmt.Errorf("open LOG_FILE: %w", err), "name a file in a folder that exists")
		}
		out, closeFile = f, f.Close
	}
	if level == silent {
		return slog.New(slog.DiscardHandler), closeFile, nil
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), closeFile, nil
}

// openLogFile opens a file to append to. One that the project's .env names below the project must be a regular file there: a link that comes
// with a repository could lead to any file of the user.
func openLogFile(app *cli.App, settings *config.Settings, path string) (*os.File, error) {
	const how = os.O_APPEND | os.O_CREATE | os.O_WRONLY
	own := func(name string) bool {
		return settings != nil && settings.Variables[name] == path && app.Env(name) == ""
	}
	names := fileVariables()
	if !own(names[0]) && !own(names[1]) {
		return os.OpenFile(app.Path(path), how, 0o600)
	}
	dir := filepath.Dir(settings.Path)
	if err := config.CheckOutput(path, []string{settings.Path}, ""); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return os.OpenFile(path, how, 0o600)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(rel); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", path)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return root.OpenFile(rel, how, 0o600)
}

// variables returns the environment, and behind it what mcprun takes of the project's .env. settings may be nil.
func variables(app *cli.App, settings *config.Settings) config.Lookup {
	if settings == nil {
		return config.WithDotEnv(app.LookupEnv, nil)
	}
	return config.WithDotEnv(app.LookupEnv, settings.Variables)
}
