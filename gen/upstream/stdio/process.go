package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	// eofGrace is how long a server gets to end by itself after its input is closed, termGrace after SIGTERM.
	eofGrace  = 500 * time.Millisecond
	termGrace = 2 * time.Second
	// tailGrace bounds the reading of what an ended server has left in its pipes, which takes no time unless the machine is
	// very busy, or another process still holds them open.
	tailGrace = 2 * time.Second
)

// process is a started server. It leads a process group of its own, and stop ends the whole group.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File // our end, as are the others
	stdout *os.File
	stderr *os.File // read by forwardStderr

	exited     chan struct{} // closed when the leader has ended; its process group id stays taken until release
	release    chan struct{} // closed by stop: the leader may be reaped now
	reaped     chan struct{} // closed when nothing is left
	outputDone chan struct{} // closed at the end of standard output: no process holds it any more

	stopOnce, outputOnce sync.Once
	waitErr              error // valid after reaped
	tail                 *stderrTail
	mark                 mark // zero: processes that leave the group are not ended
}

// startProcess starts the server.
func startProcess(opts Options) (_ *process, err error) {
	srv, own := opts.Server, newMark()
	env := environment(srv, opts.Lookup, own)
	program, err := findProgram(srv.Command, env["PATH"])
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(srv.Cwd); err != nil || !info.IsDir() {
		return nil, errors.New("its working directory does not exist; correct cwd")
	}
	p := &process{
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}), outputDone: make(chan struct{}),
		tail: &stderrTail{ended: make(chan struct{})},
	}
	if env[OwnerVariable] != "" {
		p.mark = own
	}
	// Plain pipes, not those of exec: Wait must not depend on grandchildren that keep an end open.
	var theirs [3]*os.File
	defer func() {
		closeFiles(theirs[:]...)
		if err != nil {
			closeFiles(p.stdin, p.stdout, p.stderr)
		}
	}()
	if theirs[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, theirs[1], err = os.Pipe(); err == nil {
			p.stderr, theirs[2], err = os.Pipe()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	p.cmd = exec.Command(program, srv.Args...)
	p.cmd.Args[0] = srv.Command
	p.cmd.Dir, p.cmd.Env = srv.Cwd, environmentList(env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p.cmd.SysProcAttr = groupLeader()
	started := make(chan error, 1)
	go p.supervise(started)
	if err := <-started; err != nil {
		return nil, err
	}
	go forwardStderr(p.stderr, opts.Stderr, opts.Secret, p.tail)
	opts.Log.Debug("server started", "pid", p.cmd.Process.Pid)
	return p, nil
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// supervise starts the process and waits for its end. It keeps its thread all that time, because the kernel ties "kill
// the child when the parent dies" to the thread that forked, not to the process.
func (p *process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		var execErr *exec.Error
		if errors.As(err, &execErr) {
			err = execErr.Err
		}
		text := fmt.Sprintf("start the program %q", ident.Clip(strings.ToValidUTF8(p.cmd.Path, "?"), 200))
		if errors.Is(err, fs.ErrNotExist) {
			started <- &noProgram{text + ": " + withoutPath(err).Error()}
			return
		}
		started <- fmt.Errorf("%s: %w", text, withoutPath(err))
		return
	}
	started <- nil
	waitExit(p.cmd.Process.Pid, func() { p.waitErr = p.cmd.Wait() })
	close(p.exited)
	<-p.release
	if p.cmd.ProcessState == nil {
		p.waitErr = p.cmd.Wait()
	}
	close(p.reaped)
}

// stop ends the process and everything that it started, on Linux even processes that have left its group. It closes the
// input, sends SIGTERM, then SIGKILL, with pauses between them. It returns when all of them are gone, and may be called
// again and from any goroutine.
func (p *process) stop() { p.end(false) }

// end is stop; at once means without giving the process time to end by itself.
func (p *process) end(atOnce bool) {
	p.stopOnce.Do(func() {
		if atOnce && !waitFor(p.exited, 0) {
			killGroup(p.cmd.Process)
		}
		p.stdin.Close()
		if !waitFor(p.exited, eofGrace) {
			terminateGroup(p.cmd.Process)
			if !waitFor(p.exited, termGrace) {
				killGroup(p.cmd.Process)
				<-p.exited
			}
		}
		// The leader has ended but is not reaped, so no other process can have its group id.
		if !waitFor(p.outputDone, 0) {
			terminateGroup(p.cmd.Process)
			waitFor(p.outputDone, strayGrace)
		}
		killGroup(p.cmd.Process)
		close(p.release)
		<-p.reaped
		endStrays(p.mark)
		p.drain()
		closeFiles(p.stdout, p.stderr)
	})
	<-p.reaped
}

// drain waits, for tailGrace in all, until the last lines in the pipes were read.
func (p *process) drain() {
	until := time.Now().Add(tailGrace)
	waitFor(p.outputDone, tailGrace)
	waitFor(p.tail.ended, time.Until(until))
}

// outputEnded notes the end of standard output.
func (p *process) outputEnded() { p.outputOnce.Do(func() { close(p.outputDone) }) }

// ending describes how the process ended, for an error message; it is empty before the process is reaped.
func (p *process) ending() string {
	if !waitFor(p.reaped, 0) {
		return ""
	}
	waitFor(p.tail.ended, tailGrace)
	how := ""
	var exit *exec.ExitError
	if p.waitErr == nil {
		how = " (exit status 0)"
	} else if errors.As(p.waitErr, &exit) {
		how = " (" + exit.String() + ")"
	}
	return "the server ended" + how + p.tail.quote()
}

// waitFor reports whether ch was closed within d.
func waitFor(ch <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
		return false
	}
}

// withoutPath drops the name of a pipe or a program from an error of the package os.
func withoutPath(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
