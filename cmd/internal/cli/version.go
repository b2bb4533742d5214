package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// ShowVersion adds the flag --version, which prints the same as the command version.
func ShowVersion(root *cobra.Command) {
	name, _, _ := strings.Cut(root.Use, " ")
	root.Version = Version()
	root.SetVersionTemplate(name + " {{.Version}}\n")
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
