package embedded

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/guest"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

var engineName = "QuickJS " + engine.Version() + ", inside mcprun"

// codeFault is the exit code of a child whose engine crashed: what a shell reports for SIGSEGV.
const codeFault = 139

// guestMain runs the guest over a bridge that is a socket, and returns the exit code of the child process.
func guestMain(bridge *os.File, h environment) int {
	conn, err := net.FileConn(bridge)
	if err != nil {
		return complain(fmt.Errorf("open the bridge: %w", err))
	}
	_ = bridge.Close() // FileConn made a copy
	return guestOn(conn, h)
}

// guestOn runs the guest in a new goroutine. If the caller's goroutine is locked to its thread, every switch between the engine and the
// reader of the bridge would otherwise be a switch of threads.
func guestOn(conn io.ReadWriteCloser, h environment) int {
	code := make(chan int)
	go func() { code <- runGuest(conn, h) }()
	return <-code
}

func runGuest(conn io.ReadWriteCloser, h environment) (code int) {
	// One processor serves the engine and the reader of the bridge, because waking a second one takes a quarter of the time of a
	// call. A script that never yields is preempted, so that the reader still notices when the host is gone.
	runtime.GOMAXPROCS(1)
	var s setup
	if err := jail.ReadFrame(conn, &s); err != nil {
		return complain(err)
	}
	// A memory fault in the engine becomes a panic in this goroutine. Otherwise Go would print all stacks and exit.
	debug.SetPanicOnFault(true)
	debug.SetTraceback("none")
	debug.SetMemoryLimit(s.Memory)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "mcprun: the JavaScript engine crashed: %v\n", p)
			code = codeFault
		}
	}()
	out, err := guest.Run(guest.Options{
		Conn: conn, Secret: s.Secret, Memory: s.Memory, Idle: s.Idle, Bind: h.bind,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Lost: func() { os.Exit(codeLost) },
	})
	if err != nil {
		return complain(err)
	}
	if out.OutOfMemory {
		return jail.OutOfMemory
	}
	return out.Code
}

// bind completes the options from the host's second frame.
func (h environment) bind(frame []byte, o *guest.Options) (err error) {
	var b binding
	if err := json.Unmarshal(frame, &b); err != nil {
		return fmt.Errorf("read the binding of the run: %w", err)
	}
	f := &b.Folders
	for _, dir := range []*string{&f.Workspace, &f.Tree, &f.Skills, &f.Tmp} {
		if *dir != "" {
			*dir = h.find(*dir)
		}
	}
	if o.Files, err = guest.OpenFiles(*f); err != nil {
		return err
	}
	o.Memory, o.FileSize = b.Memory, b.FileSize
	debug.SetMemoryLimit(b.Memory)
	return h.limit(b.Limits)
}

// complain reports an error that kept the guest from starting, and returns the exit code.
func complain(err error) int {
	fmt.Fprintf(os.Stderr, "mcprun: the embedded engine could not start: %v\n", err)
	return 125
}
