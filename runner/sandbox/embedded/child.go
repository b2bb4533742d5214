package embedded

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
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
	jail.Init(jailEntry, func(in jail.Inside) int {
		return guestMain(os.NewFile(bridgeFD, "bridge"), habitat{find: in.Path, limit: func(rlimits) error { return nil }})
	})
	if len(os.Args) == 1 && os.Args[0] == plainName {
		os.Exit(plainMain())
	}
}

// The host tells the child two things over the bridge, in frames that the protocol does not know of, because they are
// gone before it begins: first what the engine needs to start, and, before the job or together with the first, what
// belongs to the run.

// setup is the first.
type setup struct {
	Secret string
	// Memory bounds the engine's heap in bytes.
	Memory int64
	// Idle says that the binding comes only when there is a run.
	Idle bool
}

// binding is the second.
type binding struct {
	// Folders are the script's: in a jail by their targets there, else by their real paths. Empty ones do not exist.
	Folders folders
	// Memory and FileSize bound the engine's heap and the files it writes, in bytes.
	Memory, FileSize int64
	// TmpSize bounds Folders.Tmp in bytes, where that is no file system of its own; else zero.
	TmpSize int64
	// Limits are those that a child without a jail sets on itself, where the system has them.
	Limits rlimits
}

type folders struct{ Workspace, Tree, Skills, Tmp string }

// rlimits are in seconds, descriptors and bytes; zero: none.
type rlimits struct{ CPU, Files, FileSize uint64 }

// newBinding is what a run's limits say; where its folders are is for the caller to add.
func newBinding(l sandbox.Limits) binding {
	return binding{
		Memory: engineMemory(l.Memory), FileSize: l.FileSize,
		Limits: rlimits{
			CPU:   uint64((l.CPU + time.Second - 1) / time.Second),
			Files: uint64(l.Files), FileSize: uint64(l.FileSize),
		},
	}
}

// habitat is what the child's way of confinement decides.
type habitat struct {
	find  func(folder string) string // where a folder of the binding is
	limit func(rlimits) error
}

// maxFrame bounds the two frames; they hold a handful of paths.
const maxFrame = 64 << 10

// writeFrames sends each value as one frame.
func writeFrames(conn net.Conn, values ...any) error {
	var b []byte
	for _, v := range values {
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
	}
	// They fit into the socket's buffer, so this does not wait for a child that hangs.
	if err := conn.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
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
	if n > maxFrame {
		return s, fmt.Errorf("a set-up of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return s, fmt.Errorf("read what to set up: %w", err)
	}
	return s, json.Unmarshal(body, &s)
}
