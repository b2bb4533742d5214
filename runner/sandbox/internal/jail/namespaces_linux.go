//go:build linux && (amd64 || arm64)

package jail

import (
	"bufio"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are the namespaces of every jail. If the caller is not root, a user namespace is added.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP

// identity is the user that a jail runs as, and the right by which its namespaces are created.
type identity struct {
	uid, gid int
	// dropTo is the user that a jail becomes. 0: it stays the caller, inside its own user namespace.
	dropTo int
	// ownCount: the kernel counts a user's processes per user namespace, so RLIMIT_NPROC bounds a single jail.
	ownCount bool
}

// User returns the jail processes' user on the host: UID if the host is root with root's rights, and otherwise the caller.
func User() int {
	if who := caller(); who.dropTo != 0 {
		return who.dropTo
	}
	return os.Geteuid()
}

func caller() identity {
	who := identity{uid: os.Geteuid(), gid: os.Getegid()}
	if who.uid == 0 && privileged() && maps("/proc/self/uid_map", UID) && maps("/proc/self/gid_map", UID) {
		who.dropTo = UID
		return who
	}
	who.ownCount = true // since Linux 5.14
	return who
}

// privileged reports whether root has all the capabilities it needs, which it lacks in most containers.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return false
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP} {
		if data[0].Effective&(1<<c) == 0 {
			return false
		}
	}
	return true
}

// maps reports whether id exists in the user namespace that file describes.
func maps(file string, id int64) bool {
	f, err := os.Open(file)
	if err != nil {
		return true // no user namespaces in this kernel: every id exists
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var inside, outside, size int64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &size); err == nil && id >= inside && id < inside+size {
			return true
		}
	}
	return false
}

// attributes returns the attributes of a jail's first process. A warm jail later enters its mount namespace again.
func (who identity) attributes(withNamespaces, warm bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !withNamespaces {
		return attr
	}
	attr.Cloneflags = namespaces
	if who.dropTo != 0 {
		return attr
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside(who.uid), HostID: who.uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside(who.gid), HostID: who.gid, Size: 1}}
	// Since init is not user 0 inside, it would otherwise lose these at its exec.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}
	if warm {
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SYS_CHROOT)
	}
	return attr
}

// inside returns the caller's ID in its own user namespace: the same, but never root's.
func inside(id int) int {
	if id == 0 {
		return UID
	}
	return id
}
