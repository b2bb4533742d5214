package docker

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// whyRemote returns why the engine counts as remote, or "" if it does not. An engine that turns out not to see the folders of a
// run counts as remote from then on: see isFolderUnseen.
func (b *Backend) whyRemote(info system.Info) string {
	scheme, _, _ := strings.Cut(b.opt.Host, "://")
	name, err := os.Hostname()
	switch {
	case scheme != "unix":
		return "it is reached over " + scheme
	case runtime.GOOS != "linux":
		return "containers do not run on " + runtime.GOOS
	case strings.Contains(info.OperatingSystem, "Docker Desktop"):
		return "Docker Desktop keeps containers in a virtual machine"
	case hasOption(info.SecurityOptions, "rootless") && !b.ownSocket():
		return "it runs as another user"
	case b.opt.Runtime != "":
		return "the runtime " + b.opt.Runtime + " cannot connect containers to this machine's sockets"
	case err == nil && info.Name != name:
		return "its host name differs from this machine's"
	}
	return ""
}

// ownSocket reports whether this process's user owns the socket, as with the user's own rootless engine.
func (b *Backend) ownSocket() bool {
	st, err := os.Stat(strings.TrimPrefix(b.opt.Host, "unix://"))
	return err == nil && folder.OwnedBy(st, os.Geteuid())
}

// noSource is Docker's error for a folder that it does not find.
const noSource = "bind source path does not exist"

// isFolderUnseen reports whether err is Docker's or Podman's error for a folder of this machine that the engine does not find.
func isFolderUnseen(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, noSource) ||
		strings.Contains(text, "no such file or directory") && strings.Contains(text, runDirPrefix)
}

// markRemote records that the engine is remote, and why. What is missing for folders of this machine does not matter then.
func (e *engine) markRemote(why string) {
	e.remote = why
	e.missing = slices.DeleteFunc(e.missing, func(s string) bool { return strings.HasPrefix(s, "user namespace:") })
}

// checkRemote refuses a remote Podman: it reads the system call filter from a file on its own machine, and so would not use ours.
func (b *Backend) checkRemote(e *engine) error {
	if e.remote == "" || !e.podman {
		return nil
	}
	return &EngineError{Host: b.opt.Host, Err: fmt.Errorf("a remote Podman cannot use mcprun's system-call filter, and %s", e.remote),
		hint: "run mcprun on the machine where Podman runs, or use Docker"}
}

// setRemote records that the engine turned out to be remote when a container was started.
func (b *Backend) setRemote(why string) *engine {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := *b.engine
	e.missing = slices.Clone(e.missing)
	e.markRemote(why)
	b.engine = &e
	return &e
}

// goArch returns Go's name of an engine's architecture.
func goArch(machine string) string {
	switch machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}
