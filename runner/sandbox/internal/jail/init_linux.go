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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

const (
	controlFD     = 4
	probeEntry    = "probe"
	launcherEntry = "launcher"
	codeFailed    = 125 // the jail itself broke
	codeKilled    = 128 + int(unix.SIGKILL)
)

// Init must be called first in the program's main, once for each entry that the program starts jails with. In a
// process that Start started for entry (or for Probe) it does not return: it builds the jail, runs the program or fn,
// and exits with its code. In any other process it does nothing. A nil fn means that entry always has a Program.
//
// This is the one library function that looks at the program's arguments and ends the process: it is main's first
// statement under another name.
func Init(entry string, fn func(Inside) int) {
	reaper.Init()
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	// Capabilities, the bounding set and the parent-death signal belong to threads, so the thread that prepares must be the one that starts
	// the program.
	runtime.LockOSThread()
	switch os.Args[1] {
	case launcherEntry:
		os.Exit(runLauncher())
	case probeEntry:
		os.Exit(runInit(func(Inside) int { return 0 }))
	case entry:
		os.Exit(runInit(fn))
	}
	runtime.UnlockOSThread()
}

// runInit runs the jail's first process and returns its exit code.
func runInit(fn func(Inside) int) int {
	_ = dieWithHost() // an exec that changed privileges has cleared it
	unix.CloseOnExec(BridgeFD)
	unix.CloseOnExec(controlFD)
	_ = unix.SetNonblock(controlFD, true)
	control := os.NewFile(controlFD, "control")
	if control == nil {
		return codeFailed
	}
	i := &initProcess{out: json.NewEncoder(control), request: new(request), fn: fn}
	if err := ReadFrame(control, i.request); err != nil {
		return i.fail(err)
	}
	i.start, i.binds = watchHost(control, i.request.Warm)
	closeInherited()
	lastCap := lastCapability() // the file is no longer visible later
	if i.request.Warm {
		return i.runWarm(lastCap)
	}
	return i.run(lastCap)
}

// initProcess is the jail's first process.
type initProcess struct {
	mu      sync.Mutex
	out     *json.Encoder
	request *request
	fn      func(Inside) int
	start   <-chan struct{}     // closed when the host says go
	binds   <-chan *bindRequest // the only bind request of a warm jail
	mounter *mounter            // only in a warm jail with namespaces
}

func (i *initProcess) send(m message) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.out.Encode(m)
}

func (i *initProcess) fail(err error) int {
	_ = i.send(message{Error: err.Error(), Denied: isDenied(err)})
	return codeFailed
}

// run runs a jail that has its run from the start.
func (i *initProcess) run(lastCap int) int {
	missing, err := enterJail(i.request)
	if err != nil {
		return i.fail(err)
	}
	more, err := confine(i.request, lastCap)
	if err != nil {
		return i.fail(err)
	}
	missing = append(missing, more...)
	<-i.start
	if i.request.Program == "" {
		return i.call(missing, &i.request.Mounts)
	}
	pid, err := startProgram(i.request)
	if err != nil {
		return i.fail(err)
	}
	if i.send(message{Ready: true, Missing: missing}) != nil {
		return codeFailed
	}
	return i.reap(pid)
}

// call calls the jail's function.
func (i *initProcess) call(missing []string, mounts *[]Mount) int {
	if i.fn == nil {
		return i.fail(errors.New("neither a program nor a function to run"))
	}
	in := Inside{Args: i.request.Args, Namespaces: i.request.Namespaces, mounts: new(atomic.Pointer[[]Mount])}
	in.mounts.Store(mounts)
	i.bindWhenTold(0, in.mounts)
	if i.send(message{Ready: true, Missing: missing}) != nil {
		return codeFailed
	}
	code := i.fn(in)
	if code == OutOfMemory {
		_ = i.send(message{OutOfMemory: true})
		code = codeKilled
	}
	return code
}

// watchHost ends this process when the control socket closes, as it does when the host dies. The first channel is
// closed when the host says go; the second delivers a warm jail's bind request.
func watchHost(control io.Reader, warm bool) (<-chan struct{}, <-chan *bindRequest) {
	start, binds := make(chan struct{}), make(chan *bindRequest, 1)
	go func() {
		b := make([]byte, 1)
		if _, err := io.ReadFull(control, b); err != nil || b[0] != goAhead {
			os.Exit(codeKilled)
		}
		close(start)
		if warm {
			o := new(bindRequest)
			if ReadFrame(control, o) != nil {
				os.Exit(codeKilled)
			}
			binds <- o
		}
		for {
			if _, err := control.Read(b); err != nil {
				os.Exit(codeKilled)
			}
		}
	}()
	return start, binds
}

// enterJail makes the jail's root this process's root, if the jail has namespaces.
func enterJail(p *request) (missing []string, err error) {
	if !p.Namespaces {
		return nil, unix.Chdir("/")
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return nil, fmt.Errorf("set the host name: %w", err)
	}
	if missing, err = buildRoot(p); err != nil {
		return nil, err
	}
	return missing, enterDir(p)
}

func enterDir(p *request) error {
	if err := unix.Chdir(path.Clean("/" + p.Dir)); err != nil {
		return fmt.Errorf("enter %q: %w", p.Dir, err)
	}
	return nil
}

// closeInherited closes descriptors that the host inherited from its own parent. They lack the close-on-exec flag, which the Go runtime
// sets on all descriptors that it opens, and so survived the exec.
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

// startProgram starts the program with the descriptors 0 to 3, and SecretFD if it has a secret. It closes its own copies, so that the host
// sees end-of-file when the program closes one.
func startProgram(p *request) (int, error) {
	files, err := programFiles(p)
	if err != nil {
		return 0, err
	}
	reserveThreads()
	pid, err := syscall.ForkExec(p.Program, append([]string{p.Program}, p.Args...), &syscall.ProcAttr{
		Env:   p.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	closeSecret(files)
	if err != nil {
		return 0, fmt.Errorf("start %q in the sandbox: %w", p.Program, err)
	}
	return pid, becomeReaper()
}

// spareThreads exceeds the number of threads that a waiting init ever uses at once.
const spareThreads = 4

// reserveThreads creates the threads that this process may need later. The runtime keeps them. It would end the process if it could not
// create one, for instance because the program has used up the jail's tasks.
func reserveThreads() {
	var together, gone sync.WaitGroup
	together.Add(spareThreads)
	for range spareThreads {
		gone.Go(func() {
			runtime.LockOSThread() // makes each wait on a thread of its own
			defer runtime.UnlockOSThread()
			together.Done()
			together.Wait()
		})
	}
	gone.Wait()
}

// programFiles returns the program's descriptors. The control socket has SecretFD's number here, but not in the program.
func programFiles(p *request) ([]uintptr, error) {
	files := []uintptr{0, 1, 2, BridgeFD}
	if p.Secret != "" {
		secret, err := secretPipe(p.Secret)
		if err != nil {
			return nil, err
		}
		files = append(files, uintptr(secret))
	}
	return files, nil
}

func closeSecret(files []uintptr) {
	for _, fd := range files[BridgeFD+1:] {
		unix.Close(int(fd))
	}
}

// becomeReaper prepares this process to do nothing but wait, once the program has its descriptors.
func becomeReaper() error {
	debug.SetGCPercent(-1) // from here on this process hardly allocates
	drain := make(chan os.Signal, 1)
	signal.Notify(drain) // the script may send init any signal; all are ignored
	go func() {
		for range drain {
		}
	}()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null in the sandbox: %w", err)
	}
	for fd := range BridgeFD {
		if err := unix.Dup3(null, fd, unix.O_CLOEXEC); err != nil {
			return err
		}
	}
	unix.Close(null)
	return unix.Close(BridgeFD)
}

// secretPipe returns the reading end of a pipe that holds the secret and then ends.
func secretPipe(secret string) (int, error) {
	if len(secret) > sandbox.MaxSecret {
		return -1, fmt.Errorf("the secret has %d bytes; the limit is %d", len(secret), sandbox.MaxSecret)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return -1, fmt.Errorf("create a pipe: %w", err)
	}
	defer unix.Close(ends[1])
	if _, err := unix.Write(ends[1], []byte(secret)); err != nil {
		unix.Close(ends[0])
		return -1, fmt.Errorf("write the secret: %w", err)
	}
	return ends[0], nil
}

// reap waits for ended processes until the program ends, and returns its exit code.
func (i *initProcess) reap(pid int) int {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return codeFailed
		case got != pid:
		case ws.Exited():
			_ = i.send(used())
			return ws.ExitStatus()
		case ws.Signaled():
			m := used()
			m.Signal = int(ws.Signal())
			_ = i.send(m)
			return 128 + int(ws.Signal())
		}
	}
}

// used returns the resources used by the ended processes. MaxRSS is the largest one's. The host cannot ask the kernel, because the kernel's
// figures for the host's child start with the host's own size at the time of the fork.
func used() message {
	var sum unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &sum) != nil {
		return message{}
	}
	return message{MaxRSS: sum.Maxrss << 10, CPU: time.Duration(sum.Utime.Nano() + sum.Stime.Nano())}
}

// isDenied reports whether err means that the machine refuses the request, rather than that the request is wrong.
func isDenied(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC, unix.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
