package docker

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
)

// passesSockets tells whether a container of the OCI runtime can connect to a socket of this machine that it is shown.
// gVisor allows it only where the engine was configured to tell it so. A program by another name than gVisor's own is
// taken for a script that does.
func passesSockets(info system.Info, runtime string) bool {
	r, ok := info.Runtimes[runtime]
	if runtime == "" || !ok {
		return true
	}
	if strings.Contains(r.Type, "runsc") {
		return false // what it is told is in a file of containerd's
	}
	return filepath.Base(r.Path) != "runsc" || slices.ContainsFunc(r.Args, func(arg string) bool {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return name == "host-uds" && (value == "open" || value == "all") || name == "fsgofer-host-uds" && value != "false"
	})
}
