package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// ShowVersion adds the flag --version to a program, which prints what the command version prints. Cobra's own flag prints it with a
// template, and a program that fills templates keeps every exported method of every type, because they are looked up by name.
func ShowVersion(app *App, root *cobra.Command) {
	name, _, _ := strings.Cut(root.Use, " ")
	args, run := root.Args, root.RunE
	short := "v"
	if root.Flags().ShorthandLookup(short) != nil {
		short = ""
	}
	show := root.Flags().BoolP("version", short, false, "version for "+name)
	root.Args = func(cmd *cobra.Command, words []string) error {
		if *show {
			return nil
		}
		return args(cmd, words)
	}
	root.RunE = func(cmd *cobra.Command, words []string) error {
		if *show {
			_, err := fmt.Fprintln(app.Stdout, name, Version())
			return err
		}
		return run(cmd, words)
	}
}

// Version describes the build: the module's version, else the commit, and the Go version and platform.
func Version() string {
	version, commit, dirty := "(unknown)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				commit = " " + s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	return fmt.Sprintf("%s%s%s %s %s/%s", version, commit, dirty, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
