//go:build !386 && !arm

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

const engineAvailable = true

var engineName = "QuickJS " + engine.Version() + ", inside mcprun"

// codeFault is the exit code of a child whose engine broke, as a shell has it for SIGSEGV.
const codeFault = 139

// guestMain is the life of the child, with the bridge as a socket.
func guestMain(bridge *os.File, h habitat) int {
	conn, err := net.FileConn(bridge)
	if err != nil {
		return complain(fmt.Errorf("open the bridge: %w", err))
	}
	_ = bridge.Close() // FileConn made a copy
	return guestOn(conn, h)
}

// guestOn runs the guest in a goroutine of its own: the caller's may be tied to its thread, and each switch between that
// one and the bridge's reader would be one of threads.
func guestOn(conn io.ReadWriteCloser, h habitat) int {
	code := make(chan int)
	go func() { code <- guestUntied(conn, h) }()
	return <-code
}

func guestUntied(conn io.ReadWriteCloser, h habitat) (code int) {
	// One processor for the engine and the bridge's reader: a reply that wakes one has not to wake another, which costs a
	// quarter of a call. A script that never yields is preempted, so that the reader still sees a lost host.
	runtime.GOMAXPROCS(1)
	s, err := readSetup(conn)
	if err != nil {
		return complain(err)
	}
	// A fault of the engine becomes a panic of this goroutine, where Go would print its threads and end.
	debug.SetPanicOnFault(true)
	debug.SetTraceback("none")
	debug.SetMemoryLimit(s.Memory)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "mcprun: the JavaScript engine broke: %v\n", p)
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

// bind completes the options with the host's second frame.
func (h habitat) bind(frame []byte, o *guest.Options) (err error) {
	var b binding
	if err := json.Unmarshal(frame, &b); err != nil {
		return fmt.Errorf("read what belongs to the run: %w", err)
	}
	at := func(folder string) string {
		if folder == "" {
			return ""
		}
		return h.find(folder)
	}
	f := b.Folders
	if o.Files, err = guest.OpenFiles(guest.Folders{
		Workspace: at(f.Workspace), Tree: at(f.Tree), Skills: at(f.Skills), Tmp: at(f.Tmp), TmpSize: b.TmpSize,
	}); err != nil {
		return err
	}
	o.Memory, o.FileSize = b.Memory, b.FileSize
	debug.SetMemoryLimit(b.Memory)
	return h.limit(b.Limits)
}

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "mcprun: the embedded engine could not start: %v\n", err)
	return 125
}
