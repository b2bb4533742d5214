package gvisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/interp"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
)

// showAt is a bind mount of a file or folder of the host.
func showAt(source, target string, writable bool) specs.Mount {
	access := "ro"
	if writable {
		access = "rw"
	}
	return specs.Mount{Destination: target, Type: "bind", Source: source, Options: []string{"bind", access, "nosuid", "nodev"}}
}

// memoryFolder is an empty folder in the guest's memory.
func memoryFolder(target string, size int64) specs.Mount {
	return specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs",
		Options: []string{"nosuid", "nodev", "noexec", "mode=1777", fmt.Sprintf("size=%d", size)}}
}

// sealed is an empty folder in which nothing can be created.
func sealed(target string) specs.Mount {
	return specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: []string{"ro", "nosuid", "nodev", "noexec", "mode=0555", "size=4096"}}
}

// config returns the configuration of one guest's bundle. With late set, the workspace and the folders in it are mounted from outside when
// the guest is adopted. This requires a root that is writable to gVisor's kernel; the gofer sees it as read-only.
func (d *direct) config(dir *runDir, spec sandbox.Spec, late bool) specs.Spec {
	lim := spec.Limits.WithDefaults()
	uid, gid := d.user()
	var groups []uint32
	if extra, ok := d.group(spec.Workspace, late); ok {
		groups = []uint32{uint32(extra)}
	}
	c := specs.Spec{
		Version: "1.0.2", Hostname: "sandbox", Root: &specs.Root{Path: "rootfs", Readonly: !late},
		Process: &specs.Process{
			User: specs.User{UID: uint32(uid), GID: uint32(gid), AdditionalGids: groups}, Cwd: sandbox.WorkspaceDir, NoNewPrivileges: true,
			Capabilities: &specs.LinuxCapabilities{},
			Args:         d.command(spec), Env: layout.Environment(),
			Rlimits: []specs.POSIXRlimit{
				limit("RLIMIT_CORE", 0), limit("RLIMIT_NOFILE", int64(lim.Files)), limit("RLIMIT_NPROC", int64(lim.Processes)),
				limit("RLIMIT_FSIZE", lim.LargestFile()),
			},
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro", "nosuid", "nodev", "noexec"}},
			memoryFolder("/tmp", lim.Tmp), sealed("/dev/shm"), sealed("/dev/net"), showAt(dir.File(emptyFile), "/dev/fuse", false),
		},
	}
	c.Linux = &specs.Linux{Seccomp: filter(groups, spec.Network)}
	for _, ns := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.NetworkNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.MountNamespace,
	} {
		c.Linux.Namespaces = append(c.Linux.Namespaces, specs.LinuxNamespace{Type: ns})
	}
	for _, f := range d.files() {
		c.Mounts = append(c.Mounts, showAt(f.Source, f.Target, false))
	}
	for _, hidden := range d.in.Hidden {
		c.Mounts = append(c.Mounts, sealed(hidden))
	}
	for _, f := range layout.Packages(spec) {
		c.Mounts = append(c.Mounts, showAt(f.Source, f.Target, false))
	}
	if late {
		return c
	}
	if spec.Workspace == "" {
		c.Mounts = append(c.Mounts, memoryFolder(sandbox.WorkspaceDir, lim.Tmp))
	} else {
		c.Mounts = append(c.Mounts, showAt(spec.Workspace, sandbox.WorkspaceDir, true))
	}
	for _, f := range layout.ReadOnly(spec) {
		c.Mounts = append(c.Mounts, showAt(f.Source, f.Target, false))
	}
	return c
}

func limit(name string, n int64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Hard: uint64(n), Soft: uint64(n)}
}

// command returns the command of the guest's first process.
func (d *direct) command(spec sandbox.Spec) []string {
	var cmd []string
	if !d.tool.passFD {
		cmd = append(cmd, enterPath)
	}
	return append(append(cmd, d.in.Inside), layout.Arguments(spec)...)
}

// files returns the host's files that every guest sees: those of the interpreter and, if needed, of the program that hands over
// descriptors.
func (d *direct) files() []interp.File {
	all := slices.Clone(d.in.Files)
	for _, f := range d.enter {
		if !slices.ContainsFunc(all, func(g interp.File) bool { return g.Target == f.Target }) {
			all = append(all, f)
		}
	}
	// A later mount may be inside an earlier one, but not the other way round.
	slices.SortStableFunc(all, func(a, b interp.File) int { return cmp.Compare(len(a.Target), len(b.Target)) })
	return all
}

// user returns the user and group that the guest runs as: nobody if root starts it, and otherwise the caller, mapped to root. It has no
// capabilities in either case.
func (d *direct) user() (uid, gid int) {
	if d.root {
		return nobody, nobody
	}
	return 0, 0
}

// group returns a supplementary group of the guest; ok is false if it needs none. gVisor's kernel does not support access control lists, by
// which nobody may write to root's workspace. It treats their mask as the permissions of the workspace's group, so the guest is a member of
// that group. A workspace that is mounted later must belong to this process's group. On the host the guest is in no group: the gofer acts
// for it, and filter refuses to create files of that group.
func (d *direct) group(workspace string, late bool) (gid int, ok bool) {
	gid, ok = os.Getegid(), late
	if !late && workspace != "" {
		gid, ok = groupOf(workspace)
	}
	return gid, ok && d.root && gid != nobody
}

// groupOf returns the group that owns a folder.
func groupOf(dir string) (gid int, ok bool) {
	st, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(sys.Gid), true
}

// fill writes the bundle into the run's folder: the configuration, and a root that holds the guest program, the names
// of users, and places for mounts.
func (d *direct) fill(dir *runDir, spec sandbox.Spec, late bool) error {
	c := d.config(dir, spec, late)
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(dir.File(emptyFile), nil, 0o400); err != nil {
		return err
	}
	files := map[string][]byte{configFile: text}
	uid, gid := d.user()
	for name, content := range layout.Files(spec, uid, gid) {
		files[filepath.Join(rootFolder, name)] = content
	}
	folders := []string{stateFolder}
	for _, place := range []string{sandbox.WorkspaceDir, sandbox.TreeDir, sandbox.SkillsDir, "/tmp", "/proc", "/sys", "/dev"} {
		folders = append(folders, filepath.Join(rootFolder, place))
	}
	for _, m := range c.Mounts { // places to mount on
		at := filepath.Join(rootFolder, m.Destination)
		if m.Type != "bind" {
			folders = append(folders, at)
			continue
		}
		st, err := os.Stat(m.Source)
		switch {
		case err != nil:
			return err
		case st.IsDir():
			folders = append(folders, at)
		default:
			files[at] = nil
		}
	}
	for _, name := range folders {
		if err := dir.MkdirAll(name); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := dir.Write(name, content); err != nil {
			return err
		}
	}
	return nil
}
