package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archAllowed are the calls that only this architecture has: the old forms of calls that are allowed everywhere.
func archAllowed() []uintptr {
	return []uintptr{
		unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK,
		unix.SYS_RENAME, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_SYMLINK,
		unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
		unix.SYS_GETDENTS, unix.SYS_DUP2, unix.SYS_PIPE, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_PAUSE, unix.SYS_ALARM,
		unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_SIGNALFD,
		unix.SYS_INOTIFY_INIT, unix.SYS_GETPGRP, unix.SYS_TIME, unix.SYS_ARCH_PRCTL,
	}
}

// archForks start processes; they take no flags.
func archForks() []uintptr { return []uintptr{unix.SYS_FORK, unix.SYS_VFORK} }

func archModes() []modeArg {
	return []modeArg{{unix.SYS_CHMOD, 1}, {unix.SYS_CREAT, 1}}
}

func archOpens() []modeArg { return []modeArg{{unix.SYS_OPEN, 2}} }
