//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// launcherFD is a launcher's end of the socket to its init.
const launcherFD = 5

const launcherReady = 'l'

// launcher is a process that becomes a warm jail's program. It is started while its own libraries can still be found. It confines itself,
// so that init can keep what it needs for Bind.
type launcher struct {
	pid  int
	ctl  *os.File
	name string
}

// startLauncher starts the process and returns when it is running.
func startLauncher(p *request) (*launcher, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket pair: %w", err)
	}
	l := &launcher{ctl: os.NewFile(uintptr(fds[0]), "launcher"), name: p.Program}
	files, err := programFiles(p)
	if err != nil {
		return nil, err // and this process ends
	}
	all := append([]uintptr{}, files...)
	if p.Secret == "" {
		all = append(all, ^uintptr(0)) // closed
	}
	l.pid, err = syscall.ForkExec("/proc/self/exe", []string{Name, launcherEntry}, &syscall.ProcAttr{
		Env: []string{}, Files: append(all, uintptr(fds[1])),
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	closeSecret(files)
	unix.Close(fds[1])
	if err != nil {
		return nil, fmt.Errorf("prepare to start %q: %w", p.Program, err)
	}
	loaded := make([]byte, 1)
	if _, err := io.ReadFull(l.ctl, loaded); err != nil || loaded[0] != launcherReady {
		return nil, fmt.Errorf("prepare to start %q: %w", p.Program, errors.Join(err, errors.New("its process does not answer")))
	}
	return l, nil
}

// exec makes the process exec the program, and returns when it has.
func (l *launcher) exec(p *request) (missing []string, err error) {
	defer l.ctl.Close()
	if err := WriteFrame(l.ctl, p); err != nil {
		return nil, err
	}
	replies := json.NewDecoder(l.ctl)
	var m message
	for {
		switch err := replies.Decode(&m); {
		case errors.Is(err, io.EOF) && m.Ready: // closed by the exec
			return m.Missing, nil
		case err != nil:
			return nil, fmt.Errorf("start %q in the sandbox: %w", l.name, err)
		case m.Denied:
			return nil, fmt.Errorf("%s: %w", m.Error, unix.EPERM)
		case m.Error != "":
			return nil, errors.New(m.Error)
		}
	}
}

// runLauncher runs a launcher's process; it returns only when it fails.
func runLauncher() int {
	unix.CloseOnExec(launcherFD)
	ctl := os.NewFile(launcherFD, "init")
	if ctl == nil {
		return codeFailed
	}
	reply := json.NewEncoder(ctl)
	lastCap := lastCapability() // the file is no longer visible later
	err := func() error {
		if _, err := ctl.Write([]byte{launcherReady}); err != nil {
			return err
		}
		p := new(request)
		if err := ReadFrame(ctl, p); err != nil {
			return err
		}
		if err := enterDir(p); err != nil { // init has changed this process's root with its own
			return err
		}
		missing, err := confine(p, lastCap)
		if err != nil {
			return err
		}
		if err := reply.Encode(message{Ready: true, Missing: missing}); err != nil {
			return err
		}
		err = unix.Exec(p.Program, append([]string{p.Program}, p.Args...), p.Env)
		return fmt.Errorf("start %q in the sandbox: %w", p.Program, err)
	}()
	_ = reply.Encode(message{Error: err.Error(), Denied: isDenied(err)})
	return codeFailed
}
