package gvisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/interp"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// nobody is the user and group of guests that root starts.
const nobody = jail.UID

// direct starts guests of one runtime with runsc itself.
type direct struct {
	b     *Backend
	tool  *tool
	in    *interp.Interpreter
	root  bool          // this process is root and may mount
	enter []interp.File // the program that hands over descriptors, and its libraries; empty if runsc does this
}

// direct returns everything needed to start a runtime directly. The error is an *UnavailableError, one about a missing interpreter, or the
// context's.
func (b *Backend) direct(ctx context.Context, rt sandbox.Runtime) (*direct, error) {
	if sandbox.GuestMain(rt) == "" {
		return nil, fmt.Errorf("sandbox gvisor does not run %q", rt)
	}
	t, err := b.tools.find(ctx, b.opts.Runsc, b.opts.LookPath)
	if err != nil {
		return nil, err
	}
	d := &direct{b: b, tool: t, root: isRoot()}
	if d.in, err = b.interp.Find(ctx, rt); err != nil {
		return nil, err
	}
	if !d.root {
		if err := userNamespaces(ctx, t); err != nil {
			return nil, err
		}
	}
	if !t.passFD {
		if d.enter, err = b.enterFiles(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// enterFiles returns the files of the running program, which is the guest's first program; see Init. They are looked up once.
func (b *Backend) enterFiles() ([]interp.File, error) {
	b.entry.mu.Lock()
	defer b.entry.mu.Unlock()
	if b.entry.files != nil {
		return b.entry.files, nil
	}
	exe := b.opts.Exe
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find mcprun's own executable: %w", err)
		}
	}
	libraries, err := interp.Libraries(exe)
	if err != nil {
		return nil, fmt.Errorf("prepare the guest's first program: %w", err)
	}
	b.entry.files = append([]interp.File{{Source: exe, Target: enterPath}}, libraries...)
	return b.entry.files, nil
}

// isRoot reports whether this process is root with its usual capabilities, most of which root lacks in many containers.
func isRoot() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	return err == nil && os.Geteuid() == 0 && sets[0].Effective>>unix.CAP_SYS_ADMIN&1 == 1
}

// userNamespaces checks that a caller who is not root may create a user namespace, by starting a runsc in one that does nothing. A success
// is cached.
func userNamespaces(ctx context.Context, t *tool) error {
	if t.mapped.Load() {
		return nil
	}
	cmd := exec.CommandContext(ctx, t.path, "--version")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	mapCaller(cmd.SysProcAttr)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil {
		t.mapped.Store(true)
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &UnavailableError{
		Err:  fmt.Errorf("gVisor without root needs user namespaces, which this machine does not allow: %w", errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))),
		hint: "allow them (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or run as root",
	}
}

// mapCaller makes the child root of a user namespace that maps the caller only.
func mapCaller(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	attr.GidMappingsEnableSetgroups = false
}

// start starts a guest for a run.
func (d *direct) start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := d.prepareFolders(spec, false); err != nil {
		return nil, err
	}
	g, err := d.launch(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	g.begin(ctx, spec)
	return g, nil
}

// shape implements Shape of sandbox.Warmer. Root can mount folders into a running guest. The limits that gVisor's kernel enforces, and the
// size of a large heap, are fixed at the start.
func (d *direct) shape(spec sandbox.Spec) sandbox.Shape {
	s := completeShape(spec)
	lim := s.Limits
	s.Limits = sandbox.Limits{
		Processes: lim.Processes, Files: lim.Files, FileSize: lim.LargestFile(), Tmp: lim.Tmp,
		Memory: meter.LargeHeap(spec.Runtime, lim),
	}
	if d.late(spec) {
		s.Tree, s.Skills, s.Workspace = "", "", ""
	}
	return s
}

// late reports whether the folders of a run can be mounted when a guest is adopted; see group.
func (d *direct) late(spec sandbox.Spec) bool {
	gid, ok := groupOf(spec.Workspace)
	return d.root && (spec.Workspace == "" || ok && gid == os.Getegid())
}

// warm starts a guest that waits for a run.
func (d *direct) warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	late := d.late(spec)
	if !late {
		if err := d.prepareFolders(spec, late); err != nil {
			return nil, err
		}
	}
	g, err := d.launch(ctx, spec, late)
	if err != nil {
		return nil, err
	}
	return &idle{guest: g, direct: d, shape: d.shape(spec)}, nil
}

// prepareFolders makes the run's folders ready for the guest's user.
func (d *direct) prepareFolders(spec sandbox.Spec, late bool) error {
	if !d.root {
		return layout.Prepare(spec, nil)
	}
	uid, gid := d.user()
	user := &layout.User{UID: uid, Groups: []int{gid}}
	if extra, ok := d.group(spec.Workspace, late); ok {
		user.Groups = append(user.Groups, extra)
	}
	return layout.Prepare(spec, user)
}
