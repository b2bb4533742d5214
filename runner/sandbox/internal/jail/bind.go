package jail

import (
	"io"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Binding is what a warm jail gets when it is given a run; see [Child.Bind].
type Binding struct {
	// Mounts as in Config, shown above what is there. A target is a folder or file that the jail has, of Config.Dirs for
	// instance, or lies in a writable mount or tmpfs of this Binding.
	Mounts []Mount
	// Tmpfs as in Config, each of Limits.Tmp bytes, at places of Config.Dirs. /tmp gets that size, too.
	Tmpfs []string

	// Limits and Data take the place of those in Config. Zero fields mean the same as there.
	Limits sandbox.Limits
	Data   int64

	// Stdin, Stdout and Stderr as in sandbox.Spec. What the program wrote before is part of it.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
