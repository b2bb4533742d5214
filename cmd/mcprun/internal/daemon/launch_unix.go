//go:build linux || darwin

package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/daemon"
)

// readyDescriptor is the descriptor that a daemon started on demand closes when clients can connect.
const readyDescriptor = 3

// launchDaemon starts the daemon in a session of its own, so that it survives the terminal. It inherits only a few variables from
// this process.
func launchDaemon(app *cli.App, dir string, ready *os.File) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find mcprun's own executable: %w", err)
	}
	log, err := daemon.OpenLog(dir)
	if err != nil {
		return err
	}
	defer log.Close()
	empty, err := daemon.EmptyFolder(dir)
	if err != nil {
		return err
	}
	keepFromChildren()
	cmd := exec.Command(exe, "daemon", "--foreground", "--ready")
	if idle := app.Env(IdleVariable); idle != "" {
		cmd.Args = append(cmd.Args, "--idle", idle)
	}
	cmd.Dir, cmd.Env = empty, daemonEnv(app)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{ready}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // it may end before this command does
	return nil
}

// keepFromChildren keeps inherited descriptors out of the daemon. Otherwise a reader of such a pipe would wait until the daemon ends.
func keepFromChildren() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// readyFile returns the file that the daemon closes when clients can connect.
func readyFile() *os.File {
	unix.CloseOnExec(readyDescriptor)
	return os.NewFile(readyDescriptor, "ready")
}
