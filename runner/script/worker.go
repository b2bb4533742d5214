package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// workerName is argv[0] of the child processes of a Bundler.
const workerName = "mcprun-bundle"

// answer is a child process's result for a task.
type answer struct {
	Bundle   *bundle   // if there are Problems, only what is known about the script, or nil
	Problems []Problem // of an *Error
	Failure  string    // another error
}

func (a *answer) bundle() (*bundle, error) {
	switch {
	case len(a.Problems) > 0:
		return a.Bundle, &Error{Problems: a.Problems}
	case a.Failure != "":
		return nil, errors.New(a.Failure)
	}
	return a.Bundle, nil
}

// worker is a child process that makes bundles, one at a time. Tasks and answers cross its pipes as JSON.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	tasks *json.Encoder
	from  *json.Decoder
	ready bool          // it has reported that it can make bundles
	ended chan struct{} // closed when the process has ended
}

// startWorker starts a process. It inherits only the access to the script's files.
func startWorker(exe string) (*worker, error) {
	w := &worker{cmd: exec.Command(exe), ended: make(chan struct{})}
	w.cmd.Args, w.cmd.Env = []string{workerName}, []string{"GOTRACEBACK=none"}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the bundler's process: %w", err)
	}
	read, write, err := os.Pipe() // Wait would close StdoutPipe while an answer is still in it
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the bundler's process: %w", err), w.in.Close())
	}
	w.cmd.Stdout = write
	err = w.cmd.Start()
	write.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the bundler's process: %w", err), w.in.Close(), read.Close())
	}
	w.out, w.tasks, w.from = read, json.NewEncoder(w.in), json.NewDecoder(read)
	go func() {
		defer close(w.ended)
		_ = w.cmd.Wait() // how it ended does not matter: only a script's text can be the cause
	}()
	return w, nil
}

// kill ends the process, waits for its end and closes the pipes.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	<-w.ended
	w.in.Close()
	w.out.Close()
}

// errTooLarge is the error of a script that ended the process.
var errTooLarge = errors.New("it cannot be bundled: it is nested too deeply, or expands to too much text, as the members of an enum can")

// do makes the process create one bundle. After an error the process must be killed. The error is errTooLarge if the
// process ended while it was working.
func (w *worker) do(ctx context.Context, t task) (*answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	defer stop()
	if !w.ready {
		if err := w.from.Decode(&w.ready); err != nil {
			return nil, fmt.Errorf("start the bundler's process: %w", err)
		}
	}
	if err := w.tasks.Encode(t); err != nil {
		return nil, errTooLarge
	}
	a := &answer{}
	if err := w.from.Decode(a); err != nil || !stop() {
		return nil, errTooLarge
	}
	return a, nil
}
