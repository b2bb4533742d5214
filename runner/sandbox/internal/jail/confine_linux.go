//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/seccomp"
)

// confine drops, on every thread of this process, the rights that it no longer needs. The order matters: a step that needs a privilege
// comes before the privilege is dropped, and the filter comes last because it refuses calls that other steps make.
func confine(p *request, lastCap int) (missing []string, err error) {
	if p.Network {
		if err := raiseLoopback(); err != nil {
			return nil, err
		}
	}
	// The bounding set matters on exec, so it is dropped on the thread that Init has locked, which starts the program. A function also runs
	// on other threads, which keep their sets; exec would gain them nothing, and the filter refuses it.
	for c := 0; c <= lastCap; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && p.canDropBounds() {
			return nil, fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := dropEarly(p); err != nil {
		return nil, err
	}
	return dropRest(p, true)
}

// raiseLoopback switches on the loopback interface of a new network namespace, its only one.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch on the sandbox's loopback interface: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("switch on the sandbox's loopback interface: %w", err)
	}
	return nil
}

// dropEarly drops the rights that a warm jail does not need for mounting later.
func dropEarly(p *request) error {
	if p.DropTo != 0 {
		// The syscall package changes all threads.
		if err := syscall.Setgroups([]int{}); err != nil {
			return fmt.Errorf("drop groups: %w", err)
		}
		if err := syscall.Setresgid(p.DropTo, p.DropTo, p.DropTo); err != nil {
			return fmt.Errorf("become group %d: %w", p.DropTo, err)
		}
	}
	if err := prctlAll(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := prctlAll(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return dieWithHost()
}

// dieWithHost arms the parent-death signal, which a change of user or group clears. One thread is enough.
func dieWithHost() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("arm the parent-death signal: %w", err)
	}
	return nil
}

// dropRest drops the remaining rights. Landlock is for processes that run untrusted code.
func dropRest(p *request, withLandlock bool) (missing []string, err error) {
	if err := setLimits(p.Rlimits, p.Warm); err != nil {
		return nil, err
	}
	// This comes before the change of user: changing all threads needs signals, and the scripts' user may have none left.
	if withLandlock {
		if missing, err = applyLandlock(p); err != nil {
			return nil, err
		}
	}
	if p.DropTo != 0 {
		if err := syscall.Setresuid(p.DropTo, p.DropTo, p.DropTo); err != nil {
			return nil, fmt.Errorf("become user %d: %w", p.DropTo, err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return nil, err
	}
	if err := dieWithHost(); err != nil {
		return nil, err
	}
	// Not dumpable: /proc/<pid> of init then belongs to root, so that the script, which has the same user, cannot reach init's memory or
	// descriptors there.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("make the first process unreachable: %w", err)
	}
	if err := seccomp.Install(p.Program == "", p.Watched, p.Network); err != nil {
		return nil, err
	}
	return missing, boundSignals()
}
