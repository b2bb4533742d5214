//go:build !386 && !arm

package embedded

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/guest"
)

const engineAvailable = true

var engineName = "QuickJS " + engine.Version() + ", inside mcprun"

// codeFault is the exit code of a child whose engine broke, as a shell has it for SIGSEGV.
const codeFault = 139

// guestMain is the life of the child, with the bridge as a socket. find tells where a folder of the set-up is.
func guestMain(bridge *os.File, find func(string) string) int {
	conn, err := net.FileConn(bridge)
	if err != nil {
		return complain(fmt.Errorf("open the bridge: %w", err))
	}
	_ = bridge.Close() // FileConn made a copy
	return guestOn(conn, find)
}

func guestOn(conn io.ReadWriteCloser, find func(string) string) (code int) {
	s, err := readSetup(conn)
	if err != nil {
		return complain(err)
	}
	folders := []string{s.Folders.Workspace, s.Folders.Tree, s.Folders.Tmp}
	for i, f := range folders {
		if f != "" {
			folders[i] = find(f)
		}
	}
	files, err := guest.OpenFiles(folders[0], folders[1], folders[2])
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
		Conn: conn, Secret: s.Secret, Files: files, Memory: s.Memory,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Lost: func() { os.Exit(codeLost) },
	})
	if err != nil {
		return complain(err)
	}
	return out.Code
}

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "mcprun: the embedded engine could not start: %v\n", err)
	return 125
}
