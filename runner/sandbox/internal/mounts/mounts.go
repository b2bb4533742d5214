// Package mounts creates mounts that are not yet in any namespace: copies of the host's folders ([Clone]) and empty ones in memory
// ([Tmpfs]). [Show] attaches them in the mount namespace of a running guest, which only root may do.
package mounts

import (
	"path"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
)

// Mount is a folder of the host, or an empty one in memory, and the place where the guest sees it.
type Mount struct {
	Source   string // if empty, a folder of Size bytes in memory, in which everybody may write, with empty folders named Dirs
	Size     int64
	Dirs     []string
	Target   string // a folder that the guest has, or one in an earlier mount
	Writable bool
}

// Files returns how many files a folder of size bytes in memory may hold, because an empty file costs memory too.
func Files(size int64) int64 { return max(size>>10, 1024) }

// OfRun lists the mounts of a run, outer folders first. A run without a workspace gets one in memory.
func OfRun(spec sandbox.Spec, lim sandbox.Limits) []Mount {
	all := []Mount{{Source: spec.Workspace, Size: lim.Tmp, Target: sandbox.WorkspaceDir, Writable: true}}
	for source, target := range layout.Folders(spec) {
		name := path.Base(target)
		all[0].Dirs = append(all[0].Dirs, name)
		all = append(all, Mount{Source: source, Target: target}, Mount{Source: source, Target: path.Join(sandbox.WorkspaceDir, name)})
	}
	return all
}
