package jail

import (
	"io"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Binding is what a warm jail gets for its run; see [Child.Bind].
type Binding struct {
	// Mounts are as in Config, and cover what is there. A target is a folder or file that the jail has, one of Config.Dirs
	// for instance, or is inside a writable mount or tmpfs of this Binding.
	Mounts []Mount
	// Tmpfs is as in Config: each holds Limits.Tmp bytes and is mounted at one of Config.Dirs. /tmp gets that size, too.
	Tmpfs []string

	// Limits replace those in Config. Zero fields mean the same as there.
	Limits sandbox.Limits

	// Stdin, Stdout and Stderr are as in sandbox.Spec. They include what the program wrote before Bind.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
