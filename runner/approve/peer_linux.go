package approve

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// samePeer returns an error if the process at the other end of a Unix connection does not run this program, so that no other program of the
// user can read or answer questions. A process that starts this program can still open the page.
func samePeer(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	if failed := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return err
	}
	if its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", peer.Pid)); err != nil || !os.SameFile(own, its) {
		path, _ := os.Readlink("/proc/self/exe")
		return fmt.Errorf("only %q itself may answer its questions: serve the page with that program, or start the process that asks again", path)
	}
	return nil
}
