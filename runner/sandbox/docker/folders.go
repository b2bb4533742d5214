package docker

import (
	"os"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
)

// prepareFolders makes sure that the guest will find its workspace writable and its tree readable.
func (b *Backend) prepareFolders(spec sandbox.Spec, e *engine) error {
	var user *layout.User
	if !e.rootless && b.uid != os.Geteuid() {
		user = &layout.User{UID: b.uid, Groups: []int{b.gid}}
	}
	return layout.Prepare(spec, user)
}
