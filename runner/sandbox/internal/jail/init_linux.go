//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
	"syscall"
)

const (
	controlFD  = 4
	probeEntry = "probe"
	codeFailed = 125 // the jail itself broke
	codeKilled = 128 + int(unix.SIGKILL)
)

// Init must be called first in the program's main, once for each entry that the program starts jails with. In a
// process that Start started for entry (or for Probe) it does not return: it builds the jail, runs the program or fn,
// and exits with its code. In any other process it does nothing. A nil fn means that entry always has a Program.
//
// This is the one library function that looks at the program's arguments and ends the process: it is main's first
// statement under another name.
func Init(entry string, fn func(Inside) int) {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	switch os.Args[1] {
	case probeEntry:
		fn = func(Inside) int { return 0 }
	case entry:
	default:
		return
	}
	// Capabilities, the bounding set and the parent-death signal belong to threads: the one that prepares is the one
	// that starts the program.
	runtime.LockOSThread()
	os.Exit(runInit(fn))
}

// runInit is the life of the jail's first process.
func runInit(fn func(Inside) int) int {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) // cleared where the exec changed privileges
	unix.CloseOnExec(BridgeFD)
	unix.CloseOnExec(controlFD)
	_ = unix.SetNonblock(controlFD, true)
	control := os.NewFile(controlFD, "control")
	if control == nil {
		return codeFailed
	}
	tell := json.NewEncoder(control)
	fail := func(err error) int {
		_ = tell.Encode(message{Error: err.Error(), Denied: isDenied(err)})
		return codeFailed
	}
	p, err := readPlan(control)
	if err != nil {
		return fail(err)
	}
	start := watchHost(control)
	missing, err := prepare(p)
	if err != nil {
		return fail(err)
	}
	<-start
	if p.Program == "" {
		if fn == nil {
			return fail(errors.New("neither a program nor a function to run"))
		}
		if tell.Encode(message{Ready: true, Missing: missing}) != nil {
			return codeFailed
		}
		return fn(Inside{Args: p.Args, Namespaces: p.Namespaces, mounts: p.Mounts})
	}
	pid, err := startProgram(p)
	if err != nil {
		return fail(err)
	}
	if tell.Encode(message{Ready: true, Missing: missing}) != nil {
		return codeFailed
	}
	return reap(pid, tell)
}

// watchHost ends this process when the host closes the control socket, which its death does too. The channel is
// closed when the host says to go on.
func watchHost(control io.Reader) <-chan struct{} {
	start := make(chan struct{})
	go func() {
		b := make([]byte, 1)
		if _, err := io.ReadFull(control, b); err != nil || b[0] != goAhead {
			os.Exit(codeKilled)
		}
		close(start)
		_, _ = io.Copy(io.Discard, control)
		os.Exit(codeKilled)
	}()
	return start
}

// prepare turns this process into a jailed one.
func prepare(p *plan) (missing []string, err error) {
	closeInherited()
	lastCap := lastCapability()
	if p.Namespaces {
		if err := unix.Sethostname([]byte("sandbox")); err != nil {
			return nil, fmt.Errorf("set the host name: %w", err)
		}
		if missing, err = buildRoot(p); err != nil {
			return nil, err
		}
		if err := unix.Chdir(path.Clean("/" + p.Dir)); err != nil {
			return nil, fmt.Errorf("enter %q: %w", p.Dir, err)
		}
	} else if err := unix.Chdir("/"); err != nil {
		return nil, err
	}
	more, err := confine(p, lastCap)
	return append(missing, more...), err
}

// closeInherited closes what the host's own parent left open in it: descriptors that survived an exec lack the
// close-on-exec flag, which everything the Go runtime opened has.
func closeInherited() {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		_ = unix.CloseRange(controlFD+1, ^uint(0)>>1&0x7fffffff, unix.CLOSE_RANGE_CLOEXEC)
		return
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil || fd <= controlFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// startProgram starts the program with the descriptors 0 to 3, and SecretFD if it has a secret, and lets go of them
// itself, so that the host sees the end of each when the program closes it.
func startProgram(p *plan) (int, error) {
	debug.SetGCPercent(-1) // from here on this process allocates next to nothing
	drain := make(chan os.Signal, 1)
	signal.Notify(drain) // the script may send init any signal; none may do more than be received
	go func() {
		for range drain {
		}
	}()
	files := []uintptr{0, 1, 2, BridgeFD}
	if p.Secret != "" {
		secret, err := secretPipe(p.Secret)
		if err != nil {
			return 0, err
		}
		defer unix.Close(secret)
		files = append(files, uintptr(secret)) // the control socket has this number here, but not in the program
	}
	pid, err := syscall.ForkExec(p.Program, append([]string{p.Program}, p.Args...), &syscall.ProcAttr{
		Env:   p.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("start %q in the sandbox: %w", p.Program, err)
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/null in the sandbox: %w", err)
	}
	for fd := range BridgeFD {
		if err := unix.Dup3(null, fd, unix.O_CLOEXEC); err != nil {
			return 0, err
		}
	}
	unix.Close(null)
	unix.Close(BridgeFD)
	return pid, nil
}

// secretPipe returns the reading end of a pipe that holds the secret and then ends.
func secretPipe(secret string) (int, error) {
	if len(secret) > maxSecret {
		return -1, fmt.Errorf("the secret has %d bytes, more than %d", len(secret), maxSecret)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return -1, fmt.Errorf("make a pipe: %w", err)
	}
	defer unix.Close(ends[1])
	if _, err := unix.Write(ends[1], []byte(secret)); err != nil {
		unix.Close(ends[0])
		return -1, fmt.Errorf("hand the secret over: %w", err)
	}
	return ends[0], nil
}

// reap collects everything that ends until the program does, and returns its exit code.
func reap(pid int, tell *json.Encoder) int {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return codeFailed
		case got != pid:
		case ws.Exited():
			_ = tell.Encode(message{MaxRSS: maxRSS()})
			return ws.ExitStatus()
		case ws.Signaled():
			_ = tell.Encode(message{MaxRSS: maxRSS(), Signal: int(ws.Signal())})
			return 128 + int(ws.Signal())
		}
	}
}

// maxRSS is the most memory one of the ended processes had resident. The host can't ask the kernel for it: what its own
// child reports begins with the host's own size at the time of the fork.
func maxRSS() int64 {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &used) != nil {
		return 0
	}
	return used.Maxrss << 10
}

// isDenied tells whether err is the machine's refusal rather than a mistake in the plan.
func isDenied(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC, unix.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
