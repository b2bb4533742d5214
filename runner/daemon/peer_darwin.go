package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser returns the user of the process at the other end, as recorded by the kernel when the process connected or began to listen.
func peerUser(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	if err2 := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err2 != nil {
		return 0, err2
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
