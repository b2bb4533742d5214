// Package layout defines the file system, environment and arguments of a guest, for every sandbox that runs the machine's own
// interpreters.
package layout

import (
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/interp"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// Environment returns the whole environment of a guest.
func Environment() []string { return []string{"PATH=/usr/bin", "HOME=/tmp", "LANG=C.UTF-8"} }

// Arguments returns the arguments of the interpreter.
func Arguments(spec sandbox.Spec) []string {
	var args []string
	if meter.LargeHeap(spec.Runtime, spec.Limits) > 0 {
		args = append(args, meter.HeapFlag(spec.Limits))
	}
	return append(args, Program(spec)...)
}

// Program returns the arguments of an interpreter whose heap already has the right size.
func Program(spec sandbox.Spec) []string {
	address := sandbox.BridgeAddress
	if spec.Network {
		address = sandbox.NetworkPrefix + address
	}
	return append(append(slices.Clip(spec.Args), sandbox.GuestDir+"/"+sandbox.GuestMain(spec.Runtime), address), spec.Preload...)
}

// Files returns the files that are written for a guest, by path: the guest program, and the name and home of the user that it
// runs as.
func Files(spec sandbox.Spec, uid, gid int) map[string][]byte {
	files := map[string][]byte{
		"/etc/passwd": fmt.Appendf(nil, "sandbox:x:%d:%d::/tmp:/bin/false\n", uid, gid),
		"/etc/group":  fmt.Appendf(nil, "sandbox:x:%d:\n", gid),
	}
	for name, content := range spec.Guest {
		files[sandbox.GuestDir+"/"+name] = content
	}
	return files
}

// ReadOnly lists where a guest finds the folders of its run that it may only read: below sandbox.Root and in its workspace.
func ReadOnly(spec sandbox.Spec) []interp.File {
	var all []interp.File
	for source, target := range Folders(spec) {
		all = append(all, interp.File{Source: source, Target: target},
			interp.File{Source: source, Target: sandbox.WorkspaceDir + "/" + path.Base(target)})
	}
	return all
}

// Packages lists the folder of a guest's packages, if it has one. A guest that waits for a run has it from its start.
func Packages(spec sandbox.Spec) []interp.File {
	if spec.Packages == "" {
		return nil
	}
	return []interp.File{{Source: spec.Packages, Target: sandbox.PackagesDir}}
}

// Folders iterates over the folders of a run that a guest may only read, and their places below sandbox.Root.
func Folders(spec sandbox.Spec) iter.Seq2[string, string] {
	return func(yield func(source, target string) bool) {
		if spec.Tree != "" && !yield(spec.Tree, sandbox.TreeDir) {
			return
		}
		if spec.Skills != "" {
			yield(spec.Skills, sandbox.SkillsDir)
		}
	}
}

// User is the user that a guest runs as, if it is not this process's.
type User struct {
	UID    int
	Groups []int
}

// Prepare checks the folders of a run, and creates the folders in the workspace on which others are mounted. They stay there, because
// another run may be using them. If user is not nil, it is granted write access to the workspace, and must be able to read the other
// folders.
func Prepare(spec sandbox.Spec, user *User) error {
	for _, source := range []string{spec.Tree, spec.Skills, spec.Packages} {
		if source == "" {
			continue
		}
		if err := folder.Check(source); err != nil {
			return err
		}
		if user != nil {
			if err := folder.Readable(source, user.UID, user.Groups...); err != nil {
				return err
			}
		}
	}
	if spec.Workspace == "" {
		return nil
	}
	if err := folder.Check(spec.Workspace); err != nil {
		return err
	}
	if user != nil {
		if err := acl.Grant(spec.Workspace, user.UID); err != nil {
			return err
		}
	}
	for _, target := range Folders(spec) {
		if err := folder.Place(spec.Workspace, path.Base(target)); err != nil {
			return err
		}
	}
	return nil
}
