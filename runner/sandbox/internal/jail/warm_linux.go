//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// runWarm runs a jail that starts before there is a run for it. Nothing untrusted reaches the jail
// until Bind has returned on the host; by then this process has dropped the same rights as any other init.
//
//	mounter ── a thread in a copy of the host's mount namespace, until it shows the run's mounts in the jail's
//	launcher  ── our own binary once more, which confines itself and becomes the program
//
// Init itself, unless it runs a function, needs no Landlock: it never runs a script's code.
func (i *initProcess) runWarm(lastCap int) int {
	p := i.request
	var l *launcher
	var err error
	<-i.start // processes started before the host has moved this one into its control group would stay outside the group
	if p.Namespaces {
		if i.mounter, err = newMounter(); err != nil {
			return i.fail(err)
		}
	}
	if p.Program != "" {
		if l, err = startLauncher(p); err != nil {
			return i.fail(err)
		}
	}
	missing, err := enterJail(p)
	if err != nil {
		return i.fail(err)
	}
	// This is slow and does not depend on the bind request, so it is done beforehand.
	for c := 0; c <= lastCap; c++ {
		if err := prctlAll(unix.PR_CAPBSET_DROP, uintptr(c)); err != nil && p.canDropBounds() {
			return i.fail(fmt.Errorf("drop capability %d: %w", c, err))
		}
	}
	if err := dropEarly(p); err != nil {
		return i.fail(err)
	}
	if l == nil {
		return i.call(missing, &p.Mounts)
	}
	more, err := l.exec(p)
	if err != nil {
		return i.fail(err)
	}
	if err := becomeReaper(); err != nil {
		return i.fail(err)
	}
	i.bindWhenTold(l.pid, nil)
	if i.send(message{Ready: true, Missing: append(missing, more...)}) != nil {
		return codeFailed
	}
	return i.reap(l.pid)
}

// bindWhenTold waits in the background for a warm jail's bind request. pid is the program's; mounts is where a function finds its mounts.
func (i *initProcess) bindWhenTold(pid int, mounts *atomic.Pointer[[]Mount]) {
	if !i.request.Warm {
		return
	}
	go func() {
		missing, err := i.bind(<-i.binds, pid, mounts)
		if err != nil {
			i.fail(err) // the host then ends this process
			return
		}
		_ = i.send(message{Bound: true, Missing: missing})
	}()
}

// bind mounts what the request names, limits the program, and drops the rights that were kept for this.
func (i *initProcess) bind(o *bindRequest, pid int, mounts *atomic.Pointer[[]Mount]) (missing []string, err error) {
	p := *i.request
	p.Warm, p.Rlimits = false, o.Limits
	for _, m := range o.Mounts {
		p.Mounts = append(p.Mounts[:len(p.Mounts):len(p.Mounts)], m.Mount)
	}
	p.Tmpfs = append(p.Tmpfs[:len(p.Tmpfs):len(p.Tmpfs)], o.Tmpfs...)
	if mounts != nil {
		mounts.Store(&p.Mounts)
	}
	if i.mounter != nil {
		if err := i.mounter.show(o); err != nil {
			return nil, err
		}
	}
	if missing, err = dropRest(&p, pid == 0); err != nil || pid == 0 {
		return missing, err
	}
	reserveThreads()
	return missing, limitProcess(pid, o.Limits) // possible now that both processes have the same user
}

// mounter is a thread that still sees the host's mounts after the other threads have left them.
type mounter struct {
	jail   int // the jail's mount namespace
	binds  chan *bindRequest
	result chan error
}

// newMounter starts the thread. The jail's root must not be built yet.
func newMounter() (*mounter, error) {
	k := &mounter{binds: make(chan *bindRequest), result: make(chan error)}
	go thread.Spare(func() error {
		err := k.leave()
		k.result <- err
		if err == nil {
			k.result <- k.bind(<-k.binds)
		}
		return nil
	})
	return k, <-k.result
}

// show mounts what a bindRequest names. It can be called once.
func (k *mounter) show(o *bindRequest) error {
	k.binds <- o
	return <-k.result
}

// leave moves this thread to a mount namespace of its own, in which later mounts of the host also appear.
func (k *mounter) leave() (err error) {
	if k.jail, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open the jail's mount namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil { // includes CLONE_FS; see unshare(2)
		return fmt.Errorf("keep the host's mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep the host's mounts: %w", err)
	}
	return nil
}

// bind copies the mounts, enters the jail and shows them there.
func (k *mounter) bind(o *bindRequest) error {
	defer unix.Close(k.jail)
	var clones []clone
	defer func() {
		for _, c := range clones {
			unix.Close(c.fd)
		}
	}()
	for _, m := range o.Mounts {
		c, err := cloneMount(m.Mount)
		if err != nil {
			return err
		}
		clones = append(clones, c)
		if c.dev != m.Dev || c.ino != m.Ino {
			return fmt.Errorf("mount %q: %w", m.Source, errOtherFile)
		}
	}
	if err := unix.Setns(k.jail, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the jail: %w", err)
	}
	if err := resizeTmp(o.TmpSize); err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the root: %w", err)
	}
	defer unix.Close(root)
	for _, dir := range o.Tmpfs {
		if err := tmpfs(root, dir, o.TmpSize); err != nil {
			return err
		}
	}
	for _, c := range clones {
		if err := c.attach(root); err != nil {
			return err
		}
	}
	return nil
}

var errOtherFile = errors.New("the sandbox was started earlier and sees a different file there")

func resizeTmp(size int64) error {
	err := unix.Mount("", "/tmp", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, fmt.Sprintf("size=%d", size))
	if err != nil {
		return fmt.Errorf("limit /tmp: %w", err)
	}
	return nil
}
