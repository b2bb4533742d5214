package gvisor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
)

// enterPath is the path and argv[0] of the guest's first program under old releases of runsc.
const enterPath = "/mcp/mcprun-enter"

// codeLost is the exit code of guest programs that have no host.
const codeLost = 125

// Init must be called first in the main of every program that uses this backend. In a guest's first process it does not return: it receives
// descriptors from the host, gives them their numbers and becomes the interpreter. In any other process it does nothing.
//
// Newer releases of runsc hand descriptors to a guest themselves. With an older one, the guest is started with the bridge as its standard
// input, and receives the real one over it.
func Init() {
	reaper.Init()
	if len(os.Args) < 2 || os.Args[0] != enterPath {
		return
	}
	if err := enter(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mcprun: enter the sandbox: %v\n", err)
	}
	os.Exit(codeLost)
}

func enter(command []string) error {
	text, stdin, err := takeOver()
	if err != nil {
		return err
	}
	var secret [2]int
	if err := unix.Pipe2(secret[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	if _, err := unix.Write(secret[1], text); err != nil {
		return err
	}
	// Go's runtime may use descriptors with these numbers, and its other threads use them until the end. This thread therefore gets its own
	// table of descriptors.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	// All of them are first moved to higher numbers, so that none overwrites another. The run's limit of open files already applies.
	const aside = max(sandbox.BridgeFD, sandbox.SecretFD) + 1
	var parked [3]int
	for i, fd := range []int{stdin, 0, secret[0]} {
		if parked[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, aside); err != nil {
			return err
		}
	}
	for i, place := range []int{0, sandbox.BridgeFD, sandbox.SecretFD} {
		if err := unix.Dup3(parked[i], place, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(command[0], command, os.Environ())
}

// takeOver receives what handOver has sent.
func takeOver() (secret []byte, stdin int, err error) {
	data, rights := make([]byte, 1+sandbox.MaxSecret), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(0, data, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, -1, err
	}
	if n < 1 || len(messages) != 1 {
		return nil, -1, errors.New("the host sent no descriptor")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, -1, err
	}
	if len(fds) != 1 {
		return nil, -1, fmt.Errorf("the host sent %d descriptors", len(fds))
	}
	return data[1:n], fds[0], nil
}

// handOver sends the guest its standard input and its secret, before anything else is sent over the bridge.
func handOver(streams *stdio.Streams, stdin *os.File, secret string) error {
	bridge := streams.PeekBridge()
	// A descriptor needs at least one byte of data, and the secret may be empty.
	_, _, err := bridge.WriteMsgUnix(append([]byte{0}, secret...), unix.UnixRights(int(stdin.Fd())), nil)
	return err
}
