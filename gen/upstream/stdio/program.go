package stdio

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// Program is a started program that is no MCP server. Like a [Conn], it owns its process and everything that the process starts.
type Program struct{ proc *process }

// StartProgram starts a program. Options are as for [Start].
func StartProgram(opts Options) (*Program, error) {
	proc, err := startProcess(opts)
	if err != nil {
		return nil, err
	}
	go func() { // another process may keep standard output open when the program has ended
		<-proc.exited
		if !waitFor(proc.outputDone, strayGrace) {
			proc.stop()
		}
	}()
	return &Program{proc}, nil
}

// Write writes to standard input.
func (p *Program) Write(data []byte) (int, error) { return p.proc.stdin.Write(data) }

// CloseInput ends standard input.
func (p *Program) CloseInput() error { return p.proc.stdin.Close() }

// Read reads from standard output. Nothing of the program is left soon after the end of its output, once [Program.Close] is called.
func (p *Program) Read(data []byte) (int, error) {
	n, err := p.proc.stdout.Read(data)
	if err != nil {
		p.proc.outputEnded()
	}
	if errors.Is(err, os.ErrClosed) { // by Close
		err = io.EOF
	}
	return n, err
}

// Close gives the program a moment to end, ends it and everything that it started, and returns when they are gone. The error says how the
// program ended, unless it has ended with exit code 0.
func (p *Program) Close() error { return p.close(false) }

// Kill is Close without the moment. What is left of the output is dropped.
func (p *Program) Kill() error {
	go io.Copy(io.Discard, struct{ io.Reader }{p})
	return p.close(true)
}

func (p *Program) close(atOnce bool) error {
	p.proc.end(atOnce)
	return p.proc.waitErr
}

// RecentStderr quotes the line of standard error that most likely says why the program ended, for the end of an error message. Empty: there
// was nothing.
func (p *Program) RecentStderr() string { return p.proc.tail.quote() }

// ExitText describes an error of [Program.Close], such as "exit status 1".
func ExitText(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.String()
	}
	return err.Error()
}
