package embedded

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// envBridge is the variable that names the child's two inherited handles, because Windows has no numbered descriptors.
const envBridge = "MCPRUN_BRIDGE"

// childEnv returns the child's environment. A Windows process needs SYSTEMROOT to make sockets and find its libraries.
func childEnv() []string {
	return []string{"GOTRACEBACK=none", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
}

// attachBridge makes two pipes. Pipes have no deadlines, so the host's end is a net.Pipe with two goroutines that copy.
func attachBridge(cmd *exec.Cmd) (net.Conn, func(), error) {
	childIn, hostOut, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	hostIn, childOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, childIn.Close(), hostOut.Close())
	}
	var handles []syscall.Handle
	for _, f := range []*os.File{childIn, childOut} {
		h := windows.Handle(f.Fd())
		if err := windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
			return nil, nil, errors.Join(err, childIn.Close(), hostOut.Close(), hostIn.Close(), childOut.Close())
		}
		handles = append(handles, syscall.Handle(h))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: handles, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	cmd.Env = append(cmd.Env, envBridge+"="+strconv.FormatUint(uint64(handles[0]), 10)+","+strconv.FormatUint(uint64(handles[1]), 10))
	ours, theirs := net.Pipe()
	go func() { _, _ = io.Copy(hostOut, theirs); hostOut.Close() }()
	go func() { _, _ = io.Copy(theirs, hostIn); theirs.Close(); hostIn.Close() }()
	return ours, func() { childIn.Close(); childOut.Close() }, nil
}

// pipes is the child's end of the bridge.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

func unjailedMain() int {
	in, out, ok := parseHandles(os.Getenv(envBridge))
	if !ok {
		return complain(errors.New("no bridge"))
	}
	os.Clearenv()
	code := guestOn(pipes{os.NewFile(in, "bridge"), os.NewFile(out, "bridge")}, environment{find: samePath, limit: func(rlimits) error { return nil }})
	if code == jail.OutOfMemory {
		code = codeNoMemory
	}
	return code
}

func exitCode(s *os.ProcessState) int {
	if s == nil {
		return 125
	}
	if s.ExitCode() == codeNoMemory {
		return codeKilled
	}
	return s.ExitCode()
}

// parseHandles parses the value of envBridge.
func parseHandles(s string) (in, out uintptr, ok bool) {
	a, b, ok := strings.Cut(s, ",")
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return uintptr(x), uintptr(y), ok && errX == nil && errY == nil
}
