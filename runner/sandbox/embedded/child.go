package embedded

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

const (
	// jailEntry names this package's children to the jail.
	jailEntry = "embedded"
	// plainName is argv[0] of children without a jail.
	plainName = "mcprun-embedded"
	// bridgeFD is the child's end of the bridge.
	bridgeFD = jail.BridgeFD
)

// Child must be called first in the program's main. In a process that a Backend started it runs the guest and ends
// the process; in any other it does nothing.
func Child() {
	jail.Init(jailEntry, func(in jail.Inside) int { return guestMain(os.NewFile(bridgeFD, "bridge"), in.Path) })
	if len(os.Args) == 1 && os.Args[0] == plainName {
		os.Exit(plainMain())
	}
}

// setup is what the host tells the child before anything else, over the bridge: one frame that the protocol does not
// know of, because it is gone before the protocol begins.
type setup struct {
	Secret string
	// Folders are the script's: in a jail by their targets there, else by their real paths. Empty ones do not exist.
	Folders folders
	// Memory bounds the engine's heap in bytes.
	Memory int64
}

type folders struct{ Workspace, Tree, Tmp string }

// maxSetup bounds the frame; it holds a handful of paths.
const maxSetup = 64 << 10

func writeSetup(conn net.Conn, s setup) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	// It fits into the socket's buffer, so this does not wait for a child that hangs.
	if err := conn.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

func readSetup(r io.Reader) (s setup, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return s, fmt.Errorf("read what to set up: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxSetup {
		return s, fmt.Errorf("a set-up of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return s, fmt.Errorf("read what to set up: %w", err)
	}
	return s, json.Unmarshal(body, &s)
}
