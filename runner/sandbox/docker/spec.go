package docker

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/mounts"
)

// A runtime with its own kernel has kernelThreadsPerTask threads on the host for each of the guest's tasks, plus kernelThreads.
const (
	kernelThreadsPerTask = 4
	kernelThreads        = 256
)

// maskedPaths are hidden from guests: what engines hide by default (this list replaces the engine's own, and older engines know fewer),
// files that reveal the host's kernel, and the message queues, which would be one more writable folder.
func maskedPaths() []string {
	return []string{
		"/dev/mqueue",
		// All containers of a machine share some three thousand terminals, and if a script took them all, nobody could start a program by
		// hand in any container.
		"/dev/pts/ptmx",
		"/proc/acpi", "/proc/asound", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/kallsyms",
		"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/modules", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap",
		"/sys/firmware", "/sys/kernel",
		// The engine's init is the script's own user and lacks the guest's filter: a script could write code into it.
		"/proc/1/mem", "/proc/1/task/1/mem",
	}
}

// readonlyPaths are those of engines, and /dev: the root of a container could write there.
func readonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/dev"}
}

// localOptions returns the configuration of a container that shares folders and a socket with this machine.
func (b *Backend) localOptions(ctx context.Context, spec sandbox.Spec, e *engine, img image, dir *runDir) client.ContainerCreateOptions {
	lim := spec.Limits.WithDefaults()
	create := b.commonOptions(ctx, spec, e, img, dir.container)
	h := create.HostConfig
	h.Mounts = binds(spec, dir)
	if spec.Workspace == "" {
		h.Tmpfs[sandbox.WorkspaceDir] = e.tmpfs(lim.Tmp)
	}
	if e.podman {
		dir.adaptToPodman(h, e.rootless)
	}
	if e.remapped && !e.rootless {
		h.UsernsMode = "host"
	}
	cmd := command(spec, lim, e.takeUlimits(h))
	create.Config.Entrypoint, create.Config.Cmd = cmd[:1], cmd[1:]
	return create
}

// commonOptions returns what the configurations of local and remote containers have in common.
func (b *Backend) commonOptions(ctx context.Context, spec sandbox.Spec, e *engine, img image, name string) client.ContainerCreateOptions {
	return client.ContainerCreateOptions{
		Name: name,
		Config: &container.Config{
			Image: img.id, User: b.user(e), Hostname: "sandbox", WorkingDir: sandbox.WorkspaceDir,
			Env:         append([]string{"PATH=" + searchPath, "HOME=/tmp", "LANG=C.UTF-8"}, e.unset(img)...),
			AttachStdin: spec.Stdin != nil, OpenStdin: spec.Stdin != nil, StdinOnce: spec.Stdin != nil,
			AttachStdout: true, AttachStderr: true,
			StopSignal:      "SIGKILL", // so that an engine that shuts down does not wait
			NetworkDisabled: true,
			Healthcheck:     &container.HealthConfig{Test: []string{"NONE"}},
			Labels:          map[string]string{labelRun: spec.ID, labelOwner: b.owner},
		},
		HostConfig: b.host(ctx, spec, e),
	}
}

func (b *Backend) host(ctx context.Context, spec sandbox.Spec, e *engine) *container.HostConfig {
	lim := spec.Limits.WithDefaults()
	yes := true
	h := &container.HostConfig{
		AutoRemove:     true,
		Runtime:        b.opt.Runtime,
		NetworkMode:    "none",
		ReadonlyRootfs: true,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + e.seccomp(spec.Network)},
		// Without a namespace to share there is no /dev/shm either, which would be a writable folder.
		IpcMode:      container.IPCModeNone,
		CgroupnsMode: container.CgroupnsModePrivate,
		MaskedPaths:  maskedPaths(),
		LogConfig:    container.LogConfig{Type: "none"},
		Init:         &yes,
		Tmpfs:        map[string]string{"/tmp": e.tmpfs(lim.Tmp)},
		Resources:    container.Resources{Ulimits: ulimits(ctx, lim)},
	}
	if e.watched {
		h.MaskedPaths = append(h.MaskedPaths, zeroDevice)
		h.Resources.Ulimits = append(h.Resources.Ulimits, watchedUlimits(lim, spec.Runtime)...)
	} else {
		pids := int64(lim.Processes)
		if b.opt.Runtime != "" { // the group counts the threads of the runtime's kernel, which ends if it cannot get any
			h.Resources.Ulimits = append(h.Resources.Ulimits, limit("nproc", pids))
			pids = pids*kernelThreadsPerTask + kernelThreads
		}
		h.Resources.Memory, h.Resources.MemorySwap, h.Resources.PidsLimit = lim.Memory, lim.Memory, &pids
	}
	if e.rootless && !e.podman {
		h.ReadonlyPaths = readonlyPaths()
	}
	if !hasMissing(e, "cpu quota") {
		const period = 100_000
		h.Resources.CPUPeriod, h.Resources.CPUQuota = period, guestCPUs*period
	}
	return h
}

// user returns the user that the guest runs as. The root of a rootless engine is the caller, who owns the workspace; without capabilities
// it has no other rights.
func (b *Backend) user(e *engine) string {
	if e.rootless && !e.podman {
		return "0:0"
	}
	return fmt.Sprintf("%d:%d", b.uid, b.gid)
}

// command starts enter.py, which connects to the bridge, sets the ulimits in limits and becomes the guest's interpreter. It also passes on
// the secret, which any process of the container could read from a command line or environment.
func command(spec sandbox.Spec, lim sandbox.Limits, limits string) []string {
	cmd := []string{"python3", "-I", "-S", "-B", path.Join(bridgeDir, enterName), bridgeDir, limits}
	return append(cmd, interpreter(spec, lim)...)
}

// interpreter returns the guest's own command.
func interpreter(spec sandbox.Spec, lim sandbox.Limits) []string {
	if spec.Runtime == sandbox.Node {
		return append([]string{"node", meter.HeapFlag(lim)}, layout.Program(spec)...)
	}
	return append([]string{"python3"}, layout.Program(spec)...)
}

func binds(spec sandbox.Spec, dir *runDir) []mount.Mount {
	all := []mount.Mount{
		bind(dir.File(guestFolder), sandbox.GuestDir, true),
		bind(dir.File(bridgeFolder), bridgeDir, true),
		// The engine would reveal the name servers of this machine.
		bind(dir.File(emptyFile), "/etc/resolv.conf", true),
	}
	if spec.Workspace != "" {
		all = append(all, bind(spec.Workspace, sandbox.WorkspaceDir, false))
	}
	for _, f := range append(layout.ReadOnly(spec), layout.Packages(spec)...) {
		all = append(all, bind(f.Source, f.Target, true))
	}
	return all
}

// mountEmpty mounts an empty read-only folder at each place that a waiting container gets a folder of its run later.
func (d *runDir) mountEmpty(h *container.HostConfig) {
	delete(h.Tmpfs, sandbox.WorkspaceDir)
	for _, at := range []string{sandbox.WorkspaceDir, sandbox.TreeDir, sandbox.SkillsDir} {
		h.Mounts = append(h.Mounts, bind(d.File(emptyFolder), at, true))
	}
}

// tmpfs returns the mount options of a folder in memory. They bound the number of files too, since an empty one costs memory as
// well; Podman has no such option.
func (e *engine) tmpfs(size int64) string {
	options := fmt.Sprintf("rw,nosuid,nodev,noexec,mode=1777,size=%d", size)
	if !e.podman {
		options += fmt.Sprintf(",nr_inodes=%d", mounts.Files(size))
	}
	return options
}

// unset removes variables that the image would set: a name without a value does so. Podman would pass on its own value for one, so
// there the value is empty.
func (e *engine) unset(img image) []string {
	var out []string
	for _, key := range img.unset {
		switch {
		case key == "PATH", key == "HOME", key == "LANG":
		case e.podman:
			out = append(out, key+"=")
		default:
			out = append(out, key)
		}
	}
	return out
}

func hasMissing(e *engine, what string) bool {
	return slices.ContainsFunc(e.missing, func(s string) bool { return strings.HasPrefix(s, what) })
}
